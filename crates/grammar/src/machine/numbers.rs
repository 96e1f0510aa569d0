//! Numbers of places in lexemes, the same in all scratches of a grammar.
//!
//! For example, the place behind `"` of a string is a list of states of the lexer, and rows that
//! masks are made of name it by one number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::FixedState;

/// Places that have a number at a time. More would take some megabytes, because a place is a list;
/// they are forgotten then and numbered anew.
const MAX_NUMBERS: usize = 1 << 16;

/// Numbers of places.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: Mutex<HashMap<Box<[u32]>, u32, FixedState>>,
    /// The last number that was given, in others that have none in common with these, too.
    last: Arc<AtomicU32>,
}

impl Numbers {
    /// Returns other ones, which have no number in common with these.
    pub(super) fn others(&self) -> Numbers {
        Numbers {
            known: Mutex::default(),
            last: self.last.clone(),
        }
    }

    /// Returns the number of a place. One that was forgotten is never given again.
    pub(crate) fn number(&self, place: Box<[u32]>) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = known.get(&place) {
            return number;
        }
        if known.len() >= MAX_NUMBERS {
            known.clear();
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        known.insert(place, number);
        number
    }
}
