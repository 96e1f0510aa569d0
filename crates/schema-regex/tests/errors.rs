//! Schemas that are refused: over a limit, or no schemas at all.

#[path = "common/refusals.rs"]
mod refusals;

use schema_regex::{AnyValue, ErrorKind, Options, parse, to_regex};
use serde_json::{Value, json};

use refusals::{refused, refused_with};

#[test]
fn limits_have_their_errors() {
    let wide: Vec<Value> = (0..300)
        .map(|i| json!({"const": format!("value number {i}")}))
        .collect();
    refused_with(
        &Options::default().with_max_regex_bytes(1_000),
        json!({"anyOf": wide.clone()}),
        ErrorKind::TooLong,
        "",
    );
    refused_with(
        &Options::default().with_max_alternatives(100),
        json!({"anyOf": wide.clone()}),
        ErrorKind::TooManyAlternatives,
        "/anyOf",
    );
    refused_with(
        &Options::default().with_max_steps(50),
        json!({"allOf": [{"anyOf": wide.clone()}, {"anyOf": wide}]}),
        ErrorKind::TooManySteps,
        "/allOf",
    );
    let mut deep = json!({"type": "integer"});
    for _ in 0..10 {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(
        to_regex(
            &parse(&deep).unwrap(),
            &Options::default().with_any_value(AnyValue::Depth(0))
        )
        .is_ok()
    );
    let error = to_regex(
        &parse(&deep).unwrap(),
        &Options::default().with_max_depth(5),
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep);
    let options = schema_regex::ParseOptions::default().with_max_nodes(7);
    assert_eq!(
        schema_regex::parse_with(&deep, &options)
            .unwrap_err()
            .kind(),
        ErrorKind::TooManyNodes
    );
    refused_with(
        &Options::default().with_any_value(AnyValue::Refuse),
        json!({"type": "array"}),
        ErrorKind::Recursive,
        "",
    );
    let tangled =
        json!({"type": "string", "allOf": [{"pattern": "a.{9}$"}, {"pattern": "b.{8}$"}]});
    refused_with(
        &Options::default().with_max_automaton_states(50),
        tangled,
        ErrorKind::Refused,
        "/allOf/1/pattern",
    );
}

#[test]
fn long_and_deep_input_is_bounded() {
    // A name that is long and open beside: the names that differ from it.
    let name = "n".repeat(5_000);
    let long = json!({"type": "object", "properties": {name.as_str(): {"type": "null"}}});
    match to_regex(&parse(&long).unwrap(), &Options::default()) {
        Ok(text) => assert!(text.len() < 4_000_000),
        Err(e) => assert_eq!(e.kind(), ErrorKind::Refused, "{e}"),
    }
    refused(
        json!({"multipleOf": 1.2345678901234567e-300}),
        ErrorKind::Refused,
        "/multipleOf",
    );
    refused(
        json!({"type": "string", "pattern": "^(?:a{1000}){1000}$"}),
        ErrorKind::Refused,
        "/pattern",
    );
    let mut value = json!(1);
    for _ in 0..300 {
        value = json!([value]);
    }
    assert_eq!(
        parse(&json!({"const": value})).unwrap_err().kind(),
        ErrorKind::TooDeep
    );
    // A chain of references, and one that never descends.
    let chain: serde_json::Map<String, Value> = (0..500)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .collect();
    let schema = parse(&json!({"$defs": chain, "$ref": "#/$defs/d0"}));
    assert!(schema.is_err());
    let ring: serde_json::Map<String, Value> = (0..50)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", (i + 1) % 50)}),
            )
        })
        .collect();
    let ring = parse(&json!({"$defs": ring, "$ref": "#/$defs/d0"})).unwrap();
    assert_eq!(
        to_regex(&ring, &Options::default()).unwrap_err().kind(),
        ErrorKind::Cyclic
    );
}

#[test]
fn bad_schemas_are_named() {
    for (schema, pointer) in [
        (json!(3), ""),
        (json!({"type": "strin"}), "/type"),
        (json!({"minLength": "3"}), "/minLength"),
        (json!({"minItems": -1}), "/minItems"),
        (json!({"properties": {"a": 5}}), "/properties/a"),
        (json!({"properties": []}), "/properties"),
        (json!({"items": "x"}), "/items"),
        (json!({"required": "a"}), "/required"),
        (json!({"anyOf": []}), "/anyOf"),
        (json!({"anyOf": {}}), "/anyOf"),
        (json!({"enum": 1}), "/enum"),
        (json!({"pattern": 1}), "/pattern"),
        (json!({"multipleOf": 0}), "/multipleOf"),
        (json!({"uniqueItems": 1}), "/uniqueItems"),
        (
            json!({"properties": {"a~/": {"type": 1}}}),
            "/properties/a~0~1/type",
        ),
    ] {
        match parse(&schema) {
            Ok(_) => panic!("{schema}"),
            Err(e) => assert_eq!(
                (e.kind(), e.pointer()),
                (ErrorKind::Invalid, pointer),
                "{e}"
            ),
        }
    }
}

#[test]
fn messages() {
    let message = |schema: Value| {
        parse(&schema)
            .and_then(|s| to_regex(&s, &Options::default()))
            .unwrap_err()
            .to_string()
    };
    let messages: Vec<String> = [
        json!({"properties": {"a": {"type": "strin"}}}),
        json!({"properties": {"a": {"minLength": "3"}}}),
        json!({"pattern": "x(y)\\1"}),
        json!({"$ref": "other.json"}),
        json!({"properties": {"a": {"$ref": "#"}}}),
        json!({"type": "array", "uniqueItems": true}),
        json!({"oneOf": [{"multipleOf": 3}, {"multipleOf": 7}]}),
        json!({"type": "string", "minimum": 3, "enum": [1]}),
    ]
    .into_iter()
    .map(message)
    .collect();
    insta::assert_snapshot!(messages.join("\n"));
}
