//! The ground of walks: the nodes that they go over, and the spelling of the texts that they meet.
//! For example, in JSON a quotation mark begins a text, and `a` is plain in it.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::free_subtrees::Free;
use crate::tokens::{AllBelow, Area, Kinds};
use crate::{ByteSet, ClassId, Lexicon};

/// The least number of children for which the next bytes are asked for: to fewer each step is
/// taken, because that is as fast.
pub(super) const WORTH_ASKING: usize = 2;

/// The ground of a walk: the nodes that it goes over, and what is known of them.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) area: Area<'a>,
    /// The text that is free where the walk begins.
    pub(crate) free: Option<Free>,
    /// The least number of nodes of a subtree for which the free text is asked for.
    pub(crate) much: u32,
    pub(crate) language: &'a Language,
}

/// The spelling of an automaton's texts: its [`Lexicon`], as walks ask for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    /// The byte with which a text begins and ends, and its kind.
    pub(super) quote: Option<u8>,
    pub(super) end: Kinds,
    /// The bytes of plain text.
    pub(super) plain: ByteSet,
    /// True if walks ask on their way which text is free.
    pub(crate) tells_free: bool,
}

impl Language {
    pub(crate) fn new(lexicon: &Lexicon) -> Language {
        let quote = lexicon.quote;
        Language {
            quote,
            end: quote.map_or(Kinds::NONE, |quote| Kinds::of(char::from(quote))),
            plain: Kinds::bytes(lexicon.plain),
            tells_free: lexicon.tells_free,
        }
    }

    /// The kinds of which a class has all characters, that with which texts end aside: it is
    /// no character of a text.
    pub(crate) fn kinds(&self, class: &[(u32, u32)]) -> Kinds {
        Kinds::within(class).less(self.end)
    }
}

impl<'a> Ground<'a> {
    pub(crate) fn below(&self) -> &'a AllBelow {
        self.area.trie.below()
    }
}

/// The kinds of the classes that the walks of one automaton have met, which are long to look
/// through.
#[derive(Debug, Default)]
pub(crate) struct ClassKinds(HashMap<ClassId, Kinds, FixedState>);

impl ClassKinds {
    pub(crate) fn kinds(&mut self, class: ClassId, find: impl FnOnce(ClassId) -> Kinds) -> Kinds {
        *self.0.entry(class).or_insert_with(|| find(class))
    }
}
