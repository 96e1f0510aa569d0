//! Numbers of places in lexemes, the same in all scratches of a grammar.
//!
//! For example, the place behind `"` of a string is a list of states of the lexer, and rows that
//! masks are made of name it by one number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;

/// Places that have a number at a time. More would take some megabytes, because a place is a list;
/// they are forgotten then and numbered anew.
const MAX_NUMBERS: usize = 1 << 16;

/// Numbers of places.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    known: HashMap<Box<[u32]>, u32, FixedState>,
    last: u32,
}

impl Numbers {
    /// Returns the number of a place. One that was forgotten is never given again.
    pub(crate) fn number(&self, place: Box<[u32]>) -> u32 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Numbered { known, last } = &mut *all;
        if let Some(&number) = known.get(&place) {
            return number;
        }
        if known.len() >= MAX_NUMBERS {
            known.clear();
        }
        *last = last.wrapping_add(1);
        known.insert(place, *last);
        *last
    }
}
