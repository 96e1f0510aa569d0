//! The inside of a number.
//!
//! For example, behind `1` of `{"type": "integer"}` a digit may come, and by default no `.`.

use std::sync::Arc;

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::Machine;
use crate::automaton::machine::node::NumberMachine;
use crate::automaton::run::config::{EMPTY_LIST, FIRST};
use crate::automaton::run::scratch::Scratch;

/// The state of a number behind one more byte, if that may be part of it.
pub(super) fn number_step(
    machine: &Machine,
    node: u32,
    state: u32,
    byte: u8,
    x: &mut Scratch,
) -> Option<u32> {
    let m = machine.number(node)?;
    if let [one] = &*m.dfas {
        let to = if state == DEAD {
            DEAD
        } else {
            one.step(state, byte)
        };
        return (to != DEAD).then_some(to);
    }
    let states = x.list(state);
    let next: Vec<u32> = states
        .iter()
        .zip(&m.dfas)
        .map(|(s, d)| if *s == DEAD { DEAD } else { d.step(*s, byte) })
        .collect();
    next.iter().any(|s| *s != DEAD).then(|| x.add_list(&next))
}

/// The goals that a number satisfies if it ends here.
pub(super) fn number_goals(
    machine: &Machine,
    node: u32,
    set: u32,
    state: u32,
    x: &mut Scratch,
) -> u32 {
    let Some(m) = machine.number(node) else {
        return EMPTY_LIST;
    };
    if let ([one], [(0, 0)], FIRST) = (&*m.dfas, &*m.leaves, set) {
        return if one.accepts(state) {
            FIRST
        } else {
            EMPTY_LIST
        };
    }
    let states: Arc<[u32]> = if m.dfas.len() == 1 {
        Arc::from([state])
    } else {
        x.list(state)
    };
    let wanted = x.list(set);
    let mut held: Vec<u32> = m
        .leaves
        .iter()
        .filter(|(g, d)| {
            let s = states[*d as usize];
            s != DEAD && m.dfas[*d as usize].accepts(s) && wanted.contains(g)
        })
        .map(|(g, _)| *g)
        .collect();
    held.sort_unstable();
    held.dedup();
    x.add_list(&held)
}

/// The state of one automaton of a machine that is in `state`.
pub(super) fn number_state(m: &NumberMachine, dfa: u32, state: u32, x: &Scratch) -> u32 {
    match m.dfas.len() {
        1 => state,
        _ => x.slice(state)[dfa as usize],
    }
}
