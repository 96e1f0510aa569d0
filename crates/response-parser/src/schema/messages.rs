//! Values as messages have them. For example, a text of 80 characters is cut behind the 60th.

use crate::error::{Error, ErrorKind};
use crate::jmes;
use crate::pyre::{Exhausted, STEPS, STEPS_PER_BYTE};
use crate::value::Value;

pub(crate) fn jmespath_error(error: jmes::JmesError, pointer: String) -> Error {
    match error {
        jmes::JmesError::Syntax(message, offset) => {
            let message = format!("{message} at byte {offset} of the expression");
            Error::new(ErrorKind::JmespathSyntax, pointer, message)
        }
        jmes::JmesError::Runtime(message) => {
            Error::new(ErrorKind::JmespathRuntime, pointer, message)
        }
        jmes::JmesError::Python(message) => Error::new(ErrorKind::PythonType, pointer, message),
        jmes::JmesError::Nesting => {
            let message = format!("the expression is nested deeper than {}", jmes::MAX_NESTING);
            Error::new(ErrorKind::DepthLimit, pointer, message)
        }
        jmes::JmesError::Size => {
            let message = format!("the result would have more than {} values", jmes::MAX_NODES);
            Error::new(ErrorKind::SizeLimit, pointer, message)
        }
    }
}

/// A text cut to what fits in a message, on one line.
pub(crate) fn shorten(text: &str) -> String {
    /// The most characters of a text in a message: a line's worth, because messages are one line.
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
        .escape_debug()
        .to_string()
        .replace("\\\"", "\"")
        .replace("\\'", "'")
}

pub(crate) fn exhausted(exhausted: Exhausted, pointer: String) -> Error {
    let message = match exhausted {
        Exhausted::Steps => format!(
            "matching took more than {STEPS} steps and {STEPS_PER_BYTE} for each byte of the text"
        ),
        Exhausted::Stack => "matching left too many choices open; make the pattern stricter".into(),
        Exhausted::Text => "the text is longer than 4 GiB".into(),
    };
    Error::new(ErrorKind::RegexBudget, pointer, message)
}

/// A kind of value, for messages.
pub(super) fn name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Text(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) | Value::Json(_) => "an object",
    }
}
