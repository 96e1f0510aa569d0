//! Arguments that a model wrote as text, cast to what the tool's schema says. For example, `7`
//! becomes a number if the parameter's schema is `{"type": "integer"}`, and stays a text if it is
//! `{"type": "string"}`.

use std::collections::HashMap;

use json_tree::pointer::referred;
use json_tree::subschemas::{ALTERNATIVES, COMBINATIONS};
use serde_json::{Map, Value as Json};

use super::call::Plain;
use super::loose;
use crate::json;
use crate::scalar::{self, Int};
use crate::schema::is_truthy;
use crate::text::Text;
use crate::value::Value;

/// The deepest nesting of `anyOf` and `oneOf` that is looked into, because the search calls itself
/// as deep.
const MAX_UNION_DEPTH: usize = 64;

/// The most parts of an argument's schema that are looked into for its types, because references
/// may lead in circles, or to ever more parts.
const MAX_PARTS: usize = 256;

/// For each tool, the types of each argument.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    /// The types that a schema names, as the reference looks for them.
    types: HashMap<String, HashMap<String, Vec<String>>>,
    /// The types that its values can have: also by reference, by `enum` and `const`.
    wide: HashMap<String, HashMap<String, Types>>,
}

/// Which names of calls are taken.
///
/// ```
/// use response_parser::{Family, Names, ResponseTemplate, Turn};
/// use serde_json::json;
///
/// let tools = json!([{"type": "function", "function": {"name": "f"}}]);
/// let turn = Turn::after("").with_tools(&tools);
/// let strict = ResponseTemplate::builder().with_names(Names::Offered).family(Family::HERMES)?;
/// let call = "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>";
/// assert_eq!(strict.parse_turn(&turn, call)?["content"], call);
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// All. A family's calls without a mark of their own must be of an offered tool all the same,
    /// if any are on offer.
    #[default]
    Any,
    /// The names of the tools on offer.
    Offered,
}

/// The JSON types that a value may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Types {
    text: bool,
    null: bool,
    integer: bool,
    number: bool,
    boolean: bool,
    object: bool,
    array: bool,
}

impl Types {
    const NONE: Types = Types {
        text: false,
        null: false,
        integer: false,
        number: false,
        boolean: false,
        object: false,
        array: false,
    };

    fn add(&mut self, name: &str) {
        match name {
            "string" => self.text = true,
            "null" => self.null = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "boolean" => self.boolean = true,
            "object" => self.object = true,
            "array" => self.array = true,
            _ => {}
        }
    }

    fn add_value(&mut self, value: &Json) {
        self.add(match value {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(n) if n.is_f64() => "number",
            Json::Number(_) => "integer",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        });
    }

    /// The types of a schema; `parts` is how many parts may still be looked into.
    fn of(schema: &Json, root: &Json, parts: &mut usize) -> Types {
        let mut types = Types::default();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let Some(left) = parts.checked_sub(1) else {
                break;
            };
            *parts = left;
            match &schema["type"] {
                Json::String(name) => types.add(name),
                Json::Array(names) => names
                    .iter()
                    .filter_map(Json::as_str)
                    .for_each(|name| types.add(name)),
                // If there is no type, `enum` and `const` count.
                _ => {
                    let listed = schema["enum"].as_array().into_iter().flatten();
                    listed
                        .chain(schema.get("const"))
                        .for_each(|value| types.add_value(value));
                    if schema.get("properties").is_some() {
                        types.object = true;
                    }
                    if schema.get("items").is_some() {
                        types.array = true;
                    }
                }
            }
            types.null |= schema.get("nullable").is_some_and(is_truthy);
            for key in COMBINATIONS {
                open.extend(schema[key].as_array().into_iter().flatten());
            }
            open.extend(referred(root, schema));
        }
        types
    }
}

impl Tools {
    /// Reads a list of tools as chat templates take them; what is no tool is skipped.
    pub(super) fn new(tools: Option<&Json>) -> Tools {
        let mut types = HashMap::new();
        let mut wide = HashMap::new();
        for tool in tools.and_then(Json::as_array).into_iter().flatten() {
            let function = match tool.get("function") {
                Some(function) => function,
                None => tool,
            };
            let Some(name) = function.get("name").and_then(Json::as_str) else {
                continue;
            };
            let properties = function
                .get("parameters")
                .and_then(|parameters| parameters.get("properties"))
                .and_then(Json::as_object);
            let empty = Map::new();
            let root = function.get("parameters").unwrap_or(&Json::Null);
            let wide_types = properties
                .unwrap_or(&empty)
                .iter()
                .map(|(name, schema)| (name.clone(), Types::of(schema, root, &mut { MAX_PARTS })));
            wide.insert(name.to_owned(), wide_types.collect());
            let arguments = properties.unwrap_or(&empty).iter().map(|(name, schema)| {
                let mut types = Vec::new();
                collect(schema, &mut types, 0);
                (name.clone(), types)
            });
            types.insert(name.to_owned(), arguments.collect());
        }
        Tools { types, wide }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Tells whether the tool is on offer.
    pub(super) fn has(&self, name: &str) -> bool {
        self.wide.contains_key(name)
    }

    /// Tells whether the tool has a parameter of that name.
    pub(super) fn has_parameter(&self, name: &str, key: &str) -> bool {
        self.wide
            .get(name)
            .is_some_and(|tool| tool.contains_key(key))
    }

    fn types_of(&self, name: &str, key: &str) -> Types {
        let types = self.wide.get(name).and_then(|tool| tool.get(key));
        types.copied().unwrap_or(Types::NONE)
    }

    /// The value of an argument that is written as text: as the tool's schema says, else as `plain` does.
    pub(super) fn read(&self, name: &str, key: &str, raw: &str, plain: Plain) -> Value<'static> {
        let types = self.types_of(name, key);
        let text = || Value::Text(Text::plain(raw.to_owned()));
        if let Some(value) = types.read(raw) {
            return value;
        }
        if types.text || plain == Plain::Text && types == Types::NONE {
            return text();
        }
        match json::decode(raw) {
            // Python's `NaN` is no JSON.
            Ok(Value::Float(n)) if !n.is_finite() => text(),
            Ok(value) => value.into_owned(),
            Err(_) => text(),
        }
    }

    /// The value of a word without quotes; `None` if no schema says that it is a string.
    pub(super) fn word(&self, name: &str, key: &str, word: &str) -> Option<Value<'static>> {
        let types = self.types_of(name, key);
        let text = || Value::Text(Text::plain(word.to_owned()));
        types.text.then(|| types.read(word).unwrap_or_else(text))
    }

    /// Tells whether an argument that is written as text is that text, whatever it is.
    pub(super) fn is_text(&self, name: &str, key: &str, plain: Plain) -> bool {
        let types = self.types_of(name, key);
        let only = Types {
            text: true,
            ..Types::NONE
        };
        types == only || types == Types::NONE && plain == Plain::Text
    }

    /// Tells whether an argument that is a string of JSON stays one.
    pub(super) fn keeps_text(&self, name: &str, key: &str) -> bool {
        let types = self.types_of(name, key);
        types.text || types == Types::NONE
    }

    /// Casts an argument that is a string of JSON where its schema wants none.
    pub(super) fn cast_string(&self, name: &str, key: &str, value: &mut Value<'static>) {
        let types = self.types_of(name, key);
        if let Value::Text(text) = value
            && !types.text
            && let Some(better) = types.read(text.as_str())
        {
            *value = better;
        }
    }

    /// Casts strings among the arguments of a call whose schemas want no string.
    pub(super) fn cast_strings(&self, name: &str, arguments: &mut Value<'static>) {
        if let Value::Object(arguments) = arguments {
            for (key, value) in arguments.iter_mut() {
                self.cast_string(name, key.as_str(), value);
            }
        }
    }

    /// Casts the arguments of a call, or of each call of a list.
    pub(super) fn cast(&self, value: &mut Value<'_>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.cast(item)),
            Value::Object(call) => {
                let Some(Value::Object(function)) = call.get_mut(&Text::plain("function")) else {
                    return;
                };
                let name = match function.get(&Text::plain("name")) {
                    Some(Value::Text(name)) => name.as_str().to_owned(),
                    _ => return,
                };
                if let Some(arguments) = function.get_mut(&Text::plain("arguments")) {
                    self.cast_arguments(&name, arguments);
                }
            }
            _ => {}
        }
    }

    /// Casts the arguments of a call of the tool `name`.
    pub(super) fn cast_arguments(&self, name: &str, arguments: &mut Value<'_>) {
        let (Some(tool), Value::Object(arguments)) = (self.types.get(name), arguments) else {
            return;
        };
        for (name, value) in arguments.iter_mut() {
            let Some(types) = tool.get(name.as_str()).filter(|types| !types.is_empty()) else {
                continue;
            };
            match value {
                Value::Text(text) => {
                    if let Some(better) = cast(text, types) {
                        *value = better;
                    }
                }
                Value::Array(items) if !types.iter().any(|t| t == "array") => {
                    for item in items {
                        if let Value::Text(text) = item
                            && let Some(better) = cast(text, types)
                        {
                            *item = better;
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

impl Types {
    /// The text as a value of these types other than a string.
    fn read(self, raw: &str) -> Option<Value<'static>> {
        let word = scalar::trim(raw);
        let constant = loose::constant(word);
        match &constant {
            Some(Value::Null) if self.null => return constant,
            Some(Value::Bool(_)) if self.boolean => return constant,
            Some(Value::Int(_)) if self.integer || self.number => return constant,
            Some(Value::Float(_)) if self.number => return constant,
            Some(Value::Float(_)) if self.integer => {
                return loose::whole(word).map(Value::Int);
            }
            _ => {}
        }
        if self.boolean && !self.text {
            match word.to_lowercase().as_str() {
                "true" | "1" => return Some(Value::Bool(true)),
                "false" | "0" => return Some(Value::Bool(false)),
                _ => {}
            }
        }
        if self.object || self.array {
            let value = json::decode(word).map(Value::into_owned);
            let value = value.ok().or_else(|| loose::literal(word).ok())?;
            let fits = match value {
                Value::Object(_) => self.object,
                Value::Array(_) => self.array,
                _ => false,
            };
            return fits.then_some(value);
        }
        None
    }
}

/// The types that a schema names, in order.
fn collect(schema: &Json, types: &mut Vec<String>, depth: usize) {
    if depth > MAX_UNION_DEPTH {
        return;
    }
    match schema.get("type") {
        Some(Json::String(name)) => types.push(name.clone()),
        Some(Json::Array(names)) => {
            types.extend(
                names
                    .iter()
                    .filter_map(|name| name.as_str().map(str::to_owned)),
            );
        }
        _ => {}
    }
    for union in ALTERNATIVES {
        for branch in schema
            .get(union)
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            collect(branch, types, depth + 1);
        }
    }
    if schema.get("nullable").is_some_and(is_truthy) && !types.iter().any(|t| t == "null") {
        types.push("null".to_owned());
    }
}

/// The text as the first of the types that it can be.
fn cast<'t>(text: &Text<'t>, types: &[String]) -> Option<Value<'t>> {
    types.iter().find_map(|name| {
        let trimmed = scalar::trim(text.as_str());
        match name.as_str() {
            "integer" => match scalar::integer(trimmed) {
                Some(n) => Some(Value::Int(n)),
                None => scalar::float(trimmed)
                    .filter(|n| n.is_finite() && n.fract() == 0.0)
                    .map(|n| Value::Int(Int::from_whole(n))),
            },
            "number" => {
                let n = scalar::float(trimmed).filter(|n| n.is_finite())?;
                Some(match n.fract() == 0.0 && !text.as_str().contains('.') {
                    true => Value::Int(Int::from_whole(n)),
                    false => Value::Float(n),
                })
            }
            "boolean" => match trimmed.to_lowercase().as_str() {
                "true" | "1" => Some(Value::Bool(true)),
                "false" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            "null" => matches!(trimmed, "null" | "None").then_some(Value::Null),
            "object" | "array" => {
                let value = json::decode_text(text).ok()?;
                let fits = match value {
                    Value::Object(_) => name == "object",
                    Value::Array(_) => name == "array",
                    _ => false,
                };
                fits.then_some(value)
            }
            _ => None,
        }
    })
}
