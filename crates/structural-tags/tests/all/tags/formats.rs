//! Whole answers in the formats of model families: what is generated is what the
//! format's parser reads.

use families::Calls;
use fsm_index::{ByteAutomaton, TokenId, Vocabulary};
use response_parser::{Family, Language, ResponseTemplate, Turn};
use serde_json::{Value, json};
use structural_tags::ErrorKind;
use structural_tags::{Content, Count, Reasoning, ResponseFormat, Tag, Tags};

use super::{Chance, guide, vocabulary, walk, weather};

fn tools() -> Vec<Value> {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    vec![
        tool(
            "weather",
            json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Where"},
                    "unit": {"enum": ["C", "F", "</tool_call>", "7"]},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14}
                },
                "required": ["city"],
                "additionalProperties": false
            }),
        ),
        tool(
            "plan.trip-2",
            json!({
                "type": "object",
                "properties": {
                    "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 3},
                    "note": {"type": "string", "maxLength": 40},
                    "fast": {"type": "boolean"},
                    "budget": {"type": ["number", "null"]}
                },
                "required": ["stops", "fast"],
                "additionalProperties": false,
                "$defs": {"stop": {
                    "type": "object",
                    "properties": {"at": {"type": "string"}},
                    "required": ["at"],
                    "additionalProperties": false
                }}
            }),
        ),
    ]
}

/// Names of special tokens that the families' tokenizers have.
pub(super) const SPECIALS: [&str; 38] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    "<|channel|>",
    "<|message|>",
    "<|constrain|>",
    "<|start|>",
    "<|end|>",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<arg_key>",
    "</arg_key>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<minimax:tool_call>",
    "<|tool_call|>",
    "<|im_end|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|\"|>",
    "<|channel>",
    "<channel|>",
];

/// Texts that tempt: pieces of markers, and markers spelt out.
pub(super) const TEMPTING: [&str; 45] = [
    "<tool",
    "_call>",
    "</tool_call>",
    "</think>",
    "<think>",
    "think>",
    "[TOOL_",
    "CALLS]",
    "[ARGS]",
    "</s>",
    "{\"name\": \"",
    "\"arguments\": ",
    "\"}",
    "}}",
    "\"",
    "true",
    "null",
    "12",
    "-0.5e3",
    "</parameter>",
    "</function>",
    "</arg_value>",
    "</invoke>",
    "\n```",
    "｜",
    "<｜tool",
    "▁call▁end｜>",
    "<|END_",
    "ACTION|>",
    "<|call|>",
    "<|end|>",
    " to=functions.",
    "weather",
    "Hello, world",
    "é",
    "😀",
    "\\u003",
    "\\n",
    "<parameter=",
    "\n\n",
    "<|\"|>",
    "<|\"",
    ",at:",
    "{at:",
    "<tool_call|>",
];

/// The calls of a message: names and arguments.
pub(super) fn called(message: &Value) -> Vec<(Value, Value)> {
    let calls = message["tool_calls"].as_array();
    let calls = calls.into_iter().flatten();
    calls
        .map(|call| {
            let function = &call["function"];
            (function["name"].clone(), function["arguments"].clone())
        })
        .collect()
}

/// The calls of a text that comes in pieces of so many characters.
pub(super) fn streamed(
    template: &ResponseTemplate,
    turn: &Turn<'_>,
    text: &str,
    piece: usize,
) -> Result<Vec<(Value, Value)>, response_parser::Error> {
    let mut stream = template.stream(turn)?;
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(piece) {
        stream.feed(&piece.iter().collect::<String>())?;
    }
    Ok(called(&stream.finish()?.message))
}

/// What is generated in a format is what its parser reads, at once and in pieces.
fn reads_back(
    what: &str,
    format: &ResponseFormat,
    template: &ResponseTemplate,
    vocabulary: &Vocabulary,
    walks: usize,
) -> usize {
    let automaton = format
        .compile(vocabulary)
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    let index = guide(&automaton, vocabulary);
    let validators: Vec<(String, jsonschema::Validator)> = tools()
        .iter()
        .map(|tool| {
            let function = &tool["function"];
            let validator = jsonschema::validator_for(&function["parameters"]).unwrap();
            (function["name"].as_str().unwrap().to_owned(), validator)
        })
        .collect();
    let mut calls = 0;
    for seed in 0..walks {
        let mut chance = Chance(seed as u64 + 1);
        let text = walk(&mut index.clone(), 10 + seed % 60, &mut chance);
        let offered = Value::from(tools());
        let turn = Turn::after("").with_tools(&offered);
        let message = template
            .parse_turn(&turn, &text)
            .unwrap_or_else(|error| panic!("{what}: {error}: {text:?}"));
        let in_pieces = streamed(template, &turn, &text, 1 + seed % 7);
        let in_pieces = in_pieces.unwrap_or_else(|error| panic!("{what}: {error}: {text:?}"));
        assert_eq!(in_pieces, called(&message), "{what}: {text:?}");
        let found = message["tool_calls"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        calls += found.len();
        for call in found {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let arguments = &call["function"]["arguments"];
            let validator = validators.iter().find(|(known, _)| known == name);
            let validator = validator.unwrap_or_else(|| panic!("{what}: {name:?} in {text:?}"));
            if let Err(error) = validator.1.validate(arguments) {
                panic!("{what}: {error} of {arguments} in {text:?}");
            }
        }
    }
    calls
}

/// Templates in the reference's own language, as models ship them.
pub(crate) fn shipped() -> serde_json::Map<String, Value> {
    serde_json::from_str(include_str!("templates.json")).unwrap()
}

#[test]
fn what_is_generated_in_a_format_is_what_its_parser_reads() {
    let plain = vocabulary(&TEMPTING, &[]);
    let special = vocabulary(&TEMPTING, &SPECIALS);
    for format in Family::all() {
        let name = format.name();
        let template = ResponseTemplate::of_family(format).unwrap();
        let bound = ResponseFormat::named(format).unwrap();
        let offered = bound.clone().with_tools(&tools()).unwrap();
        if let Calls::Refused(why) = &format.writes().calls {
            assert!(!why.is_empty());
            let error = offered.compile(&plain).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            assert!(offered.with_calls(Count::NONE).compile(&plain).is_ok());
            continue;
        }
        for (which, vocabulary) in [("bytes", &plain), ("special tokens", &special)] {
            let what = format!("{name} in {which}");
            let none = reads_back(&what, &bound, &template, vocabulary, 10);
            assert_eq!(none, 0, "{what}");
            reads_back(&what, &offered, &template, vocabulary, 10);
            let some = offered.clone().with_calls(Count::AT_LEAST_ONE);
            let calls = reads_back(&what, &some, &template, vocabulary, 30);
            assert!(calls >= 30, "{what}: {calls} calls");
            let one = offered.clone().with_calls(Count::ONE);
            assert_eq!(
                reads_back(&what, &one, &template, vocabulary, 10),
                10,
                "{what}"
            );
            let none = offered.clone().with_calls(Count::NONE);
            assert_eq!(
                reads_back(&what, &none, &template, vocabulary, 10),
                0,
                "{what}"
            );
            let has_many = match &format.writes().calls {
                Calls::Each(each) => each.most.is_none(),
                _ => true,
            };
            if has_many {
                let three = Count {
                    least: 3,
                    most: Some(3),
                };
                let three = offered.clone().with_calls(three);
                assert_eq!(
                    reads_back(&what, &three, &template, vocabulary, 10),
                    30,
                    "{what}"
                );
            }
        }
    }
}

/// Makes another template of one by another end of the turn, and walks through what is derived of it; the names of those that
/// can be bound.
fn derived(
    templates: impl Iterator<Item = (String, Value)>,
    language: Language,
    vocabulary: &Vocabulary,
) -> Vec<String> {
    let mut derived = Vec::new();
    for (name, mut json) in templates {
        json["fields"]["content"]["close"] = json!(["<|mine|>"]);
        if let Some(content) = json["fields"]["content"].as_object_mut() {
            content.remove("close_pattern");
        }
        let builder = ResponseTemplate::builder().with_language(language);
        let Ok(template) = builder.build(&json) else {
            continue;
        };
        let shape = ResponseFormat::from_template(&template)
            .and_then(|f| f.with_tools(&tools()))
            .map(|f| f.with_calls(Count::AT_LEAST_ONE))
            .and_then(|f| f.compile(vocabulary).map(|_| f));
        match shape {
            Ok(shape) => {
                let calls = reads_back(&name, &shape, &template, vocabulary, 25);
                assert!(calls >= 25);
                derived.push(name);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Constraint, "{name}: {error}"),
        }
    }
    derived
}

/// Templates of the same formats under other anchors, which are then derived.
#[test]
fn other_templates_are_read_as_far_as_they_are_spelt_out() {
    let vocabulary = vocabulary(&TEMPTING, &["<tool_call>", "<|im_end|>"]);
    let shipped = derived(shipped().into_iter(), Language::HuggingFace, &vocabulary);
    assert_eq!(
        shipped,
        [
            "cohere",
            "deepseek-v3",
            "deepseek-v3.1",
            "gemma4",
            "hermes",
            "mistral",
            "phi4-mini",
            "smollm3",
        ]
    );
    let own = Family::all().map(|family| (family.name().to_owned(), family.template().clone()));
    let own = derived(own, Language::Extended, &vocabulary);
    for name in ["cohere", "deepseek-v3.1", "gemma4", "hermes"] {
        assert!(own.iter().any(|own| own == name), "{name}: {own:?}");
    }
    // A template with the fields of a family's is that family's, or of the first that is read so.
    for format in Family::all() {
        let template = ResponseTemplate::of_family(format).unwrap();
        let own = ResponseFormat::from_template(&template).unwrap();
        let alike = |other: &Family| other.template() == format.template();
        let first = Family::all().find(alike).unwrap();
        let named = ResponseFormat::named(first).unwrap();
        assert_eq!(format!("{own:?}"), format!("{named:?}"));
    }
}

#[test]
fn what_cannot_be_bound_is_refused_by_name() {
    let vocabulary = vocabulary(&[], &[]);
    let refused = |format: Family, parameters: Value| {
        let tool = json!({"name": "t", "parameters": parameters});
        let format = ResponseFormat::named(format)
            .unwrap()
            .with_tools(&[tool])
            .unwrap();
        format.compile(&vocabulary).unwrap_err().to_string()
    };
    let cases = [
        refused(Family::GEMMA, json!({"type": "object"})),
        refused(
            Family::HERMES,
            json!({"not": {"type": "object"}, "$ref": "#/nope"}),
        ),
        refused(Family::GLM4, json!({"type": "object", "minProperties": 1})),
        refused(
            Family::QWEN3_CODER,
            json!({"type": "object", "required": ["a"]}),
        ),
        refused(
            Family::MINIMAX_M2,
            json!({"type": "object", "properties": {"a<b": {}}}),
        ),
        ResponseFormat::named(Family::LLAMA3)
            .unwrap()
            .with_tools(&tools())
            .unwrap()
            .with_calls(Count {
                least: 2,
                most: None,
            })
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        ResponseFormat::named(Family::HERMES)
            .unwrap()
            .with_calls(Count::ONE)
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        ResponseFormat::named(Family::HERMES)
            .unwrap()
            .with_tools(&[json!({"name": "a b"})])
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_tag(Tag::new(
                "<a>",
                Content::schema(&json!({"type": "number"})).unwrap(),
                "12",
            ))
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_tag(Tag::new("", weather(), "</a>"))
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_tag(Tag::new("<a>", Content::regex("x</a>y").unwrap(), "</a>"))
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_tag(Tag::new("<a>", weather(), "</a>"))
            .with_count(Count {
                least: 3,
                most: Some(2),
            })
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_forbidden("x".repeat(20_000))
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        Content::choice::<&str>([]).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(cases.join("\n"));
}

#[test]
fn the_prompt_may_have_begun() {
    let vocabulary = vocabulary(&[], &[]);
    let after = |prompt: &str, text: &str| {
        ResponseFormat::named(Family::HERMES)
            .unwrap()
            .with_reasoning(Reasoning::limited(8).required())
            .with_answer(Content::choice(["yes", "no"]).unwrap())
            .with_prompt(prompt)
            .compile(&vocabulary)
            .unwrap()
            .is_match(text.as_bytes())
    };
    let open = "<think>a</think><|im_start|>assistant\n<think>\n";
    assert!(after(open, "Hm.</think>\n\nyes") && !after(open, "<think>Hm.</think>yes"));
    assert!(!after(open, "too long a thought</think>yes") && !after(open, "yes"));
    let plain = "<|im_start|>assistant\n";
    assert!(after(plain, "<think>Hm.</think>yes") && !after(plain, "yes"));
    let shut = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    assert!(after(shut, "no") && !after(shut, "<think>Hm.</think>no"));
}

/// An argument that stands alone refers to what the whole schema has.
#[test]
fn references_of_an_argument_are_those_of_the_whole_schema() {
    let parameters = json!({
        "type": "object", "required": ["size"],
        "properties": {
            "size": {"type": "integer", "maximum": 9},
            "more": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
            "last": {"$ref": "#/properties/size"},
        },
    });
    let tool = json!({"name": "t", "parameters": parameters});
    let format = ResponseFormat::named(Family::QWEN3_CODER).unwrap();
    let format = format.with_tools(&[tool]).unwrap().with_calls(Count::ONE);
    let automaton = format.compile(&vocabulary(&[], &[])).unwrap();
    let is = |key: &str, value: &str| {
        let argument =
            |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>\n");
        let text = argument("size", "7") + &argument(key, value);
        let text = format!("<tool_call>\n<function=t>\n{text}</function>\n</tool_call>");
        automaton.is_match(text.as_bytes())
    };
    assert!(is("more", r#"[{"size": 3}]"#) && is("more", "[]") && is("last", "5"));
    assert!(!is("more", "[[]]") && !is("more", r#"[{"size": 10}]"#) && !is("last", "11"));
}

/// The vocabularies of real models, with their own special tokens.
#[test]
fn real_vocabularies() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: real vocabularies are skipped");
        return;
    };
    let cases = [
        ("qwen3", Family::HERMES),
        ("qwen3", Family::QWEN3_CODER),
        ("llama3_1", Family::LLAMA3),
        ("gptoss", Family::HARMONY),
        ("deepseek_v3", Family::DEEPSEEK_V3),
        ("deepseek_v3", Family::DEEPSEEK_V3_1),
    ];
    for (tokenizer, format) in cases {
        let file = std::path::Path::new(&data)
            .join("tokenizers")
            .join(tokenizer)
            .join("tokenizer.json");
        let json = std::fs::read(&file).unwrap();
        let vocabulary = Vocabulary::from_tokenizer_json(&json).unwrap();
        let what = format!("{} of {tokenizer}", format.name());
        let bound = ResponseFormat::named(format)
            .unwrap()
            .with_tools(&tools())
            .unwrap();
        let some = bound.with_calls(Count::AT_LEAST_ONE);
        let calls = reads_back(
            &what,
            &some,
            &ResponseTemplate::of_family(format).unwrap(),
            &vocabulary,
            4,
        );
        assert!(calls >= 4, "{what}: {calls}");
        let automaton = some.compile(&vocabulary).unwrap();
        let specials = automaton.parts().special_names.names;
        assert!(!specials.is_empty() || format == Family::LLAMA3, "{what}");
        // Free text: the row is known after the first time.
        let mut guide = guide(&automaton, &vocabulary);
        let first = std::time::Instant::now();
        guide.mask().unwrap();
        let first = first.elapsed();
        let word = (0..vocabulary.width() as u32)
            .map(TokenId::new)
            .find(|t| vocabulary.token_bytes(*t) == Some(b" the"))
            .unwrap();
        let mut slowest = std::time::Duration::ZERO;
        if guide.advance(word).is_ok() {
            guide.mask().unwrap();
            for _ in 0..50 {
                guide.advance(word).unwrap();
                let began = std::time::Instant::now();
                guide.mask().unwrap();
                slowest = slowest.max(began.elapsed());
            }
        }
        eprintln!(
            "{what}: {specials:?}; first mask {first:?}, slowest of 50 in free text {slowest:?}"
        );
    }
}
