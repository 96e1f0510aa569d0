//! Shortest texts that complete one, through special tokens too. For example, `{"a": ` under a
//! schema with a number may be completed by `0}`.

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
    let mut text = Vec::new();
    let fits = |state: &A::State, left, text: &mut Vec<u8>| {
        automaton.completion(state, left, text).then_some(())
    };
    fits(state, max_bytes, &mut text)?;
    let Some(specials) = automaton.parts().specials else {
        return Some(vec![Piece::Text(text)]);
    };
    let mut state = state.clone();
    let mut scratch = automaton.scratch();
    let mut left = max_bytes;
    loop {
        left = left.checked_sub(text.len())?;
        automaton.advance(&mut state, &text, &mut scratch).ok()?;
        out.push(Piece::Text(std::mem::take(&mut text)));
        if automaton.is_accepting(&state) {
            return Some(out);
        }
        let special = specials.completion(&state)?;
        let name = automaton.facts().specials.names.get(special.0 as usize)?;
        if !specials.advance(&mut state, special) {
            return None;
        }
        left = left.checked_sub(name.len().max(1))?;
        out.push(Piece::Special(name));
        fits(&state, left, &mut text)?;
    }
}
