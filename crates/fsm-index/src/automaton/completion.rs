//! Shortest texts that complete one, through special tokens too. For example, `{"a": ` under a
//! schema with a number may be completed by `0}`.

use std::borrow::Cow;

use super::{AskParts as _, Completed};
use crate::ByteAutomaton;

/// The longest text that counts as a completion, in bytes: 4 MiB, because nobody waits for more,
/// and `minLength` may ask for gigabytes.
pub const MAX_COMPLETION: usize = 4 << 20;

/// A part of a text.
pub(crate) enum Piece<'a> {
    /// Bytes.
    Text(Vec<u8>),
    /// A special token, by its name.
    Special(&'a str),
}

impl Piece<'_> {
    /// The bytes, or those of the name.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Piece::Text(text) => text,
            Piece::Special(name) => name.as_bytes().to_vec(),
        }
    }
}

/// A shortest text from a state to acceptance; `None` where its pieces would have more than
/// `max_bytes`, or the automaton does not find one.
pub(crate) fn pieces<'a, A: ByteAutomaton>(
    automaton: &'a A,
    state: &A::State,
    max_bytes: usize,
) -> Option<Vec<Piece<'a>>> {
    let mut out = Vec::new();
    let mut state = Cow::Borrowed(state);
    let mut left = max_bytes;
    loop {
        let mut text = Vec::new();
        let completed = automaton.completion(&state, left, &mut text)?;
        left = left.checked_sub(text.len())?;
        let Completed::Before(special) = completed else {
            out.push(Piece::Text(text));
            return Some(out);
        };
        let advanced = automaton.advance(state.to_mut(), &text, &mut automaton.scratch());
        advanced.ok()?;
        out.push(Piece::Text(text));
        if !automaton.advance_special(state.to_mut(), special) {
            return None;
        }
        let name = automaton
            .parts()
            .special_names
            .names
            .get(special.0 as usize)?;
        left = left.checked_sub(name.len().max(1))?;
        out.push(Piece::Special(name));
    }
}
