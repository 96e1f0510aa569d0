//! Texts that are formatted with `str.format`.
//!
//! For example, `{0!r:>8}` is a field for the first value, by its `repr` and at the right of eight
//! places.

use super::spec::{FormatError, wrong};

/// A piece of a text that is formatted with `str.format`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Braces<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A place for a value: `{name!r:spec}`.
    Field {
        /// The name of the value: a number, a name, or nothing for the next one; `.name` and
        /// `[key]` behind it.
        name: &'t str,
        /// The conversion that is done first: `r`, `s` or `a`.
        conversion: Option<&'t str>,
        /// The layout, which may have fields itself.
        spec: &'t str,
    },
}

/// The next piece of a text that is formatted with `str.format`, which it takes from the
/// front of `rest`; none at the end.
///
/// # Errors
///
/// The braces do not match.
pub fn next_braces<'t>(rest: &mut &'t str) -> Result<Option<Braces<'t>>, FormatError> {
    let text = *rest;
    let Some(brace) = text.chars().next() else {
        return Ok(None);
    };
    if !['{', '}'].contains(&brace) {
        let (plain, after) = text.split_at(text.find(['{', '}']).unwrap_or(text.len()));
        *rest = after;
        return Ok(Some(Braces::Text(plain)));
    }
    let inside = &text[1..];
    if let Some(after) = inside.strip_prefix(brace) {
        *rest = after;
        return Ok(Some(Braces::Text(&text[..1])));
    }
    if brace == '}' {
        return Err(wrong("Single '}' encountered in format string"));
    }
    let mut depth = 1;
    let end = inside.find(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    let Some(end) = end else {
        return Err(wrong("expected '}' before end of string"));
    };
    *rest = &inside[end + 1..];
    let (field, spec) = inside[..end]
        .split_once(':')
        .unwrap_or((&inside[..end], ""));
    let (name, conversion) = match field.split_once('!') {
        Some((name, conversion)) => (name, Some(conversion)),
        None => (field, None),
    };
    Ok(Some(Braces::Field {
        name,
        conversion,
        spec,
    }))
}
