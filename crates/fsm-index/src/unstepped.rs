//! Subtrees that a walk need not step through, because their text is free anyway.

use std::ops::Range;

use crate::levels::Way;
use crate::vocabulary::{Below, Kinds, Trie};

/// Where subtrees need not be stepped through: all their tokens may come if all
/// their characters are of these kinds. Those of tokens without other characters from the
/// first on are left out, for they are known to come already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free {
    pub(crate) kinds: Kinds,
    pub(crate) from: From,
    /// Tokens with more bytes than this have to be stepped through.
    pub(crate) bytes: usize,
    /// Whether longer tokens without other characters may not come.
    pub(crate) ends: bool,
}

/// Behind what such a subtree may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// What leads back to the cursor of the beginning.
    Start,
    /// Any text.
    AnyText,
    /// Text of these kinds of characters.
    ItsClass,
}

/// What to do with a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// To walk through it.
    Read,
    /// Nothing: what may come of it is known.
    LeaveOut,
    /// All its tokens may come.
    Take,
}

/// Finds such subtrees on the way through a trie.
#[derive(Clone, Copy)]
pub(crate) struct Unstepped<'a> {
    free: &'a Free,
    below: &'a [Below],
}

impl<'a> Unstepped<'a> {
    pub(crate) fn new(free: &'a Free, trie: &'a Trie) -> Unstepped<'a> {
        Unstepped {
            free,
            below: trie.below().of_children(),
        }
    }

    /// The way behind one more byte.
    #[inline]
    pub(crate) fn way(self, way: Way, byte: u8) -> Way {
        match way {
            Way::Class if self.free.kinds.have(byte) => Way::Class,
            Way::Class | Way::Text if Kinds::is_text(byte) => Way::Text,
            _ => Way::Other,
        }
    }

    /// Of the children of a node to which bytes of such a way lead, those that are free.
    /// `is_back` says whether the text of that way leads back to where the walk began.
    #[inline]
    pub(crate) fn among(self, way: Way, is_back: impl FnOnce() -> bool) -> FreeChildren<'a> {
        let free = self.free;
        let of_class = way == Way::Class;
        let longest = match free.from {
            _ if way == Way::Other => None,
            From::AnyText => Some(free.bytes),
            From::ItsClass if of_class && free.ends => Some(usize::MAX),
            From::ItsClass => of_class.then_some(free.bytes),
            From::Start => is_back().then_some(free.bytes),
        };
        FreeChildren {
            below: self.below,
            kinds: free.kinds,
            longest,
            pass: if of_class { Pass::LeaveOut } else { Pass::Take },
        }
    }
}

/// Which children of a node are free.
#[derive(Clone, Copy)]
pub(crate) struct FreeChildren<'a> {
    below: &'a [Below],
    kinds: Kinds,
    /// Those with no longer tokens below them, if any.
    longest: Option<usize>,
    /// What is to be done with them.
    pass: Pass,
}

impl FreeChildren<'_> {
    /// None.
    pub(crate) const NONE: Self = FreeChildren {
        below: &[],
        kinds: Kinds::NONE,
        longest: None,
        pass: Pass::Read,
    };

    /// The first of some children that is not left out, and what to do with it. `lives`
    /// says whether a byte can lead on; `bytes` are those of all children.
    #[inline]
    pub(crate) fn first(
        &self,
        children: Range<usize>,
        bytes: &[u8],
        lives: impl Fn(u8) -> bool,
    ) -> Option<(usize, Pass)> {
        let from = children.start;
        let bytes = &bytes[children.clone()];
        let Some(longest) = self.longest else {
            let at = bytes.iter().position(|byte| lives(*byte))?;
            return Some((from + at, Pass::Read));
        };
        let is_free = |byte: u8, below: &Below| {
            // Where a character begins, none is open.
            let begins = byte & 0xC0 != 0x80;
            let is_short = usize::from(below.longest) <= longest;
            begins && is_short && below.kinds.are_within(self.kinds)
        };
        let children = bytes.iter().zip(&self.below[children]).zip(from..);
        let mut met = children.filter_map(|((&byte, below), child)| {
            let pass = match lives(byte) {
                false => Pass::LeaveOut,
                true if is_free(byte, below) => self.pass,
                true => Pass::Read,
            };
            (pass != Pass::LeaveOut).then_some((child, pass))
        });
        met.next()
    }
}
