//! The reach of tokens: for example, no token of a vocabulary has more than 128 bytes.

use crate::tokens::Trie;
use crate::{ByteSet, NameMarks};

/// The bounds that no token of a vocabulary exceeds.
#[derive(Clone, Copy, Debug)]
pub struct Horizon<'v> {
    bytes: usize,
    reach: Option<&'v [Reach; 256]>,
    /// The tokens, where more can be asked of them.
    trie: Option<&'v Trie>,
}

/// The bounds that no token exceeds that has a byte in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The number of times that the byte occurs in one token.
    pub occurrences: u16,
    /// The number of bytes that a token has from its first such byte on, that byte included.
    pub behind: u16,
    /// The number of bytes that a token has before its last such byte.
    pub before: u16,
    /// The distance of the last such byte of a token from its first.
    pub apart: u16,
}

impl<'v> Horizon<'v> {
    /// Tokens of at most so many bytes, whichever they are.
    ///
    /// ```
    /// use fsm_index::Horizon;
    ///
    /// let horizon = Horizon::of_bytes(9);
    /// assert_eq!((horizon.bytes(), horizon.occurrences(b'x')), (9, 9));
    /// ```
    pub fn of_bytes(bytes: usize) -> Horizon<'v> {
        Horizon {
            bytes,
            reach: None,
            trie: None,
        }
    }

    /// Tokens of at most `bytes` bytes that have each byte within its reach.
    pub fn new(bytes: usize, reach: &'v [Reach; 256]) -> Horizon<'v> {
        Horizon {
            bytes,
            reach: Some(reach),
            trie: None,
        }
    }

    /// The tokens of a trie.
    pub(crate) fn of_trie(trie: &'v Trie, bytes: usize, reach: &'v [Reach; 256]) -> Horizon<'v> {
        Horizon {
            trie: Some(trie),
            ..Horizon::new(bytes, reach)
        }
    }

    /// The length of the longest token, in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns the number of times that a byte occurs in one token, at most.
    pub fn occurrences(self, byte: u8) -> usize {
        self.reach.map_or(self.bytes, |reach| {
            reach[usize::from(byte)].occurrences.into()
        })
    }

    /// Returns the number of bytes that a token has from its first `byte` on, at most; 0 if no
    /// token has it.
    pub fn behind(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].behind.into())
    }

    /// Returns the number of bytes that a token has before its last `byte`, at most; 0 if no token
    /// has it.
    pub fn before(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].before.into())
    }

    /// Returns the distance of the last `byte` of a token from its first, at most.
    pub fn apart(self, byte: u8) -> usize {
        self.reach
            .map_or(self.bytes, |reach| reach[usize::from(byte)].apart.into())
    }

    /// With what a name in an object may begin, as far as a token tells that opens the
    /// object or ends the member before: names that begin in other ways are alike to such
    /// a token, and it ends none that a value follows. `None` if that is not known.
    ///
    /// That is known of the marks that were asked for first. O(bytes of the tokens) then, and
    /// O(1) from then on.
    pub fn name_heads(self, marks: &NameMarks) -> Option<ByteSet> {
        self.trie?.name_heads(marks)
    }
}
