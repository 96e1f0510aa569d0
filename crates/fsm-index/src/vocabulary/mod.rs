//! A tokenizer's tokens: bytes, structure, or an end. For example, token 5 is the text `ab`, token
//! 6 the special `<|call|>`, and token 7 ends the text.

mod builder;
#[cfg(feature = "tiktoken")]
mod tiktoken;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;

use std::fmt;
use std::ops::Deref;

pub use builder::VocabularyBuilder;

use crate::Error;
use crate::cache::{Cutter, SharedRows};
use crate::tokens::{TextRuns, TokenId, TokenTable};

/// The role of added tokens that the tokenizer does not itself call special.
///
/// Chat formats mark structure with such tokens (Qwen3's `<tool_call>`,
/// DeepSeek's `<｜tool▁call▁begin｜>`), so by default they are structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddedTokens {
    /// Structure, except those of white space alone (Gemma 3 adds runs of
    /// blanks and newlines).
    #[default]
    Structure,
    /// Text like any other token.
    Text,
}

/// A tokenizer's tokens, as bytes. Cheap to clone.
///
/// ```
/// use fsm_index::{TokenId, Vocabulary};
///
/// let tokens = [("a", 0), ("b", 1), ("ab", 2)].map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(3)])?;
/// assert_eq!(vocabulary.width(), 4);
/// assert_eq!(vocabulary.token_bytes(TokenId::new(2)), Some(&b"ab"[..]));
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone)]
pub struct Vocabulary {
    table: TokenTable,
    shared: SharedRows,
}

/// Text inside a string of JSON (RFC 8259): everything but quotes, backslashes and control
/// characters. Pass it to [`Vocabulary::prepare`] when a vocabulary is loaded for constraints on
/// JSON.
pub const JSON_TEXT: &[(u32, u32)] = &[
    (0x20, 0x21),
    (0x23, 0x5B),
    (0x5D, 0xD7FF),
    (0xE000, 0x10_FFFF),
];

impl Vocabulary {
    /// A vocabulary of text tokens and end tokens. A token without bytes is
    /// never allowed; several tokens may have the same bytes.
    ///
    /// # Errors
    ///
    /// Two tokens have the same number, or a limit is exceeded
    /// ([`MAX_TOKEN_BYTES`](crate::MAX_TOKEN_BYTES), [`MAX_WIDTH`](crate::MAX_WIDTH)).
    pub fn new<B: AsRef<[u8]>>(
        tokens: impl IntoIterator<Item = (B, TokenId)>,
        ends: impl IntoIterator<Item = TokenId>,
    ) -> Result<Vocabulary, Error> {
        let mut builder = VocabularyBuilder::new();
        for (bytes, id) in tokens {
            builder.text(id, bytes)?;
        }
        for id in ends {
            builder.end(id)?;
        }
        builder.build()
    }

    /// Reads a Hugging Face `tokenizer.json`.
    ///
    /// Byte-level BPE, and metaspace BPE or Unigram with byte fallback.
    /// Added tokens are structure ([`AddedTokens`]); those that are known by
    /// name to end a text (`</s>`, `<|im_end|>`, `<|eot_id|>`, ..) are end
    /// tokens: where the model's configuration says otherwise, use
    /// [`Vocabulary::with_ends`].
    ///
    /// # Errors
    ///
    /// The file is not JSON, or describes a tokenizer of another kind
    /// (WordPiece, word level), or a decoder whose bytes are not known.
    #[cfg(feature = "tokenizer-json")]
    pub fn from_tokenizer_json(json: &[u8]) -> Result<Vocabulary, Error> {
        tokenizer_json::read(json, AddedTokens::default())
    }

    /// As [`Vocabulary::from_tokenizer_json`], with a choice of what added
    /// tokens are.
    ///
    /// # Errors
    ///
    /// As [`Vocabulary::from_tokenizer_json`].
    #[cfg(feature = "tokenizer-json")]
    pub fn from_tokenizer_json_with(json: &[u8], added: AddedTokens) -> Result<Vocabulary, Error> {
        tokenizer_json::read(json, added)
    }

    /// Reads tiktoken ranks: a line a token, its bytes in base64, a blank, its
    /// number. Special tokens are not in such files: name them in `specials`,
    /// and those that end a text in `ends` too.
    ///
    /// # Errors
    ///
    /// A line is malformed; the message has its number.
    ///
    /// ```
    /// use fsm_index::{TokenId, Vocabulary};
    ///
    /// let ranks = b"YQ== 0\nYmM= 1\n"; // a, bc
    /// let vocabulary = Vocabulary::from_tiktoken(ranks, &[("<|end|>", TokenId::new(2))], &[TokenId::new(2)])?;
    /// assert_eq!(vocabulary.token_bytes(TokenId::new(1)), Some(&b"bc"[..]));
    /// assert_eq!(vocabulary.special("<|end|>"), Some(TokenId::new(2)));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    #[cfg(feature = "tiktoken")]
    pub fn from_tiktoken(
        ranks: &[u8],
        specials: &[(&str, TokenId)],
        ends: &[TokenId],
    ) -> Result<Vocabulary, Error> {
        tiktoken::read(ranks, specials, ends)
    }

    /// Bytes of memory, with what was derived from it so far and what indexes of it
    /// [share](Vocabulary::shared_rows).
    pub fn memory(&self) -> usize {
        self.table.memory() + self.shared.stats().bytes()
    }

    /// Returns the rows that the indexes of this vocabulary, and of its clones, share.
    pub fn shared_rows(&self) -> &SharedRows {
        &self.shared
    }

    /// The same vocabulary, whose indexes share nothing with those of before, and of what they
    /// share remember so many bytes. O(1).
    pub fn with_shared_rows(&self, max_bytes: usize) -> Vocabulary {
        Vocabulary {
            table: self.table.clone(),
            shared: SharedRows::new(max_bytes),
        }
    }

    /// Makes ready what masks inside text of a class of characters need
    /// (inclusive ranges of code points, ascending): O(bytes of the
    /// vocabulary), some milliseconds for 128,000 tokens. Otherwise that is
    /// done in the midst of some mask, once walks have cost as much.
    pub fn prepare(&self, class: &[(u32, u32)]) {
        let _ = self
            .shared
            .cut(self, class, TextRuns::Always, Cutter::Caller);
        let _ = self.trie().by_kinds();
    }
}

/// All that is asked of its tokens.
impl Deref for Vocabulary {
    type Target = TokenTable;

    fn deref(&self) -> &TokenTable {
        &self.table
    }
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Vocabulary(width {}, ends {:?})",
            self.width(),
            self.ends()
        )
    }
}
