//! Arguments whose keys stand without quotes and whose strings stand between
//! delimiters of their own, as Gemma 4 writes them.

use fsm_index::contract::{self, Effort};
use fsm_index::{ByteAutomaton, Vocabulary};
use response_parser::{Family, ResponseTemplate, Turn};
use serde_json::{Value, json};
use structural_tags::{Count, ResponseFormat};

use super::formats::{SPECIALS, TEMPTING};
use super::{Chance, guide, vocabulary, walk};

fn format(parameters: &Value) -> ResponseFormat {
    let tool = json!({"name": "act", "parameters": parameters});
    ResponseFormat::named(Family::GEMMA4)
        .and_then(|format| format.with_tools(&[tool]))
        .unwrap()
        .with_calls(Count::ONE)
}

fn arguments(text: &str) -> Value {
    let template = ResponseTemplate::of_family(Family::GEMMA4).unwrap();
    let mut message = template.parse_turn(&Turn::after(""), text).unwrap();
    let calls = message["tool_calls"].as_array_mut().unwrap();
    assert_eq!(calls.len(), 1, "{text}");
    assert_eq!(calls[0]["function"]["name"], "act", "{text}");
    calls[0]["function"]["arguments"].take()
}

/// A schema with all that is spelt in the family's way.
fn trip() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "code": {"type": "string", "pattern": "^[A-Z\"\\\\]{2}(\n|é)?$"},
            "unit": {"enum": ["C", "F", "<|\"|>", 7, null]},
            "day": {"type": "string", "format": "date"},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "minItems": 1, "maxItems": 3},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "my-key, x:": {"type": ["integer", "boolean"]},
            "never": false
        },
        "required": ["unit", "stops"],
        "$defs": {"stop": {
            "type": "object",
            "properties": {"at": {"type": "string"}, "next": {"$ref": "#/$defs/stop"}},
            "required": ["at"],
            "additionalProperties": false
        }}
    })
}

#[test]
fn arguments_are_spelt_as_the_family_spells_them() {
    let none = vocabulary(&[], &[]);
    let format = format(&trip()).compile(&none).unwrap();
    let is = |arguments: &str| {
        let text = format!("<|tool_call>call:act{arguments}<tool_call|>");
        format.is_match(text.as_bytes())
    };
    let good = [
        r#"{unit:7,stops:[{at:<|"|>Ulm<|"|>}]}"#,
        r#"{city:<|"|>Paris, "FR" {x:1}\<|"|>,unit:<|"|>C<|"|>,stops:[{at:<|"|><|"|>},{at:<|"|>a<|"|>,next:{at:<|"|>b<|"|>}}]}"#,
        "{code:<|\"|>\"\\\n<|\"|>,unit:null,stops:[{at:<|\"|>x<|\"|>}],tags:[]}",
        r#"{unit:7,day:<|"|>2027-03-14<|"|>,stops:[{at:<|"|>x<|"|>}],tags:[<|"|>abc<|"|>,<|"|><|"|>],note:null,<|"|>my-key, x:<|"|>:true}"#,
    ];
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&trip())
        .unwrap();
    for text in &good {
        assert!(is(text), "{text}");
        let read = arguments(&format!("<|tool_call>call:act{text}<tool_call|>"));
        validator
            .validate(&read)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    let bad = [
        r#"{unit:7,stops:[]}"#,
        r#"{unit:8,stops:[{at:<|"|>Ulm<|"|>}]}"#,
        r#"{"unit":7,stops:[{at:<|"|>Ulm<|"|>}]}"#,
        r#"{unit:7,stops:[{at:"Ulm"}]}"#,
        r#"{unit:<|"|>c<|"|>,stops:[{at:<|"|>Ulm<|"|>}]}"#,
        r#"{stops:[{at:<|"|>Ulm<|"|>}]}"#,
        r#"{unit:7,day:<|"|>2027-02-30<|"|>,stops:[{at:<|"|>x<|"|>}]}"#,
        r#"{unit:7,stops:[{at:<|"|>x<|"|>}],tags:[<|"|>abcd<|"|>]}"#,
        r#"{unit:7,stops:[{at:<|"|>x<|"|>}],other:1}"#,
        r#"{unit:7,stops:[{at:<|"|>x<|"|>}],never:1}"#,
        r#"{unit:7,,stops:[{at:<|"|>x<|"|>}]}"#,
        r#"{unit:7,stops:[{at:<|"|>x<|"|>},]}"#,
    ];
    for text in bad {
        assert!(!is(text), "{text}");
    }
}

/// Walks by chance through a format: what they end in is read as one call whose
/// arguments obey the schema.
fn walks(what: &str, schema: &Value, vocabulary: &Vocabulary, count: u64) {
    let automaton = format(schema)
        .compile(vocabulary)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let start = guide(&automaton, vocabulary);
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    for seed in 0..count {
        let text = walk(
            &mut start.clone(),
            5 + seed as usize % 70,
            &mut Chance(seed * 7 + 1),
        );
        let read = arguments(&text);
        if let Err(error) = validator.validate(&read) {
            panic!("{what}: {error} of {read} in {text:?}");
        }
    }
}

#[test]
fn what_is_generated_is_read_and_obeys_the_schema() {
    let schemas = [
        ("a trip", trip()),
        (
            "no parameters",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
        ("anything", json!({"type": "object"})),
        (
            "further properties",
            json!({
                "type": "object", "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": ["string", "array"], "items": {"type": "string"}},
            }),
        ),
        (
            "one of",
            json!({
                "type": "object", "required": ["a"],
                "properties": {"a": {"oneOf": [{"type": "string", "minLength": 2}, {"type": "integer"}, {"const": "x"}]}},
            }),
        ),
        (
            "the whole inside itself",
            json!({
                "type": "object", "required": ["name"], "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "not": {"const": "x"}},
                    "children": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
                },
            }),
        ),
        (
            "different items",
            json!({
                "type": "object", "required": ["a"],
                "properties": {"a": {"type": "array", "items": {"enum": ["x,at:", "y", ",z"]}, "uniqueItems": true, "minItems": 1}},
            }),
        ),
        (
            "what only JSON can say",
            json!({
                "type": "object", "required": ["a"],
                "properties": {"a": {"const": "<|\"|>"}, "b<|\"|>": {"type": "string"}},
            }),
        ),
        (
            "an older draft",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "definitions": {"n": {"type": "integer", "minimum": 3}},
                "properties": {"a": {"$ref": "#/definitions/n"}, "b": {"type": "object", "minProperties": 1}},
                "required": ["a"],
            }),
        ),
    ];
    let plain = vocabulary(&TEMPTING, &[]);
    let special = vocabulary(&TEMPTING, &SPECIALS);
    for (what, schema) in &schemas {
        walks(what, schema, &plain, 25);
        walks(what, schema, &special, 25);
    }
}

#[test]
fn arguments_keep_the_contract() {
    let beginnings = [
        "<|tool_call>call:act{code:<|\"|>A\"",
        "<|tool_call>call:act{unit:",
        "<|tool_call>call:act{city:<|\"|>x<|\"",
        "<|tool_call>call:act{day:<|\"|>2027-0",
    ];
    for vocabulary in [vocabulary(&TEMPTING, &[]), vocabulary(&TEMPTING, &SPECIALS)] {
        let automaton = format(&trip()).compile(&vocabulary).unwrap();
        let mut scratch = automaton.scratch();
        let fits = |text: &&str| {
            let mut state = automaton.start();
            automaton
                .advance(&mut state, text.as_bytes(), &mut scratch)
                .is_ok()
        };
        let beginnings: Vec<&str> = beginnings.iter().copied().filter(fits).collect();
        let effort = Effort {
            walks: 14,
            tokens: 40,
            seed: 3,
        };
        contract::check(&automaton, &vocabulary, &beginnings, effort).unwrap();
    }
}

#[test]
fn references_that_grow_are_spelt_out_only_so_far() {
    let mut definitions = json!({"d0": {"type": "string"}});
    for level in 1..8 {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        let properties: Value = (0..6)
            .map(|n| (format!("p{n}"), below.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        definitions[format!("d{level}")] =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
    }
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d7"}}, "required": ["a"], "$defs": definitions});
    walks("growing", &schema, &vocabulary(&TEMPTING, &SPECIALS), 3);
}

#[test]
fn what_no_text_can_say_is_refused() {
    let none = vocabulary(&[], &[]);
    let refused = |parameters: Value| format(&parameters).compile(&none).unwrap_err().to_string();
    let only =
        |value: Value| json!({"type": "object", "required": ["a"], "properties": {"a": value}});
    let messages = [
        refused(only(json!(false))),
        refused(only(json!({"type": "array", "const": ["{a:"]}))),
        refused(only(json!({"type": "string", "pattern": r"(a)\1"}))),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

/// A template of its own with the same way of writing, and a narrower pattern for
/// names.
#[test]
fn a_template_may_write_so_too() {
    let mut json = super::formats::shipped()["gemma4"].clone();
    json["fields"]["content"]["close"] = json!(["<|mine|>"]);
    json["fields"]["content"]
        .as_object_mut()
        .unwrap()
        .remove("close_pattern");
    json["fields"]["tool_calls"]["open_pattern"] = json!("<\\|tool_call>call:(?P<name>\\w+)");
    let template = ResponseTemplate::new(&json).unwrap();
    let none = vocabulary(&[], &[]);
    let of = |name: &str| {
        let tool = json!({"name": name, "parameters": trip()});
        let format = ResponseFormat::from_template(&template).unwrap();
        format
            .with_tools(&[tool])
            .unwrap()
            .with_calls(Count::ONE)
            .compile(&none)
    };
    let automaton = of("act").unwrap();
    let text = walk(&mut guide(&automaton, &none), 20, &mut Chance(4));
    assert!(text.contains("<|tool_call>call:act{"), "{text}");
    let error = of("act.now").unwrap_err().to_string();
    assert!(
        error.contains("\"act.now\"") && error.contains("does not read"),
        "{error}"
    );
}
