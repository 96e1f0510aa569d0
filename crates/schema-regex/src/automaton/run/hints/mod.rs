//! The hints that make masks fast: descriptions, next bytes, readers of text.
//!
//! For example, inside of a free string a token of plain letters may come: no walk reads it.

mod describe;
mod free_texts;
mod next_bytes;
mod text_reader;
mod without_characters;

use fsm_index::{ByteSet, Cursor, Description, Horizon, Spot};

use crate::automaton::machine::Machine;
use crate::automaton::{SchemaAutomaton, Scratch};

/// Descriptions of a cursor that make walks faster.
struct Hints<'m, 'x> {
    machine: &'m Machine,
    x: &'x mut Scratch,
}

fn hints<'m, 'x>(automaton: &'m SchemaAutomaton, x: &'x mut Scratch) -> Hints<'m, 'x> {
    let machine = &automaton.machine;
    Hints { machine, x }
}

/// Returns what text may come at a cursor, which other one is nearly the same, and where they differ.
pub(in crate::automaton) fn describe(
    automaton: &SchemaAutomaton,
    cursor: Cursor,
    horizon: Horizon<'_>,
    x: &mut Scratch,
) -> Description {
    hints(automaton, x).describe(cursor, horizon)
}

/// Returns all bytes that do not lead to nothing, and perhaps others.
pub(in crate::automaton) fn next_bytes(
    automaton: &SchemaAutomaton,
    at: Spot,
    x: &mut Scratch,
) -> ByteSet {
    match at {
        Spot::Cursor(cursor) => hints(automaton, x).next_bytes(cursor),
        Spot::Top(cursor) => {
            let bytes = x.on_top(|x| hints(automaton, x).next_bytes(cursor));
            bytes.unwrap_or(ByteSet::ALL)
        }
        Spot::Lexeme(_) => ByteSet::ALL,
    }
}

impl SchemaAutomaton {
    /// A cursor of the walk that `scratch` is in without the names and words that only single
    /// texts reach: nearly the same may come there. For an automaton that has this one inside
    /// and spells its texts in another way.
    pub fn resembled(&self, cursor: Cursor, scratch: &mut Scratch) -> Option<Cursor> {
        hints(self, scratch).resembled(cursor)
    }

    /// As [`can_do_without`](fsm_index::PlainText::can_do_without), where no escape may
    /// stand for a character: for who spells strings as they are.
    pub fn can_do_without_unescaped(&self, chars: &[(u32, u32)]) -> bool {
        without_characters::is_fine(&self.machine, chars, chars)
    }
}
