//! Alternatives of objects that would multiply are kept as conditions: what they accept is what
//! the schema says, and whatever was begun can be finished.

use fsm_index::contract::{Effort, check};
use fsm_index::{ByteAutomaton as _, TokenId, VocabularyBuilder};
use proptest::prelude::*;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{ErrorKind, Options, PropertyOrder, parse};
use serde_json::{Map, Value, json};

#[path = "common/schemas.rs"]
mod schemas;

use schemas::Chance;

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
    let schemas = some.chain([(told_by_names(9), most(2_000))]);
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
    schema
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
    let ends = automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut text);
    assert!(ends, "a dead end: {begun}");
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
