//! Text that may come whatever it is, where no class of a state has to be looked up.
//!
//! For example, `{"type": "string", "maxLength": 9}` admits nine characters of any kind, and a
//! number of any length any digits.

use fsm_index::{Behind, FreeText};
use schema_normal::language::char_dfa::FREE_STEPS;
use schema_normal::language::numbers::dfa::NumberDfa;

use crate::automaton::machine::loop_classes::{ANY_TEXT, DIGITS};

/// The least run of digits that is free, because few tokens are made of fewer.
const LEAST_DIGITS: usize = 2;

/// Any text, of so many characters in all, where there are `length` already.
pub(super) fn text_up_to(most: u64, length: u32) -> Option<FreeText> {
    let left = most.saturating_sub(u64::from(length));
    (left > 0).then_some(FreeText {
        class: ANY_TEXT,
        chars: usize::try_from(left).unwrap_or(usize::MAX),
        behind: Behind::AnyText,
        ends: false,
    })
}

/// The digits that may come behind a state of numbers, whichever they are.
pub(super) fn free_digits(dfa: &NumberDfa, state: u32) -> Option<FreeText> {
    let chars = dfa.run_of_digits(state, FREE_STEPS);
    (chars >= LEAST_DIGITS).then_some(FreeText {
        class: DIGITS,
        chars,
        behind: Behind::ItsClass,
        ends: false,
    })
}
