//! The parts of an automaton, and what holds where it has none. For example, an automaton without a
//! [`Stack`](crate::Stack) has a depth of 1.

use crate::SpecialId;

use super::{ByteAutomaton, ClassId, Cursor, EachException, FreeText, Spot, TextAt, TextReader};
use crate::Horizon;

/// The engine's questions to an automaton's parts.
pub(crate) trait AskParts: ByteAutomaton {
    /// Appends the special tokens that may come at a state.
    fn allowed_specials(&self, state: &Self::State, out: &mut Vec<SpecialId>) {
        if let Some(specials) = self.parts().specials {
            specials.allowed(state, None, out);
        }
    }

    /// Commits a special token, if it may come.
    fn advance_special(&self, state: &mut Self::State, special: SpecialId) -> bool {
        let specials = self.parts().specials;
        specials.is_some_and(|specials| specials.advance(state, special))
    }

    fn exceptions(&self, state: &Self::State, each: &mut EachException<'_>) {
        if let Some(overlay) = self.parts().overlay {
            overlay.exceptions(state, each);
        }
    }

    fn text_class(&self, class: ClassId) -> &[(u32, u32)] {
        self.parts()
            .plain_text
            .map_or(&[], |text| text.class(class))
    }

    fn text_reader(
        &self,
        cursor: Cursor,
        horizon: Horizon<'_>,
        scratch: &mut Self::Scratch,
    ) -> Option<TextReader<'_>> {
        self.parts().plain_text?.reader(cursor, horizon, scratch)
    }

    fn text_cursor(&self, cursor: Cursor, at: TextAt, scratch: &mut Self::Scratch) -> Cursor {
        self.parts()
            .plain_text
            .map_or(cursor, |text| text.cursor_at(cursor, at, scratch))
    }

    fn free_text(&self, at: Spot, scratch: &mut Self::Scratch) -> Option<FreeText> {
        self.parts().plain_text?.free_text(at, scratch)
    }

    fn can_do_without(&self, chars: &[(u32, u32)]) -> bool {
        self.parts()
            .plain_text
            .is_some_and(|text| text.can_do_without(chars))
    }

    fn depth_used(&self, scratch: &Self::Scratch) -> usize {
        self.parts()
            .stack
            .map_or(1, |stack| stack.depth_used(scratch))
    }

    fn levels(&self, cursor: Cursor, scratch: &mut Self::Scratch) -> usize {
        self.parts()
            .ending
            .map_or(0, |ending| ending.standing(cursor, scratch).levels)
    }

    #[inline]
    fn step_on_top(&self, cursor: Cursor, byte: u8, scratch: &mut Self::Scratch) -> Option<Cursor> {
        match self.parts().stack {
            Some(stack) => stack.step_on_top(cursor, byte, scratch),
            None => Some(self.step(cursor, byte, scratch)),
        }
    }
}

impl<A: ByteAutomaton> AskParts for A {}
