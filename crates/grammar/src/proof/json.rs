//! The bytes of values of JSON: those with which one begins, and those that greedy lexing may take
//! behind one. For example, a digit behind a number.

use fsm_index::ByteAutomaton;
use schema_regex::automaton::SchemaAutomaton;

/// Tells of bytes whether a text of a schema may begin with each: in one go, because the working
/// memory takes longer to make than a byte to read.
pub(super) fn begins(automaton: &SchemaAutomaton, bytes: &[u8]) -> impl Iterator<Item = bool> {
    let mut scratch = automaton.scratch();
    bytes.iter().map(move |&byte| {
        let mut state = automaton.start();
        automaton.advance(&mut state, &[byte], &mut scratch).is_ok()
    })
}

/// The bytes that a value which is complete may take all the same: only a number goes on.
pub(super) fn prolonging(automaton: &SchemaAutomaton) -> &'static [u8] {
    match begins(automaton, b"-0123456789").any(|is_number| is_number) {
        true => b" \t\n\r0123456789.eE+-",
        false => b" \t\n\r",
    }
}
