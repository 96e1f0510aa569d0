//! Regular languages as trees, and their automata.

use std::rc::Rc;

use crate::patterns;
use crate::table::{Nfa, Table, TableLimits};
use crate::{Error, ErrorKind};

/// A regular language.
#[derive(Clone, Debug)]
pub(crate) enum Re {
    Empty,
    Pattern(Rc<str>),
    Seq(Rc<[Re]>),
    Alt(Rc<[Re]>),
    Repeat(Rc<Re>, u32, Option<u32>),
    And(Rc<[Re]>),
    Not(Rc<Re>),
    /// What it takes of which it takes no beginning.
    First(Rc<Re>),
    /// Any run of consecutive chunks.
    Substring(Rc<[String]>),
}

impl Re {
    pub(crate) fn pattern(text: impl Into<Rc<str>>) -> Re {
        Re::Pattern(text.into())
    }

    /// About how long its pattern is, in bytes.
    pub(crate) fn size(&self) -> usize {
        let sum = |all: &[Re]| all.iter().map(Re::size).fold(8usize, usize::saturating_add);
        match self {
            Re::Empty => 4,
            Re::Pattern(pattern) => pattern.len(),
            Re::Seq(all) | Re::Alt(all) | Re::And(all) => sum(all),
            Re::Repeat(of, _, _) | Re::Not(of) | Re::First(of) => of.size().saturating_add(8),
            Re::Substring(chunks) => chunks.iter().map(|chunk| chunk.len() + 4).sum(),
        }
    }

    /// Writes it as one regular expression, if it is one.
    fn write(&self, out: &mut String) -> bool {
        match self {
            Re::Empty => out.push_str("(?:)"),
            Re::Pattern(pattern) => {
                out.push_str("(?:");
                out.push_str(pattern);
                out.push(')');
            }
            Re::Seq(all) => {
                out.push_str("(?:");
                if !all.iter().all(|re| re.write(out)) {
                    return false;
                }
                out.push(')');
            }
            Re::Alt(all) => {
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
            Re::And(_) | Re::Not(_) | Re::First(_) | Re::Substring(_) => return false,
        }
        true
    }

    /// Its automaton.
    ///
    /// # Errors
    ///
    /// It has more states than the limits allow, or takes more work.
    pub(crate) fn table(&self, limits: TableLimits) -> Result<Table, Error> {
        let mut pattern = String::new();
        if self.write(&mut pattern) {
            return Table::of_pattern(&pattern, limits);
        }
        match self {
            Re::And(all) => {
                let mut tables = all.iter().map(|re| re.table(limits));
                let first = tables.next().unwrap_or_else(|| Ok(Table::nothing()))?;
                tables.try_fold(first, |met, table| met.product(&table?, false, limits))
            }
            Re::Not(of) => of.table(limits)?.complement(limits),
            Re::First(of) => Ok(of.table(limits)?.first()),
            _ => {
                let mut nfa = Nfa::default();
                let (from, to) = (nfa.state(), nfa.state());
                self.build(&mut nfa, from, to, limits)?;
                nfa.determinize(from, to, limits)
            }
        }
    }

    fn build(&self, nfa: &mut Nfa, from: u32, to: u32, limits: TableLimits) -> Result<(), Error> {
        if nfa.len() > limits.states.saturating_mul(8) {
            return Err(Error::limit(
                "max_terminal_states",
                "states in one terminal",
                limits.states,
            ));
        }
        match self {
            Re::Empty => nfa.empty(from, to),
            Re::Seq(all) => {
                let mut at = from;
                for re in &all[..] {
                    let next = nfa.state();
                    re.build(nfa, at, next, limits)?;
                    at = next;
                }
                nfa.empty(at, to);
            }
            Re::Alt(all) => {
                for re in &all[..] {
                    re.build(nfa, from, to, limits)?;
                }
            }
            Re::Repeat(of, min, max) => {
                let mut at = from;
                for _ in 0..*min {
                    let next = nfa.state();
                    of.build(nfa, at, next, limits)?;
                    at = next;
                }
                match max {
                    None => {
                        let again = nfa.state();
                        nfa.empty(at, again);
                        let end = nfa.state();
                        of.build(nfa, again, end, limits)?;
                        nfa.empty(end, again);
                        nfa.empty(again, to);
                    }
                    Some(max) => {
                        for _ in *min..*max {
                            nfa.empty(at, to);
                            let next = nfa.state();
                            of.build(nfa, at, next, limits)?;
                            at = next;
                        }
                        nfa.empty(at, to);
                    }
                }
            }
            Re::Substring(chunks) => {
                let mut at = nfa.state();
                for chunk in &chunks[..] {
                    nfa.empty(from, at);
                    nfa.empty(at, to);
                    let next = nfa.state();
                    let literal = patterns::literal(chunk, false, patterns::Reading::Splits);
                    nfa.embed(Table::of_pattern(&literal, limits)?, at, next);
                    at = next;
                }
                nfa.empty(from, to);
                nfa.empty(at, to);
            }
            _ => {
                let table = self.table(limits)?;
                nfa.embed(table, from, to);
            }
        }
        Ok(())
    }
}

/// What a lazy lexeme means: it ends at its first possible end.
pub(crate) fn lazy(re: Re) -> Re {
    Re::First(Rc::new(re))
}

/// What free text is up to the first of some texts, which is `tag`: or to none of them.
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
