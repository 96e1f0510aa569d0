//! A data model given by its JSON Schema, and its validation as pydantic does it in lax mode: what
//! can be read as the wanted type is, defaults are filled in, unknown keys dropped. For example,
//! `"7"` is read as 7 where an integer is wanted.

use json_tree::depth::free;
use json_tree::pointer::referred;
use serde_json::Value as Json;

use super::python;
use crate::error::Error;
use crate::pyre::{Dialect, Pattern};
use crate::scalar::{self, Int};
use crate::schema::KnownKeywords;
use crate::text::Text;
use crate::value::{Object, Value, check_depth};

/// The deepest nesting of a schema, and of references followed for one value: far more than models
/// of data have, because the validation calls itself for each level.
const MAX_DEPTH: usize = 128;

/// Keywords of JSON Schema that a model may use. Others are refused, because a keyword that is
/// passed over would let wrong values through.
const KEYWORDS: [&str; 24] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// A data model: a name and the JSON Schema that pydantic gives for a class of that name.
#[derive(Clone, Debug, PartialEq)]
pub struct DataModel {
    name: String,
    schema: Json,
}

/// One thing that is wrong with a value.
struct Violation {
    place: Vec<String>,
    message: String,
    code: &'static str,
    input: String,
    class: &'static str,
}

impl DataModel {
    /// A model by its schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SchemaInvalid`](crate::ErrorKind::SchemaInvalid) for a keyword that is not supported, with its place;
    /// [`ErrorKind::DepthLimit`](crate::ErrorKind::DepthLimit) for a schema that is nested deeper than 128.
    pub fn new(name: impl Into<String>, schema: Json) -> Result<DataModel, Error> {
        if let Err(error) = check_depth("the schema is", &schema, MAX_DEPTH) {
            free(schema);
            return Err(error);
        }
        KnownKeywords {
            known: &|keyword| KEYWORDS.contains(&keyword),
            unknown: "the keyword is not supported in a data model",
            no_schema: "a schema must be an object",
        }
        .check(&schema, "")?;
        let name = name.into();
        Ok(DataModel { name, schema })
    }

    /// The model's schema.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// The value as the model reads it, or what is wrong with it as pydantic would print it.
    pub(super) fn validate<'t>(&self, value: Value<'t>) -> Result<Value<'t>, String> {
        let mut run = Validation {
            root: &self.schema,
            place: Vec::new(),
            problems: Vec::new(),
        };
        let read = run.read(&self.schema, value, 0);
        if run.problems.is_empty() {
            return Ok(read);
        }
        let count = run.problems.len();
        let plural = if count == 1 { "" } else { "s" };
        let mut out = format!("{count} validation error{plural} for {}", self.name);
        for problem in run.problems {
            let Violation {
                place,
                message,
                code,
                input,
                class,
            } = problem;
            out.push_str(&format!(
                "\n{}\n  {message} [type={code}, input_value={input}, input_type={class}]\n    For further information visit https://errors.pydantic.dev/2.14/v/{code}",
                place.join(".")
            ));
        }
        Err(out)
    }
}

struct Validation<'m> {
    root: &'m Json,
    place: Vec<String>,
    problems: Vec<Violation>,
}

impl<'m> Validation<'m> {
    fn fail(&mut self, code: &'static str, message: impl Into<String>, value: &Value<'_>) {
        self.problems.push(Violation {
            place: self.place.clone(),
            message: message.into(),
            code,
            input: shown(value),
            class: python::class(value),
        });
    }

    fn read<'t>(&mut self, schema: &'m Json, value: Value<'t>, depth: usize) -> Value<'t> {
        if depth > MAX_DEPTH {
            self.fail(
                "recursion_loop",
                "Recursion error - cyclic reference detected",
                &value,
            );
            return value;
        }
        if schema.get("$ref").is_some_and(Json::is_string) {
            return match referred(self.root, schema) {
                Some(schema) => self.read(schema, value, depth + 1),
                None => {
                    self.fail("model_type", "the reference leads nowhere", &value);
                    value
                }
            };
        }
        if let Some(choices) = schema.get("anyOf").and_then(Json::as_array) {
            return self.any_of(choices, value, depth);
        }
        let choices = match (schema.get("enum"), schema.get("const")) {
            (Some(Json::Array(choices)), _) => Some(choices.as_slice()),
            (_, Some(only)) => Some(std::slice::from_ref(only)),
            _ => None,
        };
        if let Some(choices) = choices {
            let fits = |choice: &Json| same(&Value::from_json(choice), &value);
            if !choices.iter().any(fits) {
                let names: Vec<String> = choices.iter().map(python_compat::repr).collect();
                let list = match names.as_slice() {
                    [all @ .., last] if !all.is_empty() => {
                        format!("{} or {last}", all.join(", "))
                    }
                    names => names.concat(),
                };
                self.fail("literal_error", format!("Input should be {list}"), &value);
            }
            return value;
        }
        match schema.get("type").and_then(Json::as_str) {
            Some("string") => self.string(schema, value),
            Some("integer") => self.integer(schema, value),
            Some("number") => self.number(schema, value),
            Some("boolean") => self.boolean(value),
            Some("null") => {
                if value != Value::Null {
                    self.fail("none_required", "Input should be None", &value);
                }
                value
            }
            Some("array") => self.array(schema, value, depth),
            Some("object") => self.object(schema, value, depth),
            _ => value,
        }
    }

    /// The first choice that takes the value as it is, else the first that takes it at all.
    fn any_of<'t>(&mut self, choices: &'m [Json], value: Value<'t>, depth: usize) -> Value<'t> {
        let before = self.problems.len();
        let mut taken = None;
        let mut problems = Vec::new();
        for choice in choices {
            let name = choice.get("type").or_else(|| choice.get("$ref"));
            let name = match name.and_then(Json::as_str) {
                Some("string") => "str",
                Some("integer") => "int",
                Some("number") => "float",
                Some("boolean") => "bool",
                Some("array") => "list",
                Some("object") => "dict",
                Some(name) => name.rsplit('/').next().unwrap_or(name),
                None => "any",
            };
            self.place.push(name.to_owned());
            let read = self.read(choice, value.clone(), depth + 1);
            self.place.pop();
            if self.problems.len() == before {
                if read == value {
                    return read;
                }
                taken.get_or_insert(read);
            } else {
                // Null is no branch of its own in the messages of optional values.
                let own = self.problems.drain(before..);
                if choice.get("type").and_then(Json::as_str) == Some("null") {
                    drop(own);
                } else {
                    problems.extend(own);
                }
            }
        }
        match taken {
            Some(read) => read,
            None => {
                let optional = choices.len() == 2
                    && choices
                        .iter()
                        .any(|c| c.get("type").and_then(Json::as_str) == Some("null"));
                for problem in &mut problems {
                    if optional && problem.place.len() > self.place.len() {
                        problem.place.remove(self.place.len());
                    }
                }
                self.problems.extend(problems);
                value
            }
        }
    }

    fn string<'t>(&mut self, schema: &Json, value: Value<'t>) -> Value<'t> {
        let Value::Text(text) = &value else {
            self.fail("string_type", "Input should be a valid string", &value);
            return value;
        };
        let length = text.code_points().count() as u64;
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        if let Some(least) = schema.get("minLength").and_then(Json::as_u64)
            && length < least
        {
            let message = format!(
                "String should have at least {least} character{}",
                plural(least)
            );
            self.fail("string_too_short", message, &value);
        } else if let Some(most) = schema.get("maxLength").and_then(Json::as_u64)
            && length > most
        {
            let message = format!(
                "String should have at most {most} character{}",
                plural(most)
            );
            self.fail("string_too_long", message, &value);
        } else if let Some(source) = schema.get("pattern").and_then(Json::as_str)
            && !matches_pattern(source, text)
        {
            let message = format!("String should match pattern '{source}'");
            self.fail("string_pattern_mismatch", message, &value);
        }
        value
    }

    fn integer<'t>(&mut self, schema: &Json, value: Value<'t>) -> Value<'t> {
        let read = match &value {
            Value::Int(n) => n.clone(),
            Value::Bool(b) => Int::Small(i64::from(*b)),
            Value::Float(n) if !n.is_finite() => {
                self.fail("finite_number", "Input should be a finite number", &value);
                return value;
            }
            Value::Float(n) if n.fract() == 0.0 => Int::from_whole(*n),
            Value::Float(_) => {
                let message =
                    "Input should be a valid integer, got a number with a fractional part";
                self.fail("int_from_float", message, &value);
                return value;
            }
            Value::Text(text) => match whole(text.as_str()) {
                Some(n) => n,
                None => {
                    let message =
                        "Input should be a valid integer, unable to parse string as an integer";
                    self.fail("int_parsing", message, &value);
                    return value;
                }
            },
            _ => {
                self.fail("int_type", "Input should be a valid integer", &value);
                return value;
            }
        };
        self.bounds(schema, read.to_f64(), &value);
        Value::Int(read)
    }

    fn number<'t>(&mut self, schema: &Json, value: Value<'t>) -> Value<'t> {
        let read = match &value {
            Value::Float(n) => *n,
            Value::Int(n) => n.to_f64(),
            Value::Bool(b) => f64::from(u8::from(*b)),
            Value::Text(text) => match scalar::float(scalar::trim(text.as_str())) {
                Some(n) => n,
                None => {
                    let message =
                        "Input should be a valid number, unable to parse string as a number";
                    self.fail("float_parsing", message, &value);
                    return value;
                }
            },
            _ => {
                self.fail("float_type", "Input should be a valid number", &value);
                return value;
            }
        };
        self.bounds(schema, read, &value);
        Value::Float(read)
    }

    fn bounds(&mut self, schema: &Json, number: f64, value: &Value<'_>) {
        let bound = |keyword: &str| schema.get(keyword).filter(|bound| bound.is_number());
        type Holds = fn(f64, f64) -> bool;
        let checks: [(&str, &str, &str, Holds); 4] = [
            (
                "minimum",
                "greater_than_equal",
                "greater than or equal to",
                |n, b| n >= b,
            ),
            (
                "maximum",
                "less_than_equal",
                "less than or equal to",
                |n, b| n <= b,
            ),
            (
                "exclusiveMinimum",
                "greater_than",
                "greater than",
                |n, b| n > b,
            ),
            ("exclusiveMaximum", "less_than", "less than", |n, b| n < b),
        ];
        for (keyword, code, words, holds) in checks {
            if let Some(bound) = bound(keyword)
                && !bound.as_f64().is_some_and(|bound| holds(number, bound))
            {
                let shown = python::dumps(bound);
                self.fail(code, format!("Input should be {words} {shown}"), value);
                return;
            }
        }
    }

    fn boolean<'t>(&mut self, value: Value<'t>) -> Value<'t> {
        let read = match &value {
            Value::Bool(b) => Some(*b),
            Value::Int(Int::Small(n @ (0 | 1))) => Some(*n == 1),
            Value::Float(n) if *n == 0.0 || *n == 1.0 => Some(*n == 1.0),
            Value::Text(text) => match text.as_str().to_ascii_lowercase().as_str() {
                "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
                "0" | "off" | "f" | "false" | "n" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        };
        match (read, &value) {
            (Some(read), _) => Value::Bool(read),
            (None, Value::Text(_) | Value::Int(_)) => {
                let message = "Input should be a valid boolean, unable to interpret input";
                self.fail("bool_parsing", message, &value);
                value
            }
            _ => {
                self.fail("bool_type", "Input should be a valid boolean", &value);
                value
            }
        }
    }

    fn array<'t>(&mut self, schema: &'m Json, value: Value<'t>, depth: usize) -> Value<'t> {
        let Value::Array(items) = value else {
            self.fail("list_type", "Input should be a valid list", &value);
            return value;
        };
        let count = items.len() as u64;
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        if let Some(least) = schema.get("minItems").and_then(Json::as_u64)
            && count < least
        {
            let message = format!(
                "List should have at least {least} item{} after validation, not {count}",
                plural(least)
            );
            let value = Value::Array(items);
            self.fail("too_short", message, &value);
            return value;
        }
        if let Some(most) = schema.get("maxItems").and_then(Json::as_u64)
            && count > most
        {
            let message = format!(
                "List should have at most {most} item{} after validation, not {count}",
                plural(most)
            );
            let value = Value::Array(items);
            self.fail("too_long", message, &value);
            return value;
        }
        let Some(each) = schema.get("items") else {
            return Value::Array(items);
        };
        let items = items.into_iter().enumerate().map(|(i, item)| {
            self.place.push(i.to_string());
            let item = self.read(each, item, depth + 1);
            self.place.pop();
            item
        });
        Value::Array(items.collect())
    }

    fn object<'t>(&mut self, schema: &'m Json, value: Value<'t>, depth: usize) -> Value<'t> {
        let Value::Object(mut object) = value else {
            self.fail(
                "model_type",
                "Input should be a valid dictionary or instance",
                &value,
            );
            return value;
        };
        let properties = schema.get("properties").and_then(Json::as_object);
        if properties.is_none() && schema.get("additionalProperties").is_none() {
            return Value::Object(object);
        }
        let required = schema.get("required").and_then(Json::as_array);
        let is_required = |name: &str| {
            let mut names = required.into_iter().flatten();
            names.any(|known| known.as_str() == Some(name))
        };
        let input = shown(&Value::Object(object.clone()));
        let mut read = Object::default();
        for (name, schema) in properties.into_iter().flatten() {
            let key = Text::plain(name.clone());
            self.place.push(name.clone());
            match (object.remove(&key), schema.get("default")) {
                (Some(value), _) => {
                    let value = self.read(schema, value, depth + 1);
                    read.insert(key, value);
                }
                (None, Some(default)) if !is_required(name) => {
                    read.insert(key, Value::from_json(default).into_owned());
                }
                (None, _) if is_required(name) => self.problems.push(Violation {
                    place: self.place.clone(),
                    message: "Field required".to_owned(),
                    code: "missing",
                    input: input.clone(),
                    class: "dict",
                }),
                (None, _) => {}
            }
            self.place.pop();
        }
        match schema.get("additionalProperties") {
            None => {}
            Some(Json::Bool(true)) => {
                for (key, value) in object {
                    read.insert(key, value);
                }
            }
            Some(Json::Bool(false)) => {
                for (key, value) in object {
                    self.place.push(key.as_str().to_owned());
                    self.fail("extra_forbidden", "Extra inputs are not permitted", &value);
                    self.place.pop();
                }
            }
            Some(each) => {
                for (key, value) in object {
                    self.place.push(key.as_str().to_owned());
                    let value = self.read(each, value, depth + 1);
                    self.place.pop();
                    read.insert(key, value);
                }
            }
        }
        Value::Object(read)
    }
}

/// Equality as Python has it for a choice: numbers by value, booleans apart.
fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => a.to_f64() == *b,
        _ => a == b,
    }
}

/// A whole number written as text, with a fraction of zeros or without one.
fn whole(text: &str) -> Option<Int> {
    let text = scalar::trim(text);
    if let Some((whole, zeros)) = text.split_once('.')
        && zeros.bytes().all(|b| b == b'0')
    {
        return scalar::integer(whole);
    }
    scalar::integer(text)
}

fn matches_pattern(source: &str, text: &Text<'_>) -> bool {
    let pattern = Pattern::new(source, Dialect::Re);
    pattern.is_ok_and(|pattern| matches!(pattern.search(text.as_str()), Ok(Some(_))))
}

/// A value as Python shows it, its middle left out where it is long.
fn shown(value: &Value<'_>) -> String {
    let out = python_compat::repr(value);
    let length = out.chars().count();
    if length <= 50 {
        return out;
    }
    let start: String = out.chars().take(25).collect();
    let end: String = out.chars().skip(length - 24).collect();
    format!("{start}...{end}")
}
