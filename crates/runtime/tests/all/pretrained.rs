//! A real pretrained model, where one is at hand: `TOKENMOLD_MODEL` names its
//! directory or GGUF file. Whatever it says under a schema is valid, or marked
//! incomplete.
//!
//! Real vocabularies are not what tests make up: that of SmolLM2 lacks 21 bytes, and the
//! default path refused every schema with a string for it.
#![cfg(all(feature = "models", feature = "cli"))]

use std::sync::Arc;

use serde_json::{Value, json};
use tokenmold::chat::chatml as chat;
use tokenmold::fsm_index::{ByteAutomaton, Config, Fill, Guide, Index, IndexConfig};
use tokenmold::generate::{Flow, Prompt, Request, Session};
use tokenmold::model::LoadedModel;
use tokenmold::schema_regex::automaton::SchemaAutomaton;
use tokenmold::schema_regex::{self, Options};

use crate::common;

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

/// The model's file, if there is one.
fn model() -> Option<String> {
    let path = std::env::var("TOKENMOLD_MODEL").ok();
    if path.is_none() {
        eprintln!("skipped: TOKENMOLD_MODEL names no pretrained model");
    }
    path
}

/// Whether what the model says is complete; then it is valid.
fn says<A: ByteAutomaton + 'static>(
    loaded: &mut LoadedModel,
    (schema, request): &(Value, &str),
    index: Index<A>,
) -> bool {
    let mut guide = Guide::new(Arc::new(index));
    let prompt = chat::prompt(&chat::schema_system(schema), request);
    let request = Request::new(Prompt::Chat(prompt)).with_max_tokens(60);
    let mut session = Session::new(&mut loaded.model, &loaded.tokenizer);
    let said = session
        .generate(&request, Some(&mut guide), &mut |_| Flow::Continue)
        .unwrap();
    let note = if said.complete { "" } else { "   (incomplete)" };
    eprintln!("{}{note}", said.text);
    if said.complete {
        assert_valid(schema, &serde_json::from_str(&said.text).unwrap());
    }
    said.complete
}

fn assert_valid(schema: &Value, value: &Value) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    assert!(validator.is_valid(value), "{schema}: {value}");
}

/// All tasks by the schema automaton, as the program does it, and those of every fourth one
/// by a regular expression, too.
#[test]
fn what_a_pretrained_model_says_is_valid_or_marked_incomplete() {
    let Some(path) = model() else {
        return;
    };
    let mut loaded = tokenmold::model::load(path).unwrap();
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let options = Options::default();
    let (mut valid, mut incomplete) = (0, 0);
    for (number, task) in tasks().iter().enumerate() {
        let vocabulary = loaded.tokenizer.vocabulary().clone();
        let automaton = SchemaAutomaton::new(&task.0, &options).unwrap();
        let index = Index::lazy(automaton, &vocabulary, &lazy).unwrap();
        match says(&mut loaded, task, index) {
            true => valid += 1,
            false => incomplete += 1,
        }
        if number % 4 == 0 {
            let regex = schema_regex::parse(&task.0)
                .and_then(|schema| schema_regex::to_regex(&schema, &options))
                .unwrap();
            let index = Index::with_config(&regex, &vocabulary, &Config::default(), &lazy);
            says(&mut loaded, task, index.unwrap());
        }
    }
    eprintln!(
        "{valid} of {} valid, {incomplete} incomplete",
        tasks().len()
    );
    assert!(valid > incomplete);
}

/// What the program prints.
fn run(args: &[&str], stdin: &str) -> String {
    let common::Ran { code, out, err } = common::run(args, stdin);
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out
}

#[test]
fn the_program_generates_calls_tools_and_chats() {
    let Some(model) = model() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, json: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, json.to_string()).unwrap();
        path.display().to_string()
    };
    let weather = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 30},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
        },
        "required": ["city", "unit", "days"],
        "additionalProperties": false,
    });
    let ask = "What will the weather be in Paris over the next three days, in celsius?";
    let schema = put("weather.json", &weather);
    let args = ["--model", &model, "--max-tokens", "50"];

    let said = run(
        &[
            &["generate", "--schema", &schema, "--prompt", ask],
            &args[..],
        ]
        .concat(),
        "",
    );
    eprintln!("generate --schema: {said}");
    assert_valid(&weather, &serde_json::from_str(&said).unwrap());

    let tools = json!([{"type": "function", "function": {
        "name": "get_weather", "description": "The weather in a city", "parameters": weather,
    }}]);
    let tools = put("tools.json", &tools);
    let said = run(
        &[
            &["--json", "generate", "--tools", &tools, "--prompt", ask],
            &args[..],
        ]
        .concat(),
        "",
    );
    eprintln!("generate --tools: {said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["complete"], true);
    // A small model mostly answers in words; what it calls is called right.
    for call in said["message"]["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
    {
        assert_eq!(call["function"]["name"], "get_weather");
        assert_valid(&weather, &call["function"]["arguments"]);
    }

    let chat = ["chat", "--model", &model, "--max-tokens", "50"];
    let said = run(&chat, &format!("/schema {schema}\n{ask}\n"));
    eprintln!("chat: {said}");
    assert!(said.contains("\"city\""), "{said}");
}
