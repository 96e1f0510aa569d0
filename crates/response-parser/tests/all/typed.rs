//! Messages that must keep to a schema, messages as types, and models' folders.

use response_parser::{ErrorKind, Family, Release, ResponseSchema, ResponseTemplate, Turn};
use serde::Deserialize;
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"const": "assistant"},
            "mood": {"type": "string", "x-regex": "mood=(\\w+)", "enum": ["good", "bad"]},
            "score": {"type": "integer", "x-regex": "score=(\\S+)", "minimum": 1, "maximum": 10},
            "calls": {
                "type": "array", "x-regex-iterator": "<c>(.*?)</c>", "maxItems": 2,
                "items": {"type": "object", "x-parser": "json", "properties": {
                    "name": {"type": "string", "pattern": "^[a-z]+$"},
                    "arguments": {"type": "any"}
                }, "additionalProperties": false, "required": ["name", "arguments"]}
            }
        },
        "required": ["mood", "score"]
    })
}

#[test]
fn what_the_schema_says_is_enforced() {
    // Later releases ask for what is `required` themselves.
    let builder = ResponseSchema::builder().with_release(Release::V5_0);
    let schema = builder.build(&schema()).unwrap();
    let good = "mood=good score=7 <c>{\"name\": \"f\", \"arguments\": [1]}</c>";
    assert_eq!(
        schema.parse_validated(good).unwrap(),
        json!({
            "role": "assistant", "mood": "good", "score": 7,
            "calls": [{"name": "f", "arguments": [1]}]
        })
    );
    let mut out = String::new();
    for text in [
        "score=7",
        "mood=odd score=7",
        "mood=bad score=11",
        "mood=bad score=5 <c>{\"name\": \"f\"}</c>",
        "mood=bad score=5 <c>{\"name\": \"F\", \"arguments\": {}}</c>",
        "mood=bad score=5 <c>{}</c><c>{}</c><c>{}</c>",
    ] {
        assert!(schema.parse(text).is_ok(), "{text}");
        let error = schema.parse_validated(text).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        out.push_str(&format!("{text}\n    {error}\n"));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn combinations_are_enforced() {
    let check = |schema: Value, text: &str| {
        let mut whole = json!({"x-parser": "json"});
        for (key, value) in schema.as_object().unwrap() {
            whole[key] = value.clone();
        }
        ResponseSchema::new(&whole)
            .unwrap()
            .parse_validated(text)
            .is_ok()
    };
    let either = json!({"anyOf": [{"type": "string"}, {"type": "integer", "multipleOf": 5}]});
    assert!(check(either.clone(), "\"x\"") && check(either.clone(), "10"));
    assert!(!check(either.clone(), "11") && !check(either, "null"));
    let one = json!({"oneOf": [{"minimum": 5}, {"maximum": 7}]});
    assert!(check(one.clone(), "8") && check(one.clone(), "1") && !check(one, "6"));
    let all = json!({"allOf": [{"minLength": 2}, {"maxLength": 3}], "not": {"const": "ab"}});
    assert!(
        check(all.clone(), "\"éé\"") && !check(all.clone(), "\"ab\"") && !check(all, "\"abcd\"")
    );
    assert!(check(
        json!({"minProperties": 1, "exclusiveMinimum": 0}),
        "{\"a\": 1}"
    ));
    assert!(!check(json!({"minProperties": 1}), "{}"));
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let schema = json!({"type": "object", "properties": {"a": {"x-regex": "(.)", "$ref": "#"}}});
    let schema = ResponseSchema::new(&schema).unwrap();
    assert!(schema.parse("b").is_ok());
    let error = schema.parse_validated("b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaInvalid);
    assert_eq!(error.pointer(), "/properties/a/$ref");
}

#[derive(Debug, Deserialize, PartialEq)]
struct Message {
    role: String,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Call {
    function: Function,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Function {
    name: String,
    arguments: Weather,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Weather {
    city: String,
}

#[test]
fn messages_as_types() {
    let template = ResponseTemplate::of_family(Family::HERMES).unwrap();
    let text = "<tool_call>{\"name\": \"w\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";
    let turn = Turn::after("");
    let message: Message = template.parse_turn_as(&turn, text).unwrap();
    assert_eq!(message.tool_calls[0].function.arguments.city, "Oslo");
    let text = text.replace("city", "town");
    let error = template.parse_turn_as::<Message>(&turn, &text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deserialize);
    assert!(
        error.to_string().contains("missing field `city`"),
        "{error}"
    );
    let schema = ResponseSchema::new(&json!({"x-parser": "json"})).unwrap();
    let weather: Weather = schema.parse_as("{\"city\": \"Ulm\"}").unwrap();
    assert_eq!(
        weather,
        Weather {
            city: "Ulm".to_owned()
        }
    );
}

#[test]
fn models_folders() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokenizer_config.json");
    let kind = |error: response_parser::Error| error.kind();
    assert_eq!(
        ResponseSchema::from_model_dir(&folder).map_err(kind).err(),
        Some(ErrorKind::ModelFile)
    );

    std::fs::write(
        &file,
        r#"{"eos_token": "</s>", "chat_template": "[INST]x[/INST]"}"#,
    )
    .unwrap();
    let error = ResponseSchema::from_model_dir(&folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInModel);
    assert!(
        error
            .to_string()
            .starts_with("there is no response_schema in "),
        "{error}"
    );
    assert_eq!(
        response_parser::family_of_model_dir(&folder).unwrap(),
        Family::MISTRAL
    );
    std::fs::write(
        folder.path().join("chat_template.jinja"),
        "<|im_start|><|im_end|>",
    )
    .unwrap();
    assert_eq!(
        response_parser::family_of_model_dir(&folder).unwrap(),
        Family::HERMES
    );

    let saved = ResponseSchema::new(&schema()).unwrap();
    saved.save_to_model_dir(&folder).unwrap();
    // Whoever else reads the folder knows the reference's language alone.
    let family = ResponseTemplate::of_family(Family::GEMMA4).unwrap();
    let error = family.save_to_model_dir(&folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TemplateLoad);
    ResponseTemplate::new(Family::GEMMA.template())
        .unwrap()
        .save_to_model_dir(&folder)
        .unwrap();
    assert_eq!(
        ResponseSchema::from_model_dir(&folder).unwrap().json(),
        saved.json()
    );
    assert_eq!(
        ResponseTemplate::from_model_dir(&folder).unwrap().json(),
        Family::GEMMA.template()
    );
    let config: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(config["eos_token"], "</s>");

    std::fs::write(&file, "[]").unwrap();
    assert_eq!(
        ResponseTemplate::from_model_dir(&folder)
            .map_err(kind)
            .err(),
        Some(ErrorKind::ModelFile)
    );
    assert_eq!(
        saved
            .save_to_model_dir(folder.path().join("none"))
            .map_err(kind),
        Err(ErrorKind::ModelFile)
    );
}
