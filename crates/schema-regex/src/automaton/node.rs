//! The compiled form: one node for each set of conjunctions that is asked of a
//! value, with a small machine for each kind of value.

use std::sync::{Arc, OnceLock};

use fsm_index::ByteSet;

use super::common::{OwnPrint, Print};
use super::compile::ConjId;
use super::dfa::{CharDfa, DEAD};
use super::digits::NumberDfa;
use super::few::Few;
use super::lengths::Lengths;
use super::room::Catalog;
use super::value_summary::ValueSummary;
use crate::ir::Name;

/// The height of what no value satisfies.
pub(super) const EMPTY: u32 = u32::MAX;

/// A set of conjunctions (the goals) asked of one value.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) goals: Few<ConjId>,
    /// For each goal how deep its flattest value nests; [`EMPTY`] where there
    /// is none.
    pub(super) heights: Few<u32>,
    /// The goals that `null`, `false` and `true` satisfy.
    pub(super) units: [Few<u32>; 3],
    /// Nodes that ask the same of numbers, or of strings, mostly share that.
    pub(super) number: Option<Arc<NumberMachine>>,
    pub(super) string: Option<Arc<StringMachine>>,
    pub(super) array: Option<Box<ArrayMachine>>,
    pub(super) object: Option<Box<ObjectMachine>>,
    /// The first node that reads the same texts in the same way; itself, if
    /// there is none before it.
    pub(super) alias: u32,
    /// What is asked of the value, once that was wanted.
    pub(super) print: OnceLock<Option<Box<Print>>>,
    /// The same as far as tokens reach into a value that they begin.
    pub(super) near_print: OnceLock<Option<Box<ValueSummary>>>,
    /// What is asked of the value, without what is asked of the values in it.
    pub(super) own_print: OnceLock<Option<Box<OwnPrint>>>,
    /// The same of what tells further names apart.
    pub(super) names_print: OnceLock<Option<Box<Print>>>,
}

#[derive(Debug)]
pub(super) struct NumberMachine {
    /// A goal, and the automaton that satisfies it.
    pub(super) leaves: Few<(u32, u32)>,
    pub(super) dfas: Few<Arc<NumberDfa>>,
}

#[derive(Debug)]
pub(super) struct StringMachine {
    pub(super) leaves: Few<Leaf>,
    pub(super) dfas: Few<Arc<CharDfa>>,
    /// For each automaton the number of its first loop.
    pub(super) loops: Few<u32>,
    pub(super) words: Words,
    /// Lengths are counted up to here; from here on they are alike.
    pub(super) cap: u32,
    /// A leaf without any demand: every string satisfies its goal.
    pub(super) free: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) goal: u32,
    /// Its strings are among the words and nowhere else.
    pub(super) listed: bool,
    pub(super) dfa: Option<u32>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) lengths: Option<Arc<Lengths>>,
    /// Some of the words are left out.
    pub(super) excludes: bool,
}

/// Strings in the order of their bytes. A text that begins some of them is a
/// range and how many bytes of it were read.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) list: Box<[Word]>,
    /// By leaf the words that it lists, where there are many words and several leaves.
    of_leaf: Box<[Box<[u32]>]>,
}

/// So few words are looked through.
const FEW_WORDS: usize = 64;

impl Words {
    /// From sorted words, which so many leaves list.
    pub(super) fn new(list: Vec<Word>, leaves: usize) -> Words {
        let mut of_leaf = Vec::new();
        if leaves > 1 && list.len() > FEW_WORDS {
            of_leaf = vec![Vec::new(); leaves];
            for (at, word) in (0..).zip(&list) {
                for leaf in &*word.listed {
                    if let Some(words) = of_leaf.get_mut(*leaf as usize) {
                        words.push(at);
                    }
                }
            }
        }
        Words {
            list: list.into(),
            of_leaf: of_leaf.into_iter().map(Vec::into_boxed_slice).collect(),
        }
    }

    /// Whether a leaf lists some words of a span.
    pub(super) fn some_listed(&self, span: Span, leaf: usize) -> bool {
        match self.of_leaf.get(leaf) {
            Some(words) => {
                let from = words.partition_point(|word| *word < span.lo);
                words.get(from).is_some_and(|word| *word < span.hi)
            }
            None => {
                let mut words = self.list[span.lo as usize..span.hi as usize].iter();
                words.any(|word| word.listed.contains(&(leaf as u32)))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: Name,
    /// For strings the leaves that list it; for names its number in order.
    pub(super) listed: Few<u32>,
    /// The leaves that leave it out.
    pub(super) excluded: Few<u32>,
}

/// Whether a goal is among some, which are sorted.
pub(super) fn has_goal(goals: &[u32], goal: u32) -> bool {
    debug_assert!(goals.is_sorted(), "{goals:?}");
    match goals.len() <= 8 {
        true => goals.contains(&goal),
        false => goals.binary_search(&goal).is_ok(),
    }
}

/// A range of sorted texts that begin with the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) lo: u32,
    pub(super) hi: u32,
    pub(super) read: u32,
}

impl std::hash::Hash for Span {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        let read = u64::from(self.read).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hasher.write_u64(crate::hash::pair(self.lo, self.hi).wrapping_add(read));
    }
}

impl Span {
    pub(super) const NONE: Span = Span {
        lo: 0,
        hi: 0,
        read: 0,
    };

    pub(super) fn all(count: usize) -> Span {
        Span {
            lo: 0,
            hi: count as u32,
            read: 0,
        }
    }

    pub(super) fn is_none(self) -> bool {
        self.lo == self.hi
    }

    /// The texts of the span that go on with `c`.
    pub(super) fn step<'t>(self, c: u32, text: impl Fn(usize) -> &'t str) -> Span {
        if self.is_none() {
            return Span::NONE;
        }
        match char::from_u32(c) {
            Some(c) => self.go_on(c.encode_utf8(&mut [0; 4]).as_bytes(), text),
            None => Span::NONE,
        }
    }

    /// The texts of the span that go on with whole characters.
    pub(super) fn go_on<'t>(self, bytes: &[u8], text: impl Fn(usize) -> &'t str) -> Span {
        if self.is_none() {
            return Span::NONE;
        }
        let read = self.read as usize;
        let tail = |i: usize| -> &[u8] {
            let t = text(i).as_bytes();
            let rest = &t[read..];
            &rest[..rest.len().min(bytes.len())]
        };
        let lo = partition(self.lo as usize, self.hi as usize, |i| tail(i) < bytes);
        let hi = partition(lo, self.hi as usize, |i| tail(i) <= bytes);
        if lo == hi {
            return Span::NONE;
        }
        Span {
            lo: lo as u32,
            hi: hi as u32,
            read: (read + bytes.len()) as u32,
        }
    }

    /// The characters of a range with which texts of the span go on, ascending. Takes the
    /// logarithm of the span for each.
    pub(super) fn heads<'t>(
        self,
        (first, last): (u32, u32),
        text: impl Fn(usize) -> &'t str,
    ) -> impl Iterator<Item = u32> {
        let read = self.read as usize;
        let head = move |i: usize| text(i)[read..].chars().next().map(u32::from);
        let end = self.hi as usize;
        let mut at = partition(self.lo as usize, end, |i| head(i) < Some(first));
        std::iter::from_fn(move || {
            let c = (at < end).then(|| head(at)).flatten()?;
            at = partition(at, end, |i| head(i) <= Some(c));
            (c <= last).then_some(c)
        })
    }

    /// What the texts of the span begin with, as far as it was read.
    pub(super) fn begun(self, words: &Words) -> &str {
        let first = words.list.get(self.lo as usize);
        let begun = first.and_then(|word| word.text.get(..self.read as usize));
        begun.unwrap_or_default()
    }

    /// The first text of the span, if it ends here.
    pub(super) fn ends<'t>(self, text: impl Fn(usize) -> &'t str) -> Option<usize> {
        (!self.is_none() && text(self.lo as usize).len() == self.read as usize)
            .then_some(self.lo as usize)
    }
}

fn partition(mut lo: usize, mut hi: usize, below: impl Fn(usize) -> bool) -> usize {
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if below(mid) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}

/// What a member or an item must be: a node, and for each thread of the
/// container which goal of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) node: u32,
    /// By thread, ascending.
    pub(super) options: Few<Choice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Choice {
    pub(super) thread: u32,
    pub(super) goal: u32,
    /// Witnesses that this gives, or counts that it raises, as bits.
    pub(super) take: u32,
}

impl Member {
    pub(super) fn of(&self, thread: u32) -> &[Choice] {
        if let [one] = &*self.options {
            return if one.thread == thread {
                &self.options
            } else {
                &[]
            };
        }
        let from = self.options.partition_point(|c| c.thread < thread);
        let to = self.options.partition_point(|c| c.thread <= thread);
        &self.options[from..to]
    }
}

#[derive(Debug)]
pub(super) struct ArrayMachine {
    pub(super) threads: Box<[ArrayThread]>,
    /// By index; the last is for all further items.
    pub(super) members: Box<[Member]>,
    /// Indexes are counted up to here; from here on they are alike.
    pub(super) cap: u32,
    pub(super) unique: bool,
    /// Where items must differ, what is known of their values.
    pub(super) catalog: Catalog,
}

#[derive(Debug)]
pub(super) struct ArrayThread {
    pub(super) goal: u32,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) counts: Box<[Counter]>,
    pub(super) unique: bool,
}

#[derive(Debug)]
pub(super) struct Counter {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

impl Counter {
    /// One more than the highest count that is told apart.
    pub(super) fn radix(&self) -> u32 {
        self.max.unwrap_or(self.min) + 1
    }
}

#[derive(Debug)]
pub(super) struct ObjectMachine {
    pub(super) threads: Box<[ObjectThread]>,
    /// The declared names; `listed` has the number.
    pub(super) names: Words,
    /// By number.
    pub(super) declared: Box<[Member]>,
    /// Whether some thread has an order.
    pub(super) ordered: bool,
    /// What further names can be, by class.
    pub(super) classes: Box<[ExtraClass]>,
    pub(super) keys: Option<KeyMachine>,
    /// The declared names of which a frame remembers whether they were used,
    /// as bits: those that some thread lets come at any time.
    pub(super) tracked: Few<u32>,
    /// Members are counted up to here; 0 where nobody asks.
    pub(super) cap: u32,
    /// With what declared names begin, in any spelling, once that was wanted.
    pub(super) heads: OnceLock<ByteSet>,
}

/// The rank of a name that has no place in the order.
pub(super) const LOOSE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct ObjectThread {
    pub(super) goal: u32,
    /// The place of each declared name in the order of this thread; [`LOOSE`]
    /// for those that may come at any time after the ordered ones.
    pub(super) ranks: Box<[u32]>,
    /// Rank and number, ascending.
    pub(super) required: Box<[(u32, u32)]>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    /// By the number of what implies the others, ascending.
    pub(super) implies: Box<[(u32, Box<[u32]>)]>,
    /// One bit for each.
    pub(super) witnesses: u32,
    /// Nothing but `required` to look at.
    pub(super) simple: bool,
    /// Whether the rank of each declared name is its number.
    pub(super) by_number: bool,
}

/// Whether each rank is the number of its name.
pub(super) fn are_numbers(ranks: &[u32]) -> bool {
    (0..).zip(ranks).all(|(number, rank)| number == *rank)
}

#[derive(Debug)]
pub(super) struct ExtraClass {
    pub(super) member: Member,
    /// How many names are in it, declared ones aside; `None` is no end.
    pub(super) count: Option<u64>,
}

/// Tells the classes of names apart.
#[derive(Debug)]
pub(super) struct KeyMachine {
    pub(super) dfa: CharDfa,
    /// The number of its first loop.
    pub(super) loops: u32,
    /// By state the class of names that end there.
    pub(super) class: Vec<u32>,
    /// By class and state, how many names can still be; `None` is no end.
    pub(super) counts: Vec<Vec<Option<u64>>>,
}

pub(super) const NO_CLASS: u32 = u32::MAX;

impl KeyMachine {
    /// Whether all along a text that is read from a state on, and behind it, names of some
    /// classes may come that are more than so many others.
    pub(super) fn goes_on(&self, from: u32, text: &[u8], (classes, others): (u64, u64)) -> bool {
        let is_open = |state: u32| {
            let mut counts = self.counts.iter().enumerate();
            let is_more = |count: Option<u64>| count.is_none_or(|count| count > others);
            state != DEAD
                && counts.any(|(class, counts)| {
                    classes & (1 << class) != 0 && is_more(counts[state as usize])
                })
        };
        let text = String::from_utf8_lossy(text);
        let step = |state: u32, c: char| {
            let next = self.dfa.step(state, u32::from(c));
            is_open(next).then_some(next)
        };
        is_open(from) && text.chars().try_fold(from, step).is_some()
    }

    pub(super) fn class_of(&self, name: &str) -> u32 {
        match self.dfa.run(name) {
            DEAD => NO_CLASS,
            state => self.class[state as usize],
        }
    }
}

impl ObjectMachine {
    pub(super) fn class_of(&self, name: &str) -> u32 {
        match &self.keys {
            Some(keys) => keys.class_of(name),
            None if self.classes.is_empty() => NO_CLASS,
            None => 0,
        }
    }

    /// The member by number: declared ones, then classes.
    pub(super) fn member(&self, number: u32) -> &Member {
        let n = number as usize;
        match self.declared.get(n) {
            Some(member) => member,
            None => &self.classes[n - self.declared.len()].member,
        }
    }
}
