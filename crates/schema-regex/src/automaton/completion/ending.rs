//! Shortest completions, a piece at a time: for who asks for the ends of many places.
//!
//! For example, `{"a":"x` is finished by the pieces `"` and `,"b":`, `""` and `}` where a second string `b` is required.

use fsm_index::{Cursor, Ending, Nearer};

use crate::automaton::SchemaAutomaton;
use crate::automaton::run::scratch::{
    Config, Gap, MAX_COMPARED, MAX_SEARCHED, Noted, Scratch, Top, is_kept,
};
use crate::automaton::run::string_bytes::Partial;

impl Ending<Scratch> for SchemaAutomaton {
    fn nearer(&self, cursor: Cursor, x: &mut Scratch, out: &mut Vec<u8>) -> Nearer {
        if cursor.is_dead() {
            return Nearer::Unknown;
        }
        let config = *x.configs.get(cursor.0);
        if self.has_ended(&config, x) {
            return Nearer::End;
        }
        // Where items must differ, a piece may lead to where none of its ways goes on.
        if is_kept(config.item) {
            return Nearer::Unknown;
        }
        (x.may_compare, x.may_search, x.may_write) = (MAX_COMPARED, MAX_SEARCHED, usize::MAX);
        let before = out.len();
        match self.finish_one(config, x, out) {
            Some(next) => Nearer::To(Cursor(x.configs.add(next))),
            None => {
                out.truncate(before);
                Nearer::Unknown
            }
        }
    }

    /// The way from before a name into one, or behind it, begins a member; that from behind the
    /// bracket or the comma of an array to a value begins an item.
    fn begun(&self, from: Cursor, to: Cursor, x: &mut Scratch) -> u32 {
        if from.is_dead() || to.is_dead() {
            return 0;
        }
        let (from, to) = (*x.configs.get(from.0), *x.configs.get(to.0));
        u32::from(self.begins(&from, &to, x))
    }

    fn is_in_text(&self, cursor: Cursor, x: &mut Scratch) -> bool {
        if cursor.is_dead() {
            return false;
        }
        match x.configs.get(cursor.0).top {
            Top::String { node, text, .. } => {
                let machine = self.node(node).string.as_ref();
                text.partial == Partial::None && machine.is_some_and(|m| m.free.is_some())
            }
            _ => false,
        }
    }
}

impl SchemaAutomaton {
    fn begins(&self, from: &Config, to: &Config, x: &Scratch) -> bool {
        let in_array =
            |stack: u32| stack != 0 && !x.peek(Noted::beside_masks(stack)).frame.is_object;
        let to_name = matches!(
            to.top,
            Top::Key(_)
                | Top::Gap {
                    gap: Gap::Colon,
                    ..
                }
        );
        match from.top {
            Top::Gap { gap, .. } if gap.is_before_a_name() => to_name,
            // A piece may hold the end of a number and the name behind it.
            Top::Number { .. } if to_name => true,
            Top::Gap {
                gap: Gap::ArrayStart,
                ..
            } => {
                let still_before = matches!(
                    to.top,
                    Top::Gap {
                        gap: Gap::ArrayStart,
                        ..
                    }
                );
                let is_closed = x.depth(to.stack) < x.depth(from.stack);
                !still_before && !is_closed
            }
            Top::Gap {
                gap: Gap::AfterItem,
                ..
            }
            | Top::Number { .. } => matches!(to.top, Top::Value { .. }) && in_array(to.stack),
            _ => false,
        }
    }
}
