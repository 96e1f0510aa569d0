//! What may not come because of what was said before.

/// What a text forbids because of what it said before, such as a name that an object has
/// already: the part of a [`ByteAutomaton`](crate::ByteAutomaton) whose
/// [`step`](crate::ByteAutomaton::step) lets such texts pass, so that neither cursors nor keys
/// tell what was said. `S` is the automaton's [`State`](crate::ByteAutomaton::State).
///
/// A mask is found by its key first; then what this names is taken out of it.
/// [`advance`](crate::ByteAutomaton::advance) refuses such a text at the byte that completes it.
pub trait Overlay<S> {
    /// Calls `each` with what may not come at `state` although steps lead on.
    fn exceptions(&self, _state: &S, _each: &mut dyn FnMut(Exception<'_>)) {}

    /// Tells whether a token that an exception calls suspect can be refused at all: a quick look
    /// before [`advance`](crate::ByteAutomaton::advance) tries it. Saying `true` is always right.
    fn is_suspect(&self, _state: &S, _token: &[u8]) -> bool {
        true
    }

    /// Texts of which only [`advance`](crate::ByteAutomaton::advance) tells whether a token may
    /// come that has one of them in it: what steps and descriptions say of such tokens counts
    /// for nothing. So what only few, long texts would change need not be told at every state.
    /// A vocabulary should have no such token, or next to none: each is tried for every mask,
    /// and rows are not shared with other automata then.
    fn unsure_texts(&self) -> &[Box<[u8]>] {
        &[]
    }
}

/// What may not come although it might. See [`Overlay::exceptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception<'a> {
    /// Every token that begins with this text is refused.
    Begins(&'a [u8]),
    /// Every token with this text in it is suspect: it is tried by
    /// [`advance`](crate::ByteAutomaton::advance). Few tokens should have it, as few have a
    /// whole key in quotes.
    Contains(&'a [u8]),
    /// Every token in which these bytes come one after another, whatever is between
    /// them, is suspect in the same way: few tokens have a bracket and then a comma.
    InOrder(&'a [u8]),
    /// Every token that has a byte in it so often, or oftener, is suspect in the
    /// same way: few tokens have three quotes.
    Often {
        /// The byte.
        byte: u8,
        /// How often.
        times: usize,
    },
}
