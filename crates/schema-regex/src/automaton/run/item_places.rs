//! The places of items that were begun, and the items that are alike so far.
//!
//! For example, of the items `"ab"`, `"ac"` and `"b"` the first two are alike to one that begins
//! `"a`, and behind `"ab` the first alone.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::run::open_value::Open;
use crate::automaton::run::seen::Seen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Texts,
    Parts,
}

/// Places of items by their text so far, where in the text they begin, and, where that counts, the
/// items before them: a walk goes on from each in many ways.
#[derive(Debug, Default)]
pub(super) struct ItemPlaces {
    pub(super) known: FxHashMap<(u32, u32), Arc<Open>>,
    /// The items before those that are strings, or have one open, from inside of these on.
    pub(super) strings: FxHashMap<(u32, u32, u32), Alike>,
    /// The items that can become none before them: nor does what goes on from there.
    pub(super) apart: FxHashSet<(u32, u32, u32)>,
    memory: usize,
}

/// The items that begin like a string that was begun, or have a member that does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    pub(super) of: Of,
    pub(super) from: usize,
    pub(super) to: usize,
    /// So many bytes of their spelling are those of the string.
    pub(super) len: usize,
    /// Says whether the item may become any of them, whatever else is known of it.
    pub(super) decides: bool,
}

impl Alike {
    /// Returns those of all items that begin like this.
    pub(super) fn of(all: &Seen, of: Of, text: &str) -> Alike {
        let Range { start, end } = match of {
            Of::Texts => all.list.beginning_with(text),
            Of::Parts => all.parts_beginning_with(text),
        };
        Alike {
            of,
            from: start,
            to: end,
            len: text.len(),
            decides: of == Of::Texts,
        }
    }

    /// Returns the items that go on with a byte.
    pub(super) fn with(self, all: &Seen, byte: u8) -> Alike {
        let Alike { from, to, len, .. } = self;
        let next = |whole: &str| whole.as_bytes().get(len).copied();
        let partition = |below: &dyn Fn(&str) -> bool| match self.of {
            Of::Texts => all.list.partition(from..to, |text| below(text)),
            Of::Parts => all.partition_parts(from..to, below),
        };
        Alike {
            from: partition(&|whole| next(whole) < Some(byte)),
            to: partition(&|whole| next(whole) <= Some(byte)),
            len: len + 1,
            ..self
        }
    }

    /// Says whether the item may become one of them; `None` where it takes more to tell.
    pub(super) fn answer(self) -> Option<bool> {
        let is_some = self.from < self.to;
        (self.decides || !is_some).then_some(is_some)
    }
}

/// The most bytes that places are kept with, because one long text has many places.
const MAX_PLACES: usize = 1 << 22;

impl ItemPlaces {
    pub(super) fn add(&mut self, key: (u32, u32), place: &Arc<Open>) {
        if self.has_room(place.memory()) {
            self.known.insert(key, Arc::clone(place));
        }
    }

    pub(super) fn add_string(&mut self, key: (u32, u32, u32), alike: Alike) {
        if self.has_room(size_of_val(&key) + size_of::<Alike>()) {
            self.strings.insert(key, alike);
        }
    }

    pub(super) fn add_apart(&mut self, key: (u32, u32, u32)) {
        if self.has_room(size_of_val(&key)) {
            self.apart.insert(key);
        }
    }

    /// Tells whether so many bytes may be added; if not, all is forgotten.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.memory += bytes;
        let has_room = self.memory <= MAX_PLACES;
        if !has_room {
            self.known.clear();
            self.strings.clear();
            self.apart.clear();
            self.memory = 0;
        }
        has_room
    }
}
