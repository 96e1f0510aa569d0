//! Texts as tokens, the same for every engine. For example, `abbaabé` is `abb`, `a`, `ab` and `é`
//! by the longest match.

use fsm_index::{TokenId, Vocabulary};
use tokenizers::Tokenizer;

/// Spells texts in the tokens of a vocabulary.
pub struct Speller {
    tokenizer: Option<Tokenizer>,
    vocabulary: Vocabulary,
    /// Text tokens in the order of their bytes, for the fallback.
    sorted: Vec<(Box<[u8]>, u32)>,
    longest: usize,
}

impl Speller {
    /// Spells with a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// It is no tokenizer file.
    pub fn from_tokenizer_json(json: &[u8], vocabulary: &Vocabulary) -> Result<Speller, String> {
        let tokenizer = Tokenizer::from_bytes(json).map_err(|e| e.to_string())?;
        Ok(Speller {
            tokenizer: Some(tokenizer),
            ..Speller::longest_match(vocabulary)
        })
    }

    /// Spells each time with the longest token that fits.
    pub fn longest_match(vocabulary: &Vocabulary) -> Speller {
        let mut sorted: Vec<(Box<[u8]>, u32)> = vocabulary
            .texts()
            .map(|(id, bytes)| (bytes.into(), id.get()))
            .collect();
        sorted.sort();
        let longest = sorted
            .iter()
            .map(|(bytes, _)| bytes.len())
            .max()
            .unwrap_or(0);
        Speller {
            tokenizer: None,
            vocabulary: vocabulary.clone(),
            sorted,
            longest,
        }
    }

    /// Spells as before, in the tokens of another vocabulary where the former ones are not all in
    /// it.
    pub fn over(self, vocabulary: &Vocabulary) -> Speller {
        Speller {
            tokenizer: self.tokenizer,
            ..Speller::longest_match(vocabulary)
        }
    }

    /// The tokens of `text`, no special ones among them. Their bytes are the text's: where
    /// the tokenizer would change it (a normaliser, a blank put in front, the name of a
    /// special token), the longest tokens that fit are taken instead. `None` if the
    /// vocabulary cannot spell the text.
    pub fn spell(&self, text: &str) -> Option<Vec<u32>> {
        if let Some(tokenizer) = &self.tokenizer
            && let Ok(encoding) = tokenizer.encode_fast(text, false)
            && self.is_spelling(encoding.get_ids(), text)
        {
            return Some(encoding.get_ids().to_vec());
        }
        let mut ids = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (length, id) = (1..=rest.len().min(self.longest))
                .rev()
                .find_map(|length| {
                    let found = self
                        .sorted
                        .binary_search_by(|(b, _)| b.as_ref().cmp(&rest[..length]));
                    found.ok().map(|at| (length, self.sorted[at].1))
                })?;
            ids.push(id);
            rest = &rest[length..];
        }
        Some(ids)
    }

    fn is_spelling(&self, ids: &[u32], text: &str) -> bool {
        let mut rest = text.as_bytes();
        for &id in ids {
            let bytes = self.vocabulary.token_bytes(TokenId::new(id));
            match bytes.and_then(|bytes| rest.strip_prefix(bytes)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}

/// A vocabulary of the 256 bytes and an end token, 256.
///
/// # Panics
///
/// Never: the tokens are fixed.
pub fn byte_vocabulary() -> Vocabulary {
    let tokens = (0..=255u8).map(|byte| ([byte], TokenId::new(u32::from(byte))));
    Vocabulary::new(tokens, [TokenId::new(256)]).expect("257 fixed tokens are a vocabulary")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_token_is_taken() {
        let words = ["a", "b", "ab", "abb", "é"];
        let tokens = words
            .iter()
            .zip(0..)
            .map(|(w, id)| (w.as_bytes(), TokenId::new(id)));
        let vocabulary = Vocabulary::new(tokens, [TokenId::new(9)]).unwrap();
        let speller = Speller::longest_match(&vocabulary);
        assert_eq!(speller.spell("abbaabé"), Some(vec![3, 0, 2, 4]));
        assert_eq!(speller.spell("ac"), None);
        assert_eq!(speller.spell(""), Some(vec![]));
        assert!(speller.is_spelling(&[0, 1], "ab") && !speller.is_spelling(&[0], "ab"));
    }
}
