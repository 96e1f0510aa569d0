//! Finite automata over bytes, put together from others as tables of `fsm-tables`: for example
//! a regular expression without the texts in which a marker occurs.

use std::collections::VecDeque;
use std::hash::Hash;

use fsm_index::{ByteAutomaton, ByteDfa};
use fsm_tables::{Meter, NONE, Table, explore};

use super::error::{Error, constraint_error};
use super::free::{Free, Place};
use super::markers::watch;

/// The most states of a regular expression that markers are taken out of, because each state is met
/// with each state of the markers.
pub const MAX_QUIET_STATES: usize = 8_000;

/// A finite automaton over bytes, every state alive. It begins in state 0.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    table: Table<bool>,
    /// The shortest text to acceptance from each state.
    completions: Vec<Vec<u8>>,
}

/// The limit on states.
struct Limit;

impl Meter for Limit {
    type Error = Error;

    fn work(&mut self, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn states(&mut self, states: usize) -> Result<(), Error> {
        match states > MAX_QUIET_STATES {
            false => Ok(()),
            true => Err(constraint_error(format!(
                "a regular expression without the markers has more than \
                 {MAX_QUIET_STATES} states; simplify it"
            ))),
        }
    }
}

impl Quiet {
    /// A regular language without the texts in which a marker occurs.
    ///
    /// # Errors
    ///
    /// Nothing is left, or more than [`MAX_QUIET_STATES`].
    pub(super) fn without(dfa: &ByteDfa, markers: &[String]) -> Result<Quiet, Error> {
        let markers = watch(markers.iter().map(String::as_str))?;
        Quiet::explore(
            (dfa.start(), 0u16),
            |(at, marker), byte| {
                let next = dfa.step(*at, byte, &mut ());
                Some((next, markers.step(*marker, byte)?)).filter(|next| !next.0.is_dead())
            },
            |(at, _)| dfa.is_accepting(at),
        )
    }

    /// The same without another regular language.
    pub(super) fn minus(&self, without: &ByteDfa) -> Result<Quiet, Error> {
        Quiet::explore(
            (0u32, without.start()),
            |(at, not), byte| Some((self.step(*at, byte)?, without.step(*not, byte, &mut ()))),
            |(at, not)| self.accepts(*at) && (not.is_dead() || !without.is_accepting(not)),
        )
    }

    /// The texts that two regular languages have in common.
    pub(super) fn both(one: &ByteDfa, other: &ByteDfa) -> Result<Quiet, Error> {
        Quiet::explore(
            (one.start(), other.start()),
            |(a, b), byte| {
                let next = (one.step(*a, byte, &mut ()), other.step(*b, byte, &mut ()));
                (!next.0.is_dead() && !next.1.is_dead()).then_some(next)
            },
            |(a, b)| one.is_accepting(a) && other.is_accepting(b),
        )
    }

    /// Free text without markers that is none of the regular language.
    pub(super) fn except(dfa: &ByteDfa, markers: &[String]) -> Result<Quiet, Error> {
        let free = Free {
            markers: watch(markers.iter().map(String::as_str))?,
            limit: None,
        };
        Quiet::explore(
            (Place::START, dfa.start()),
            |(place, at), byte| {
                let (place, _) = free.step(*place, 0, byte)?;
                Some((place, dfa.step(*at, byte, &mut ())))
            },
            |(place, at)| Free::may_end(*place) && (at.is_dead() || !dfa.is_accepting(at)),
        )
    }

    /// The automaton of what `step` and `accepts` say, dead states left out.
    fn explore<S: Clone + Eq + Hash>(
        start: S,
        step: impl Fn(&S, u8) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
    ) -> Result<Quiet, Error> {
        let step = |at: &S, byte: usize| step(at, byte as u8);
        let table = explore(256, start, step, accepts, &mut Limit)?.trimmed();
        if table.states() == 0 {
            return Err(constraint_error(
                "a regular expression matches no text without the markers",
            ));
        }
        Ok(Quiet {
            completions: completions(&table),
            table,
        })
    }

    /// The state after a byte; `None` where it may not come.
    pub(super) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        let next = self.table.next(state, byte.into());
        (next != NONE).then_some(next)
    }

    /// Returns true if the text may end in a state.
    pub(super) fn accepts(&self, state: u32) -> bool {
        self.table.labels()[state as usize]
    }

    /// The shortest text to acceptance from each state.
    pub(super) fn completions(&self) -> &[Vec<u8>] {
        &self.completions
    }
}

fn completions(table: &Table<bool>) -> Vec<Vec<u8>> {
    let mut incoming: Vec<Vec<(u32, u8)>> = vec![Vec::new(); table.states()];
    for (from, row) in (0..).zip(table.rows()) {
        for (byte, to) in (0..=255).zip(row).filter(|(_, to)| **to != NONE) {
            incoming[*to as usize].push((from, byte));
        }
    }
    let accepting = table.labels().iter().map(|accepts| accepts.then(Vec::new));
    let mut texts: Vec<Option<Vec<u8>>> = accepting.collect();
    let ends = (0..texts.len()).filter(|at| texts[*at].is_some());
    let mut open: VecDeque<usize> = ends.collect();
    while let Some(to) = open.pop_front() {
        for &(from, byte) in &incoming[to] {
            if texts[from as usize].is_none() {
                let rest = texts[to].iter().flatten().copied();
                texts[from as usize] = Some(std::iter::once(byte).chain(rest).collect());
                open.push_back(from as usize);
            }
        }
    }
    texts.into_iter().map(Option::unwrap_or_default).collect()
}
