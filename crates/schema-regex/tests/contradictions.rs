//! Schemas that no value satisfies: the message names the smallest place that admits none, and its keywords.
#![cfg(feature = "automaton")]

use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::Status;
use schema_regex::{ErrorKind, Options, parse};
use serde_json::{Value, json};

fn message(schema: &Value) -> String {
    let compiled = SchemaAutomaton::compile(parse(schema).unwrap(), &Options::default());
    let error = compiled.expect_err(&schema.to_string());
    assert_eq!(error.kind(), ErrorKind::Unsatisfiable);
    error.to_string()
}

#[test]
fn the_smallest_place_is_named() {
    let object =
        |value: Value| json!({"type": "object", "properties": {"v": value}, "required": ["v"]});
    let cases = [
        (json!(false), "#: no value satisfies the schema"),
        (
            json!({"enum": []}),
            "#: no value satisfies the schema: `enum` admits none here",
        ),
        (
            object(json!({"type": "integer", "minimum": 5, "maximum": 3})),
            "#/properties/v: no value satisfies the schema: `type`, `minimum` and `maximum` contradict each other here",
        ),
        (
            object(
                json!({"type": "string", "title": "Digits", "pattern": "^[0-9]{10}$", "maxLength": 5}),
            ),
            "#/properties/v: no value satisfies the schema: `type`, `pattern` and `maxLength` contradict each other here",
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": false}),
            "#: no value satisfies the schema: `type`, `properties`, `additionalProperties` and `required` contradict each other here",
        ),
        (
            object(
                json!({"type": "object", "properties": {"y": {"type": "array", "minItems": 1, "items": {"allOf": [{"type": "string"}, {"type": "integer"}]}}}, "required": ["y"]}),
            ),
            "#/properties/v/properties/y/items: no value satisfies the schema: `allOf` admits none here",
        ),
        (
            json!({"anyOf": [{"enum": []}, {"type": "string", "const": 1}]}),
            "#/anyOf/0: no value satisfies the schema: `enum` admits none here",
        ),
        (
            json!({"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["next"]}}, "$ref": "#/$defs/n"}),
            "without end",
        ),
        (
            json!({"not": {}}),
            "#: no value satisfies the schema: `not` admits none here",
        ),
    ];
    for (schema, wanted) in cases {
        let found = message(&schema);
        assert!(found.ends_with(wanted), "{schema}\n{found}\n{wanted}");
    }
}

/// A message costs a bounded number of compilations, however many places there are.
#[test]
fn a_message_about_a_large_schema_is_bounded() {
    let mut properties = serde_json::Map::new();
    for n in 0..2_000 {
        properties.insert(format!("p{n}"), json!({"type": "string", "enum": [n]}));
    }
    let names: Vec<&String> = properties.keys().collect();
    let schema = json!({"type": "object", "required": names, "properties": properties});
    let found = message(&schema);
    assert!(found.contains("no value satisfies the schema"), "{found}");
}

/// A member or a branch that can never come is in the ledger; what `false` says is no surprise.
#[test]
fn places_that_never_come_are_told() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "^[0-9]{10}$", "maxLength": 5},
            "b": {"anyOf": [{"type": "integer"}, {"type": "string", "enum": [1]}]},
            "c": false,
            "d": {"type": "array", "items": {"minimum": 2, "maximum": 1, "type": "number"}},
        }
    });
    let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
    let ledger = automaton.ledger();
    let never: Vec<&str> = ledger
        .iter()
        .filter(|entry| matches!(&entry.status, Status::Ignored(why) if why.contains("no value")))
        .map(|entry| entry.pointer.as_str())
        .collect();
    assert_eq!(never, ["/properties/a", "/properties/d/items"]);
    assert!(automaton.is_match(br#"{"b": 3, "d": []}"#));
    assert!(!automaton.is_match(br#"{"a": "1234567890"}"#));
}
