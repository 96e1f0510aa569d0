//! Saved indexes, damaged with a check sum that fits. For example, words of a saved index of `abc`
//! are overwritten and the check sum is computed anew, so that only the reader's other checks can
//! find it.

use std::sync::Arc;

use fsm_index::{Budget, ByteAutomaton as _, Guide, Index, Vocabulary};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use xxhash_rust::xxh3::xxh3_128;

use crate::harness::case::Case;
use crate::harness::seen::Seen;
use crate::harness::walk;
use crate::tokenizers::damaged;

/// The range of the check sum in a saved index. It covers the bytes behind it, so that a forger has
/// to write it anew.
const SUM: std::ops::Range<usize> = 40..56;

/// The expressions whose indexes are damaged: few, because each is damaged by many seeds, and of
/// different shapes.
const PATTERNS: &[&str] = &[
    "abc",
    "[a-cé]{2}x?",
    r#"\{"a":(?:true|[0-9]{1,9})\}"#,
    "(?:a|b){0,90}",
    r"\p{L}+",
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for pattern in PATTERNS {
        for seed in 0..12 {
            cases.push(Case::new(
                "index",
                format!("of {pattern}, forged {seed}"),
                move |seen| run(pattern, &|bytes| forged(bytes, seed), seen),
            ));
        }
        cases.push(Case::new(
            "index",
            format!("of {pattern}, cut"),
            move |seen| {
                run(
                    pattern,
                    &|mut bytes| {
                        bytes.truncate(bytes.len() / 2);
                        bytes
                    },
                    seen,
                );
            },
        ));
        cases.push(Case::new(
            "index",
            format!("of {pattern}, damaged"),
            move |seen| {
                run(pattern, &|bytes| damaged(bytes, 7), seen);
            },
        ));
        cases.push(Case::new(
            "index",
            format!("of {pattern}, counts of billions"),
            move |seen| {
                run(
                    pattern,
                    &|mut bytes| {
                        bytes[56..96].fill(0xFF);
                        sealed(bytes)
                    },
                    seen,
                );
            },
        ));
    }
    cases
}

/// Some words behind the header changed.
fn forged(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..random.random_range(1..8u32) {
        let at = random.random_range(14..bytes.len() / 4) * 4;
        let word: u32 = match random.random_range(0..4u32) {
            0 => 0,
            1 => random.random_range(0..5),
            2 => u32::MAX,
            _ => random.random(),
        };
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    sealed(bytes)
}

/// With the check sum of what it holds now.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh3_128(&bytes[SUM.end..]).to_le_bytes();
    bytes[SUM].copy_from_slice(&sum);
    bytes
}

fn run(pattern: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>, seen: &mut Seen) {
    let saved = walk::small().and_then(|vocabulary| {
        let bytes = Index::new(pattern, &vocabulary)?.to_bytes()?;
        Ok((vocabulary, bytes))
    });
    let (vocabulary, bytes): (Vocabulary, Vec<u8>) = match saved {
        Ok(saved) => saved,
        Err(error) => return seen.wrong(error.to_string()),
    };
    let bytes = change(bytes);
    seen.begin();
    let Some(index) = seen.call(|| Index::from_bytes(&bytes, &vocabulary)) else {
        return;
    };
    let mut guide = Guide::new(Arc::new(index));
    for _ in 0..20 {
        let rest = match seen.mask(|| guide.completion()) {
            Ok(rest) => rest,
            Err(error) => return seen.wrong(error.to_string()),
        };
        let forced = seen.mask(|| guide.forced_bytes());
        if forced.len() > rest.len() {
            seen.wrong("more is forced than a completion has");
        }
        let automaton = guide.index().automaton();
        let mut state = *guide.state();
        let completed = automaton.advance(&mut state, &rest, &mut ());
        if completed.is_err() || !automaton.is_accepting(&state) {
            seen.wrong("a completion does not complete");
        }
        let mask = seen.mask(|| {
            let mask = guide.mask_within(&Budget::steps(10_000_000));
            mask.map(|mask| mask.iter().next())
        });
        let Ok(Some(token)) = mask else { return };
        if guide.advance(token).is_err() {
            return;
        }
    }
}
