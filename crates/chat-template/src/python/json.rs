//! JSON as Python's `json.dumps` writes it.

use minijinja::{Error, Value};

use super::text::float_repr;
use super::value::{MAX_WEIGHT, View, compare, type_name, view};
use super::{limit_error, type_error, undefined};

/// How to write JSON: the arguments of `json.dumps` that templates may give.
pub(super) struct Style {
    /// Escape everything beyond ASCII.
    pub(super) characters: Characters,
    /// One level of indentation; none writes everything in one line.
    pub(super) indent: Option<String>,
    pub(super) item_separator: String,
    pub(super) key_separator: String,
    pub(super) keys: Keys,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Characters {
    All,
    Ascii,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Keys {
    AsTheyCome,
    Sorted,
}

/// Writes `value` to `out`.
///
/// # Errors
///
/// There is no JSON for it.
pub(super) fn write(
    out: &mut String,
    value: &Value,
    style: &Style,
    level: usize,
) -> Result<(), Error> {
    match view(value) {
        View::Undefined => {
            return Err(undefined(
                "Object of type Undefined is not JSON serializable",
            ));
        }
        View::None => out.push_str("null"),
        View::Bool(true) => out.push_str("true"),
        View::Bool(false) => out.push_str("false"),
        View::Int(value) => out.push_str(&value.to_string()),
        View::Float(value) => out.push_str(&json_float(value)),
        View::Text(text) => string(out, text, style.characters),
        View::Sequence(sequence) if matches!(type_name(value), "list" | "tuple") => {
            if sequence.items.is_empty() {
                out.push_str("[]");
                return Ok(());
            }
            out.push('[');
            for (at, item) in sequence.items.iter().enumerate() {
                separate(out, style, level + 1, at)?;
                write(out, item, style, level + 1)?;
            }
            close(out, style, level);
            out.push(']');
        }
        View::Dict(dict) => {
            if dict.entries.is_empty() {
                out.push_str("{}");
                return Ok(());
            }
            let mut entries: Vec<(&Value, &Value)> = dict.entries.iter().collect();
            if style.keys == Keys::Sorted {
                for pair in entries.windows(2) {
                    if let [(a, _), (b, _)] = pair {
                        compare(a, b)?;
                    }
                }
                entries.sort_by(|(a, _), (b, _)| {
                    let order = compare(a, b).ok().flatten();
                    order.unwrap_or(std::cmp::Ordering::Equal)
                });
            }
            out.push('{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                separate(out, style, level + 1, at)?;
                string(out, &json_key(key)?, style.characters);
                out.push_str(&style.key_separator);
                write(out, item, style, level + 1)?;
            }
            close(out, style, level);
            out.push('}');
        }
        _ => {
            return Err(type_error(format!(
                "Object of type {} is not JSON serializable",
                type_name(value)
            )));
        }
    }
    Ok(())
}

fn separate(out: &mut String, style: &Style, level: usize, at: usize) -> Result<(), Error> {
    if at > 0 {
        out.push_str(&style.item_separator);
    }
    indent(out, style, level);
    match out.len() > MAX_WEIGHT {
        true => Err(limit_error(format!("JSON of more than {MAX_WEIGHT} bytes"))),
        false => Ok(()),
    }
}

fn close(out: &mut String, style: &Style, level: usize) {
    indent(out, style, level);
}

fn indent(out: &mut String, style: &Style, level: usize) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        (0..level).for_each(|_| out.push_str(indent));
    }
}

fn json_key(key: &Value) -> Result<String, Error> {
    Ok(match view(key) {
        View::Text(text) => text.to_owned(),
        View::None => "null".to_owned(),
        View::Bool(true) => "true".to_owned(),
        View::Bool(false) => "false".to_owned(),
        View::Int(value) => value.to_string(),
        View::Float(value) => json_float(value),
        _ => {
            return Err(type_error(format!(
                "keys must be str, int, float, bool or None, not {}",
                type_name(key)
            )));
        }
    })
}

fn json_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    float_repr(value)
}

fn string(out: &mut String, text: &str, characters: Characters) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if characters == Characters::Ascii && !(' '..='~').contains(&c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
