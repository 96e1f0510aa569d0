//! Lexemes that have begun: sets of states of terminals that have read the same text, by number
//! (the subset construction, Rabin and Scott 1959, done as texts need it).
//!
//! For example, behind the `i` of `if` a set has a state of the terminal `"if"` and one of the
//! terminal of names.

use std::collections::HashMap;
use std::ops::Index;

use foldhash::fast::FixedState;

use crate::compile::class_set::ClassSet;
use crate::machine::Machine;
use crate::proof::Origins;
use crate::run::configs::UNKNOWN;

/// A set of states of terminals that have read the same text.
#[derive(Debug, Default)]
pub(crate) struct Lex {
    /// Ascending.
    pub(crate) members: Box<[u32]>,
    /// Terminals that may end here, ascending.
    pub(crate) accepts: Box<[u32]>,
    /// The terminals among them that end here whatever comes.
    pub(crate) lazy: Box<[u32]>,
    /// The number of the terminals that end here: of the lazy ones, if there are any. 0 for
    /// none.
    pub(crate) ends: u32,
    /// By guard of what begins behind them: the terminals that end here. Empty where none has
    /// one.
    pub(crate) guarded: Box<[(u32, Box<[u32]>)]>,
    /// The states that perhaps cannot be finished, whatever the stacks are that its contexts stand for.
    unsure: Box<[u32]>,
    /// The same without the states from which no byte leads on; 0 if there are no others.
    pub(crate) open: u32,
    /// The contexts where it may have begun, of those in which it leads to states that perhaps cannot be finished.
    pub(crate) origins: Origins,
    row: Box<[u32]>,
}

impl Lex {
    /// Returns the terminals that end here: the lazy ones, if there are any.
    pub(crate) fn ending(&self) -> &[u32] {
        match self.lazy.is_empty() {
            true => &self.accepts,
            false => &self.lazy,
        }
    }

    /// Returns the states that can be finished, if the stacks are such that what they begin can be.
    pub(crate) fn sure(&self) -> impl Iterator<Item = u32> {
        let all = self.members.iter().copied();
        all.filter(|state| !self.unsure.contains(state))
    }

    /// Tells whether nothing of it is sure to be finished.
    pub(crate) fn is_unsure(&self) -> bool {
        !self.unsure.is_empty() && self.sure().next().is_none()
    }

    /// Returns the terminals of its states.
    pub(crate) fn terminals<'a>(&'a self, machine: &'a Machine) -> impl Iterator<Item = u32> + 'a {
        let terminals = &machine.lexer().terminal;
        self.members.iter().map(|&state| terminals[state as usize])
    }
}

/// All sets that one scratch knows. Number 0 is the empty one, for a lexeme that is dead.
#[derive(Debug)]
pub(crate) struct Lexes {
    all: Vec<Lex>,
    /// By the contexts where they have begun, and states.
    ids: HashMap<Origins, HashMap<Box<[u32]>, u32, FixedState>, FixedState>,
    /// By the set in which lexemes begin, and by guard.
    under_guards: HashMap<(u32, u32), u32, FixedState>,
    /// Terminals that end at the same places, by number.
    ends: HashMap<Box<[u32]>, u32, FixedState>,
    bytes: usize,
}

impl Default for Lexes {
    fn default() -> Lexes {
        Lexes {
            all: vec![Lex::default()],
            ids: HashMap::from_iter([(
                Origins::default(),
                HashMap::from_iter([(Box::default(), 0)]),
            )]),
            under_guards: HashMap::default(),
            ends: HashMap::from_iter([(Box::default(), 0)]),
            bytes: 0,
        }
    }
}

impl Index<u32> for Lexes {
    type Output = Lex;

    #[inline]
    fn index(&self, lex: u32) -> &Lex {
        &self.all[lex as usize]
    }
}

impl Lexes {
    /// Returns the number of a set.
    pub(crate) fn intern(
        &mut self,
        mut members: Vec<u32>,
        origins: Origins,
        machine: &Machine,
    ) -> u32 {
        members.sort_unstable();
        members.dedup();
        let members = members.into_boxed_slice();
        let origins = machine.proof().unsure_origins(&members, origins);
        let ids = self.ids.entry(origins).or_default();
        if let Some(&id) = ids.get(&members) {
            return id;
        }
        let lexer = machine.lexer();
        let ends = members
            .iter()
            .filter(|&&state| lexer.accepting[state as usize]);
        let mut accepts: Vec<u32> = ends.map(|&state| lexer.terminal[state as usize]).collect();
        accepts.sort_unstable();
        accepts.dedup();
        let is_lazy = |terminal: &&u32| machine.cfg().terminals[**terminal as usize].is_lazy;
        let lazy: Box<[u32]> = accepts.iter().filter(is_lazy).copied().collect();
        let id = self.all.len() as u32;
        self.bytes += 150 + 8 * members.len();
        let mut lex = Lex {
            members: members.clone(),
            accepts: accepts.into(),
            lazy,
            ends: 0,
            guarded: guarded_ends(&members, machine),
            unsure: machine.unsure_among(&members, origins),
            open: id,
            origins,
            row: Box::default(),
        };
        lex.ends = self.number_of_ends(lex.ending());
        self.all.push(lex);
        // Lexemes behind which the text must go on are looked at when it ends.
        let is_open =
            |state: &&u32| !lexer.is_final[**state as usize] || lexer.goes_on[**state as usize];
        let open: Vec<u32> = members.iter().filter(is_open).copied().collect();
        let are_open = open.len() == members.len();
        self.ids.entry(origins).or_default().insert(members, id);
        if !are_open {
            self.all[id as usize].open = self.intern(open, origins, machine);
        }
        id
    }

    /// Returns the set behind a byte of a class; 0 if none of its lexemes takes it.
    pub(crate) fn step(&mut self, lex: u32, class: u8, machine: &Machine) -> u32 {
        if lex == 0 {
            return 0;
        }
        let known = self[lex].row.get(usize::from(class));
        if let Some(&known) = known
            && known != UNKNOWN
        {
            return known;
        }
        let lexer = machine.lexer();
        let next = self[lex].members.iter();
        let next = next.map(|&state| lexer.step(state, class));
        let mut next: Vec<u32> = next.filter(|&state| state != 0).collect();
        let takes = |&state: &u32| !lexer.is_trap(state);
        if !machine.is_greedy() || next.iter().any(takes) {
            next.retain(takes);
        }
        let next = match next.is_empty() {
            true => 0,
            false => self.intern(next, self[lex].origins, machine),
        };
        let row = &mut self.all[lex as usize].row;
        if row.is_empty() {
            *row = vec![UNKNOWN; lexer.width()].into();
            self.bytes += 4 * lexer.width();
        }
        row[usize::from(class)] = next;
        next
    }

    /// Returns the sets behind bytes of some classes, but the empty one. Classes in which no state turns lead to the same
    /// set, so that one of them is stepped.
    pub(crate) fn ways(&mut self, lex: u32, classes: &ClassSet, machine: &Machine) -> Vec<u32> {
        let lexer = machine.lexer();
        let members = self[lex].members.iter();
        let turns = members.fold(ClassSet::default(), |mut all, &state| {
            all.or(lexer.turns(state));
            all
        });
        let leads_on = |class: &usize| {
            let mut members = self[lex].members.iter();
            members.any(|&state| lexer.row(state)[*class] != 0)
        };
        let runs = turns.iter().filter_map(|begin| {
            let end = turns.next_from(begin + 1).unwrap_or(lexer.width());
            classes.within(begin..end).next()
        });
        let stepped: Vec<usize> = runs.filter(leads_on).collect();
        let ways = stepped.into_iter();
        let ways = ways.map(|class| self.step(lex, class as u8, machine));
        ways.filter(|&to| to != 0).collect()
    }

    /// Tells whether what was begun was followed by what must not follow it.
    #[inline]
    pub(crate) fn is_trapped(&self, lex: u32, machine: &Machine) -> bool {
        let first = self[lex].members.first();
        first.is_some_and(|&state| machine.lexer().is_trap(state))
    }

    /// Returns the set in which some lexemes begin under a guard; 0 if none can.
    pub(crate) fn under_guard(&mut self, start: u32, guard: u32, machine: &Machine) -> u32 {
        if guard == 0 {
            return start;
        }
        if let Some(&known) = self.under_guards.get(&(start, guard)) {
            return known;
        }
        let members = self[start].members.iter();
        let members = members.map(|&state| machine.lexer().start_under(state, guard));
        let members = members.filter(|&state| state != 0).collect();
        let place = self.intern(members, self[start].origins, machine);
        self.bytes += 24;
        self.under_guards.insert((start, guard), place);
        place
    }

    /// Returns the number of terminals that end together.
    pub(crate) fn number_of_ends(&mut self, terminals: &[u32]) -> u32 {
        if let Some(&known) = self.ends.get(terminals) {
            return known;
        }
        let number = self.ends.len() as u32;
        self.ends.insert(terminals.into(), number);
        number
    }

    /// Returns the bytes that all of this takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the terminals that end in some states, by the guard of what begins behind them: nothing
/// where none has one.
fn guarded_ends(members: &[u32], machine: &Machine) -> Box<[(u32, Box<[u32]>)]> {
    let lexer = machine.lexer();
    let ended = members
        .iter()
        .filter(|&&state| lexer.accepting[state as usize]);
    let mut ends: Vec<(u32, u32)> = ended
        .map(|&state| (lexer.guards[state as usize], lexer.terminal[state as usize]))
        .collect();
    if ends.iter().all(|end| end.0 == 0) {
        return Box::default();
    }
    ends.sort_unstable();
    ends.dedup();
    let groups = ends.chunk_by(|a, b| a.0 == b.0);
    groups
        .map(|group| (group[0].0, group.iter().map(|end| end.1).collect()))
        .collect()
}
