//! Matches one text with an automaton, without tables: all ways are followed at once, and each
//! look-around is asked at each place.
//!
//! For example, of `(?!ab)[a-z]*` the look is asked at the three places of `xy`, and holds there.

use crate::nfa::{Closure, Place};
use crate::{MATCH, Nfa, NfaId, State};

impl Nfa {
    /// Tells whether the whole of a text is accepted, found by following all ways at once
    /// (Thompson, 1968). Time is the product of both sizes, and once more for each look.
    ///
    /// ```
    /// use fsm_tables::{Builder, MATCH, State, Unlimited};
    ///
    /// // a+
    /// let mut meter = Unlimited;
    /// let mut builder = Builder::new(&mut meter);
    /// let split = builder.push(State::Split(MATCH, MATCH))?;
    /// let a = builder.symbol(vec![(97, 97)], split)?;
    /// builder.set_state(split, State::Split(a, MATCH));
    /// let nfa = builder.finish(a);
    /// assert!(nfa.accepts("aaa".bytes().map(u32::from)));
    /// assert!(!nfa.accepts("ab".bytes().map(u32::from)) && !nfa.accepts([]));
    /// # Ok::<(), std::convert::Infallible>(())
    /// ```
    pub fn accepts(&self, text: impl IntoIterator<Item = u32>) -> bool {
        if !self.looks.is_empty() {
            return accepts(self, &text.into_iter().collect::<Vec<u32>>());
        }
        let mut closure = Closure::new(self);
        closure.find(&[self.start], Place::Start);
        let mut next: Vec<NfaId> = Vec::new();
        for symbol in text {
            let here = closure.found.iter().map(|id| self.states[*id as usize]);
            next.extend(here.filter_map(|state| match state {
                State::Symbol { set, next } if self.holds(set, symbol) => Some(next),
                _ => None,
            }));
            if next.is_empty() {
                return false;
            }
            closure.find(&next, Place::Inside);
            next.clear();
        }
        closure.found.first() == Some(&MATCH)
    }
}

/// Says whether the whole of a text is accepted by an automaton with looks: each look is asked at
/// each place, those inside of others first. Time is the product of all three numbers.
fn accepts(nfa: &Nfa, text: &[u32]) -> bool {
    let mut truth: Vec<Vec<bool>> = Vec::with_capacity(nfa.looks.len());
    for (look, begin) in &nfa.looks {
        let at = match look.is_behind() {
            true => ends_at(nfa, text, &truth, *begin),
            false => begins_at(nfa, text, &truth, *begin),
        };
        truth.push(
            at.into_iter()
                .map(|met| met != look.is_negative())
                .collect(),
        );
    }
    begins_at(nfa, text, &truth, nfa.start)[0]
}

/// Returns the states that follow without a symbol.
fn ways(
    nfa: &Nfa,
    text: &[u32],
    truth: &[Vec<bool>],
    (state, at): (NfaId, usize),
) -> [Option<NfaId>; 2] {
    match nfa.states[state as usize] {
        State::Split(a, b) => [Some(a), Some(b)],
        State::AtStart(next) => [Some(next).filter(|_| at == 0), None],
        State::AtEnd(next) => [Some(next).filter(|_| at == text.len()), None],
        State::Look { look, next } => {
            let holds = truth.get(look as usize).is_some_and(|truth| truth[at]);
            [Some(next).filter(|_| holds), None]
        }
        State::Symbol { .. } | State::Found | State::Match => [None, None],
    }
}

/// By place of a text whether a match ends there that began at any place.
fn ends_at(nfa: &Nfa, text: &[u32], truth: &[Vec<bool>], begin: NfaId) -> Vec<bool> {
    let mut out = Vec::with_capacity(text.len() + 1);
    let mut open: Vec<NfaId> = Vec::new();
    let mut seen = vec![usize::MAX; nfa.states.len()];
    for at in 0..=text.len() {
        open.push(begin);
        let mut next = Vec::new();
        let mut ends = false;
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut seen[state as usize], at) == at {
                continue;
            }
            match nfa.states[state as usize] {
                State::Found => ends = true,
                State::Symbol { set, next: to } => {
                    let holds = text.get(at).is_some_and(|symbol| nfa.holds(set, *symbol));
                    next.extend(Some(to).filter(|_| holds));
                }
                _ => open.extend(ways(nfa, text, truth, (state, at)).into_iter().flatten()),
            }
        }
        out.push(ends);
        open = next;
    }
    out
}

/// By place of a text whether a match begins there, found from the end to the beginning.
fn begins_at(nfa: &Nfa, text: &[u32], truth: &[Vec<bool>], begin: NfaId) -> Vec<bool> {
    // Only what is reached counts: other looks may not be known yet.
    let mut order = vec![begin];
    let mut reached = vec![false; nfa.states.len()];
    reached[begin as usize] = true;
    let mut from: Vec<Vec<NfaId>> = vec![Vec::new(); nfa.states.len()];
    let mut n = 0;
    while let Some(&state) = order.get(n) {
        n += 1;
        let (to, waits) = match nfa.states[state as usize] {
            State::Symbol { next, .. } => ([Some(next), None], true),
            State::Split(a, b) => ([Some(a), Some(b)], false),
            State::AtStart(next) | State::AtEnd(next) | State::Look { next, .. } => {
                ([Some(next), None], false)
            }
            State::Found | State::Match => ([None, None], true),
        };
        for to in to.into_iter().flatten() {
            if !waits {
                from[to as usize].push(state);
            }
            if !std::mem::replace(&mut reached[to as usize], true) {
                order.push(to);
            }
        }
    }
    let mut out = vec![false; text.len() + 1];
    let mut later = vec![false; nfa.states.len()];
    for at in (0..=text.len()).rev() {
        let mut here = vec![false; nfa.states.len()];
        let met = |state: &NfaId| match nfa.states[*state as usize] {
            State::Match => at == text.len(),
            State::Found => true,
            State::Symbol { set, next } => {
                later[next as usize] && text.get(at).is_some_and(|symbol| nfa.holds(set, *symbol))
            }
            _ => false,
        };
        let mut open: Vec<NfaId> = order.iter().copied().filter(met).collect();
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut here[state as usize], true) {
                continue;
            }
            let leads =
                |before: &NfaId| ways(nfa, text, truth, (*before, at)).contains(&Some(state));
            open.extend(from[state as usize].iter().copied().filter(leads));
        }
        out[at] = here[begin as usize];
        later = here;
    }
    out
}
