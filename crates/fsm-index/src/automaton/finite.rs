//! Which characters a finite automaton over bytes can do without. For example, `[a-z]*` can do
//! without `q`, because acceptance is reached from each state without it, and `q` alone cannot.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::tokens::lead_byte;

/// Tells whether a finite automaton over bytes can do without some characters, as
/// [`PlainText::can_do_without`](crate::PlainText::can_do_without) asks: from each state between
/// two characters, whatever came before, acceptance is reached by other ones. `chars` are inclusive
/// ranges of code points, ascending, without surrogates. An automaton that reads more than UTF-8
/// gives `false`.
///
/// For example, `a|b~` cannot do without `~`, since behind `b` it must come, and `a|~b` can.
///
/// O(states x 256), and more for each range of `chars` that begins or ends inside of the
/// characters with one first byte.
///
/// ```
/// use fsm_index::finite_can_do_without;
///
/// // `a|b~`: state 0 leads to 1 by `a` and to 2 by `b`.
/// let step = |state, byte| match (state, byte) {
///     (0, b'a') | (2, b'~') => Some(1),
///     (0, b'b') => Some(2),
///     _ => None,
/// };
/// let is_end = |state| state == 1;
/// let tilde = u32::from('~');
/// assert!(!finite_can_do_without(0, &[(tilde, tilde)], step, is_end));
/// assert!(finite_can_do_without(0, &[(0x80, 0xFF)], step, is_end));
/// ```
pub fn finite_can_do_without(
    start: u32,
    chars: &[(u32, u32)],
    step: impl Fn(u32, u8) -> Option<u32>,
    accepts: impl Fn(u32) -> bool,
) -> bool {
    let mut places = vec![(start, Inside::Between)];
    let mut numbers: HashMap<(u32, Inside), u32, FixedState> = HashMap::default();
    numbers.insert(places[0], 0);
    // From where bytes of other characters lead to each place.
    let mut incoming: Vec<Vec<u32>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&(state, inside)) = places.get(at) {
        for byte in 0..=u8::MAX {
            let Some(next) = step(state, byte) else {
                continue;
            };
            let Some(behind) = inside.step(byte, chars) else {
                return false;
            };
            let number = *numbers.entry((next, behind)).or_insert_with(|| {
                places.push((next, behind));
                incoming.push(Vec::new());
                (places.len() - 1) as u32
            });
            let is_missing = matches!(inside, Inside::Missing(_))
                || behind == Inside::Between && inside.ends_missing(byte, chars);
            let sources = &mut incoming[number as usize];
            if !is_missing && sources.last() != Some(&(at as u32)) {
                sources.push(at as u32);
            }
        }
        at += 1;
    }
    let is_end = |&(state, inside): &(u32, Inside)| inside == Inside::Between && accepts(state);
    let mut live: Vec<bool> = places.iter().map(is_end).collect();
    let all = 0..places.len() as u32;
    let mut open: Vec<u32> = all.filter(|&place| live[place as usize]).collect();
    while let Some(place) = open.pop() {
        for &from in &incoming[place as usize] {
            if !std::mem::replace(&mut live[from as usize], true) {
                open.push(from);
            }
        }
    }
    let mut places = places.iter().zip(&live);
    places.all(|((_, inside), live)| *live || *inside != Inside::Between)
}

/// A place in the UTF-8 of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Inside {
    /// Between two characters.
    Between,
    /// Before so many bytes, whichever: none of the characters that they make is missing.
    Any(u8),
    /// Before so many bytes, behind those that told these bits: some of the characters are
    /// missing, or the next byte has other bounds than most.
    Some(u8, u32),
    /// Before so many bytes: all of the characters are missing.
    Missing(u8),
}

impl Inside {
    /// The place behind a byte; `None` if no character is spelt so (RFC 3629).
    fn step(self, byte: u8, missing: &[(u32, u32)]) -> Option<Inside> {
        let goes_on = (0x80..=0xBF).contains(&byte);
        let (left, bits) = match self {
            Inside::Between => {
                let (length, bits) = lead_byte(byte)?;
                (length as u8 - 1, u32::from(bits))
            }
            _ if !goes_on => return None,
            Inside::Any(1) | Inside::Missing(1) => return Some(Inside::Between),
            Inside::Any(left) => return Some(Inside::Any(left - 1)),
            Inside::Missing(left) => return Some(Inside::Missing(left - 1)),
            Inside::Some(left, bits) => (left - 1, bits << 6 | u32::from(byte & 0x3F)),
        };
        let (from, to) = span(left, bits);
        // The second byte tells whether fewer bytes would do, and surrogates.
        let is_short = matches!(self, Inside::Some(..))
            && (left == 1 && to < 0x800 || left == 2 && to < 0x1_0000);
        if is_short || (0xD800..=0xDFFF).contains(&from) || from > 0x10_FFFF {
            return None;
        }
        if left == 0 {
            return Some(Inside::Between);
        }
        Some(match met(missing, from, to) {
            Some((a, b)) if a <= from && to <= b => Inside::Missing(left),
            Some(_) => Inside::Some(left, bits),
            // The byte behind these has bounds.
            None if matches!(byte, 0xE0 | 0xED | 0xF0 | 0xF4) => Inside::Some(left, bits),
            None => Inside::Any(left),
        })
    }

    /// Tells whether a byte ends a missing character here.
    fn ends_missing(self, byte: u8, missing: &[(u32, u32)]) -> bool {
        let code = match self {
            Inside::Between => u32::from(byte),
            Inside::Some(_, bits) => bits << 6 | u32::from(byte & 0x3F),
            Inside::Any(_) => return false,
            Inside::Missing(_) => return true,
        };
        met(missing, code, code).is_some()
    }
}

/// The characters that begin with some bits and have so many bytes left.
fn span(left: u8, bits: u32) -> (u32, u32) {
    let from = bits << (6 * left);
    (from, from | ((1 << (6 * left)) - 1))
}

/// The first of some ranges that has a code point in common with another.
fn met(ranges: &[(u32, u32)], from: u32, to: u32) -> Option<(u32, u32)> {
    let first = ranges.partition_point(|range| range.1 < from);
    ranges.get(first).copied().filter(|range| range.0 <= to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is said of bytes is said of whole characters, one by one.
        #[test]
        fn bytes_say_what_characters_say(
            missing in prop::collection::btree_set(
                prop::sample::select(vec!['a', '~', 'é', 'ñ', '中', '丮', '\u{10000}', '\u{40000}', '\u{40001}']),
                0..6,
            ),
            edges in prop::collection::vec((0..6u32, any::<prop::sample::Index>(), 0..6u32), 1..16),
            accepting in prop::collection::vec(any::<bool>(), 6),
        ) {
            let chars = ['a', '~', 'é', 'ñ', '中', '丮', '\u{10000}', '\u{40000}', '\u{40001}'];
            // By states 0 to 5 and a character, where that leads: the first of equal ones counts.
            let mut by_char: HashMap<(u32, char), u32, FixedState> = HashMap::default();
            for (from, c, to) in &edges {
                by_char.entry((*from, *c.get(&chars))).or_insert(*to);
            }
            // Over bytes, states inside of a character have numbers of their own.
            let mut inner: HashMap<(u32, Vec<u8>), u32, FixedState> = HashMap::default();
            let mut by_byte: HashMap<(u32, u8), u32, FixedState> = HashMap::default();
            for (&(from, c), &to) in &by_char {
                let mut at = from;
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                for (index, byte) in bytes.iter().enumerate() {
                    let next = match index + 1 == bytes.len() {
                        true => to,
                        false => {
                            let fresh = 6 + inner.len() as u32;
                            *inner.entry((from, bytes[..=index].to_vec())).or_insert(fresh)
                        }
                    };
                    by_byte.insert((at, *byte), next);
                    at = next;
                }
            }
            let ranges: Vec<(u32, u32)> =
                missing.iter().map(|c| (u32::from(*c), u32::from(*c))).collect();
            let accepts = |state: u32| accepting.get(state as usize) == Some(&true);
            let usable: Vec<(u32, u32)> = by_char
                .iter()
                .filter(|((_, c), _)| !missing.contains(c))
                .map(|((from, _), to)| (*from, *to))
                .collect();
            let closure = |from: u32, edges: &[(u32, u32)]| {
                let mut met = vec![from];
                let mut at = 0;
                while let Some(&state) = met.get(at) {
                    let next = edges.iter().filter(|edge| edge.0 == state).map(|edge| edge.1);
                    let next: Vec<u32> = next.filter(|to| !met.contains(to)).collect();
                    met.extend(next);
                    at += 1;
                }
                met
            };
            let all: Vec<(u32, u32)> = by_char.iter().map(|((from, _), to)| (*from, *to)).collect();
            let is_live = |state| closure(state, &usable).into_iter().any(accepts);
            let expected = closure(0, &all).into_iter().all(is_live);
            let step = |state, byte| by_byte.get(&(state, byte)).copied();
            prop_assert_eq!(finite_can_do_without(0, &ranges, step, accepts), expected);
        }
    }
}
