//! The small parts of which members of a template are: texts, marks and patterns.
//!
//! For example, `["<a>", "<a b>"]` is an anchor of two texts, of which the longer is tried first.

use json_tree::pointer::escape;
use serde_json::{Map, Value as Json};

use super::fields::Anchor;
use super::shape::Shape;
use crate::error::{Error, ErrorKind};
use crate::pyre::{Dialect, Pattern, SyntaxError};
use crate::schema::is_truthy;

#[cold]
pub(super) fn bad(pointer: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::TemplateLoad, pointer, message)
}

pub(super) fn only(object: &Map<String, Json>, known: &[&str], pointer: &str) -> Result<(), Error> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let message = format!("unknown key; there are {}", known.join(", "));
            Err(bad(format!("{pointer}/{}", escape(key)), message))
        }
    }
}

pub(super) fn bad_pattern(error: &SyntaxError, pointer: &str, kind: ErrorKind) -> Error {
    let kind = match error.unsupported {
        true => ErrorKind::RegexUnsupported,
        false => kind,
    };
    Error::new(kind, pointer, format!("{error} of the pattern"))
}

/// Reads the marks of a region, which stand there as texts or as a pattern; `None` if there are none.
pub(super) fn anchor(
    spec: &Map<String, Json>,
    pointer: &str,
    literal_key: &str,
    pattern_key: &str,
) -> Result<Option<Anchor>, Error> {
    let at = |key: &str| format!("{pointer}/{key}");
    match (spec.get(literal_key), spec.get(pattern_key)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            let message = format!("{literal_key} and {pattern_key} exclude each other");
            Err(bad(pointer, message))
        }
        (Some(literal), None) => literals(literal, at(literal_key)).map(Some),
        (None, Some(Json::String(source))) => {
            let pointer = at(pattern_key);
            let pattern = Pattern::new(source, Dialect::Regex)
                .map_err(|error| bad_pattern(&error, &pointer, ErrorKind::TemplateLoad))?;
            Ok(Some(Anchor {
                pattern,
                pointer,
                may_grow: true,
            }))
        }
        (None, Some(_)) => Err(bad(at(pattern_key), "must be a string")),
    }
}

/// One literal or several, the longest tried first.
fn literals(json: &Json, pointer: String) -> Result<Anchor, Error> {
    let wrong = || {
        bad(
            pointer.clone(),
            "must be a string or a list of strings, none empty",
        )
    };
    let mut list: Vec<&str> = match json {
        Json::String(text) => vec![text],
        Json::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            texts.ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    if list.is_empty() || list.iter().any(|text| text.is_empty()) {
        return Err(wrong());
    }
    list.sort_by_key(|text| std::cmp::Reverse(text.chars().count()));
    let mut kept: Vec<&str> = Vec::with_capacity(list.len());
    for text in list {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    let may_grow = kept
        .iter()
        .any(|a| kept.iter().any(|b| a != b && b.starts_with(a)));
    Ok(Anchor {
        pattern: Pattern::literals(kept),
        pointer,
        may_grow,
    })
}

/// A text or a list of texts; none if there is no such member.
pub(super) fn strings(json: Option<&Json>, pointer: &str) -> Result<Vec<String>, Error> {
    let texts = match json {
        None => return Ok(Vec::new()),
        Some(Json::String(text)) => Some(vec![text.clone()]),
        Some(Json::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect()
        }
        Some(_) => None,
    };
    texts.ok_or_else(|| bad(pointer, "must be a string or a list of strings"))
}

pub(super) fn shapes(json: Option<&Json>, pointer: &str) -> Result<Vec<Shape>, Error> {
    let shapes = strings(json, pointer)?;
    let shapes = shapes.iter().map(|source| {
        Shape::new(source).ok_or_else(|| {
            let message = "a mark starts and ends with a text, and a hole has a text behind it";
            bad(pointer, message)
        })
    });
    shapes.collect()
}

pub(super) fn string_delims(
    json: Option<&Json>,
    pointer: &str,
) -> Result<Vec<(String, String)>, Error> {
    let wrong = || {
        let pointer = format!("{pointer}/string_delims");
        let message = "must be a list of pairs of strings";
        Error::new(ErrorKind::PythonType, pointer, message)
    };
    let pairs = match json {
        None => return Ok(Vec::new()),
        Some(Json::Array(pairs)) => pairs,
        Some(other) if !is_truthy(other) => return Ok(Vec::new()),
        Some(_) => return Err(wrong()),
    };
    pairs
        .iter()
        .map(|pair| match pair.as_array().map(Vec::as_slice) {
            Some([Json::String(open), Json::String(close)]) => Ok((open.clone(), close.clone())),
            _ => Err(wrong()),
        })
        .collect()
}
