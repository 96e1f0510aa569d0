//! Free text: any characters, but for some markers.
//!
//! For example, with the marker `<call>` the text `a <b` is free, and `a <call>` ends it.

use super::markers::{Markers, ROOT};

/// Text in which no marker occurs, by whole characters.
#[derive(Clone, Debug)]
pub(super) struct Free {
    pub(super) markers: Markers,
    /// Most characters.
    pub(super) limit: Option<u32>,
}

/// A place in free text, in one number: the markers' state, and what is
/// left of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) marker: u16,
    /// See [`utf8`].
    pub(super) inside: u8,
}

impl Place {
    pub(super) const START: Place = Place {
        marker: ROOT,
        inside: 0,
    };

    pub(super) fn pack(self) -> u32 {
        u32::from(self.marker) << 8 | u32::from(self.inside)
    }

    /// Tells whether it is between two characters.
    pub(super) fn is_between(self) -> bool {
        self.inside == 0
    }

    pub(super) fn unpack(packed: u32) -> Place {
        Place {
            marker: (packed >> 8) as u16,
            inside: packed as u8,
        }
    }
}

impl Free {
    /// The place and the number of characters after a byte; `None` if it
    /// completes a marker, is no UTF-8, or begins a character too many.
    pub(super) fn step(&self, place: Place, count: u32, byte: u8) -> Option<(Place, u32)> {
        let next = self.place(place, byte)?;
        if place.inside != 0 {
            return Some((next, count));
        }
        match self.limit {
            None => Some((next, 0)),
            Some(limit) if count < limit => Some((next, count + 1)),
            Some(_) => None,
        }
    }

    fn place(&self, place: Place, byte: u8) -> Option<Place> {
        let inside = utf8(place.inside, byte)?;
        let marker = self.markers.step(place.marker, byte)?;
        let next = Place { marker, inside };
        // Inside a character, its end may be what completes a marker.
        (inside == 0 || self.rest(next).is_some()).then_some(next)
    }

    /// Bytes that end the character that `place` is inside of. Three bytes
    /// deep at most.
    pub(super) fn rest(&self, place: Place) -> Option<Vec<u8>> {
        if place.inside == 0 {
            return Some(Vec::new());
        }
        (0x80..=0xBF).find_map(|byte| {
            let next = Place {
                inside: utf8(place.inside, byte)?,
                marker: self.markers.step(place.marker, byte)?,
            };
            let mut rest = self.rest(next)?;
            rest.insert(0, byte);
            Some(rest)
        })
    }

    /// Tells whether a text may end there: not inside of a character.
    pub(super) fn may_end(place: Place) -> bool {
        place.inside == 0
    }
}

/// Returns what is left of a character: 0 nothing; 1, 2 and 5 one, two and three bytes;
/// 3, 4, 6 and 7 the same behind a byte that bounds the next (the table of
/// well-formed sequences, The Unicode Standard, section 3.9, D92).
pub(super) fn utf8(inside: u8, byte: u8) -> Option<u8> {
    Some(match (inside, byte) {
        (0, 0x00..=0x7F) => 0,
        (0, 0xC2..=0xDF) => 1,
        (0, 0xE0) => 3,
        (0, 0xED) => 4,
        (0, 0xE1..=0xEF) => 2,
        (0, 0xF0) => 6,
        (0, 0xF1..=0xF3) => 5,
        (0, 0xF4) => 7,
        (1, 0x80..=0xBF) => 0,
        (2, 0x80..=0xBF) | (3, 0xA0..=0xBF) | (4, 0x80..=0x9F) => 1,
        (5, 0x80..=0xBF) | (6, 0x90..=0xBF) | (7, 0x80..=0x8F) => 2,
        _ => return None,
    })
}

/// Every character: all code points but surrogates, because UTF-8 has none of these (RFC 3629).
const ALL: &[(u32, u32)] = &[(0, 0xD7FF), (0xE000, 0x10_FFFF)];

/// The characters of `ranges` whose spelling begins with none of `bytes`.
pub(super) fn without(ranges: &[(u32, u32)], bytes: &[u8]) -> Vec<(u32, u32)> {
    let mut kept = ranges.to_vec();
    for &byte in bytes {
        let (from, to) = led_by(byte);
        kept = kept
            .into_iter()
            .flat_map(|(a, b)| {
                let before = (a, b.min(from.wrapping_sub(1)));
                let after = (a.max(to + 1), b);
                let before = (from > a && before.0 <= before.1).then_some(before);
                let after = (after.0 <= after.1).then_some(after);
                match b < from || a > to {
                    true => [Some((a, b)), None],
                    false => [before, after],
                }
            })
            .flatten()
            .collect();
    }
    kept
}

/// All characters whose spelling begins with none of `bytes`.
pub(super) fn all_without(bytes: &[u8]) -> Vec<(u32, u32)> {
    without(ALL, bytes)
}

/// The characters, the first and the last, whose spelling begins with `byte`.
fn led_by(byte: u8) -> (u32, u32) {
    let lead = |bits: u32, shift: u32| {
        let from = (u32::from(byte) & bits) << shift;
        (from, from + (1 << shift) - 1)
    };
    match byte {
        0x00..=0x7F => (u32::from(byte), u32::from(byte)),
        0xC0..=0xDF => lead(0x1F, 6),
        0xE0..=0xEF => lead(0x0F, 12),
        0xF0..=0xF7 => lead(0x07, 18),
        // No character begins so.
        _ => (u32::MAX - 1, u32::MAX - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(ranges: &[(u32, u32)], c: char) -> bool {
        ranges
            .iter()
            .any(|(a, b)| (*a..=*b).contains(&u32::from(c)))
    }

    #[test]
    fn classes_leave_out_what_begins_a_marker() {
        let class = all_without("<◁é".as_bytes().get(..1).unwrap());
        assert!(!has(&class, '<') && has(&class, '◁') && has(&class, ';') && has(&class, '='));
        let lead = "◁".as_bytes()[0];
        let class = all_without(&[b'<', lead]);
        assert!(!has(&class, '◁') && !has(&class, '⇒') && has(&class, 'é') && has(&class, '中'));
        assert_eq!(all_without(&[]), ALL);
    }

    #[test]
    fn only_utf8_without_markers() {
        let free = Free {
            markers: Markers::new(["<a>", "é"]).unwrap(),
            limit: Some(4),
        };
        let walk = |bytes: &[u8]| {
            let start = Some((Place::START, 0));
            bytes
                .iter()
                .try_fold(start, |at, byte| {
                    let (place, count) = at?;
                    Some(free.step(place, count, *byte))
                })
                .flatten()
        };
        assert!(walk("<a<b".as_bytes()).is_some());
        assert!(walk("<a<bc".as_bytes()).is_none());
        assert!(walk("è中😀a".as_bytes()).is_some());
        assert!(walk("é".as_bytes()).is_none());
        assert!(walk(b"<a>").is_none());
        assert!(walk(b"\xC3\x28").is_none());
        assert!(walk(b"\xED\xA0").is_none());
    }
}
