//! The working memory of one walk: everything that a cursor stands for, each
//! thing once and by number.

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fsm_tables::packed;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use crate::automaton::machine::node::Span;
use crate::automaton::run::begun::Places;
use crate::automaton::run::object_steps::ObjectSteps;
use crate::automaton::run::seen::Seen;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::unique_items::ItemChoices;

/// Things with numbers, each once.
#[derive(Debug)]
pub(crate) struct Interner<T>(IndexSet<T, FxBuildHasher>);

impl<T: Eq + Hash> Interner<T> {
    fn new() -> Self {
        Interner(IndexSet::default())
    }

    #[inline]
    pub(crate) fn add(&mut self, item: T) -> u32 {
        self.0.insert_full(item).0 as u32
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.0[id as usize]
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Texts by number: each is another one and a value behind it.
#[derive(Debug)]
pub(crate) struct Texts {
    /// What comes before, the last value, and how many there are.
    nodes: Vec<(u32, u32, u32)>,
    ids: FxHashMap<(u32, u32), u32>,
}

impl Texts {
    /// With [`NO_TEXT`] and [`EMPTY_TEXT`].
    fn new() -> Texts {
        Texts {
            nodes: vec![(0, 0, 0), (0, 0, 0)],
            ids: FxHashMap::default(),
        }
    }

    pub(crate) fn add(&mut self, text: u32, value: u32) -> u32 {
        let fresh = self.nodes.len() as u32;
        match self.ids.entry((text, value)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let length = self.nodes[text as usize].2 + 1;
                self.nodes.push((text, value, length));
                *place.insert(fresh)
            }
        }
    }

    /// As [`Texts::add`] without looking whether the text is there already: for texts
    /// that no cursor is told apart by.
    pub(crate) fn append(&mut self, text: u32, value: u32) -> u32 {
        let length = self.nodes[text as usize].2 + 1;
        self.nodes.push((text, value, length));
        self.nodes.len() as u32 - 1
    }
}

/// The configurations of a walk by number, 0 the dead one. Most are found again
/// where they are met again, though not all: a table without chains remembers them.
#[derive(Debug)]
pub(crate) struct Configs {
    items: Vec<Config>,
    /// In pairs of places: the numbers of those that were met last.
    places: Box<[u32]>,
}

/// Places of configurations.
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
    pub(crate) fn clear(&mut self) {
        // What stands in a place is compared before it is believed.
        self.items.truncate(1);
    }

    pub(crate) fn add(&mut self, config: Config) -> u32 {
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
    pub(crate) fn get(&self, id: u32) -> &Config {
        &self.items[id as usize]
    }

    fn len(&self) -> usize {
        self.items.len()
    }
}

/// Tells scratches apart, also those that were emptied from what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tag(u64);

impl Tag {
    /// That of no scratch.
    pub(crate) const NONE: Tag = Tag(0);

    fn new() -> Tag {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Tag(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A thread that reads an open array or object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Its number in the machine.
    pub(crate) id: u32,
    /// In an object the witnesses that were found, as bits. In an array how many items each
    /// count has, as the digits of one number: see [`Counter::radix`].
    ///
    /// [`Counter::radix`]: crate::automaton::machine::node::Counter::radix
    pub(crate) progress: u32,
}

/// The threads of a frame, from their list.
pub(crate) fn threads_in(list: &[u32]) -> impl Iterator<Item = Thread> {
    let (pairs, _) = list.as_chunks();
    pairs.iter().map(|&[id, progress]| Thread { id, progress })
}

/// An open array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) node: u32,
    pub(crate) is_object: bool,
    /// A list: the number and the progress of each [`Thread`], alternating.
    pub(crate) threads: u32,
    /// In an object the first ordered name that may come; in an array the
    /// index of the item that is open or comes next, clamped.
    pub(crate) pos: u32,
    /// Members so far, clamped, where anybody counts.
    pub(crate) count: u32,
    /// A list of bits.
    pub(crate) used: u32,
    /// The further names, or the items that must differ.
    pub(crate) seen: u32,
    /// The number of the open member.
    pub(crate) member: u32,
    /// In an array of different items: where in the text its item began; 0 in the outermost,
    /// with whose items the text begins anew; [`FORGOTTEN`] where the text of its item is not kept.
    pub(crate) start: u32,
}

impl Frame {
    /// That of an object of which nothing was read.
    pub(crate) fn first(node: u32, threads: u32) -> Frame {
        Frame {
            node,
            is_object: true,
            threads,
            pos: 0,
            count: 0,
            used: EMPTY_LIST,
            seen: 0,
            member: 0,
            start: 0,
        }
    }
}

/// Where the text stands, above the open arrays and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Top {
    /// Before a value; `set` lists the goals that count.
    Value {
        node: u32,
        set: u32,
        space: u32,
    },
    /// Inside `null`, `false` or `true`.
    Unit {
        word: u8,
        at: u8,
        set: u32,
    },
    Number {
        node: u32,
        set: u32,
        state: u32,
    },
    String {
        node: u32,
        set: u32,
        text: Str,
    },
    Key(Key),
    /// Between the tokens of the innermost array or object.
    Gap {
        gap: Gap,
        space: u32,
    },
    /// After the value.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Gap {
    ObjectStart,
    BeforeKey,
    /// As `BeforeKey`, for a further name that was not used yet: where walks
    /// compare with.
    BeforeFurther,
    Colon,
    AfterMember,
    ArrayStart,
    AfterItem,
}

impl Gap {
    /// Whether a name may come next, a comma between aside.
    pub(crate) fn is_before_a_name(self) -> bool {
        match self {
            Gap::ObjectStart | Gap::BeforeKey | Gap::BeforeFurther | Gap::AfterMember => true,
            Gap::Colon | Gap::ArrayStart | Gap::AfterItem => false,
        }
    }
}

/// The inside of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Str {
    /// The state of the one automaton, or a list of states.
    pub(crate) state: u32,
    pub(crate) words: Span,
    pub(crate) length: u32,
    pub(crate) partial: Partial,
}

/// The inside of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) state: u32,
    /// Among the declared names.
    pub(crate) names: Span,
    /// Among the further names that were used.
    pub(crate) used: Span,
    pub(crate) partial: Partial,
    /// The name so far: a text, [`NAMED`], or [`UNKNOWN`] where it began before the
    /// walk.
    pub(crate) text: u32,
}

impl Key {
    /// Whether it can only be a further name that was not used yet: then nothing
    /// but the classes of further names has to be looked at to read on.
    pub(crate) fn is_further(&self) -> bool {
        self.names.is_none() && self.used.is_none()
    }
}

pub(crate) const UNKNOWN: u32 = 0;
/// A name that is, as far as it was read, what the declared names of its span begin with:
/// nothing has to remember it.
pub(crate) const NAMED: u32 = u32::MAX;
pub(crate) const NO_TEXT: u32 = 0;
pub(crate) const EMPTY_TEXT: u32 = 1;
/// An item that differs from those before it, or whose text is not compared for
/// another reason: see `different`.
pub(crate) const UNKNOWN_ITEM: u32 = u32::MAX;

/// That the text of the item of an array is not kept: see [`Frame::start`]. No text is as long.
pub(crate) const FORGOTTEN: u32 = u32::MAX;

/// Whether the text of an item is kept, to be compared with those before it.
pub(crate) fn is_kept(item: u32) -> bool {
    item != NO_TEXT && item != UNKNOWN_ITEM
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) top: Top,
    pub(crate) stack: u32,
    /// The text since the outermost item that must differ from others began;
    /// [`NO_TEXT`] outside of such.
    pub(crate) item: u32,
}

/// Every step looks one of these up, so that they are hashed two fields at a
/// time.
impl Hash for Config {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.top.hash(hasher);
        hasher.write_u64(packed(self.stack, self.item));
    }
}

impl Hash for Frame {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let node = self.node << 1 | u32::from(self.is_object);
        hasher.write_u64(packed(node, self.threads));
        hasher.write_u64(packed(self.pos, self.count));
        hasher.write_u64(packed(self.used, self.seen));
        hasher.write_u64(packed(self.member, self.start));
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(packed(self.state, self.length));
        self.words.hash(hasher);
        if self.partial != Partial::None {
            self.partial.hash(hasher);
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(packed(self.state, self.text));
        self.names.hash(hasher);
        self.used.hash(hasher);
        if self.partial != Partial::None {
            self.partial.hash(hasher);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackNode {
    pub(crate) frame: Frame,
    pub(crate) below: u32,
    pub(crate) depth: u32,
}

/// A stack of which the topmost frame may be looked at: a mask that is remembered by its
/// key depends on nothing that was not noted or that the key tells anyway. What looks at a
/// frame without noting it takes one of these, so that whoever calls it must have settled
/// that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted(u32);

impl Noted {
    /// For those who look only at what the key of the topmost level tells too: which further
    /// names may come, or the value behind a colon.
    pub(crate) fn told_by_key(stack: u32) -> Noted {
        Noted(stack)
    }

    /// For those on whose answer no remembered mask depends: keys themselves, which say how
    /// deep they look; states that are saved, completions and explanations; and items
    /// whose text is kept, which have no key.
    pub(crate) fn beside_masks(stack: u32) -> Noted {
        Noted(stack)
    }

    /// The same level with another frame, which was made from this one.
    pub(crate) fn instead(self, stack: u32) -> Noted {
        Noted(stack)
    }

    pub(crate) fn stack(self) -> u32 {
        self.0
    }
}

/// Which names may come in an object.
#[derive(Clone, Debug)]
pub(crate) struct Usable {
    pub(crate) names: Box<[u32]>,
    pub(crate) classes: u64,
    /// Whether any may.
    pub(crate) some: bool,
    /// A list: for each class of further names that may come its number, and
    /// the node and the goals of their values.
    pub(crate) values: u32,
}

/// Lists from this number on have another number in each scratch.
pub(crate) const FIXED_LISTS: u32 = 3;
pub(crate) const EMPTY_LIST: u32 = 0;
/// The list `[0]`.
pub(crate) const FIRST: u32 = 1;
/// The list `[0, 0]`.
pub(crate) const FIRST_THREAD: u32 = 2;

/// The working memory of [`crate::automaton::SchemaAutomaton`]: opaque.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) lists: Interner<Arc<[u32]>>,
    pub(crate) seen: Interner<Seen>,
    stacks: Interner<StackNode>,
    pub(crate) tag: Tag,
    pub(crate) configs: Configs,
    pub(crate) texts: Texts,
    /// By stack.
    pub(crate) usable: Vec<Option<Arc<Usable>>>,
    /// By stack.
    pub(crate) object_summaries: Vec<ObjectSummary>,
    /// What objects that several threads read become, where that was asked: many texts lead to
    /// the same.
    pub(crate) objects: ObjectSteps,
    /// The upper part of a stack, while it is taken apart.
    pub(crate) path: Vec<u32>,
    /// Whether items that must differ can still do so, where it was asked.
    pub(crate) fresh: FxHashMap<Config, bool>,
    /// What was found of open items.
    pub(crate) places: Places,
    /// By stack, what the item on top may be, where it must differ and that was asked.
    pub(crate) item_choices: FxHashMap<u32, Arc<ItemChoices>>,
    /// While that is found out, it is not asked.
    pub(crate) searching: bool,
    /// How many more bytes of items a completion may compare with those before
    /// them.
    pub(crate) may_compare: u64,
    /// How many states a completion may still search.
    pub(crate) may_search: u64,
    /// How many bytes a completion may still write; 0 where that was found to be too few.
    pub(crate) may_write: usize,
    /// Whether an item that has become different is forgotten.
    pub(crate) forgets: bool,
    /// Stacks without what items are compared with, where they were asked for.
    pub(crate) forgotten: FxHashMap<u32, Option<u32>>,
    /// The depth of the stack at the beginning, and the least that was looked
    /// at.
    pub(crate) base_depth: u32,
    pub(crate) least_depth: u32,
}

/// A scratch that holds more things than this is emptied at the next walk.
const MAX_KEPT: usize = 2_000_000;

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let mut scratch = Scratch {
            lists: Interner::new(),
            seen: Interner::new(),
            stacks: Interner::new(),
            tag: Tag::new(),
            configs: Configs::new(),
            texts: Texts::new(),
            usable: Vec::new(),
            object_summaries: Vec::new(),
            objects: ObjectSteps::default(),
            path: Vec::new(),
            fresh: FxHashMap::default(),
            item_choices: FxHashMap::default(),
            places: Places::default(),
            searching: false,
            may_compare: MAX_COMPARED,
            may_search: MAX_SEARCHED,
            may_write: usize::MAX,
            forgets: false,
            forgotten: FxHashMap::default(),
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
    pub(crate) fn tidy(&mut self) {
        let objects = self.objects.len();
        if self.configs.len()
            + self.stacks.len()
            + self.lists.len()
            + self.texts.nodes.len()
            + objects
            > MAX_KEPT
        {
            *self = Scratch::new();
        }
    }

    pub(crate) fn list(&self, id: u32) -> Arc<[u32]> {
        Arc::clone(self.lists.get(id))
    }

    pub(crate) fn add_list(&mut self, list: &[u32]) -> u32 {
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

    pub(crate) fn push(&mut self, frame: Frame, below: u32) -> u32 {
        let depth = self.stacks.get(below).depth + 1;
        self.stacks.add(StackNode {
            frame,
            below,
            depth,
        })
    }

    /// Notes that the frame on top of a stack is looked at: the mask depends on it.
    pub(crate) fn note(&mut self, stack: u32) -> Noted {
        let depth = self.depth(stack);
        self.least_depth = self.least_depth.min(depth.saturating_sub(1));
        Noted(stack)
    }

    /// The frame on top of a stack that is not empty, which is noted.
    pub(crate) fn frame(&mut self, stack: u32) -> StackNode {
        let top = self.note(stack);
        self.peek(top)
    }

    /// The frame on top of a stack for which it was settled that it may be looked at.
    pub(crate) fn peek(&self, top: Noted) -> StackNode {
        *self.stacks.get(top.0)
    }

    pub(crate) fn depth(&self, stack: u32) -> u32 {
        self.stacks.get(stack).depth
    }

    pub(crate) fn add_text(&mut self, text: u32, value: u32) -> u32 {
        self.texts.add(text, value)
    }

    pub(crate) fn text_length(&self, text: u32) -> u32 {
        self.texts.nodes[text as usize].2
    }

    pub(crate) fn text_before(&self, text: u32) -> u32 {
        self.texts.nodes[text as usize].0
    }

    /// The last value of a text that is kept and not empty, as a byte.
    pub(crate) fn last_byte(&self, text: u32) -> Option<u8> {
        let (_, value, length) = *self.texts.nodes.get(text as usize)?;
        (is_kept(text) && length > 0).then_some(value as u8)
    }

    /// The values of a text from `start` on.
    pub(crate) fn text(&self, text: u32, start: u32) -> Vec<u32> {
        let length = self.texts.nodes[text as usize].2.saturating_sub(start);
        let mut out = vec![0; length as usize];
        let mut at = text;
        for place in out.iter_mut().rev() {
            (at, *place, _) = self.texts.nodes[at as usize];
        }
        out
    }

    /// The bytes from `start` on of the items that are open, to compare them: they are
    /// counted.
    pub(crate) fn open_bytes(&mut self, item: u32, start: u32) -> Vec<u8> {
        let bytes = self.bytes(item, start);
        self.may_compare = self.may_compare.saturating_sub(bytes.len() as u64);
        bytes
    }

    /// The same of a text whose values are bytes: an item's.
    pub(crate) fn bytes(&self, text: u32, start: u32) -> Vec<u8> {
        let values = self.text(text, start).into_iter();
        values.map(|byte| byte as u8).collect()
    }
}

/// Where an object stands behind the value of a member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ObjectSummary {
    /// Nobody has asked.
    #[default]
    Unasked,
    /// It takes more to tell.
    Untold,
    Told(Told),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// One more than the goal that the object satisfies if it ends, or 0.
    pub(crate) ends: u32,
    pub(crate) more: More,
    /// The classes of further names that may come, as bits.
    pub(crate) classes: u64,
}

/// Which names may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum More {
    None = 0,
    /// Declared ones alone.
    Declared = 1,
    /// Further ones, whichever they are.
    Further = 2,
    /// Further ones that an automaton tells apart.
    OfClasses = 3,
}

/// A completion ends unfinished when it has compared more bytes of items that
/// must differ than this, in all its searches and detours: some ten seconds.
pub(crate) const MAX_COMPARED: u64 = 1 << 28;

/// A completion ends unfinished when it has searched more states than this, about half a
/// second. A name that is looked through counts as a state, and so does each step by which
/// a list of what must differ grows.
pub(crate) const MAX_SEARCHED: u64 = 100_000;

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
