//! Reads the `pattern` keyword: an ECMA-262 regular expression that is searched
//! for in the decoded string.
//!
//! The text is rewritten in the dialect of `regex-syntax` (whose classes would
//! otherwise mean something else: `\d` is ASCII in ECMA-262, `\s` has its own
//! list, `[` and `&&` are plain inside a class), read by it, and brought to an
//! expression over whole strings: anchors are resolved by position, the rest of
//! a search becomes "any text" on either side. Lookahead is understood at the
//! very beginning of a pattern, where it is an intersection or a difference;
//! other look-around, word boundaries and back references are refused by name.

mod anchors;
mod rewriter;
#[cfg(test)]
mod tests;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, Look};

use crate::language::re::Re;
use anchors::anchored_parts;

/// Why a pattern cannot be used, with the byte offset in the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

impl PatternError {
    fn new(offset: usize, reason: impl Into<String>) -> Self {
        PatternError {
            offset,
            reason: reason.into(),
        }
    }
}

/// A pattern: all of these conditions hold for the whole string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    /// The string matches `main`, each positive look and no negative one.
    pub(crate) main: Re,
    pub(crate) looks: Vec<(Re, bool)>,
}

/// The longest pattern that is read, in bytes.
const MAX_PATTERN_BYTES: usize = 20_000;

/// The largest pattern, its counts written out, in characters.
const MAX_PATTERN_STATES: usize = 100_000;

impl Pattern {
    pub(crate) fn parse(source: &str) -> Result<Pattern, PatternError> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::new(
                MAX_PATTERN_BYTES,
                format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"),
            ));
        }
        let mut rest = source;
        let mut offset = 0;
        let mut anchored = false;
        let mut looks = Vec::new();
        loop {
            if let Some(after) = rest.strip_prefix('^')
                && after.starts_with("(?")
                && (after[2..].starts_with('=') || after[2..].starts_with('!'))
            {
                anchored = true;
                rest = after;
                offset += 1;
            }
            let positive = match rest.get(..3) {
                Some("(?=") => true,
                Some("(?!") => false,
                _ => break,
            };
            if !anchored {
                break;
            }
            let Some(end) = matching_paren(rest) else {
                break;
            };
            // A lookahead under a quantifier, or one alternative among
            // several, is not a condition on the whole string.
            if rest[end + 1..].starts_with(['*', '+', '?', '{'])
                || has_top_level_bar(&rest[end + 1..])
            {
                break;
            }
            let inner = &rest[3..end];
            let re = search_language(&format!("^(?:{inner})"))
                .map_err(|e| PatternError::new(offset + e.offset.saturating_sub(1), e.reason))?;
            looks.push((re, positive));
            rest = &rest[end + 1..];
            offset += end + 1;
        }
        let text = if anchored && !looks.is_empty() {
            format!("^(?:{rest})")
        } else {
            source.to_owned()
        };
        let main = search_language(&text).map_err(|e| {
            let at = if looks.is_empty() {
                e.offset
            } else {
                offset + e.offset.saturating_sub(4)
            };
            PatternError::new(at.min(source.len()), e.reason)
        })?;
        let size = looks.iter().fold(main.expanded_size(), |n, (re, _)| {
            n.saturating_add(re.expanded_size())
        });
        if size > MAX_PATTERN_STATES {
            return Err(PatternError::new(
                0,
                format!(
                    "with its counts written out the pattern has more than {MAX_PATTERN_STATES} characters; lower the counts"
                ),
            ));
        }
        Ok(Pattern {
            source: source.to_owned(),
            main,
            looks,
        })
    }

    /// The expression, where there is no lookahead.
    pub(crate) fn plain(&self) -> Option<&Re> {
        self.looks.is_empty().then_some(&self.main)
    }
}

/// The index of the parenthesis that closes the one at the start of `text`.
fn matching_paren(text: &str) -> Option<usize> {
    scan_groups(text, |depth, b, _| depth == 0 && b == b')')
}

fn has_top_level_bar(text: &str) -> bool {
    scan_groups(text, |depth, b, _| depth == 0 && b == b'|').is_some()
}

/// Walks over a pattern, escapes and classes skipped, and answers where
/// `found(depth after the byte, byte, index)` first holds.
fn scan_groups(text: &str, found: impl Fn(i32, u8, usize) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut in_class, mut i) = (0, false, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => {
                i += 2;
                continue;
            }
            b'[' if !in_class => in_class = true,
            b']' if in_class => in_class = false,
            b'(' if !in_class => depth += 1,
            b')' if !in_class => depth -= 1,
            _ => {}
        }
        if !in_class && found(depth, bytes[i], i) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// The texts that `source` matches as a whole.
pub(crate) fn whole(source: &str) -> Result<Re, PatternError> {
    let (start, end) = (Hir::look(Look::Start), Hir::look(Look::End));
    language(&Hir::concat(vec![start, parsed(source)?, end]))
}

/// The strings in which `source` is found.
fn search_language(source: &str) -> Result<Re, PatternError> {
    language(&parsed(source)?)
}

/// A pattern as `regex-syntax` reads it, in its own dialect.
fn parsed(source: &str) -> Result<Hir, PatternError> {
    let rewritten = rewriter::rewritten(source)?;
    let mut parser = ParserBuilder::new().nest_limit(120).build();
    parser.parse(&rewritten).map_err(|e| {
        PatternError::new(
            0,
            format!("the pattern is not a regular expression: {}", reason_of(&e)),
        )
    })
}

/// The strings in which an expression is found.
fn language(hir: &Hir) -> Result<Re, PatternError> {
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

fn reason_of(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(e) => e.kind().to_string(),
        regex_syntax::Error::Translate(e) => e.kind().to_string(),
        _ => "it cannot be read".to_owned(),
    }
}
