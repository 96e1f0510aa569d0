//! How Python shows things: values, and what is wrong with a JSON text.

use serde_json::Value as Json;

use crate::json::{JsonError, Problem};
use crate::pyre::is_printable;
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

/// A value as `repr` shows it.
pub(super) fn repr(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(n) => out.push_str(&n.to_string()),
        Value::Float(n) if n.is_nan() => out.push_str("nan"),
        Value::Float(n) if n.is_infinite() => {
            out.push_str(if *n > 0.0 { "inf" } else { "-inf" });
        }
        Value::Float(n) => out.push_str(&crate::scalar::print_float(*n)),
        Value::Json(json) => repr(&Value::from_json(json), out),
        Value::Text(text) => repr_text(text.as_str(), out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                repr(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                repr_text(key.as_str(), out);
                out.push_str(": ");
                repr(value, out);
            }
            out.push('}');
        }
    }
}

fn repr_text(text: &str, out: &mut String) {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => out.push_str(&match c as u32 {
                n @ ..0x100 => format!("\\x{n:02x}"),
                n @ ..0x1_0000 => format!("\\u{n:04x}"),
                n => format!("\\U{n:08x}"),
            }),
        }
    }
    out.push(quote);
}

/// A value as `json.dumps(value, ensure_ascii=False)` writes it.
pub(super) fn dumps(json: &Json, out: &mut String) {
    match json {
        Json::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            out.push_str(&crate::scalar::print_float(number));
        }
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                dumps(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => {
            out.push('{');
            for (i, (key, value)) in map.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                dumps(&Json::from(key.as_str()), out);
                out.push_str(": ");
                dumps(value, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}
