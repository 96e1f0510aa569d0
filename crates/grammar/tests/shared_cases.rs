//! The shared cases of checking data: no text that a grammar takes ends in a limit.

use std::path::Path;
use std::sync::Arc;

use fsm_index::{Guide, Index, IndexConfig, MaskBuffer, TokenId, VocabularyBuilder};
use grammar::{Config, Dialect, ErrorKind, Grammar};
use serde_json::Value;

/// Texts of one case that are led, at most, and bytes of each.
const TEXTS: usize = 3;
const BYTES: usize = 120;

#[test]
fn texts_of_the_shared_cases_end_in_no_limit() {
    let Some(data) = std::env::var_os("TOKENMOLD_DATA") else {
        eprintln!("skipped: TOKENMOLD_DATA is not set");
        return;
    };
    let file = Path::new(&data).join("goldens/grammars-dev.jsonl");
    let Ok(cases) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: there is no {}", file.display());
        return;
    };
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        builder.text(TokenId::new(byte.into()), [byte]).unwrap();
    }
    builder.end(TokenId::new(256)).unwrap();
    let vocabulary = builder.build().unwrap();
    let mut led = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        if case["error"] == true {
            continue;
        }
        let dialect = match (case["dialect"].as_str(), case["lexing"].as_str()) {
            (Some("gbnf"), _) => Dialect::Gbnf,
            (Some("ebnf"), _) => Dialect::Ebnf,
            (Some("lark"), Some("greedy")) => Dialect::Lark,
            (Some("lark"), _) => Dialect::LarkSplits,
            _ => Dialect::LarkAscii,
        };
        let text = case["grammar"].as_str().unwrap_or_default();
        let automaton = match Grammar::compile(text, dialect, &Config::default()) {
            Ok(automaton) => automaton,
            Err(error) => {
                assert_ne!(
                    error.kind(),
                    ErrorKind::LimitExceeded,
                    "{}: {error}",
                    case["id"]
                );
                continue;
            }
        };
        // A special token that the vocabulary lacks is refused there.
        let Ok(index) = Index::lazy(automaton, &vocabulary, &IndexConfig::default()) else {
            continue;
        };
        let index = Arc::new(index);
        let texts = case["texts"].as_array().map_or(&[][..], Vec::as_slice);
        let accepted = texts.iter().filter(|text| text["accept"] == true);
        let mut buffer = MaskBuffer::new(vocabulary.width());
        for text in accepted
            .take(TEXTS)
            .filter_map(|text| text["text"].as_str())
        {
            let mut guide = Guide::new(Arc::clone(&index));
            for byte in text.bytes().take(BYTES) {
                if let Err(error) = guide.write_mask(&mut buffer) {
                    panic!("{}: {text:?}: {error}", case["id"]);
                }
                // What the peers take beyond a grammar is told by `conformance`.
                if guide.advance(TokenId::new(byte.into())).is_err() {
                    break;
                }
                led += 1;
            }
        }
    }
    assert!(led > 10_000, "{led} bytes");
}
