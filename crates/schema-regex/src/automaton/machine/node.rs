//! The compiled form: one node for each set of conjunctions that is asked of a
//! value, with a small machine for each kind of value.
//!
//! For example, `{"type": ["string", "null"]}` is a node with strings and a goal among `units`.

use std::ops::Deref;
use std::sync::Arc;

use schema_normal::language::numbers::dfa::NumberDfa;
use schema_normal::normal::alternative::Kind;
use schema_normal::normal::conjunctions::ConjId;

use crate::automaton::machine::counts::ItemCounts;
use crate::automaton::machine::enough_values::Catalog;
use crate::automaton::machine::few::Few;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::prints::Prints;
use crate::automaton::machine::strings::StringMachine;

/// The height of a goal that no value satisfies, because it is above all heights.
pub(crate) const EMPTY: u32 = u32::MAX;

/// A set of conjunctions (the goals) asked of one value.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) goals: Few<ConjId>,
    /// For each goal how deep its flattest value nests; [`EMPTY`] where there
    /// is none.
    pub(crate) heights: Few<u32>,
    /// The goals that `null`, `false` and `true` satisfy.
    pub(crate) units: [Few<u32>; 3],
    /// Nodes that ask the same of numbers, or of strings, mostly share that.
    pub(crate) number: Option<Arc<NumberMachine>>,
    pub(crate) string: Option<Arc<StringMachine>>,
    pub(crate) array: Option<Box<ArrayMachine>>,
    pub(crate) object: Option<Box<ObjectMachine>>,
    /// The first node that reads the same texts in the same way; itself, if
    /// there is none before it.
    pub(crate) alias: u32,
    /// Its fingerprints, each once it was wanted.
    pub(super) prints: Prints,
}

impl Node {
    /// From the goals, those that `null`, `false` and `true` satisfy, and the machine of numbers; the height of
    /// no goal is known yet.
    pub(crate) fn new(
        goals: Few<ConjId>,
        units: [Few<u32>; 3],
        number: Option<Arc<NumberMachine>>,
    ) -> Node {
        Node {
            heights: goals.iter().map(|_| EMPTY).collect(),
            goals,
            units,
            number,
            ..Node::default()
        }
    }

    /// Tells whether a value of one of these goals may be of a kind.
    pub(crate) fn may_be(&self, kind: Kind, is_wanted: impl Fn(u32) -> bool) -> bool {
        let unit = |word: usize| self.units[word].iter().any(|goal| is_wanted(*goal));
        match kind {
            Kind::Null => unit(0),
            Kind::False => unit(1),
            Kind::True => unit(2),
            Kind::Number => {
                let mut leaves = self.number.iter().flat_map(|m| m.leaves.iter());
                leaves.any(|(goal, _)| is_wanted(*goal))
            }
            Kind::String => {
                let mut leaves = self.string.iter().flat_map(|m| m.leaves.iter());
                leaves.any(|leaf| is_wanted(leaf.goal))
            }
            Kind::Array => {
                let mut threads = self.array.iter().flat_map(|m| m.threads.iter());
                threads.any(|thread| is_wanted(thread.goal))
            }
            Kind::Object => {
                let mut threads = self.object.iter().flat_map(|m| m.threads.iter());
                threads.any(|thread| is_wanted(thread.goal))
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct NumberMachine {
    /// A goal, and the automaton that satisfies it.
    pub(crate) leaves: Few<(u32, u32)>,
    pub(crate) dfas: Few<Arc<NumberDfa>>,
}

impl NumberMachine {
    /// The automata of the goals that are wanted, each with its number.
    pub(crate) fn of(
        &self,
        is_wanted: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = (u32, &NumberDfa)> {
        let leaves = self.leaves.iter();
        let leaves = leaves.filter(move |(goal, _)| is_wanted(*goal));
        leaves.map(|(_, dfa)| (*dfa, &*self.dfas[*dfa as usize]))
    }

    /// Tells whether one of these goals has numbers without end.
    pub(crate) fn is_endless(&self, is_wanted: impl Fn(u32) -> bool) -> bool {
        let mut dfas = self.of(is_wanted);
        dfas.any(|(_, dfa)| dfa.amount(0, "").is_none())
    }
}

/// The node of a member or an item, and which of its goals each thread of the container wants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    pub(crate) node: u32,
    pub(crate) options: Choices,
}

/// The demands of the threads of a container on a member, by thread, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    all: Few<Choice>,
    /// By thread, where its own begin, and where the last ones end; empty where there is at most
    /// one choice, or most threads have none.
    from: Box<[u32]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) thread: u32,
    pub(crate) goal: u32,
    /// Witnesses that this gives, or counts that it raises, as bits; or the kind of a value,
    /// see [`ObjectThread::decisions`](crate::automaton::machine::objects::ObjectThread::decisions).
    pub(crate) take: u32,
}

impl Member {
    /// The choices of a thread.
    pub(crate) fn of(&self, thread: u32) -> &[Choice] {
        self.options.of(thread)
    }
}

impl Choices {
    pub(crate) fn one(choice: Choice) -> Choices {
        Choices {
            all: Few::One(choice),
            from: Box::default(),
        }
    }

    /// In any order, some of them perhaps several times.
    pub(crate) fn new(mut all: Vec<Choice>) -> Choices {
        all.sort_unstable();
        all.dedup();
        let from = match &*all {
            [_, .., last] if last.thread as usize <= 2 * all.len() => {
                let begin = |thread| all.partition_point(|c| c.thread < thread) as u32;
                (0..=last.thread + 1).map(begin).collect()
            }
            _ => Box::default(),
        };
        Choices {
            all: all.into(),
            from,
        }
    }

    /// Returns the choices of a thread. An object that ends in several ways asks for those of all
    /// its names behind each of them.
    fn of(&self, thread: u32) -> &[Choice] {
        if self.from.is_empty() {
            let from = self.all.partition_point(|c| c.thread < thread);
            let own = &self.all[from..];
            return &own[..own.partition_point(|c| c.thread == thread)];
        }
        match self.from.get(thread as usize..) {
            Some(&[from, to, ..]) => &self.all[from as usize..to as usize],
            _ => &[],
        }
    }
}

impl Deref for Choices {
    type Target = [Choice];

    fn deref(&self) -> &[Choice] {
        &self.all
    }
}

#[derive(Debug)]
pub(crate) struct ArrayMachine {
    pub(crate) threads: Box<[ArrayThread]>,
    /// By index; the last is for all further items.
    pub(crate) members: Box<[Member]>,
    /// Indexes are counted up to here; from here on they are alike.
    pub(super) cap: u32,
    pub(crate) unique: bool,
    /// The values of items that must differ, as far as they are few.
    pub(crate) catalog: Catalog,
}

impl ArrayMachine {
    /// From the threads, and the items by index, which are counted up to `cap`; what values they have is not known yet.
    pub(crate) fn new(threads: Vec<ArrayThread>, members: Vec<Member>, cap: u32) -> ArrayMachine {
        ArrayMachine {
            unique: threads.iter().any(|t| t.unique),
            threads: threads.into(),
            members: members.into(),
            cap,
            catalog: Catalog::default(),
        }
    }

    /// The place among the members of an index.
    pub(crate) fn place(&self, index: u64) -> usize {
        let last = self.members.len() - 1;
        usize::try_from(index).map_or(last, |i| i.min(last))
    }

    pub(crate) fn member(&self, index: u32) -> &Member {
        &self.members[self.place(index.into())]
    }

    /// The index behind one, as far as they are counted.
    pub(crate) fn behind(&self, index: u32) -> u32 {
        index + u32::from(index < self.cap)
    }
}

#[derive(Debug)]
pub(crate) struct ArrayThread {
    pub(crate) goal: u32,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) counts: ItemCounts,
    pub(crate) unique: bool,
}

impl ArrayThread {
    /// Returns the number of items that are needed at most, whichever come first.
    pub(crate) fn needed(&self) -> u64 {
        self.min.saturating_add(self.counts.needed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_found_by_their_thread() {
        // Of many threads, of every other one, of few far apart, of one, of none.
        let lists: [&[u32]; 5] = [&[2, 0, 0, 1, 3, 3], &[4, 2, 0], &[9, 700, 9], &[5], &[]];
        for threads in lists {
            let choice = |(goal, &thread): (u32, &u32)| Choice {
                thread,
                goal,
                take: 0,
            };
            let all: Vec<Choice> = (0..).zip(threads).map(choice).collect();
            let choices = Choices::new(all.iter().chain(&all).copied().collect());
            for thread in 0..800 {
                let own = all.iter().filter(|choice| choice.thread == thread);
                assert!(choices.of(thread).iter().eq(own), "{threads:?} {thread}");
            }
        }
    }
}
