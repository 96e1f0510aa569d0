//! The machine of strings: its leaves, each with what it asks of a string, and the words that they list.
//!
//! For example, `{"enum": ["a", "b"]}` is one leaf that lists two words, and `{"maxLength": 3}` is one
//! that counts characters.

use std::ops::{Deref, Range};
use std::sync::Arc;

use schema_normal::ir::Name;
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::lengths::Lengths;

use crate::automaton::machine::few::Few;

/// The strings of a node, by alternatives.
#[derive(Debug)]
pub(crate) struct StringMachine {
    pub(crate) leaves: Few<Leaf>,
    pub(crate) dfas: Few<Arc<CharDfa>>,
    /// For each automaton the number of its first loop.
    loops: Few<u32>,
    pub(crate) words: Words,
    /// Lengths are counted up to here; from here on they are alike.
    pub(super) cap: u32,
    /// True if there is one leaf, which every string satisfies: then nothing has to be remembered.
    is_free: bool,
}

impl StringMachine {
    /// From the leaves, their automata, each with the number of its first loop, the words, and the length from which
    /// on all are alike.
    pub(crate) fn new(
        leaves: Vec<Leaf>,
        dfas: Vec<Arc<CharDfa>>,
        loops: Few<u32>,
        words: Words,
        cap: u32,
    ) -> StringMachine {
        StringMachine {
            is_free: matches!(&*leaves, [leaf] if leaf.demand.is_none()),
            leaves: leaves.into(),
            dfas: dfas.into(),
            loops,
            words,
            cap,
        }
    }

    /// Tells whether every string satisfies its only goal.
    pub(crate) fn is_free(&self) -> bool {
        self.is_free
    }

    /// Tells whether it is of any interest how many characters a string has.
    pub(crate) fn counts(&self) -> bool {
        self.cap > 0
    }

    /// The length with so many characters more, as far as they are counted.
    pub(crate) fn longer(&self, length: u32, by: u32) -> u32 {
        match length < self.cap {
            true => length.saturating_add(by).min(self.cap),
            false => length,
        }
    }

    /// The automaton of a number, with the number of its first loop.
    pub(crate) fn looping(&self, dfa: u32) -> Option<(&CharDfa, u32)> {
        let at = dfa as usize;
        Some((self.dfas.get(at)?, *self.loops.get(at)?))
    }
}

/// An alternative of a goal.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) goal: u32,
    /// Its automaton by its number in the machine.
    pub(crate) demand: StringDemand<u32>,
}

/// The demands of one alternative on a string; `D` is an automaton or names one.
#[derive(Clone, Debug)]
pub(crate) enum StringDemand<D> {
    /// It is a word that the alternative lists.
    Listed,
    /// It has so many characters, and is no word that the alternative leaves out.
    Counted {
        min: u64,
        max: Option<u64>,
        /// Some of the words are left out.
        excludes: bool,
    },
    /// An automaton accepts it, and it has so many characters.
    Read {
        dfa: D,
        min: u64,
        max: Option<u64>,
        /// The bounds met with the automaton, where they matter.
        lengths: Option<Arc<Lengths>>,
    },
}

impl<D> StringDemand<D> {
    /// The bounds on the number of characters.
    pub(crate) fn bounds(&self) -> (u64, Option<u64>) {
        match self {
            StringDemand::Listed => (0, None),
            StringDemand::Counted { min, max, .. } | StringDemand::Read { min, max, .. } => {
                (*min, *max)
            }
        }
    }

    /// Tells whether every string satisfies it.
    fn is_none(&self) -> bool {
        matches!(
            self,
            StringDemand::Counted {
                excludes: false,
                ..
            }
        ) && self.bounds() == (0, None)
    }

    /// Tells whether words are left out that it admits otherwise.
    pub(crate) fn excludes(&self) -> bool {
        matches!(self, StringDemand::Counted { excludes: true, .. })
    }
}

impl StringDemand<u32> {
    /// The number of its automaton.
    pub(crate) fn dfa(&self) -> Option<u32> {
        match self {
            StringDemand::Read { dfa, .. } => Some(*dfa),
            StringDemand::Listed | StringDemand::Counted { .. } => None,
        }
    }

    /// Numbers that are the same where the same is asked, of the strings of one machine or of machines with the
    /// same automata.
    pub(crate) fn numbers(&self) -> [u64; 4] {
        let (min, max) = self.bounds();
        let kind = match self {
            StringDemand::Listed => [u64::MAX, 0],
            StringDemand::Counted { excludes, .. } => [u64::MAX - 1, u64::from(*excludes)],
            StringDemand::Read { dfa, lengths, .. } => {
                let lengths = lengths.as_ref().map_or(0, |l| Arc::as_ptr(l).addr());
                [u64::from(*dfa), lengths as u64]
            }
        };
        [
            kind[0],
            kind[1],
            min,
            max.map_or(0, |max| max.saturating_add(1)),
        ]
    }
}

/// Strings in the order of their bytes, so that those which begin with a text are a range.
#[derive(Debug, Default)]
pub(crate) struct Words {
    list: Box<[Word]>,
    /// By leaf the words that it lists, where there are many words and several leaves.
    of_leaf: Box<[Box<[u32]>]>,
}

/// The number of words up to which all are looked through, because an index takes memory.
pub(crate) const FEW_WORDS: usize = 64;

impl Words {
    /// From sorted words, which so many leaves list.
    pub(crate) fn new(list: Vec<Word>, leaves: usize) -> Words {
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

    /// Tells whether a leaf lists some words of a range.
    pub(crate) fn some_listed(&self, range: Range<u32>, leaf: usize) -> bool {
        match self.of_leaf.get(leaf) {
            Some(words) => {
                let from = words.partition_point(|word| *word < range.start);
                words.get(from).is_some_and(|word| *word < range.end)
            }
            None => {
                let mut words = self.list[range.start as usize..range.end as usize].iter();
                words.any(|word| word.listed.contains(&(leaf as u32)))
            }
        }
    }
}

impl Deref for Words {
    type Target = [Word];

    fn deref(&self) -> &[Word] {
        &self.list
    }
}

#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) text: Name,
    /// For strings the leaves that list it; for names its number in order.
    pub(crate) listed: Few<u32>,
    /// The leaves that leave it out.
    pub(crate) excluded: Few<u32>,
}
