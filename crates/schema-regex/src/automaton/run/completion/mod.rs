//! Shortest texts to the end.
//!
//! For example, `{"a": [1` has the completion `]}`.

mod ending;
mod finish;
mod growth;
mod lacking;
mod names;
mod shortest;
#[cfg(test)]
mod tests;

use crate::automaton::machine::Machine;
use crate::automaton::run::completion::finish::Finisher;
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::state::{self, Load, State};

/// Writes a text that leads from a state to acceptance, of at most so many bytes; `false` if none
/// was found, and nothing is written.
pub(in crate::automaton) fn finish(
    machine: &Machine,
    state: &State,
    most: usize,
    out: &mut Vec<u8>,
) -> bool {
    let before = out.len();
    let mut x = Scratch::new();
    let config = state::load(machine, state, &mut x, Load::Text);
    let is_found = Finisher::new(machine, &mut x, out).finish(config, most);
    if !is_found {
        out.truncate(before);
    }
    is_found
}
