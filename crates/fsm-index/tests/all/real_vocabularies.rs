//! Real tokenizers, where the checking data is at hand (`TOKENMOLD_DATA`).

use std::path::PathBuf;
use std::sync::Arc;

use fsm_index::{
    ByteAutomaton, Config, Fill, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary,
    brute_force_mask,
};

/// A JSON object with a free string, as a regular expression.
const PATTERN: &str =
    r#"\{"name": "(?:[^"\\\x00-\x1f]|\\["\\bfnrt])*", "age": (?:0|[1-9][0-9]{0,2})\}"#;

fn tokenizer(name: &str) -> Option<Vocabulary> {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA is not set, so {name} is not read");
        return None;
    };
    let path = PathBuf::from(data)
        .join("tokenizers")
        .join(name)
        .join("tokenizer.json");
    let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(Vocabulary::from_tokenizer_json(&json).unwrap())
}

fn names(vocabulary: &Vocabulary) -> Vec<String> {
    let name = |&t| String::from_utf8_lossy(vocabulary.token_name(t).unwrap()).into_owned();
    vocabulary.ends().iter().map(name).collect()
}

/// Spells a text by the longest tokens first.
fn spell(vocabulary: &Vocabulary, text: &str) -> Vec<TokenId> {
    let mut by_bytes: std::collections::HashMap<&[u8], TokenId> = std::collections::HashMap::new();
    for (id, bytes) in vocabulary.texts() {
        by_bytes.entry(bytes).or_insert(id);
    }
    let mut rest = text.as_bytes();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let len = (1..=rest.len())
            .rev()
            .find(|&n| by_bytes.contains_key(&rest[..n]))
            .unwrap();
        tokens.push(by_bytes[&rest[..len]]);
        rest = &rest[len..];
    }
    tokens
}

/// Every mask along a text equals the slow one, and the text is accepted.
fn follow(vocabulary: &Vocabulary) {
    let config = Config::default();
    let lazy = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    let index = Arc::new(Index::with_config(PATTERN, vocabulary, &config, &lazy).unwrap());
    let automaton = index.automaton();
    let mut state = automaton.start();
    let mut guide = Guide::new(index.clone());
    for token in spell(vocabulary, r#"{"name": "Zoë \"中文\" O'Hara", "age": 42}"#) {
        assert_eq!(
            guide.mask().unwrap(),
            &brute_force_mask(automaton, &state, vocabulary)
        );
        assert!(guide.mask().unwrap().allows(token));
        guide.advance(token).unwrap();
        let bytes = vocabulary.token_bytes(token).unwrap();
        automaton.advance(&mut state, bytes, &mut ()).unwrap();
    }
    assert!(guide.is_accepting() && guide.is_finished());
    assert_eq!(guide.allowed_tokens().unwrap(), vocabulary.ends());
}

#[test]
fn llama3_1_is_byte_level() {
    let Some(vocabulary) = tokenizer("llama3_1") else {
        return;
    };
    assert_eq!(vocabulary.width(), 128_256);
    assert!(vocabulary.missing_bytes().is_empty());
    assert_eq!(names(&vocabulary), ["<|end_of_text|>", "<|eot_id|>"]);
    assert_eq!(vocabulary.token_bytes(TokenId::new(220)), Some(&b" "[..]));
    follow(&vocabulary);
}

#[test]
fn qwen3_marks_structure_with_added_tokens_that_are_not_special() {
    let Some(vocabulary) = tokenizer("qwen3") else {
        return;
    };
    let marker = vocabulary.special("<tool_call>").unwrap();
    assert_eq!(vocabulary.kind(marker), TokenKind::Special);
    assert_eq!(names(&vocabulary), ["<|endoftext|>", "<|im_end|>"]);
    follow(&vocabulary);
    let padded = vocabulary.with_width(151_936).unwrap();
    assert_ne!(padded.fingerprint(), vocabulary.fingerprint());
    assert_eq!(padded.kind(TokenId::new(151_900)), TokenKind::Absent);
    follow(&padded);
}

#[test]
fn llama2_and_gemma3_are_metaspace_with_byte_fallback() {
    let Some(llama2) = tokenizer("llama2") else {
        return;
    };
    assert!(llama2.missing_bytes().is_empty());
    assert_eq!(llama2.token_bytes(TokenId::new(3)), Some(&b"\0"[..]));
    follow(&llama2);
    let Some(gemma3) = tokenizer("gemma3") else {
        return;
    };
    assert!(gemma3.missing_bytes().is_empty());
    // Runs of newlines are added tokens, and text all the same.
    assert!(gemma3.texts().any(|(_, bytes)| bytes == b"\n\n\n"));
    assert_eq!(gemma3.special("<end_of_turn>"), Some(gemma3.ends()[1]));
    follow(&gemma3);
}

#[test]
fn the_other_tokenizers_are_read_too() {
    for name in ["gptoss", "deepseek_v3"] {
        let Some(vocabulary) = tokenizer(name) else {
            return;
        };
        assert!(vocabulary.missing_bytes().is_empty(), "{name}");
        assert!(!vocabulary.ends().is_empty(), "{name}");
        follow(&vocabulary);
    }
}
