//! Our own under a vocabulary that lacks bytes, and under the same with a token more for each of
//! these, by the styles of white space: what missing bytes cost.
//!
//! For example, `spelling-flexible` beside `spelling-flexible+bytes`.

use fsm_index::Vocabulary;
use schema_regex::Whitespace;

use super::Setup;
use super::tokenmold::Tokenmold;

/// The bytes, those aside that no UTF-8 has, that the tokenizer of SmolLM2 has in no token:
/// they are taken from vocabularies that lack none.
const RARE: &[u8] = b"\x04\x06\x13\x14\x16\x1D\xF1\xF2";

/// The ending of the names that mean the vocabulary with all bytes, so that the two of a pair
/// differ by it alone.
const FILLED: &str = "+bytes";

/// The names of these engines, in pairs and with all bytes first, because ratios are of neighbours.
pub const NAMES: [&str; 10] = [
    "spelling-compact+bytes",
    "spelling-compact",
    "spelling-single+bytes",
    "spelling-single",
    "spelling-bounded+bytes",
    "spelling-bounded",
    "spelling-flexible+bytes",
    "spelling-flexible",
    "spelling-any+bytes",
    "spelling-any",
];

/// A vocabulary that lacks bytes: itself, or one without tokens that have rare ones.
///
/// # Errors
///
/// As [`Vocabulary::without_bytes`].
pub fn lacking(vocabulary: &Vocabulary) -> Result<Vocabulary, String> {
    if !vocabulary.missing_bytes().is_empty() {
        return Ok(vocabulary.clone());
    }
    let lacking = vocabulary.without_bytes(RARE);
    lacking.map_err(|error| error.to_string())
}

/// The engine of that name, if there is one.
///
/// # Errors
///
/// As [`Tokenmold::new`], or the vocabulary is too large.
pub fn engine(name: &str, setup: &Setup) -> Result<Option<Tokenmold>, String> {
    let (style, is_filled) = match name.strip_suffix(FILLED) {
        Some(style) => (style, true),
        None => (name, false),
    };
    let whitespace = match style {
        "spelling-compact" => Whitespace::Compact,
        "spelling-single" => Whitespace::SingleSpace,
        "spelling-bounded" => Whitespace::Bounded(8),
        "spelling-flexible" => Whitespace::flexible(),
        "spelling-any" => Whitespace::Pattern(r"[ \t\n\r]*".to_owned()),
        _ => return Ok(None),
    };
    let mut vocabulary = lacking(&setup.vocabulary)?;
    if is_filled {
        let filled = vocabulary.with_all_bytes();
        vocabulary = filled.map_err(|error| error.to_string())?;
    }
    let setup = Setup {
        vocabulary,
        ..setup.clone()
    };
    Ok(Some(Tokenmold::new(&setup)?.with_whitespace(whitespace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spell::byte_vocabulary;

    #[test]
    fn engines_come_in_pairs() {
        let setup = Setup::measured(byte_vocabulary());
        for pair in NAMES.chunks(2) {
            assert_eq!(pair[0], format!("{}{FILLED}", pair[1]));
            for name in pair {
                assert!(engine(name, &setup).unwrap().is_some(), "{name}");
            }
        }
        assert!(engine("spelling", &setup).unwrap().is_none());
        assert_eq!(lacking(&setup.vocabulary).unwrap().missing_bytes(), RARE);
    }
}
