//! The schema automaton: its contract, random walks that must be able to end
//! in a value that validates, and random schemas against another validator.

use fsm_index::contract::{Effort, check};
use fsm_index::{ByteAutomaton as _, TokenId, Vocabulary, VocabularyBuilder};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{ErrorKind, IntegerSpelling, Options, PropertyOrder, Whitespace};
use serde_json::{Map, Value, json};

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
        json!({"type": "object", "not": {"propertyNames": {"minLength": 2}}}),
        json!({"type": "object", "if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"b": false}}}),
        json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}),
        json!({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"], "additionalProperties": false}),
        json!({"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "minimum": 10, "maximum": 20}]}),
        json!({"allOf": [{"properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"type": "integer"}}, "required": ["a"]}], "additionalProperties": {"minimum": 4}, "type": "object"}),
        json!({"type": "array", "uniqueItems": true, "items": {"enum": [1, "a", "b"]}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "integer", "minimum": 0, "maximum": 3}, "minItems": 2}),
    ]
}

/// All bytes, and longer tokens that cut JSON at unlucky places.
fn vocabulary() -> Vocabulary {
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
        "{\"a\":",
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
        "\",\"a\":",
        "1,\"b\":",
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
            .property_order(PropertyOrder::Any)
            .whitespace(Whitespace::Compact),
    ]
}

#[test]
fn the_contract_holds() {
    let vocabulary = vocabulary();
    for (i, schema) in corpus().iter().enumerate() {
        for (j, options) in orders().iter().enumerate() {
            let automaton =
                SchemaAutomaton::new(schema, options).unwrap_or_else(|e| panic!("{schema}: {e}"));
            let effort = Effort {
                walks: 4,
                tokens: 25,
                seed: (7 * i + j) as u64 + 1,
            };
            check(&automaton, &vocabulary, &[], effort).unwrap_or_else(|e| panic!("{schema}: {e}"));
        }
    }
}

/// A small generator, so that a failure names its seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % below.max(1)
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.next(from.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.next(n) == 0
    }
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::draft202012::options()
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
        let allowed: Vec<u8> = (0..=255u8)
            .filter(|b| !automaton.step(cursor, *b, &mut x).is_dead())
            .collect();
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
    automaton.completion(&state, &mut rest);
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

const NAMES: &[&str] = &["a", "b", "c", "ab"];

/// A random schema; `used` counts the keywords.
fn schema(c: &mut Chance, depth: usize) -> Value {
    if depth == 0 || c.one_in(12) {
        return match c.next(8) {
            0 => json!(true),
            1 => json!(false),
            2 => json!({"type": "string"}),
            3 => json!({"type": "integer"}),
            4 => json!({"const": value(c, 1)}),
            5 => json!({"enum": [value(c, 0), value(c, 0), value(c, 1)]}),
            6 => json!({"type": "object"}),
            _ => json!({"type": "array"}),
        };
    }
    let mut out = Map::new();
    for _ in 0..1 + c.next(3) {
        let d = depth - 1;
        let n = c.next(3);
        let (key, what): (&str, Value) = match c.next(34) {
            0 | 1 => (
                "type",
                json!(c.pick(&["object", "array", "string", "integer", "number"])),
            ),
            2 => ("enum", json!([value(c, 1), value(c, 1), value(c, 2)])),
            3 => ("const", value(c, 2)),
            4 => ("minimum", json!(c.next(5) as i64 - 2)),
            5 => ("exclusiveMaximum", json!(c.next(6) as i64 - 1)),
            6 => (
                "multipleOf",
                json!(c.pick(&[json!(2), json!(0.5), json!(3)])),
            ),
            7 => ("minLength", json!(n)),
            8 => ("maxLength", json!(n)),
            9 => ("pattern", json!(c.pick(&["^a", "b$", "^[ab]+$", "a.b"]))),
            10 => ("items", schema(c, d)),
            11 => ("prefixItems", json!([schema(c, d), schema(c, d)])),
            12 => ("minItems", json!(n)),
            13 => ("maxItems", json!(n)),
            14 => {
                out.insert("minContains".into(), json!(n));
                if c.one_in(2) {
                    out.insert("maxContains".into(), json!(n + c.next(2)));
                }
                ("contains", schema(c, d))
            }
            15 => ("unevaluatedItems", schema(c, d)),
            16 | 17 => {
                let mut map = Map::new();
                for _ in 0..1 + c.next(3) {
                    map.insert((*c.pick(NAMES)).to_owned(), schema(c, d));
                }
                ("properties", Value::Object(map))
            }
            18 => ("required", json!([c.pick(NAMES)])),
            19 => ("additionalProperties", schema(c, d)),
            20 => (
                "patternProperties",
                json!({ *c.pick(&["^a", "b$", "c"]): schema(c, d) }),
            ),
            21 => (
                "propertyNames",
                json!({ "pattern": c.pick(&["^a", "b$", "^[abc]$"]) }),
            ),
            22 => ("minProperties", json!(n)),
            23 => ("maxProperties", json!(n)),
            24 => (
                "dependentRequired",
                json!({ *c.pick(NAMES): [c.pick(NAMES)] }),
            ),
            25 => ("dependentSchemas", json!({ *c.pick(NAMES): schema(c, d) })),
            26 => ("unevaluatedProperties", schema(c, d)),
            27 => ("allOf", json!([schema(c, d), schema(c, d)])),
            28 => ("anyOf", json!([schema(c, d), schema(c, d)])),
            29 | 30 => ("oneOf", json!([schema(c, d), schema(c, d)])),
            31 => ("not", schema(c, d)),
            32 => ("uniqueItems", json!(true)),
            _ => {
                out.insert("then".into(), schema(c, d));
                out.insert("else".into(), schema(c, d));
                ("if", schema(c, d))
            }
        };
        out.insert(key.to_owned(), what);
    }
    Value::Object(out)
}

fn value(c: &mut Chance, depth: usize) -> Value {
    match c.next(if depth == 0 { 6 } else { 10 }) {
        0 => Value::Null,
        1 => json!(c.one_in(2)),
        2 => json!(c.next(6) as i64 - 2),
        3 => json!(c.next(8) as f64 / 4.0),
        4 | 5 => json!(c.pick(&["", "a", "b", "ab", "ba", "axb", "c"])),
        6 | 7 => (0..c.next(4)).map(|_| value(c, depth - 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..c.next(4) {
                map.insert((*c.pick(NAMES)).to_owned(), value(c, depth - 1));
            }
            Value::Object(map)
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

#[test]
fn random_schemas_agree_with_another_validator() {
    let options = Options::default()
        .property_order(PropertyOrder::Any)
        .integers(IntegerSpelling::ZeroFraction)
        .whitespace(Whitespace::Compact);
    let mut hits = std::collections::BTreeMap::new();
    let (mut valid, mut total, mut refused, mut empty) = (0, 0, 0, 0);
    let rounds = std::env::var("ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1500);
    let mut reasons = std::collections::BTreeMap::new();
    for seed in 0..rounds {
        let mut c = Chance(seed * 7919 + 13);
        let schema = schema(&mut c, 3);
        let Some(validator) = validator(&schema) else {
            continue;
        };
        // Counts of items that must differ, nested: right, and slow.
        let shown = schema.to_string();
        if shown.contains("uniqueItems") && shown.contains("contains") {
            continue;
        }
        let automaton = match SchemaAutomaton::new(&schema, &options) {
            Ok(automaton) => Some(automaton),
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                empty += 1;
                None
            }
            Err(e) => {
                refused += 1;
                *reasons.entry(e.message().to_owned()).or_insert(0) += 1;
                continue;
            }
        };
        keywords(&schema, &mut hits);
        for _ in 0..25 {
            let value = value(&mut c, 3);
            let text = serde_json::to_string(&value).unwrap();
            let expected = validator.is_valid(&value);
            let found = automaton
                .as_ref()
                .is_some_and(|a| a.is_match(text.as_bytes()));
            assert_eq!(found, expected, "seed {seed}: {schema} on {text}");
            total += 1;
            valid += usize::from(expected);
        }
        // Trying all bytes is slow where items must differ; the corpus does it.
        let tried = !schema.to_string().contains("uniqueItems");
        if let Some(automaton) = automaton.as_ref().filter(|_| tried) {
            for n in 0..4 {
                walk(&schema, automaton, &validator, seed * 31 + n);
            }
        }
    }
    println!("{valid} of {total} values valid; {refused} schemas refused, {empty} empty; {hits:?}");
    println!("{reasons:#?}");
    assert!(valid * 100 > total * 15 && valid * 100 < total * 85);
    assert!(refused * 20 < rounds);
    if rounds >= 1500 {
        assert!(hits.values().all(|n| *n >= 50), "{hits:?}");
    }
}
