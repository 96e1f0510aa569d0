//! The automata and machines of strings and numbers that were made, by what they were made from.
//!
//! For example, two members of type `integer` share one machine.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schema_normal::ir::{Name, PatternId};
use schema_normal::language::char_dfa::CharDfa;
use schema_normal::language::char_dfa::product::{Part, Product};
use schema_normal::language::formats::Format;
use schema_normal::language::numbers::automata::NumberAutomata;
use schema_normal::language::numbers::dfa::NumberDfa;

use crate::automaton::machine::few::Few;
use crate::automaton::machine::node::NumberMachine;
use crate::automaton::machine::strings::{Leaf, StringDemand, StringMachine, Words};

pub(super) type StringKey = (Vec<(PatternId, bool)>, Vec<(Format, bool)>, Vec<Name>);

/// Strings that an automaton reads, of which those of some lengths are meant.
#[derive(Clone)]
pub(super) struct Strings {
    /// `None` where every string is meant.
    pub(super) dfa: Option<Arc<CharDfa>>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

impl Strings {
    pub(super) fn of(dfa: Option<Arc<CharDfa>>) -> Strings {
        Strings {
            dfa,
            min: 0,
            max: None,
        }
    }

    /// Keeps only the lengths that these bounds allow, too.
    pub(super) fn bound(&mut self, min: u64, max: Option<u64>) {
        self.min = self.min.max(min);
        self.max = [self.max, max].into_iter().flatten().min();
    }
}

/// An expression: that of a pattern, one of its looks (from 1 on), a format, or a list
/// of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LeafSource {
    Pattern(PatternId, usize),
    Format(Format),
    Texts(Vec<Name>),
}

#[derive(Default)]
pub(crate) struct LeafCache {
    pub(super) strings: HashMap<StringKey, Vec<Strings>>,
    pub(super) parts: HashMap<LeafSource, Rc<Part>>,
    /// The last product: alternatives often ask the same and want other answers.
    pub(super) product: Option<(Vec<LeafSource>, Rc<Product>)>,
    pub(super) numbers: NumberAutomata,
    /// Numbers of so many digits at most, by those of any number.
    pub(super) capped: FxHashMap<(*const NumberDfa, u32), Arc<NumberDfa>>,
    /// The automata that were capped, kept because `capped` knows them by their addresses.
    pub(super) whole: Vec<Arc<NumberDfa>>,
}

/// The machines of one leaf, which serves the first goal.
#[derive(Default)]
pub(crate) struct Machines {
    numbers: FxHashMap<*const NumberDfa, Arc<NumberMachine>>,
    free_string: Option<Arc<StringMachine>>,
}

impl Machines {
    pub(super) fn number(&mut self, dfa: Arc<NumberDfa>) -> Arc<NumberMachine> {
        let known = self.numbers.entry(Arc::as_ptr(&dfa));
        let machine = known.or_insert_with(|| {
            Arc::new(NumberMachine {
                leaves: Few::One((0, 0)),
                dfas: Few::One(dfa),
            })
        });
        Arc::clone(machine)
    }

    /// The machine of a leaf that any string satisfies.
    pub(super) fn free_string(&mut self) -> Arc<StringMachine> {
        let machine = self.free_string.get_or_insert_with(|| {
            let demand = StringDemand::Counted {
                min: 0,
                max: None,
                excludes: false,
            };
            let leaves = vec![Leaf { goal: 0, demand }];
            let (loops, words) = (Few::default(), Words::default());
            Arc::new(StringMachine::new(leaves, Vec::new(), loops, words, 0))
        });
        Arc::clone(machine)
    }
}
