//! The builders of an index from a regular expression: this project's crate, and outlines-core. For
//! example, both build `[a-c]+` over the tokens of one `tokenizer.json`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fsm_index::{Guide, Index, TokenId, Vocabulary};

use crate::program;
use crate::stats::Summary;

/// The tokens that every engine gets.
pub struct Tokens {
    /// As our crate knows them.
    pub vocabulary: Vocabulary,
}

impl Tokens {
    /// Reads a `tokenizer.json`, or makes the tokens of GPT-4o for `o200k`; of these only the
    /// first `most`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn load(tokenizer: &str, most: Option<usize>) -> Result<Tokens, String> {
        let whole = match tokenizer {
            "o200k" => o200k()?,
            path => program::vocabulary(Path::new(path))?,
        };
        let Some(most) = most else {
            return Ok(Tokens { vocabulary: whole });
        };
        let texts = whole.texts().filter(|t| t.0.index() < most);
        let vocabulary = Vocabulary::new(
            texts.map(|(token, bytes)| (bytes, token)),
            whole.ends().iter().copied(),
        );
        Ok(Tokens {
            vocabulary: vocabulary.map_err(|e| e.to_string())?,
        })
    }

    /// One token of one byte, and an end.
    ///
    /// # Errors
    ///
    /// None.
    pub fn single_byte() -> Result<Tokens, String> {
        let vocabulary = Vocabulary::new([(b"a", TokenId::new(0))], [TokenId::new(1)]);
        Ok(Tokens {
            vocabulary: vocabulary.map_err(|e| e.to_string())?,
        })
    }

    /// Tells whether the token ends a text.
    pub fn is_end(&self, token: u32) -> bool {
        self.vocabulary.ends().contains(&TokenId::new(token))
    }
}

/// The ranks of `o200k_base` as the crate `tiktoken-rs` carries them.
#[cfg(feature = "peers")]
fn o200k() -> Result<Vocabulary, String> {
    let ranks = tiktoken_rs::o200k_base().map_err(|e| e.to_string())?;
    let tokens = (0..199_998u32).filter_map(|id| Some((ranks.decode_bytes(&[id]).ok()?, id)));
    let tokens = tokens.map(|(bytes, id)| (bytes, TokenId::new(id)));
    Vocabulary::new(tokens, [TokenId::new(199_999)]).map_err(|e| e.to_string())
}

#[cfg(not(feature = "peers"))]
fn o200k() -> Result<Vocabulary, String> {
    Err("the tokens of o200k come with the feature `peers`".into())
}

/// A maker of indexes over one vocabulary.
pub trait Builder {
    /// Builds the index of an expression, with all its rows.
    ///
    /// # Errors
    ///
    /// The engine refuses the expression.
    fn build(&self, regex: &str) -> Result<Box<dyn Built>, String>;
}

/// A built index.
pub trait Built {
    /// The beginning of a text.
    fn text(&self) -> Box<dyn Text + '_>;

    /// Returns the index's size in the engine's own words.
    fn size(&self) -> String;
}

/// A text under an index.
pub trait Text {
    /// Writes the mask: bit `t % 32` of word `t / 32` for token `t`.
    fn mask(&mut self, words: &mut [u32]);

    /// Takes a token; `false` if it may not come.
    fn advance(&mut self, token: u32) -> bool;
}

/// Makes the engine of that name.
///
/// # Errors
///
/// There is none, or it cannot be made from this vocabulary.
pub fn engine(name: &str, tokens: &Tokens) -> Result<Box<dyn Builder>, String> {
    match name {
        "tokenmold" => {
            // Made anew, so that its memory can be counted.
            let copy = Vocabulary::new(
                tokens
                    .vocabulary
                    .texts()
                    .map(|(token, bytes)| (bytes, token)),
                tokens.vocabulary.ends().iter().copied(),
            );
            let copy = copy.and_then(|copy| copy.with_width(tokens.vocabulary.width()));
            Ok(Box::new(Ours(copy.map_err(|e| e.to_string())?)))
        }
        #[cfg(feature = "peers")]
        "outlines-core" => Ok(Box::new(peer::Theirs::new(tokens)?)),
        _ => Err(format!("there is no engine {name}")),
    }
}

/// Takes tokens by chance, the same for every engine, and measures so many masks in
/// microseconds; starts again where the text ends.
pub fn walk(built: &dyn Built, tokens: &Tokens, masks: usize) -> Summary {
    let mut words = vec![0u32; tokens.vocabulary.width().div_ceil(32)];
    let mut text = built.text();
    let mut times = Vec::new();
    let mut chance = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..masks {
        let start = Instant::now();
        text.mask(&mut words);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        let allowed: Vec<u32> = (0..words.len() as u32 * 32)
            .filter(|t| words[*t as usize / 32] >> (t % 32) & 1 == 1)
            .filter(|&t| !tokens.is_end(t))
            .collect();
        chance = chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        match allowed.get((chance >> 33) as usize % allowed.len().max(1)) {
            Some(&token) if text.advance(token) => {}
            _ => text = built.text(),
        }
    }
    Summary::new(times)
}

struct Ours(Vocabulary);

impl Builder for Ours {
    fn build(&self, regex: &str) -> Result<Box<dyn Built>, String> {
        let index = Index::new(regex, &self.0).map_err(|e| e.to_string())?;
        Ok(Box::new(OurIndex(Arc::new(index))))
    }
}

struct OurIndex(Arc<Index>);

impl Built for OurIndex {
    fn text(&self) -> Box<dyn Text + '_> {
        Box::new(Guide::new(self.0.clone()))
    }

    fn size(&self) -> String {
        let stats = self.0.stats();
        let states = self.0.automaton().state_count();
        format!("{states} states, {} rows", stats.rows)
    }
}

impl Text for Guide {
    fn mask(&mut self, words: &mut [u32]) {
        // All rows were built with the index: there is no budget to be spent.
        if let Ok(mask) = Guide::mask(self) {
            words.copy_from_slice(mask.words());
        }
    }

    fn advance(&mut self, token: u32) -> bool {
        Guide::advance(self, TokenId::new(token)).is_ok()
    }
}

#[cfg(feature = "peers")]
mod peer {
    use outlines_core::index::Index;
    use outlines_core::primitives::StateId;
    use outlines_core::vocabulary::Vocabulary;

    use super::{Builder, Built, Text, Tokens};

    pub(super) struct Theirs(Vocabulary);

    impl Theirs {
        pub(super) fn new(tokens: &Tokens) -> Result<Theirs, String> {
            let end = tokens.vocabulary.ends().first();
            let end = end.ok_or("outlines-core needs an end token")?;
            let mut vocabulary = Vocabulary::new(end.get());
            for (token, bytes) in tokens.vocabulary.texts() {
                vocabulary
                    .try_insert(bytes.to_vec(), token.get())
                    .map_err(|e| e.to_string())?;
            }
            Ok(Theirs(vocabulary))
        }
    }

    impl Builder for Theirs {
        fn build(&self, regex: &str) -> Result<Box<dyn Built>, String> {
            let index = Index::new(regex, &self.0).map_err(|e| e.to_string())?;
            Ok(Box::new(TheirIndex(index)))
        }
    }

    struct TheirIndex(Index);

    impl Built for TheirIndex {
        fn text(&self) -> Box<dyn Text + '_> {
            Box::new(TheirText {
                index: &self.0,
                state: self.0.initial_state(),
            })
        }

        fn size(&self) -> String {
            let entries: usize = self.0.transitions().values().map(|t| t.len()).sum();
            format!("{} states, {entries} entries", self.0.transitions().len())
        }
    }

    struct TheirText<'i> {
        index: &'i Index,
        state: StateId,
    }

    impl Text for TheirText<'_> {
        fn mask(&mut self, words: &mut [u32]) {
            words.fill(0);
            for &token in self
                .index
                .allowed_tokens_iter(&self.state)
                .into_iter()
                .flatten()
            {
                words[token as usize / 32] |= 1 << (token % 32);
            }
        }

        fn advance(&mut self, token: u32) -> bool {
            match self.index.next_state(&self.state, &token) {
                Some(next) => {
                    self.state = next;
                    true
                }
                None => false,
            }
        }
    }
}
