//! The subset construction (Rabin and Scott, 1959). For example, after an `a` of `ab|ac` the set
//! has the states before `b` and before `c`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::absorbing::Absorbing;
use crate::looks;
use crate::nfa::{Closure, Place};
use crate::{MATCH, Meter, NONE, Nfa, NfaId, State, Table};

/// The bytes that a set of states takes beside its numbers, because it has its own place, one in a
/// list, and one in a map that is half empty.
pub(crate) const SUBSET_BYTES: usize = 120;

/// Steps for remembering a set of states: many, because it is hashed, copied and put into a map.
pub(crate) const SUBSET_STEPS: usize = 100;

/// Steps for asking whether the target of a class is known: some, because it is a look-up in a map.
pub(crate) const TARGET_STEPS: usize = 8;

impl Nfa {
    /// The deterministic automaton of the same texts: the subset construction (Rabin and
    /// Scott, "Finite Automata and Their Decision Problems", 1959) over classes of symbols.
    ///
    /// `members` are the classes of each set, of which there are `width`, as
    /// [`Alphabet::new`](crate::Alphabet::new) finds them. With look-around a state is a formula
    /// over states. From some states of the answer
    /// nothing may be accepted; [`Table::minimized`] cuts them.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter: there can be as many states as there are sets of states.
    pub fn determinize<M: Meter>(
        &self,
        width: usize,
        members: &[Vec<u32>],
        meter: &mut M,
    ) -> Result<Table<bool>, M::Error> {
        if !self.looks.is_empty() {
            return looks::determinize(self, width, members, meter);
        }
        meter.hold(self.states.len() * 4 + width * 40)?;
        let absorbing = Absorbing::new(self, members, meter)?;
        let mut closure = Closure::new(self);
        let mut known: FxHashMap<Rc<[NfaId]>, u32> = FxHashMap::default();
        let mut subsets: Vec<Rc<[NfaId]>> = Vec::new();
        let mut next: Vec<u32> = Vec::new();

        meter.work(closure.find(&[self.start], Place::Start))?;
        absorbing.leave_out(&mut closure.found);
        let start: Rc<[NfaId]> = closure.found.as_slice().into();
        known.insert(Rc::clone(&start), 0);
        subsets.push(start);

        // The transitions of a subset, sorted by their sets.
        let mut steps: Vec<(u32, NfaId)> = Vec::new();
        // The beginning of the numbers of each set, and behind the last one their end.
        let mut begins: Vec<usize> = Vec::new();
        // For each class that a set of this subset touches: which of the sets.
        let mut touched: Vec<u32> = Vec::new();
        let mut which: Vec<Vec<u32>> = vec![Vec::new(); width];
        let mut targets: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut union: Vec<NfaId> = Vec::new();

        let mut at = 0;
        while at < subsets.len() {
            let row = next.len();
            meter.hold(width * 4)?;
            // They are sorted by their sets.
            meter.work(1 + width / 8 + 3 * subsets[at].len())?;
            next.resize(row + width, NONE);

            steps.clear();
            steps.extend(
                subsets[at]
                    .iter()
                    .filter_map(|id| match self.states[*id as usize] {
                        State::Symbol { set, next } => Some((set, next)),
                        _ => None,
                    }),
            );
            steps.sort_unstable();
            steps.dedup();
            begins.clear();
            begins.push(0);
            for (n, of_set) in (0..).zip(steps.chunk_by(|a, b| a.0 == b.0)) {
                begins.push(begins[n as usize] + of_set.len());
                let members = &members[of_set[0].0 as usize];
                for &class in members {
                    let which = &mut which[class as usize];
                    if which.is_empty() {
                        touched.push(class);
                    }
                    which.push(n);
                }
                meter.work(members.len())?;
            }
            targets.clear();
            // Classes beside each other often lead to the same.
            let mut last = (Vec::new(), NONE);
            for class in touched.drain(..) {
                meter.work(TARGET_STEPS)?;
                let key = std::mem::take(&mut which[class as usize]);
                if key != last.0 {
                    last.1 = match targets.get(&key) {
                        Some(&target) => target,
                        None => {
                            union.clear();
                            for &n in &key {
                                let steps = &steps[begins[n as usize]..begins[n as usize + 1]];
                                union.extend(steps.iter().map(|step| step.1));
                            }
                            meter.work(closure.find(&union, Place::Inside))?;
                            absorbing.leave_out(&mut closure.found);
                            let target = match &closure.found[..] {
                                [] => NONE,
                                found => match known.get(found) {
                                    Some(&known) => known,
                                    None => {
                                        meter.states(subsets.len() + 1)?;
                                        meter.hold(size_of_val(found) + SUBSET_BYTES)?;
                                        meter.work(SUBSET_STEPS + 2 * found.len())?;
                                        let id = subsets.len() as u32;
                                        let found: Rc<[NfaId]> = found.into();
                                        known.insert(Rc::clone(&found), id);
                                        subsets.push(found);
                                        id
                                    }
                                },
                            };
                            targets.insert(key.clone(), target);
                            target
                        }
                    };
                    last.0.clone_from(&key);
                }
                next[row + class as usize] = last.1;
                // The list's memory is kept for the next class.
                which[class as usize] = key;
                which[class as usize].clear();
            }
            at += 1;
        }
        let accepting = subsets.iter().map(|found| found.first() == Some(&MATCH));
        Ok(Table::new(width, next, accepting.collect()))
    }
}
