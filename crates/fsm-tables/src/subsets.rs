//! The subset construction (Rabin and Scott, 1959). For example, after an `a` of `ab|ac` the set
//! has the states before `b` and before `c`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::absorbing::Absorbing;
use crate::costs::{SUBSET_BYTES, SUBSET_STEPS, TARGET_STEPS};
use crate::looks;
use crate::nfa::{Closure, Place};
use crate::{MATCH, Meter, NONE, Nfa, NfaId, State, Table};

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
        let mut sets = Construction::new(self, members, meter)?;
        let mut touched = Touched {
            classes: Vec::new(),
            which: vec![Vec::new(); width],
        };
        let mut next: Vec<u32> = Vec::new();
        let mut at = 0;
        while at < sets.subsets.len() {
            let row = next.len();
            sets.meter.hold(width * 4)?;
            next.resize(row + width, NONE);
            sets.group(at, &mut touched)?;
            sets.fill(&mut touched, &mut next[row..])?;
            at += 1;
        }
        let accepting = sets.subsets.iter();
        let accepting = accepting.map(|found| found.first() == Some(&MATCH));
        Ok(Table::new(width, next, accepting.collect()))
    }
}

/// The classes that the transitions of one set of states touch.
struct Touched {
    /// Each once, as they were met.
    classes: Vec<u32>,
    /// By class which of the sets of symbols have it.
    which: Vec<Vec<u32>>,
}

/// A subset construction at work: the sets of states that were met, and the transitions of the one
/// whose row is made.
struct Construction<'n, 'm, M> {
    nfa: &'n Nfa,
    /// The classes of each set of symbols.
    members: &'n [Vec<u32>],
    meter: &'m mut M,
    absorbing: Absorbing,
    closure: Closure<'n>,
    /// The numbers of sets of states.
    known: FxHashMap<Rc<[NfaId]>, u32>,
    subsets: Vec<Rc<[NfaId]>>,
    /// The transitions, sorted by their sets of symbols.
    steps: Vec<(u32, NfaId)>,
    /// The beginning of the transitions of each set, and behind the last one their end.
    begins: Vec<usize>,
    /// The targets of classes that the same sets have.
    targets: FxHashMap<Vec<u32>, u32>,
    union: Vec<NfaId>,
}

impl<'n, 'm, M: Meter> Construction<'n, 'm, M> {
    /// With the set of states at the start.
    fn new(nfa: &'n Nfa, members: &'n [Vec<u32>], meter: &'m mut M) -> Result<Self, M::Error> {
        let absorbing = Absorbing::new(nfa, members, meter)?;
        let mut closure = Closure::new(nfa);
        meter.work(closure.find(&[nfa.start], Place::Start))?;
        absorbing.leave_out(&mut closure.found);
        let start: Rc<[NfaId]> = closure.found.as_slice().into();
        Ok(Construction {
            nfa,
            members,
            meter,
            absorbing,
            closure,
            known: FxHashMap::from_iter([(Rc::clone(&start), 0)]),
            subsets: vec![start],
            steps: Vec::new(),
            begins: Vec::new(),
            targets: FxHashMap::default(),
            union: Vec::new(),
        })
    }

    /// Groups the transitions of a set of states by their sets of symbols, and finds the classes
    /// that these have.
    #[inline]
    fn group(&mut self, at: usize, touched: &mut Touched) -> Result<(), M::Error> {
        let subset = &self.subsets[at];
        // They are sorted by their sets.
        let width = touched.which.len();
        self.meter.work(1 + width / 8 + 3 * subset.len())?;
        let states = subset.iter().map(|id| self.nfa.states[*id as usize]);
        self.steps.clear();
        self.steps.extend(states.filter_map(|state| match state {
            State::Symbol { set, next } => Some((set, next)),
            _ => None,
        }));
        self.steps.sort_unstable();
        self.steps.dedup();
        self.begins.clear();
        self.begins.push(0);
        for (n, of_set) in (0..).zip(self.steps.chunk_by(|a, b| a.0 == b.0)) {
            self.begins.push(self.begins[n as usize] + of_set.len());
            let members = &self.members[of_set[0].0 as usize];
            for &class in members {
                let which = &mut touched.which[class as usize];
                if which.is_empty() {
                    touched.classes.push(class);
                }
                which.push(n);
            }
            self.meter.work(members.len())?;
        }
        Ok(())
    }

    /// Fills the cells of the classes that were touched, which are untouched then.
    #[inline]
    fn fill(&mut self, touched: &mut Touched, row: &mut [u32]) -> Result<(), M::Error> {
        self.targets.clear();
        // Classes beside each other often lead to the same.
        let mut last = (Vec::new(), NONE);
        for class in touched.classes.drain(..) {
            self.meter.work(TARGET_STEPS)?;
            let which = &mut touched.which[class as usize];
            if *which != last.0 {
                last.1 = self.target(which)?;
                last.0.clone_from(which);
            }
            row[class as usize] = last.1;
            which.clear();
        }
        Ok(())
    }

    /// Returns the number of the set of states behind a class that these sets of symbols have,
    /// [`NONE`] if it is empty.
    #[inline]
    fn target(&mut self, which: &[u32]) -> Result<u32, M::Error> {
        if let Some(&target) = self.targets.get(which) {
            return Ok(target);
        }
        self.union.clear();
        for &n in which {
            let steps = &self.steps[self.begins[n as usize]..self.begins[n as usize + 1]];
            self.union.extend(steps.iter().map(|step| step.1));
        }
        let steps = self.closure.find(&self.union, Place::Inside);
        self.meter.work(steps)?;
        self.absorbing.leave_out(&mut self.closure.found);
        let target = match self.closure.found.is_empty() {
            true => NONE,
            false => self.number()?,
        };
        self.targets.insert(which.to_vec(), target);
        Ok(target)
    }

    /// Returns the number of the set of states that the closure found last.
    #[inline]
    fn number(&mut self) -> Result<u32, M::Error> {
        let found = &self.closure.found[..];
        if let Some(&known) = self.known.get(found) {
            return Ok(known);
        }
        self.meter.states(self.subsets.len() + 1)?;
        self.meter.hold(size_of_val(found) + SUBSET_BYTES)?;
        self.meter.work(SUBSET_STEPS + 2 * found.len())?;
        let id = self.subsets.len() as u32;
        let found: Rc<[NfaId]> = found.into();
        self.known.insert(Rc::clone(&found), id);
        self.subsets.push(found);
        Ok(id)
    }
}
