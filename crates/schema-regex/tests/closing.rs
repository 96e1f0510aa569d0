//! Objects without the members of which a schema says nothing: what is closed, what stays
//! open, and that nothing but members is lost.

mod common;
#[cfg(feature = "automaton")]
#[path = "common/schemas.rs"]
mod schemas;
#[cfg(feature = "automaton")]
#[path = "common/values.rs"]
#[allow(dead_code)]
mod values;

use schema_regex::ledger::{Entry, Status};
use schema_regex::{AdditionalMembers, Options, parse, to_regex};
use serde_json::{Value, json};

#[cfg(feature = "automaton")]
use schema_regex::automaton::SchemaAutomaton;

fn closed() -> Options {
    Options::default().with_additional_members(AdditionalMembers::Closed)
}

/// The texts are those of the closed schema, or not, in each form; all are of the open one.
#[track_caller]
fn check(schema: Value, good: &[&str], bad: &[&str]) {
    for (options, is_closed) in [(closed(), true), (Options::default(), false)] {
        let parsed = parse(&schema).unwrap();
        let regex = to_regex(&parsed, &options).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let regex = common::whole(&regex);
        #[cfg(feature = "automaton")]
        let automaton = SchemaAutomaton::compile(parsed, &options).unwrap();
        let cases = good.iter().map(|text| (text, true));
        for (text, is_good) in cases.chain(bad.iter().map(|text| (text, false))) {
            let want = is_good || !is_closed;
            assert_eq!(regex.is_match(text), want, "{schema}: {text}, {is_closed}");
            #[cfg(feature = "automaton")]
            assert_eq!(
                automaton.is_match(text.as_bytes()),
                want,
                "the automaton of {schema}: {text}, {is_closed}"
            );
        }
    }
}

/// The closed schema admits what the open one does.
#[track_caller]
fn stays_open(schema: Value, texts: &[&str]) {
    check(schema, texts, &[]);
}

#[test]
fn what_one_location_lists() {
    check(
        json!({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}, "required": ["a"]}),
        &[r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#],
        &[r#"{"a": 1, "c": 1}"#],
    );
    // Of an empty list none are left; a name that is only required is one of them.
    check(
        json!({"type": "object", "properties": {}}),
        &["{}"],
        &[r#"{"a": 1}"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {}}, "required": ["c", "b"]}),
        &[r#"{"c": 1, "b": 2}"#, r#"{"a": 0, "c": 1, "b": 2}"#],
        &[r#"{"c": 1, "b": 2, "d": 3}"#],
    );
    // What is said of names says nothing of further members.
    check(
        json!({"type": "object", "properties": {"a": {}}, "propertyNames": {"maxLength": 1}}),
        &["{}", r#"{"a": 1}"#],
        &[r#"{"b": 1}"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "null"}},
            "dependentRequired": {"a": ["b"]}}),
        &["{}", r#"{"a": null, "b": 1}"#],
        &[r#"{"a": null, "b": 1, "c": 1}"#],
    );
    // Further in.
    check(
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "object",
            "properties": {"b": {"type": "null"}}}}}}),
        &[r#"[{"a": {"b": null}}, {}]"#],
        &[r#"[{"a": {"c": null}}]"#, r#"[{"b": null}]"#],
    );
}

#[test]
fn what_a_conjunction_lists() {
    check(
        json!({"type": "object", "allOf": [{"properties": {"a": {"type": "null"}}},
            {"properties": {"b": {"type": "null"}}}]}),
        &["{}", r#"{"a": null, "b": null}"#],
        &[r#"{"c": null}"#, r#"{"a": null, "c": null}"#],
    );
    check(
        json!({"type": "object", "$ref": "#/$defs/base", "properties": {"b": {"type": "null"}},
            "$defs": {"base": {"properties": {"a": {"type": "null"}}, "required": ["a"]}}}),
        &[r#"{"a": null, "b": null}"#, r#"{"a": null}"#],
        &[r#"{"a": null, "c": null}"#],
    );
    // Of a member two locations speak, in different places of the schema.
    check(
        json!({"type": "object", "allOf": [
            {"properties": {"x": {"type": "object", "properties": {"a": {"type": "null"}}}}},
            {"properties": {"x": {"properties": {"b": {"type": "null"}}}}}]}),
        &[r#"{"x": {"a": null, "b": null}}"#],
        &[r#"{"x": {"c": null}}"#, r#"{"y": null}"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "null"}},
            "allOf": [{"required": ["b"]}]}),
        &[r#"{"a": null, "b": 1}"#],
        &[r#"{"b": 1, "c": 1}"#],
    );
}

#[test]
fn what_the_branch_of_a_choice_lists() {
    for one in ["anyOf", "oneOf"] {
        check(
            json!({"type": "object", "properties": {"id": {"type": "null"}}, one: [
                {"properties": {"kind": {"const": 1}, "a": {"type": "null"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": 2}, "b": {"type": "null"}}, "required": ["kind"]}]}),
            &[
                r#"{"id": null, "kind": 1, "a": null}"#,
                r#"{"kind": 2, "b": null}"#,
            ],
            &[
                r#"{"kind": 1, "c": null}"#,
                r#"{"kind": 1, "b": null}"#,
                r#"{"kind": 2, "a": 0}"#,
            ],
        );
    }
    // A branch that says nothing of its own does not hide what others list.
    check(
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"],
            "anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "null"}}}]}),
        &[r#"{"a": null}"#, r#"{"a": null, "b": null}"#],
        &[r#"{"a": null, "c": null}"#],
    );
    // A member that is only there to fail a branch: rather none.
    check(
        json!({"type": "object", "oneOf": [
            {"properties": {"a": {"type": "null"}}, "required": ["a"]},
            {"properties": {"b": {"type": "null"}}, "required": ["b"]}]}),
        &[r#"{"a": null}"#, r#"{"b": null}"#],
        &[r#"{"a": null, "b": 1}"#, r#"{"a": null, "c": 1}"#],
    );
    let when = json!({"type": "object", "properties": {"kind": {"enum": [1, 2]}}, "required": ["kind"],
        "if": {"properties": {"kind": {"const": 1}}},
        "then": {"properties": {"a": {"type": "null"}}}, "else": {"properties": {"b": {"type": "null"}}}});
    check(
        when,
        &[
            r#"{"kind": 1, "a": null}"#,
            r#"{"kind": 2, "b": null}"#,
            r#"{"kind": 1}"#,
        ],
        &[r#"{"kind": 1, "b": null}"#, r#"{"kind": 2, "c": null}"#],
    );
    check(
        json!({"type": "object", "properties": {"card": {"type": "null"}},
            "dependentSchemas": {"card": {"properties": {"to": {"type": "null"}}, "required": ["to"]}}}),
        &["{}", r#"{"card": null, "to": null}"#],
        &[r#"{"to": null}"#, r#"{"card": null, "to": null, "x": 1}"#],
    );
}

#[test]
fn what_speaks_of_others_stays_open() {
    let further = &[r#"{"z": 1}"#, r#"{"a": null, "z": 1}"#];
    for others in [
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"additionalProperties": true}),
        json!({"unevaluatedProperties": {"type": "integer"}}),
        json!({"unevaluatedProperties": true}),
        json!({"patternProperties": {"^z": {"type": "integer"}}}),
    ] {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "null"}}});
        let mut beside = schema.clone();
        beside["allOf"] = json!([others.clone()]);
        if let (Value::Object(all), Value::Object(others)) = (&mut schema, others) {
            all.extend(others);
        }
        stays_open(schema, further);
        // In another location of the conjunction.
        if beside.pointer("/allOf/0/unevaluatedProperties").is_none() {
            let texts = match beside.pointer("/allOf/0/additionalProperties") {
                Some(Value::Object(_)) => &further[..1],
                _ => further,
            };
            stays_open(beside, texts);
        }
    }
    stays_open(json!({"type": "object"}), further);
    stays_open(
        json!({"type": "object", "required": ["z"]}),
        &[r#"{"z": 1}"#, r#"{"z": 1, "a": null}"#],
    );
    // The branch that speaks of others, and the one that does not.
    check(
        json!({"type": "object", "anyOf": [
            {"properties": {"k": {"const": 1}}, "required": ["k"], "additionalProperties": true},
            {"properties": {"k": {"const": 2}}, "required": ["k"]}]}),
        &[r#"{"k": 1, "z": 1}"#, r#"{"k": 2}"#],
        &[r#"{"k": 2, "z": 1}"#],
    );
}

#[test]
fn what_closing_would_leave_without_a_value_stays_open() {
    stays_open(
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "minProperties": 2}),
        &[r#"{"a": null, "z": 1}"#, r#"{"y": 1, "z": 1}"#],
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {}}, "minProperties": 1}),
        &[r#"{"a": null}"#],
        &[r#"{"z": 1}"#],
    );
    stays_open(
        json!({"enum": [{"a": 1, "z": 2}], "properties": {"a": {}}}),
        &[r#"{"a": 1, "z": 2}"#],
    );
    stays_open(
        json!({"type": "object", "minProperties": 1, "properties": {"abc": {}},
            "propertyNames": {"maxLength": 1}}),
        &[r#"{"z": 1}"#],
    );
    // A member that must not be there, and one that has no value.
    stays_open(
        json!({"type": "object", "minProperties": 1, "properties": {"a": {"allOf": [false]}}}),
        &[r#"{"z": 1}"#],
    );
    stays_open(
        json!({"type": "object", "minProperties": 1, "properties": {"a": {"type": "array",
            "minItems": 1, "items": {"allOf": [false]}}}}),
        &[r#"{"z": 1}"#],
    );
    // The branches tell nothing apart but what must fail.
    stays_open(
        json!({"type": "object", "oneOf": [{"properties": {"a": {"type": "null"}}},
            {"properties": {"b": {"type": "null"}}}]}),
        &[r#"{"a": null, "b": 1}"#],
    );
    // What is forbidden stays forbidden.
    check(
        json!({"type": "object", "properties": {"a": {}}, "not": {"required": ["b"]}}),
        &[r#"{"a": 1}"#],
        &[r#"{"c": 1}"#],
    );
}

#[test]
fn members_come_in_order() {
    let schema = json!({"type": "object", "properties": {"b": {"type": "null"}},
        "allOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["d", "c"]}]});
    let good = r#"{"b": null, "a": null, "d": 1, "c": 1}"#;
    check(schema.clone(), &[good], &[]);
    let parsed = parse(&schema).unwrap();
    let regex = common::whole(&to_regex(&parsed, &closed()).unwrap());
    assert!(!regex.is_match(r#"{"a": null, "b": null, "d": 1, "c": 1}"#));
    assert!(!regex.is_match(r#"{"b": null, "a": null, "c": 1, "d": 1}"#));
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
fn the_ledger_shows_what_was_closed() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {"b": {"type": "null"}}, "required": ["c"]},
        "map": {"type": "object", "properties": {"x": {"type": "null"}}, "additionalProperties": {"type": "null"}}}});
    for (options, is_closed) in [(closed(), true), (Options::default(), false)] {
        for ledger in ledgers(&schema, &options) {
            let narrowed = |pointer: &str| {
                let entry = ledger.iter().find(|entry| entry.pointer == pointer);
                matches!(&entry.unwrap().status, Status::Narrowed(how) if how.contains("no further members"))
            };
            assert_eq!(narrowed("/properties"), is_closed, "{ledger:#?}");
            assert_eq!(narrowed("/properties/a/properties"), is_closed);
            assert!(!narrowed("/properties/map/properties"), "{ledger:#?}");
        }
    }
    // What has no value when it is closed is not, and the ledger says nothing of it.
    let open = json!({"type": "object", "minProperties": 1, "properties": {"a": {"type": "array",
        "minItems": 1, "items": {"allOf": [false]}}}});
    for ledger in ledgers(&open, &closed()) {
        let at = ledger.iter().find(|entry| entry.pointer == "/properties");
        assert_eq!(at.unwrap().status, Status::Enforced, "{ledger:#?}");
    }
}

/// What a closed schema admits the open one admits, and where the open one has values the
/// closed one has some.
#[cfg(feature = "automaton")]
#[test]
fn closed_schemas_of_every_kind_are_subsets() {
    use fsm_index::ByteAutomaton as _;

    let (mut runner, _) = schemas::runner(400);
    let cases = (schemas::schema(), proptest::prelude::any::<u64>());
    let outcome = runner.run(&cases, |(schema, seed)| {
        let parsed = parse(&schema).expect("the schemas are read");
        let open = SchemaAutomaton::compile(parsed.clone(), &Options::default());
        let narrow = SchemaAutomaton::compile(parsed, &closed());
        let (Ok(open), Ok(narrow)) = (&open, &narrow) else {
            // Limits aside, both are refused for the same reason.
            let kinds = [open.err().map(|e| e.kind()), narrow.err().map(|e| e.kind())];
            proptest::prop_assert_eq!(kinds[0], kinds[1], "{}", schema);
            return Ok(());
        };
        let mut shortest = Vec::new();
        if narrow.completion(&narrow.start(), 1 << 12, &mut shortest) {
            proptest::prop_assert!(open.is_match(&shortest), "{schema}");
        }
        let mut chance = schemas::Chance(seed);
        for _ in 0..24 {
            let value = match chance.one_in(2) {
                true => schemas::near(&schema, &schema, &mut chance, 0),
                false => schemas::value(&mut chance, 0),
            };
            for text in values::orders(&value) {
                let bytes = text.as_bytes();
                let is_lost = narrow.is_match(bytes) && !open.is_match(bytes);
                proptest::prop_assert!(!is_lost, "{schema}: {text}");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
