//! The subset construction (Rabin and Scott, "Finite Automata and Their
//! Decision Problems", 1959), over classes of symbols.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Alphabet, Costs, NONE};
use crate::Error;
use crate::regex::nfa::{Nfa, NfaId, State};

/// A deterministic automaton that may still have states from which nothing
/// is accepted.
pub(super) struct Raw {
    pub(super) next: Vec<u32>,
    pub(super) accepting: Vec<bool>,
}

/// The states that take a symbol after some text, and whether it may end.
#[derive(PartialEq, Eq, Hash, Clone)]
struct Subset {
    symbols: Box<[NfaId]>,
    accepting: bool,
}

/// What a set of states takes beside its numbers: its own place, one in a list, one in a
/// map that is half empty.
const SUBSET_BYTES: usize = 120;

/// Steps for remembering a set of states.
const SUBSET_STEPS: usize = 100;

/// Steps for asking whether the target of a class is known.
const TARGET_STEPS: usize = 8;

pub(super) fn determinize(
    nfa: &Nfa,
    alphabet: &Alphabet,
    members: &[Vec<u32>],
    costs: &mut Costs<'_>,
) -> Result<Raw, Error> {
    let width = alphabet.len();
    let max_states = costs.config.max_states;
    costs.hold(nfa.states.len() * 4 + width * 40)?;
    let mut closure = Closure {
        nfa,
        seen: vec![0; nfa.states.len()],
        epoch: 0,
        stack: Vec::new(),
        symbols: Vec::new(),
        costs,
    };
    let mut ids: HashMap<Rc<Subset>, u32> = HashMap::new();
    let mut subsets: Vec<Rc<Subset>> = Vec::new();
    let mut next: Vec<u32> = Vec::new();

    let start = Rc::new(closure.of(&[nfa.start], Place::Start)?);
    ids.insert(Rc::clone(&start), 0);
    subsets.push(start);

    let mut groups: Vec<(u32, NfaId)> = Vec::new();
    let mut sets: Vec<u32> = Vec::new();
    // For each class that a set of this subset touches: which of the sets.
    let mut touched: Vec<u32> = Vec::new();
    let mut which: Vec<Vec<u32>> = vec![Vec::new(); width];
    let mut targets: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut union: Vec<NfaId> = Vec::new();

    let mut at = 0;
    while at < subsets.len() {
        let row = next.len();
        closure.costs.hold(width * 4)?;
        let symbols = subsets[at].symbols.len();
        // They are sorted by their sets.
        closure.costs.work(1 + width / 8 + 3 * symbols)?;
        next.resize(row + width, NONE);

        groups.clear();
        for &id in &subsets[at].symbols {
            if let State::Symbol { set, next } = nfa.states[id as usize] {
                groups.push((set, next));
            }
        }
        groups.sort_unstable();
        sets.clear();
        sets.extend(groups.iter().map(|g| g.0));
        sets.dedup();
        for (n, &set) in sets.iter().enumerate() {
            for &class in &members[set as usize] {
                let which = &mut which[class as usize];
                if which.is_empty() {
                    touched.push(class);
                }
                which.push(n as u32);
            }
            closure.costs.work(members[set as usize].len())?;
        }
        targets.clear();
        for class in touched.drain(..) {
            closure.costs.work(TARGET_STEPS)?;
            let key = std::mem::take(&mut which[class as usize]);
            let target = if let Some(&target) = targets.get(&key) {
                target
            } else {
                union.clear();
                for &n in &key {
                    let set = sets[n as usize];
                    let from = groups.partition_point(|g| g.0 < set);
                    union.extend(
                        groups[from..]
                            .iter()
                            .take_while(|g| g.0 == set)
                            .map(|g| g.1),
                    );
                }
                let subset = closure.of(&union, Place::Inside)?;
                let target = if subset.symbols.is_empty() && !subset.accepting {
                    NONE
                } else if let Some(&id) = ids.get(&subset) {
                    id
                } else {
                    if subsets.len() >= max_states {
                        return Err(Error::limit("max_states", "states", max_states));
                    }
                    let bytes = subset.symbols.len() * size_of::<NfaId>() + SUBSET_BYTES;
                    closure.costs.hold(bytes)?;
                    closure
                        .costs
                        .work(SUBSET_STEPS + 2 * subset.symbols.len())?;
                    let id = subsets.len() as u32;
                    let subset = Rc::new(subset);
                    ids.insert(Rc::clone(&subset), id);
                    subsets.push(subset);
                    id
                };
                targets.insert(key.clone(), target);
                target
            };
            next[row + class as usize] = target;
            // The list's memory is kept for the next class.
            let mut key = key;
            key.clear();
            which[class as usize] = key;
        }
        at += 1;
    }
    let accepting = subsets.iter().map(|s| s.accepting).collect();
    Ok(Raw { next, accepting })
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Start,
    Inside,
}

struct Closure<'a, 'c> {
    nfa: &'a Nfa,
    seen: Vec<u32>,
    epoch: u32,
    stack: Vec<NfaId>,
    symbols: Vec<NfaId>,
    costs: &'a mut Costs<'c>,
}

impl Closure<'_, '_> {
    /// Everything that is reached from `from` without taking a symbol.
    ///
    /// # Errors
    ///
    /// It takes too much work.
    fn of(&mut self, from: &[NfaId], place: Place) -> Result<Subset, Error> {
        self.epoch += 1;
        self.symbols.clear();
        let mut accepting = false;
        let mut ends = Vec::new();
        self.stack.extend_from_slice(from);
        let mut visited = 0;
        while let Some(id) = self.stack.pop() {
            visited += 1;
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            match self.nfa.states[id as usize] {
                State::Symbol { .. } => self.symbols.push(id),
                State::Split(a, b) => self.stack.extend([b, a]),
                State::AtStart(next) if place == Place::Start => self.stack.push(next),
                State::AtStart(_) => {}
                State::AtEnd(next) => ends.push(next),
                State::Match => accepting = true,
            }
        }
        if !accepting && !ends.is_empty() {
            accepting = self.ends(ends, place)?;
        }
        self.costs.work(visited)?;
        self.symbols.sort_unstable();
        Ok(Subset {
            symbols: self.symbols.as_slice().into(),
            accepting,
        })
    }

    /// Whether acceptance follows behind an end anchor, where nothing more
    /// can be taken.
    fn ends(&mut self, from: Vec<NfaId>, place: Place) -> Result<bool, Error> {
        self.epoch += 1;
        self.stack = from;
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            self.costs.work(1)?;
            match self.nfa.states[id as usize] {
                State::Match => {
                    self.stack.clear();
                    return Ok(true);
                }
                State::Split(a, b) => self.stack.extend([b, a]),
                State::AtEnd(next) => self.stack.push(next),
                State::AtStart(next) if place == Place::Start => self.stack.push(next),
                State::AtStart(_) | State::Symbol { .. } => {}
            }
        }
        Ok(false)
    }
}
