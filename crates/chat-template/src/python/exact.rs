//! JSON with the numbers that Python has and JSON has not.
//!
//! Python's integers are of any size, and its `json` reads and writes `NaN` and `Infinity`. Most
//! readers of JSON make a float of `12345678901234567890123`, so that the prompt has another number
//! than the chat. [`read`] keeps such numbers as maps of one entry, and a chat that is said to have
//! them ([`Numbers::Exact`]) makes numbers of these again:
//!
//! ```
//! use chat_template::{Chat, ChatTemplate, Numbers, exact};
//! use serde_json::json;
//!
//! let read = exact::read(r#"[{"role": "tool", "content": [12345678901234567890123, NaN, 7]}]"#)?;
//! assert_eq!(read[0]["content"][0], json!({"$bigint": "12345678901234567890123"}));
//! let template = ChatTemplate::new("{{ messages[0].content }}{{ messages[0].content | tojson }}")?;
//! let chat = Chat::new(read.as_array().unwrap()).with_numbers(Numbers::Exact);
//! assert_eq!(
//!     template.render(&chat)?.text,
//!     "[12345678901234567890123, nan, 7][12345678901234567890123, NaN, 7]"
//! );
//! # Ok::<(), chat_template::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::python::value::Value;
use crate::{Error, ErrorKind};

/// The key of a map that is an integer, its digits under it: a map, because JSON's numbers lose
/// digits in most readers.
const INTEGER: &str = "$bigint";
/// The key of a map that is a float, its name under it: a map, because JSON has no infinities.
const FLOAT: &str = "$float";

/// The form in which numbers that JSON cannot hold stand in a chat.
///
/// See [`exact`](self) for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Numbers {
    /// Not at all: a map is a map.
    #[default]
    Json,
    /// As [`exact::read`](read) writes them: `{"$bigint": "123"}` is an integer, and
    /// `{"$float": "NaN"}` a float. A key of a real map that could be one of these has one `$`
    /// more.
    Exact,
}

/// Reads JSON as Python's `json.loads` does, with numbers that [`Json`] cannot hold as
/// [`Numbers::Exact`] has them. O(text).
///
/// # Errors
///
/// [`ErrorKind::Chat`]: it is no JSON.
///
/// ```
/// use chat_template::exact::read;
/// use serde_json::json;
///
/// assert_eq!(read("[18446744073709551616, -1e999, 1]")?, json!([
///     {"$bigint": "18446744073709551616"}, {"$float": "-Infinity"}, 1
/// ]));
/// assert_eq!(read(r#"{"$bigint": "1"}"#)?, json!({"$$bigint": "1"}));
/// assert!(read("[nan]").is_err());
/// # Ok::<(), chat_template::Error>(())
/// ```
pub fn read(text: &str) -> Result<Json, Error> {
    serde_json::from_str(&tagged(text))
        .map_err(|error| Error::new(ErrorKind::Chat, format!("this is not JSON: {error}")))
}

/// The text with other spellings of such numbers, and of keys that look like them.
fn tagged(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    // The text before this byte is written.
    let mut done = 0;
    let mut at = 0;
    let ends = |at: usize, is: fn(u8) -> bool| {
        let rest = bytes.get(at..).unwrap_or_default();
        at + rest.iter().position(|b| !is(*b)).unwrap_or(rest.len())
    };
    while let Some(byte) = bytes.get(at) {
        let start = at;
        let spelling = match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                let space = |b: u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
                let is_key = bytes.get(ends(at, space)) == Some(&b':');
                let key = is_key.then(|| serde_json::from_str::<String>(&text[start..at]).ok());
                let key = key.flatten().filter(|key| stands_for(key).is_some());
                key.map(|key| format!("\"${key}\""))
            }
            b'-' | b'0'..=b'9' | b'N' | b'I' => {
                at = ends(at, |b| {
                    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.')
                });
                number(&text[start..at])
            }
            _ => {
                // No other character begins a number.
                at = ends(at, |b| {
                    !matches!(b, b'"' | b'-' | b'0'..=b'9' | b'N' | b'I')
                })
                .max(at + 1);
                None
            }
        };
        if let Some(spelling) = spelling {
            out.push_str(&text[done..start]);
            out.push_str(&spelling);
            done = at;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Returns the end of the string that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}

/// The spelling of a number that JSON cannot hold; none for one that it can, and for what is
/// no number.
fn number(word: &str) -> Option<String> {
    let tagged = |key: &str, value: &str| {
        let mut out = String::new();
        let _ = write!(out, "{{\"{key}\":\"{value}\"}}");
        Some(out)
    };
    if let "NaN" | "Infinity" | "-Infinity" = word {
        return tagged(FLOAT, word);
    }
    if word == "-0" {
        // An integer in Python, a float to others.
        return Some("0".to_owned());
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    let written_well = digits.starts_with(|c: char| c.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0') || digits.starts_with("0."));
    if !written_well {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let fits = word.parse::<i64>().is_ok() || word.parse::<u64>().is_ok();
        return if fits { None } else { tagged(INTEGER, word) };
    }
    match word.parse::<f64>() {
        Ok(number) if number.is_infinite() => match word.starts_with('-') {
            true => tagged(FLOAT, "-Infinity"),
            false => tagged(FLOAT, "Infinity"),
        },
        _ => None,
    }
}

/// The key without the signs that it may begin with, if it is, but for these, one that stands
/// for a number.
fn stands_for(key: &str) -> Option<&str> {
    let name = key.trim_start_matches('$');
    (key.len() > name.len() && [INTEGER, FLOAT].iter().any(|tag| &tag[1..] == name)).then_some(name)
}

/// A key of a map as it was before a `$` was added.
pub(crate) fn plain_key(key: &str) -> &str {
    match stands_for(key) {
        Some(name) if key.len() > name.len() + 1 => &key[1..],
        _ => key,
    }
}

/// The number that a map stands for. An error for an integer of more than 127 bits.
pub(crate) fn number_of(map: &serde_json::Map<String, Json>) -> Option<Result<Value, String>> {
    let (key, text) = map.iter().next().filter(|_| map.len() == 1)?;
    let text = text.as_str()?;
    match key.as_str() {
        INTEGER => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_integer.then(|| match text.parse::<i128>() {
                Ok(number) => Ok(Value::Int(number)),
                Err(_) => Err("an integer has more than 127 bits".to_owned()),
            })
        }
        FLOAT => match text {
            "NaN" => Some(Ok(Value::Float(f64::NAN))),
            "Infinity" => Some(Ok(Value::Float(f64::INFINITY))),
            "-Infinity" => Some(Ok(Value::Float(f64::NEG_INFINITY))),
            _ => None,
        },
        _ => None,
    }
}
