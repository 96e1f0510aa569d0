//! A tool's schema, and parts of it compiled alone.
//!
//! For example, the part `/properties/city` of a tool's schema is compiled with the whole beside it
//! if it has a reference `#/$defs/city`.

use std::collections::BTreeSet;

use json_tree::pointer::referred;
use json_tree::subschemas::ALTERNATIVES;
use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use serde_json::{Value, json};

use super::compile_if_any;
use crate::Error;

/// Keywords that say nothing about which values are right, as drafts of JSON Schema list them.
pub(super) const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$comment",
];

/// A schema of which parts are compiled alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole<'a> {
    pub(super) schema: &'a Value,
    pub(super) options: &'a Options,
}

/// The name under which parts find the whole, absolute because a schema's own may be relative.
const NAME: &str = "urn:tokenmold:whole";

impl Whole<'_> {
    /// The automaton of the part at a JSON Pointer, and of what else its values must
    /// obey; `None` if no value does. In that, `#/allOf/1` is the first of these.
    ///
    /// References are those of the whole schema, wherever in it they lead.
    ///
    /// # Errors
    ///
    /// The part is refused.
    pub(super) fn compile(
        &self,
        pointer: &str,
        more: &[Value],
    ) -> Result<Option<SchemaAutomaton>, Error> {
        let part = self.schema.pointer(pointer).unwrap_or(self.schema);
        let refers = refers(self.schema);
        if more.is_empty() && (!refers || pointer.is_empty()) {
            return compile_if_any(part, self.options);
        }
        let mut all = vec![part.clone()];
        let mut alone = json!({});
        for key in ["$schema", "x-tokenmold"] {
            if let Some(value) = self.schema.get(key) {
                alone[key] = value.clone();
            }
        }
        if refers {
            let mut whole = self.schema.clone();
            let own = self.schema.get("$id").and_then(Value::as_str);
            // A relative name of its own would be relative to nothing.
            let name = own.filter(|own| own.contains(':')).unwrap_or(NAME);
            let name = name.trim_end_matches('#');
            whole["$id"] = name.into();
            alone["$defs"] = json!({"whole": whole});
            all[0] = json!({"$ref": format!("{name}#{}", encoded(pointer))});
        }
        all.extend_from_slice(more);
        alone["allOf"] = all.into();
        compile_if_any(&alone, self.options)
    }
}

/// The types that values of a part of a whole schema may have, by `type`, `const`, `enum`,
/// `anyOf`, `oneOf`, `allOf` and references into the whole.
pub(super) fn types(whole: &Value, schema: &Value) -> BTreeSet<&'static str> {
    types_at(whole, schema, MAX_LINKS)
}

/// The most alternatives and references in one another that are looked through, because references
/// may form a circle: behind them any type may come.
const MAX_LINKS: usize = 16;

fn types_at(whole: &Value, schema: &Value, links: usize) -> BTreeSet<&'static str> {
    let all = ["array", "boolean", "null", "number", "object", "string"];
    let mut types: BTreeSet<&str> = all.into();
    if *schema == false {
        types.clear();
    }
    let name = |name: &str| match name {
        "integer" => "number",
        name => all.into_iter().find(|known| *known == name).unwrap_or(""),
    };
    match schema.get("type") {
        Some(Value::String(one)) => types.retain(|known| *known == name(one)),
        Some(Value::Array(several)) => {
            let several = several.iter().filter_map(Value::as_str).map(name);
            let several: BTreeSet<&str> = several.collect();
            types.retain(|known| several.contains(known));
        }
        _ => {}
    }
    let listed = match (schema.get("const"), schema.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(Value::Array(several))) => Some(several.iter().collect()),
        _ => None,
    };
    if let Some(listed) = listed {
        let of = |value: &Value| match value {
            Value::Array(_) => "array",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
            Value::Number(_) => "number",
            Value::Object(_) => "object",
            Value::String(_) => "string",
        };
        types.retain(|known| listed.iter().any(|value| of(value) == *known));
    }
    let Some(links) = links.checked_sub(1) else {
        return types;
    };
    if let Some(target) = referred(whole, schema) {
        let of_target = types_at(whole, target, links);
        types.retain(|name| of_target.contains(name));
    }
    let parts = |key: &str| schema.get(key).and_then(Value::as_array);
    for several in ALTERNATIVES.into_iter().filter_map(parts) {
        let of_parts: BTreeSet<&str> = several
            .iter()
            .flat_map(|part| types_at(whole, part, links))
            .collect();
        types.retain(|name| of_parts.contains(name));
    }
    for part in parts("allOf").into_iter().flatten() {
        let of_part = types_at(whole, part, links);
        types.retain(|name| of_part.contains(name));
    }
    types
}

/// A JSON Pointer as the fragment of a reference.
fn encoded(pointer: &str) -> String {
    let mut out = String::new();
    for byte in pointer.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'$' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Tells whether there are references in a schema, or something that looks like one. Recursion is
/// as deep as the schema.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(several) => several.iter().any(refers),
        Value::Object(schema) => schema
            .iter()
            .any(|(key, value)| key == "$ref" || key == "$dynamicRef" || refers(value)),
        _ => false,
    }
}
