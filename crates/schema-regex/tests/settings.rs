//! Options that a schema chooses by itself, caps, and what the ledger says of
//! both, for each form of a schema.

mod common;

use schema_regex::ledger::{Entry, Status};
use schema_regex::{
    Caps, Error, ErrorKind, Options, ParseOptions, Schema, Settings, parse_with, to_regex,
};
use serde_json::{Value, json};

#[cfg(feature = "automaton")]
use schema_regex::automaton::SchemaAutomaton;

/// Reads a schema that may choose options by itself.
fn parse(schema: &Value) -> Result<Schema, Error> {
    parse_with(
        schema,
        &ParseOptions::default().with_settings(Settings::Follow),
    )
}

/// What each form says of a text.
fn answers(schema: &Value, options: &Options, text: &str) -> Vec<bool> {
    let parsed = parse(schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let regex = to_regex(&parsed, options).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let mut out = vec![common::whole(&regex).is_match(text)];
    #[cfg(feature = "automaton")]
    {
        let automaton = SchemaAutomaton::compile(parsed, options).unwrap();
        out.push(automaton.is_match(text.as_bytes()));
    }
    let _ = &mut out;
    out
}

#[track_caller]
fn check(schema: Value, options: &Options, good: &[&str], bad: &[&str]) {
    for (texts, want) in [(good, true), (bad, false)] {
        for text in texts {
            for answer in answers(&schema, options, text) {
                assert_eq!(answer, want, "{schema}: {text}");
            }
        }
    }
}

fn ledgers(schema: &Value, options: &Options) -> Vec<Vec<Entry>> {
    let parsed = parse(schema).unwrap();
    let mut out = vec![parsed.ledger(options)];
    #[cfg(feature = "automaton")]
    out.push(SchemaAutomaton::explain(parsed, options).1);
    let _ = &mut out;
    out
}

#[test]
fn the_schema_overrides_options() {
    let with = |settings: Value| {
        json!({
            "x-tokenmold": settings,
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"format": "date"}},
            "required": ["a", "b"]
        })
    };
    let options = Options::default();
    check(
        with(json!({})),
        &options,
        &["{\"a\": 1, \"b\": \"2020-01-01\"}"],
        &[
            "{ \"a\":1,\"b\":1}",
            "{\"a\": 1, \"b\": \"x\"}",
            "{\"a\": 1.0, \"b\": 1}",
        ],
    );
    check(
        with(
            json!({"whitespace": "compact", "formats": "annotate", "integers": "zero-fraction", "openObjects": "closed"}),
        ),
        &options,
        &["{\"a\":1.0,\"b\":\"x\"}"],
        &["{\"a\": 1,\"b\":1}", "{\"a\":1,\"b\":1,\"c\":1}"],
    );
    check(
        with(json!({"whitespace": "any:1", "escapes": "all"})),
        &options,
        &["{ \"\\u0061\" : 1 , \"b\" : 1 }"],
        &["{  \"a\": 1, \"b\": 1}"],
    );
    check(
        with(json!({"whitespace": {"pattern": " ?"}, "escapes": "shortest"})),
        &options,
        &["{ \"a\":1,\"b\":1}"],
        &["{\t\"a\":1,\"b\":1}"],
    );
    check(
        json!({"x-tokenmold": {"anyValue": 0, "nesting": 0}}),
        &options,
        &["1", "\"x\""],
        &["[1]", "{}"],
    );
    // Beside `$ref`, where older drafts look at nothing else.
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "x-tokenmold": {"whitespace": "compact"},
            "$ref": "#/definitions/a", "definitions": {"a": {"type": "array", "items": {"type": "null"}}}}),
        &options,
        &["[null,null]"],
        &["[null, null]"],
    );
}

#[cfg(feature = "automaton")]
#[test]
fn the_schema_overrides_the_order_and_recursion() {
    let schema = json!({"x-tokenmold": {"propertyOrder": "any"}, "properties": {"a": {"const": 1}, "b": {"const": 2}}, "additionalProperties": false});
    let automaton = SchemaAutomaton::compile(parse(&schema).unwrap(), &Options::default()).unwrap();
    assert!(automaton.is_match(b"{\"b\": 2, \"a\": 1}"));
    let list = json!({"x-tokenmold": {"recursion": 1, "nesting": 2}, "type": "array", "items": {"$ref": "#"}});
    let automaton = SchemaAutomaton::compile(parse(&list).unwrap(), &Options::default()).unwrap();
    assert!(automaton.is_match(b"[[]]") && !automaton.is_match(b"[[[]]]"));
    assert!(to_regex(&parse(&list).unwrap(), &Options::default()).is_ok());
}

#[test]
fn wrong_settings_are_refused_by_name_and_place() {
    for (schema, pointer) in [
        (json!({"x-tokenmold": 1}), "/x-tokenmold"),
        (json!({"x-tokenmold": {"white": 1}}), "/x-tokenmold/white"),
        (
            json!({"x-tokenmold": {"whitespace": "lots"}}),
            "/x-tokenmold/whitespace",
        ),
        (
            json!({"x-tokenmold": {"nesting": 1001}}),
            "/x-tokenmold/nesting",
        ),
        (
            json!({"x-tokenmold": {"formats": true}}),
            "/x-tokenmold/formats",
        ),
        (
            json!({"x-tokenmold": {"caps": {"maxlength": 3}}}),
            "/x-tokenmold/caps/maxlength",
        ),
        (
            json!({"x-tokenmold": {"caps": {"maxItems": -1}}}),
            "/x-tokenmold/caps/maxItems",
        ),
        (json!({"items": {"x-tokenmold": {}}}), "/items/x-tokenmold"),
    ] {
        let error = parse(&schema).unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (ErrorKind::Invalid, pointer),
            "{error}"
        );
        let ignoring = ParseOptions::default().with_settings(Settings::Ignore);
        assert!(parse_with(&schema, &ignoring).is_ok(), "{schema}");
    }
}

fn caps() -> Options {
    Options::default().with_caps(Caps::default().with_max_length(4).with_max_items(2))
}

#[test]
fn caps_bound_what_has_no_bound() {
    check(
        json!({"type": "string"}),
        &caps(),
        &["\"abcd\"", "\"\""],
        &["\"abcde\""],
    );
    check(
        json!({"type": "string", "maxLength": 6}),
        &caps(),
        &["\"abcdef\""],
        &["\"abcdefg\""],
    );
    check(
        json!({"type": "string", "minLength": 6}),
        &caps(),
        &["\"abcdef\""],
        &["\"abcdefg\"", "\"abcde\""],
    );
    check(
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        &caps(),
        &["\"abcd\""],
        &["\"abcde\"", "\"\""],
    );
    // A pattern that bounds by itself, values that are listed.
    check(
        json!({"type": "string", "pattern": "^[a-z]{6}$"}),
        &caps(),
        &["\"abcdef\""],
        &["\"abcd\""],
    );
    check(
        json!({"enum": ["abcdef", ["a", "b", "c"]]}),
        &caps(),
        &["\"abcdef\"", "[\"a\", \"b\", \"c\"]"],
        &["\"abcd\""],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}}),
        &caps(),
        &["[]", "[1, 2]"],
        &["[1, 2, 3]"],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 3}),
        &caps(),
        &["[1, 2, 3]"],
        &["[1, 2]", "[1, 2, 3, 4]"],
    );
    check(
        json!({"type": "array", "prefixItems": [true, true, true]}),
        &caps(),
        &["[1, 2, 3]", "[1, \"abcd\"]"],
        &["[1, 2, 3, 4]", "[\"abcde\"]"],
    );
    // Never under negation: what the schema forbids stays forbidden.
    check(
        json!({"type": "string", "not": {"pattern": "^a*$"}}),
        &caps(),
        &["\"ab\""],
        &["\"aaaaaa\"", "\"abbbbb\"", "\"a\""],
    );
    check(
        json!({"type": "array", "items": {"type": "null"}, "not": {"minItems": 1}}),
        &caps(),
        &["[]"],
        &["[null]", "[null, null, null]"],
    );
}

#[test]
fn caps_come_from_the_schema_too() {
    check(
        json!({"x-tokenmold": {"caps": {"maxLength": 1, "maxItems": null}}, "type": ["string", "array"], "items": {"type": "null"}}),
        &caps(),
        &["\"a\"", "[null, null, null]"],
        &["\"ab\""],
    );
}

#[cfg(feature = "automaton")]
#[test]
fn depth_is_capped_where_the_schema_does_not_bound_it() {
    let options = Options::default().with_caps(Caps::default().with_max_depth(2));
    let open = SchemaAutomaton::new(&json!({"type": "array"}), &options).unwrap();
    assert!(open.is_match(b"[[]]") && !open.is_match(b"[[[]]]"));
    let three = json!({"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": {"type": "array"}}});
    let needed = SchemaAutomaton::new(&three, &options).unwrap();
    assert!(needed.is_match(b"[[[]]]") && !needed.is_match(b"[[[[]]]]"));
    let own = json!({"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "null"}}}});
    let own = SchemaAutomaton::new(&own, &options).unwrap();
    assert!(own.is_match(b"[[[null]]]"));
}

#[test]
fn the_ledger_shows_caps() {
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string", "maxLength": 9}, "c": {"type": "array", "items": {"type": "null"}}},
        "additionalProperties": false, "type": "object"});
    for ledger in ledgers(&schema, &caps()) {
        let status = |pointer: &str| {
            let found = ledger.iter().find(|e| e.pointer == pointer);
            found.map(|e| e.status.clone())
        };
        let narrowed = |s: Option<Status>| matches!(s, Some(Status::Narrowed(_)));
        assert!(narrowed(status("/properties/a/maxLength")), "{ledger:#?}");
        assert_eq!(
            status("/properties/b/maxLength"),
            Some(Status::Enforced),
            "{ledger:#?}"
        );
        assert!(narrowed(status("/properties/c/maxItems")), "{ledger:#?}");
    }
}

#[test]
fn the_ledger_shows_options() {
    let schema = json!({"properties": {"a": {"format": "date"}, "b": {"format": "nothing"}, "c": {"format": "time"}}});
    for ledger in ledgers(
        &schema,
        &Options::default().with_formats(schema_regex::Formats::Annotate),
    ) {
        let formats: Vec<&Entry> = ledger.iter().filter(|e| e.keyword == "format").collect();
        assert_eq!(formats.len(), 3);
        assert!(formats.iter().all(|e| e.status == Status::Annotation));
    }
    for ledger in ledgers(
        &schema,
        &Options::default().with_formats(schema_regex::Formats::Strict),
    ) {
        let b = ledger.iter().find(|e| e.pointer == "/properties/b/format");
        assert!(matches!(b.unwrap().status, Status::Refused(_)), "{b:?}");
    }
    for ledger in ledgers(
        &schema,
        &Options::default().with_open_objects(schema_regex::OpenObjects::Closed),
    ) {
        let p = ledger.iter().find(|e| e.pointer == "/properties").unwrap();
        assert!(matches!(p.status, Status::Narrowed(_)), "{p:?}");
    }
}

#[cfg(feature = "automaton")]
#[test]
fn refusals_have_their_place_and_are_in_the_ledger() {
    for (schema, pointer) in [
        (
            json!({"properties": {"a": {"type": "array", "uniqueItems": true, "items": {"enum": [1, 2, 3]},
                "prefixItems": [{"enum": [1, 2]}], "allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]}}}),
            "/properties/a/uniqueItems",
        ),
        (
            json!({"items": {"type": "array", "not": {"uniqueItems": true}}}),
            "/items/not/uniqueItems",
        ),
        (
            json!({"anyOf": [{"type": "string", "not": {"format": "idn-email"}}]}),
            "/anyOf/0/not/format",
        ),
        (
            json!({"properties": {"n": {"type": "number", "multipleOf": 0.123456789}}}),
            "/properties/n/multipleOf",
        ),
    ] {
        let (result, ledger) =
            SchemaAutomaton::explain(parse(&schema).unwrap(), &Options::default());
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (ErrorKind::Refused, pointer),
            "{error}"
        );
        let entry = ledger.iter().find(|e| e.pointer == pointer).unwrap();
        assert!(matches!(entry.status, Status::Refused(_)), "{entry:?}");
    }
}
