//! Values as they are between two steps: JSON, and what JSON cannot hold. For example, `NaN` is a
//! value here, and tagged or refused when a message is made.

use json_tree::depth;
use json_tree::pointer::escape;
use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, ErrorKind};
pub(crate) use crate::object::Object;
use crate::scalar::Int;
use crate::text::Text;

/// A value of Python's: JSON with integers of any size, NaN, infinities and strings with
/// lone surrogates. Strings borrow from the input where they can.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    Int(Int),
    Float(f64),
    Text(Text<'t>),
    Array(Vec<Value<'t>>),
    Object(Object<'t>),
    /// An array, an object, a boolean or a number that no further step looks into.
    Json(Json),
}

/// The treatment of values that JSON cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Give up and say which.
    Refuse,
    /// Take the nearest thing that JSON has.
    Replace,
    /// Write `{"$float": ...}`, `{"$bigint": ...}` or `{"$utf16": ...}`.
    Tag,
}

/// A value that JSON cannot hold: what it is, and the JSON Pointer of where it is.
#[derive(Debug)]
pub(crate) struct NotJson {
    pub(crate) what: String,
    pub(crate) pointer: String,
}

impl<'t> Value<'t> {
    pub(crate) fn text(text: &'t str) -> Value<'t> {
        Value::Text(Text::plain(text))
    }

    /// A value that no further step looks into, but for what is no container.
    pub(crate) fn finished(json: Json) -> Value<'t> {
        match json {
            Json::Null => Value::Null,
            Json::String(text) => Value::Text(Text::plain(text)),
            json => Value::Json(json),
        }
    }

    /// The value of a JSON value. Recursion is as deep as the value; the caller checks.
    pub(crate) fn from_json(json: &'t Json) -> Value<'t> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(number) => from_number(number),
            Json::String(text) => Value::text(text),
            Json::Array(items) => Value::Array(items.iter().map(Value::from_json).collect()),
            Json::Object(map) => Value::Object(
                map.iter()
                    .map(|(k, v)| (Text::plain(k.as_str()), Value::from_json(v)))
                    .collect(),
            ),
        }
    }

    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(b) => Value::Bool(b),
            Value::Int(n) => Value::Int(n),
            Value::Float(n) => Value::Float(n),
            Value::Json(json) => Value::Json(json),
            Value::Text(text) => Value::Text(text.into_owned()),
            Value::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(k, v)| (k.into_owned(), v.into_owned()))
                    .collect(),
            ),
        }
    }

    /// The same value, stand-ins in its strings meaning surrogates.
    pub(crate) fn with_stand_ins(self) -> Value<'t> {
        match self {
            Value::Text(text) => Value::Text(text.marked()),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(Value::with_stand_ins).collect())
            }
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(k, v)| (k.marked(), v.with_stand_ins()))
                    .collect(),
            ),
            other => other,
        }
    }

    /// As JSON.
    pub(crate) fn into_json(self, beyond: Beyond) -> Result<Json, NotJson> {
        Ok(match self {
            Value::Null => Json::Null,
            Value::Bool(b) => Json::Bool(b),
            Value::Int(Int::Small(n)) => Json::Number(n.into()),
            Value::Int(Int::Big(digits)) => match digits.parse::<u64>() {
                Ok(n) => Json::Number(n.into()),
                Err(_) => match beyond {
                    Beyond::Refuse => return Err(not_json(format!("the integer {digits}"))),
                    Beyond::Replace => Json::String(digits.into()),
                    Beyond::Tag => tagged("$bigint", Json::String(digits.into())),
                },
            },
            Value::Float(n) => match Number::from_f64(n) {
                Some(number) => Json::Number(number),
                None => {
                    let name = python_compat::number::float_json(n);
                    match beyond {
                        Beyond::Refuse => return Err(not_json(format!("the number {name}"))),
                        Beyond::Replace => Json::Null,
                        Beyond::Tag => tagged("$float", Json::String(name)),
                    }
                }
            },
            Value::Text(text) if text.is_lone() => match beyond {
                Beyond::Refuse => return Err(not_json("a string with a lone surrogate".into())),
                Beyond::Replace => Json::String(text.into_lossy()),
                Beyond::Tag => tagged("$utf16", text.to_utf16().into()),
            },
            Value::Json(json) => json,
            Value::Text(text) => Json::String(text.into_lossy()),
            Value::Array(items) => {
                let mut array = Vec::with_capacity(items.len());
                for (i, item) in items.into_iter().enumerate() {
                    array.push(
                        item.into_json(beyond)
                            .map_err(|e| e.inside(&i.to_string()))?,
                    );
                }
                Json::Array(array)
            }
            Value::Object(map) => {
                let mut object = Map::with_capacity(map.len());
                for (key, value) in map {
                    if key.is_lone() && beyond == Beyond::Refuse {
                        return Err(not_json("a key with a lone surrogate".into()));
                    }
                    let key = key.into_lossy();
                    let value = value.into_json(beyond).map_err(|e| e.inside(&key))?;
                    object.insert(key, value);
                }
                Json::Object(object)
            }
        })
    }
}

impl NotJson {
    pub(crate) fn error(&self) -> Error {
        let place = if self.pointer.is_empty() {
            "its root"
        } else {
            &self.pointer
        };
        let message = format!(
            "the result holds {}, which JSON cannot, at {place}",
            self.what
        );
        Error::new(ErrorKind::NotJson, "", message)
    }

    fn inside(mut self, key: &str) -> NotJson {
        self.pointer = format!("/{}{}", escape(key), self.pointer);
        self
    }
}

#[cold]
fn not_json(what: String) -> NotJson {
    NotJson {
        what,
        pointer: String::new(),
    }
}

fn tagged(tag: &str, value: Json) -> Json {
    Json::Object(Map::from_iter([(tag.to_owned(), value)]))
}

fn from_number(number: &Number) -> Value<'static> {
    if let Some(n) = number.as_i64() {
        Value::Int(Int::Small(n))
    } else if let Some(n) = number.as_u64() {
        Value::Int(Int::from_digits(false, &n.to_string()))
    } else {
        Value::Float(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// Refuses a value of the caller's that nests deeper than `limit`, before anything that
/// recurses looks at it.
pub(crate) fn check_depth(what: &str, json: &Json, limit: usize) -> Result<(), Error> {
    match depth_within(json, limit) {
        true => Ok(()),
        false => {
            let message = format!("{what} nested deeper than {limit}");
            Err(Error::new(ErrorKind::DepthLimit, "", message))
        }
    }
}

/// Returns true if a JSON value has at most `limit` levels inside its outermost one.
pub(crate) fn depth_within(json: &Json, limit: usize) -> bool {
    depth::at_most(json, limit + 1)
}

/// The treatment of values by [`ResponseSchema::parse`](crate::ResponseSchema::parse) that JSON cannot hold: NaN, infinities,
/// integers of more than 64 bits, strings with lone surrogates.
///
/// ```
/// use response_parser::{ResponseSchema, Unrepresentable};
/// use serde_json::json;
///
/// let schema = json!({"x-parser": "json"});
/// assert!(ResponseSchema::new(&schema)?.parse("[NaN]").is_err());
/// let builder = ResponseSchema::builder().with_unrepresentable(Unrepresentable::Replace);
/// assert_eq!(builder.build(&schema)?.parse("[NaN]")?, json!([null]));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unrepresentable {
    /// An error of kind [`ErrorKind::NotJson`] that says which and where.
    #[default]
    Refuse,
    /// The nearest thing that JSON has: null for NaN and infinities, the digits as a string
    /// for an integer, U+FFFD for each lone surrogate.
    Replace,
    /// An object that says what it is: `{"$float": "NaN" | "Infinity" | "-Infinity"}`,
    /// `{"$bigint": "<digits>"}` or `{"$utf16": [<code units>]}`.
    Tag,
}

impl Unrepresentable {
    pub(crate) fn beyond(self) -> Beyond {
        match self {
            Unrepresentable::Refuse => Beyond::Refuse,
            Unrepresentable::Replace => Beyond::Replace,
            Unrepresentable::Tag => Beyond::Tag,
        }
    }
}
