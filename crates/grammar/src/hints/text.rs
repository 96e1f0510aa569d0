//! Text that is read in a loop, of which most of a vocabulary consists: the inside of names,
//! strings and comments.
//!
//! For example, behind `ab` of a name every letter leads back to the same configuration, and
//! behind `i`, which could still be `if`, nearly all letters lead there, too.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;
use fsm_index::{Cursor, Description, Horizon, TextLoop};

use crate::completion::live::Live;
use crate::hints::characters::{Alike, Characters, Search};
use crate::hints::known::{Known, Reading};
use crate::hints::values;
use crate::machine::{Machine, Ranges};
use crate::run::caches::Caches;
use crate::run::configs::{JSON, WALK};
use crate::run::step::Steps;

/// The least number of ASCII characters of a class that is named, because shorter tokens than a
/// class of few letters allows are as quickly tried.
pub(super) const LEAST_CHARS: usize = 8;

/// Places inside of characters of several bytes that are looked at for one class, because a class
/// that needs more would take longer than the masks that it serves.
pub(super) const MAX_PLACES: usize = 200;

/// The least number of ASCII bytes that lead to the same as at another place, so that its mask is
/// worth patching: otherwise more tokens differ than a walk tries.
const ALIKE: usize = 120;

/// A reader of the texts at configurations.
pub(crate) struct Hints<'a> {
    pub(super) machine: &'a Machine,
    pub(super) caches: &'a mut Caches,
    pub(super) known: &'a mut Known,
}

/// The code points that lead from a place to a target.
pub(super) struct Finder<S, F> {
    step: F,
    target: S,
    /// By place and missing bytes, from 0 on.
    known: HashMap<(S, u32), Ranges, FixedState>,
}

impl<S: Copy + Eq + Hash, F: FnMut(S, u8) -> Option<S>> Finder<S, F> {
    /// Returns the code points of all characters that lead to a target.
    pub(super) fn class(start: S, target: S, step: F) -> Ranges {
        let mut finder = Finder {
            step,
            target,
            known: HashMap::default(),
        };
        let mut out = Vec::new();
        for byte in 0..=0xF4u8 {
            let Some((rest, base)) = first_byte(byte) else {
                continue;
            };
            if let Some(next) = (finder.step)(start, byte) {
                finder.behind(next, rest, base, &mut out);
            }
        }
        out.into()
    }

    /// Appends what comes behind a place with a number of bytes missing.
    fn behind(&mut self, at: S, rest: u32, base: u32, out: &mut Vec<(u32, u32)>) {
        if rest == 0 {
            if at == self.target {
                push(out, base, base);
            }
            return;
        }
        if !self.known.contains_key(&(at, rest)) {
            let mut own = Vec::new();
            if self.known.len() < MAX_PLACES {
                for byte in 0..64u32 {
                    if let Some(next) = (self.step)(at, 0x80 | byte as u8) {
                        self.behind(next, rest - 1, byte << (6 * (rest - 1)), &mut own);
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
fn united(mut ranges: Vec<(u32, u32)>) -> Ranges {
    ranges.sort_unstable();
    let mut out = Vec::new();
    ranges
        .iter()
        .for_each(|&(first, last)| push(&mut out, first, last));
    out.into()
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

impl<'a> Hints<'a> {
    pub(crate) fn new(
        machine: &'a Machine,
        caches: &'a mut Caches,
        known: &'a mut Known,
    ) -> Hints<'a> {
        Hints {
            machine,
            caches,
            known,
        }
    }

    fn step(&mut self, config: u32, byte: u8) -> u32 {
        Live::new(self.machine, self.caches).step(config, byte)
    }

    /// Returns the configuration behind a byte, if the topmost nodes alone tell: those of the
    /// configuration that was described last.
    pub(crate) fn step_on_top(&mut self, config: u32, byte: u8) -> Option<u32> {
        let before = self.caches.least_mut().anew();
        let (next, is_deep) = match config & WALK {
            0 => (self.step(config, byte), false),
            _ => {
                let was_deep = self.caches.json_mut().begin_on_top();
                let next = self.step(config, byte);
                (next, self.caches.json_mut().end_on_top(was_deep))
            }
        };
        let looked = self.caches.least_mut().back(before);
        (looked >= self.known.level && !is_deep).then_some(next)
    }

    /// Returns what is known of the texts at a configuration.
    pub(crate) fn describe(&mut self, config: u32, horizon: Horizon<'_>) -> Description {
        if config == 0 {
            return Description::Unknown;
        }
        // A walk begins there, if it begins anywhere.
        let config = Steps::new(self.machine, self.caches).in_walk(config);
        self.known.level = self.caches.height(config);
        if config & WALK != 0 {
            return values::describe(self.machine, self.caches, config, horizon);
        }
        // Asking is no step of a walk.
        let least = *self.caches.least_mut();
        let reading = self.reading(config);
        *self.caches.least_mut() = least;
        let text = |class| TextLoop {
            class,
            next: Cursor(config),
            steady: u32::MAX,
            alike: true,
        };
        match reading {
            Reading::LoopOnTop(class) => Description::Top(Some(text(class))),
            Reading::Loop(class) => Description::Text(text(class)),
            Reading::Like(other) => Description::Like {
                cursor: Cursor(other),
                apart: None,
            },
            Reading::Other => Description::Top(None),
        }
    }

    fn reading(&mut self, config: u32) -> Reading {
        if let Some(&known) = self.known.readings.get(&config) {
            return known;
        }
        let next: Vec<u32> = (0..128).map(|byte| self.step(config, byte)).collect();
        let back = next.iter().filter(|&&to| to == config).count();
        let reading = match back >= LEAST_CHARS {
            true => self.read_loop(config),
            false => self.read_like(&next),
        };
        self.known.bytes += 32;
        self.known.readings.insert(config, reading);
        reading
    }

    fn read_loop(&mut self, config: u32) -> Reading {
        let top = self.caches.height(config);
        let is_greedy = self.machine.is_greedy();
        let is_steady = !is_greedy && Steps::new(self.machine, self.caches).is_steady(config);
        // What leads back is a matter of the lexemes alone, if the stacks stay as they are.
        let places = self.caches.configs().threads(config).iter();
        let places: Box<[u32]> = places.map(|thread| thread.place).collect();
        let is_known = (is_steady || is_greedy) && !self.machine.checks_live();
        if is_known && let Some(&class) = self.known.loops.get(&places) {
            return Reading::LoopOnTop(class);
        }
        let mut looked = u32::MAX;
        let mut step = |this: &mut Hints<'_>, at: u32, byte: u8| {
            this.caches.least_mut().anew();
            let next = this.step(at, byte);
            // What leads elsewhere at once, or nowhere, is no part of the loop. What leads back
            // ends the same lexemes as before, if it ends no others.
            let counts = match next == config {
                true => !is_steady || Steps::new(this.machine, this.caches).ends_others(at, byte),
                false => byte >= 0x80 && next != 0,
            };
            if counts {
                looked = looked.min(this.caches.least_mut().height());
            }
            (next != 0).then_some(next)
        };
        let ranges = match self.alike_at(&places) {
            Some(alike) => {
                let mut ranges = Vec::new();
                for byte in 0..0x80 {
                    if step(self, config, byte) == Some(config) {
                        ranges.push((u32::from(byte), u32::from(byte)));
                    }
                }
                for Alike { sample, all } in &*alike {
                    let mut bytes = sample.iter();
                    if bytes.try_fold(config, |at, &byte| step(self, at, byte)) == Some(config) {
                        ranges.extend_from_slice(all);
                    }
                }
                united(ranges)
            }
            None => Finder::class(config, config, |at, byte| step(self, at, byte)),
        };
        let Some(class) = self.machine.classes().id(ranges) else {
            return Reading::Other;
        };
        if looked < top {
            return Reading::Loop(class);
        }
        if is_known {
            self.known.bytes += 40 + 4 * places.len();
            self.known.loops.insert(places, class);
        }
        Reading::LoopOnTop(class)
    }

    /// Returns the characters beyond ASCII that are alike where every split counts and no value of
    /// JSON is read: see [`Search::alike`].
    fn alike_at(&mut self, places: &[u32]) -> Option<Characters> {
        let are_lexes = places.iter().all(|place| place & JSON == 0);
        match are_lexes && !self.machine.is_greedy() {
            true => Search::alike(places, self.machine, self.caches.lexes_mut(), self.known),
            false => None,
        }
    }

    /// Reads the first characters of a name that could still be a keyword, say.
    fn read_like(&mut self, next: &[u32]) -> Reading {
        let Some((other, count)) = most(next.iter().copied()) else {
            return Reading::Other;
        };
        if count < LEAST_CHARS || !self.caches.configs().has_no_json(other) {
            return Reading::Other;
        }
        let same = (0..128).zip(next);
        let same = same.filter(|&(byte, &to)| self.step(other, byte) == to);
        let is_alike = same.count() >= ALIKE;
        match is_alike
            && matches!(
                self.reading(other),
                Reading::Loop(_) | Reading::LoopOnTop(_)
            ) {
            true => Reading::Like(other),
            false => Reading::Other,
        }
    }
}
