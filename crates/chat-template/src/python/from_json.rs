//! JSON as values of templates.
//!
//! For example, `{"role": "user"}` becomes a map with one entry, whose value is a text.

use json_tree::pointer::escape;
use serde_json::Value as Json;

use super::exact::{self, Numbers};
use super::value::{Key, Value, dict, list};
use super::weight::{MAX_DEPTH, too_deep};
use super::{Fault, limit_error};

/// A JSON value as the template sees it.
///
/// # Errors
///
/// It nests too deep, or has a number that is too long: what is wrong, and the JSON Pointer of
/// the place.
pub(crate) fn from_json(json: &Json, numbers: Numbers) -> Result<Value, Misplaced> {
    convert(json, numbers, MAX_DEPTH)
}

/// The fault of a value, and the JSON Pointer of its place.
#[derive(Debug)]
pub(crate) struct Misplaced {
    pub(crate) pointer: String,
    pub(crate) fault: Fault,
}

impl Misplaced {
    /// The same under a key.
    pub(crate) fn under(mut self, key: impl std::fmt::Display) -> Self {
        self.pointer = format!("/{}{}", escape(&key.to_string()), self.pointer);
        self
    }
}

impl From<Fault> for Misplaced {
    fn from(fault: Fault) -> Self {
        Self {
            pointer: String::new(),
            fault,
        }
    }
}

fn convert(json: &Json, numbers: Numbers, levels: usize) -> Result<Value, Misplaced> {
    if levels == 0 {
        return Err(too_deep().into());
    }
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value.into()),
            (None, Some(value)) => Value::Int(value.into()),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            let items = items.iter().enumerate().map(|(at, item)| {
                convert(item, numbers, levels - 1).map_err(|misplaced| misplaced.under(at))
            });
            list(items.collect::<Result<_, _>>()?)?
        }
        Json::Object(entries) => {
            if numbers == Numbers::Exact
                && let Some(number) = exact::number_of(entries)
            {
                return number.map_err(|message| limit_error(message).into());
            }
            let entries = entries.iter().map(|(key, value)| {
                let key = match numbers {
                    Numbers::Exact => exact::plain_key(key),
                    Numbers::Json => key,
                };
                let value = convert(value, numbers, levels - 1);
                let value = value.map_err(|misplaced| misplaced.under(key))?;
                Ok::<_, Misplaced>((Key::from(key), value))
            });
            dict(entries.collect::<Result<_, _>>()?)?
        }
    })
}
