//! Masks of tokens: for example, token 33 is bit 1 of word 1.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::TokenId;

/// Which tokens may come next: one bit a token.
///
/// Bit `t % 32` of word `t / 32` stands for token `t`, the layout that
/// inference servers exchange. Bits at and above [`TokenMask::width`] are zero.
///
/// ```
/// use fsm_index::{TokenId, TokenMask};
///
/// let mut mask = TokenMask::none(40);
/// mask.allow(TokenId::new(33));
/// assert_eq!((mask.count(), mask.words()), (1, &[0, 0b10][..]));
/// assert_eq!(mask.iter().collect::<Vec<_>>(), [TokenId::new(33)]);
/// ```
#[derive(Clone)]
pub struct TokenMask {
    words: Words,
    width: usize,
}

/// The words of a mask.
#[derive(Clone)]
enum Words {
    Own(Box<[u32]>),
    /// A part of a file: `from..to`.
    InFile(Arc<dyn FileWords>, usize, usize),
}

/// A file's content as words.
pub(crate) trait FileWords: Send + Sync {
    /// All of them, always the same.
    fn words(&self) -> &[u32];
}

impl TokenMask {
    /// A mask over `width` tokens that allows none.
    pub fn none(width: usize) -> Self {
        TokenMask {
            words: Words::Own(vec![0; width.div_ceil(32)].into()),
            width,
        }
    }

    /// A mask that lies in a file, from word `from` on; the file is so long.
    pub(crate) fn in_file(file: Arc<dyn FileWords>, from: usize, width: usize) -> Self {
        let to = from + width.div_ceil(32);
        debug_assert!(to <= file.words().len());
        TokenMask {
            words: Words::InFile(file, from, to),
            width,
        }
    }

    /// Bytes of memory that are the mask's own.
    pub(crate) fn memory(&self) -> usize {
        match &self.words {
            Words::Own(words) => words.len() * 4,
            Words::InFile(..) => 0,
        }
    }

    pub(crate) fn from_words(words: Box<[u32]>, width: usize) -> Self {
        debug_assert_eq!(words.len(), width.div_ceil(32));
        TokenMask {
            words: Words::Own(words),
            width,
        }
    }

    /// Returns the number of tokens that the mask speaks of: as many as the logits are wide.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The words, `ceil(width / 32)` of them.
    #[inline]
    pub fn words(&self) -> &[u32] {
        match &self.words {
            Words::Own(words) => words,
            Words::InFile(file, from, to) => &file.words()[*from..*to],
        }
    }

    /// Tells whether `token` may come next. A token outside the width may not.
    pub fn allows(&self, token: TokenId) -> bool {
        let t = token.index();
        t < self.width && self.words()[t / 32] >> (t % 32) & 1 == 1
    }

    /// Returns the number of tokens that may come next. O(width / 32).
    pub fn count(&self) -> usize {
        self.words().iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Tells whether more than `count` tokens may come next. Quick if they are many more.
    pub(crate) fn has_more_than(&self, count: usize) -> bool {
        let mut found = 0;
        self.words().chunks(64).any(|chunk| {
            found += chunk.iter().map(|w| w.count_ones() as usize).sum::<usize>();
            found > count
        })
    }

    /// Tells whether no token may come next.
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|&w| w == 0)
    }

    /// The tokens that may come next, in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            words: self.words(),
            at: 0,
            rest: self.words().first().copied().unwrap_or(0),
        }
    }

    /// Allows `token`, and does nothing if it is outside the width.
    pub fn allow(&mut self, token: TokenId) {
        let t = token.index();
        if t < self.width {
            self.words_mut()[t / 32] |= 1 << (t % 32);
        }
    }

    /// Forbids every token again.
    pub fn clear(&mut self) {
        self.words_mut().fill(0);
    }

    /// The words, to be changed; those of a file are copied first.
    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        if let Words::InFile(..) = self.words {
            self.words = Words::Own(self.words().into());
        }
        match &mut self.words {
            Words::Own(words) => words,
            Words::InFile(..) => &mut [],
        }
    }
}

impl PartialEq for TokenMask {
    fn eq(&self, other: &Self) -> bool {
        self.width == other.width && self.words() == other.words()
    }
}

impl Eq for TokenMask {}

impl Hash for TokenMask {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(fold(self.words()));
    }
}

/// A number of 64 bits that depends on all words, in four independent lanes so
/// that it keeps pace with memory (multiplication and rotation as in the hash
/// of the Rust compiler).
fn fold(words: &[u32]) -> u64 {
    /// A factor whose bits are random, as in the hash of the Rust compiler.
    const FACTOR: u64 = 0xF135_7AEA_2E62_A9C5;
    let step = |lane: u64, word: u32| (lane.rotate_left(5) ^ u64::from(word)).wrapping_mul(FACTOR);
    let mut lanes = [1u64, 2, 3, 4];
    let chunks = words.chunks_exact(4);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &word) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, word);
        }
    }
    let lanes = lanes
        .iter()
        .flat_map(|&lane| [lane as u32, (lane >> 32) as u32]);
    rest.iter().copied().chain(lanes).fold(0, step)
}

impl fmt::Debug for TokenMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenMask({} of {}: ", self.count(), self.width)?;
        f.debug_set().entries(self.iter().take(16)).finish()?;
        f.write_str(if self.count() > 16 { "..)" } else { ")" })
    }
}

impl<'a> IntoIterator for &'a TokenMask {
    type Item = TokenId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The allowed tokens of a [`TokenMask`], in ascending order.
pub struct Iter<'a> {
    words: &'a [u32],
    at: usize,
    rest: u32,
}

impl Iterator for Iter<'_> {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        while self.rest == 0 {
            self.at += 1;
            self.rest = *self.words.get(self.at)?;
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        Some(TokenId::new(self.at as u32 * 32 + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_where_the_layout_says() {
        let mut mask = TokenMask::none(70);
        for t in [0, 31, 32, 69, 70, 1000] {
            mask.allow(TokenId::new(t));
        }
        assert_eq!(mask.words(), [0x8000_0001, 1, 1 << 5]);
        assert_eq!(
            mask.iter().map(TokenId::get).collect::<Vec<_>>(),
            [0, 31, 32, 69]
        );
        assert!(mask.allows(TokenId::new(69)) && !mask.allows(TokenId::new(70)));
        assert_eq!(mask.count(), 4);
        mask.clear();
        assert!(mask.is_empty());
        assert_eq!(TokenMask::none(0).iter().count(), 0);
    }
}
