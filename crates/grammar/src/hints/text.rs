//! Text that is read in a loop, of which most of a vocabulary consists: the inside of names,
//! strings and comments.
//!
//! For example, behind `ab` of a name every letter leads back to the same configuration, and
//! behind `i`, which could still be `if`, nearly all letters lead there, too.

use std::cell::RefCell;

use fsm_index::{Cursor, Description, Horizon, TextLoop};

use crate::completion::live::Live;
use crate::hints::characters::Search;
use crate::hints::finder::{CodePoints, Finder, LEAST_CHARS, MAX_PLACES, most, united};
use crate::hints::known::{Alike, Characters, Known, TextKind};
use crate::hints::values;
use crate::machine::{Machine, Ranges};
use crate::run::caches::Caches;
use crate::run::configs::{JSON, WALK};
use crate::run::step::Steps;

/// The least number of ASCII bytes that lead to the same as at another place, so that its mask is
/// worth patching: otherwise more tokens differ than a walk tries.
const ALIKE: usize = 120;

/// The levels of a stack that an answer may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedLevels {
    All,
    /// The topmost one of what was described last.
    Top,
}

/// A reader of the texts at configurations.
pub(crate) struct Hints<'a> {
    pub(super) machine: &'a Machine,
    pub(super) caches: &'a mut Caches,
    pub(super) known: &'a mut Known,
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

    /// Returns the bytes from 80 to BF that may lead from a configuration elsewhere than the one before, as bits: inside of a
    /// lexeme that does not end there its states tell it.
    pub(super) fn inner_turns(&self, config: u32) -> u64 {
        let lexer = self.machine.lexer();
        let threads = self.caches.configs().threads(config).iter();
        let lexes = threads.map(|thread| match thread.is_in_json() {
            true => None,
            false => Some(&self.caches.lexes()[thread.place]).filter(|lex| lex.ends == 0),
        });
        let turns = lexes.map(|lex| {
            let members = lex?.members.iter();
            Some(members.fold(0, |all, &state| all | lexer.inner_turns(state)))
        });
        let all = turns.reduce(|one, other| Some(one? | other?));
        all.flatten().unwrap_or_else(|| lexer.all_inner_turns())
    }

    fn step(&mut self, config: u32, byte: u8) -> u32 {
        Live::new(self.machine, self.caches).step(config, byte)
    }

    /// Returns the configuration behind a byte, and the least height of the stacks that was looked at.
    pub(super) fn step_and_look(&mut self, config: u32, byte: u8) -> (u32, u32) {
        self.caches.least_mut().anew();
        let next = self.step(config, byte);
        (next, self.caches.least_mut().height())
    }

    /// Returns the code points of characters that lead from a configuration to some targets, and begin with no lesser byte than
    /// the first one. `step` takes a step; `found` is what was found out about the same targets before.
    pub(super) fn code_points(
        &mut self,
        first: u8,
        from: u32,
        mut step: impl FnMut(&mut Self, u32, u8) -> Option<u32>,
        is_target: impl Fn(u32) -> bool,
        found: &mut CodePoints<u32>,
    ) -> Ranges {
        let this = RefCell::new(self);
        let turns = |at| this.borrow().inner_turns(at);
        let step = |at, byte| step(&mut this.borrow_mut(), at, byte);
        Finder::new(is_target, step, turns, found, MAX_PLACES).find(first, from)
    }

    /// Returns the configuration behind a byte, if the topmost nodes alone tell: those of the
    /// configuration that was described last.
    pub(crate) fn step_on_top(&mut self, config: u32, byte: u8) -> Option<u32> {
        let least = self.caches.least_mut().anew();
        let (next, is_deep) = match config & WALK {
            0 => (self.step(config, byte), false),
            _ => {
                let before = self.caches.json_mut().begin_on_top();
                let next = self.step(config, byte);
                (next, self.caches.json_mut().end_on_top(before))
            }
        };
        let looked = self.caches.least_mut().back(least);
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
        // Text of words is free, where the loop is that of one word.
        if self.is_of_words(config) {
            return Description::Unknown;
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
            TextKind::LoopOnTop(class) => Description::Top(Some(text(class))),
            TextKind::Loop { class, .. } => Description::Text(text(class)),
            TextKind::Like(other) => Description::Like {
                cursor: Cursor(other),
                apart: None,
            },
            TextKind::Other => Description::Top(None),
        }
    }

    pub(super) fn reading(&mut self, config: u32) -> TextKind {
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

    fn read_loop(&mut self, config: u32) -> TextKind {
        let top = self.caches.height(config);
        let is_greedy = self.machine.is_greedy();
        let is_steady = !is_greedy && Steps::new(self.machine, self.caches).is_steady(config);
        // The lexemes alone tell what leads back, if the stacks stay as they are.
        let places = self.caches.configs().threads(config).iter();
        let places: Box<[u32]> = places.map(|thread| thread.place).collect();
        let is_known = (is_steady || is_greedy) && !self.machine.checks_live();
        if is_known && let Some(&class) = self.known.loops.get(&places) {
            return TextKind::LoopOnTop(class);
        }
        let mut looked = u32::MAX;
        let mut step = |this: &mut Hints<'_>, at: u32, byte: u8| {
            let (next, height) = this.step_and_look(at, byte);
            // A byte that leads elsewhere at once, or nowhere, is no part of the loop. One that
            // leads back ends the same lexemes as before, if it ends no others.
            let counts = match next == config {
                true => !is_steady || Steps::new(this.machine, this.caches).ends_others(at, byte),
                false => byte >= 0x80 && next != 0,
            };
            if counts {
                looked = looked.min(height);
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
            None => {
                let mut found = CodePoints::default();
                self.code_points(0, config, step, |at| at == config, &mut found)
            }
        };
        let Some(class) = self.machine.classes().id(ranges) else {
            return TextKind::Other;
        };
        if looked < top {
            return TextKind::Loop { class, looked };
        }
        if is_known {
            self.known.bytes += 40 + 4 * places.len();
            self.known.loops.insert(places, class);
        }
        TextKind::LoopOnTop(class)
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
    fn read_like(&mut self, next: &[u32]) -> TextKind {
        let Some((other, count)) = most(next.iter().map(|&to| (to, 1))) else {
            return TextKind::Other;
        };
        if count < LEAST_CHARS || !self.caches.configs().has_no_json(other) {
            return TextKind::Other;
        }
        if self.step(other, b' ') != next[usize::from(b' ')] {
            return TextKind::Other;
        }
        let same = (0..128).zip(next);
        let same = same.filter(|&(byte, &to)| self.step(other, byte) == to);
        let is_alike = same.count() >= ALIKE;
        match is_alike
            && matches!(
                self.reading(other),
                TextKind::Loop { .. } | TextKind::LoopOnTop(_)
            ) {
            true => TextKind::Like(other),
            false => TextKind::Other,
        }
    }
}
