//! The lexemes that may be read at once, because greedy lexing reads all terminals side by side.
//!
//! For example, `if` is read as the keyword and as a name at once.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use fsm_index::ByteSet;
use indexmap::IndexSet;
use schema_regex::automaton::SchemaAutomaton;

use super::json;
use crate::compile::cfg::{Cfg, Matter};
use crate::compile::lexer::Lexer;

/// The most targets of the proof's sets of states, by classes of bytes, because some ten thousand
/// keywords have a million.
const MAX_CELLS: usize = 4_000_000;

/// The steps of states that are taken to find them, because more take longer than some seconds.
const MAX_STEPS: usize = 50_000_000;

/// The pairs of states that the proof looks at for lexemes that may be cut short, because each
/// terminal begins such a search.
const MAX_PAIRS: usize = 200_000;

/// A set of terminals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    pub(super) fn has(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    /// Returns those in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, &word)| {
            let bits = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
            let bits = bits.take_while(|left| *left != 0);
            bits.map(move |left| at * 64 + left.trailing_zeros())
        })
    }

    /// Tells whether that changed anything.
    pub(super) fn or(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            changed |= *other & !*own != 0;
            *own |= other;
        }
        changed
    }
}

/// A set of classes of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassSet([u64; 4]);

impl ClassSet {
    pub(super) fn has(&self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    fn set(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }

    pub(super) fn or(&mut self, other: &ClassSet) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own |= other;
        }
    }

    /// Tells whether they have a class in common.
    pub(super) fn meets(&self, other: &ClassSet) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        a & e | b & f | c & g | d & h != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }
}

impl FromIterator<usize> for ClassSet {
    fn from_iter<I: IntoIterator<Item = usize>>(classes: I) -> ClassSet {
        let mut set = ClassSet::default();
        classes.into_iter().for_each(|class| set.set(class));
        set
    }
}

/// The states of all terminals side by side, as far as texts lead.
pub(super) struct Sets<'a> {
    pub(super) cfg: &'a Cfg,
    pub(super) lexer: &'a Lexer,
    /// The classes that a way to the end may take.
    usable: ClassSet,
    /// States, ascending. The dead one stands for a JSON value that may be read beside them.
    all: IndexSet<Box<[u32]>, FixedState>,
    /// By set and class.
    next: Vec<u32>,
    /// By set: classes that nothing takes which stands in it.
    free: Vec<ClassSet>,
    /// By set: whether a lexeme ends there whatever comes.
    cuts: Vec<bool>,
    pub(super) has_cuts: bool,
}

/// The number of no set, because there are fewer.
const NOWHERE: u32 = u32::MAX;

/// Stands for a JSON value in a set, as the number of the dead state, which no set has.
const JSON: u32 = 0;

impl<'a> Sets<'a> {
    /// `None` if there are too many.
    pub(super) fn new(cfg: &'a Cfg, lexer: &'a Lexer, usable: ByteSet) -> Option<Sets<'a>> {
        let width = lexer.width();
        let automata: Vec<&SchemaAutomaton> = cfg
            .terminals
            .iter()
            .filter_map(|terminal| match &terminal.matter {
                Matter::Json(automaton) => Some(automaton),
                _ => None,
            })
            .collect();
        let begins_json = |byte| automata.iter().any(|one| json::begins(one, byte));
        let begins_json: Vec<bool> = lexer.bytes.iter().copied().map(begins_json).collect();
        let json = (!automata.is_empty()).then_some(JSON);
        let starts = lexer.starts.iter().copied().filter(|&start| start != 0);
        let mut all = IndexSet::default();
        all.insert(json.into_iter().chain(starts).collect::<Box<[u32]>>());
        let mut next: Vec<u32> = Vec::new();
        let mut free: Vec<ClassSet> = Vec::new();
        let mut steps = 0usize;
        // By class: where the states of a set lead. States of terminals ascend with these, and
        // a set has one state of each, so the sets stay sorted.
        let mut ways: Vec<Vec<u32>> = vec![Vec::new(); width];
        while free.len() < all.len() {
            let set = &all[free.len()];
            ways.iter_mut().for_each(Vec::clear);
            let has_json = set.first() == Some(&JSON);
            for (way, &begins) in ways.iter_mut().zip(&begins_json) {
                if has_json && (begins || !free.is_empty()) {
                    way.push(JSON);
                }
            }
            for &state in set {
                let steps = ways.iter_mut().zip(lexer.row(state));
                for (way, &to) in steps.filter(|step| *step.1 != 0) {
                    way.push(to);
                }
            }
            steps += set.len() * width;
            let from = next.len();
            for (class, way) in ways.iter().enumerate() {
                // JSON alone is not told apart.
                let number = if matches!(way[..], [] | [JSON]) {
                    NOWHERE
                } else if class > 0 && *way == ways[class - 1] {
                    next[from + class - 1]
                } else if let Some(known) = all.get_index_of(&way[..]) {
                    known as u32
                } else {
                    all.insert_full(way[..].into()).0 as u32
                };
                next.push(number);
            }
            let is_free = |class: &usize| !has_json && next[from + class] == NOWHERE;
            free.push((0..width).filter(is_free).collect());
            if all.len() * width > MAX_CELLS || steps > MAX_STEPS {
                return None;
            }
        }
        let lazy = |state: &u32| {
            lexer.accepting[*state as usize]
                && cfg.terminals[lexer.terminal[*state as usize] as usize].is_lazy
        };
        let cuts: Vec<bool> = all.iter().map(|set| set.iter().any(lazy)).collect();
        let is_usable = |class: &usize| {
            (0..=u8::MAX).any(|byte| usable.has(byte) && lexer.sets[*class].has(byte))
        };
        Some(Sets {
            cfg,
            lexer,
            usable: (0..width).filter(is_usable).collect(),
            all,
            next,
            free,
            has_cuts: cuts.contains(&true),
            cuts,
        })
    }

    pub(super) fn width(&self) -> usize {
        self.lexer.width()
    }

    /// Returns the number of sets. The first is where all terminals begin.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The classes that nothing takes which stands in a set.
    pub(super) fn free(&self, set: u32) -> &ClassSet {
        &self.free[set as usize]
    }

    /// Tells whether a lexeme ends there whatever comes.
    pub(super) fn cuts(&self, set: u32) -> bool {
        self.cuts[set as usize]
    }

    /// Tells whether a JSON value may be read there.
    pub(super) fn may_be_json(&self, set: u32) -> bool {
        self.all[set as usize].first() == Some(&JSON)
    }

    /// The states of a set in which a terminal ends.
    pub(super) fn ended(&self, set: u32) -> impl Iterator<Item = u32> {
        let states = self.all[set as usize].iter().copied();
        states.filter(|&state| self.lexer.accepting[state as usize])
    }

    /// By terminal: the classes with which it may begin and come to its end. Nothing for
    /// special tokens, which begin with none. `None` if that is too much.
    pub(super) fn firsts(&self) -> Option<Vec<Option<ClassSet>>> {
        let mut pairs = 0;
        let terminals = self.cfg.terminals.iter().zip(&self.lexer.starts);
        terminals
            .map(|(terminal, &start)| match &terminal.matter {
                Matter::Special(_) => Some(None),
                Matter::Json(automaton) => {
                    let bytes = self.lexer.bytes.iter().enumerate();
                    let begins = bytes.filter(|way| json::begins(automaton, *way.1));
                    let begins = begins.map(|way| way.0).filter(|at| self.usable.has(*at));
                    Some(Some(begins.collect()))
                }
                Matter::Table(_) => {
                    // Most classes lead to the same.
                    let mut known: HashMap<(u32, u32), bool, FixedState> = HashMap::default();
                    let classes = (0..self.width()).filter(|&class| {
                        let first = self.pair_behind((start, 0), class);
                        first.is_some_and(|first| {
                            let search = || self.ends_in_time(first, terminal.is_lazy, &mut pairs);
                            !self.has_cuts || *known.entry(first).or_insert_with(search)
                        })
                    });
                    let classes = classes.collect();
                    (pairs < MAX_PAIRS).then_some(Some(classes))
                }
            })
            .collect()
    }

    /// Returns where a class leads from a state of a terminal and the set that it is in, on a way
    /// to the end.
    pub(super) fn pair_behind(&self, (state, set): (u32, u32), class: usize) -> Option<(u32, u32)> {
        let state = self.lexer.step(state, class as u8);
        (state != 0 && self.usable.has(class))
            .then(|| (state, self.next[set as usize * self.width() + class]))
    }

    /// Tells whether a terminal comes from a state to its end, and no lexeme cuts it short which
    /// ends at its first end.
    fn ends_in_time(&self, first: (u32, u32), is_lazy: bool, pairs: &mut usize) -> bool {
        let mut open = vec![first];
        let mut seen: HashSet<(u32, u32), FixedState> = HashSet::from_iter([first]);
        while let Some((state, set)) = open.pop() {
            *pairs += 1;
            if *pairs > MAX_PAIRS {
                return false;
            }
            match (self.lexer.accepting[state as usize], self.cuts(set)) {
                (true, cut) if cut == is_lazy => return true,
                (_, true) => {}
                (_, false) => {
                    let classes = 0..self.width();
                    let ways = classes.filter_map(|class| self.pair_behind((state, set), class));
                    open.extend(ways.filter(|&way| seen.insert(way)));
                }
            }
        }
        false
    }
}
