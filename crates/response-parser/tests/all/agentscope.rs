//! Text parsers: what they read, what they tell a model, what shape they give a text.

use proptest::prelude::*;
use response_parser::agentscope::{
    CodeBlock, DataModel, JsonDict, JsonObject, Keys, MissingKeys, MissingTags, MultiTagged, Part,
    RegexTagged, TaggedContent, TextParser,
};
use response_parser::{ErrorKind, Unrepresentable};
use serde_json::{Value, json};

#[track_caller]
fn value(parser: &impl TextParser, text: &str) -> Value {
    parser.parse(text).unwrap().value
}

fn weather() -> DataModel {
    let schema = json!({
        "title": "Weather", "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "days": {"type": "integer", "default": 3, "minimum": 1, "maximum": 14},
            "unit": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}},
            "exact": {"type": "boolean", "default": false}
        },
        "required": ["city"],
        "$defs": {"Tag": {"type": "string", "enum": ["hot", "cold"]}}
    });
    DataModel::new("Weather", schema).unwrap()
}

#[test]
fn fences_are_put_in() {
    let parsed = JsonObject::new().parse("{\"a\": 1}").unwrap();
    assert_eq!(parsed.value, json!({"a": 1}));
    assert_eq!(parsed.repaired.as_deref(), Some("```json\n{\"a\": 1}```"));
    let parsed = JsonObject::new().parse("Here:\n```json\n[1]\n```").unwrap();
    assert_eq!((parsed.value, parsed.repaired), (json!([1]), None));
}

#[test]
fn a_model_reads_leniently_and_fills_in() {
    let parser = JsonDict::new().with_model(weather());
    assert_eq!(
        value(
            &parser,
            r#"{"city": "Ulm", "days": " 7 ", "exact": "yes", "tags": ["hot"], "x": 1}"#
        ),
        json!({"city": "Ulm", "days": 7, "unit": null, "tags": ["hot"], "exact": true})
    );
    let error = parser
        .parse(r#"{"days": 20, "tags": ["warm"], "unit": 5, "exact": []}"#)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JsonParsing);
    insta::assert_snapshot!(error.feedback());
}

#[test]
fn a_model_refuses_what_it_cannot_check() {
    let error = DataModel::new("M", json!({"properties": {"d": {"format": "date"}}})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaInvalid);
    assert_eq!(error.pointer(), "/properties/d/format");
    let endless = DataModel::new("M", json!({"$ref": "#"})).unwrap();
    let error = JsonDict::new().with_model(endless).parse("{}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::JsonParsing);
}

#[test]
fn code_is_the_first_block_of_its_language() {
    let parser = CodeBlock::new("python");
    assert_eq!(
        value(&parser, "Look:\n```python\nx = 1\n```\n```python\ny\n```"),
        json!("\nx = 1\n")
    );
    let error = parser.parse("```ruby\nx\n```").unwrap_err();
    assert_eq!(
        error.missing_tags(),
        Some(MissingTags {
            begin: true,
            end: false
        })
    );
    assert_eq!(error.raw_response(), Some("```ruby\nx\n```"));
}

#[test]
fn tags_by_pattern() {
    let parser = RegexTagged::new().unwrap().with_required_keys(["thought"]);
    assert_eq!(
        value(
            &parser,
            "<thought>Hm.</thought><n>5</><thought>So.</thought>"
        ),
        json!({"thought": "So.", "n": 5})
    );
    assert_eq!(
        parser.parse("<n>5</n>").unwrap_err().feedback(),
        "TagNotFoundError: Failed to find tags: thought"
    );
    assert_eq!(
        parser.format_instruction().unwrap_err().kind(),
        ErrorKind::NoInstruction
    );
    let own = RegexTagged::with_pattern(r"\[(?P<name>\w+)\](?P<content>.*?)\[/\1\]")
        .unwrap()
        .without_json();
    assert_eq!(value(&own, "[a]1[/a]"), json!({"a": "1"}));
    assert_eq!(
        RegexTagged::with_pattern("(?P<name>a)").unwrap_err().kind(),
        ErrorKind::RegexNoGroups
    );
    assert_eq!(
        RegexTagged::with_pattern("(?P<name>(?P<content>")
            .unwrap_err()
            .kind(),
        ErrorKind::RegexSyntax
    );
}

#[test]
fn several_tags() {
    let parser = MultiTagged::new([
        TaggedContent::new("a", "[A]", "first", "[/A]"),
        TaggedContent::new("b", "[B]", "second", "[/B]").with_json(),
    ])
    .with_optional(["a"]);
    assert_eq!(
        value(&parser, "[B]{\"k\": 1}[/B][A]x"),
        json!({"b": {"k": 1}})
    );
    assert_eq!(
        parser.parse("[A]x[/A]").unwrap_err().kind(),
        ErrorKind::TagNotFound
    );
    assert_eq!(parser.parse(None).unwrap_err().kind(), ErrorKind::NoText);
}

#[test]
fn keys_go_where_they_are_sent() {
    let keys = Keys::default()
        .with_memory("a")
        .with_content(["b", "c"])
        .with_metadata(["a"]);
    let value = json!({"a": 1, "b": 2});
    assert_eq!(
        keys.to_memory(&value, MissingKeys::Refuse).unwrap(),
        json!(1)
    );
    assert_eq!(
        keys.to_content(&value, MissingKeys::Skip).unwrap(),
        json!({"b": 2})
    );
    let error = keys.to_content(&value, MissingKeys::Refuse).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyNotFound);
    assert_eq!(
        keys.to_metadata(&value, MissingKeys::Refuse).unwrap(),
        json!({"a": 1})
    );
}

#[test]
fn values_beyond_json() {
    let text = "```json\n[NaN, 123456789012345678901234567890]\n```";
    assert_eq!(
        JsonObject::new().parse(text).unwrap_err().kind(),
        ErrorKind::NotJson
    );
    assert_eq!(
        value(
            &JsonObject::new().with_unrepresentable(Unrepresentable::Replace),
            text
        ),
        json!([null, "123456789012345678901234567890"])
    );
}

/// A text of the shape, with `value` for each JSON part and `text` for each free one.
fn written(parts: &[Part], value: &Value, text: &str) -> String {
    let written = parts.iter().map(|part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Json(_) => value.to_string(),
        _ => text.to_owned(),
    });
    written.collect()
}

#[test]
fn a_text_of_a_shape_is_read_back() {
    let object = json!({"city": "Ulm", "days": 3, "unit": null, "exact": false});
    let dict = JsonDict::new().with_model(weather());
    assert_eq!(
        value(&dict, &written(&dict.shape().unwrap(), &object, "")),
        object
    );
    let any = JsonObject::new();
    assert_eq!(
        value(&any, &written(&any.shape().unwrap(), &object, "")),
        object
    );
    let code = CodeBlock::new("c");
    assert_eq!(
        value(&code, &written(&code.shape().unwrap(), &object, "x;")),
        json!("\nx;\n")
    );
    let tags = MultiTagged::new([
        TaggedContent::new("a", "<a>", "", "</a>"),
        TaggedContent::new("b", "<b>", "", "</b>").with_json(),
    ]);
    assert_eq!(
        value(&tags, &written(&tags.shape().unwrap(), &object, "x")),
        json!({"a": "x", "b": object})
    );
    let regex = RegexTagged::new().unwrap().with_required_keys(["a", "b"]);
    assert_eq!(
        value(&regex, &written(&regex.shape().unwrap(), &object, "x")),
        json!({"a": "x", "b": "x"})
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn never_panics(text in "(```json|```|<a>|</a>|</|[\\[\\]{}\":,\\\\u0-9ad \n]|\u{FEFF}|é){0,24}") {
        let _ = JsonObject::new().parse(text.as_str()).map_err(|e| e.feedback());
        let _ = JsonDict::new().with_model(weather()).parse(text.as_str()).map_err(|e| e.feedback());
        let _ = CodeBlock::new("json").parse(text.as_str());
        let _ = RegexTagged::new().unwrap().parse(text.as_str());
        let tag = TaggedContent::new("a", "<a>", "", "</a>").with_json();
        let _ = MultiTagged::new([tag]).parse(text.as_str());
    }
}
