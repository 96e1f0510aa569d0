//! The shared cases of checking data: no text that a grammar takes ends in a limit.

use std::sync::Arc;

use fsm_index::{Guide, Index, IndexConfig, MaskBuffer, TokenId, VocabularyBuilder};
use grammar::{Config, ErrorKind, Grammar};

use crate::common;

/// Texts of one case that are led, at most, and bytes of each.
const TEXTS: usize = 3;
const BYTES: usize = 120;

#[test]
fn texts_of_the_shared_cases_end_in_no_limit() {
    let Some(cases) = common::cases() else {
        return;
    };
    let mut builder = VocabularyBuilder::new();
    for byte in 0..=255u8 {
        builder.text(TokenId::new(byte.into()), [byte]).unwrap();
    }
    builder.end(TokenId::new(256)).unwrap();
    let vocabulary = builder.build().unwrap();
    let mut led = 0;
    for case in cases.iter().filter(|case| !case.is_refused) {
        let automaton = match Grammar::compile(&case.grammar, case.dialect, &Config::default()) {
            Ok(automaton) => automaton,
            Err(error) => {
                let kind = error.kind();
                assert_ne!(kind, ErrorKind::LimitExceeded, "{}: {error}", case.id);
                continue;
            }
        };
        // A special token that the vocabulary lacks is refused there.
        let Ok(index) = Index::lazy(automaton, &vocabulary, &IndexConfig::default()) else {
            continue;
        };
        let index = Arc::new(index);
        let mut buffer = MaskBuffer::new(vocabulary.width());
        for text in case.accepted().take(TEXTS) {
            let mut guide = Guide::new(Arc::clone(&index));
            for byte in text.bytes().take(BYTES) {
                if let Err(error) = guide.write_mask(&mut buffer) {
                    panic!("{}: {text:?}: {error}", case.id);
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
