//! The machine of objects: the threads that read one, its declared names and the classes of further ones.
//!
//! For example, `{"properties": {"a": true}, "required": ["a"]}` has a thread that requires the name `a`, and one
//! class of further names.

use std::ops::Range;
use std::sync::OnceLock;

use fsm_index::ByteSet;
use schema_normal::decimal::clamped;
use schema_normal::language::char_dfa::CharDfa;

use crate::automaton::machine::decisions::{Decisions, FURTHER};
use crate::automaton::machine::few::Few;
use crate::automaton::machine::node::{Choice, Member};
use crate::automaton::machine::progress::has_bit;
use crate::automaton::machine::strings::{Word, Words};

#[derive(Debug)]
pub(crate) struct ObjectMachine {
    pub(crate) threads: Box<[ObjectThread]>,
    /// The declared names; `listed` has the number.
    pub(crate) names: Words,
    /// By number.
    pub(crate) declared: Box<[Member]>,
    /// True if some thread has an order.
    pub(super) ordered: bool,
    /// The further names, by class.
    pub(crate) classes: Box<[ExtraClass]>,
    pub(crate) keys: Option<KeyMachine>,
    /// The declared names of which a frame remembers whether they were used,
    /// as bits: those that some thread lets come at any time.
    pub(super) tracked: Few<u32>,
    /// Members are counted up to here; 0 where nobody asks.
    pub(super) cap: u32,
    /// With what declared names begin, in any spelling, once that was wanted.
    pub(super) heads: OnceLock<ByteSet>,
}

/// The rank of a name that has no place in the order.
pub(crate) const LOOSE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct ObjectThread {
    pub(crate) goal: u32,
    /// The place of each declared name in the order of this thread; [`LOOSE`]
    /// for those that may come at any time after the ordered ones.
    pub(super) ranks: Box<[u32]>,
    /// Rank and number, ascending.
    pub(crate) required: Box<[(u32, u32)]>,
    pub(crate) min: u64,
    pub(super) max: Option<u64>,
    /// By the number of what implies the others, ascending.
    pub(crate) implies: Box<[(u32, Box<[u32]>)]>,
    /// One bit for each.
    pub(crate) witnesses: u32,
    /// The conditions on members together: a choice takes one more than the kind of a value, or 0.
    pub(crate) decisions: Option<Box<Decisions>>,
    /// Nothing but `required` to look at.
    pub(super) simple: bool,
    /// True if the rank of each declared name is its number.
    pub(super) by_number: bool,
}

impl ObjectThread {
    /// A thread that asks for a number of members, and for no names.
    pub(crate) fn new(goal: u32, min: u64, max: Option<u64>) -> ObjectThread {
        ObjectThread {
            goal,
            ranks: Box::default(),
            required: Box::default(),
            min,
            max,
            implies: Box::default(),
            witnesses: 0,
            decisions: None,
            simple: min == 0 && max.is_none(),
            by_number: true,
        }
    }

    /// The same with the places of the declared names in its order, and those that it requires.
    pub(crate) fn with_names(self, ranks: Vec<u32>, required: Vec<(u32, u32)>) -> ObjectThread {
        ObjectThread {
            by_number: (0..).zip(&ranks).all(|(number, rank)| number == *rank),
            ranks: ranks.into(),
            required: required.into(),
            ..self
        }
    }

    /// The same with more that it asks for: names that imply others, a number of witnesses, and
    /// conditions on members together.
    pub(crate) fn with_demands(
        self,
        implies: Vec<(u32, Box<[u32]>)>,
        witnesses: usize,
        decisions: Option<Box<Decisions>>,
    ) -> ObjectThread {
        let is_more = !implies.is_empty() || witnesses > 0 || decisions.is_some();
        ObjectThread {
            simple: self.simple && !is_more,
            implies: implies.into(),
            witnesses: (1 << witnesses) - 1,
            decisions,
            ..self
        }
    }

    /// Tells whether it asks for nothing but required names.
    pub(crate) fn is_simple(&self) -> bool {
        self.simple
    }

    /// Tells whether a declared name may come at any time after the ordered ones.
    pub(crate) fn is_loose(&self, name: u32) -> bool {
        self.ranks.get(name as usize) == Some(&LOOSE)
    }

    /// Returns the names that a simple thread may let come behind a place in its order, and perhaps others:
    /// where they come by their numbers, those up to the next one that is required.
    pub(crate) fn next_names(&self, place: u32) -> Range<u32> {
        let last = self.ranks.len() as u32;
        match self.by_number {
            true => {
                let next = self.required.partition_point(|(rank, _)| *rank < place);
                let end = self.required.get(next).map_or(last, |(rank, _)| *rank + 1);
                place.min(last)..end
            }
            false => 0..last,
        }
    }

    /// Up to where members are counted.
    fn cap(&self) -> u32 {
        clamped(self.max.map_or(self.min, |max| max.saturating_add(1)))
    }
}

#[derive(Debug)]
pub(crate) struct ExtraClass {
    pub(crate) member: Member,
    /// The number of its names, declared ones aside; `None` is no end.
    pub(crate) count: Option<u64>,
}

/// Tells the classes of names apart.
#[derive(Debug)]
pub(crate) struct KeyMachine {
    pub(crate) dfa: CharDfa,
    /// The number of its first loop.
    pub(super) loops: u32,
    /// By state the class of names that end there.
    pub(super) class: Vec<u32>,
    /// By class and state, how many names can still be; `None` is no end.
    pub(super) counts: Vec<Vec<Option<u64>>>,
}

/// The class of names that may not come, because no object has so many classes.
pub(crate) const NO_CLASS: u32 = u32::MAX;

impl KeyMachine {
    /// From an automaton, the number of its first loop, the number of classes, and the class of each label.
    pub(crate) fn new(
        dfa: CharDfa,
        loops: u32,
        classes: u32,
        class_of: impl Fn(u64) -> Option<u32>,
    ) -> KeyMachine {
        let states = 0..dfa.states() as u32;
        let class = states.map(|state| class_of(dfa.label(state)).unwrap_or(NO_CLASS));
        let counts = (0..classes).map(|class| dfa.counts(|label| class_of(label) == Some(class)));
        KeyMachine {
            class: class.collect(),
            counts: counts.collect(),
            loops,
            dfa,
        }
    }

    /// The class of the names that end in a state.
    pub(crate) fn class_at(&self, state: u32) -> u32 {
        self.class.get(state as usize).copied().unwrap_or(NO_CLASS)
    }

    /// For each of some classes, which are bits, how many names can still be from a state on; `None` is no end.
    pub(crate) fn left(&self, classes: u64, state: u32) -> impl Iterator<Item = Option<u64>> {
        let counts = (0..).zip(&self.counts);
        let counts = counts.filter(move |(class, _): &(u32, _)| classes & (1 << class) != 0);
        counts.map(move |(_, left)| left.get(state as usize).copied().unwrap_or(Some(0)))
    }

    /// The automaton with the number of its first loop.
    pub(crate) fn looping(&self) -> (&CharDfa, u32) {
        (&self.dfa, self.loops)
    }
}

impl ObjectMachine {
    /// From the threads, the declared names with their members, and the classes of further names.
    pub(crate) fn new(
        threads: Vec<ObjectThread>,
        names: Vec<Word>,
        declared: Vec<Member>,
        classes: Vec<ExtraClass>,
        keys: Option<KeyMachine>,
    ) -> ObjectMachine {
        ObjectMachine {
            tracked: tracked(&declared, &threads),
            ordered: threads.iter().any(|t| t.ranks.iter().any(|r| *r != LOOSE)),
            cap: threads.iter().map(ObjectThread::cap).max().unwrap_or(0),
            threads: threads.into(),
            names: Words::new(names, 1),
            declared: declared.into(),
            classes: classes.into(),
            keys,
            heads: OnceLock::new(),
        }
    }

    /// Returns the place in the order behind the name of one more member, and the number of members then, as
    /// far as they are counted.
    pub(crate) fn behind(&self, number: u32, count: u32) -> (u32, u32) {
        let place = match self.ordered {
            true => number.min(self.declared.len() as u32) + 1,
            false => 0,
        };
        (place, count + u32::from(count < self.cap))
    }

    /// Tells whether a frame remembers that a name was used.
    pub(crate) fn tracks(&self, number: u32) -> bool {
        has_bit(&self.tracked, number)
    }

    /// Returns the bytes with which declared names begin, which are told when it is asked first.
    pub(crate) fn heads(&self, of: impl Fn(&str) -> ByteSet) -> ByteSet {
        *self.heads.get_or_init(|| {
            let names = self.names.iter();
            names.fold(ByteSet::NONE, |heads, word| heads.or(of(&word.text)))
        })
    }

    pub(crate) fn class_of(&self, name: &str) -> u32 {
        match &self.keys {
            Some(keys) => keys.class_at(keys.dfa.run(name)),
            None if self.classes.is_empty() => NO_CLASS,
            None => 0,
        }
    }

    /// The member by number: declared ones, then classes.
    pub(crate) fn member(&self, number: u32) -> &Member {
        let n = number as usize;
        match self.declared.get(n) {
            Some(member) => member,
            None => &self.classes[n - self.declared.len()].member,
        }
    }
}

/// The names that are remembered, as bits: those that a thread lets come at any time, and
/// those that something depends on.
fn tracked(declared: &[Member], threads: &[ObjectThread]) -> Few<u32> {
    let mut tracked = vec![0u32; declared.len().div_ceil(32)];
    let mut track = |n: u32| tracked[n as usize / 32] |= 1 << (n % 32);
    for (n, member) in (0..).zip(declared) {
        let mut options = member.options.iter();
        let is_loose = |c: &Choice| threads[c.thread as usize].ranks[n as usize] == LOOSE;
        if options.any(is_loose) {
            track(n);
        }
    }
    let decided = threads
        .iter()
        .filter_map(|thread| thread.decisions.as_ref());
    for name in decided.flat_map(|decisions| decisions.members()) {
        if name != FURTHER {
            track(name);
        }
    }
    for (n, list) in threads.iter().flat_map(|thread| &thread.implies) {
        track(*n);
        list.iter().for_each(|n| track(*n));
    }
    tracked.into()
}
