//! Automata with alternatives. For example, `ab|ac` is a split, with an `a` on both ways.

use rustc_hash::FxHashMap;

use crate::Meter;
use crate::copies::Places;

/// Inclusive ranges of symbols, sorted and disjoint.
pub type Ranges = Box<[(u32, u32)]>;

/// The number of a set of symbols of an [`Nfa`].
pub type SetId = u32;

/// The number of a state of an [`Nfa`].
pub type NfaId = u32;

/// The state that accepts. It has the number 0, because each automaton has it and it is made first.
pub const MATCH: NfaId = 0;

/// A state of a nondeterministic automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Takes a symbol of the set.
    Symbol {
        /// Which set.
        set: SetId,
        /// The state that follows.
        next: NfaId,
    },
    /// Goes both ways without taking a symbol.
    Split(NfaId, NfaId),
    /// Passes only before the first symbol.
    AtStart(NfaId),
    /// Passes only after the last symbol.
    AtEnd(NfaId),
    /// Passes only where the text around allows it.
    Look {
        /// Which of the looks that [`Builder::look`] knows.
        look: LookId,
        /// The state that it leads to.
        next: NfaId,
    },
    /// Ends the expression of a look.
    Found,
    /// Accepts.
    Match,
}

/// The number of a look of an [`Nfa`]. A look has a greater one than those inside of it.
pub type LookId = u32;

/// The direction of a look-around, and what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Look {
    /// A match of an expression begins here.
    Ahead,
    /// None does.
    NotAhead,
    /// A match of an expression ends here.
    Behind,
    /// None does.
    NotBehind,
}

impl Look {
    /// Says whether the text before a place is looked at.
    pub(crate) fn is_behind(self) -> bool {
        matches!(self, Look::Behind | Look::NotBehind)
    }

    /// Says whether there must be no match.
    pub(crate) fn is_negative(self) -> bool {
        matches!(self, Look::NotAhead | Look::NotBehind)
    }

    /// The look that holds where this one does not.
    pub(crate) fn negated(self) -> Look {
        match self {
            Look::Ahead => Look::NotAhead,
            Look::NotAhead => Look::Ahead,
            Look::Behind => Look::NotBehind,
            Look::NotBehind => Look::Behind,
        }
    }
}

/// A nondeterministic automaton over sets of symbols: a class of Unicode is one transition,
/// so a counted repetition of it costs one state a repetition.
#[derive(Clone, Debug)]
pub struct Nfa {
    pub(crate) states: Vec<State>,
    sets: Vec<Ranges>,
    /// Each with the state at which its expression begins; those inside come first.
    pub(crate) looks: Vec<(Look, NfaId)>,
    pub(crate) places: Places,
    pub(crate) start: NfaId,
}

impl Nfa {
    /// The states by number; [`MATCH`] is the only one that accepts.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The sets by number.
    pub fn sets(&self) -> &[Ranges] {
        &self.sets
    }

    pub(crate) fn holds(&self, set: SetId, symbol: u32) -> bool {
        let set = &self.sets[set as usize];
        let at = set.partition_point(|range| range.1 < symbol);
        set.get(at).is_some_and(|range| range.0 <= symbol)
    }
}

/// Makes an [`Nfa`] from its end to its start, so that nothing has to be patched but loops.
///
/// State [`MATCH`] is there from the beginning. [`Builder::expression`] adds whole
/// expressions; the other methods are for what it does not know.
pub struct Builder<'m, M> {
    pub(crate) states: Vec<State>,
    sets: Vec<Ranges>,
    ids: FxHashMap<Ranges, SetId>,
    looks: Vec<(Look, NfaId)>,
    look_ids: FxHashMap<(Look, NfaId), LookId>,
    found: Option<NfaId>,
    pub(crate) places: Places,
    meter: &'m mut M,
}

/// The bytes that a state takes, because lists grow to twice their length.
pub const STATE_BYTES: usize = 2 * size_of::<State>();

/// Returns the bytes that a set of so many ranges takes, here and in the map by which it is found.
pub fn set_bytes(ranges: usize) -> usize {
    2 * ranges * size_of::<(u32, u32)>() + 80
}

/// The memory that a look takes, with its entry in the map by which it is found, because equal
/// looks share a number.
const LOOK_BYTES: usize = 64;

impl<'m, M: Meter> Builder<'m, M> {
    /// With no state but [`MATCH`].
    pub fn new(meter: &'m mut M) -> Builder<'m, M> {
        Builder {
            states: vec![State::Match],
            sets: Vec::new(),
            ids: FxHashMap::default(),
            looks: Vec::new(),
            look_ids: FxHashMap::default(),
            found: None,
            places: Places::default(),
            meter,
        }
    }

    /// Returns the meter, which counts the cost.
    pub fn meter(&mut self) -> &mut M {
        self.meter
    }

    /// Adds a state.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn push(&mut self, state: State) -> Result<NfaId, M::Error> {
        self.meter.nfa_states(self.states.len() + 1)?;
        self.meter.work(1)?;
        self.meter.hold(STATE_BYTES)?;
        self.states.push(state);
        Ok(self.states.len() as NfaId - 1)
    }

    /// Adds a state that takes a symbol of some ranges, which are sorted and disjoint.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn symbol(&mut self, ranges: Vec<(u32, u32)>, next: NfaId) -> Result<NfaId, M::Error> {
        let set = self.set(ranges)?;
        self.push(State::Symbol { set, next })
    }

    /// The number of a set, the same for the same ranges.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn set(&mut self, ranges: Vec<(u32, u32)>) -> Result<SetId, M::Error> {
        self.meter.work(ranges.len())?;
        if let Some(&id) = self.ids.get(&*ranges) {
            return Ok(id);
        }
        self.meter.hold(set_bytes(ranges.len()))?;
        let ranges: Ranges = ranges.into();
        let id = self.sets.len() as SetId;
        self.sets.push(ranges.clone());
        self.ids.insert(ranges, id);
        Ok(id)
    }

    /// The state that ends the expression of a look: build it in front of this one.
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn found(&mut self) -> Result<NfaId, M::Error> {
        if let Some(known) = self.found {
            return Ok(known);
        }
        let found = self.push(State::Found)?;
        self.found = Some(found);
        Ok(found)
    }

    /// Adds a look-around, whose expression begins at a state and ends at
    /// [`Builder::found`]. The same one may serve many places.
    ///
    /// ```
    /// use fsm_tables::{Builder, Look, MATCH, Unlimited};
    ///
    /// // (?=b)[a-z]
    /// let mut meter = Unlimited;
    /// let mut builder = Builder::new(&mut meter);
    /// let found = builder.found()?;
    /// let b = builder.symbol(vec![(98, 98)], found)?;
    /// let letter = builder.symbol(vec![(97, 122)], MATCH)?;
    /// let start = builder.look(Look::Ahead, b, letter)?;
    /// let nfa = builder.finish(start);
    /// assert!(nfa.accepts([98]) && !nfa.accepts([97]));
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are those of the meter.
    pub fn look(&mut self, look: Look, begin: NfaId, next: NfaId) -> Result<NfaId, M::Error> {
        let look = match self.look_ids.get(&(look, begin)) {
            Some(&known) => known,
            None => {
                self.meter.hold(LOOK_BYTES)?;
                let id = self.looks.len() as LookId;
                self.looks.push((look, begin));
                self.look_ids.insert((look, begin), id);
                id
            }
        };
        self.push(State::Look { look, next })
    }

    /// Changes a state: loops are closed once their bodies are there.
    ///
    /// # Panics
    ///
    /// There is no such state.
    pub fn set_state(&mut self, id: NfaId, state: State) {
        self.states[id as usize] = state;
    }

    /// The automaton with this start.
    pub fn finish(self, start: NfaId) -> Nfa {
        Nfa {
            states: self.states,
            sets: self.sets,
            looks: self.looks,
            places: self.places,
            start,
        }
    }
}

/// The place in a text at which a closure is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Start,
    Inside,
}

/// The states that are reached without taking a symbol (epsilon closure).
pub(crate) struct Closure<'n> {
    nfa: &'n Nfa,
    /// By state when it was met last.
    seen: Vec<u32>,
    epoch: u32,
    open: Vec<NfaId>,
    ends: Vec<NfaId>,
    /// By place when it was met last, and the best rank that was met there.
    best: Vec<(u32, u32)>,
    /// Sorted, what was found last: states that take a symbol, and before them [`MATCH`] where the
    /// text may end. A state is left out if another one admits all that it admits, as far as
    /// [`Places`] tell.
    pub(crate) found: Vec<NfaId>,
}

impl Closure<'_> {
    pub(crate) fn new(nfa: &Nfa) -> Closure<'_> {
        Closure {
            nfa,
            seen: vec![0; nfa.states.len()],
            epoch: 0,
            open: Vec::new(),
            ends: Vec::new(),
            best: vec![(0, 0); nfa.places.count()],
            found: Vec::new(),
        }
    }

    /// Finds what is reached from some states; answers how many steps that took.
    pub(crate) fn find(&mut self, from: &[NfaId], place: Place) -> usize {
        self.epoch += 1;
        self.found.clear();
        self.open.extend_from_slice(from);
        let mut visited = 0;
        let mut accepts = false;
        while let Some(id) = self.open.pop() {
            visited += 1;
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            match self.nfa.states[id as usize] {
                State::Symbol { .. } => self.found.push(id),
                State::Split(a, b) => self.open.extend([b, a]),
                State::AtStart(next) if place == Place::Start => self.open.push(next),
                State::AtStart(_) => {}
                State::AtEnd(next) => self.ends.push(next),
                State::Match => accepts = true,
                // Automata with looks are followed by formulas.
                State::Look { .. } | State::Found => {}
            }
        }
        if accepts {
            self.ends.clear();
        } else if !self.ends.is_empty() {
            accepts = self.accepts_behind(place, &mut visited);
        }
        self.leave_out();
        if accepts {
            self.found.push(MATCH);
        }
        self.found.sort_unstable();
        visited
    }

    /// Leaves out what was found at the place of a copy that admits more.
    fn leave_out(&mut self) {
        if self.best.is_empty() {
            return;
        }
        let (places, epoch, best) = (&self.nfa.places, self.epoch, &mut self.best);
        for id in &self.found {
            if let Some((place, rank)) = places.of(*id) {
                let known = &mut best[place as usize];
                *known = match *known {
                    (met, most) if met == epoch => (epoch, most.max(rank)),
                    _ => (epoch, rank),
                };
            }
        }
        self.found.retain(|id| {
            let place = places.of(*id);
            place.is_none_or(|(place, rank)| best[place as usize].1 == rank)
        });
    }

    /// Tells whether acceptance follows behind an end anchor, where nothing more can be taken.
    fn accepts_behind(&mut self, place: Place, visited: &mut usize) -> bool {
        self.epoch += 1;
        let mut accepts = false;
        while let Some(id) = self.ends.pop() {
            if std::mem::replace(&mut self.seen[id as usize], self.epoch) == self.epoch {
                continue;
            }
            *visited += 1;
            match self.nfa.states[id as usize] {
                State::Match => accepts = true,
                State::Split(a, b) => self.ends.extend([b, a]),
                State::AtEnd(next) => self.ends.push(next),
                State::AtStart(next) if place == Place::Start => self.ends.push(next),
                State::AtStart(_) | State::Symbol { .. } => {}
                State::Look { .. } | State::Found => {}
            }
        }
        accepts
    }
}
