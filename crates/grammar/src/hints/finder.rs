//! Ranges of characters that lead from one place to another, found byte by byte.
//!
//! For example, inside of a name the bytes `C3 A9` lead back, so that `é` is in its class.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::{Range, RangeInclusive};

use foldhash::fast::FixedState;

use crate::machine::Ranges;

/// The least number of ASCII characters of a class that is named, because shorter tokens than a
/// class of few letters allows are as quickly tried.
pub(super) const LEAST_CHARS: usize = 8;

/// Places inside of characters of several bytes that are looked at for one class, because the texts of Hedy, over most of Unicode
/// side by side, have 620, and a class that needs more would take longer than the masks that it serves.
pub(super) const MAX_PLACES: usize = 1_000;

/// The same where the tables of terminals alone tell a step, and what was found is remembered: all
/// letters, marks and digits of Unicode have some hundreds, which take a fifth of a millisecond.
pub(super) const MAX_PLACES_OF_TERMINALS: usize = 2_000;

/// The code points that lead from places to some targets: kept, because most places are met behind several bytes.
#[derive(Debug)]
pub(super) struct CodePoints<S> {
    /// By place and missing bytes.
    numbers: HashMap<(S, u32), u32, FixedState>,
    /// By number: where the ranges of code points are, counted from 0 on.
    all: Vec<Range<usize>>,
    ranges: Vec<(u32, u32)>,
}

impl<S> Default for CodePoints<S> {
    fn default() -> CodePoints<S> {
        CodePoints {
            numbers: HashMap::default(),
            all: Vec::new(),
            ranges: Vec::new(),
        }
    }
}

impl<S> CodePoints<S> {
    /// Returns the bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        48 * self.all.len() + 8 * self.ranges.len()
    }
}

/// A search for the code points that lead from a place to some targets.
pub(super) struct Finder<'f, S, F, T, N> {
    step: F,
    is_target: T,
    /// Says of which bytes from 80 to BF a step has to be taken, as bits: others lead where the one before does.
    turns: N,
    known: &'f mut CodePoints<S>,
    /// So many places are looked at.
    most: usize,
    /// The ranges of the places that are being looked at, one behind another.
    open: Vec<(u32, u32)>,
}

impl<'f, S, F, T, N> Finder<'f, S, F, T, N>
where
    S: Copy + Eq + Hash,
    F: FnMut(S, u8) -> Option<S>,
    T: Fn(S) -> bool,
    N: Fn(S) -> u64,
{
    /// `known` is what was found out about the same targets before. If more than `most` places have to be looked at, some
    /// code points are not found.
    pub(super) fn new(
        is_target: T,
        step: F,
        turns: N,
        known: &'f mut CodePoints<S>,
        most: usize,
    ) -> Finder<'f, S, F, T, N> {
        Finder {
            step,
            is_target,
            turns,
            known,
            most,
            open: Vec::new(),
        }
    }

    /// Returns the code points of characters that lead from a place to the targets and begin with a byte that is no less
    /// than `first`.
    pub(super) fn find(mut self, first: u8, start: S) -> Ranges {
        for byte in first..=0xF4u8 {
            let Some((rest, base)) = first_byte(byte) else {
                continue;
            };
            match (self.step)(start, byte) {
                None => {}
                Some(next) if rest > 0 => self.behind(next, rest, base..=base, 0),
                Some(next) if (self.is_target)(next) => self.push(0, base, base),
                Some(_) => {}
            }
        }
        self.open.into()
    }

    /// Appends a range to those of the place that is looked at, which begin at `own`.
    fn push(&mut self, own: usize, first: u32, last: u32) {
        match self.open[own..].last_mut() {
            Some(before) if before.1 + 1 == first => before.1 = last,
            _ => self.open.push((first, last)),
        }
    }

    /// Appends what comes behind a place with a number of bytes missing, one or more, once for each of some bytes before
    /// it: `bases` says which stand for the first and the last of them.
    fn behind(&mut self, at: S, rest: u32, bases: RangeInclusive<u32>, own: usize) {
        let known = self.known.numbers.get(&(at, rest)).copied();
        let number = known.unwrap_or_else(|| self.number(at, rest));
        let ranges = self.known.all[number as usize].clone();
        let span = 1 << (6 * rest);
        match self.known.ranges[ranges.clone()] {
            // Blocks of letters are whole.
            [(0, last)] if last + 1 == span => self.push(own, *bases.start(), bases.end() + last),
            _ => {
                for base in bases.step_by(span as usize) {
                    for at in ranges.clone() {
                        let (first, last) = self.known.ranges[at];
                        self.push(own, base + first, base + last);
                    }
                }
            }
        }
    }

    /// Finds what comes behind a place with a number of bytes missing, and numbers it.
    fn number(&mut self, at: S, rest: u32) -> u32 {
        let own = self.open.len();
        if self.known.all.len() < self.most {
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
                    self.behind(next, rest - 1, begin << shift..=(end - 1) << shift, own);
                } else if (self.is_target)(next) {
                    self.push(own, begin, end - 1);
                }
            }
        }
        let number = self.known.all.len() as u32;
        let before = self.known.ranges.len();
        self.known.ranges.extend(self.open.drain(own..));
        self.known.all.push(before..self.known.ranges.len());
        self.known.numbers.insert((at, rest), number);
        number
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

/// Returns what most of some places are that are not dead, and how many: each comes with the number of times that it counts.
pub(super) fn most(places: impl Iterator<Item = (u32, usize)>) -> Option<(u32, usize)> {
    let mut counts: Vec<(u32, usize)> = Vec::new();
    for (place, times) in places.filter(|&(place, _)| place != 0) {
        match counts.iter_mut().find(|count| count.0 == place) {
            Some(count) => count.1 += times,
            None => counts.push((place, times)),
        }
    }
    counts
        .into_iter()
        .max_by_key(|&(place, count)| (count, place))
}
