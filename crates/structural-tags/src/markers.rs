//! Texts that are looked out for, found as they are spelt.
//!
//! The automaton of Aho and Corasick ("Efficient string matching: an aid to bibliographic
//! search", 1975), by the crate `aho-corasick`, as a table over classes of bytes: a state is
//! the longest end of the text that begins one of the texts. For example, of the marker `<a>`
//! there are the states ``, `<` and `<a`.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, PatternID};
use fsm_tables::{NONE, Table, Unlimited, explore};

use super::error::{Error, constraint_error};

/// Between two markers: no end of the text begins one, as the automaton begins there.
pub(super) const ROOT: u16 = 0;

/// Most bytes of all markers of one place together, so that states are numbers of 16 bits.
pub(super) const MAX_MARKER_BYTES: usize = 16_384;

/// The automaton of some texts, before it is a table.
pub(super) struct Search {
    nfa: NFA,
    start: StateID,
    /// The class of each byte; bytes in no text have one class.
    pub(super) classes: Box<[u8; 256]>,
    /// A byte of each class.
    bytes: Vec<u8>,
    /// The bytes with which texts begin, ascending.
    pub(super) firsts: Box<[u8]>,
}

impl Search {
    /// The automaton of these texts, of which none is empty; `None` if they have more than
    /// [`MAX_MARKER_BYTES`] bytes.
    pub(super) fn new(texts: &[&[u8]]) -> Option<Search> {
        if texts.iter().map(|text| text.len()).sum::<usize>() > MAX_MARKER_BYTES {
            return None;
        }
        let nfa = NFA::new(texts).ok()?;
        let sorted = |bytes: &mut dyn Iterator<Item = u8>| {
            let all: std::collections::BTreeSet<u8> = bytes.collect();
            all.into_iter().collect::<Vec<u8>>()
        };
        let mut bytes = sorted(&mut texts.iter().copied().flatten().copied());
        let others = bytes.len() as u8;
        let mut classes = Box::new([others; 256]);
        for (class, byte) in (0..).zip(&bytes) {
            classes[usize::from(*byte)] = class;
        }
        bytes.extend((0..=255).find(|byte| bytes.binary_search(byte).is_err()));
        Some(Search {
            start: nfa.start_state(Anchored::No).ok()?,
            classes,
            bytes,
            firsts: sorted(&mut texts.iter().map(|text| text[0])).into(),
            nfa,
        })
    }

    fn next(&self, state: StateID, byte: u8) -> StateID {
        self.nfa.next_state(Anchored::No, state, byte)
    }

    /// The texts that are complete at a state, the longest first, by their numbers and lengths.
    pub(super) fn complete(&self, state: StateID) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = match self.nfa.is_match(state) {
            true => self.nfa.match_len(state),
            false => 0,
        };
        let of = |id: PatternID| (id.as_usize(), self.nfa.pattern_len(id));
        (0..count).map(move |at| of(self.nfa.match_pattern(state, at)))
    }

    /// The table of the states that a text goes through, each with a label.
    pub(super) fn table<L>(
        &self,
        keeps: impl Fn(StateID) -> bool,
        label: impl Fn(StateID) -> L,
    ) -> Table<L> {
        let step = |state: &StateID, class: usize| {
            Some(self.next(*state, self.bytes[class])).filter(|to| keeps(*to))
        };
        let label = |state: &StateID| label(*state);
        match explore(self.bytes.len(), self.start, step, label, &mut Unlimited) {
            Ok(table) => table,
            Err(never) => match never {},
        }
    }
}

/// Markers to look out for.
#[derive(Clone, Debug)]
pub(super) struct Markers {
    classes: Box<[u8; 256]>,
    /// No state follows where a marker is complete. A label has the bytes that complete one.
    table: Table<Box<[u8]>>,
    firsts: Box<[u8]>,
}

impl Markers {
    /// The automaton of these markers, empty ones left out; `None` if they
    /// have more than [`MAX_MARKER_BYTES`] bytes. O(bytes of the markers x distinct bytes).
    pub(super) fn new<'a>(markers: impl IntoIterator<Item = &'a str>) -> Option<Markers> {
        let markers = markers.into_iter().map(str::as_bytes);
        let markers: Vec<&[u8]> = markers.filter(|marker| !marker.is_empty()).collect();
        let search = Search::new(&markers)?;
        let is_complete = |state| search.nfa.is_match(state);
        let completing = |state| {
            let completes = |byte: &u8| is_complete(search.next(state, *byte));
            search.bytes.iter().copied().filter(completes).collect()
        };
        Some(Markers {
            table: search.table(|state| !is_complete(state), completing),
            classes: search.classes,
            firsts: search.firsts,
        })
    }

    /// The state after a byte; `None` if it completes a marker.
    pub(super) fn step(&self, state: u16, byte: u8) -> Option<u16> {
        let class = self.classes[usize::from(byte)];
        let next = self.table.next(state.into(), class.into());
        (next != NONE).then_some(next as u16)
    }

    /// The bytes that would complete a marker.
    pub(super) fn completing(&self, state: u16) -> &[u8] {
        &self.table.labels()[usize::from(state)]
    }

    /// The bytes with which markers end, ascending.
    pub(super) fn lasts(&self) -> Vec<u8> {
        let mut lasts: Vec<u8> = self.table.labels().iter().flatten().copied().collect();
        lasts.sort_unstable();
        lasts.dedup();
        lasts
    }

    /// The bytes with which markers begin, ascending.
    pub(super) fn firsts(&self) -> &[u8] {
        &self.firsts
    }
}

/// Returns the automaton of some markers.
///
/// # Errors
///
/// They have more than [`MAX_MARKER_BYTES`] bytes.
pub(super) fn watch<'m>(markers: impl IntoIterator<Item = &'m str>) -> Result<Markers, Error> {
    Markers::new(markers).ok_or_else(too_many_markers)
}

#[cold]
pub(super) fn too_many_markers() -> Error {
    constraint_error(format!(
        "the markers of one place have more than {MAX_MARKER_BYTES} bytes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A text is refused at the byte that first completes a marker.
        #[test]
        fn as_a_search_says(
            markers in prop::collection::vec("[abé]{1,4}", 0..5),
            text in "[abcé]{0,20}",
        ) {
            let automaton = Markers::new(markers.iter().map(String::as_str)).unwrap();
            let bytes = text.as_bytes();
            let found = (1..=bytes.len())
                .find(|end| markers.iter().any(|m| bytes[..*end].ends_with(m.as_bytes())));
            let mut state = ROOT;
            let mut refused = None;
            for (at, byte) in bytes.iter().enumerate() {
                match automaton.step(state, *byte) {
                    Some(next) => {
                        prop_assert!(!automaton.completing(state).contains(byte));
                        state = next;
                    }
                    None => {
                        prop_assert!(automaton.completing(state).contains(byte));
                        refused = Some(at + 1);
                        break;
                    }
                }
            }
            prop_assert_eq!(refused, found);
        }
    }
}
