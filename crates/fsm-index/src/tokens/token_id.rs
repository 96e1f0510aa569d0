//! Numbers of tokens. For example, `TokenId::new(7)` is bit 7 of the first word of a mask.

use std::fmt;

/// The number of a token, as the tokenizer and the model know it.
///
/// ```
/// use fsm_index::TokenId;
///
/// let token = TokenId::new(7);
/// assert_eq!((token.get(), token.index()), (7, 7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct TokenId(u32);

impl TokenId {
    /// Wraps a token number.
    pub const fn new(id: u32) -> Self {
        TokenId(id)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index into logits.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for TokenId {
    fn from(id: u32) -> Self {
        TokenId(id)
    }
}

impl From<TokenId> for u32 {
    fn from(id: TokenId) -> Self {
        id.0
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A special token as an automaton knows it: a place in
/// [`SpecialTokens`](crate::SpecialTokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpecialId(pub u32);
