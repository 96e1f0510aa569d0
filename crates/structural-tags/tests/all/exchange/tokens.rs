//! Masks over tokens: the contract of automata, and formats of tokens.

use std::sync::Arc;

use fsm_index::contract::{self, Effort};
use fsm_index::{ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, Vocabulary};
use serde_json::{Value, json};
use structural_tags::TagAutomaton;

use super::{compile, refusal, vocabulary};

fn guide(automaton: TagAutomaton, vocabulary: &Vocabulary) -> Guide<TagAutomaton> {
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    Guide::new(Arc::new(Index::lazy(automaton, vocabulary, &lazy).unwrap()))
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}}
        },
        "required": ["city"]
    })
}

/// Texts that tokens have.
pub(super) const TEXTS: &[&str] = &[
    "</",
    "<f",
    "ab",
    "\":",
    "\"}",
    "{\"",
    "city",
    ": ",
    "é",
    "parameter",
    "x>",
    "!!",
];

/// Special tokens.
pub(super) const SPECIALS: &[&str] = &["<|call|>", "<|end|>"];

/// Tags of all kinds.
pub(super) fn formats() -> Vec<Value> {
    let call = |begin: &str, style: &str, end: &str| {
        json!({"type": "tag", "begin": begin, "end": end, "content": {
            "type": "json_schema", "json_schema": weather(), "style": style}})
    };
    vec![
        json!({"type": "triggered_tags", "triggers": ["<f"], "excludes": ["bad"],
            "tags": [call("<f>", "json", "</f>"), call("<fx>", "json", "}")]}),
        json!({"type": "sequence", "elements": [
            {"type": "tag", "begin": "", "content": {"type": "any_text", "max_chars": 20},
                "end": "</t>"},
            call("<|call|>", "qwen_xml", "<|end|>")]}),
        json!({"type": "tags_with_separator", "separator": ", ", "at_least_one": true,
            "tags": [call("a", "glm_xml", ""), call("b", "deepseek_xml", "!")]}),
        call("<", "cohere_xml", ">"),
        call("", "kimi_k3_xml", ""),
        json!({"type": "dispatch", "rules": [["!", {"type": "regex", "pattern": "[ab]{1,3}"}],
            ["!!", {"type": "json_schema", "json_schema": {"type": "number"}}]]}),
        json!({"type": "sequence", "elements": [{"type": "any_text"},
            {"type": "json_schema", "json_schema": {"type": "array"}}]}),
        json!({"type": "plus", "content": {"type": "json_schema",
            "json_schema": {"type": ["number", "object"]}, "style": "json"}}),
        json!({"type": "json_schema", "json_schema": true, "style": "cohere_xml"}),
    ]
}

/// Beginnings of their texts.
pub(super) const BEGINNINGS: [&str; 6] = [
    "<f>{\"city\"",
    "x</t><|call|>\n<parameter=city>",
    "a<arg_key>city</arg_key>",
    "<<cofl:value name=\"",
    "!!12",
    "{\"a\":",
];

/// The beginnings that an automaton takes.
pub(super) fn begun(automaton: &TagAutomaton) -> Vec<&'static str> {
    let is_taken = |text: &&str| {
        let mut state = automaton.start();
        let mut scratch = automaton.scratch();
        let taken = automaton.advance(&mut state, text.as_bytes(), &mut scratch);
        taken.is_ok()
    };
    BEGINNINGS.into_iter().filter(is_taken).collect()
}

/// Tags of all kinds keep what every automaton promises: masks by hints are masks by brute
/// force, and nothing that was begun is without an end.
#[test]
fn tags_keep_the_contract() {
    let vocabulary = vocabulary(TEXTS, SPECIALS);
    let effort = Effort {
        walks: 12,
        tokens: 24,
        ..Effort::default()
    };
    for format in formats() {
        let automaton = compile(&format, &vocabulary);
        let begun = begun(&automaton);
        if let Err(difference) = contract::check(&automaton, &vocabulary, &begun, effort) {
            panic!("{format}: {difference}");
        }
    }
}

fn tokens_of(guide: &mut Guide<TagAutomaton>) -> Vec<u32> {
    let mask = guide.mask().unwrap();
    mask.iter().map(TokenId::get).collect()
}

const CALL: TokenId = TokenId::new(257);
const END: TokenId = TokenId::new(258);

fn of_tokens() -> Vocabulary {
    vocabulary(&["ab"], &["<|call|>", "<|end|>"])
}

/// A token is met by its number alone, a text by whatever spells it.
#[test]
fn tokens_and_their_texts() {
    let vocabulary = of_tokens();
    let token = json!({"type": "token", "token": "<|call|>"});
    let mut met = guide(compile(&token, &vocabulary), &vocabulary);
    assert_eq!(tokens_of(&mut met), [CALL.get()]);
    met.advance(CALL).unwrap();
    assert!(met.is_accepting());
    assert!(!met.index().automaton().is_match(b"<|call|>"));

    let text = json!({"type": "const_string", "value": "<|call|>x"});
    let mut met = guide(compile(&text, &vocabulary), &vocabulary);
    assert_eq!(tokens_of(&mut met), [u32::from(b'<'), CALL.get()]);
    met.advance(CALL).unwrap();
    met.advance(TokenId::new(b'x'.into())).unwrap();
    assert!(met.is_finished());
    assert!(met.index().automaton().is_match(b"<|call|>x"));
}

/// Budgets of tokens count tokens that a run takes part in, and the end is not one of them.
#[test]
fn budgets_of_tokens() {
    let vocabulary = of_tokens();
    let text = json!({"type": "tag", "begin": "", "end": "!",
        "content": {"type": "any_text", "max_tokens": 2}});
    let mut met = guide(compile(&text, &vocabulary), &vocabulary);
    for token in [256, 256] {
        met.advance(TokenId::new(token)).unwrap();
    }
    assert_eq!(tokens_of(&mut met), [u32::from(b'!')]);
    met.rollback(1).unwrap();
    assert!(tokens_of(&mut met).len() > 250);

    let tokens = json!({"type": "tag", "begin": {"type": "token", "token": 257},
        "content": {"type": "any_tokens", "max_tokens": 1},
        "end": {"type": "token", "token": 258}});
    let mut met = guide(compile(&tokens, &vocabulary), &vocabulary);
    met.advance(CALL).unwrap();
    met.advance(TokenId::new(256)).unwrap();
    assert_eq!(tokens_of(&mut met), [END.get()]);
    met.advance(END).unwrap();
    assert!(met.is_finished());
}

/// Where exactly one token must come, the completion names one.
#[test]
fn one_token_can_be_completed() {
    let vocabulary = of_tokens();
    let format = json!({"type": "tag", "begin": {"type": "token", "token": 257},
        "content": {"type": "exclude_token"}, "end": {"type": "token", "token": 258}});
    let met = guide(compile(&format, &vocabulary), &vocabulary);
    let text = met.completion().unwrap();
    assert!(
        text.starts_with(b"<|call|>") && text.ends_with(b"<|end|>"),
        "{text:?}"
    );
}

/// Formats of tokens tell special tokens from others; what they cannot is refused by name.
#[test]
fn tokens_that_are_text_are_refused() {
    let vocabulary = of_tokens();
    for (token, why) in [
        (json!(97), "token 97 is text"),
        (json!("ab"), "token 256 is text"),
        (json!(9999), "no token 9999"),
        (json!("nope"), "no token \"nope\""),
    ] {
        let said = refusal(&json!({"type": "token", "token": token}), &vocabulary);
        assert!(
            said.contains(why) && said.contains("/format/token"),
            "{said}"
        );
    }
}

/// With a real vocabulary: rows that the same schema has bare are with the vocabulary by then,
/// and must not be taken for those of the tag, in which something follows the value.
#[test]
fn masks_in_tags_are_not_those_of_bare_schemas() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA names no folder of checking data");
        return;
    };
    let file = std::path::Path::new(&data).join("tokenizers/llama2/tokenizer.json");
    let vocabulary = Vocabulary::from_tokenizer_json(&std::fs::read(&file).unwrap()).unwrap();
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    }, "required": ["city", "tags", "more"]});
    let text = r#"{"city": "Ulm", "tags": ["a", "b"], "more": {"n": 12}}"#;
    let bare = json!({"type": "json_schema", "json_schema": schema});
    let tag = |begin: &str, end: &str| json!({"type": "tag", "begin": begin, "content": bare, "end": end});
    let effort = Effort {
        walks: 3,
        tokens: 3,
        ..Effort::default()
    };
    for (format, begin) in [
        (bare.clone(), ""),
        (tag("<c>", "}"), "<c>"),
        (tag("<c>", "</c>"), "<c>"),
        (tag("", ""), ""),
        (bare.clone(), ""),
    ] {
        let automaton = compile(&format, &vocabulary);
        let whole = format!("{begin}{text}");
        // Where the value is about to end, inside of its strings, and behind it.
        let cuts = [
            whole.len(),
            whole.len() - 1,
            whole.len() - 3,
            20 + begin.len(),
        ];
        let beginnings: Vec<&str> = cuts.iter().map(|&at| &whole[..at]).collect();
        let effort = Effort {
            walks: beginnings.len() + 1,
            ..effort
        };
        if let Err(difference) = contract::check(&automaton, &vocabulary, &beginnings, effort) {
            panic!("{format}: {difference}");
        }
    }
}
