//! Masks of the shared cases of checking data, with tokens of a real vocabulary, are those of
//! trying each token.

use std::path::Path;

use fsm_index::contract::{Effort, check};
use fsm_index::{TokenId, Vocabulary, VocabularyBuilder};
use grammar::{Config, Dialect, Grammar};
use serde_json::Value;

/// Smaller grammars have tests of their own.
const LEAST_BYTES: usize = 400;

/// Texts of one case that are begun, at most.
const TEXTS: usize = 6;

/// Single bytes, and of other tokens some: most of those with signs of programs.
fn sample(all: &Vocabulary) -> Vocabulary {
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        builder.text(TokenId::new(byte.into()), [byte]).unwrap();
    }
    let mut next = 256;
    for id in 0..all.width() as u32 {
        let Some(bytes) = all.token_bytes(TokenId::new(id)) else {
            continue;
        };
        let has_signs = bytes.iter().any(|byte| b"(){};.=<>,\"".contains(byte));
        let counts = id < 1_500 || id % 17 == 3 || has_signs && id % 4 == 0;
        if bytes.len() > 1 && counts {
            builder.text(TokenId::new(next), bytes).unwrap();
            next += 1;
        }
    }
    builder.end(TokenId::new(next)).unwrap();
    builder.build().unwrap()
}

#[test]
fn masks_of_the_shared_cases_are_exact() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA is not set");
        return;
    };
    let data = Path::new(&data);
    let tokenizer = std::fs::read(data.join("tokenizers/llama3_1/tokenizer.json"));
    let cases = std::fs::read_to_string(data.join("goldens/grammars-dev.jsonl"));
    let (Ok(tokenizer), Ok(cases)) = (tokenizer, cases) else {
        eprintln!("skipped: there are no cases, or no tokenizer");
        return;
    };
    let vocabulary = sample(&Vocabulary::from_tokenizer_json(&tokenizer).unwrap());
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let grammar = case["grammar"].as_str().unwrap();
        if case["error"] == true || grammar.len() < LEAST_BYTES {
            continue;
        }
        let dialect = match (case["dialect"].as_str(), case["lexing"].as_str()) {
            (Some("gbnf"), _) => Dialect::Gbnf,
            (Some("ebnf"), _) => Dialect::Ebnf,
            (Some("lark"), Some("greedy")) => Dialect::Lark,
            (Some("lark"), _) => Dialect::LarkSplits,
            _ => Dialect::LarkAscii,
        };
        let Ok(automaton) = Grammar::compile(grammar, dialect, &Config::default()) else {
            continue;
        };
        let texts = case["texts"].as_array().unwrap().iter();
        let texts = texts.filter(|text| text["accept"] == true).take(TEXTS);
        let beginnings: Vec<&str> = (1..)
            .zip(texts)
            .map(|(part, text)| {
                let text = text["text"].as_str().unwrap();
                let end = (text.len() * part / (TEXTS + 1)).min(200);
                &text[..text.floor_char_boundary(end)]
            })
            .collect();
        let effort = Effort {
            walks: TEXTS + 1,
            tokens: 7,
            seed: 5,
        };
        let said = check(&automaton, &vocabulary, &beginnings, effort);
        assert_eq!(said, Ok(()), "{}", case["id"]);
    }
}
