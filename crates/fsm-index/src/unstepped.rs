//! Subtrees that a walk need not step through, because their text is free anyway.

use crate::reading::Pass;
use crate::vocabulary::{Below, Kinds, Node, Trie};

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

/// Finds such subtrees on the way through a trie.
pub(crate) struct Unstepped<'a> {
    free: &'a Free,
    below: &'a [Below],
    /// The depth of the node on the way behind which nothing is free.
    text_ends: usize,
    /// The same of the class of what is free.
    class_ends: usize,
}

impl<'a> Unstepped<'a> {
    pub(crate) fn new(free: &'a Free, trie: &'a Trie) -> Unstepped<'a> {
        Unstepped {
            free,
            below: trie.below(),
            text_ends: usize::MAX,
            class_ends: usize::MAX,
        }
    }

    /// What to do with a subtree: [`Pass::Leave`] where all its tokens may come, which is
    /// not known yet. `is_back` says whether the text before it leads back to where the
    /// walk began. To be asked of each node that is not left out, in their order.
    #[inline]
    pub(crate) fn pass(&mut self, at: usize, node: &Node, is_back: &dyn Fn() -> bool) -> Pass {
        let depth = usize::from(node.depth);
        let Unstepped {
            free,
            text_ends,
            class_ends,
            ..
        } = self;
        if *text_ends >= depth {
            *text_ends = usize::MAX;
            if *class_ends >= depth {
                *class_ends = usize::MAX;
            }
            // A character begins here, so that nothing is open.
            let begins = node.byte & 0xC0 != 0x80;
            let below = self.below[at];
            let is_short = usize::from(below.longest) <= free.bytes;
            if begins && (is_short || free.ends) && below.kinds.are_within(free.kinds) {
                let of_class = *class_ends == usize::MAX;
                let is_free = match free.from {
                    From::AnyText => is_short,
                    From::ItsClass => of_class,
                    From::Start => is_short && is_back(),
                };
                match is_free {
                    true if of_class => return Pass::LeaveOut,
                    true => return Pass::Leave,
                    false => {}
                }
            }
        }
        if *text_ends == usize::MAX && !Kinds::is_text(node.byte) {
            *text_ends = depth;
        }
        if *class_ends == usize::MAX && !free.kinds.have(node.byte) {
            *class_ends = depth;
        }
        Pass::Read
    }
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
