//! Schemas that keep texts out of the strings of values, and out of the names of members.
//!
//! For example, no string of a call may spell `</tool_call>` where the parser takes that text for
//! the end of the call.

use serde_json::{Value, json};

/// The schema of strings in which nothing matches a pattern.
pub(crate) fn strings_without(pattern: &str) -> Value {
    json!({"type": "string", "not": {"pattern": pattern}})
}

/// The schema of values that are no string in which a pattern matches, and that have no name of a
/// member in which it does. Their members and items may be any.
pub(crate) fn without(pattern: &str) -> Value {
    let not = json!({"not": {"type": "string", "pattern": pattern}});
    json!({"propertyNames": not, "not": not["not"]})
}

/// The schema of values in whose strings and names, at any depth, a pattern matches nothing. `own`
/// is the reference by which the schema refers to itself.
pub(crate) fn everywhere_without(pattern: &str, own: &str) -> Value {
    let here = json!({
        "not": {"type": "string", "pattern": pattern},
        // Not `propertyNames`, because draft 4 has none.
        "patternProperties": {pattern: {"not": {}}},
    });
    everywhere(here, own)
}

/// A schema that the members and the items of its values obey, too, because it refers to itself by
/// `own`.
pub(crate) fn everywhere(mut schema: Value, own: &str) -> Value {
    schema["additionalProperties"] = json!({"$ref": own});
    schema["items"] = json!({"$ref": own});
    schema
}
