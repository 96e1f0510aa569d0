//! Special tokens as symbols of an automaton. For example, `<|call|>` of a model's tokenizer may be
//! a symbol that ends a tool call.

use crate::{ByteSet, Cursor, SpecialId};

/// Reads special tokens as symbols of their own, never by the bytes of their names: the part
/// of a [`ByteAutomaton`](crate::ByteAutomaton) for chat formats that mark structure with such tokens. `S` and `X` are
/// the automaton's [`State`](crate::ByteAutomaton::State) and [`Scratch`](crate::ByteAutomaton::Scratch).
///
/// ```
/// use fsm_index::{SpecialId, SpecialTokens, SpecialNames};
///
/// /// Reads the marker once.
/// struct Once([Box<str>; 1]);
///
/// impl SpecialTokens<bool, ()> for Once {
///     fn symbols(&self) -> SpecialNames<'_> {
///         SpecialNames {
///             names: &self.0,
///             heads: None,
///         }
///     }
///     fn allowed(&self, read: &bool, out: &mut Vec<SpecialId>) {
///         out.extend((!read).then_some(SpecialId(0)));
///     }
///     fn advance(&self, read: &mut bool, _: SpecialId) -> bool {
///         !std::mem::replace(read, true)
///     }
/// }
///
/// let once = Once(["<marker>".into()]);
/// let mut read = false;
/// assert!(once.advance(&mut read, SpecialId(0)) && !once.advance(&mut read, SpecialId(0)));
/// ```
pub trait SpecialTokens<S, X> {
    /// Returns their names: the same at every time.
    fn symbols(&self) -> SpecialNames<'_>;

    /// Appends those that may come at `state`.
    fn allowed(&self, state: &S, out: &mut Vec<SpecialId>);

    /// Commits one; `false`, and `state` unchanged, if it may not come.
    fn advance(&self, state: &mut S, special: SpecialId) -> bool;

    /// That with which a shortest way to acceptance begins, where
    /// [`ByteAutomaton::completion`](crate::ByteAutomaton::completion) appends nothing and the text may not end.
    fn completion(&self, _state: &S) -> Option<SpecialId> {
        None
    }

    /// As [`allowed`](Self::allowed), where many states allow the same: the number of their
    /// list then, and nothing is appended. States of one automaton with equal numbers allow
    /// the same special tokens, so that a guide asks for the list once. `cursor` is where the
    /// scratch has entered `state`.
    fn list(
        &self,
        state: &S,
        _cursor: Cursor,
        _scratch: &mut X,
        out: &mut Vec<SpecialId>,
    ) -> Option<u32> {
        self.allowed(state, out);
        None
    }
}

/// The special tokens that an automaton reads. See [`SpecialTokens::symbols`].
#[derive(Clone, Copy, Debug)]
pub struct SpecialNames<'a> {
    /// Their names in the vocabulary. A [`SpecialId`] is a place in this list.
    pub names: &'a [Box<str>],
    /// Bytes of which one may come wherever a special token may: where none may, none is
    /// asked for. `None` promises nothing.
    pub heads: Option<ByteSet>,
}
