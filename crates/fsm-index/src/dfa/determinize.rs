//! The subset construction (Rabin and Scott, "Finite Automata and Their
//! Decision Problems", 1959), over classes of symbols.

use std::collections::HashMap;

use super::{Alphabet, Config, NONE};
use crate::Error;
use crate::nfa::{Nfa, NfaId, State};

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

pub(super) fn determinize(
    nfa: &Nfa,
    alphabet: &Alphabet,
    members: &[Vec<u32>],
    config: &Config,
) -> Result<Raw, Error> {
    let width = alphabet.len();
    let mut closure = Closure {
        nfa,
        seen: vec![0; nfa.states.len()],
        epoch: 0,
        stack: Vec::new(),
        symbols: Vec::new(),
        work: 0,
    };
    let mut ids: HashMap<Subset, u32> = HashMap::new();
    let mut subsets: Vec<Subset> = Vec::new();
    let mut next: Vec<u32> = Vec::new();

    let start = closure.of(&[nfa.start], Place::Start);
    ids.insert(start.clone(), 0);
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
        if (row + width) * 4 > config.max_table_bytes {
            return Err(Error::limit(
                "max_table_bytes",
                "bytes",
                config.max_table_bytes,
            ));
        }
        if closure.work > config.max_work {
            return Err(Error::limit("max_work", "steps", config.max_work));
        }
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
            closure.work += members[set as usize].len();
        }
        targets.clear();
        for class in touched.drain(..) {
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
                let subset = closure.of(&union, Place::Inside);
                let target = if subset.symbols.is_empty() && !subset.accepting {
                    NONE
                } else if let Some(&id) = ids.get(&subset) {
                    id
                } else {
                    if subsets.len() >= config.max_states {
                        return Err(Error::limit("max_states", "states", config.max_states));
                    }
                    let id = subsets.len() as u32;
                    ids.insert(subset.clone(), id);
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

struct Closure<'a> {
    nfa: &'a Nfa,
    seen: Vec<u32>,
    epoch: u32,
    stack: Vec<NfaId>,
    symbols: Vec<NfaId>,
    work: usize,
}

impl Closure<'_> {
    /// Everything that is reached from `from` without taking a symbol.
    fn of(&mut self, from: &[NfaId], place: Place) -> Subset {
        self.epoch += 1;
        self.symbols.clear();
        let mut accepting = false;
        let mut ends = Vec::new();
        self.stack.extend_from_slice(from);
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            self.work += 1;
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
            accepting = self.ends(ends, place);
        }
        self.symbols.sort_unstable();
        Subset {
            symbols: self.symbols.as_slice().into(),
            accepting,
        }
    }

    /// Whether acceptance follows behind an end anchor, where nothing more
    /// can be taken.
    fn ends(&mut self, from: Vec<NfaId>, place: Place) -> bool {
        self.epoch += 1;
        self.stack = from;
        while let Some(id) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            self.work += 1;
            match self.nfa.states[id as usize] {
                State::Match => {
                    self.stack.clear();
                    return true;
                }
                State::Split(a, b) => self.stack.extend([b, a]),
                State::AtEnd(next) => self.stack.push(next),
                State::AtStart(next) if place == Place::Start => self.stack.push(next),
                State::AtStart(_) | State::Symbol { .. } => {}
            }
        }
        false
    }
}
