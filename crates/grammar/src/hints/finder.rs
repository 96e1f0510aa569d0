//! Ranges of characters that lead from one place to another, found byte by byte.
//!
//! For example, inside of a name the bytes `C3 A9` lead back, so that `é` is in its class.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;

use crate::machine::Ranges;

/// The least number of ASCII characters of a class that is named, because shorter tokens than a
/// class of few letters allows are as quickly tried.
pub(super) const LEAST_CHARS: usize = 8;

/// Places inside of characters of several bytes that are looked at for one class, because a class
/// that needs more would take longer than the masks that it serves.
pub(super) const MAX_PLACES: usize = 200;

/// The same where the tables of terminals alone tell a step, and what was found is remembered: all
/// letters, marks and digits of Unicode have some hundreds, which take a fifth of a millisecond.
pub(super) const MAX_PLACES_OF_TERMINALS: usize = 2_000;

/// The code points that lead from places to some targets, by place and missing bytes, from 0 on.
pub(super) type Found<S> = HashMap<(S, u32), Ranges, FixedState>;

/// A search for the code points that lead from a place to some targets.
pub(super) struct Finder<'f, S, F, T, N> {
    step: F,
    is_target: T,
    /// Says of which bytes from 80 to BF a step has to be taken, as bits: others lead where the one before does.
    turns: N,
    known: &'f mut Found<S>,
    /// So many places are looked at.
    most: usize,
}

impl<S, F, T> Finder<'_, S, F, T, fn(S) -> u64>
where
    S: Copy + Eq + Hash,
    F: FnMut(S, u8) -> Option<S>,
    T: Fn(S) -> bool,
{
    /// Returns the code points of characters that lead from one place to some others and begin with a byte
    /// that is no less than `first`: of all, if they need no more than so many places. `known` is what
    /// was found out about the same targets before.
    pub(super) fn class(
        first: u8,
        start: S,
        is_target: T,
        step: F,
        known: &mut Found<S>,
        most: usize,
    ) -> Ranges {
        let finder: Finder<'_, S, F, T, fn(S) -> u64> = Finder {
            step,
            is_target,
            turns: |_| u64::MAX,
            known,
            most,
        };
        finder.find(first, start)
    }
}

impl<'f, S, F, T, N> Finder<'f, S, F, T, N>
where
    S: Copy + Eq + Hash,
    F: FnMut(S, u8) -> Option<S>,
    T: Fn(S) -> bool,
    N: Fn(S) -> u64,
{
    /// A search by the steps that tables of terminals tell.
    pub(super) fn of_terminals(
        is_target: T,
        step: F,
        turns: N,
        known: &'f mut Found<S>,
    ) -> Finder<'f, S, F, T, N> {
        Finder {
            step,
            is_target,
            turns,
            known,
            most: MAX_PLACES_OF_TERMINALS,
        }
    }

    /// Returns the code points of characters that lead from a place to the targets and begin with a byte that is no less
    /// than `first`.
    pub(super) fn find(mut self, first: u8, start: S) -> Ranges {
        let mut out = Vec::new();
        for byte in first..=0xF4u8 {
            let Some((rest, base)) = first_byte(byte) else {
                continue;
            };
            if let Some(next) = (self.step)(start, byte) {
                self.behind(next, rest, base, &mut out);
            }
        }
        out.into()
    }

    /// Appends what comes behind a place with a number of bytes missing.
    fn behind(&mut self, at: S, rest: u32, base: u32, out: &mut Vec<(u32, u32)>) {
        if rest == 0 {
            if (self.is_target)(at) {
                push(out, base, base);
            }
            return;
        }
        if !self.known.contains_key(&(at, rest)) {
            let mut own = Vec::new();
            if self.known.len() < self.most {
                // The first byte has none before it.
                let mut turns = (self.turns)(at) | 1;
                while turns != 0 {
                    let begin = turns.trailing_zeros();
                    turns &= turns - 1;
                    let end = turns.trailing_zeros();
                    let Some(next) = (self.step)(at, 0x80 | begin as u8) else {
                        continue;
                    };
                    // Most places have the last byte before them.
                    if rest > 1 {
                        let shift = 6 * (rest - 1);
                        (begin..end)
                            .for_each(|byte| self.behind(next, rest - 1, byte << shift, &mut own));
                    } else if (self.is_target)(next) {
                        push(&mut own, begin, end - 1);
                    }
                }
            }
            self.known.insert((at, rest), own.into());
        }
        for &(first, last) in &self.known[&(at, rest)] {
            push(out, base + first, base + last);
        }
    }
}

/// Returns the number of bytes that follow the first byte of a character, and what it stands for;
/// none if no character begins so.
pub(super) fn first_byte(byte: u8) -> Option<(u32, u32)> {
    let (rest, bits) = match byte {
        0..=0x7F => (0, byte),
        0xC2..=0xDF => (1, byte & 0x1F),
        0xE0..=0xEF => (2, byte & 0x0F),
        0xF0..=0xF4 => (3, byte & 0x07),
        _ => return None,
    };
    Some((rest, u32::from(bits) << (6 * rest)))
}

/// Appends a range to ascending ones.
pub(super) fn push(out: &mut Vec<(u32, u32)>, first: u32, last: u32) {
    match out.last_mut() {
        Some(before) if before.1 + 1 == first => before.1 = last,
        _ => out.push((first, last)),
    }
}

/// Returns ranges in order, without gaps between them that are none.
pub(super) fn united(mut ranges: Vec<(u32, u32)>) -> Ranges {
    ranges.sort_unstable();
    let mut out = Vec::new();
    ranges
        .iter()
        .for_each(|&(first, last)| push(&mut out, first, last));
    out.into()
}

/// Returns the ranges that two lists of ascending ranges have in common.
pub(super) fn common(one: &[(u32, u32)], another: &[(u32, u32)]) -> Ranges {
    let mut both = Vec::new();
    for own in one {
        let from = another.partition_point(|other| other.1 < own.0);
        let others = another[from..].iter();
        for other in others.take_while(|other| other.0 <= own.1) {
            push(&mut both, own.0.max(other.0), own.1.min(other.1));
        }
    }
    both.into()
}

/// Returns what most of some places are that are not dead, and how many.
pub(super) fn most(places: impl Iterator<Item = u32>) -> Option<(u32, usize)> {
    let mut counts: HashMap<u32, usize, FixedState> = HashMap::default();
    for place in places.filter(|&place| place != 0) {
        *counts.entry(place).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|&(place, count)| (count, place))
}
