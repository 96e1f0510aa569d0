//! The levels of an automaton's stack that a walk looks at. For example, a walk inside of a string
//! looks at one level, and one that reads `"}` may look at two.

use crate::Cursor;

/// The stack of an automaton that nests: the part of a
/// [`ByteAutomaton`](crate::ByteAutomaton) whose keys tell a few levels of it, the topmost
/// first. `X` is the automaton's [`Scratch`](crate::ByteAutomaton::Scratch).
///
/// A mask then depends on no more levels than a walk has looked at. Objects within objects
/// share the masks that the innermost one tells alone.
pub trait Stack<X> {
    /// Returns the number of levels that the walk since the last
    /// [`enter`](crate::ByteAutomaton::enter) has looked at, at most.
    fn depth_used(&self, scratch: &X) -> usize;

    /// As [`step`](crate::ByteAutomaton::step), in a walk that began where the topmost level
    /// [tells](crate::Description::Top); `None` if more than the topmost level of
    /// where it began must be looked at. [`depth_used`](Self::depth_used) does
    /// not change.
    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut X) -> Option<Cursor>;
}
