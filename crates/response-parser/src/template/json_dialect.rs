//! JSON as models write it that do not quote the names of members, or mark strings in their own way.
//!
//! For example, `{city: <|"|>Ulm<|"|>}` becomes `{"city": "Ulm"}`.

use std::borrow::Cow;

use super::choices::TemplateRelease;
use crate::json;
use crate::pyre::is_word;
use crate::value::Value;

/// The spelling of JSON in a region.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonDialect {
    pub(super) allow_non_json: bool,
    pub(super) unquoted_keys: bool,
    /// Decides which texts are keys.
    pub(super) release: TemplateRelease,
    /// Pairs of what opens and what closes a string.
    pub(super) string_delims: Vec<(String, String)>,
}

/// The text as JSON proper, `None` if it needs no change. Fails with the place of a
/// character that the rewriting uses for itself.
pub(super) fn rewrite(dialect: &JsonDialect, text: &str) -> Result<Option<String>, usize> {
    if dialect.string_delims.is_empty() && !dialect.unquoted_keys {
        return Ok(None);
    }
    let mut text = Cow::Borrowed(text);
    let mut strings: Vec<String> = Vec::new();
    if !dialect.string_delims.is_empty()
        && let Some(place) = text.find(['\u{1}', '\u{2}'])
    {
        return Err(place);
    }
    for (open, close) in &dialect.string_delims {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(from) = text[at..].find(open.as_str()) {
            let start = at + from + open.len();
            let Some(length) = text[start..].find(close.as_str()) else {
                break;
            };
            out.push_str(&text[at..at + from]);
            out.push_str(&format!("\u{1}{}\u{2}", strings.len()));
            strings.push(text[start..start + length].to_owned());
            let end = start + length + close.len();
            if end == at {
                break;
            }
            at = end;
        }
        out.push_str(&text[at..]);
        text = Cow::Owned(out);
    }
    if dialect.unquoted_keys {
        text = Cow::Owned(quote_keys(&text, dialect.release));
    }
    if strings.is_empty() {
        return Ok(Some(text.into_owned()));
    }
    let mut out = String::with_capacity(text.len());
    put_back(&text, &strings, &mut out);
    Ok(Some(out))
}

/// Puts quotes around each run of word characters between `{` or `,` and `:`. From 5.24 on there may be blanks
/// between them, and what stands in quotes is left alone. Linear.
fn quote_keys(text: &str, release: TemplateRelease) -> String {
    let old = release == TemplateRelease::V5_23;
    let behind_blanks = |text: &str| match old {
        true => 0,
        false => text.len() - text.trim_start().len(),
    };
    let mut out = String::with_capacity(text.len() + 16);
    let (mut copied, mut at) = (0, 0);
    // No string that begins before this place ends: its quote would have ended the one that was tried first.
    let mut unclosed = 0;
    while let Some(found) = text[at..].find(['{', ',', '"']) {
        let place = at + found;
        at = place + 1;
        if text.as_bytes()[place] == b'"' {
            if !old && place >= unclosed {
                match string_end(text, at) {
                    Ok(end) => at = end,
                    Err(stopped) => unclosed = stopped,
                }
            }
            continue;
        }
        let from = at + behind_blanks(&text[at..]);
        let key = &text[from..];
        let key = &key[..key.find(|c: char| !is_word(c)).unwrap_or(key.len())];
        let to = from + key.len();
        let colon = to + behind_blanks(&text[to..]);
        if !key.is_empty() && text[colon..].starts_with(':') {
            out.push_str(&text[copied..from]);
            out.push('"');
            out.push_str(key);
            out.push('"');
            copied = to;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The place behind the string that begins at `from`, behind its quote; the place up to which there is none if it
/// does not end: at the end of the text, or at an escaped line end, which no string has.
fn string_end(text: &str, from: usize) -> Result<usize, usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text.as_bytes()[at..]) {
        let place = at + found;
        at = place + 1;
        if text.as_bytes()[place] == b'"' {
            return Ok(at);
        }
        match text[at..].chars().next() {
            None | Some('\n') => return Err(at),
            Some(escaped) => at += escaped.len_utf8(),
        }
    }
    Err(text.len())
}

/// Copies `text` with its marks replaced by the strings they stand for. Marks inside those
/// strings, of pairs that came before, stay what they are.
fn put_back(text: &str, strings: &[String], out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1}') {
        out.push_str(before);
        rest = after;
        if let Some((number, after)) = after.split_once('\u{2}')
            && let Some(string) = number.parse().ok().and_then(|n: usize| strings.get(n))
        {
            json::encode(&Value::text(string), out);
            rest = after;
        }
    }
    out.push_str(rest);
}
