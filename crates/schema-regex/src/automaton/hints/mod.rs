//! The hints that make masks fast: descriptions, next bytes, readers of text.
//!
//! For example, inside of a free string a token of plain letters may come: no walk reads it.

mod describe;
mod free_texts;
mod next_bytes;
mod text_reader;
mod without_characters;

use fsm_index::Cursor;

use crate::automaton::machine::Machine;
use crate::automaton::{SchemaAutomaton, Scratch};

/// Descriptions of a cursor that make walks faster.
pub(super) struct Hints<'m, 'x> {
    machine: &'m Machine,
    x: &'x mut Scratch,
}

impl SchemaAutomaton {
    pub(super) fn hints<'m, 'x>(&'m self, x: &'x mut Scratch) -> Hints<'m, 'x> {
        Hints {
            machine: &self.machine,
            x,
        }
    }

    /// A cursor of the walk that `scratch` is in without the names and words that only single
    /// texts reach: nearly the same may come there. For an automaton that has this one inside
    /// and spells its texts in another way.
    pub fn resembled(&self, cursor: Cursor, scratch: &mut Scratch) -> Option<Cursor> {
        self.hints(scratch).resembled(cursor)
    }

    /// As [`can_do_without`](fsm_index::PlainText::can_do_without), where no escape may
    /// stand for a character: for who spells strings as they are.
    pub fn can_do_without_unescaped(&self, chars: &[(u32, u32)]) -> bool {
        without_characters::is_fine(&self.machine, chars, chars)
    }
}
