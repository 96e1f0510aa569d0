//! The classes of characters that descriptions name, each with one number in its grammar.
//!
//! For example, the inside of a comment in C is one: every character but `*` leads back.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::fast::FixedState;
use fsm_index::ClassId;

/// Inclusive ranges of code points, ascending.
pub(crate) type Ranges = Box<[(u32, u32)]>;

/// Classes of one grammar that have a number. More are not named, because each costs every
/// vocabulary a list of its tokens.
const MAX_CLASSES: usize = 256;

/// The classes that descriptions name, each with one number.
#[derive(Debug)]
pub(crate) struct Classes {
    all: Box<[OnceLock<Ranges>]>,
    ids: Mutex<HashMap<Ranges, u32, FixedState>>,
}

impl Default for Classes {
    fn default() -> Self {
        Classes {
            all: (0..MAX_CLASSES).map(|_| OnceLock::new()).collect(),
            ids: Mutex::default(),
        }
    }
}

impl Classes {
    /// Returns the ranges of a class; none for one that is not known.
    pub(crate) fn get(&self, class: ClassId) -> &[(u32, u32)] {
        let known = self.all.get(class.0 as usize).and_then(OnceLock::get);
        known.map_or(&[], |ranges| ranges)
    }

    /// Returns the number of a class, a new one where it has none; `None` where there are too many.
    pub(crate) fn id(&self, ranges: Ranges) -> Option<ClassId> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = ids.get(&ranges) {
            return Some(ClassId(id));
        }
        let id = ids.len();
        self.all.get(id)?.get_or_init(|| ranges.clone());
        ids.insert(ranges, id as u32);
        Some(ClassId(id as u32))
    }
}
