//! No keyword that is enforced is inert: deleted, it changes the language, or
//! it is proved to follow from what stands beside it.

use fsm_index::ByteAutomaton as _;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{ErrorKind, parse};
use serde_json::{Value, json};

use crate::common::deletion::{self, Outcome, Subject};

#[test]
fn differences_are_exact() {
    let options = deletion::options();
    let difference = |a: Value, b: Value| {
        SchemaAutomaton::difference(&parse(&a).unwrap(), &parse(&b).unwrap(), &options)
    };
    let is_within = |a: Value, b: Value| match difference(a, b) {
        Err(e) => assert_eq!(e.kind(), ErrorKind::Unsatisfiable, "{e}"),
        Ok(_) => panic!("there is a difference"),
    };
    is_within(json!({"type": "integer"}), json!({"type": "number"}));
    is_within(
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "pattern": "^[0-9]{4}-[01]", "maxLength": 10}),
    );
    is_within(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "maxItems": 2}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "maxItems": 3}}}),
    );
    let some = difference(
        json!({"properties": {"a": {"minimum": 3}}, "type": "object"}),
        json!({"properties": {"a": {"minimum": 4}}, "type": "object"}),
    )
    .unwrap();
    assert!(some.is_match(b"{\"a\": 3}") && some.is_match(b"{\"a\":3.5,\"b\":1}"));
    assert!(!some.is_match(b"{\"a\": 4}") && !some.is_match(b"{}"));
    // Formats as they are enforced, where they are narrowed too.
    is_within(
        json!({"type": "string", "format": "time"}),
        json!({"format": "time"}),
    );
}

/// The item that differs has to be looked for: a plain one was there before.
#[test]
fn a_witness_may_need_an_item_that_differs() {
    let schema = |required: Value| {
        let change = json!({"type": "object", "properties": {"u": {"type": "string"}, "i": {"type": "string"}},
            "additionalProperties": false, "required": required});
        json!({"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["d", "c"],
            "properties": {"d": {"type": "string"}, "c": {"type": "array", "items": change}}, "additionalProperties": false}})
    };
    let (with, without) = (schema(json!(["u"])), schema(json!([])));
    let options = deletion::options();
    let parsed = |schema| parse(schema).unwrap();
    let automaton =
        SchemaAutomaton::difference(&parsed(&without), &parsed(&with), &options).unwrap();
    for begun in [
        "",
        "[",
        r#"[{"d":"","c":[]}"#,
        r#"[{"d":"","c":[{"u":""}]}"#,
    ] {
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        automaton
            .advance(&mut state, begun.as_bytes(), &mut scratch)
            .unwrap();
        let mut text = begun.as_bytes().to_vec();
        automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut text);
        assert!(
            automaton.is_match(&text),
            "{}",
            String::from_utf8_lossy(&text)
        );
    }
}

#[test]
fn a_keyword_that_follows_is_told_from_one_that_does_not() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 1, "not": {"const": 0}}, "b": {"type": "string"}},
        "required": ["a"],
        "minProperties": 1
    });
    let subject = Subject::new(&schema, Vec::new()).unwrap();
    let outcome = |pointer: &str| subject.delete(pointer);
    assert_eq!(outcome("/minProperties"), Outcome::Implied);
    assert_eq!(outcome("/properties/a/not"), Outcome::Implied);
    for pointer in [
        "/type",
        "/required",
        "/properties",
        "/properties/a/type",
        "/properties/a/minimum",
        "/properties/b/type",
    ] {
        let found = outcome(pointer);
        assert!(
            matches!(found, Outcome::Changed { .. }),
            "{pointer}: {found:?}"
        );
    }
}

/// A sample of the development cases; `examples/inert.rs` runs all of them.
#[test]
fn no_enforced_keyword_is_inert() {
    let Some(folder) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: the development cases are not run");
        return;
    };
    let path = std::path::Path::new(&folder).join("maskbench/dev.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut changed, mut implied, mut undecided) = (0, 0, 0);
    for line in text.lines().skip(11).step_by(97) {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(subject) = Subject::new(&case["schema"], Vec::new()) else {
            continue;
        };
        let keywords = subject.keywords();
        let formats = keywords.iter().any(|(_, k)| k == "format");
        // A few of each schema, spread over it.
        let step = 1 + keywords.len() / 12;
        let validator = jsonschema::options()
            .should_validate_formats(false)
            .build(&case["schema"])
            .ok();
        for (pointer, _) in keywords.iter().step_by(step) {
            match subject.delete(pointer) {
                Outcome::Changed {
                    text,
                    admitted_with,
                } => {
                    changed += 1;
                    // Another validator sees the same; it knows other formats.
                    if let (Some(v), Some(text)) = (&validator, &text)
                        && let Ok(value) = serde_json::from_str(text)
                        && !formats
                    {
                        assert_eq!(
                            v.is_valid(&value),
                            admitted_with,
                            "{}: {pointer}: {text}",
                            case["id"]
                        );
                    }
                }
                Outcome::Implied => implied += 1,
                Outcome::Undecided(reason) => {
                    eprintln!("{}: {pointer}: {reason}", case["id"]);
                    undecided += 1;
                }
            }
        }
    }
    eprintln!("{changed} changed the language, {implied} implied, {undecided} undecided");
    assert!(changed > 200 && undecided * 20 < changed);
}
