//! Which keyword of a schema something is owed to. For example, `{"items": {"pattern": "b"}}` owes
//! a slow mask at `/items` to `pattern`.

use std::collections::BTreeMap;

use schema_regex::ledger::Keyword;
use serde_json::Value;

/// Keywords whose value is a map from names to schemas, because a name in such a map, as `pattern`
/// among `properties`, is no keyword.
const MAPS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose value is no schema and has none in it.
const PLAIN: [&str; 5] = ["enum", "const", "default", "examples", "example"];

/// Keywords that are not counted as causes, because without them a schema is another one
/// altogether.
const FRAME: [&str; 9] = [
    "$schema",
    "$id",
    "id",
    "$ref",
    "$defs",
    "definitions",
    "type",
    "properties",
    "items",
];

/// Keywords that only readers need. They are left out because they change no text.
const PROSE: [&str; 6] = [
    "title",
    "description",
    "$comment",
    "default",
    "examples",
    "example",
];

/// Returns the number of times that a schema says each keyword, except those that hold it together
/// or are prose.
pub fn keywords(schema: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut copy = schema.clone();
    visit(&mut copy, &mut |map| {
        for keyword in map.keys().filter(|key| !aside(key)) {
            *counts.entry(keyword.clone()).or_default() += 1;
        }
    });
    counts
}

/// Tells whether a name is no keyword that might be to blame.
fn aside(name: &str) -> bool {
    Keyword::named(name).is_none() || FRAME.contains(&name) || PROSE.contains(&name)
}

/// The schema as if it did not say a keyword anywhere.
pub fn without(schema: &Value, keyword: &str) -> Value {
    let mut copy = schema.clone();
    visit(&mut copy, &mut |map| {
        map.shift_remove(keyword);
    });
    copy
}

/// Returns the keywords of the schema at a JSON Pointer, on one line, with short values.
pub fn said(schema: &Value, pointer: &str) -> String {
    let Some(Value::Object(map)) = schema.pointer(pointer) else {
        return String::new();
    };
    let one = |(keyword, value): (&String, &Value)| match value {
        Value::Array(list) => format!("{keyword} of {}", list.len()),
        Value::Object(inner) => format!("{keyword} of {}", inner.len()),
        Value::String(text) if text.chars().count() > 24 => keyword.clone(),
        short => format!("{keyword} {short}"),
    };
    let told = map
        .iter()
        .filter(|entry| !PROSE.contains(&entry.0.as_str()));
    told.map(one).collect::<Vec<_>>().join(", ")
}

/// Returns one of few names for a place in a text: how the text goes on, whether several schemas
/// ask for it at once, whether an array around it wants its items to differ, and the keyword that
/// makes it more than any value of its type.
pub fn place(schema: &Value, state: &str, pointers: &[String]) -> String {
    let state = state.split(',').next().unwrap_or(state);
    let keyword = pointers.iter().find_map(|pointer| {
        let map = schema.pointer(pointer)?.as_object()?;
        let told = TELLING.iter().find(|keyword| map.contains_key(**keyword));
        told.copied()
    });
    let mut kind = state.to_owned();
    if pointers.len() > 1 {
        kind.push_str(" of several");
    }
    if let Some(keyword) = keyword {
        kind.push_str(", `");
        kind.push_str(keyword);
        kind.push('`');
    }
    if pointers.iter().any(|pointer| is_in_unique(schema, pointer)) {
        kind.push_str(", items differ");
    }
    kind
}

/// Keywords that make a mask more than that of a type, the heaviest first, because a place is named
/// by the first of them.
const TELLING: [&str; 10] = [
    "pattern",
    "format",
    "patternProperties",
    "propertyNames",
    "enum",
    "const",
    "not",
    "maxLength",
    "minLength",
    "additionalProperties",
];

/// Tells whether some schema on the way to a pointer, or at it, wants items to differ.
fn is_in_unique(schema: &Value, pointer: &str) -> bool {
    let ends = pointer.match_indices('/').map(|(at, _)| at);
    let mut above = ends.chain([pointer.len()]).map(|end| &pointer[..end]);
    above.any(|above| {
        let at = schema.pointer(above);
        at.is_some_and(|at| at.get("uniqueItems") == Some(&Value::Bool(true)))
    })
}

/// Calls `change` for every schema object in a schema, itself included.
fn visit(schema: &mut Value, change: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    match schema {
        Value::Object(map) => {
            change(map);
            for (keyword, value) in map.iter_mut() {
                match value {
                    Value::Object(named) if MAPS.contains(&keyword.as_str()) => {
                        named.values_mut().for_each(|inner| visit(inner, change));
                    }
                    _ if PLAIN.contains(&keyword.as_str()) => {}
                    value => visit(value, change),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| visit(inner, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"pattern": "^a", "description": "a b c"},
                "b": {"enum": [{"pattern": 1}], "x-kind": 5}
            },
            "anyOf": [{"items": {"pattern": "b"}}, {"not": {"maxLength": 7}}]
        })
    }

    #[test]
    fn keywords_are_told_from_names_and_values() {
        let counts = keywords(&schema());
        let counts: Vec<(&str, usize)> = counts.iter().map(|(k, n)| (k.as_str(), *n)).collect();
        let expected = [
            ("anyOf", 1),
            ("enum", 1),
            ("maxLength", 1),
            ("not", 1),
            ("pattern", 2),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_keyword_goes_everywhere_and_nothing_else_does() {
        let expected = json!({
            "type": "object",
            "properties": {"pattern": {"description": "a b c"}, "b": {"enum": [{"pattern": 1}], "x-kind": 5}},
            "anyOf": [{"items": {}}, {"not": {"maxLength": 7}}]
        });
        assert_eq!(without(&schema(), "pattern"), expected);
    }

    #[test]
    fn places_have_kinds() {
        let mut schema = schema();
        schema["items"] = json!({"uniqueItems": true, "items": {"enum": [1, 2]}});
        let kind = |state: &str, pointers: &[&str]| {
            let pointers: Vec<String> = pointers.iter().map(|p| (*p).to_owned()).collect();
            place(&schema, state, &pointers)
        };
        assert_eq!(
            kind("in a string, 2 levels deep", &["/properties/pattern"]),
            "in a string, `pattern`"
        );
        let several = ["", "/anyOf/1/not"];
        assert_eq!(
            kind("in a name", &several),
            "in a name of several, `maxLength`"
        );
        assert_eq!(
            kind("in a number", &["/items/items"]),
            "in a number, `enum`, items differ"
        );
    }

    #[test]
    fn a_place_is_told_in_short() {
        assert_eq!(said(&schema(), "/properties/pattern"), "pattern \"^a\"");
        assert_eq!(
            said(&schema(), ""),
            "type \"object\", properties of 2, anyOf of 2"
        );
        assert_eq!(said(&schema(), "/nowhere"), "");
    }
}
