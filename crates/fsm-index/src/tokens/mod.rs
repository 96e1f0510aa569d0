//! The tokens of a vocabulary as data: bytes, kinds, a trie, and what is known of all of them. Nothing
//! here knows of automata or rows. For example, the tokens that begin with `ab` stand one behind another
//! in the trie's order.

mod characters;
mod cut;
mod having;
mod horizon;
mod kinds;
mod name_heads;
mod spellable;
mod store;
mod token_id;
mod trie;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

pub use cut::TextRuns;
pub(crate) use cut::{CharRanges, Cut};
pub(crate) use having::Having;
pub use horizon::{Horizon, Reach};
pub(crate) use kinds::{AllBelow, Kinds, chars};
pub use name_heads::NameMarks;
pub(crate) use spellable::{Spellable, lead_byte, segment_ends};
pub use token_id::{SpecialId, TokenId};
pub(crate) use trie::{Area, Child, NO_TOKEN, Siblings, Trie};

use having::MARKS;
use store::Tokens;

use crate::{Error, ErrorKind};

/// The longest token that a vocabulary may have, in bytes, so that depths of the trie fit into 16
/// bits.
pub const MAX_TOKEN_BYTES: usize = 60_000;

/// The largest token number that a vocabulary may use, plus one: many times those of published
/// models, because masks are as wide.
pub const MAX_WIDTH: usize = 1 << 24;

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

/// The tokens of a vocabulary by number. Cheap to clone.
///
/// ```
/// use fsm_index::{TokenId, TokenTable, Vocabulary};
///
/// let tokens = [("a", 0), ("ab", 1)].map(|(s, id)| (s.as_bytes(), TokenId::new(id)));
/// let vocabulary = Vocabulary::new(tokens, [TokenId::new(2)])?;
/// let table: &TokenTable = &vocabulary;
/// assert_eq!((table.width(), table.ends()), (3, &[TokenId::new(2)][..]));
/// # Ok::<(), fsm_index::Error>(())
/// ```
#[derive(Clone)]
pub struct TokenTable {
    data: Arc<Data>,
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

impl TokenTable {
    /// The table of some tokens, each with its bytes and kind. O(n log n).
    pub(crate) fn new(texts: &[Box<[u8]>], kinds: &[TokenKind]) -> Result<TokenTable, Error> {
        let tokens = kinds.iter().zip(texts);
        let tokens = Tokens::new(tokens.map(|(kind, bytes)| (*kind, bytes.as_ref())))?;
        let mut single_bytes = [false; 256];
        let mut fingerprint = Fnv128::default();
        for (token, &kind) in texts.iter().zip(kinds) {
            if let ([byte], TokenKind::Text) = (token.as_ref(), kind) {
                single_bytes[*byte as usize] = true;
            }
            fingerprint.write(&[kind as u8]);
            fingerprint.write(&(token.len() as u32).to_le_bytes());
            fingerprint.write(token);
        }
        let text = |(t, kind): (usize, &TokenKind)| {
            (*kind == TokenKind::Text).then(|| (TokenId::new(t as u32), texts[t].as_ref()))
        };
        let trie = Trie::new(kinds.iter().enumerate().filter_map(text));
        let mut marked: [Vec<u32>; MARKS.len()] = Default::default();
        let numbered = (0u32..).zip(texts.iter().zip(kinds));
        for (token, (bytes, _)) in numbered.filter(|(_, (_, kind))| **kind == TokenKind::Text) {
            for byte in bytes.iter().filter(|byte| byte.is_ascii_punctuation()) {
                if let Ok(at) = MARKS.binary_search(byte)
                    && marked[at].last() != Some(&token)
                {
                    marked[at].push(token);
                }
            }
        }
        let mut ranks = vec![NO_TOKEN; kinds.len()];
        for (&token, rank) in trie.order().iter().zip(0..) {
            ranks[token as usize] = rank;
        }
        let ends = (0..kinds.len())
            .filter(|&t| kinds[t] == TokenKind::End)
            .map(|t| TokenId::new(t as u32))
            .collect();
        let data = Data {
            tokens,
            ends,
            trie,
            single_bytes,
            fingerprint: fingerprint.0,
            ranks: ranks.into(),
            marked: marked.map(Vec::into),
            chars: OnceLock::new(),
            spellable: OnceLock::new(),
            specials: OnceLock::new(),
        };
        Ok(TokenTable {
            data: Arc::new(data),
        })
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

    /// The special or end token of that name, or of the number in `<[128010]>`. O(special tokens), and
    /// O(width) the first time.
    pub fn special(&self, name: &str) -> Option<TokenId> {
        let mut all = self.specials().iter().copied();
        let named = all.find(|&t| self.token_name(t) == Some(name.as_bytes()));
        named.or_else(|| self.numbered(name))
    }

    /// The special or end token whose number is written `<[128010]>`.
    pub(crate) fn numbered(&self, name: &str) -> Option<TokenId> {
        let number = name.strip_prefix("<[")?.strip_suffix("]>")?;
        let token = TokenId::new(number.parse().ok()?);
        self.token_name(token).is_some().then_some(token)
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

    /// Returns the bytes of memory that the tokens take, with what was derived from them so far.
    pub(crate) fn memory(&self) -> usize {
        let Data {
            tokens,
            trie,
            ranks,
            marked,
            ..
        } = &*self.data;
        let marked = marked.iter().map(|marked| marked.len() * 4);
        tokens.memory() + trie.memory() + ranks.len() * 4 + marked.sum::<usize>()
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

#[cold]
pub(super) fn limit(what: &str) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("the vocabulary exceeds the limit of {what}"),
    )
}

/// FNV-1a with 128 bits.
struct Fnv128(u128);

impl Default for Fnv128 {
    fn default() -> Self {
        Fnv128(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv128 {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 =
                (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
        }
    }
}
