//! Texts begun under masks, and finished. For example, 40 random tokens of those that masks allow,
//! and then the shortest way to an end: the whole must be valid.

use std::path::Path;
use std::sync::Arc;

use fsm_index::{
    Budget, ByteAutomaton, Fill, Guide, Index, IndexConfig, TokenId, TokenKind, Vocabulary,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::harness::seen::Seen;

/// The number of texts for each vocabulary: few, because every schema is walked so.
const TEXTS: u64 = 6;

/// The number of tokens of each text before it is finished: enough to be inside of several values,
/// because the end must be found from there.
const TOKENS: usize = 40;

/// The longest way to finish a text that is followed, in bytes. Longer ones are not followed,
/// because `minLength` may ask for gigabytes.
const LONGEST: usize = 1 << 16;

/// A token for each byte, and some that JSON is often cut into.
pub(crate) fn small() -> Result<Vocabulary, fsm_index::Error> {
    let pieces = [
        "{\"",
        "\":",
        "\": ",
        "\",",
        "\", \"",
        "\"}",
        "\"]",
        "[\"",
        "[{",
        "}]",
        "},",
        "}}",
        "],",
        "null",
        "true",
        "false",
        "-1",
        "10",
        "12",
        "00",
        "0.",
        ".5",
        "e1",
        "aa",
        "ab",
        "abc",
        "\\u",
        "\\n",
        "\\\"",
        "é",
        "да",
        "红",
        "绿",
        "\u{1F600}",
        "name",
        "type",
        "kind",
        "value",
        "  ",
    ];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = bytes.chain(pieces.map(|piece| piece.as_bytes().to_vec()));
    let tokens = tokens.zip((0..).map(TokenId::new));
    Vocabulary::new(tokens, [TokenId::new(1_000)])
}

/// The small vocabulary, and a real one if there is one.
pub(crate) fn vocabularies(real: Option<&Path>, seen: &mut Seen) -> Vec<Vocabulary> {
    let mut vocabularies = Vec::new();
    match small() {
        Ok(small) => vocabularies.push(small),
        Err(error) => seen.wrong(format!("the small vocabulary: {error}")),
    }
    if let Some(path) = real {
        match tokenmold_benches::program::vocabulary(path) {
            Ok(vocabulary) => {
                vocabulary.prepare(fsm_index::JSON_TEXT);
                vocabularies.push(vocabulary);
            }
            Err(error) => seen.wrong(error),
        }
    }
    vocabularies
}

/// Returns the judge that asks an automaton itself for a finished text as a whole, which masks do not
/// see.
pub(crate) fn takes<A: ByteAutomaton>(automaton: &A) -> impl Fn(&[u8]) -> Result<(), String> {
    |text| match fsm_index::is_match(automaton, text) {
        true => Ok(()),
        false => Err("a finished text is not accepted".to_owned()),
    }
}

/// Makes the index that is walked.
type MakeIndex<'i, A> =
    dyn Fn(&Vocabulary, &IndexConfig) -> Result<Index<A>, fsm_index::Error> + 'i;

/// Begins texts under masks and finishes them; `is_right` judges what comes out.
pub(crate) fn texts<A: ByteAutomaton>(
    index: &MakeIndex<'_, A>,
    vocabularies: &[Vocabulary],
    seen: &mut Seen,
    is_right: &dyn Fn(&[u8]) -> Result<(), String>,
) {
    let config = IndexConfig {
        fill: Fill::Lazy,
        ..IndexConfig::default()
    };
    for vocabulary in vocabularies {
        let outcome = seen.outcome.clone();
        let index = seen.call(|| index(vocabulary, &config));
        let Some(index) = index else { return };
        seen.outcome = outcome;
        let index = Arc::new(index);
        for seed in 0..TEXTS {
            let guide = Guide::new(Arc::clone(&index));
            if let Err(wrong) = one_text(guide, seed, seen, is_right) {
                seen.wrong(wrong);
                return;
            }
        }
    }
}

fn one_text<A: ByteAutomaton>(
    mut guide: Guide<A>,
    seed: u64,
    seen: &mut Seen,
    is_right: &dyn Fn(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = Vec::new();
    let vocabulary = guide.index().vocabulary().clone();
    let shown = |text: &[u8]| {
        let from = text.len().saturating_sub(60);
        String::from_utf8_lossy(&text[from..]).into_owned()
    };
    for _ in 0..TOKENS {
        let allowed: Vec<TokenId> = match seen.mask(|| {
            guide
                .mask_within(&Budget::steps(50_000_000))
                .map(|mask| mask.iter().collect())
        }) {
            Ok(allowed) => allowed,
            Err(error) => {
                // Called off by its budget, which is an answer.
                seen.outcome = format!("a mask is refused: {error}");
                return Ok(());
            }
        };
        let texts: Vec<TokenId> = allowed
            .into_iter()
            .filter(|&token| vocabulary.kind(token) == TokenKind::Text)
            .collect();
        let Some(&token) = texts.get(random.random_range(0..texts.len().max(1))) else {
            if guide.is_accepting() {
                return is_right(&text);
            }
            return Err(format!("a dead end behind `{}`", shown(&text)));
        };
        guide
            .advance(token)
            .map_err(|error| format!("an allowed token is refused: {error}"))?;
        text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
    }
    let rest = match seen.timed(|| guide.completion()) {
        Ok(rest) => rest,
        Err(error) => {
            // It is longer than anybody waits for, which is an answer.
            seen.outcome = format!("a completion is refused: {error}");
            return Ok(());
        }
    };
    let automaton = guide.index().automaton();
    let mut state = guide.state().clone();
    let finished = automaton.advance(&mut state, &rest, &mut automaton.scratch());
    if finished.is_err() || !automaton.is_accepting(&state) {
        let behind = shown(&text);
        return Err(format!(
            "no end behind `{behind}`: completion of {} bytes does not complete",
            rest.len()
        ));
    }
    text.extend_from_slice(&rest);
    match text.len() > LONGEST {
        true => Ok(()),
        false => is_right(&text).map_err(|wrong| format!("{wrong}: `{}`", shown(&text))),
    }
}
