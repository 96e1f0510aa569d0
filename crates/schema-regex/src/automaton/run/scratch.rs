//! The working memory of one walk: everything that a cursor stands for, each once and by number.
//!
//! For example, the stack behind `[[` is one node above that of `[`, for all cursors on it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fsm_index::Cursor;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHasher};

use crate::automaton::run::allowance::Allowance;
use crate::automaton::run::config::{Config, EMPTY_LIST, FIRST, FIRST_THREAD, Frame, Top};
use crate::automaton::run::found::{Found, Usable};
use crate::automaton::run::seen::Seen;
use crate::automaton::run::texts::Texts;

/// Things with numbers, each once.
#[derive(Debug)]
pub(super) struct Interner<T>(IndexSet<T, FxBuildHasher>);

impl<T: Eq + Hash> Interner<T> {
    fn new() -> Self {
        Interner(IndexSet::default())
    }

    #[inline]
    pub(super) fn add(&mut self, item: T) -> u32 {
        self.0.insert_full(item).0 as u32
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &T {
        &self.0[id as usize]
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The configurations of a walk by number, 0 the dead one. Most are found again
/// where they are met again, though not all: a table without chains remembers them.
#[derive(Debug)]
pub(super) struct Configs {
    items: Vec<Config>,
    /// In pairs of places: the numbers of those that were met last.
    places: Box<[u32]>,
}

/// The places of configurations, few because a walk clears none and mostly meets what it met last.
const PLACES: usize = 1 << 12;

impl Configs {
    fn new() -> Configs {
        let dead = Config {
            top: Top::End,
            stack: u32::MAX,
            item: 0,
        };
        Configs {
            items: vec![dead],
            places: vec![0; PLACES].into(),
        }
    }

    /// Forgets all but the dead one: a new walk begins.
    pub(super) fn clear(&mut self) {
        // The number in a place is compared before it is believed.
        self.items.truncate(1);
    }

    pub(super) fn add(&mut self, config: Config) -> u32 {
        let mut hasher = FxHasher::default();
        config.hash(&mut hasher);
        let place = hasher.finish() as usize % PLACES;
        let is = |id: u32| id != 0 && self.items.get(id as usize) == Some(&config);
        let newest = self.places[place];
        if is(newest) {
            return newest;
        }
        let older = self.places[place ^ 1];
        if is(older) {
            return older;
        }
        let fresh = self.items.len() as u32;
        self.items.push(config);
        self.places[place ^ 1] = newest;
        self.places[place] = fresh;
        fresh
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Config {
        &self.items[id as usize]
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

/// Tells scratches apart, also those that were emptied from what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScratchId(u64);

impl ScratchId {
    /// That of no scratch.
    pub(super) const NONE: ScratchId = ScratchId(0);

    fn new() -> ScratchId {
        /// The next tag, from one on because [`ScratchId::NONE`] is zero.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        ScratchId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StackNode {
    pub(super) frame: Frame,
    pub(super) below: u32,
    pub(super) depth: u32,
}

/// A stack of which the topmost frame may be looked at: a mask that is remembered by its key
/// depends on nothing that was not noted or that the key tells anyway. Functions that look at a
/// frame without noting it take one of these, so that their callers must have settled that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted(u32);

impl Noted {
    /// For those who look only at what the key of the topmost level tells too: which further
    /// names may come, or the value behind a colon.
    pub(super) fn told_by_key(stack: u32) -> Noted {
        Noted(stack)
    }

    /// For those on whose answer no remembered mask depends: keys themselves, which say how
    /// deep they look; states that are saved, completions and explanations; and items
    /// whose text is kept, which have no key.
    pub(super) fn beside_masks(stack: u32) -> Noted {
        Noted(stack)
    }

    /// The same level with another frame, which was made from this one.
    pub(super) fn instead(self, stack: u32) -> Noted {
        Noted(stack)
    }

    pub(super) fn stack(self) -> u32 {
        self.0
    }
}

/// The working memory of [`crate::automaton::SchemaAutomaton`]: opaque.
#[derive(Debug)]
pub struct Scratch {
    lists: Interner<Arc<[u32]>>,
    seen: Interner<Seen>,
    stacks: Interner<StackNode>,
    tag: ScratchId,
    configs: Configs,
    texts: Texts,
    found: Found,
    /// The upper part of a stack, while it is taken apart.
    path: Vec<u32>,
    /// Says that a search is looking for items that differ, so that steps do not ask for them.
    is_searching: bool,
    allowance: Allowance,
    /// Says whether an item that has become different is forgotten.
    forgets: bool,
    /// The depth of the stack at the beginning, and the least that was looked
    /// at.
    base_depth: u32,
    least_depth: u32,
}

/// A scratch that holds more than this is emptied at the next walk, because as many
/// take some hundred megabytes.
const MAX_KEPT: usize = 2_000_000;

impl Scratch {
    pub(in crate::automaton) fn new() -> Scratch {
        let mut scratch = Scratch {
            lists: Interner::new(),
            seen: Interner::new(),
            stacks: Interner::new(),
            tag: ScratchId::new(),
            configs: Configs::new(),
            texts: Texts::new(),
            found: Found::default(),
            path: Vec::new(),
            is_searching: false,
            allowance: Allowance::new(),
            forgets: false,
            base_depth: 0,
            least_depth: 0,
        };
        scratch.fill();
        scratch
    }

    fn fill(&mut self) {
        self.lists.add(Arc::from([]));
        self.lists.add(Arc::from([0]));
        self.lists.add(Arc::from([0, 0]));
        self.seen.add(Seen::default());
        // The stack without frames.
        self.stacks.add(StackNode {
            frame: Frame::first(u32::MAX, EMPTY_LIST),
            below: 0,
            depth: 0,
        });
    }

    /// Forgets what grew too large.
    pub(super) fn tidy(&mut self) {
        let objects = self.found.objects.len();
        if self.configs.len() + self.stacks.len() + self.lists.len() + self.texts.len() + objects
            > MAX_KEPT
        {
            *self = Scratch::new();
        }
    }

    /// Forgets what grew too large, and all cursors.
    pub(super) fn begin_walk(&mut self) {
        self.tidy();
        self.configs.clear();
    }

    /// The configuration of a cursor.
    #[inline]
    pub(super) fn config(&self, cursor: Cursor) -> &Config {
        self.configs.get(cursor.0)
    }

    /// The cursor of a configuration.
    #[inline]
    pub(super) fn cursor(&mut self, config: Config) -> Cursor {
        Cursor(self.configs.add(config))
    }

    /// Tells scratches apart.
    pub(super) fn tag(&self) -> ScratchId {
        self.tag
    }

    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn found_mut(&mut self) -> &mut Found {
        &mut self.found
    }

    /// Returns the texts of items and names.
    #[inline]
    pub(super) fn texts(&self) -> &Texts {
        &self.texts
    }

    #[inline]
    pub(super) fn texts_mut(&mut self) -> &mut Texts {
        &mut self.texts
    }

    /// Returns the names that may come in an object, those that came, and the texts: reading a name takes them.
    pub(super) fn in_name(
        &mut self,
        stack: u32,
        seen: u32,
    ) -> Option<(&Usable, &Seen, &mut Texts)> {
        let usable = self.found.usable.get(stack)?;
        Some((usable, self.seen.get(seen), &mut self.texts))
    }

    pub(super) fn allowance(&mut self) -> &mut Allowance {
        &mut self.allowance
    }

    /// Takes steps without asking whether items that must differ can do so: what is found out by them.
    pub(super) fn while_searching<T>(&mut self, find: impl FnOnce(&mut Scratch) -> T) -> T {
        let before = std::mem::replace(&mut self.is_searching, true);
        let found = find(self);
        self.is_searching = before;
        found
    }

    #[inline]
    pub(super) fn is_searching(&self) -> bool {
        self.is_searching
    }

    /// Begins to note at which depth frames are looked at.
    pub(super) fn begin_at(&mut self, stack: u32) {
        self.base_depth = self.depth(stack);
        self.least_depth = self.base_depth;
        self.forgets = false;
    }

    /// Forgets items that have become different from here on.
    pub(super) fn forget_items(&mut self) {
        self.forgets = true;
        self.found.forgotten.clear();
    }

    /// Says whether an item that has become different is forgotten.
    pub(super) fn forgets(&self) -> bool {
        self.forgets
    }

    /// The depth of the stack where the walk began.
    pub(super) fn base_depth(&self) -> u32 {
        self.base_depth
    }

    /// Returns the number of levels that were looked at since the walk began, the topmost one included.
    pub(super) fn levels_looked_at(&self) -> usize {
        (self.base_depth - self.least_depth) as usize + 1
    }

    /// Returns the answer to something, if no frame was looked at for it; frames that were are not noted.
    pub(super) fn on_top<T>(&mut self, find: impl FnOnce(&mut Scratch) -> T) -> Option<T> {
        let least = std::mem::replace(&mut self.least_depth, self.base_depth);
        let found = find(self);
        let is_on_top = self.least_depth == self.base_depth;
        self.least_depth = least;
        is_on_top.then_some(found)
    }

    pub(super) fn take_path(&mut self) -> Vec<u32> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path
    }

    pub(super) fn put_path(&mut self, path: Vec<u32>) {
        self.path = path;
    }

    #[inline]
    pub(super) fn seen(&self, id: u32) -> &Seen {
        self.seen.get(id)
    }

    pub(super) fn add_seen(&mut self, seen: Seen) -> u32 {
        self.seen.add(seen)
    }

    #[inline]
    pub(super) fn slice(&self, id: u32) -> &[u32] {
        self.lists.get(id)
    }

    pub(super) fn list(&self, id: u32) -> Arc<[u32]> {
        Arc::clone(self.lists.get(id))
    }

    pub(super) fn add_list(&mut self, list: &[u32]) -> u32 {
        match list {
            [] => EMPTY_LIST,
            [0] => FIRST,
            [0, 0] => FIRST_THREAD,
            other => {
                let known = self.lists.0.get_index_of(other);
                known.map_or_else(|| self.lists.add(Arc::from(other)), |at| at as u32)
            }
        }
    }

    pub(super) fn push(&mut self, frame: Frame, below: u32) -> u32 {
        let depth = self.stacks.get(below).depth + 1;
        self.stacks.add(StackNode {
            frame,
            below,
            depth,
        })
    }

    /// Notes that the frame on top of a stack is looked at: the mask depends on it.
    pub(super) fn note(&mut self, stack: u32) -> Noted {
        let depth = self.depth(stack);
        self.least_depth = self.least_depth.min(depth.saturating_sub(1));
        Noted(stack)
    }

    /// The frame on top of a stack that is not empty, which is noted.
    pub(super) fn frame(&mut self, stack: u32) -> StackNode {
        let top = self.note(stack);
        self.peek(top)
    }

    /// The frame on top of a stack for which it was settled that it may be looked at.
    pub(super) fn peek(&self, top: Noted) -> StackNode {
        *self.stacks.get(top.0)
    }

    /// The levels of a stack, the innermost first, for those on whose answer no remembered mask
    /// depends: see [`Noted::beside_masks`].
    pub(super) fn levels(&self, stack: u32) -> impl Iterator<Item = StackNode> {
        let known = |at: u32| (at != 0).then(|| self.peek(Noted::beside_masks(at)));
        std::iter::successors(known(stack), move |level| known(level.below))
    }

    pub(super) fn depth(&self, stack: u32) -> u32 {
        self.stacks.get(stack).depth
    }

    /// The bytes from `start` on of the items that are open, to compare them: they are
    /// counted.
    pub(super) fn open_bytes(&mut self, item: u32, start: u32) -> Vec<u8> {
        let bytes = self.texts.bytes(item, start);
        self.allowance.compare(bytes.len() as u64);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noting_is_what_counts_as_looking() {
        let mut x = Scratch::new();
        let first = x.push(Frame::first(3, FIRST_THREAD), 0);
        let second = x.push(Frame::first(4, FIRST_THREAD), first);
        (x.base_depth, x.least_depth) = (2, 2);
        let node = |of: StackNode| of.frame.node;
        assert_eq!(node(x.peek(Noted::told_by_key(second))), 4);
        assert_eq!(node(x.peek(Noted::beside_masks(first))), 3);
        assert_eq!(x.least_depth, 2);
        let top = x.note(second);
        assert_eq!(x.least_depth, 1);
        let other = top.instead(x.push(Frame::first(5, FIRST_THREAD), first));
        assert_eq!((node(x.peek(other)), x.least_depth), (5, 1));
        assert_eq!((node(x.frame(first)), x.least_depth), (3, 0));
    }
}
