//! Special tokens as symbols of an automaton. For example, `<|call|>` of a model's tokenizer may be
//! a symbol that ends a tool call.

use crate::{ByteSet, Cursor, SpecialId};

/// Reads special tokens as symbols of their own, never by the bytes of their names: the part
/// of a [`ByteAutomaton`](crate::ByteAutomaton) for chat formats that mark structure with such tokens. `S` and `X` are
/// the automaton's [`State`](crate::ByteAutomaton::State) and [`Scratch`](crate::ByteAutomaton::Scratch).
///
/// ```
/// use fsm_index::{Cursor, SpecialId, SpecialTokens};
///
/// /// Reads the marker once.
/// struct Once;
///
/// impl SpecialTokens<bool, ()> for Once {
///     fn allowed(
///         &self,
///         read: &bool,
///         _: Option<(Cursor, &mut ())>,
///         out: &mut Vec<SpecialId>,
///     ) -> Option<u32> {
///         out.extend((!read).then_some(SpecialId(0)));
///         None
///     }
///     fn advance(&self, read: &mut bool, _: SpecialId) -> bool {
///         !std::mem::replace(read, true)
///     }
/// }
///
/// let mut read = false;
/// assert!(Once.advance(&mut read, SpecialId(0)) && !Once.advance(&mut read, SpecialId(0)));
/// ```
pub trait SpecialTokens<S, X> {
    /// Appends those that may come at `state`, and returns `None`.
    ///
    /// An automaton of which many states allow the same may say the number of their list instead, and
    /// append nothing, if a walk has `entered` the state: states with equal numbers allow the same
    /// special tokens, so that a guide asks for the list once.
    fn allowed(
        &self,
        state: &S,
        entered: Option<(Cursor, &mut X)>,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32>;

    /// Commits one; `false`, and `state` unchanged, if it may not come.
    fn advance(&self, state: &mut S, special: SpecialId) -> bool;
}

/// The end of what [`ByteAutomaton::completion`](crate::ByteAutomaton::completion) appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// The text may end behind it.
    Whole,
    /// The shortest way goes on with a special token.
    Before(SpecialId),
}

/// The special tokens that an automaton reads. See [`SpecialTokens`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecialNames<'a> {
    /// Their names in the vocabulary. A [`SpecialId`] is a place in this list.
    pub names: &'a [Box<str>],
    /// Bytes of which one may come wherever a special token may: where none may, none is
    /// asked for. `None` promises nothing.
    pub heads: Option<ByteSet>,
}
