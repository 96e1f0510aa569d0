//! Texts that may not occur, found as they are spelt.
//!
//! The automaton of Aho and Corasick ("Efficient string matching: an aid to
//! bibliographic search", 1975) over bytes, with its failures filled in. A
//! state is the longest end of the text that is the beginning of a marker.

use std::collections::VecDeque;

/// Between two markers: no end of the text begins one.
pub(super) const ROOT: u16 = 0;

/// What stands in the table where a marker is complete.
const COMPLETE: u16 = u16::MAX;

/// Most bytes of all markers of one place together.
pub(super) const MAX_MARKER_BYTES: usize = 16_384;

/// Markers to look out for.
#[derive(Clone, Debug)]
pub(super) struct Markers {
    classes: Box<[u8; 256]>,
    width: usize,
    next: Box<[u16]>,
    /// By state, the bytes that complete a marker.
    completing: Box<[Box<[u8]>]>,
    firsts: Box<[u8]>,
}

impl Markers {
    /// The automaton of these markers, empty ones left out; `None` if they
    /// have more than [`MAX_MARKER_BYTES`] bytes. O(bytes of the markers x distinct bytes).
    pub(super) fn new<'a>(markers: impl IntoIterator<Item = &'a str>) -> Option<Markers> {
        let markers: Vec<&[u8]> = markers
            .into_iter()
            .map(str::as_bytes)
            .filter(|marker| !marker.is_empty())
            .collect();
        if markers.iter().map(|marker| marker.len()).sum::<usize>() > MAX_MARKER_BYTES {
            return None;
        }
        let mut classes = Box::new([0u8; 256]);
        let mut width = 1usize;
        for &byte in markers.iter().copied().flatten() {
            let class = &mut classes[usize::from(byte)];
            // All 256 bytes would need one class too many, but some bytes occur
            // in no UTF-8.
            if *class == 0 {
                *class = width as u8;
                width += 1;
            }
        }
        // The trie first: 0 in a cell means that there is no child.
        let mut next: Vec<u16> = vec![0; width];
        let mut ends = vec![false];
        for marker in &markers {
            let mut at = 0;
            for byte in *marker {
                let cell = at * width + usize::from(classes[usize::from(*byte)]);
                if next[cell] == 0 {
                    next[cell] = ends.len() as u16;
                    ends.push(false);
                    next.resize(next.len() + width, 0);
                }
                at = usize::from(next[cell]);
            }
            ends[at] = true;
        }
        let mut fail = vec![0usize; ends.len()];
        let mut open: VecDeque<usize> = VecDeque::new();
        let children = next.iter().take(width).filter(|child| **child != 0);
        open.extend(children.map(|child| usize::from(*child)));
        while let Some(state) = open.pop_front() {
            ends[state] |= ends[fail[state]];
            for class in 0..width {
                let child = usize::from(next[state * width + class]);
                let other = next[fail[state] * width + class];
                if child == 0 {
                    next[state * width + class] = other;
                } else {
                    fail[child] = usize::from(other);
                    open.push_back(child);
                }
            }
        }
        for cell in &mut next {
            if ends[usize::from(*cell)] {
                *cell = COMPLETE;
            }
        }
        let completing = next
            .chunks_exact(width)
            .map(|row| {
                let completes =
                    |byte: &u8| row[usize::from(classes[usize::from(*byte)])] == COMPLETE;
                (0..=255u8).filter(completes).collect()
            })
            .collect();
        let mut firsts: Vec<u8> = markers.iter().filter_map(|m| m.first().copied()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Some(Markers {
            classes,
            width,
            next: next.into(),
            completing,
            firsts: firsts.into(),
        })
    }

    /// The state after a byte; `None` if it completes a marker.
    pub(super) fn step(&self, state: u16, byte: u8) -> Option<u16> {
        let class = usize::from(self.classes[usize::from(byte)]);
        let next = self.next[usize::from(state) * self.width + class];
        (next != COMPLETE).then_some(next)
    }

    /// The bytes that would complete a marker.
    pub(super) fn completing(&self, state: u16) -> &[u8] {
        &self.completing[usize::from(state)]
    }

    /// The bytes with which markers end, ascending.
    pub(super) fn lasts(&self) -> Vec<u8> {
        let mut lasts: Vec<u8> = self.completing.iter().flatten().copied().collect();
        lasts.sort_unstable();
        lasts.dedup();
        lasts
    }

    /// The bytes with which markers begin, ascending.
    pub(super) fn firsts(&self) -> &[u8] {
        &self.firsts
    }
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
