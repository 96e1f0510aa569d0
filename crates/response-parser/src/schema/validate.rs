//! The keywords of a response schema that restrict values, apart from the place at which these are
//! found. For example, `{"minimum": 3}` refuses 2 at the JSON Pointer of the value.

use json_tree::pointer::escape;
use json_tree::subschemas::{self, Form};
use serde_json::{Map, Value as Json};

use super::messages::{exhausted, shorten};
use crate::error::{Error, ErrorKind};
use crate::pyre::{Dialect, Pattern};

/// Keywords that are passed over, because they say nothing about the value, or only where it is
/// found.
const SILENT: [&str; 16] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
    "x-mapping",
    "x-mapping-regex",
    "x-parser",
    "x-parser-args",
    "x-regex",
];

/// Keywords that are enforced. They are listed, because any other one is refused.
const ENFORCED: [&str; 24] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "required",
    "type",
];

/// Refuses keywords that could not be enforced, with their place.
pub(crate) fn check(schema: &Json) -> Result<(), Error> {
    let known = |keyword: &str| {
        SILENT.contains(&keyword)
            || ENFORCED.contains(&keyword)
            || matches!(keyword, "x-regex-iterator" | "x-regex-key-value")
    };
    KnownKeywords {
        known: &known,
        unknown: "this keyword is not enforced, so nothing can be validated by it; take it out, or parse without validation",
        no_schema: "a schema must be an object or a boolean",
    }
    .check(schema, "")
}

/// The keywords that a schema may use, and what is said of one that uses others.
pub(crate) struct KnownKeywords<'k> {
    pub(crate) known: &'k dyn Fn(&str) -> bool,
    pub(crate) unknown: &'k str,
    pub(crate) no_schema: &'k str,
}

impl KnownKeywords<'_> {
    /// Refuses a schema that uses other keywords, with their place. Recursion is as deep as the
    /// schema, which is limited.
    pub(crate) fn check(&self, schema: &Json, pointer: &str) -> Result<(), Error> {
        let object = match schema {
            Json::Object(object) => object,
            Json::Bool(_) => return Ok(()),
            _ => return Err(wrong(pointer.to_owned(), self.no_schema)),
        };
        for (keyword, value) in object {
            let place = format!("{pointer}/{}", escape(keyword));
            if !(self.known)(keyword) {
                return Err(wrong(place, self.unknown));
            }
            match (subschemas::form(keyword), value) {
                // An array of items is no form that is enforced.
                (Some(Form::One | Form::OneOrList), child) => self.check(child, &place)?,
                (Some(Form::List), Json::Array(_)) | (Some(Form::ByName), Json::Object(_)) => {
                    for (at, child) in subschemas::inside(keyword, value) {
                        self.check(child, &format!("{place}{at}"))?;
                    }
                }
                (None, Json::String(source)) if keyword == "pattern" => {
                    Pattern::new(source, Dialect::Re)
                        .map_err(|error| wrong(place, &format!("{error} of the pattern")))?;
                }
                (None, _) if keyword != "pattern" => {}
                _ => return Err(wrong(place, "has a value of the wrong kind")),
            }
        }
        Ok(())
    }
}

fn wrong(pointer: String, message: &str) -> Error {
    Error::new(ErrorKind::SchemaInvalid, pointer, message)
}

/// Checks `value` against `schema`. Recursion is as deep as the schema, which is limited.
pub(crate) fn validate(schema: &Json, value: &Json) -> Result<(), Error> {
    node(schema, value, "", "")
}

fn node(schema: &Json, value: &Json, pointer: &str, at: &str) -> Result<(), Error> {
    let schema = match schema {
        Json::Object(schema) => schema,
        Json::Bool(false) => return Err(invalid(pointer, at, "nothing is allowed here")),
        _ => return Ok(()),
    };
    if let Some(only) = schema.get("const") {
        ensure(same(only, value), pointer, "const", at, || {
            format!("must be {only}")
        })?;
        // The parser gives the constant whatever the text; nothing else was looked at.
        return Ok(());
    }
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "type" => check_type(rule, value, pointer, at)?,
            "enum" => {
                let choices = rule.as_array().map(Vec::as_slice).unwrap_or_default();
                let fits = choices.iter().any(|choice| same(choice, value));
                ensure(fits, pointer, keyword, at, || {
                    format!(
                        "must be one of {}, not {}",
                        shorten(&rule.to_string()),
                        shown(value)
                    )
                })?;
            }
            "allOf" | "anyOf" | "oneOf" | "not" => {
                combination(keyword, rule, value, pointer, at)?;
            }
            _ => {}
        }
    }
    match value {
        Json::Object(object) => object_of(schema, object, pointer, at),
        Json::Array(items) => array_of(schema, items, pointer, at),
        Json::String(text) => string(schema, text, pointer, at),
        Json::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            numeric(schema, number, pointer, at)
        }
        Json::Null | Json::Bool(_) => Ok(()),
    }
}

fn combination(
    keyword: &str,
    rule: &Json,
    value: &Json,
    pointer: &str,
    at: &str,
) -> Result<(), Error> {
    if keyword == "not" {
        let fits = node(rule, value, pointer, at).is_ok();
        return ensure(!fits, pointer, keyword, at, || {
            "must not be like this".to_owned()
        });
    }
    let branches = rule.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut fitting = 0;
    for (i, branch) in branches.iter().enumerate() {
        let place = format!("{pointer}/{keyword}/{i}");
        match (node(branch, value, &place, at), keyword) {
            (Ok(()), _) => fitting += 1,
            (Err(error), "allOf") => return Err(error),
            (Err(_), _) => {}
        }
    }
    let fits = match keyword {
        "allOf" => true,
        "anyOf" => fitting > 0,
        _ => fitting == 1,
    };
    ensure(fits, pointer, keyword, at, || {
        format!("fits {fitting} of {} alternatives", branches.len())
    })
}

fn object_of(
    schema: &Map<String, Json>,
    object: &Map<String, Json>,
    pointer: &str,
    at: &str,
) -> Result<(), Error> {
    for key in schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let key = key.as_str().unwrap_or_default();
        ensure(object.contains_key(key), pointer, "required", at, || {
            format!("the key {key} is missing")
        })?;
    }
    count(
        schema,
        "minProperties",
        "maxProperties",
        object.len(),
        "keys",
        pointer,
        at,
    )?;
    let properties = schema.get("properties").and_then(Json::as_object);
    for (key, value) in object {
        let inside = format!("{at}/{}", escape(key));
        let known = properties.and_then(|properties| properties.get(key));
        if let Some(child) = known {
            let place = format!("{pointer}/properties/{}", escape(key));
            node(child, value, &place, &inside)?;
        } else if let Some(child) = schema.get("additionalProperties") {
            let place = format!("{pointer}/additionalProperties");
            node(child, value, &place, &inside)?;
        }
    }
    Ok(())
}

fn array_of(
    schema: &Map<String, Json>,
    items: &[Json],
    pointer: &str,
    at: &str,
) -> Result<(), Error> {
    count(
        schema,
        "minItems",
        "maxItems",
        items.len(),
        "items",
        pointer,
        at,
    )?;
    let places = schema.get("prefixItems").and_then(Json::as_array);
    // As for the parser, items stands above prefixItems.
    let each = schema.get("items");
    for (i, item) in items.iter().enumerate() {
        let inside = format!("{at}/{i}");
        if let Some(child) = each {
            node(child, item, &format!("{pointer}/items"), &inside)?;
        } else if let Some(child) = places.and_then(|places| places.get(i)) {
            node(child, item, &format!("{pointer}/prefixItems/{i}"), &inside)?;
        }
    }
    Ok(())
}

fn string(schema: &Map<String, Json>, text: &str, pointer: &str, at: &str) -> Result<(), Error> {
    if schema.contains_key("minLength") || schema.contains_key("maxLength") {
        let length = text.chars().count();
        count(
            schema,
            "minLength",
            "maxLength",
            length,
            "characters",
            pointer,
            at,
        )?;
    }
    if let Some(source) = schema.get("pattern").and_then(Json::as_str)
        && let Ok(pattern) = Pattern::new(source, Dialect::Re)
    {
        let found = pattern.search(text);
        let found = found.map_err(|e| exhausted(e, format!("{pointer}/pattern")))?;
        ensure(found.is_some(), pointer, "pattern", at, || {
            format!("must match {source}, and \"{}\" does not", shorten(text))
        })?;
    }
    Ok(())
}

fn numeric(schema: &Map<String, Json>, n: f64, pointer: &str, at: &str) -> Result<(), Error> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Json::as_f64);
    let holds = [
        ("minimum", bound("minimum").is_none_or(|b| n >= b)),
        ("maximum", bound("maximum").is_none_or(|b| n <= b)),
        (
            "exclusiveMinimum",
            bound("exclusiveMinimum").is_none_or(|b| n > b),
        ),
        (
            "exclusiveMaximum",
            bound("exclusiveMaximum").is_none_or(|b| n < b),
        ),
        (
            "multipleOf",
            bound("multipleOf").is_none_or(|b| (n / b).fract() == 0.0),
        ),
    ];
    for (keyword, holds) in holds {
        ensure(holds, pointer, keyword, at, || {
            format!(
                "{n} does not keep to {keyword} {}",
                schema.get(keyword).unwrap_or(&Json::Null)
            )
        })?;
    }
    Ok(())
}

fn count(
    schema: &Map<String, Json>,
    least: &str,
    most: &str,
    count: usize,
    what: &str,
    pointer: &str,
    at: &str,
) -> Result<(), Error> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Json::as_u64);
    let count = count as u64;
    if let Some(bound) = bound(least) {
        let message = || format!("{count} {what}, at least {bound} wanted");
        ensure(count >= bound, pointer, least, at, message)?;
    }
    if let Some(bound) = bound(most) {
        let message = || format!("{count} {what}, at most {bound} wanted");
        ensure(count <= bound, pointer, most, at, message)?;
    }
    Ok(())
}

fn check_type(rule: &Json, value: &Json, pointer: &str, at: &str) -> Result<(), Error> {
    let is = |name: &str| match (name, value) {
        ("any", _)
        | ("null", Json::Null)
        | ("boolean", Json::Bool(_))
        | ("string", Json::String(_))
        | ("array", Json::Array(_))
        | ("object", Json::Object(_))
        | ("number", Json::Number(_)) => true,
        ("integer", Json::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    };
    let fits = match rule {
        Json::String(name) => is(name),
        Json::Array(names) => names.iter().filter_map(Json::as_str).any(is),
        _ => true,
    };
    ensure(fits, pointer, "type", at, || {
        format!("must be of type {rule}, not {}", shown(value))
    })
}

fn ensure(
    holds: bool,
    pointer: &str,
    keyword: &str,
    at: &str,
    message: impl FnOnce() -> String,
) -> Result<(), Error> {
    match holds {
        true => Ok(()),
        false => Err(invalid(&format!("{pointer}/{keyword}"), at, &message())),
    }
}

#[cold]
fn invalid(pointer: &str, at: &str, message: &str) -> Error {
    let place = if at.is_empty() { "the message" } else { at };
    Error::new(
        ErrorKind::Invalid,
        pointer,
        format!("{place} is invalid: {message}"),
    )
}

fn shown(value: &Json) -> String {
    shorten(&value.to_string())
}

/// Equality of JSON Schema: numbers by their value.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
