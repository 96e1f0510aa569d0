//! Expressions over classes of characters, with their looks and lazy quantifiers, as they are read.
//!
//! For example, `ab*?` is the character `a` and a lazy repetition of `b`.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use fsm_tables::{Look, Ranges};
use regex_syntax::hir::{self, Class, Hir, HirKind};

use super::edges::{Edges, look, parsed};
use crate::error::{Error, ErrorKind};
use crate::terminals::regular::Re;

/// The characters of a line, because `^` and `$` of one line look at these.
const IN_LINE: &str = r"[^\n]";

/// The characters that `\b` tells from others (`\w`, as Python's `re` has them).
const WORD: &str = r"\w";

/// The part of an expression that a text is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// The lexeme.
    Lexeme,
    /// The text that a look looks for: it goes over marks.
    Around,
}

/// A place in the text of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Begin,
    End,
}

/// An expression over classes of characters.
#[derive(Debug)]
pub(super) enum Part {
    /// One character of a set.
    Char(SetNumber, Reads),
    /// A mark must come.
    Mark(Mark),
    /// A mark may come.
    OverMarks,
    Seq(Vec<Part>),
    Alt(Vec<Part>),
    Repeat(Box<Part>, u32, Option<u32>),
    Lazy(Box<Part>, u32, Option<u32>),
    Look(Look, Box<Part>),
}

impl Part {
    /// The lengths of its texts in characters, the least and the greatest one, as Python's
    /// compiler of expressions finds them.
    fn width(&self) -> (u64, u64) {
        /// The greatest width, because Python's compiler clamps widths to its greatest count.
        const MANY: u64 = u32::MAX as u64;
        match self {
            Part::Char(..) => (1, 1),
            Part::Mark(_) | Part::OverMarks | Part::Look(..) => (0, 0),
            Part::Seq(all) => all
                .iter()
                .map(Part::width)
                .fold((0, 0), |sum, own| (sum.0 + own.0, MANY.min(sum.1 + own.1))),
            Part::Alt(all) => {
                let widths = all.iter().map(Part::width);
                widths.fold((MANY, 0), |one, own| (one.0.min(own.0), one.1.max(own.1)))
            }
            Part::Repeat(of, min, max) | Part::Lazy(of, min, max) => {
                let own = of.width();
                let most = max.map_or(MANY, |max| own.1.saturating_mul(max.into()));
                let least = own.0.saturating_mul((*min).into());
                (MANY.min(least), if own.1 == 0 { 0 } else { MANY.min(most) })
            }
        }
    }

    pub(super) fn has_lazy(&self) -> bool {
        match self {
            Part::Lazy(..) => true,
            Part::Seq(all) | Part::Alt(all) => all.iter().any(Part::has_lazy),
            Part::Repeat(of, _, _) => of.has_lazy(),
            Part::Char(..) | Part::Mark(_) | Part::OverMarks | Part::Look(..) => false,
        }
    }

    /// Says whether something is repeated without end that may be empty: engines differ in what
    /// they prefer there.
    pub(super) fn has_empty_loop(&self) -> bool {
        match self {
            Part::Seq(all) | Part::Alt(all) => all.iter().any(Part::has_empty_loop),
            Part::Repeat(of, _, max) | Part::Lazy(of, _, max) => {
                max.is_none() && of.width().0 == 0 || of.has_empty_loop()
            }
            Part::Char(..) | Part::Mark(_) | Part::OverMarks | Part::Look(..) => false,
        }
    }
}

/// The number of a set of characters.
type SetNumber = usize;

/// Reads expressions.
pub(super) struct PartReader {
    edges: Edges,
    pub(super) sets: Vec<Ranges>,
    known: HashMap<Ranges, SetNumber, FixedState>,
}

impl PartReader {
    pub(super) fn new(edges: Edges) -> PartReader {
        PartReader {
            edges,
            sets: Vec::new(),
            known: HashMap::default(),
        }
    }

    fn char(&mut self, ranges: impl IntoIterator<Item = (u32, u32)>, reads: Reads) -> Part {
        let ranges: Ranges = ranges.into_iter().collect();
        let next = self.sets.len();
        let number = *self.known.entry(ranges.clone()).or_insert(next);
        if number == next {
            self.sets.push(ranges);
        }
        Part::Char(number, reads)
    }

    /// Calls itself, no deeper than expressions of a grammar nest.
    pub(super) fn language(&mut self, re: &Re) -> Result<Part, Error> {
        Ok(match re {
            Re::Empty => Part::Seq(Vec::new()),
            Re::Pattern(pattern) => self.expression(&parsed(pattern.text())?, Reads::Lexeme)?,
            Re::Seq(all) => {
                let parts = all.iter().map(|re| self.language(re));
                Part::Seq(parts.collect::<Result<_, _>>()?)
            }
            Re::Alt(all) | Re::Each(all) if !all.is_empty() => {
                // The package tries those first that may be longer.
                let parts = all.iter().map(|re| Ok((self.language(re)?, re.size())));
                let mut parts = parts.collect::<Result<Vec<_>, Error>>()?;
                parts.sort_by_key(|(part, size)| {
                    let (min, max) = part.width();
                    std::cmp::Reverse((max, min, *size))
                });
                Part::Alt(parts.into_iter().map(|part| part.0).collect())
            }
            Re::Repeat(of, min, max) => Part::Repeat(Box::new(self.language(of)?), *min, *max),
            _ => {
                let message = "a terminal is part of another one that looks around or has lazy \
                               quantifiers, and it is no regular expression: write `&`, `~` and \
                               substrings in terminals of their own, which a rule names";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }

    /// Calls itself, no deeper than [`MAX_NEST`].
    fn expression(&mut self, hir: &Hir, reads: Reads) -> Result<Part, Error> {
        Ok(match hir.kind() {
            HirKind::Empty => Part::Seq(Vec::new()),
            HirKind::Literal(text) => {
                let text = String::from_utf8_lossy(&text.0);
                let chars = text.chars().map(u32::from);
                Part::Seq(chars.map(|c| self.char([(c, c)], reads)).collect())
            }
            HirKind::Class(class) => self.class(class, reads),
            HirKind::Look(look) => self.anchor(*look)?,
            HirKind::Capture(group) => match look(group) {
                Some(look) => {
                    let of = self.expression(&group.sub, Reads::Around)?;
                    looking(look, of)
                }
                None => self.expression(&group.sub, reads)?,
            },
            HirKind::Repetition(of) => {
                let sub = Box::new(self.expression(&of.sub, reads)?);
                // A look finds its text or not: it prefers nothing.
                match of.greedy || reads == Reads::Around || !self.edges.prefer() {
                    true => Part::Repeat(sub, of.min, of.max),
                    false => Part::Lazy(sub, of.min, of.max),
                }
            }
            HirKind::Concat(all) => {
                let parts = all.iter().map(|hir| self.expression(hir, reads));
                Part::Seq(parts.collect::<Result<_, _>>()?)
            }
            HirKind::Alternation(all) => {
                let parts = all.iter().map(|hir| self.expression(hir, reads));
                Part::Alt(parts.collect::<Result<_, _>>()?)
            }
        })
    }

    fn class(&mut self, class: &Class, reads: Reads) -> Part {
        match class {
            Class::Unicode(class) => {
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.char(ranges, reads)
            }
            Class::Bytes(class) => {
                let ranges = class.iter().map(|r| (r.start().into(), r.end().into()));
                self.char(ranges, reads)
            }
        }
    }

    fn anchor(&mut self, look: hir::Look) -> Result<Part, Error> {
        let mut class = |pattern: &str| match parsed(pattern)?.kind() {
            HirKind::Class(class) => Ok(self.class(class, Reads::Around)),
            _ => Err(Error::new(ErrorKind::Syntax, "no class")),
        };
        Ok(match look {
            hir::Look::Start => Part::Look(Look::Behind, Box::new(Part::Mark(Mark::Begin))),
            hir::Look::End => Part::Look(Look::Ahead, Box::new(Part::Mark(Mark::End))),
            hir::Look::StartLF => looking(Look::NotBehind, class(IN_LINE)?),
            hir::Look::EndLF => looking(Look::NotAhead, class(IN_LINE)?),
            hir::Look::WordUnicode | hir::Look::WordUnicodeNegate => {
                let (ends, begins) = match look {
                    hir::Look::WordUnicode => (Look::NotAhead, Look::Ahead),
                    _ => (Look::Ahead, Look::NotAhead),
                };
                let mut both = |behind, ahead| {
                    let behind = looking(behind, class(WORD)?);
                    Ok::<_, Error>(Part::Seq(vec![behind, looking(ahead, class(WORD)?)]))
                };
                Part::Alt(vec![
                    both(Look::Behind, ends)?,
                    both(Look::NotBehind, begins)?,
                ])
            }
            _ => {
                let message = "a regular expression has a kind of boundary that is not supported: \
                               write it as `(?=..)`, `(?!..)`, `(?<=..)` or `(?<!..)`";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }
}

fn looking(look: Look, of: Part) -> Part {
    let of = match look {
        Look::Behind | Look::NotBehind => Part::Seq(vec![of, Part::OverMarks]),
        Look::Ahead | Look::NotAhead => of,
    };
    Part::Look(look, Box::new(of))
}
