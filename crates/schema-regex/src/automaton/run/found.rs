//! The answers that were found in a walk, each by all that it depends on, because many cursors ask the same.
//!
//! For example, the names that may come in an object are looked up once for its stack, although each of
//! them is read from there.

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::automaton::run::config::{Config, Frame};
use crate::automaton::run::item_places::ItemPlaces;
use crate::automaton::run::sorted::TextSet;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) usable: ByStack<Arc<Usable>>,
    pub(super) object_summaries: ByStack<Option<Told>>,
    /// The steps of objects that several threads read.
    pub(super) objects: ObjectSteps,
    /// Says whether items that must differ can still do so.
    pub(super) fresh: FxHashMap<Config, bool>,
    /// The beginnings of open items.
    pub(super) places: ItemPlaces,
    /// By stack, what the item on top may be, where it must differ.
    pub(super) item_choices: FxHashMap<u32, Arc<ItemChoices>>,
    /// Stacks without what items are compared with.
    pub(super) forgotten: FxHashMap<u32, Option<u32>>,
}

/// Answers by the numbers of stacks, of which most are asked for.
#[derive(Debug)]
pub(super) struct ByStack<T>(Vec<Option<T>>);

impl<T> Default for ByStack<T> {
    fn default() -> ByStack<T> {
        ByStack(Vec::new())
    }
}

impl<T> ByStack<T> {
    #[inline]
    pub(super) fn get(&self, stack: u32) -> Option<&T> {
        self.0.get(stack as usize)?.as_ref()
    }

    pub(super) fn insert(&mut self, stack: u32, answer: T) {
        let at = stack as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(answer);
    }
}

/// Which names may come in an object.
#[derive(Clone, Debug)]
pub(super) struct Usable {
    pub(super) names: Box<[u32]>,
    pub(super) classes: u64,
    /// True if any may.
    pub(super) some: bool,
    /// A list: for each class of further names that may come its number, and
    /// the node and the goals of their values.
    pub(super) values: u32,
}

/// The part of an object that may matter to a token which reads on behind the value of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// One more than the goal that the object satisfies if it ends, or 0.
    pub(super) ends: u32,
    pub(super) more: NamesToCome,
    /// The classes of further names that may come, as bits.
    pub(super) classes: u64,
}

/// Which names may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamesToCome {
    None = 0,
    /// Declared ones alone.
    Declared = 1,
    /// Further ones, whichever they are.
    Further = 2,
    /// Further ones that an automaton tells apart.
    OfClasses = 3,
}

/// The answers that were found in a scratch. They depend on nothing but their keys: a stack has its
/// frames.
#[derive(Debug, Default)]
pub(super) struct ObjectSteps {
    /// By node, goals and levels to open, the threads of an object that begins.
    pub(super) begun: FxHashMap<(u32, u32, u32), u32>,
    /// By stack and the number of a name, the frame behind the name.
    pub(super) named: FxHashMap<(u32, u32), Option<Frame>>,
    /// By stack and the number of a name, the goals of its value.
    pub(super) asked: FxHashMap<(u32, u32), u32>,
    /// By stack and the goals that the open member satisfies, the threads that go on.
    pub(super) closed: FxHashMap<(u32, u32), Behind>,
}

/// The object behind a member, as lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    /// The threads that go on; empty if there are none.
    pub(super) threads: u32,
    /// The bits of the frame.
    pub(super) used: u32,
}

impl ObjectSteps {
    pub(super) fn len(&self) -> usize {
        self.begun.len() + self.named.len() + self.asked.len() + self.closed.len()
    }
}

/// A goal that an item may satisfy, and the values that are barred then beside those before it.
#[derive(Clone, Debug)]
pub(super) struct ItemChoice {
    pub(super) goal: u32,
    pub(super) unique: bool,
    /// The values that the items to come cannot do without: sorted.
    pub(super) critical: TextSet,
}

impl ItemChoice {
    /// Tells whether a value may not come behind some others.
    pub(super) fn bars(&self, value: &str, seen: &TextSet) -> bool {
        self.unique && (seen.has(value) || self.critical.has(value))
    }
}

/// The choices for an open item, and the values that are barred by some of them.
#[derive(Clone, Debug)]
pub(super) struct ItemChoices {
    pub(super) all: Vec<ItemChoice>,
    pub(super) critical: TextSet,
}

impl Deref for ItemChoices {
    type Target = [ItemChoice];

    fn deref(&self) -> &[ItemChoice] {
        &self.all
    }
}
