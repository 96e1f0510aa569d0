//! A tool's schema, and parts of it compiled alone.

use schema_regex::Options;
use schema_regex::automaton::SchemaAutomaton;
use serde_json::{Value, json};

use super::compile_schema;
use crate::Error;

/// Keywords that say nothing about which values are right.
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

/// The name under which parts find the whole.
const NAME: &str = "urn:tokenmold:whole";

impl Whole<'_> {
    /// The automaton of the part at a JSON Pointer, and of what else its values must
    /// obey. In that, `#/allOf/1` is the first of these.
    ///
    /// References are those of the whole schema, wherever in it they lead.
    ///
    /// # Errors
    ///
    /// The part is refused.
    pub(super) fn compile(&self, pointer: &str, more: &[Value]) -> Result<SchemaAutomaton, Error> {
        let part = self.schema.pointer(pointer).unwrap_or(self.schema);
        let refers = refers(self.schema);
        if more.is_empty() && (!refers || pointer.is_empty()) {
            return compile_schema(part, self.options);
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
        compile_schema(&alone, self.options)
    }
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

/// Whether there are references in a schema, or something that looks like one.
/// Recursion is as deep as the schema.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(several) => several.iter().any(refers),
        Value::Object(schema) => schema
            .iter()
            .any(|(key, value)| key == "$ref" || key == "$dynamicRef" || refers(value)),
        _ => false,
    }
}
