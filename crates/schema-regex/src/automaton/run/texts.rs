//! The texts that a walk keeps, of items that are open and of names, each as the one before it and
//! a value behind that. For example, `ab` is the text `a` and a `b`, and the text before it is `a`.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::automaton::run::config::is_kept;

/// Texts by number: each is another one and a value behind it.
#[derive(Debug)]
pub(super) struct Texts {
    /// The text before, the last value, and the length.
    nodes: Vec<(u32, u32, u32)>,
    ids: FxHashMap<(u32, u32), u32>,
}

impl Texts {
    /// With [`NO_TEXT`](super::config::NO_TEXT) and [`EMPTY_TEXT`](super::config::EMPTY_TEXT).
    pub(super) fn new() -> Texts {
        Texts {
            nodes: vec![(0, 0, 0), (0, 0, 0)],
            ids: FxHashMap::default(),
        }
    }

    /// Returns the number of texts there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of a text and a value behind it.
    pub(super) fn add(&mut self, text: u32, value: u32) -> u32 {
        let fresh = self.nodes.len() as u32;
        match self.ids.entry((text, value)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let length = self.nodes[text as usize].2 + 1;
                self.nodes.push((text, value, length));
                *place.insert(fresh)
            }
        }
    }

    /// As [`Texts::add`] without looking whether the text is there already: for texts
    /// that no cursor is told apart by.
    pub(super) fn append(&mut self, text: u32, value: u32) -> u32 {
        let length = self.nodes[text as usize].2 + 1;
        self.nodes.push((text, value, length));
        self.nodes.len() as u32 - 1
    }

    /// Returns the number of values of a text.
    pub(super) fn length(&self, text: u32) -> u32 {
        self.nodes[text as usize].2
    }

    /// Returns the text without its last value.
    pub(super) fn before(&self, text: u32) -> u32 {
        self.nodes[text as usize].0
    }

    /// The last value of a text that is kept and not empty, as a byte.
    pub(super) fn last_byte(&self, text: u32) -> Option<u8> {
        let (_, value, length) = *self.nodes.get(text as usize)?;
        (is_kept(text) && length > 0).then_some(value as u8)
    }

    /// The values of a text from `start` on.
    pub(super) fn values(&self, text: u32, start: u32) -> Vec<u32> {
        let length = self.nodes[text as usize].2.saturating_sub(start);
        let mut out = vec![0; length as usize];
        let mut at = text;
        for place in out.iter_mut().rev() {
            (at, *place, _) = self.nodes[at as usize];
        }
        out
    }

    /// The same of a text whose values are bytes: an item's.
    pub(super) fn bytes(&self, text: u32, start: u32) -> Vec<u8> {
        let values = self.values(text, start).into_iter();
        values.map(|byte| byte as u8).collect()
    }
}
