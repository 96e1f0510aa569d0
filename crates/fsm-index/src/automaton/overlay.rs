//! Texts that may not come because of what was said before. For example, with `uniqueItems` the
//! item `1` may not come a second time in `[1,`.

/// An overlay forbids texts because of what the text said before, such as a name that an object has
/// already. It is the part of a [`ByteAutomaton`](crate::ByteAutomaton) whose
/// [`step`](crate::ByteAutomaton::step) lets such texts pass, so that neither cursors nor keys
/// depend on what was said. `S` is the automaton's [`State`](crate::ByteAutomaton::State).
///
/// A mask is found by its key first; then the tokens that the overlay names are taken out of it.
/// [`advance`](crate::ByteAutomaton::advance) refuses such a text at the byte that completes it.
pub trait Overlay<S> {
    /// Calls `each` with what may not come at `state` although steps lead on, and with a quick look
    /// at a token: it tells whether a token that the exception calls suspect can be refused at all,
    /// before [`advance`](crate::ByteAutomaton::advance) tries it. A look that always says `true` is
    /// always right.
    fn exceptions(&self, state: &S, each: &mut EachException<'_>);
}

/// The receiver of exceptions, each with a quick look at a token. See [`Overlay::exceptions`].
pub type EachException<'a> = dyn FnMut(Exception<'_>, &dyn Fn(&[u8]) -> bool) + 'a;

/// An exception: tokens that may not come although steps lead on. See [`Overlay::exceptions`].
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
        /// The least number of times.
        times: usize,
    },
}
