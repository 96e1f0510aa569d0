//! What was found out in a walk, each by all that it depends on: many cursors ask the same.
//!
//! For example, the names that may come in an object are looked up once for its stack, although each of
//! them is read from there.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::automaton::run::begun::Places;
use crate::automaton::run::config::Config;
use crate::automaton::run::object_steps::ObjectSteps;
use crate::automaton::run::scratch::{ObjectSummary, Usable};
use crate::automaton::run::unique_items::ItemChoices;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) usable: ByStack<Arc<Usable>>,
    pub(super) object_summaries: ByStack<ObjectSummary>,
    /// What objects that several threads read become.
    pub(super) objects: ObjectSteps,
    /// Whether items that must differ can still do so.
    pub(super) fresh: FxHashMap<Config, bool>,
    /// What was found of open items.
    pub(super) places: Places,
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
