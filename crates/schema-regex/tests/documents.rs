//! References into other documents, which the host hands over.

use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{
    Documents, ErrorKind, Options, ParseOptions, file_uri, parse_str_with, parse_with,
};
use serde_json::{Value, json};

fn documents(given: &[(&str, Value)]) -> ParseOptions {
    let mut reading = ParseOptions::default();
    for (uri, document) in given {
        reading = reading.with_document(*uri, document.clone());
    }
    reading
}

fn accepts(schema: &Value, reading: &ParseOptions, text: &str) -> bool {
    let schema = parse_with(schema, reading).unwrap();
    let compiled = SchemaAutomaton::compile(schema, &Options::default());
    compiled.unwrap().is_match(text.as_bytes())
}

#[test]
fn a_document_is_found_by_its_uri_its_id_and_without_its_ending() {
    let unit = json!({"$id": "https://own.example/unit", "enum": ["m", "km"]});
    let reading = documents(&[("https://a.example/s/unit.json", unit)]);
    for reference in [
        "https://a.example/s/unit.json",
        "https://a.example/s/unit.json#",
        "https://a.example/s/unit",
        "https://own.example/unit",
    ] {
        let schema = json!({"$ref": reference});
        assert!(accepts(&schema, &reading, "\"km\""), "{reference}");
        assert!(!accepts(&schema, &reading, "\"ft\""), "{reference}");
    }
}

#[test]
fn relative_references_begin_at_the_document_that_has_them() {
    let reading = documents(&[
        (
            "https://a.example/s/order.json",
            json!({"$ref": "parts/unit.json#/$defs/length"}),
        ),
        (
            "https://a.example/s/parts/unit.json",
            json!({"$defs": {"length": {"$ref": "../base.json#number"}}}),
        ),
        (
            "https://a.example/s/base.json",
            json!({"$defs": {"n": {"$anchor": "number", "type": "integer"}}}),
        ),
    ]);
    let schema = json!({"$id": "https://a.example/s/root.json", "$ref": "order.json"});
    assert!(accepts(&schema, &reading, "5"));
    assert!(!accepts(&schema, &reading, "true"));
    // So does one that is nothing but a reference, although draft 7 ignores what stands beside it.
    let alone = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://a.example/s/latest.json",
        "$ref": "order.json",
    });
    assert!(accepts(&alone, &reading, "5"));
    assert!(!accepts(&alone, &reading, "true"));
    // A schema without an `$id` begins where it was found.
    let found = reading.with_base_uri("https://a.example/s/x.json");
    assert!(accepts(&json!({"$ref": "./order.json"}), &found, "5"));
    // Without both, URIs may be relative.
    let flat = documents(&[
        ("a/unit.json", json!({"$ref": "../n.json"})),
        ("n.json", json!({"type": "null"})),
    ]);
    assert!(accepts(&json!({"$ref": "a/unit.json"}), &flat, "null"));
}

#[test]
fn documents_may_refer_to_each_other_and_to_the_schema() {
    let tree = json!({
        "type": "object",
        "properties": {"left": {"$ref": "tree.json"}, "leaf": {"$ref": "root.json#/$defs/leaf"}},
        "additionalProperties": false,
    });
    let reading = documents(&[("https://a.example/tree.json", tree)]);
    let schema = json!({
        "$id": "https://a.example/root.json",
        "$ref": "tree.json",
        "$defs": {"leaf": {"type": "integer"}},
    });
    assert!(accepts(
        &schema,
        &reading,
        r#"{"left": {"left": {"leaf": 3}}}"#
    ));
    assert!(!accepts(
        &schema,
        &reading,
        r#"{"left": {"left": {"leaf": "x"}}}"#
    ));
}

#[test]
fn a_document_is_read_by_its_own_draft() {
    // In draft 4 `exclusiveMaximum` is a switch and `const` says nothing; in 2020-12 siblings of
    // `$ref` count.
    let old = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "https://a.example/old.json",
        "definitions": {
            "part": {"maximum": 5, "exclusiveMaximum": true, "const": 9},
            "only": {"$ref": "#/definitions/part", "minimum": 4},
        },
    });
    let reading = documents(&[("https://b.example/old.json", old)]);
    let schema = |name: &str| {
        json!({
            "type": "integer",
            "minimum": 3,
            "$ref": format!("https://a.example/old.json#/definitions/{name}"),
        })
    };
    for name in ["part", "only"] {
        let answers = ["2", "3", "4", "5"].map(|text| accepts(&schema(name), &reading, text));
        assert_eq!(answers, [false, true, true, false], "{name}");
    }
    // A resource inside of a schema may have its own draft, too.
    let compound = json!({
        "type": "array",
        "items": {"$ref": "https://a.example/inner"},
        "$defs": {"inner": {
            "$id": "https://a.example/inner",
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/n",
            "minimum": 100,
            "definitions": {"n": {"type": "integer"}},
        }},
    });
    assert!(accepts(&compound, &ParseOptions::default(), "[1]"));
}

#[test]
fn what_contains_evaluates_depends_on_the_draft_of_its_document() {
    let old = json!({
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "contains": {"type": "integer"},
    });
    let new = json!({"contains": {"type": "integer"}});
    let reading = documents(&[("https://a/old", old), ("https://a/new", new)]);
    let schema = |uri: &str| json!({"type": "array", "$ref": uri, "unevaluatedItems": false});
    assert!(accepts(&schema("https://a/new"), &reading, "[1]"));
    // Nothing is evaluated there, so that no item may be; and one must be.
    let none = parse_with(&schema("https://a/old"), &reading).unwrap();
    let none = SchemaAutomaton::compile(none, &Options::default()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Unsatisfiable);
}

#[test]
fn names_inside_of_documents_and_dynamic_anchors_are_found() {
    let list = json!({
        "$id": "https://a.example/list",
        "type": "array",
        "items": {"$dynamicRef": "#item"},
        "$defs": {
            "any": {"$dynamicAnchor": "item"},
            "inner": {"$id": "https://a.example/inside", "type": "boolean"},
        },
    });
    let reading = documents(&[("https://b.example/list.json", list)]);
    let inside = json!({"$ref": "https://a.example/inside"});
    assert!(accepts(&inside, &reading, "true"));
    let numbers = json!({
        "$id": "https://a.example/numbers",
        "$ref": "list",
        "$defs": {"number": {"$dynamicAnchor": "item", "type": "number"}},
    });
    assert!(accepts(&numbers, &reading, "[1, 2.5]"));
    assert!(!accepts(&numbers, &reading, "[\"a\"]"));
}

#[test]
fn numbers_of_documents_keep_their_digits() {
    let exact = "9007199254740993.5";
    let mut given = Documents::default();
    given
        .insert_str("https://a/text", &format!(r#"{{"maximum": {exact}}}"#))
        .unwrap();
    given.insert(
        "https://a/value",
        serde_json::from_str(r#"{"maximum": 1e300}"#).unwrap(),
    );
    let reading = ParseOptions::default().with_documents(given);
    let schema = |uri: &str| format!(r#"{{"type": "number", "$ref": "{uri}"}}"#);
    let compiled = |uri: &str| {
        let schema = parse_str_with(&schema(uri), &reading)?;
        SchemaAutomaton::compile(schema, &Options::default())
    };
    let text = compiled("https://a/text").unwrap();
    assert!(text.is_match(exact.as_bytes()));
    assert!(!text.is_match(b"9007199254740993.6"));
    // A value may have been rounded, whatever the schema was read from.
    let refused = compiled("https://a/value").unwrap_err();
    assert_eq!(refused.pointer(), "https://a/value#/maximum");
    assert_eq!(refused.kind(), ErrorKind::Refused);
}

#[test]
fn what_is_not_at_hand_is_refused_by_name() {
    let refused = |reading: &ParseOptions| {
        let schema = json!({"properties": {"a": {"$ref": "https://a.example/none"}}});
        let schema = parse_with(&schema, reading).unwrap();
        SchemaAutomaton::compile(schema, &Options::default()).unwrap_err()
    };
    let alone = refused(&ParseOptions::default());
    assert_eq!(alone.pointer(), "/properties/a/$ref");
    assert!(
        alone.message().contains("ParseOptions::documents"),
        "{alone}"
    );
    let reading = documents(&[("https://a.example/other", json!(true))]);
    assert!(
        refused(&reading).message().contains("among the 1 other"),
        "{}",
        refused(&reading)
    );
    // A document that nests too deep is refused where a reference leads to it.
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"not": deep});
    }
    let reading = documents(&[("https://a.example/none", deep)]).with_max_nesting(30);
    let error = refused(&reading);
    assert!(
        error.message().contains("nest more than 30 deep"),
        "{error}"
    );
}

#[test]
fn a_folder_is_read_with_its_paths() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("my parts");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no JSON").unwrap();
    std::fs::write(
        folder.path().join("order.json"),
        r#"{"$ref": "my%20parts/unit.json"}"#,
    )
    .unwrap();
    std::fs::write(inner.join("unit.json"), "\u{feff}{\"const\": 1}").unwrap();
    let mut given = Documents::default();
    let count = given.insert_folder(folder.path(), Some("https://a.example/s"));
    assert_eq!(count.unwrap(), 2);
    assert_eq!(given.len(), 2);
    let reading = ParseOptions::default().with_documents(given);
    assert!(accepts(
        &json!({"$ref": "https://a.example/s/order"}),
        &reading,
        "1"
    ));
    // Without a URI they stand where they lie.
    let mut given = Documents::default();
    given.insert_folder(folder.path(), None).unwrap();
    let found = folder.path().canonicalize().unwrap().join("schema.json");
    let reading = ParseOptions::default()
        .with_documents(given)
        .with_base_uri(file_uri(&found));
    assert!(accepts(&json!({"$ref": "order.json"}), &reading, "1"));
    // What is not JSON is told with its name.
    std::fs::write(inner.join("bad.json"), "{").unwrap();
    let error = Documents::default()
        .insert_folder(folder.path(), None)
        .unwrap_err();
    assert!(error.to_string().contains("bad.json"), "{error}");
    let none = Documents::default().insert_folder(&folder.path().join("none"), None);
    assert!(none.unwrap_err().to_string().contains("none"));
}

#[cfg(feature = "serde")]
#[test]
fn options_with_documents_are_written_and_read() {
    let mut given = Documents::default();
    given
        .insert_str("https://a/text", r#"{"maximum": 9007199254740993.5}"#)
        .unwrap();
    let reading = ParseOptions::default()
        .with_documents(given)
        .with_document("https://a/value", json!({"minimum": 1}));
    let text = serde_json::to_string(&reading).unwrap();
    assert!(text.contains("9007199254740993.5"), "{text}");
    let read: ParseOptions = serde_json::from_str(&text).unwrap();
    assert_eq!(read.documents.len(), 2);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
