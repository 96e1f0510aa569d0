//! Checking a model's arguments as Pydantic's lax mode does: what can be read as the type that is
//! asked for passes. For example, `"7"` passes for an integer, and `1` for a boolean.

use json_tree::pointer::referred;
use serde_json::Value;

/// The most levels that are looked into for values to convert: more than arguments have, because a
/// value could otherwise overflow the stack.
const MAX_DEPTH: usize = 64;

/// A schema that values are checked against.
pub(crate) struct Validator {
    schema: Value,
    compiled: jsonschema::Validator,
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// It is no JSON Schema, or refers to what is not in it.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let compiled = jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            schema: schema.clone(),
            compiled,
        })
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Returns the violations and their places (JSON Pointer), one a line.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let mut converted = value.clone();
        convert(&mut converted, &self.schema, &self.schema, MAX_DEPTH);
        let wrong: Vec<String> = self
            .compiled
            .iter_errors(&converted)
            .map(|error| match error.instance_path().to_string().as_str() {
                "" => error.to_string(),
                place => format!("{place}: {error}"),
            })
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("\n")),
        }
    }
}

/// Reads texts as the numbers and truth values that a schema asks for.
fn convert(value: &mut Value, schema: &Value, root: &Value, levels: usize) {
    let Some(levels) = levels.checked_sub(1) else {
        return;
    };
    if let Some(target) = referred(root, schema) {
        convert(value, target, root, levels);
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        // A single choice besides null is what there is to convert to.
        let mut rest = choices
            .iter()
            .filter(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let (Some(only), None) = (rest.next(), rest.next())
            && !value.is_null()
        {
            convert(value, only, root, levels);
        }
    }
    match value {
        Value::Object(entries) => {
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            for (name, value) in entries {
                let of_name = properties.and_then(|properties| properties.get(name));
                if let Some(schema) = of_name.or(others) {
                    convert(value, schema, root, levels);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    convert(item, schema, root, levels);
                }
            }
        }
        _ => {}
    }
    let read = match (schema.get("type").and_then(Value::as_str), &*value) {
        (Some("integer"), Value::String(text)) => whole(text).map(Value::from),
        (Some("number"), Value::String(text)) => {
            let number: Option<f64> = text.trim().parse().ok();
            number.filter(|n| n.is_finite()).map(Value::from)
        }
        (Some("integer" | "number"), Value::Bool(truth)) => Some(Value::from(u8::from(*truth))),
        (Some("boolean"), Value::String(text)) => truth(text).map(Value::from),
        (Some("boolean"), Value::Number(number)) => match number.as_f64() {
            Some(0.0) => Some(false.into()),
            Some(1.0) => Some(true.into()),
            _ => None,
        },
        _ => None,
    };
    if let Some(read) = read {
        *value = read;
    }
}

fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().ok()
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}
