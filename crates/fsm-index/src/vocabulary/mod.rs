//! A tokenizer's tokens: bytes, structure, or an end. For example, token 5 is the text `ab`, token
//! 6 the special `<|call|>`, and token 7 ends the text.

mod builder;
mod characters;
mod cut;
mod having;
mod horizon;
mod kinds;
mod name_heads;
mod spellable;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod token_id;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;
mod tokens;
mod trie;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

pub use builder::{MAX_TOKEN_BYTES, MAX_WIDTH, VocabularyBuilder};
pub(crate) use cut::{CharRanges, Cut};
pub(crate) use having::Having;
pub use horizon::{Horizon, Reach};
pub(crate) use kinds::{AllBelow, Kinds, chars};
pub use name_heads::NameMarks;
pub(crate) use spellable::{Spellable, lead_byte, segment_ends};
pub use token_id::{SpecialId, TokenId};
pub(crate) use trie::{Area, Child, NO_TOKEN, Siblings, Trie};

use having::MARKS;
use tokens::Tokens;

use crate::Error;
use crate::cache::{Cutter, SharedRows};

/// The role of a token in a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// It stands for its bytes.
    Text,
    /// It is structure (a marker of the chat format, padding): never allowed
    /// as text, whatever its name is spelt with.
    Special,
    /// It ends the text: allowed exactly where the text may end.
    End,
    /// No token has this number (a gap, or padding of the logits).
    Absent,
}

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
    data: Arc<Data>,
    shared: SharedRows,
}

/// The data that never changes.
struct Data {
    tokens: Tokens,
    ends: Vec<TokenId>,
    trie: Trie,
    single_bytes: [bool; 256],
    fingerprint: u128,
    /// The place of each token in the order of the trie.
    ranks: Box<[u32]>,
    /// For each [punctuation mark](MARKS) the text tokens that have it, ascending.
    marked: [Box<[u32]>; MARKS.len()],
    /// The characters that tokens have, ascending.
    chars: OnceLock<Box<[char]>>,
    /// The characters that tokens cannot spell, once that was asked.
    spellable: OnceLock<Spellable>,
    /// The special and end tokens, once they were asked for.
    specials: OnceLock<Box<[TokenId]>>,
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

/// True if a mask may be put together from a vocabulary cut by a class of characters, instead of by
/// a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TextRuns {
    /// If walks for a class have cost as much as the cut does. Default.
    #[default]
    Auto,
    /// Wherever it can be.
    Always,
    /// Never: every mask is a walk.
    Never,
}

impl Vocabulary {
    /// A vocabulary of text tokens and end tokens. A token without bytes is
    /// never allowed; several tokens may have the same bytes.
    ///
    /// # Errors
    ///
    /// Two tokens have the same number, or a limit is exceeded
    /// ([`MAX_TOKEN_BYTES`], [`MAX_WIDTH`]).
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

    /// Returns the number of bits that a mask has: one more than the largest token number, or the
    /// width of the logits.
    pub fn width(&self) -> usize {
        self.data.tokens.width()
    }

    /// Returns the kind of a token. Outside the width: [`TokenKind::Absent`].
    pub fn kind(&self, token: TokenId) -> TokenKind {
        self.data.tokens.kind(token.index())
    }

    /// The bytes that a text token stands for; `None` for any other token.
    pub fn token_bytes(&self, token: TokenId) -> Option<&[u8]> {
        (self.kind(token) == TokenKind::Text).then(|| self.data.raw(token.index()))
    }

    /// The name of a special or end token; `None` for any other token.
    pub fn token_name(&self, token: TokenId) -> Option<&[u8]> {
        matches!(self.kind(token), TokenKind::Special | TokenKind::End)
            .then(|| self.data.raw(token.index()))
    }

    /// The special or end token of that name. O(special tokens), and O(width) the first time.
    pub fn special(&self, name: &str) -> Option<TokenId> {
        let mut all = self.specials().iter().copied();
        all.find(|&t| self.token_name(t) == Some(name.as_bytes()))
    }

    /// The special and end tokens, in ascending order. O(width) the first time.
    pub fn specials(&self) -> &[TokenId] {
        self.data.specials.get_or_init(|| {
            let all = (0..self.width() as u32).map(TokenId::new);
            all.filter(|&token| self.token_name(token).is_some())
                .collect()
        })
    }

    /// The special and end tokens by their names, of equal ones the first.
    pub(crate) fn special_names(&self) -> HashMap<&[u8], TokenId> {
        let mut names = HashMap::new();
        for &token in self.specials() {
            if let Some(name) = self.token_name(token) {
                names.entry(name).or_insert(token);
            }
        }
        names
    }

    /// The tokens that end a text, in ascending order.
    pub fn ends(&self) -> &[TokenId] {
        &self.data.ends
    }

    /// The text tokens and their bytes, in ascending order.
    pub fn texts(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        (0..self.width() as u32)
            .map(TokenId::new)
            .filter_map(|t| Some((t, self.token_bytes(t)?)))
    }

    /// The code points that no tokens spell, one after another: inclusive ranges,
    /// ascending, without surrogates. Such a character may still be part of a token that
    /// has others, too. O(1) but for the first time, where it takes some milliseconds if
    /// bytes that go on characters are missing.
    pub fn unspellable(&self) -> &[(u32, u32)] {
        self.spellable().unspellable()
    }

    /// Tells whether each byte is a token by itself.
    pub(crate) fn has_all_bytes(&self) -> bool {
        self.data.single_bytes.iter().all(|&is| is)
    }

    pub(crate) fn spellable(&self) -> &Spellable {
        self.data.spellable.get_or_init(|| {
            if self.has_all_bytes() {
                return Spellable::everything();
            }
            let tokens = self.texts().map(|(token, bytes)| (token.get(), bytes));
            Spellable::new(&self.data.trie, &self.data.single_bytes, tokens)
        })
    }

    /// The bytes that are not tokens by themselves, in ascending order. If
    /// there are none, every text can be spelt.
    ///
    /// ```
    /// use fsm_index::{TokenId, Vocabulary};
    ///
    /// # let tokens = ["a", "ab"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
    /// let missing = vocabulary.missing_bytes();
    /// assert!(missing.contains(&b'b') && !missing.contains(&b'a'));
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn missing_bytes(&self) -> Vec<u8> {
        (0..=255u8)
            .filter(|&b| !self.data.single_bytes[b as usize])
            .collect()
    }

    /// A number that tells vocabularies apart: FNV-1a, 128 bits (IETF draft
    /// draft-eastlake-fnv), over every token's kind, length and bytes.
    ///
    /// ```
    /// use fsm_index::{TokenId, Vocabulary};
    ///
    /// # let tokens = ["a"];
    /// # let tokens = tokens.iter().zip(0..).map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
    /// # let vocabulary = Vocabulary::new(tokens, [TokenId::new(1)])?;
    /// assert_eq!(vocabulary.fingerprint(), vocabulary.clone().fingerprint());
    /// assert_ne!(vocabulary.fingerprint(), vocabulary.with_width(9)?.fingerprint());
    /// # Ok::<(), fsm_index::Error>(())
    /// ```
    pub fn fingerprint(&self) -> u128 {
        self.data.fingerprint
    }

    /// Bytes of memory, with what was derived from it so far and what indexes of it
    /// [share](Vocabulary::shared_rows).
    pub fn memory(&self) -> usize {
        let Data {
            tokens,
            trie,
            ranks,
            marked,
            ..
        } = &*self.data;
        let marked = marked.iter().map(|marked| marked.len() * 4);
        tokens.memory()
            + trie.memory()
            + ranks.len() * 4
            + marked.sum::<usize>()
            + self.shared.stats().bytes()
    }

    /// Returns the rows that the indexes of this vocabulary, and of its clones, share.
    pub fn shared_rows(&self) -> &SharedRows {
        &self.shared
    }

    /// The same vocabulary, whose indexes share nothing with those of before, and of what they
    /// share remember so many bytes. O(1).
    pub fn with_shared_rows(&self, max_bytes: usize) -> Vocabulary {
        Vocabulary {
            data: self.data.clone(),
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
        let _ = self.data.trie.by_kinds();
    }

    pub(crate) fn trie(&self) -> &Trie {
        &self.data.trie
    }

    /// The tokens by their bytes, as the trie has them; of tokens with the
    /// same bytes only one.
    pub(crate) fn order(&self) -> &[u32] {
        self.data.trie.order()
    }

    /// The tokens that begin with `text`.
    pub(crate) fn beginning(&self, text: &[u8]) -> Vec<u32> {
        let trie = &self.data.trie;
        let Some(node) = trie.find(text) else {
            return Vec::new();
        };
        let nodes = trie.nodes()[node..trie.nodes()[node].end as usize].iter();
        let mut tokens: Vec<u32> = nodes
            .map(|node| node.token)
            .filter(|&token| token != NO_TOKEN)
            .collect();
        for &(first, other) in trie.duplicates() {
            if tokens.contains(&first) {
                tokens.push(other);
            }
        }
        tokens
    }

    /// The first token of those with these bytes.
    pub(crate) fn token_of(&self, bytes: &[u8]) -> Option<u32> {
        let trie = self.trie();
        let token = trie.nodes()[trie.find(bytes)?].token;
        (token != NO_TOKEN).then_some(token)
    }

    /// The text tokens that may have something in them, and perhaps others: where one of the
    /// [`MARKS`] is among `bytes` those that have it, and otherwise `None`: all.
    pub(crate) fn marked(&self, bytes: &[u8]) -> Option<&[u32]> {
        let marks = MARKS.iter().zip(&self.data.marked);
        let marked = marks.filter(|(mark, _)| bytes.contains(mark));
        marked
            .map(|(_, tokens)| &**tokens)
            .min_by_key(|tokens| tokens.len())
    }

    /// The bytes or the name of a token.
    pub(crate) fn raw(&self, token: u32) -> &[u8] {
        self.data.raw(token as usize)
    }

    /// The place of each token in [`Vocabulary::order`], [`NO_TOKEN`] for those
    /// that are not in it.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.data.ranks
    }

    /// A class as far as tokens can tell: classes that differ only in
    /// characters that no token has are one, and share a cut. O(characters of
    /// the vocabulary).
    pub(crate) fn class_of_tokens(&self, class: &[(u32, u32)]) -> CharRanges {
        let chars = self.data.chars.get_or_init(|| {
            let texts = self.texts().flat_map(|(_, bytes)| bytes.utf8_chunks());
            let mut chars: Vec<char> = texts.flat_map(|chunk| chunk.valid().chars()).collect();
            chars.sort_unstable();
            chars.dedup();
            chars.into()
        });
        let mut out: Vec<(u32, u32)> = Vec::new();
        let mut behind = 0;
        for &(from, to) in class {
            let first = behind + chars[behind..].partition_point(|&c| u32::from(c) < from);
            let end = first + chars[first..].partition_point(|&c| u32::from(c) <= to);
            if first == end {
                continue;
            }
            let (low, high) = (u32::from(chars[first]), u32::from(chars[end - 1]));
            match out.last_mut() {
                // No token has a character between the two ranges.
                Some(last) if first == behind => last.1 = high,
                _ => out.push((low, high)),
            }
            behind = end;
        }
        out.into()
    }
}

impl Data {
    fn raw(&self, token: usize) -> &[u8] {
        self.tokens.bytes(token)
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
