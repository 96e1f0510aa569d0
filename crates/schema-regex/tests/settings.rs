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
            json!({"whitespace": "compact", "formats": "annotate", "integers": "zero-fraction", "additionalMembers": "closed"}),
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
            json!({"x-tokenmold": {"caps": {"maxLength": 3}}}),
            "/x-tokenmold/caps/maxLength",
        ),
        (
            json!({"x-tokenmold": {"caps": {"items": -1}}}),
            "/x-tokenmold/caps/items",
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
    Options::default().with_caps(Caps::default().with_length(4).with_items(2))
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
fn members_are_capped_where_some_have_no_name() {
    let capped = Options::default().with_caps(Caps::default().with_members(2));
    check(
        json!({"type": "object", "additionalProperties": {"type": "null"}}),
        &capped,
        &["{}", r#"{"a": null, "b": null}"#],
        &[r#"{"a": null, "b": null, "c": null}"#],
    );
    // Those that are named always fit, and so do those that are asked for.
    check(
        json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": {"type": "null"}}),
        &capped,
        &[
            r#"{"a": 1, "b": 2, "c": 3}"#,
            r#"{"a": 1, "x": null, "y": null}"#,
        ],
        &[r#"{"a": 1, "b": 2, "c": 3, "x": null}"#],
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 3}),
        &capped,
        &[r#"{"a": null, "b": null, "c": null}"#],
        &[
            r#"{"a": null, "b": null}"#,
            r#"{"a": null, "b": null, "c": null, "d": null}"#,
        ],
    );
    // A bound of the schema's own, and an object without further members.
    check(
        json!({"type": "object", "additionalProperties": {"type": "null"}, "maxProperties": 3}),
        &capped,
        &[r#"{"a": null, "b": null, "c": null}"#],
        &[r#"{"a": null, "b": null, "c": null, "d": null}"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false}),
        &capped,
        &[r#"{"a": 1, "b": 2, "c": 3}"#],
        &[],
    );
    check(
        json!({}),
        &capped,
        &[r#"{"a": {"b": 1, "c": 2}, "d": 1}"#],
        &[
            r#"{"a": 1, "b": 2, "c": 3}"#,
            r#"[{"a": 1, "b": 2, "c": 3}]"#,
        ],
    );
    let schema = json!({"type": "object", "additionalProperties": {"type": "null"}});
    for ledger in ledgers(&schema, &capped) {
        let entry = ledger.iter().find(|e| e.pointer == "/maxProperties");
        assert!(
            matches!(entry.unwrap().status, Status::Narrowed(_)),
            "{ledger:#?}"
        );
    }
}

#[test]
fn digits_are_capped_where_they_have_no_end() {
    let capped = Options::default().with_caps(Caps::default().with_digits(3));
    check(
        json!({"type": "integer"}),
        &capped,
        &["0", "-123", "999"],
        &["1000", "-1234"],
    );
    // Those of a schema with bounds on both sides have an end.
    check(
        json!({"type": "integer", "minimum": 0, "maximum": 123456}),
        &capped,
        &["123456"],
        &[],
    );
    check(
        json!({"enum": [123456, 1.23456]}),
        &capped,
        &["123456", "1.23456"],
        &[],
    );
    for ledger in ledgers(
        &json!({"type": "array", "items": {"type": "integer"}}),
        &capped,
    ) {
        let mut narrowed = ledger.iter().filter(|e| e.pointer == "/items");
        let is_told =
            |e: &Entry| matches!(&e.status, Status::Narrowed(how) if how.contains("3 digits"));
        assert!(narrowed.any(is_told), "{ledger:#?}");
    }
}

#[cfg(feature = "automaton")]
#[test]
fn the_automaton_caps_all_numbers_and_names() {
    let capped = |caps: Caps| Options::default().with_caps(caps);
    let checked = |schema: Value, options: &Options, good: &[&str], bad: &[&str]| {
        let automaton = SchemaAutomaton::new(&schema, options).unwrap();
        for (texts, want) in [(good, true), (bad, false)] {
            for text in texts {
                let is_match = automaton.is_match(text.as_bytes());
                assert_eq!(is_match, want, "{schema}: {text}");
            }
        }
    };
    let digits = capped(Caps::default().with_digits(3));
    checked(
        json!({"type": "number"}),
        &digits,
        &["-1.25", "12.5", "1e10", "1.5e1"],
        &["1.125", "0.0001", "1e100", "1.5e10"],
    );
    checked(
        json!({"type": "number", "minimum": 0, "maximum": 1}),
        &digits,
        &["0.12", "1"],
        &["0.125"],
    );
    checked(
        json!({"type": "integer", "minimum": 10}),
        &digits,
        &["10", "999"],
        &["1000", "9"],
    );
    // The cap gives way to a minimum that has more digits.
    checked(
        json!({"type": "integer", "minimum": 123456}),
        &digits,
        &["123456", "999999"],
        &["1000000"],
    );
    checked(
        json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.0001}),
        &digits,
        &["0.01", "3"],
        &["0.0001", "1.0001"],
    );
    checked(json!({}), &digits, &["[123, 0.12]"], &["[1234]"]);

    let names = capped(Caps::default().with_name_length(3));
    checked(
        json!({"type": "object", "additionalProperties": {"type": "null"}}),
        &names,
        &[r#"{"abc": null, "äöü": null}"#],
        &[r#"{"abcd": null}"#],
    );
    checked(
        json!({"type": "object", "properties": {"abcdef": {}}}),
        &names,
        &[r#"{"abcdef": 1, "abc": 1}"#, r#"{"abcde": 1}"#],
        &[r#"{"abcdefg": 1}"#],
    );
    checked(
        json!({"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "null"}}, "additionalProperties": false}),
        &names,
        &[r#"{"x-a": null}"#],
        &[r#"{"x-ab": null}"#, r#"{"a": null}"#],
    );
    // Bounds of the schema's own, and a pattern that asks for more.
    checked(
        json!({"type": "object", "propertyNames": {"maxLength": 5}}),
        &names,
        &[r#"{"abcde": null}"#],
        &[r#"{"abcdef": null}"#],
    );
    checked(
        json!({"type": "object", "propertyNames": {"pattern": "^[a-z]{4,}$"}, "minProperties": 1}),
        &names,
        &[r#"{"abcd": 1}"#],
        &[r#"{"abcde": 1}"#],
    );
    checked(
        json!({}),
        &names,
        &[r#"[{"abc": 1}]"#],
        &[r#"[{"abcd": 1}]"#],
    );
    let (_, ledger) = SchemaAutomaton::explain(parse(&json!({"type": "object"})).unwrap(), &names);
    let entry = ledger.iter().find(|e| e.pointer == "/propertyNames");
    assert!(
        matches!(entry.unwrap().status, Status::Narrowed(_)),
        "{ledger:#?}"
    );
}

#[cfg(feature = "automaton")]
#[test]
fn refusals_name_the_cap() {
    // Of three texts of one character there are no four.
    let schema = json!({"type": "array", "uniqueItems": true, "minItems": 4,
        "items": {"type": "string", "pattern": "^[abc]+$"}});
    let caps = Caps::default().with_length(1).with_items(9).with_digits(9);
    let error = SchemaAutomaton::new(&schema, &Options::default().with_caps(caps)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsatisfiable);
    assert!(error.message().contains("`length`"), "{error}");
    let never = json!({"type": "string", "allOf": [false]});
    let error = SchemaAutomaton::new(&never, &Options::default().with_caps(caps)).unwrap_err();
    assert!(!error.message().contains("cap"), "{error}");
    let many = Options::default().with_caps(Caps::default().with_digits(1_000_000));
    let error = SchemaAutomaton::new(&json!({"type": "number"}), &many).unwrap_err();
    assert_eq!((error.kind(), error.pointer()), (ErrorKind::Refused, ""));
    assert!(error.message().contains("`digits`"), "{error}");
}

#[test]
fn caps_come_from_the_schema_too() {
    check(
        json!({"x-tokenmold": {"caps": {"digits": 2, "members": 1, "nameLength": null}}, "type": ["integer", "object"]}),
        &caps(),
        &["12", r#"{"a": 1}"#],
        &["123", r#"{"a": 1, "b": 2}"#],
    );
    check(
        json!({"x-tokenmold": {"caps": {"length": 1, "items": null}}, "type": ["string", "array"], "items": {"type": "null"}}),
        &caps(),
        &["\"a\"", "[null, null, null]"],
        &["\"ab\""],
    );
}

#[cfg(feature = "automaton")]
#[test]
fn depth_is_capped_where_the_schema_does_not_bound_it() {
    let options = Options::default().with_caps(Caps::default().with_depth(2));
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
        &Options::default().with_additional_members(schema_regex::AdditionalMembers::Closed),
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
