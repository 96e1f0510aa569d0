//! Reads the `pattern` keyword: an ECMA-262 regular expression that is searched
//! for in the decoded string.
//!
//! The text is rewritten in the dialect of `regex-syntax` (whose classes would
//! otherwise mean something else: `\d` is ASCII in ECMA-262, `\s` has its own
//! list, `[` and `&&` are plain inside a class), read by it, and brought to an
//! expression over whole strings: anchors are resolved by position, the rest of
//! a search becomes "any text" on either side. Lookahead at the very beginning of a
//! pattern is an intersection or a difference, and is kept apart; all other look-around,
//! word boundaries among it, is a part of the expression. Back references are refused
//! by name.
//!
//! For example, `^[a-z]+$` is the expression `[a-z]+`, and `a` is any text, `a` and any text.

mod anchors;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use regex_dialects::{Dialect, look_of, reason};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind, Look};

use crate::language::re::Re;
use anchors::anchored_parts;

pub(crate) use regex_dialects::Error as PatternError;

/// A pattern: all of these conditions hold for the whole string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Each with whether it must match: first the pattern itself, then the looks around from the start of the text.
    conditions: Vec<(Re, bool)>,
}

/// The longest pattern that is read, in bytes. There is a limit because reading takes time and
/// memory in proportion, and schemas come from strangers.
const MAX_PATTERN_BYTES: usize = 20_000;

/// The largest pattern, its counts written out, in characters, because each becomes a state.
const MAX_PATTERN_STATES: usize = 100_000;

impl Pattern {
    pub(crate) fn parse(source: &str) -> Result<Pattern, PatternError> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::new(
                MAX_PATTERN_BYTES,
                format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"),
            ));
        }
        let hir = parsed(source)?;
        let (conditions, rest) = leading_looks(&hir);
        let looks = conditions.into_iter().map(|(body, positive)| {
            let from_start = Hir::concat(vec![Hir::look(Look::Start), body.clone()]);
            Ok((language(&from_start)?, positive))
        });
        let looks: Vec<(Re, bool)> = looks.collect::<Result<_, PatternError>>()?;
        let main = match looks.is_empty() {
            true => language(&hir)?,
            false => language(&Hir::concat(rest))?,
        };
        let conditions = [vec![(main, true)], looks].concat();
        let sizes = conditions.iter().map(|(re, _)| re.expanded_size());
        let size = sizes.fold(0, usize::saturating_add);
        if size > MAX_PATTERN_STATES {
            return Err(PatternError::new(
                0,
                format!(
                    "with its counts written out the pattern has more than {MAX_PATTERN_STATES} characters; lower the counts"
                ),
            ));
        }
        Ok(Pattern { conditions })
    }

    /// Returns the conditions that a string must satisfy, each with whether it must match: first the pattern itself,
    /// then its looks around from the start of the text.
    pub fn conditions(&self) -> &[(Re, bool)] {
        &self.conditions
    }

    /// The expression, where it does not look around.
    pub fn plain(&self) -> Option<&Re> {
        match &self.conditions[..] {
            [(main, _)] if !main.looks_around() => Some(main),
            _ => None,
        }
    }
}

/// The lookaheads at the beginning of a text, each with whether it wants a match, and the
/// pattern without them.
fn leading_looks(hir: &Hir) -> (Vec<(&Hir, bool)>, Vec<Hir>) {
    let mut looks = Vec::new();
    let HirKind::Concat(parts) = hir.kind() else {
        return (looks, Vec::new());
    };
    if parts
        .first()
        .is_none_or(|part| *part != Hir::look(Look::Start))
    {
        return (looks, Vec::new());
    }
    let mut from = 1;
    for part in &parts[1..] {
        match part.kind() {
            HirKind::Look(Look::Start) => {}
            HirKind::Capture(group) => match group.name.as_deref().and_then(look_of) {
                Some(fsm_tables::Look::Ahead) => looks.push((&*group.sub, true)),
                Some(fsm_tables::Look::NotAhead) => looks.push((&*group.sub, false)),
                _ => break,
            },
            _ => break,
        }
        from += 1;
    }
    let mut rest = vec![Hir::look(Look::Start)];
    rest.extend_from_slice(&parts[from..]);
    (looks, rest)
}

/// The texts that `source` matches as a whole.
pub(crate) fn whole(source: &str) -> Result<Re, PatternError> {
    let (start, end) = (Hir::look(Look::Start), Hir::look(Look::End));
    language(&Hir::concat(vec![start, parsed(source)?, end]))
}

/// A pattern as `regex-syntax` reads it, in its own dialect.
fn parsed(source: &str) -> Result<Hir, PatternError> {
    let rewritten = Dialect::SCHEMA.rewritten(source)?;
    let mut parser = ParserBuilder::new().nest_limit(120).build();
    parser.parse(&rewritten).map_err(|e| {
        PatternError::new(
            0,
            format!("the pattern is not a regular expression: {}", reason(&e)),
        )
    })
}

/// The strings in which an expression is found.
fn language(hir: &Hir) -> Result<Re, PatternError> {
    if hir.properties().explicit_captures_len() > 0 {
        return anchors::looking_around(hir).map(absorb);
    }
    let parts = anchored_parts(hir, 0)?;
    Ok(Re::alt(parts.into_iter().map(|p| {
        let before = if p.start { Re::Empty } else { Re::any() };
        let after = if p.end { Re::Empty } else { Re::any() };
        absorb(Re::concat([before, p.body, after]))
    })))
}

/// `.*x*` at an end of a search is `.*`: a part that may be empty and any text
/// beside it are any text.
fn absorb(re: Re) -> Re {
    let Re::Concat(mut parts) = re else { return re };
    let any = Re::any();
    if parts.first() == Some(&any) {
        while parts.len() > 1 && parts[1].nullable() {
            parts.remove(1);
        }
    }
    if parts.last() == Some(&any) {
        while parts.len() > 1 && parts[parts.len() - 2].nullable() {
            parts.remove(parts.len() - 2);
        }
    }
    // `.*x+` is `.*x`: one turn of the loop is enough beside any text.
    let n = parts.len();
    if n > 1
        && parts[0] == any
        && let Re::Repeat(inner, min, _) = &parts[1]
    {
        parts[1] = inner.as_ref().clone().repeat(*min, Some(*min));
    }
    if n > 1
        && parts[n - 1] == any
        && let Re::Repeat(inner, min, _) = &parts[n - 2]
    {
        parts[n - 2] = inner.as_ref().clone().repeat(*min, Some(*min));
    }
    if parts.len() == 1 && parts[0] == any {
        return any;
    }
    Re::concat(parts)
}
