//! Tokenizer files with bytes changed at random are read or refused, and never more.

#![cfg(all(feature = "tokenizer-json", feature = "tiktoken"))]

use fsm_index::{ErrorKind, Vocabulary};
use proptest::prelude::*;

const BYTE_LEVEL: &str = r#"{"added_tokens": [{"id": 9, "content": "<s>", "special": true},
    {"id": 10, "content": "</s>", "special": true}, {"id": 11, "content": "x y", "special": false}],
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]},
    "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE",
    "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ċ": 4, "é": 5}, "merges": ["a b"]}}"#;

const METASPACE: &str = r#"{"added_tokens": [{"id": 0, "content": "<unk>", "special": true}],
    "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"},
    "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    "model": {"type": "Unigram", "byte_fallback": true,
    "vocab": [["<unk>", 0.0], ["<0x0A>", -1.0], ["▁a", -2.0], ["<0xZZ>", -3.0], ["b", -4.0]]}}"#;

const RANKS: &str = "YQ== 0\nYg== 1\nYWI= 2\n\nIA== 3\nCg== 4\n";

/// Changes of a file: where (as a share of its length), what, and which byte.
fn changes() -> impl Strategy<Value = Vec<(f64, u8, u8)>> {
    prop::collection::vec((0.0..1.0f64, 0..6u8, any::<u8>()), 1..8)
}

fn damaged(file: &str, changes: &[(f64, u8, u8)]) -> Vec<u8> {
    let mut bytes = file.as_bytes().to_vec();
    for &(place, kind, byte) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = ((place * bytes.len() as f64) as usize).min(bytes.len() - 1);
        match kind {
            0 => bytes[at] = byte,
            1 => bytes[at] ^= 1 << (byte % 8),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, b"\"{}[]0,:-9e."[byte as usize % 12]),
            4 => bytes.truncate(at),
            // A number, say, becomes one of very many digits.
            _ => {
                bytes = [
                    &bytes[..at],
                    &bytes[at..=at].repeat(byte as usize),
                    &bytes[at..],
                ]
                .concat();
            }
        }
    }
    bytes
}

/// A vocabulary that was read can be used.
fn used(read: Result<Vocabulary, fsm_index::Error>) {
    match read {
        Ok(vocabulary) => {
            let index = fsm_index::Index::new("[ab]{0,3}", &vocabulary);
            if let Ok(index) = index {
                let guide = fsm_index::Guide::new(std::sync::Arc::new(index));
                let _ = guide.allowed_tokens();
                let _ = guide.forced_bytes();
            }
        }
        Err(error) => {
            assert!(matches!(
                error.kind(),
                ErrorKind::Vocabulary | ErrorKind::LimitExceeded | ErrorKind::CannotSpell
            ));
            assert!(error.to_string().len() < 1_200);
        }
    }
}

proptest! {
    #[test]
    fn damaged_files_are_read_or_refused(changes in changes()) {
        for file in [BYTE_LEVEL, METASPACE] {
            used(Vocabulary::from_tokenizer_json(&damaged(file, &changes)));
        }
        used(Vocabulary::from_tiktoken(&damaged(RANKS, &changes), &[], &[]));
    }
}

/// An error quotes what it speaks of, which can be all of a file.
#[test]
fn messages_are_cut() {
    let long = "z".repeat(1 << 20);
    let file = BYTE_LEVEL.replace("\"a\": 0", &format!("\"{long}\": -1"));
    let error = Vocabulary::from_tokenizer_json(file.as_bytes()).unwrap_err();
    assert!(
        error.to_string().len() < 1_200,
        "{}",
        error.to_string().len()
    );
}
