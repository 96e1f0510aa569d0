//! Alternatives of objects that would multiply are kept as conditions: what they accept is what
//! the schema says, and whatever was begun can be finished.

use std::collections::BTreeSet;

use fsm_index::contract::{Effort, check};
use fsm_index::{ByteAutomaton as _, TokenId, VocabularyBuilder};
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{ErrorKind, Options, PropertyOrder, parse};
use serde_json::{Map, Value, json};

use crate::common::schemas::{self, Chance};

fn compiled(schema: &Value) -> SchemaAutomaton {
    SchemaAutomaton::new(schema, &Options::default()).unwrap_or_else(|e| panic!("{e}: {schema}"))
}

#[track_caller]
fn says(automaton: &SchemaAutomaton, accepted: &[&str], rejected: &[&str]) {
    for text in accepted {
        assert!(automaton.is_match(text.as_bytes()), "{text}");
    }
    for text in rejected {
        assert!(!automaton.is_match(text.as_bytes()), "{text}");
    }
}

/// Objects with shared members, of which each branch needs one of its own with a type.
fn told_by_names(count: usize) -> Value {
    let branches = (0..count).map(|n| {
        json!({"properties": {format!("b{n}"): {"type": "integer"}}, "required": [format!("b{n}")]})
    });
    json!({
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
        "oneOf": branches.collect::<Value>(),
    })
}

#[test]
fn one_name_of_many_is_counted() {
    for count in [9, 200] {
        let automaton = compiled(&told_by_names(count));
        says(
            &automaton,
            &[
                r#"{"id": "x", "b0": 1}"#,
                r#"{"id": "x", "b8": 1}"#,
                r#"{"id": "x", "b0": 1, "b1": "no integer"}"#,
                r#"{"b3": [], "b8": 1, "id": "x", "more": {}}"#,
            ],
            &[
                r#"{"id": "x"}"#,
                r#"{"b1": 1}"#,
                r#"{"id": "x", "b0": 1, "b1": 2}"#,
                r#"{"id": "x", "b0": "no integer"}"#,
                r#"{"id": "x", "b0": 1, "b0": 1}"#,
            ],
        );
    }
}

#[test]
fn members_of_conditions_are_limited() {
    let usual = Options::default().with_max_automaton_states(2_000);
    let raised = Options::default()
        .with_max_automaton_states(100_000)
        .with_max_steps(50_000_000);
    for (count, options, fits) in [
        (900, &usual, true),
        (1_100, &usual, false),
        (2_400, &raised, true),
        (2_600, &raised, false),
    ] {
        match SchemaAutomaton::new(&told_by_names(count), options) {
            Ok(_) => assert!(fits, "{count}"),
            Err(error) => {
                assert!(!fits, "{count}: {error}");
                assert_eq!(error.kind(), ErrorKind::TooManyAlternatives);
                assert_eq!(error.pointer(), "/oneOf");
            }
        }
    }
}

/// One field of several, or none of them, as protocol buffers have it.
#[test]
fn none_of_them_is_a_branch() {
    let names: Vec<String> = (0..40).map(|n| format!("f{n}")).collect();
    let required = |name: &String| json!({"required": [name]});
    let mut branches: Vec<Value> = names
        .iter()
        .map(|name| json!({"properties": {name: {"type": "string"}}, "required": [name]}))
        .collect();
    let any: Vec<Value> = names.iter().map(required).collect();
    branches.push(json!({"not": {"anyOf": any}}));
    let automaton = compiled(&json!({"type": "object", "oneOf": branches}));
    says(
        &automaton,
        &["{}", r#"{"f7": "a"}"#, r#"{"x": 1, "f39": "a", "f0": 3}"#],
        &[r#"{"f7": 1}"#, r#"{"f7": "a", "f8": "a"}"#, "[]"],
    );
}

#[test]
fn each_of_many_choices_is_made() {
    let name = |n: usize| format!("a{n}");
    let either =
        |n: usize| json!({"anyOf": [{"required": [name(2 * n)]}, {"required": [name(2 * n + 1)]}]});
    let properties = (0..22).map(|n| (name(n), json!({"type": "integer"})));
    let schema = json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "additionalProperties": false,
        "allOf": (0..11).map(either).collect::<Value>(),
    });
    let automaton = compiled(&schema);
    let text = |names: &mut dyn Iterator<Item = usize>| {
        let members: Vec<String> = names.map(|n| format!("\"{}\": 1", name(n))).collect();
        format!("{{{}}}", members.join(", "))
    };
    let even = text(&mut (0..22).filter(|n| n % 2 == 0));
    let all = text(&mut (0..22));
    let but_one = text(&mut (0..22).filter(|n| *n != 6 && *n != 7));
    says(&automaton, &[&even, &all], &["{}", &but_one]);
}

#[test]
fn tags_of_any_form_tell_objects_apart() {
    type Tag = fn(usize) -> Value;
    let tags: [(Tag, &str); 3] = [
        (
            |n| json!({"type": "string", "pattern": format!("^k{n}(\\.|$)")}),
            "k3.x",
        ),
        (|n| json!({"enum": [format!("k{n}"), n, n + 100]}), "k3"),
        (
            |n| json!({"type": "string", "const": format!("k{n}")}),
            "k3",
        ),
    ];
    for (tag, third) in tags {
        let branches = (0..12).map(|n| {
            json!({
                "properties": {"kind": tag(n), format!("x{n}"): {"type": "integer"}},
                "required": [format!("x{n}")],
            })
        });
        let schema = json!({"type": "object", "oneOf": branches.collect::<Value>()});
        let automaton = compiled(&schema);
        let text = |kind: &str, members: &str| format!("{{\"kind\": \"{kind}\", {members}}}");
        says(
            &automaton,
            &[
                &text(third, "\"x3\": 1"),
                &text(third, "\"x2\": 1, \"x3\": 1"),
                "{\"x3\": 1}",
                "{\"x3\": 1, \"kind\": \"k3\"}",
            ],
            &[
                &text(third, "\"x4\": 1"),
                &text(third, "\"x3\": \"\""),
                "{\"x3\": 1, \"x4\": 2}",
                "{\"kind\": \"other\", \"x3\": 1}",
                "{}",
            ],
        );
    }
}

/// Closed branches that all admit extensions by a pattern of names.
#[test]
fn closed_branches_may_name_members_by_a_pattern() {
    let branches = (0..12).map(|n| {
        json!({
            "properties": {format!("b{n}"): {"type": "integer"}, "id": {"type": "string"}},
            "required": [format!("b{n}")],
            "patternProperties": {"^x-": {}},
            "additionalProperties": false,
        })
    });
    let mut schema = json!({"type": "object", "anyOf": branches.collect::<Value>()});
    for one in ["anyOf", "oneOf"] {
        let automaton = compiled(&schema);
        says(
            &automaton,
            &[
                r#"{"b1": 1}"#,
                r#"{"b1": 1, "id": "", "x-a": [], "x-b": 2}"#,
            ],
            &[
                r#"{"b1": 1, "y-a": 1}"#,
                r#"{"b1": 1, "b2": 1}"#,
                r#"{"x-a": 1}"#,
                r#"{"b1": 1, "x-a": 1, "x-a": 1}"#,
            ],
        );
        let branches = schema[one].take();
        schema = json!({"type": "object", "oneOf": branches});
    }
    schema["minProperties"] = json!(3);
    let automaton = compiled(&schema);
    says(
        &automaton,
        &[r#"{"b1": 1, "x-a": 1, "x-b": 1}"#],
        &[r#"{"b1": 1, "id": ""}"#],
    );
    // By different ones they are alternatives as ever.
    schema["oneOf"][3]["patternProperties"] = json!({"^y-": {}});
    let error = SchemaAutomaton::new(&schema, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyAlternatives);
}

#[test]
fn many_patterns_of_a_tag_tell_objects_apart() {
    for count in [50, 70] {
        let branches = (0..count).map(|n| {
            json!({
                "properties": {
                    "kind": {"type": "string", "pattern": format!("^k{n}(\\.|$)")},
                    format!("x{n}"): {"type": "integer"},
                },
                "required": ["kind", format!("x{n}")],
            })
        });
        let mut schema = json!({"type": "object", "oneOf": branches.collect::<Value>()});
        for options in [Options::default(), Options::for_generation()] {
            let automaton = SchemaAutomaton::new(&schema, &options)
                .unwrap_or_else(|e| panic!("{count} {:?}: {e}", options.additional_members));
            says(
                &automaton,
                &[
                    r#"{"kind": "k3.x", "x3": 1}"#,
                    r#"{"kind": "k49", "x49": 1}"#,
                ],
                &[
                    r#"{"kind": "k3.x", "x4": 1}"#,
                    r#"{"kind": "k3x", "x3": 1}"#,
                    r#"{"kind": "k999", "x3": 1}"#,
                    r#"{"kind": 3, "x3": 1}"#,
                    "{}",
                ],
            );
        }
        // Patterns that have texts in common.
        schema["oneOf"][0]["properties"]["kind"]["pattern"] = json!("^k[0-9]");
        let automaton = compiled(&schema);
        says(
            &automaton,
            &[
                r#"{"kind": "k3x", "x0": 1}"#,
                r#"{"kind": "k3", "x3": 1}"#,
                r#"{"kind": "k3", "x0": 1}"#,
            ],
            &[
                r#"{"kind": "k3", "x0": 1, "x3": 1}"#,
                r#"{"kind": "k3x", "x3": 1}"#,
            ],
        );
    }
}

/// A oneOf of names alone, which is the same by cases as by conditions.
#[test]
fn one_name_of_many_is_the_same_either_way() {
    let names: Vec<String> = (0..40).map(|n| format!("b{n}")).collect();
    for count in [31, 32, 40] {
        let branches = names[..count]
            .iter()
            .map(|name| json!({"required": [name]}));
        let properties = names.iter().rev().map(|name| (name.clone(), json!(true)));
        let schema = json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "oneOf": branches.collect::<Value>(),
        });
        let automaton = SchemaAutomaton::new(&schema, &Options::for_generation()).unwrap();
        says(
            &automaton,
            &[r#"{"b7": 1}"#],
            &["{}", r#"{"b7": 1, "b3": 1}"#, r#"{"c": 1, "b7": 1}"#],
        );
        let more = r#"{"b39": 1, "b7": 1}"#;
        assert_eq!(automaton.is_match(more.as_bytes()), count < 40);
        assert!(!automaton.is_match(br#"{"b7": 1, "b39": 1}"#));
    }
}

/// Branches that exclude each other by what names may be: none of the complements is made, of which there
/// would be too many.
#[test]
fn what_names_may_be_tells_many_objects_apart() {
    let phrasing = |name: String| {
        json!({
            "type": "object",
            "allOf": [
                {
                    "properties": {&name: {"type": "string", "minLength": 1}},
                    "propertyNames": {"anyOf": [{"const": &name}, {"enum": ["State", "Id", "Weight"]}]},
                    "required": [&name],
                },
                {"properties": {"State": {"type": "string"}, "Id": {"type": "integer"}}},
            ],
        })
    };
    let all: Vec<Value> = (0..30).map(|i| phrasing(format!("Name{i}"))).collect();
    says(
        &compiled(&json!({"oneOf": all})),
        &[r#"{"Name7": "a", "State": "b"}"#, r#"{"Name29": "a"}"#],
        &[
            r#"{"State": "b"}"#,
            r#"{"Name7": "a", "Name8": "b"}"#,
            r#"{"Name7": ""}"#,
        ],
    );
}

#[test]
fn what_speaks_of_names_by_patterns_is_still_a_choice() {
    let branches = (0..12).map(|n| {
        json!({"patternProperties": {format!("^b{n}"): {"type": "integer"}}, "required": [format!("c{n}"), format!("d{n}")]})
    });
    let schema = json!({"type": "object", "oneOf": branches.collect::<Value>()});
    let error = SchemaAutomaton::new(&schema, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyAlternatives);
}

#[test]
fn members_are_counted_beside_conditions() {
    let mut schema = told_by_names(9);
    schema["maxProperties"] = json!(3);
    schema["minProperties"] = json!(3);
    let automaton = compiled(&schema);
    says(
        &automaton,
        &[
            r#"{"id": "x", "b0": 1, "b1": ""}"#,
            r#"{"more": "x", "b8": 1, "id": ""}"#,
        ],
        &[
            r#"{"id": "x", "b0": 1}"#,
            r#"{"id": "x", "more": 1, "other": 1}"#,
            r#"{"id": "x", "b0": 1, "b1": "", "b2": ""}"#,
        ],
    );
}

/// Closed branches and others, of which the closed ones are not told apart by a tag.
#[test]
fn closed_branches_are_conditions() {
    let branch = |n: usize| {
        let own = format!("b{n}");
        match n % 3 {
            0 => {
                json!({"properties": {&own: {"type": "integer"}, "id": true}, "additionalProperties": false})
            }
            1 => {
                json!({"properties": {&own: {"type": "integer"}, "id": true}, "unevaluatedProperties": false, "anyOf": [{"required": [&own]}, {"required": ["id"]}]})
            }
            _ => json!({"properties": {&own: {"type": "integer"}}, "required": [&own]}),
        }
    };
    let branches: Vec<Value> = (0..30).map(branch).collect();
    let automaton = compiled(&json!({"type": "object", "oneOf": branches}));
    says(
        &automaton,
        &[
            r#"{"b0": 1}"#,
            r#"{"b0": 1, "id": null}"#,
            r#"{"b1": 1}"#,
            r#"{"b2": 1, "more": 2}"#,
            r#"{"more": 2, "b2": 1, "b0": 1}"#,
        ],
        &[
            "{}",
            r#"{"id": 1}"#,
            r#"{"b0": "1"}"#,
            r#"{"b0": 1, "more": 1}"#,
            r#"{"b0": 1, "b1": 1}"#,
            r#"{"b2": 1, "b5": 1}"#,
        ],
    );
}

#[test]
fn the_contract_holds() {
    let tokens = [
        "{", "}", "{\"", "\"", "\":", "\": ", ",", ", \"", "\",\"", "a", "b", "c", "d", "e", "b1",
        "k", "l", "kl", "1", "7", "\"k\"", "}}", "\"}", "\":1", "1}", "id", "null", "[", "]",
    ];
    let mut builder = VocabularyBuilder::new();
    let bytes = (0u8..=255).map(|byte| vec![byte]);
    let texts = tokens.iter().map(|text| text.as_bytes().to_vec());
    for (id, text) in (0..).zip(bytes.chain(texts.filter(|text| text.len() > 1))) {
        builder.text(TokenId::new(id), &text).unwrap();
    }
    let vocabulary = builder.build().unwrap();
    let most = |most| Options::default().with_max_alternatives(most);
    let some = (0..20).map(|seed| (kept(&mut Chance(seed)), most(2)));
    let closed = |most| Options::for_generation().with_max_alternatives(most);
    let some_closed = (20..60).map(|seed| (kept(&mut Chance(seed)), closed(1)));
    let schemas = some.chain(some_closed).chain([
        (told_by_names(9), most(2_000)),
        (told_by_names(9), closed(2)),
        (either_or(3), closed(2)),
    ]);
    for (seed, (schema, options)) in schemas.enumerate() {
        let Ok(automaton) = SchemaAutomaton::new(&schema, &options) else {
            continue;
        };
        let effort = Effort {
            walks: 8,
            tokens: 30,
            seed: seed as u64,
        };
        check(&automaton, &vocabulary, &[], effort).unwrap_or_else(|e| panic!("{e}: {schema}"));
    }
}

const NAMES: &[&str] = &["a", "b", "c", "d", "e"];

fn leaf(c: &mut Chance) -> Value {
    match c.next(9) {
        0 => json!({"const": "k"}),
        1 => json!({"enum": ["k", "l", 1]}),
        2 => json!({"type": "string"}),
        3 => json!({"pattern": "^k"}),
        4 => json!({"type": ["integer", "null"]}),
        5 => json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
        6 => json!(c.one_in(2)),
        7 => json!({"type": "string", "minLength": 1, "pattern": "l$"}),
        _ => json!({"minimum": 2}),
    }
}

fn literals(c: &mut Chance) -> Value {
    let mut out = Map::new();
    if !c.one_in(3) {
        let properties: Map<String, Value> = (0..1 + c.next(2))
            .map(|_| ((*c.pick(NAMES)).to_owned(), leaf(c)))
            .collect();
        out.insert("properties".to_owned(), properties.into());
    }
    if !c.one_in(3) {
        let names: Vec<&str> = (0..1 + c.next(2)).map(|_| *c.pick(NAMES)).collect();
        let mut names: Vec<Value> = names.into_iter().map(Value::from).collect();
        names.dedup();
        out.insert("required".to_owned(), names.into());
    }
    if c.one_in(5) {
        out.insert("additionalProperties".to_owned(), json!(false));
    } else if c.one_in(12) {
        out.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    if c.one_in(8) {
        let (a, b) = (*c.pick(NAMES), *c.pick(NAMES));
        out.insert("dependentRequired".to_owned(), json!({ a: [b] }));
    }
    out.into()
}

fn combined(c: &mut Chance, depth: usize) -> Value {
    if depth == 0 || c.one_in(3) {
        return literals(c);
    }
    let some = |c: &mut Chance| -> Value {
        let count = 2 + c.next(3);
        (0..count).map(|_| combined(c, depth - 1)).collect()
    };
    match c.next(7) {
        0 => json!({"not": combined(c, depth - 1)}),
        1 => json!({"allOf": some(c)}),
        2 | 3 => json!({"anyOf": some(c)}),
        4 => json!({
            "if": combined(c, depth - 1),
            "then": combined(c, depth - 1),
            "else": combined(c, depth - 1),
        }),
        _ => json!({"oneOf": some(c)}),
    }
}

/// A schema of objects whose branches are conditions.
fn kept(c: &mut Chance) -> Value {
    let mut schema = json!({"type": "object", "allOf": [combined(c, 2), combined(c, 2)]});
    if c.one_in(2) {
        schema["properties"] = json!({"a": leaf(c), "c": leaf(c)});
    }
    if c.one_in(3) {
        schema["required"] = json!([c.pick(NAMES)]);
    }
    if c.one_in(4) {
        schema["maxProperties"] = json!(c.next(6));
    }
    match c.next(6) {
        0 => schema["additionalProperties"] = leaf(c),
        1 => schema["propertyNames"] = json!({"maxLength": 1}),
        2 => schema["minProperties"] = json!(1 + c.next(4)),
        3 => schema["dependentRequired"] = json!({ *c.pick(NAMES): [c.pick(NAMES)] }),
        _ => {}
    }
    if c.one_in(2) {
        name_by_pattern(&mut schema);
    }
    schema
}

/// Of closed objects some names are named by a pattern.
fn name_by_pattern(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(name_by_pattern);
            if map.get("additionalProperties") == Some(&json!(false)) {
                map.insert("patternProperties".to_owned(), json!({"^[em]": true}));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(name_by_pattern),
        _ => {}
    }
}

fn some_value(c: &mut Chance) -> Value {
    match c.next(8) {
        0 => json!("k"),
        1 => json!("l"),
        2 => json!("kl"),
        3 => json!(1),
        4 => json!(7),
        5 => json!(null),
        6 => json!({"a": 1}),
        _ => json!({"a": "k"}),
    }
}

fn some_object(c: &mut Chance) -> Value {
    let count = c.next(6);
    let members = (0..count).map(|_| {
        let name = match c.one_in(12) {
            true => "more",
            false => *c.pick(NAMES),
        };
        (name.to_owned(), some_value(c))
    });
    Value::Object(members.collect())
}

/// Walks at random, a token's worth of bytes at a time, and finishes: what comes out.
fn finished(automaton: &SchemaAutomaton, c: &mut Chance) -> (String, String) {
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let mut text: Vec<u8> = Vec::new();
    for _ in 0..c.next(40) {
        let cursor = automaton.enter(&state, &mut x);
        let bytes = b"{}:,\"abcdekl17n{\"";
        let mut allowed: Vec<u8> = Vec::new();
        for byte in bytes {
            if !automaton.step(cursor, *byte, &mut x).is_dead() {
                allowed.push(*byte);
            }
        }
        if allowed.is_empty() {
            break;
        }
        let byte = *c.pick(&allowed);
        text.push(byte);
        let gone = automaton.advance(&mut state, &[byte], &mut x);
        assert!(gone.is_ok(), "{}", String::from_utf8_lossy(&text));
    }
    let begun = String::from_utf8_lossy(&text).into_owned();
    let completed = automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut text);
    assert!(completed.is_some(), "a dead end: {begun}");
    (begun, String::from_utf8(text).unwrap())
}

/// Compares what a schema accepts with what is made of it where only so many alternatives are
/// told apart; `false` where that is refused.
fn compared(
    schema: &Value,
    most: usize,
    c: &mut Chance,
    value: fn(&Value, &mut Chance) -> Value,
) -> bool {
    let options = Options::default()
        .with_property_order(PropertyOrder::Any)
        .with_max_alternatives(most);
    let Ok(read) = parse(schema) else {
        return false;
    };
    let automaton = match SchemaAutomaton::compile(read.clone(), &options) {
        Ok(automaton) => automaton,
        Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
            for _ in 0..60 {
                let value = value(schema, c);
                let valid = read.is_valid(&value, &options);
                assert!(!matches!(valid, Ok(true)), "{schema} has {value}");
            }
            return true;
        }
        Err(_) => return false,
    };
    for _ in 0..60 {
        let value = value(schema, c);
        if let Ok(valid) = read.is_valid(&value, &options) {
            let text = value.to_string();
            assert_eq!(
                automaton.is_match(text.as_bytes()),
                valid,
                "{schema} of {text}"
            );
        }
    }
    for _ in 0..12 {
        let (begun, text) = finished(&automaton, c);
        // Longer numbers would be rounded.
        let mut runs = text.split(|c: char| !"0123456789.eE+-".contains(c));
        if runs.any(|run| run.len() > 9 || run.contains("1e") || run.contains("7e")) {
            continue;
        }
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        if let Ok(valid) = read.is_valid(&value, &options) {
            assert!(valid, "{schema} does not have {text}, begun as {begun}");
        }
    }
    true
}

#[test]
fn conditions_say_what_the_schema_says() {
    let (mut runner, cases) = schemas::runner(600);
    let count = std::cell::Cell::new(0);
    let value = |_: &Value, c: &mut Chance| some_object(c);
    runner
        .run(&any::<u64>(), |seed| {
            let mut c = Chance(seed);
            let schema = kept(&mut c);
            count.set(count.get() + u32::from(compared(&schema, 2 + c.next(3), &mut c, value)));
            Ok(())
        })
        .unwrap();
    assert!(count.get() > cases * 3 / 4, "{} of {cases}", count.get());
}

/// Integers are spelt without a fraction.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, plain(v))).collect(),
        Value::Number(n) => match n.as_f64() {
            Some(f) if f.fract() == 0.0 => json!(f as i64),
            _ => Value::Number(n),
        },
        other => other,
    }
}

/// Of any keywords: with few alternatives, what is not refused is what the schema says.
#[test]
fn conditions_keep_to_what_they_can_say() {
    let (mut runner, _) = schemas::runner(300);
    runner
        .run(&(schemas::schema(), any::<u64>()), |(schema, seed)| {
            let mut c = Chance(seed);
            compared(&schema, 2, &mut c, |schema, c| {
                plain(schemas::near(schema, schema, c, 4))
            });
            Ok(())
        })
        .unwrap();
}

/// Eleven times one of two names.
fn either_or(count: usize) -> Value {
    let name = |n: usize| format!("a{n}");
    let either =
        |n: usize| json!({"oneOf": [{"required": [name(2 * n)]}, {"required": [name(2 * n + 1)]}]});
    let properties = (0..2 * count).map(|n| (name(n), json!({"type": "integer"})));
    json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "allOf": (0..count).map(either).collect::<Value>(),
    })
}

/// Some members with the value 1, in order.
fn members(names: impl IntoIterator<Item = String>) -> String {
    let members: Vec<String> = names
        .into_iter()
        .map(|name| format!("\"{name}\": 1"))
        .collect();
    format!("{{{}}}", members.join(", "))
}

#[test]
fn closed_objects_keep_conditions_and_their_order() {
    for (count, places) in [(11, 22), (100, 200)] {
        let schema = either_or(count);
        let automaton = SchemaAutomaton::new(&schema, &Options::for_generation()).unwrap();
        let even = (0..places).step_by(2);
        let all = |more: &[&str]| {
            let names = even.clone().map(|n| format!("a{n}"));
            members(names.chain(more.iter().map(|name| (*name).to_owned())))
        };
        let turned = members(even.clone().rev().map(|n| format!("a{n}")));
        let but_one = members(even.clone().skip(1).map(|n| format!("a{n}")));
        says(
            &automaton,
            &[&all(&[])],
            &["{}", &turned, &but_one, &all(&["a21"]), &all(&["b"])],
        );
        let any = Options::for_generation().with_property_order(PropertyOrder::Any);
        let any = SchemaAutomaton::new(&schema, &any).unwrap();
        says(&any, &[&all(&[]), &turned], &[&but_one, &all(&["b"])]);
        // With the option, or as the schema says it.
        let mut closed = schema;
        closed["additionalProperties"] = json!(false);
        says(&compiled(&closed), &[&all(&[])], &[&turned, &but_one]);
    }
}

#[test]
fn a_branch_declares_names_where_it_is_followed() {
    let branch = |n: usize| {
        json!({"properties": {format!("b{n}"): {"type": "integer"}, format!("c{n}"): {"type": "string"}},
            "required": [format!("b{n}")]})
    };
    for one in ["oneOf", "anyOf"] {
        let schema = json!({
            "type": "object",
            "properties": {"id": {"type": "string"}},
            one: (0..40).map(branch).collect::<Value>(),
            "allOf": [{"anyOf": (0..40).map(|n| json!({"properties": {"id": {"const": n.to_string()}}})).collect::<Value>()}],
        });
        let closed = Options::for_generation().with_max_alternatives(50);
        let automaton = SchemaAutomaton::new(&schema, &closed).unwrap();
        says(
            &automaton,
            &[
                r#"{"id": "1", "b0": 1}"#,
                r#"{"b0": 1, "c0": "x"}"#,
                r#"{"b39": 1, "c39": ""}"#,
            ],
            &[
                r#"{"id": "x", "b0": 1}"#,
                r#"{"c0": "x", "b0": 1}"#,
                r#"{"b0": 1, "c1": "x"}"#,
                r#"{"b0": 1, "more": 1}"#,
                r#"{"id": "1"}"#,
                r#"{"b0": 1, "b1": 1}"#,
            ],
        );
    }
}

/// What one way to follow a schema's branches says of an object's members.
#[derive(Clone, Default)]
struct Followed {
    names: BTreeSet<String>,
    lists: bool,
    speaks_of_others: bool,
}

fn is_valid(schema: &Value, value: &Value) -> Option<bool> {
    parse(schema)
        .ok()?
        .is_valid(value, &Options::default())
        .ok()
}

/// All ways to follow the branches that hold of a value; `None` where that is not known.
fn followed(schema: &Value, value: &Value) -> Option<Vec<Followed>> {
    let mut ways = vec![Followed::default()];
    let mut beside = |more: Vec<Followed>| {
        let met = |a: &Followed, b: &Followed| Followed {
            names: a.names.union(&b.names).cloned().collect(),
            lists: a.lists || b.lists,
            speaks_of_others: a.speaks_of_others || b.speaks_of_others,
        };
        let all = ways.iter().flat_map(|a| more.iter().map(|b| met(a, b)));
        ways = all.collect();
    };
    let strings = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for (keyword, said) in schema.as_object()? {
        let mut own = Followed::default();
        match keyword.as_str() {
            "properties" => {
                own.names.extend(said.as_object()?.keys().cloned());
                own.lists = true;
            }
            "required" => own.names.extend(strings(said)),
            "additionalProperties" | "unevaluatedProperties" => own.speaks_of_others = true,
            "allOf" => {
                for part in said.as_array()? {
                    beside(followed(part, value)?);
                }
            }
            "anyOf" | "oneOf" => {
                let mut some = Vec::new();
                for branch in said.as_array()? {
                    if is_valid(branch, value)? {
                        some.extend(followed(branch, value)?);
                    }
                }
                beside(some);
            }
            "if" => match is_valid(said, value)? {
                true => {
                    beside(followed(said, value)?);
                    beside(followed(&schema["then"], value)?);
                }
                false => beside(followed(&schema["else"], value)?),
            },
            _ => {}
        }
        beside(vec![own]);
    }
    Some(ways)
}

/// Says whether an object is one of a schema, closed as the options document it.
fn is_closed(schema: &Value, value: &Value) -> Option<bool> {
    let object = value.as_object()?;
    let ways = followed(schema, value)?;
    let is_declared = ways.iter().any(|way| {
        way.speaks_of_others || !way.lists || object.keys().all(|name| way.names.contains(name))
    });
    Some(is_declared && is_valid(schema, value)?)
}

fn orders(value: &Value) -> Vec<Value> {
    let members: Vec<(&String, &Value)> = value.as_object().into_iter().flatten().collect();
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for at in 0..members.len() {
        let places = all.iter().flat_map(|order| {
            (0..=order.len()).map(move |place| {
                let mut order = order.clone();
                order.insert(place, at);
                order
            })
        });
        all = places.collect();
    }
    let object = |order: Vec<usize>| {
        let members = order.into_iter().map(|at| members[at]);
        Value::Object(
            members
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    };
    all.into_iter().map(object).collect()
}

/// Compares a closed schema with what its branches declare, where no more than so many
/// alternatives are told apart; `false` where that is refused.
fn compared_closed(schema: &Value, most: usize, c: &mut Chance) -> bool {
    let options = Options::for_generation()
        .with_property_order(PropertyOrder::Any)
        .with_max_alternatives(most);
    let in_order = options.clone().with_property_order(PropertyOrder::Schema);
    let Ok(automaton) = SchemaAutomaton::new(schema, &options) else {
        return false;
    };
    let in_order = SchemaAutomaton::new(schema, &in_order).unwrap();
    let mut shortest = Vec::new();
    automaton.completion(&automaton.start(), fsm_index::MAX_COMPLETION, &mut shortest);
    let shortest: Value = serde_json::from_slice(&shortest).unwrap();
    // Where nothing is left nothing is closed.
    let is_open = is_closed(schema, &shortest) == Some(false);
    for _ in 0..40 {
        let value = some_object(c);
        let Some(closed) = is_closed(schema, &value) else {
            continue;
        };
        let text = value.to_string();
        let is_match = automaton.is_match(text.as_bytes());
        // Of alternatives that were told apart some have names that only a complement needs.
        if most > 1 || is_open {
            assert!(is_match || !closed, "{schema} of {text}");
            assert!(!is_match || is_valid(schema, &value) != Some(false));
            continue;
        }
        assert_eq!(is_match, closed, "{schema} of {text}");
        let mut taken = orders(&value);
        taken.retain(|value| in_order.is_match(value.to_string().as_bytes()));
        assert_eq!(!taken.is_empty(), closed, "{schema} of {text} in order");
    }
    true
}

#[test]
fn closed_conditions_say_what_the_closed_schema_says() {
    let (mut runner, cases) = schemas::runner(600);
    let count = std::cell::Cell::new([0, 0]);
    runner
        .run(&any::<u64>(), |seed| {
            let mut c = Chance(seed);
            for most in [1, 1, 1, 2, 3] {
                let mut schema = kept(&mut c);
                // It says whether an alternative is closed at all.
                schema.as_object_mut().unwrap().remove("minProperties");
                // Of names that are settled anyway it says nothing.
                if schema.to_string().contains("dependentRequired") {
                    continue;
                }
                let is_compared = compared_closed(&schema, most, &mut c);
                let mut counts = count.get();
                counts[usize::from(most > 1)] += u32::from(is_compared);
                count.set(counts);
            }
            Ok(())
        })
        .unwrap();
    assert!(count.get().iter().all(|n| *n > cases / 6), "{count:?}");
}
