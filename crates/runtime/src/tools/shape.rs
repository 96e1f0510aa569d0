//! From the schema that `schemars` derives to the one that chat templates are used to. For example,
//! `{"const": "a", "title": "Kind"}` becomes `{"enum": ["a"]}`.

use json_tree::subschemas::{self, ALTERNATIVES, Form, form};
use serde_json::{Map, Value, json};

/// Keys in the order in which the reference writes them, because models were trained on prompts in
/// that order.
const ORDER: [&str; 9] = [
    "type",
    "anyOf",
    "items",
    "prefixItems",
    "additionalProperties",
    "properties",
    "required",
    "enum",
    "nullable",
];

/// Formats by which `schemars` names Rust's number types. They are left out, because no template
/// shows them.
const NUMBER_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
    "uint128", "uint", "float", "double",
];

/// The parameters of a tool as templates show them: plain types, `nullable`
/// for what may be null, enumerations as `enum`, no titles, defaults or names
/// of Rust's types.
pub(super) fn shown(parameters: &Value) -> Value {
    let mut shown = simplified(parameters);
    if let Value::Object(parameters) = &mut shown {
        parameters.shift_remove("description");
        if !parameters.contains_key("properties") {
            parameters.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        reorder(parameters);
    }
    shown
}

/// A schema without what templates do not show.
pub(super) fn simplified(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        // `true` allows anything, which goes without saying.
        return Value::Object(Map::new());
    };
    let mut out = Map::new();
    for (key, value) in schema {
        match key.as_str() {
            "$schema" | "title" | "default" | "examples" | "deprecated" => {}
            "format" if is_number_format(value) => {}
            // A tuple's length goes without saying.
            "minItems" | "maxItems" if schema.contains_key("prefixItems") => {}
            "additionalProperties" if value.is_boolean() => {}
            "description" => {
                let text = value.as_str().unwrap_or_default();
                out.insert(key.clone(), one_line(text).into());
            }
            "const" => {
                out.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            }
            keyword => {
                let mut value = value.clone();
                subschemas::inside_mut(keyword, &mut value).for_each(|one| *one = simplified(one));
                // A schema of anything is not spelled out.
                let is_schema = matches!(form(keyword), Some(Form::One | Form::OneOrList));
                if !is_schema || value != json!({}) {
                    out.insert(key.clone(), value);
                }
            }
        }
    }
    alternatives(&mut out);
    null_type(&mut out);
    reorder(&mut out);
    Value::Object(out)
}

fn is_number_format(format: &Value) -> bool {
    format
        .as_str()
        .is_some_and(|format| NUMBER_FORMATS.contains(&format))
}

/// Continuation lines are joined by one blank.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// The name of a type, where a schema is nothing but that.
fn plain_type(schema: &Value) -> Option<&str> {
    let schema = schema.as_object()?;
    match schema.len() {
        1 => schema.get("type")?.as_str(),
        _ => None,
    }
}

/// Writes alternatives shorter: without null, constants as one enumeration,
/// plain types as a list.
fn alternatives(schema: &mut Map<String, Value>) {
    let Some(key) = ALTERNATIVES
        .into_iter()
        .find(|key| schema.contains_key(*key))
    else {
        return;
    };
    let Some(Value::Array(mut choices)) = schema.shift_remove(key) else {
        return;
    };
    let before = choices.len();
    choices.retain(|choice| !is_null(choice));
    if choices.len() < before {
        schema.insert("nullable".to_owned(), true.into());
    }
    let constants: Option<Vec<Value>> = choices
        .iter()
        .map(|choice| match choice.get("enum")?.as_array()?.as_slice() {
            [constant] => Some(constant.clone()),
            _ => None,
        })
        .collect();
    if let Some(constants) = constants.filter(|constants| !constants.is_empty()) {
        let mut types: Vec<Value> = Vec::new();
        for choice in &choices {
            let kind = choice.get("type").cloned().unwrap_or(Value::Null);
            if !kind.is_null() && !types.contains(&kind) {
                types.push(kind);
            }
        }
        match types.as_slice() {
            [] => {}
            [one] => {
                schema.insert("type".to_owned(), one.clone());
            }
            _ => {
                schema.insert("type".to_owned(), Value::Array(types));
            }
        }
        schema.insert("enum".to_owned(), Value::Array(constants));
        return;
    }
    if let [only] = choices.as_slice() {
        // The schema that was left of an optional value.
        for (key, value) in only.as_object().into_iter().flatten() {
            schema.entry(key.clone()).or_insert_with(|| value.clone());
        }
        return;
    }
    let types: Option<Vec<&str>> = choices.iter().map(plain_type).collect();
    match types {
        Some(mut types) => {
            types.sort_unstable();
            types.dedup();
            let types = match types.as_slice() {
                [one] => Value::from(*one),
                all => Value::from(all.to_vec()),
            };
            schema.insert("type".to_owned(), types);
        }
        None => {
            schema.insert("anyOf".to_owned(), Value::Array(choices));
        }
    }
}

/// Says `nullable` in place of a type that is null or another.
fn null_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else {
        return;
    };
    if schema.contains_key("enum") || !types.iter().any(|kind| kind == "null") {
        return;
    }
    let rest: Vec<Value> = types
        .iter()
        .filter(|kind| *kind != "null")
        .cloned()
        .collect();
    let kind = match rest.as_slice() {
        [one] => one.clone(),
        _ => Value::Array(rest),
    };
    schema.insert("type".to_owned(), kind);
    schema.insert("nullable".to_owned(), true.into());
}

/// The usual keys first, the description last.
fn reorder(schema: &mut Map<String, Value>) {
    let mut rest = std::mem::take(schema);
    let description = rest.shift_remove("description");
    for key in ORDER {
        if let Some(value) = rest.shift_remove(key) {
            schema.insert(key.to_owned(), value);
        }
    }
    schema.extend(rest);
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
}

/// Turns a trailing `(choices: [...])` of descriptions into enumerations, as
/// the reference does for the documentation of arguments.
pub(super) fn read_choices(parameters: &mut Value) {
    let properties = parameters
        .get_mut("properties")
        .and_then(Value::as_object_mut);
    for (_, schema) in properties.into_iter().flatten() {
        let Some(schema) = schema.as_object_mut() else {
            continue;
        };
        let Some(description) = schema.get("description").and_then(Value::as_str) else {
            continue;
        };
        let description = description.trim_end();
        let Some(start) = description.to_lowercase().rfind("(choices:") else {
            continue;
        };
        let choices = description
            .get(start + "(choices:".len()..)
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|list| serde_json::from_str::<Vec<Value>>(list.trim()).ok());
        let Some(choices) = choices else {
            continue;
        };
        let trimmed = choices.into_iter().map(|choice| match choice {
            Value::String(text) => text.trim().into(),
            other => other,
        });
        let kept = description[..start].trim_end().to_owned();
        let trimmed = trimmed.collect();
        schema.insert("enum".to_owned(), Value::Array(trimmed));
        schema.insert("description".to_owned(), kept.into());
    }
}
