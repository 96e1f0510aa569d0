//! Regular languages as trees, and their automata.
//!
//! For example, `"a" | /b+/` is a choice of a text and a pattern; its automaton has three states.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use fsm_tables::{Builder, MATCH, NfaId, Shape, State, Syntax};

use crate::error::{Error, ErrorKind};
use crate::patterns;
use crate::terminals::around;
use crate::terminals::edges::Edges;
use crate::terminals::table::{Table, TableLimits};

/// The size of what is short, because that of XML's text with its entities is 170.
const SHORT: usize = 1_000;

/// The largest number of times in what is short, because an entity or an escape counts so many digits.
const FEW_TIMES: u32 = 8;

/// A regular language.
#[derive(Clone, Debug)]
pub(crate) enum Re {
    Empty,
    Pattern(Rc<Pattern>),
    Seq(Rc<[Re]>),
    Alt(Rc<[Re]>),
    /// Any of these, each of them read on its own.
    Each(Rc<[Re]>),
    Repeat(Rc<Re>, u32, Option<u32>),
    And(Rc<[Re]>),
    Not(Rc<Re>),
    /// The texts that it takes, no beginning of which it takes.
    First(Rc<Re>),
    /// The same, whose looks see nothing around it.
    Closed(Rc<Re>),
    /// Any run of consecutive chunks.
    Substring(Rc<[String]>),
}

/// A regular expression, with its automaton once that was asked for: a part is put together with many others.
pub(crate) struct Pattern {
    text: Box<str>,
    table: OnceCell<Table>,
}

impl Pattern {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn table(&self, limits: TableLimits) -> Result<&Table, Error> {
        match self.table.get() {
            Some(known) => Ok(known),
            None => {
                let table = Table::of_pattern(&self.text, limits)?;
                Ok(self.table.get_or_init(|| table))
            }
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Re {
    pub(crate) fn pattern(text: impl Into<Box<str>>) -> Re {
        Re::Pattern(Rc::new(Pattern {
            text: text.into(),
            table: OnceCell::new(),
        }))
    }

    /// About how long its pattern is, in bytes.
    pub(crate) fn size(&self) -> usize {
        let sum = |all: &[Re]| all.iter().map(Re::size).fold(8usize, usize::saturating_add);
        match self {
            Re::Empty => 4,
            Re::Pattern(pattern) => pattern.text.len(),
            Re::Seq(all) | Re::Alt(all) | Re::Each(all) | Re::And(all) => sum(all),
            Re::Repeat(of, _, _) | Re::Not(of) | Re::First(of) | Re::Closed(of) => {
                of.size().saturating_add(8)
            }
            Re::Substring(chunks) => chunks.iter().map(|chunk| chunk.len() + 4).sum(),
        }
    }

    /// Tells whether it is a few characters: a class, or an escape, say, but no words that are counted.
    pub(crate) fn is_short(&self) -> bool {
        self.size() <= SHORT && self.largest_count() <= FEW_TIMES
    }

    /// Returns the largest number of times that a part of it is counted.
    fn largest_count(&self) -> u32 {
        let largest = |all: &[Re]| all.iter().map(Re::largest_count).max().unwrap_or(1);
        match self {
            Re::Empty | Re::Pattern(_) | Re::Substring(_) => 1,
            Re::Seq(all) | Re::Alt(all) | Re::Each(all) | Re::And(all) => largest(all),
            Re::Not(of) | Re::First(of) | Re::Closed(of) => of.largest_count(),
            Re::Repeat(of, min, max) => max.unwrap_or(*min).max(of.largest_count()),
        }
    }

    /// Writes it as one regular expression, if it is one.
    fn write(&self, out: &mut String) -> bool {
        match self {
            Re::Empty => out.push_str("(?:)"),
            Re::Pattern(pattern) => {
                out.push_str("(?:");
                out.push_str(&pattern.text);
                out.push(')');
            }
            Re::Seq(all) => {
                out.push_str("(?:");
                if !all.iter().all(|re| re.write(out)) {
                    return false;
                }
                out.push(')');
            }
            Re::Alt(all) | Re::Each(all) => {
                out.push_str("(?:");
                for (i, re) in all.iter().enumerate() {
                    if i > 0 {
                        out.push('|');
                    }
                    if !re.write(out) {
                        return false;
                    }
                }
                out.push(')');
                if all.is_empty() {
                    out.push_str(r"[^\x00-\x{10FFFF}]");
                }
            }
            Re::Repeat(of, min, max) => {
                out.push_str("(?:");
                if !of.write(out) {
                    return false;
                }
                out.push(')');
                match max {
                    Some(max) => out.push_str(&format!("{{{min},{max}}}")),
                    None => out.push_str(&format!("{{{min},}}")),
                }
            }
            Re::And(_) | Re::Not(_) | Re::First(_) | Re::Closed(_) | Re::Substring(_) => {
                return false;
            }
        }
        true
    }

    /// Returns what a sequence or alternatives are that have one part.
    pub(crate) fn bare(&self) -> &Re {
        match self {
            Re::Seq(all) | Re::Alt(all) if all.len() == 1 => all[0].bare(),
            _ => self,
        }
    }

    /// Its automaton, of which looks see so much around it.
    ///
    /// # Errors
    ///
    /// It has more states than the limits allow, or takes more work, or it looks at what is
    /// around it.
    pub(crate) fn table(&self, limits: TableLimits, edges: Edges) -> Result<Table, Error> {
        if around::looks_around(self, edges) {
            return around::table(self, limits, edges);
        }
        let mut pattern = String::new();
        if self.write(&mut pattern) {
            return Table::of_pattern(&pattern, limits);
        }
        match self {
            Re::And(all) => {
                let edges = edges.inside();
                let Some((first, others)) = all.split_first() else {
                    return Ok(Table::nothing());
                };
                let first = first.table(limits, edges)?;
                others.iter().try_fold(first, |met, re| match re {
                    Re::Not(of) => met.but(&of.table(limits, edges)?, limits),
                    _ => met.both(&re.table(limits, edges)?, limits),
                })
            }
            Re::Not(of) => of.table(limits, edges.inside())?.complement(limits),
            Re::First(of) => Ok(of.table(limits, edges.inside())?.first()),
            Re::Closed(of) => of.table(limits, edges.inside()),
            _ => {
                let mut meter = limits;
                let mut builder = Builder::new(&mut meter);
                let start = builder.expression(&mut Parts(limits, edges), self, MATCH)?;
                let nfa = builder.finish(start);
                Table::of_nfa(&nfa, &mut meter)
            }
        }
    }
}

/// The way in which the parts of a language are read that is no single expression.
struct Parts(TableLimits, Edges);

impl Syntax<TableLimits> for Parts {
    type Expression = Re;

    fn shape<'e>(&self, of: &'e Re) -> Shape<'e, Re> {
        match of {
            Re::Empty => Shape::Concat(&[]),
            Re::Seq(all) => Shape::Concat(all),
            Re::Alt(all) | Re::Each(all) if !all.is_empty() => Shape::Alternation(all),
            Re::Repeat(of, min, max) => Shape::Repeat {
                of,
                min: *min,
                max: *max,
            },
            _ => Shape::Leaf,
        }
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_, TableLimits>,
        leaf: &Re,
        next: NfaId,
    ) -> Result<NfaId, Error> {
        let chunks = match leaf {
            Re::Substring(chunks) => chunks,
            Re::Pattern(pattern) if !around::looks_around(leaf, self.1.inside()) => {
                return pattern.table(self.0)?.embed(builder, next);
            }
            _ => return leaf.table(self.0, self.1.inside())?.embed(builder, next),
        };
        // It may begin in front of each chunk, and end behind each.
        let (mut at, mut begin) = (next, next);
        for chunk in chunks.iter().rev() {
            let literal = patterns::literal(chunk, false, patterns::Reading::Splits);
            let of_chunk = Table::of_pattern(&literal, self.0)?.embed(builder, at)?;
            at = builder.push(State::Split(of_chunk, next))?;
            begin = builder.push(State::Split(at, begin))?;
        }
        Ok(begin)
    }
}

/// Returns the meaning of a lazy lexeme: it ends at its first possible end.
pub(crate) fn lazy(re: Re) -> Re {
    Re::First(Rc::new(re))
}

/// Returns the texts of at most so many characters, and of the longer ones those that have no end
/// behind so many characters before their own. So a budget that runs out where nothing may end
/// goes on to the next end.
pub(crate) fn at_most(re: Re, chars: u32) -> Re {
    let long = Re::pattern(format!("(?s:.{{{chars},}})"));
    let over = Re::Seq([Re::And([re.clone(), long].into()), Re::pattern("(?s:.+)")].into());
    Re::And([re, Re::Not(over.into())].into())
}

/// Returns free text up to the first of some texts, which is `tag`: or to none of them.
pub(crate) fn text_until(all: &[String], tag: Option<&str>) -> Result<Re, Error> {
    if all.is_empty() && tag.is_none() {
        return Ok(Re::pattern("(?s:.*)"));
    }
    if all.iter().any(String::is_empty) {
        return Err(Error::new(ErrorKind::Syntax, "a tag is empty"));
    }
    let texts = all
        .iter()
        .map(|text| Re::pattern(regex_syntax::escape(text)))
        .collect();
    let any = Re::pattern("(?s:.*)");
    let with = Re::Seq([any.clone(), Re::Alt(texts)].into());
    Ok(match tag {
        None => Re::Not(Rc::new(Re::Seq([with, any].into()))),
        Some(tag) => {
            let ends = Re::Seq([any, Re::pattern(regex_syntax::escape(tag))].into());
            Re::And([lazy(with), ends].into())
        }
    })
}
