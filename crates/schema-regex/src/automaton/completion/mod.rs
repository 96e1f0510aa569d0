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

use crate::automaton::completion::finish::Finisher;
use crate::automaton::machine::Machine;
use crate::automaton::run::config::Config;
use crate::automaton::run::scratch::Scratch;

/// Writes a text that leads from a place to acceptance; `false` if it would have more than `most` bytes, or none
/// was found.
pub(super) fn finish(
    machine: &Machine,
    from: Config,
    most: usize,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> bool {
    Finisher::new(machine, x, out).finish(from, most)
}
