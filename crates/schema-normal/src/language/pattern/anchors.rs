//! Anchors, resolved by position: a search becomes parts that are tied to the ends of the string or
//! not. Beside look-around they are looks themselves. For example, `^a|b` is the texts that begin
//! with `a`, and those with a `b` anywhere.

use std::sync::Arc;

use regex_dialects::look_of;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::PatternError;
use crate::language::re::Re;

/// A part of a search: what it matches, and whether it is tied to the ends of
/// the string.
#[derive(Clone)]
pub(super) struct SearchPart {
    pub(super) start: bool,
    pub(super) body: Re,
    pub(super) end: bool,
}

impl SearchPart {
    const EMPTY: SearchPart = SearchPart {
        start: false,
        body: Re::Empty,
        end: false,
    };
}

/// The most turns of a loop with anchors that is counted, because each turn multiplies the parts.
const MAX_ANCHORED_TURNS: u32 = 8;

/// The most parts of a pattern: real ones have a handful, and there is a limit because alternatives
/// with anchors multiply.
const MAX_PARTS: usize = 200;

/// The deepest nesting of a pattern, because it is read by calls as deep.
const MAX_NESTING: usize = 200;

/// The parts of an expression; those within `depth` others.
pub(super) fn anchored_parts(hir: &Hir, depth: usize) -> Result<Vec<SearchPart>, PatternError> {
    if depth > MAX_NESTING {
        return Err(PatternError::new(0, "the pattern is nested too deeply"));
    }
    if hir.properties().look_set().is_empty() {
        return Ok(vec![SearchPart {
            start: false,
            body: convert(hir, depth)?,
            end: false,
        }]);
    }
    match hir.kind() {
        HirKind::Look(Look::Start) => Ok(vec![SearchPart {
            start: true,
            ..SearchPart::EMPTY
        }]),
        HirKind::Look(Look::End) => Ok(vec![SearchPart {
            end: true,
            ..SearchPart::EMPTY
        }]),
        HirKind::Look(_) => Err(PatternError::new(
            0,
            "this kind of boundary is not supported",
        )),
        HirKind::Capture(capture) => anchored_parts(&capture.sub, depth + 1),
        HirKind::Alternation(subs) => {
            let mut out = Vec::new();
            for sub in subs {
                out.extend(anchored_parts(sub, depth + 1)?);
            }
            Ok(out)
        }
        HirKind::Concat(subs) => {
            let mut out = vec![SearchPart::EMPTY];
            for sub in subs {
                let next = anchored_parts(sub, depth + 1)?;
                let mut joined = Vec::new();
                for a in &out {
                    for b in &next {
                        joined.extend(join(a, b));
                    }
                }
                if joined.len() > MAX_PARTS {
                    return Err(PatternError::new(
                        0,
                        "the pattern has too many combinations of anchors",
                    ));
                }
                out = joined;
            }
            Ok(out)
        }
        HirKind::Repetition(rep) if rep.max == Some(1) && rep.min == 0 => {
            let mut out = anchored_parts(&rep.sub, depth + 1)?;
            out.push(SearchPart::EMPTY);
            Ok(out)
        }
        HirKind::Repetition(rep) => {
            let turn = merged(anchored_parts(&rep.sub, depth + 1)?);
            if rep.max.unwrap_or(rep.min) > MAX_ANCHORED_TURNS {
                return Err(PatternError::new(
                    0,
                    format!(
                        "an anchor inside a repetition of more than {MAX_ANCHORED_TURNS} turns is not supported"
                    ),
                ));
            }
            let mut out = vec![SearchPart::EMPTY];
            for _ in 0..rep.min {
                out = both(&out, &turn);
            }
            match rep.max {
                None => out = both(&out, &any_turns(&turn)),
                Some(max) => {
                    let mut maybe = turn;
                    maybe.push(SearchPart::EMPTY);
                    for _ in rep.min..max {
                        out = both(&out, &maybe);
                    }
                }
            }
            Ok(out)
        }
        _ => Err(PatternError::new(0, "this anchor is not supported")),
    }
}

/// Any number of turns of a loop. Returns the turns of a repetition: the part that is tied to the
/// start of the string is in the first turn that matches any text, and the part that is tied to its
/// end in the last one: turns that match nothing demand more than going without them.
fn any_turns(turn: &[SearchPart]) -> Vec<SearchPart> {
    let free = turn.iter().filter(|part| !part.start && !part.end);
    let loops = SearchPart {
        body: Re::alt(free.map(|part| part.body.clone())).repeat(0, None),
        ..SearchPart::EMPTY
    };
    let mut out = vec![loops.clone()];
    for first in turn.iter().filter(|part| part.start) {
        out.extend(join(first, &loops));
    }
    let tied_to_end = turn.iter().filter(|part| part.end && !part.start);
    let before = out.clone();
    for last in tied_to_end {
        out.extend(before.iter().filter_map(|part| join(part, last)));
    }
    merged(out)
}

/// All of some parts before all of others.
fn both(before: &[SearchPart], after: &[SearchPart]) -> Vec<SearchPart> {
    let joined = before
        .iter()
        .flat_map(|a| after.iter().filter_map(|b| join(a, b)));
    merged(joined.collect())
}

/// The parts that are tied alike as one: four at most.
fn merged(parts: Vec<SearchPart>) -> Vec<SearchPart> {
    let mut out = Vec::new();
    for (start, end) in [(false, false), (true, false), (false, true), (true, true)] {
        let alike = parts.iter().filter(|p| p.start == start && p.end == end);
        let body = Re::alt(alike.map(|part| part.body.clone()));
        if body != Re::Never {
            out.push(SearchPart { start, body, end });
        }
    }
    out
}

/// One part after the other: what stands before `^` or after `$` is empty.
fn join(a: &SearchPart, b: &SearchPart) -> Option<SearchPart> {
    let mut first = a.body.clone();
    let mut second = b.body.clone();
    if b.start {
        if !first.nullable() {
            return None;
        }
        first = Re::Empty;
    }
    if a.end {
        if !second.nullable() {
            return None;
        }
        second = Re::Empty;
    }
    Some(SearchPart {
        start: a.start || b.start,
        body: Re::concat([first, second]),
        end: a.end || b.end,
    })
}

/// The strings in which an expression is found that looks around.
pub(super) fn looking_around(hir: &Hir) -> Result<Re, PatternError> {
    let branches = match hir.kind() {
        HirKind::Alternation(branches) => &branches[..],
        _ => std::slice::from_ref(hir),
    };
    let mut reader = HirReader::default();
    let branch = |hir: &Hir| {
        let mut parts = match hir.kind() {
            HirKind::Concat(parts) => &parts[..],
            _ => std::slice::from_ref(hir),
        };
        let (mut before, mut after) = (Re::any(), Re::any());
        if let [first, rest @ ..] = parts
            && *first == Hir::look(Look::Start)
        {
            (before, parts) = (Re::Empty, rest);
        }
        if let [rest @ .., last] = parts
            && *last == Hir::look(Look::End)
        {
            (after, parts) = (Re::Empty, rest);
        }
        let mut all = vec![before];
        for part in parts {
            all.push(reader.read(part, 0)?);
        }
        all.push(after);
        Ok(Re::concat(all))
    };
    let branches: Result<Vec<Re>, _> = branches.iter().map(branch).collect();
    Ok(Re::alt(branches?))
}

fn convert(hir: &Hir, depth: usize) -> Result<Re, PatternError> {
    HirReader::default().read(hir, depth)
}

/// Reads what `regex-syntax` has parsed.
#[derive(Default)]
struct HirReader {
    /// The expressions that looks look for, each once: automata follow the same for all of them.
    looked: Vec<Arc<Re>>,
}

impl HirReader {
    fn look(&mut self, look: fsm_tables::Look, of: Re) -> Re {
        let known = self.looked.iter().find(|known| ***known == of);
        let of = match known {
            Some(known) => Arc::clone(known),
            None => {
                self.looked.push(Arc::new(of));
                Arc::clone(&self.looked[self.looked.len() - 1])
            }
        };
        Re::Look(look, of)
    }

    fn all(&mut self, parts: &[Hir], depth: usize) -> Result<Vec<Re>, PatternError> {
        parts.iter().map(|part| self.read(part, depth)).collect()
    }

    fn read(&mut self, hir: &Hir, depth: usize) -> Result<Re, PatternError> {
        if depth > MAX_NESTING {
            return Err(PatternError::new(0, "the pattern is nested too deeply"));
        }
        let not_text = || PatternError::new(0, "the pattern is not over characters");
        Ok(match hir.kind() {
            HirKind::Empty => Re::Empty,
            HirKind::Literal(literal) => {
                Re::literal(std::str::from_utf8(&literal.0).map_err(|_| not_text())?)
            }
            HirKind::Class(Class::Unicode(class)) => Re::class(class.clone()),
            HirKind::Class(Class::Bytes(class)) => {
                Re::class(class.to_unicode_class().ok_or_else(not_text)?)
            }
            HirKind::Look(Look::Start) => self.look(fsm_tables::Look::NotBehind, Re::any_char()),
            HirKind::Look(Look::End) => self.look(fsm_tables::Look::NotAhead, Re::any_char()),
            HirKind::Look(_) => {
                return Err(PatternError::new(0, "this anchor is not supported here"));
            }
            HirKind::Repetition(rep) => self.read(&rep.sub, depth + 1)?.repeat(rep.min, rep.max),
            HirKind::Capture(capture) => {
                let of = self.read(&capture.sub, depth + 1)?;
                match capture.name.as_deref().and_then(look_of) {
                    Some(look) => self.look(look, of),
                    None => of,
                }
            }
            HirKind::Concat(subs) => Re::concat(self.all(subs, depth + 1)?),
            HirKind::Alternation(subs) => Re::alt(self.all(subs, depth + 1)?),
        })
    }
}
