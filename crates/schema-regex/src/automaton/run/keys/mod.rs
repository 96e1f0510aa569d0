//! The keys by which masks are remembered.
//!
//! For example, behind `{"a":"x` and behind `{"b":"yz` a free string may go on in the same ways, so that
//! both places have one key and one mask.

mod common;
mod key;
mod object_summary;
mod tag;

use fsm_index::{Cursor, Horizon, KeyLanguage, Scope};

use crate::automaton::machine::Machine;
use crate::automaton::run::scratch::Scratch;

/// A writer of keys: of what the mask at a cursor can depend on.
struct Keys<'a> {
    machine: &'a Machine,
    horizon: Horizon<'a>,
    x: &'a mut Scratch,
    out: &'a mut Vec<u32>,
}

/// Appends the key of the topmost levels at a cursor for masks of this machine, or of all: see
/// [`fsm_index::ByteAutomaton::key`].
pub(in crate::automaton) fn key(
    machine: &Machine,
    cursor: Cursor,
    scope: Scope,
    depth: usize,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> Option<KeyLanguage> {
    let mut keys = Keys {
        machine,
        horizon,
        x,
        out,
    };
    match scope {
        Scope::Index => keys.key_of(cursor, depth).then_some(KeyLanguage::OWN),
        Scope::Vocabulary => keys.common_at(cursor, depth),
    }
}
