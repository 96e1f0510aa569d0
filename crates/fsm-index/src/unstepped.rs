//! Subtrees that a walk need not step through, because their text is free anyway.

use crate::levels::Way;
use crate::vocabulary::{Below, Kinds, Trie};

/// Where subtrees need not be stepped through: all their tokens may come if all
/// their characters are of these kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free {
    pub(crate) kinds: Kinds,
    pub(crate) from: From,
    /// Tokens with more bytes than this have to be stepped through.
    pub(crate) bytes: usize,
    /// Whether longer tokens without other characters may not come.
    pub(crate) ends: bool,
    pub(crate) known: Known,
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

/// Which tokens need not be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Those without characters of other kinds: they are known to come already.
    OfTheKinds,
    None,
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

    /// The way where a walk begins.
    pub(crate) fn start(self) -> Way {
        match self.free.known {
            Known::OfTheKinds => Way::Class,
            Known::None => Way::Text,
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

    /// What to do with the subtree of a child, to which a byte leads behind `way`.
    /// `is_back` says whether the text of that way leads back to where the walk began.
    #[inline]
    pub(crate) fn pass(
        self,
        (child, byte): (usize, u8),
        way: Way,
        is_back: impl FnOnce() -> bool,
    ) -> Pass {
        // Where a character begins, none is open.
        if way == Way::Other || byte & 0xC0 == 0x80 {
            return Pass::Read;
        }
        let free = self.free;
        let below = &self.below[child];
        if !below.kinds.are_within(free.kinds) {
            return Pass::Read;
        }
        let is_short = usize::from(below.longest) <= free.bytes;
        let of_class = way == Way::Class;
        let is_free = match free.from {
            From::AnyText => is_short,
            From::ItsClass => of_class && (is_short || free.ends),
            From::Start => is_short && is_back(),
        };
        match is_free {
            true if of_class => Pass::LeaveOut,
            true => Pass::Take,
            false => Pass::Read,
        }
    }
}
