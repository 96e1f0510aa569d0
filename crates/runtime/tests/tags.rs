//! Structural tags and formats as constraints.

#![cfg(feature = "embedded")]

use std::sync::Arc;

use fsm_index::contract::{self, Effort};
use fsm_index::{
    ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary,
    VocabularyBuilder,
};
use response_parser::{Format, ResponseTemplate, Turn};
use serde_json::{Value, json};
use tokenmold::ErrorKind;
use tokenmold::tags::{
    Content, Count, MAX_COUNT, MAX_PARTS, MAX_QUIET_STATES, Reasoning, ResponseFormat, Tag,
    TagAutomaton, Tags,
};

/// All bytes, these texts, and special tokens of these names; the last one ends
/// texts.
fn vocabulary(texts: &[&str], specials: &[&str]) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    let mut id = 0..;
    let mut next = || TokenId::new(id.next().unwrap());
    for byte in 0..=255u8 {
        builder.text(next(), [byte]).unwrap();
    }
    for text in texts {
        builder.text(next(), text).unwrap();
    }
    for special in specials {
        builder.special(next(), special).unwrap();
    }
    builder.end(next()).unwrap();
    builder.build().unwrap()
}

fn guide(automaton: &TagAutomaton, vocabulary: &Vocabulary) -> Guide<TagAutomaton> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Index::lazy(automaton.clone(), vocabulary, &lazy).unwrap();
    Guide::new(Arc::new(index))
}

/// The text of a token, or the name of a special one.
fn spelt(vocabulary: &Vocabulary, token: TokenId) -> Vec<u8> {
    let bytes = vocabulary.token_bytes(token);
    bytes
        .or_else(|| vocabulary.token_name(token))
        .unwrap_or_default()
        .to_vec()
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Leads a guide through allowed tokens, chosen by chance, sometimes along its
/// completion, and to the end; the text, with the names of special tokens.
fn walk(guide: &mut Guide<TagAutomaton>, tokens: usize, chance: &mut Chance) -> String {
    let vocabulary = guide.index().vocabulary().clone();
    let mut text = Vec::new();
    for step in 0.. {
        let completion = guide.completion();
        if step >= tokens && completion.is_empty() {
            break;
        }
        let allowed: Vec<TokenId> = guide.mask().iter().collect();
        let along = step >= tokens || chance.below(3) > 0;
        let token = if along && !completion.is_empty() {
            let fits = |token: &&TokenId| {
                let text = spelt(&vocabulary, **token);
                !text.is_empty() && completion.starts_with(&text)
            };
            let mut ways: Vec<TokenId> = allowed.iter().filter(fits).copied().collect();
            ways.sort_by_key(|token| spelt(&vocabulary, *token).len());
            let special = |t: &&TokenId| vocabulary.kind(**t) != TokenKind::Text;
            match ways.iter().find(special) {
                Some(special) => *special,
                None => ways[chance.below(ways.len())],
            }
        } else {
            allowed[chance.below(allowed.len())]
        };
        if vocabulary.ends().contains(&token) {
            break;
        }
        guide.advance(token).unwrap();
        text.extend(spelt(&vocabulary, token));
    }
    assert!(guide.is_accepting());
    String::from_utf8(text).unwrap()
}

fn weather() -> Content {
    Content::schema(&json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city"],
        "additionalProperties": false
    }))
    .unwrap()
}

const PIECES: [&str; 24] = [
    "<too",
    "<tool_call>",
    "</tool",
    "</tool_call>",
    "_call",
    "l>",
    "ll>x",
    "\"}</",
    "{\"city\": \"",
    "\"}",
    "\"}</tool_call>",
    " the",
    "Hello",
    "é",
    "中",
    "<think>",
    "</think>",
    "nk>",
    "\\u003",
    "3e",
    "</tool_call",
    "1<",
    "<<",
    "\n\n",
];

#[test]
fn tags_keep_the_contract() {
    let plain = vocabulary(&PIECES, &[]);
    let special = vocabulary(
        &PIECES,
        &["<tool_call>", "</tool_call>", "<think>", "</think>"],
    );
    let half = vocabulary(&PIECES, &["<tool_call>", "</think>"]);
    let tag = || Tag::new("<tool_call>", weather(), "</tool_call>");
    let grammars = [
        Tags::new().with_tag(tag()),
        Tags::new().with_tag(tag()).with_count(Count::AT_LEAST_ONE),
        Tags::new()
            .with_tag(tag())
            .with_count(Count::ONE)
            .with_text_limit(5),
        Tags::new()
            .with_tag(Tag::new(
                "<n>",
                Content::regex("[0-9]+(\\.[0-9]+)?").unwrap(),
                "</n>",
            ))
            .with_tag(Tag::new(
                "<x>",
                Content::choice(["<y", "<yes>", "a.c"]).unwrap(),
                "</x>",
            ))
            .with_reasoning("<think>", "</think>", Reasoning::limited(6)),
        Tags::new()
            .with_reasoning("<think>", "</think>", Reasoning::FREE.required())
            .with_answer(Content::schema(&json!({"type": ["number", "string"]})).unwrap()),
        Tags::new()
            .with_tag(tag())
            .with_answer(weather())
            .with_count(Count {
                least: 0,
                most: Some(2),
            }),
        Tags::new().with_tag(Tag::new("◁a▷", Content::text(Some(3)), "◁/a▷")),
    ];
    let beginnings = [
        "<tool_call>{\"city\": \"</tool_cal",
        "a <tool_call>{\"city\": \"x\"}",
        "<tool_cal",
        "<think>abc</thi",
        "<n>12",
        "◁a▷xy",
        "◁",
    ];
    for (at, tags) in grammars.iter().enumerate() {
        for vocabulary in [&plain, &special, &half] {
            let automaton = tags.compile(vocabulary).unwrap();
            let mut scratch = automaton.scratch();
            let fits = |text: &&str| {
                automaton
                    .advance(&mut automaton.start(), text.as_bytes(), &mut scratch)
                    .is_ok()
            };
            let beginnings: Vec<&str> = beginnings.iter().copied().filter(fits).collect();
            let effort = Effort {
                walks: 14,
                tokens: 24,
                seed: 3,
            };
            contract::check(&automaton, vocabulary, &beginnings, effort)
                .unwrap_or_else(|error| panic!("grammar {at}: {error}"));
        }
    }
}

/// The texts of the first characters, by a search without automata.
#[test]
fn tags_are_what_a_plain_reading_says() {
    let none = vocabulary(&[], &[]);
    let any = Tags::new().with_tag(Tag::new("<t>", Content::regex("[ab]*").unwrap(), "</t>"));
    let one = any.clone().with_count(Count::ONE).compile(&none).unwrap();
    let some = any
        .clone()
        .with_count(Count::AT_LEAST_ONE)
        .compile(&none)
        .unwrap();
    let no = any.clone().with_count(Count::NONE).compile(&none).unwrap();
    let any = any.compile(&none).unwrap();
    let pieces = ["<t>", "</t>", "a</t>", "<", "<t>ab</t>", "c", "t>"];
    let mut chance = Chance(7);
    let mut seen = [0; 4];
    for _ in 0..20_000 {
        let parts = (0..chance.below(7)).map(|_| pieces[chance.below(pieces.len())]);
        let text: String = parts.collect();
        // Cut at the markers, one after another.
        let mut rest = text.as_str();
        let mut calls = Some(0);
        while let Some((_, inside)) = rest.split_once("<t>") {
            let cut = inside.split_once("</t>");
            match cut.filter(|(body, _)| body.chars().all(|c| "ab".contains(c))) {
                Some((_, behind)) => {
                    rest = behind;
                    calls = calls.map(|n| n + 1);
                }
                None => {
                    calls = None;
                    break;
                }
            }
        }
        let is = |automaton: &TagAutomaton| automaton.is_match(text.as_bytes());
        assert_eq!(is(&any), calls.is_some(), "{text}");
        assert_eq!(is(&some), calls.is_some_and(|n| n > 0), "{text}");
        assert_eq!(is(&one), calls == Some(1), "{text}");
        assert_eq!(is(&no), calls == Some(0), "{text}");
        seen[calls.map_or(3, |n: usize| n.min(2))] += 1;
    }
    assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
}

#[test]
fn reasoning_ends_at_its_limit() {
    for specials in [&[][..], &["<think>", "</think>"]] {
        let vocabulary = vocabulary(&PIECES, specials);
        let tags = Tags::new()
            .with_reasoning("<think>", "</think>", Reasoning::limited(5).required())
            .compile(&vocabulary)
            .unwrap();
        let mut guide = guide(&tags, &vocabulary);
        let bytes = |text: &str| -> Vec<TokenId> {
            text.bytes().map(|b| TokenId::new(u32::from(b))).collect()
        };
        let marker = |name: &str| match vocabulary.special(name) {
            Some(token) => vec![token],
            None => bytes(name),
        };
        let take = |guide: &mut Guide<TagAutomaton>, tokens: &[TokenId]| {
            tokens.iter().all(|token| guide.advance(*token).is_ok())
        };
        assert!(take(&mut guide, &marker("<think>")));
        assert!(take(&mut guide, &bytes("a中é<😀")));
        let allowed: Vec<TokenId> = guide.mask().iter().collect();
        assert_eq!(
            allowed.len(),
            match specials.is_empty() {
                // `<`, `</tool` and the like are no way to the end.
                true =>
                    1 + PIECES
                        .iter()
                        .filter(|p| "</think>".starts_with(**p))
                        .count(),
                false => 1,
            }
        );
        assert!(take(&mut guide, &marker("</think>")));
        assert!(guide.is_accepting());
        guide.rollback(marker("</think>").len() + 4).unwrap();
        assert!(take(&mut guide, &bytes("b")));
    }
}

#[test]
fn a_special_token_is_never_spelt() {
    let vocabulary = vocabulary(&PIECES, &["<tool_call>", "</tool_call>"]);
    let tags = Tags::new().with_tag(Tag::new("<tool_call>", weather(), "</tool_call>"));
    let automaton = tags.compile(&vocabulary).unwrap();
    let mut guide = guide(&automaton, &vocabulary);
    let spelling = |text: &str| {
        (0..vocabulary.width() as u32)
            .map(TokenId::new)
            .find(|t| vocabulary.token_bytes(*t) == Some(text.as_bytes()))
            .unwrap()
    };
    let open = vocabulary.special("<tool_call>").unwrap();
    let close = vocabulary.special("</tool_call>").unwrap();
    assert!(guide.mask().allows(open) && !guide.mask().allows(close));
    assert!(!guide.mask().allows(spelling("<tool_call>")));
    // The closing marker means nothing here, so it may be said.
    assert!(guide.mask().allows(spelling("</tool_call>")));
    guide.advance(open).unwrap();
    assert!(!guide.mask().allows(open) && !guide.mask().allows(close));
    guide.advance(spelling("{\"city\": \"")).unwrap();
    assert!(!guide.mask().allows(spelling("</tool_call>")));
    assert!(!guide.mask().allows(spelling("\"}</tool_call>")));
    guide.advance(spelling("</tool_call")).unwrap();
    // The last character can be said by its escape.
    for piece in ["\\u003", "3e", "\"}"] {
        if piece == "3e" {
            guide.advance(spelling("e")).unwrap();
        } else {
            guide.advance(spelling(piece)).unwrap();
        }
    }
    assert!(guide.mask().allows(close));
    guide.advance(close).unwrap();
    assert!(guide.is_accepting());
}

/// Where only a marker would do, it is spelt with an escape.
#[test]
fn values_that_are_markers_can_be_said() {
    let vocabulary = vocabulary(&PIECES, &[]);
    for value in ["</tool_call>", "x</tool_call>y", "</tool_call></tool_call>"] {
        let content = Content::schema(&json!({"const": value})).unwrap();
        let tags = Tags::new()
            .with_tag(Tag::new("<tool_call>", content, "</tool_call>"))
            .with_count(Count::ONE);
        let automaton = tags.compile(&vocabulary).unwrap();
        let mut text = Vec::new();
        automaton.completion(&automaton.start(), &mut text);
        assert!(automaton.is_match(&text));
        let text = String::from_utf8(text).unwrap();
        let inside = text.strip_prefix("<tool_call>").unwrap();
        let (inside, rest) = inside.split_once("</tool_call>").unwrap();
        assert!(rest.is_empty());
        assert_eq!(serde_json::from_str::<Value>(inside).unwrap(), value);
        let effort = Effort {
            walks: 12,
            tokens: 30,
            seed: 5,
        };
        contract::check(&automaton, &vocabulary, &["<tool_call>\""], effort).unwrap();
    }
}

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
const SPECIALS: [&str; 33] = [
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
];

/// Texts that tempt: pieces of markers, and markers spelt out.
const TEMPTING: [&str; 40] = [
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
];

/// What is generated in a format is what its parser reads.
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
        let message = template
            .parse_turn(&Turn::after(""), &text)
            .unwrap_or_else(|error| panic!("{what}: {error}: {text:?}"));
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

/// Formats whose calls cannot be bound.
const REFUSED: [Format; 2] = [Format::Gemma, Format::Gemma4];

#[test]
fn what_is_generated_in_a_format_is_what_its_parser_reads() {
    let plain = vocabulary(&TEMPTING, &[]);
    let special = vocabulary(&TEMPTING, &SPECIALS);
    for format in Format::ALL {
        let name = format.name();
        let template = format.template().unwrap();
        let bound = ResponseFormat::named(*format).unwrap();
        let offered = bound.clone().with_tools(&tools()).unwrap();
        if REFUSED.contains(format) {
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
            if ![Format::Llama3, Format::Harmony].contains(format) {
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

/// Templates of the same formats under other anchors, which are then derived.
#[test]
fn other_templates_are_read_as_far_as_they_are_spelt_out() {
    let vocabulary = vocabulary(&TEMPTING, &["<tool_call>", "<|im_end|>"]);
    let mut derived = Vec::new();
    for format in Format::ALL {
        let mut json = format.json();
        // Another closing of the turn makes it another template.
        json["fields"]["content"]["close"] = json!(["<|mine|>"]);
        if let Some(content) = json["fields"]["content"].as_object_mut() {
            content.remove("close_pattern");
        }
        let Ok(template) = ResponseTemplate::new(&json) else {
            continue;
        };
        let shape = ResponseFormat::from_template(&template)
            .and_then(|f| f.with_tools(&tools()))
            .map(|f| f.with_calls(Count::AT_LEAST_ONE))
            .and_then(|f| f.compile(&vocabulary).map(|_| f));
        match shape {
            Ok(shape) => {
                let calls = reads_back(format.name(), &shape, &template, &vocabulary, 25);
                assert!(calls >= 25);
                derived.push(format.name());
            }
            Err(error) => {
                assert_eq!(
                    error.kind(),
                    ErrorKind::Constraint,
                    "{}: {error}",
                    format.name()
                );
            }
        }
    }
    assert_eq!(
        derived,
        [
            "hermes",
            "smollm3",
            "mistral",
            "deepseek-v3",
            "deepseek-v3.1",
            "cohere",
            "phi4-mini"
        ]
    );
    // A template with the fields of a ready-made format is that one.
    for format in Format::ALL {
        let template = format.template().unwrap();
        let own = ResponseFormat::from_template(&template).unwrap();
        let named = ResponseFormat::named(*format).unwrap();
        assert_eq!(format!("{own:?}"), format!("{named:?}"));
    }
}

#[test]
fn what_cannot_be_bound_is_refused_by_name() {
    let vocabulary = vocabulary(&[], &[]);
    let refused = |format: Format, parameters: Value| {
        let tool = json!({"name": "t", "parameters": parameters});
        let format = ResponseFormat::named(format)
            .unwrap()
            .with_tools(&[tool])
            .unwrap();
        format.compile(&vocabulary).unwrap_err().to_string()
    };
    let object = json!({"type": "object"});
    let cases = [
        refused(Format::Gemma, object.clone()),
        refused(Format::Gemma4, object),
        refused(
            Format::Hermes,
            json!({"not": {"type": "object"}, "$ref": "#/nope"}),
        ),
        refused(Format::Glm4, json!({"type": "object", "minProperties": 1})),
        refused(
            Format::Qwen3Coder,
            json!({"type": "object", "required": ["a"]}),
        ),
        refused(
            Format::MiniMaxM2,
            json!({"type": "object", "properties": {"a<b": {}}}),
        ),
        ResponseFormat::named(Format::Llama3)
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
        ResponseFormat::named(Format::Hermes)
            .unwrap()
            .with_calls(Count::ONE)
            .compile(&vocabulary)
            .unwrap_err()
            .to_string(),
        ResponseFormat::named(Format::Hermes)
            .unwrap()
            .with_tools(&[json!({"name": "a b"})])
            .unwrap_err()
            .to_string(),
        Tags::new()
            .with_tag(Tag::new("<a>", weather(), "12"))
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
        ResponseFormat::named(Format::Hermes)
            .unwrap()
            .with_reasoning(Reasoning::limited(8).required())
            .with_answer(Content::choice(["yes", "no"]).unwrap())
            .after(prompt)
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

/// The vocabularies of real models, with their own special tokens.
#[test]
fn real_vocabularies() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("TOKENMOLD_DATA is not set: real vocabularies are skipped");
        return;
    };
    let cases = [
        ("qwen3", Format::Hermes),
        ("qwen3", Format::Qwen3Coder),
        ("llama3_1", Format::Llama3),
        ("gptoss", Format::Harmony),
        ("deepseek_v3", Format::DeepSeekV3),
        ("deepseek_v3", Format::DeepSeekV31),
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
        let calls = reads_back(&what, &some, &format.template().unwrap(), &vocabulary, 4);
        assert!(calls >= 4, "{what}: {calls}");
        let automaton = some.compile(&vocabulary).unwrap();
        let specials: Vec<&str> = automaton.specials().iter().map(|s| &**s).collect();
        assert!(!specials.is_empty() || format == Format::Llama3, "{what}");
        // Free text: the row is known after the first time.
        let mut guide = guide(&automaton, &vocabulary);
        let first = std::time::Instant::now();
        guide.mask();
        let first = first.elapsed();
        let word = (0..vocabulary.width() as u32)
            .map(TokenId::new)
            .find(|t| vocabulary.token_bytes(*t) == Some(b" the"))
            .unwrap();
        let mut slowest = std::time::Duration::ZERO;
        if guide.advance(word).is_ok() {
            guide.mask();
            for _ in 0..50 {
                guide.advance(word).unwrap();
                let began = std::time::Instant::now();
                guide.mask();
                slowest = slowest.max(began.elapsed());
            }
        }
        eprintln!(
            "{what}: {specials:?}; first mask {first:?}, slowest of 50 in free text {slowest:?}"
        );
    }
}

#[test]
fn limits_have_errors_of_their_own() {
    let vocabulary = vocabulary(&[], &[]);
    let tag = |at: usize| {
        let content = Content::text(None);
        Tag::new(format!("<{at}>"), content, format!("</{at}>"))
    };
    let many = (0..40).fold(Tags::new(), |tags, at| tags.with_tag(tag(at)));
    let count = |least| Count {
        least,
        most: Some(least),
    };
    let error = |tags: &Tags| tags.compile(&vocabulary).unwrap_err();
    let parts = error(&many.clone().with_count(count(MAX_COUNT)));
    assert!(
        parts.to_string().contains(&MAX_PARTS.to_string()),
        "{parts}"
    );
    let counted = error(&many.clone().with_count(count(MAX_COUNT + 1)));
    assert_eq!(counted.kind(), ErrorKind::InvalidParameter);
    assert!(many.with_count(count(8)).compile(&vocabulary).is_ok());
    let wide = Content::regex("[ab]*a[ab]{13}").unwrap();
    let states = error(&Tags::new().with_tag(Tag::new("<a>", wide, "</a>")));
    let most = MAX_QUIET_STATES.to_string();
    assert!(states.to_string().contains(&most), "{states}");
}
