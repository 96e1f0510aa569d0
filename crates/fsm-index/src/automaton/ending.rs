//! The way to the end of a text, piece by piece: for example, `"` and then `}` behind `{"a": "x`.

use crate::Cursor;

/// Finds the shortest completions of an automaton from its cursors, a piece at a time: the part of a
/// [`ByteAutomaton`](crate::ByteAutomaton) that lets a guide with a token budget judge many places for little,
/// because the ways to the end from most of them soon meet. `X` is the automaton's
/// [`Scratch`](crate::ByteAutomaton::Scratch).
///
/// For example, behind `{"a": "x` of an object with two required strings the first piece is `"`, the
/// next one `,"b":`, and the last one `""}`; behind `{"a": "y` all but the first are the same.
///
/// An automaton without this part is asked for a whole
/// [`completion`](crate::ByteAutomaton::completion) of every place.
pub trait Ending<X> {
    /// Appends the next bytes of a shortest completion of `cursor`, and says where they lead. The
    /// cursor behind a piece may be one that reads fewer texts than stepping through its bytes
    /// leads to, if a text that it reads is accepted there, too. Pieces lead to the end, never
    /// round in a circle.
    fn nearer(&self, cursor: Cursor, scratch: &mut X, out: &mut Vec<u8>) -> Nearer;

    /// Returns a cursor that reads fewer texts than `cursor`, of which the way to the end may be
    /// shorter: where a value can still be any of several things, and one of them is what the
    /// texts around it lack. Both ways are followed from where a token leads.
    fn narrower(&self, _cursor: Cursor, _scratch: &mut X) -> Option<Cursor> {
        None
    }

    /// Returns how many parts that a text could do without (members, items) the way from one
    /// cursor to the other begins: the way is one byte of a text or one piece of
    /// [`nearer`](Self::nearer). An automaton whose texts have no parts says 0.
    fn begun(&self, _from: Cursor, _to: Cursor, _scratch: &mut X) -> u32 {
        0
    }

    /// Returns how a text stands at a cursor.
    fn standing(&self, _cursor: Cursor, _scratch: &mut X) -> Standing {
        Standing::default()
    }

    /// Returns a bound on how far the end of a text can be. Asked once for an index. `cost` is the most tokens
    /// that a text, or any rest of it, takes.
    fn growth(&self, _cost: &dyn Fn(&[u8]) -> usize) -> Growth {
        Growth::Unknown
    }
}

/// The levels that a text has opened, and the text that it is in. See [`Ending::standing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The number of levels that are open, where [`Growth::ByLevel`] counts them.
    pub levels: usize,
    /// True between two characters of free text, such as the inside of a string that nothing but
    /// its length ends.
    pub is_in_text: bool,
}

/// A step of [`Ending::nearer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearer {
    /// The text may end here; nothing was appended.
    End,
    /// The appended bytes lead to this cursor.
    To(Cursor),
    /// As [`Nearer::To`], where behind some texts that lead to the cursor before it something else
    /// with as many bytes has to stand: a name, say, that none of them has used.
    Like(Cursor),
    /// A completion of the whole text has to be asked for.
    Unknown,
}

/// A bound on the tokens of completions. See [`Ending::growth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// No completion takes more tokens.
    AtMost(usize),
    /// No completion takes more than `flat` tokens and `level` for each level that is open: for example, the
    /// brackets that are open in JSON. A level is opened by one of the bytes `openers`.
    ByLevel {
        /// The tokens of what is open at the top.
        flat: usize,
        /// The tokens that close a level.
        level: usize,
        /// The bytes that open one.
        openers: &'static [u8],
    },
    /// Nothing is known: every token is judged by where it leads.
    Unknown,
}
