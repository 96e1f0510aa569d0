//! Values and errors of JSON texts in Python's words. For example, an error is `Expecting value:
//! line 1 column 2 (char 1)`.

use python_compat::show::Style;
use serde_json::Value as Json;

use crate::json::{JsonError, Problem};
use crate::value::Value;

/// The message of CPython 3.11's `json.loads` for an error in `text`: positions count code
/// points, lines and columns from 1.
pub(super) fn json_error(text: &str, error: &JsonError) -> String {
    let mut offset = error.offset;
    let what = match error.problem {
        Problem::ExpectedValue if text.starts_with('\u{FEFF}') => {
            "Unexpected UTF-8 BOM (decode using utf-8-sig)"
        }
        Problem::ExpectedValue => "Expecting value",
        Problem::ExpectedKey => "Expecting property name enclosed in double quotes",
        Problem::ExpectedColon => "Expecting ':' delimiter",
        Problem::ExpectedCommaOrEnd => "Expecting ',' delimiter",
        Problem::UnterminatedString => "Unterminated string starting at",
        Problem::ControlCharacter => "Invalid control character at",
        Problem::BadEscape if text[offset..].starts_with("\\u") => {
            offset += 1;
            "Invalid \\uXXXX escape"
        }
        Problem::BadEscape => "Invalid \\escape",
        Problem::TrailingData => "Extra data",
        Problem::TooDeep | Problem::Surrogate => error.problem.message(),
    };
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let place = before.chars().count();
    format!("{what}: line {line} column {column} (char {place})")
}

/// The name of the class that a value has in Python.
pub(super) fn class(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Text(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
        Value::Json(json) => class(&Value::from_json(json)),
    }
}

/// A value as `json.dumps(value, ensure_ascii=False)` writes it.
pub(super) fn dumps(json: &Json) -> String {
    // Whatever is JSON has JSON.
    python_compat::dumps(json, &Style::plain()).unwrap_or_default()
}
