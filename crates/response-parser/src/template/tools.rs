//! Arguments that a model wrote as text, cast to what the tool's schema says.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use crate::json;
use crate::scalar::{self, Int};
use crate::schema::is_truthy;
use crate::text::Text;
use crate::value::Value;

/// Deepest nesting of `anyOf` and `oneOf` that is looked into.
const MAX_UNION_DEPTH: usize = 64;

/// For each tool, the types of each argument.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    types: HashMap<String, HashMap<String, Vec<String>>>,
}

impl Tools {
    /// Reads a list of tools as chat templates take them; what is no tool is skipped.
    pub(super) fn new(tools: Option<&Json>) -> Tools {
        let mut types = HashMap::new();
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
            let arguments = properties.unwrap_or(&empty).iter().map(|(name, schema)| {
                let mut types = Vec::new();
                collect(schema, &mut types, 0);
                (name.clone(), types)
            });
            types.insert(name.to_owned(), arguments.collect());
        }
        Tools { types }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty()
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
    for union in ["anyOf", "oneOf"] {
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
