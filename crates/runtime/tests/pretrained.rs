//! A real pretrained model, where one is at hand: `TOKENMOLD_MODEL` names its
//! directory or GGUF file. Whatever it says under a schema is valid, or marked
//! incomplete.
#![cfg(feature = "models")]

use std::sync::Arc;

use serde_json::{Value, json};
use tokenmold::chat::chatml as chat;
use tokenmold::fsm_index::{Config, Fill, Guide, Index, IndexConfig};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::schema_regex::{self, Options};

/// Schemas over everything that a regular expression enforces, each with a
/// request.
fn tasks() -> Vec<(Value, &'static str)> {
    let object = |properties: Value| {
        let required: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flat_map(|p| p.keys())
            .collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    vec![
        (json!({"type": "boolean"}), "Is water wet?"),
        (
            json!({"enum": ["red", "green", "blue"]}),
            "Which colour has the sky?",
        ),
        (
            json!({"type": "integer", "minimum": -5, "maximum": 12}),
            "How many legs has a spider?",
        ),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": 2.5}),
            "How tall is a man in metres?",
        ),
        (
            json!({"type": "string", "format": "date"}),
            "When did the first man land on the moon?",
        ),
        (
            json!({"type": "string", "format": "ipv4"}),
            "What is the address of localhost?",
        ),
        (
            json!({"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2,4}$"}),
            "Invent an order number.",
        ),
        (
            json!({"type": "string", "minLength": 3, "maxLength": 24}),
            "Say hello in French, with accents: é, ç.",
        ),
        (
            json!({"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 2, "maxItems": 4}),
            "Name some fruits.",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"const": "kg"}], "items": false, "minItems": 2}),
            "How heavy is a cat?",
        ),
        (
            object(
                json!({"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}}),
            ),
            "Maria Silva is a 34 year old nurse from Porto.",
        ),
        (
            object(json!({
                "name": {"const": "get_weather"},
                "arguments": object(json!({"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}})),
            })),
            "What is the weather in Lisbon in celsius?",
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "string", "format": "email"}]}),
            "What is the mail address of Bob at example.org?",
        ),
        (
            json!({"allOf": [{"type": "integer", "minimum": 10}, {"maximum": 99}, {"multipleOf": 5}]}),
            "Give me a number.",
        ),
        (
            json!({
                "type": "object",
                "properties": {"id": {"type": "string", "format": "uuid"}, "note": {"type": "string"}},
                "required": ["id"],
                "additionalProperties": {"type": "integer"},
            }),
            "Make a record with an id and some counts.",
        ),
    ]
}

#[test]
fn what_a_pretrained_model_says_is_valid_or_marked_incomplete() {
    let Some(path) = std::env::var_os("TOKENMOLD_MODEL") else {
        eprintln!("skipped: TOKENMOLD_MODEL names no pretrained model");
        return;
    };
    let mut loaded = tokenmold::model::load(&path).unwrap();
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let (mut valid, mut incomplete) = (0, 0);
    for (schema, request) in tasks() {
        let regex = schema_regex::parse(&schema)
            .and_then(|schema| schema_regex::to_regex(&schema, &Options::default()))
            .unwrap();
        let vocabulary = loaded.tokenizer.vocabulary();
        let index = Index::with_config(&regex, vocabulary, &Config::default(), &lazy).unwrap();
        let mut guide = Guide::new(Arc::new(index));
        let prompt = chat::prompt(&chat::schema_system(&schema), request);
        let request = Request::new(Prompt::Chat(prompt)).with_max_tokens(60);
        let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
        let said = session
            .generate(&request, Some(&mut guide), &mut |_| Flow::Continue)
            .unwrap();
        eprintln!(
            "{}{}",
            said.text,
            if said.complete { "" } else { "   (incomplete)" }
        );
        if said.complete {
            let value: Value = serde_json::from_str(&said.text).unwrap();
            let validator = jsonschema::options()
                .should_validate_formats(true)
                .build(&schema)
                .unwrap();
            assert!(validator.is_valid(&value), "{schema}: {value}");
            valid += 1;
        } else {
            incomplete += 1;
        }
    }
    eprintln!("{valid} valid, {incomplete} incomplete");
    assert!(valid > incomplete);
}
