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
    assert!(
        ["https://a/text", "https://a/value"]
            .iter()
            .all(|uri| text.contains(uri))
    );
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
