//! The schema automaton: its contract, random walks that must be able to end
//! in a value that validates, and random schemas against another validator.

use std::cell::RefCell;

use fsm_index::contract::{Effort, check};
use fsm_index::{ByteAutomaton as _, Overlay as _, TokenId, Vocabulary, VocabularyBuilder};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::ledger::General;
use schema_regex::{ErrorKind, Escapes, IntegerSpelling, Options, PropertyOrder, Whitespace};
use serde_json::{Value, json};

use crate::common::schemas::{self, Chance};

/// Schemas that between them use every keyword.
fn corpus() -> Vec<Value> {
    vec![
        json!({}),
        json!({"type": ["null", "boolean", "integer"]}),
        json!({"enum": ["a", "ab", 1, 1.5, null, [1, "x"], {"k": [], "l": 2}]}),
        json!({"type": "integer", "minimum": -12, "exclusiveMaximum": 250}),
        json!({"type": "number", "multipleOf": 0.25, "minimum": 0}),
        json!({"type": "integer", "not": {"multipleOf": 3}, "minimum": 1, "maximum": 40}),
        json!({"type": "string", "minLength": 2, "maxLength": 5}),
        json!({"type": "string", "pattern": "^[a-z]+-[0-9]{2}$", "maxLength": 6}),
        json!({"type": "string", "not": {"enum": ["a", "b", ""]}, "maxLength": 1}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "pattern": "é+\u{1F600}?"}),
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}),
        json!({"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": false}),
        json!({"type": "array", "items": {"enum": [1, 2, 3]}, "contains": {"const": 2}, "minContains": 2, "maxContains": 2, "maxItems": 4}),
        json!({"type": "array", "contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}),
        json!({"type": "array", "items": {"type": "boolean"}, "not": {"contains": {"const": true}}}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "boolean"}}),
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id", "x"]}),
        json!({"type": "object", "patternProperties": {"^[ab]$": {"type": "integer"}}, "additionalProperties": false, "minProperties": 2}),
        json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "propertyNames": {"enum": ["x", "y", "z"]}, "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "propertyNames": {"maxLength": 1, "pattern": "^[ab]"}, "minProperties": 2, "additionalProperties": {"type": "null"}}),
        json!({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "dependentRequired": {"a": ["b"], "c": ["a"]}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": {"type": "integer"}}}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
            "oneOf": [{"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]}, {"properties": {"kind": {"const": "b"}, "y": {"type": "string"}}}],
            "unevaluatedProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"required": ["a", "b"]}}),
        json!({"type": "object", "not": {"additionalProperties": {"type": "integer"}}}),
        json!({"not": {"properties": {"a": false}}, "required": ["b"]}),
        json!({"type": "object", "not": {"propertyNames": {"minLength": 2}}}),
        json!({"type": "object", "if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"b": false}}}),
        json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}),
        json!({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"], "additionalProperties": false}),
        json!({"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "minimum": 10, "maximum": 20}]}),
        json!({"allOf": [{"properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"type": "integer"}}, "required": ["a"]}], "additionalProperties": {"minimum": 4}, "type": "object"}),
        json!({"type": "array", "uniqueItems": true, "items": {"enum": [1, "a", "b"]}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "integer", "minimum": 0, "maximum": 3}, "minItems": 2}),
        // Strings of several goals that ask the same, or something else at their ends.
        json!({"anyOf": [
            {"type": "object", "properties": {"c": {"type": "string", "pattern": "^\\w{2}-\\d$"}, "a": {}}, "required": ["a"]},
            {"type": "object", "properties": {"c": {"type": "string", "pattern": "^\\w{2}-\\d$"}, "b": {}}, "required": ["b"]}]}),
        json!({"anyOf": [
            {"type": "object", "properties": {"c": {"type": "string", "pattern": "^\\w{2}-\\d$", "maxLength": 4}, "a": {}}, "required": ["a"]},
            {"type": "object", "properties": {"c": {"type": "string", "pattern": "^\\w{2}-\\d$"}, "b": {}}, "required": ["b"]}]}),
    ]
}

/// Tokens that end a name and go on with its value.
const DEEP: &[&str] = &["{\"a\":", "\",\"a\":", "1,\"b\":"];
/// Tokens that reach no further than into a name.
const SHALLOW: &[&str] = &[
    "\"],[\"", "\"},{\"", "},{\"", "],\"", "[{\"", ",\"c", "{\"c", "\",\"\"", "{}}", "{},", "{}]",
    "[],", "]],[[", "1],", "]}]", "\"}]", "1},\"",
];

/// All bytes, and longer tokens that cut JSON at unlucky places; `more` of them.
fn vocabulary(more: &[&str]) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut id = 0;
    let mut add = |bytes: &[u8]| {
        builder.text(TokenId::new(id), bytes).unwrap();
        id += 1;
    };
    for byte in 0..=255u8 {
        add(&[byte]);
    }
    for text in [
        "\"a\"",
        "\"b\"",
        "a\"",
        "b\":",
        "\":",
        "\",\"",
        "\", \"",
        "\":1",
        "{\"",
        "\"}",
        "]}",
        "}}",
        "}]",
        "[[",
        "],[",
        "true",
        "false",
        "null",
        "ab",
        "abc",
        "aaaa",
        "\\u00",
        "\\ud83d\\ude00",
        "é",
        "😀",
        "1,",
        "12",
        "1}",
        "0.",
        ".5",
        "e1",
        "-1",
        "\"x\":{",
        "\"kind\"",
        "id",
        "\"\"",
        "-0",
        "2]",
        "[1",
        " \"",
        ": ",
        ", ",
        "\\n",
        "\\\"",
        "x\",",
        "1,2",
        "k\":\"",
        "2023-02-",
        "-28",
    ] {
        add(text.as_bytes());
    }
    more.iter().for_each(|text| add(text.as_bytes()));
    builder.text(TokenId::new(id), [0xF0, 0x9F]).unwrap();
    builder
        .text(TokenId::new(id + 1), [0x98, 0x80, b'"'])
        .unwrap();
    builder.end(TokenId::new(id + 2)).unwrap();
    builder.build().unwrap()
}

fn orders() -> [Options; 2] {
    [
        Options::default(),
        Options::default()
            .with_property_order(PropertyOrder::Any)
            .with_whitespace(Whitespace::Compact),
    ]
}

#[test]
fn the_contract_holds() {
    let both = [DEEP, SHALLOW].map(vocabulary);
    for vocabulary in both.into_iter().chain([long(&[]), long(&[64, 65])]) {
        for (i, schema) in corpus().iter().chain(&alike()).enumerate() {
            for (j, options) in orders().iter().enumerate() {
                let automaton = SchemaAutomaton::new(schema, options)
                    .unwrap_or_else(|e| panic!("{schema}: {e}"));
                let effort = Effort {
                    walks: 4,
                    tokens: 25,
                    seed: (7 * i + j) as u64 + 1,
                };
                check(&automaton, &vocabulary, &[], effort)
                    .unwrap_or_else(|e| panic!("{schema}: {e}"));
            }
        }
    }
}

/// Schemas that tokens can hardly tell apart, each from the ones before.
fn alike() -> Vec<Value> {
    let leaf = json!({"type": "string"});
    let closed = |names: &[&str], required: &[&str]| {
        let properties: serde_json::Map<String, Value> = names
            .iter()
            .map(|n| ((*n).to_owned(), leaf.clone()))
            .collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let items = |items: &Value, min: u32| json!({"type": "array", "items": items, "minItems": min});
    let objects = [
        closed(&["a", "b"], &[]),
        closed(&["b", "ab"], &[]),
        closed(&["a", "b"], &["a"]),
        closed(&["a", "b"], &["b"]),
        closed(&["a", "c"], &["a"]),
        closed(&["a", "ca"], &["ca"]),
        closed(&["a", ""], &["a"]),
        closed(&[], &[]),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "properties": {"c": {"type": "string"}}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2}),
        json!({"type": "object", "patternProperties": {"^[ab]": {"type": "string"}}, "additionalProperties": false}),
        json!({"type": "object", "patternProperties": {"^[bc]": {"type": "string"}}, "additionalProperties": false}),
    ];
    let mut all: Vec<Value> = Vec::new();
    for object in &objects {
        all.push(object.clone());
        all.push(json!({"type": "object", "properties": {"x": object, "y": object}, "required": ["y"], "additionalProperties": false}));
        all.push(items(object, 0));
        all.push(items(object, 2));
        all.push(json!({"anyOf": [items(object, 0), items(&json!({"type": "integer"}), 0)]}));
    }
    all.push(items(&leaf, 0));
    all.push(items(&leaf, 1));
    all.push(items(&leaf, 2));
    all.push(json!({"type": "array", "items": &leaf, "maxItems": 2}));
    all.push(json!({"type": "array", "items": &leaf, "uniqueItems": true}));
    all.push(json!({"type": "array", "items": items(&leaf, 0)}));
    all.push(json!({"type": "array", "items": items(&leaf, 1)}));
    all.push(json!({"type": "array", "items": items(&objects[0], 0), "uniqueItems": true}));
    // As long as the longest tokens of a vocabulary, and longer.
    for bound in [1, 2, 63, 64, 65, 66, 67, 100] {
        all.push(json!({"type": "string", "maxLength": bound}));
        all.push(json!({"type": "string", "minLength": bound}));
        all.push(json!({"type": "string", "minLength": bound, "maxLength": bound + 1}));
    }
    all.push(leaf);
    all
}

/// The longest text behind a quotation mark by which bounds of strings are told apart: as
/// far as all tokens of `long` reach, and two that are longer.
fn long(more: &[usize]) -> Vocabulary {
    let texts = [1, 62, 63].iter().chain(more);
    let texts = texts.flat_map(|&n| ["", "\""].map(|end| format!("\"{}{end}", "a".repeat(n))));
    let texts: Vec<String> = texts
        .filter(|text| !more.is_empty() || text.len() <= 64)
        .collect();
    vocabulary(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn masks_of_random_schemas_are_those_of_brute_force() {
    // Schemas share what they have in common by way of the vocabulary.
    let vocabularies = [DEEP, SHALLOW].map(vocabulary);
    let (mut runner, _) = schemas::runner(100);
    let result = runner.run(&(schemas::schema(), any::<u64>()), |(schema, seed)| {
        for options in &orders() {
            let Ok(automaton) = SchemaAutomaton::new(&schema, options) else {
                continue;
            };
            let effort = Effort {
                walks: 3,
                tokens: 20,
                seed,
            };
            for vocabulary in &vocabularies {
                if let Err(e) = check(&automaton, vocabulary, &[], effort) {
                    prop_assert!(false, "{schema}: {e}");
                }
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .ok()
}

/// Random bytes that may come, then the completion: the text must validate.
fn walk(schema: &Value, automaton: &SchemaAutomaton, validator: &jsonschema::Validator, seed: u64) {
    let mut chance = Chance(seed);
    let mut x = automaton.scratch();
    let mut state = automaton.start();
    let mut text: Vec<u8> = Vec::new();
    for _ in 0..chance.next(60) {
        let cursor = automaton.enter(&state, &mut x);
        let mut allowed: Vec<u8> = (0..=255u8)
            .filter(|b| !automaton.step(cursor, *b, &mut x).is_dead())
            .collect();
        // What may not come because of what was said before, `advance` tells.
        let mut excepted = false;
        automaton.exceptions(&state, &mut |_, _| excepted = true);
        allowed
            .retain(|b| !excepted || automaton.advance(&mut state.clone(), &[*b], &mut x).is_ok());
        assert!(
            !allowed.is_empty() || automaton.is_accepting(&state),
            "{schema}: a dead end after {}",
            String::from_utf8_lossy(&text)
        );
        if allowed.is_empty() {
            break;
        }
        // Structure is met more often than by chance.
        let structure: Vec<u8> = allowed
            .iter()
            .copied()
            .filter(|b| b"\",:]}[{0123ab".contains(b))
            .collect();
        let byte = if structure.is_empty() || chance.one_in(4) {
            *chance.pick(&allowed)
        } else {
            *chance.pick(&structure)
        };
        text.push(byte);
        automaton
            .advance(&mut state, &[byte], &mut x)
            .unwrap_or_else(|_| panic!("{schema}: {}", String::from_utf8_lossy(&text)));
    }
    let mut rest = Vec::new();
    automaton.completion(&state, fsm_index::MAX_COMPLETION, &mut rest);
    let begun = String::from_utf8_lossy(&text).into_owned();
    text.extend_from_slice(&rest);
    let shown = String::from_utf8_lossy(&text).into_owned();
    assert!(
        automaton.advance(&mut state, &rest, &mut x).is_ok() && automaton.is_accepting(&state),
        "{schema}: after {begun} the completion gives {shown}"
    );
    let value: Value = match serde_json::from_slice(&text) {
        Ok(value) => value,
        // Numbers that no f64 holds are JSON all the same.
        Err(e) if e.to_string().contains("number out of range") => return,
        Err(e) => panic!("{schema}: {shown}: {e}"),
    };
    // The other validator computes with f64.
    let digits = shown.split(|c: char| !c.is_ascii_digit() && c != '.');
    if digits.map(str::len).max() > Some(12) {
        return;
    }
    assert!(
        validator.is_valid(&value),
        "{schema}: {shown} does not validate"
    );
}

#[test]
fn walks_end_in_values_that_validate() {
    for (i, schema) in corpus().iter().enumerate() {
        let validator = validator(schema).unwrap();
        for options in &orders() {
            let automaton =
                SchemaAutomaton::new(schema, options).unwrap_or_else(|e| panic!("{schema}: {e}"));
            for seed in 0..40 {
                walk(schema, &automaton, &validator, 1000 * i as u64 + seed);
            }
        }
    }
}

fn keywords(schema: &Value, hits: &mut std::collections::BTreeMap<String, usize>) {
    match schema {
        Value::Object(map) => {
            for (k, v) in map {
                *hits.entry(k.clone()).or_default() += 1;
                keywords(v, hits);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| keywords(v, hits)),
        _ => {}
    }
}

/// Whether a location below the root is under `not`, `oneOf` or `if`.
fn complements(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            ["not", "oneOf", "if"].iter().any(|k| map.contains_key(*k))
                || map.values().any(complements)
        }
        Value::Array(items) => items.iter().any(complements),
        _ => false,
    }
}

/// What the random schemas were like.
#[derive(Default)]
struct Figures {
    hits: std::collections::BTreeMap<String, usize>,
    schemas: usize,
    complements: usize,
    values: usize,
    valid: usize,
    refused: usize,
    empty: usize,
    reasons: std::collections::BTreeMap<String, usize>,
}

#[test]
fn random_schemas_agree_with_another_validator() {
    let options = Options::default()
        .with_property_order(PropertyOrder::Any)
        .with_integers(IntegerSpelling::ZeroFraction)
        .with_whitespace(Whitespace::Compact);
    let figures = RefCell::new(Figures::default());
    let (mut runner, cases) = schemas::runner(2500);
    let result = runner.run(&(schemas::schema(), any::<u64>()), |(schema, seed)| {
        let f = &mut *figures.borrow_mut();
        let Some(validator) = validator(&schema) else {
            return Err(TestCaseError::reject("the other validator refuses it"));
        };
        let shown = schema.to_string();
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{seed} {shown}");
        }
        let automaton = match SchemaAutomaton::new(&schema, &options) {
            Ok(automaton) => Some(automaton),
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                f.empty += 1;
                None
            }
            Err(e) => {
                f.refused += 1;
                *f.reasons.entry(e.message().to_owned()).or_default() += 1;
                return Ok(());
            }
        };
        f.schemas += 1;
        f.complements += usize::from(complements(&schema));
        keywords(&schema, &mut f.hits);
        let mut c = Chance(seed);
        for _ in 0..20 {
            let value = schemas::near(&schema, &schema, &mut c, 4);
            let text = serde_json::to_string(&value).unwrap();
            let expected = validator.is_valid(&value);
            let found = automaton
                .as_ref()
                .is_some_and(|a| a.is_match(text.as_bytes()));
            prop_assert_eq!(found, expected, "{} on {}", schema, text);
            f.values += 1;
            f.valid += usize::from(expected);
        }
        if let Some(automaton) = &automaton {
            for n in 0..2 {
                walk(&schema, automaton, &validator, seed.wrapping_add(n));
            }
        }
        Ok(())
    });
    let f = figures.into_inner();
    println!(
        "{} schemas, {} of them with not, oneOf or if; {} of {} values valid; {} refused, {} empty",
        f.schemas, f.complements, f.valid, f.values, f.refused, f.empty
    );
    println!("{:?}\n{:#?}", f.hits, f.reasons);
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(f.valid * 5 > f.values && f.valid * 5 < f.values * 4);
    assert!(f.complements * 10 >= f.schemas * 3);
    assert!(f.refused * 20 < cases as usize);
    if cases >= 2500 {
        for keyword in schema_regex::ledger::KEYWORDS {
            let name = keyword.name;
            let enforced = matches!(keyword.general, General::Enforced | General::EnforcedWhere);
            // The official suite and the corpus have these.
            let elsewhere = ["$dynamicRef", "$recursiveRef"].contains(&name);
            if enforced && !elsewhere {
                let hits = f.hits.get(name).copied().unwrap_or(0);
                assert!(hits >= 50, "{name}: {hits} hits");
            }
        }
    }
}

/// Where no more names than those that were used go on behind a character, it is refused in
/// each of its spellings: a name that must be written with an escape, say.
#[test]
fn names_that_were_used_are_refused_in_any_spelling() {
    let schema = json!({"propertyNames": {"maxLength": 1}});
    for options in orders() {
        let automaton = SchemaAutomaton::new(&schema, &options).unwrap();
        for vocabulary in [DEEP, SHALLOW].map(vocabulary) {
            let effort = Effort {
                walks: 3,
                tokens: 3,
                seed: 3,
            };
            let names = [r#"{"\"":[],""#, r#"{"\\":0,"\"":1,""#, r#"{"é":0,""#];
            check(&automaton, &vocabulary, &names, effort).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// Texts beside a run of characters, shorter and longer than the run: tokens that are too long
/// for the run may come if another text has them.
#[test]
fn runs_beside_other_texts_end_where_all_do() {
    let text = |c: Value, last: &str| json!({"type": "object", "properties": {"c": c, last: {}}, "required": ["c", last]});
    let run = json!({"type": "string", "pattern": "^[a-z]{4}-"});
    let tokens = [
        "ab", "abc", "abcd", "abcde", "bcdefg", "abcdefgh", "ab\"", "e\"",
    ];
    let vocabulary = vocabulary(&tokens);
    for other in [
        json!({"enum": [""]}),
        json!({"enum": ["ab", "é"]}),
        json!({"enum": ["abcdefgh"]}),
        json!({"enum": ["", "abcde"]}),
        json!({"type": "string", "pattern": "^$"}),
        json!({"type": "string", "pattern": "^(ab|e)$"}),
        json!({"type": "string", "pattern": "^[a-e]{0,6}$"}),
    ] {
        let schema = json!({"anyOf": [text(run.clone(), "a"), text(other, "b")]});
        for options in orders() {
            let automaton = SchemaAutomaton::new(&schema, &options).unwrap();
            let effort = Effort {
                walks: 6,
                tokens: 4,
                seed: 9,
            };
            let beginnings = [r#"{"c":""#, r#"{"c":"a"#, r#"{"c":"ab"#];
            check(&automaton, &vocabulary, &beginnings, effort)
                .unwrap_or_else(|e| panic!("{schema}: {e}"));
        }
    }
}

#[test]
fn names_are_written_plainly_beside_values_that_are_not() {
    let options = Options::default().with_escapes(Escapes::AllInValues);
    for schema in [
        json!({"properties": {"tags": {}, "é\"": {}}, "additionalProperties": false}),
        json!({"additionalProperties": {"type": ["string", "integer"]}}),
        json!({"patternProperties": {"^[a-z]+$|é": {}}, "additionalProperties": false}),
        json!({"propertyNames": {"minLength": 2}}),
    ] {
        let automaton = SchemaAutomaton::new(&schema, &options).unwrap();
        for (text, holds) in [
            (r#"{"tags": "\u0061\/"}"#, true),
            (r#"{"t\u0061gs": 1}"#, false),
            (r#"{"tag\u0073": 1}"#, false),
            (r#"{"\u00e9\"": 1}"#, true),
            (r#"{"é\u0022": 1}"#, false),
        ] {
            assert_eq!(
                automaton.is_match(text.as_bytes()),
                holds,
                "{schema} {text}"
            );
        }
        check(
            &automaton,
            &vocabulary(&["\\u0061", "tag", "\": \"\\u"]),
            &[],
            Effort::default(),
        )
        .unwrap_or_else(|e| panic!("{schema}: {e}"));
    }
}
