//! Finite automata over bytes, put together from others.

use std::collections::{HashMap, VecDeque};

use fsm_index::{ByteAutomaton, ByteDfa};

use super::build::{MAX_QUIET_STATES, constraint_error, watch};
use super::free::{Free, Place};
use super::parts::{DEAD, Quiet};
use crate::Error;

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
            (0, without.start()),
            |(at, not), byte| {
                let next = self.next[*at as usize][usize::from(byte)];
                (next != DEAD).then(|| (next, without.step(*not, byte, &mut ())))
            },
            |(at, not)| {
                self.accepting[*at as usize] && (not.is_dead() || !without.is_accepting(not))
            },
        )
    }

    /// What is of two regular languages.
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
    fn explore<S: Clone + Eq + std::hash::Hash>(
        start: S,
        step: impl Fn(&S, u8) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
    ) -> Result<Quiet, Error> {
        let mut ids: HashMap<S, u32> = HashMap::from([(start.clone(), 0)]);
        let mut states = vec![start];
        let mut next: Vec<[u32; 256]> = Vec::new();
        let mut at = 0;
        while at < states.len() {
            let mut row = [DEAD; 256];
            for byte in 0..=255u8 {
                let Some(to) = step(&states[at], byte) else {
                    continue;
                };
                let fresh = ids.len() as u32;
                let id = *ids.entry(to.clone()).or_insert(fresh);
                if id == fresh {
                    states.push(to);
                    if states.len() > MAX_QUIET_STATES {
                        return Err(constraint_error(format!(
                            "a regular expression without the markers has more than \
                             {MAX_QUIET_STATES} states; simplify it"
                        )));
                    }
                }
                row[usize::from(byte)] = id;
            }
            next.push(row);
            at += 1;
        }
        let accepting: Vec<bool> = states.iter().map(accepts).collect();
        let completions = complete(&mut next, &accepting)?;
        Ok(Quiet {
            next,
            accepting,
            completions,
        })
    }
}

/// The shortest texts to acceptance; rows lose the bytes that do not lead there.
fn complete(next: &mut [[u32; 256]], accepting: &[bool]) -> Result<Vec<Vec<u8>>, Error> {
    let mut incoming: Vec<Vec<(u32, u8)>> = vec![Vec::new(); next.len()];
    for (from, row) in next.iter().enumerate() {
        for (byte, &to) in row.iter().enumerate() {
            if to != DEAD {
                incoming[to as usize].push((from as u32, byte as u8));
            }
        }
    }
    let mut way: Vec<Option<(u32, u8)>> = vec![None; next.len()];
    let mut alive: Vec<bool> = accepting.to_vec();
    let mut open: VecDeque<u32> = (0..next.len() as u32)
        .filter(|at| accepting[*at as usize])
        .collect();
    while let Some(to) = open.pop_front() {
        for &(from, byte) in &incoming[to as usize] {
            if !std::mem::replace(&mut alive[from as usize], true) {
                way[from as usize] = Some((to, byte));
                open.push_back(from);
            }
        }
    }
    if alive.first() != Some(&true) {
        return Err(constraint_error(
            "a regular expression matches no text without the markers",
        ));
    }
    for row in next.iter_mut() {
        for cell in row.iter_mut() {
            if *cell != DEAD && !alive[*cell as usize] {
                *cell = DEAD;
            }
        }
    }
    let completion = |mut at: u32| {
        let mut text = Vec::new();
        while let Some((to, byte)) = way[at as usize] {
            text.push(byte);
            at = to;
        }
        text
    };
    Ok((0..next.len() as u32).map(completion).collect())
}
