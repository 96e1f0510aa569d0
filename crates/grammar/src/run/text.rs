//! Text that is read in a loop, and text that may come whatever it is: the inside of names,
//! strings and comments, of which most of a vocabulary consists.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::fast::FixedState;
use fsm_index::{Behind, ClassId, Cursor, Description, FreeText, Horizon, TextLoop};

use crate::machine::Inner;
use crate::run::caches::{Caches, JSON, Thread};
use crate::run::characters::{Alike, Characters};
use crate::run::configs::WALK;

/// Inclusive ranges of code points, ascending.
pub(crate) type Ranges = Box<[(u32, u32)]>;

/// Classes of one grammar that have a number: more are not named.
const MAX_CLASSES: usize = 256;

/// Classes of fewer ASCII characters are not worth naming.
const LEAST_CHARS: usize = 8;

/// Places inside of characters of several bytes that are looked at for one class.
pub(crate) const MAX_PLACES: usize = 200;

/// Where at least so many of the ASCII bytes lead to the same as at another place, that one's
/// mask is worth patching.
const ALIKE: usize = 120;

/// The classes that descriptions name, each with one number.
#[derive(Debug)]
pub(crate) struct Classes {
    all: Box<[OnceLock<Ranges>]>,
    ids: Mutex<HashMap<Ranges, u32>>,
}

impl Default for Classes {
    fn default() -> Self {
        Classes {
            all: (0..MAX_CLASSES).map(|_| OnceLock::new()).collect(),
            ids: Mutex::default(),
        }
    }
}

impl Classes {
    pub(crate) fn get(&self, class: ClassId) -> &[(u32, u32)] {
        let known = self.all.get(class.0 as usize).and_then(OnceLock::get);
        known.map_or(&[], |ranges| ranges)
    }

    pub(crate) fn id(&self, ranges: Ranges) -> Option<ClassId> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = ids.get(&ranges) {
            return Some(ClassId(id));
        }
        let id = ids.len();
        self.all.get(id)?.get_or_init(|| ranges.clone());
        ids.insert(ranges, id as u32);
        Some(ClassId(id as u32))
    }
}

/// What is known of the text at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// Every character of a class leads back.
    Loop {
        class: ClassId,
        on_top: bool,
    },
    /// Nearly the same may come as at another place, which is a loop.
    Like(u32),
    Other,
}

/// The code points that lead from a place to a target.
struct Finder<S, F> {
    step: F,
    target: S,
    /// By place and missing bytes, from 0 on.
    known: HashMap<(S, u32), Ranges, FixedState>,
}

impl<S: Copy + Eq + Hash, F: FnMut(S, u8) -> Option<S>> Finder<S, F> {
    fn class(start: S, target: S, step: F) -> Ranges {
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

    /// Appends what comes behind a place with so many bytes missing.
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
pub(crate) fn first_byte(byte: u8) -> Option<(u32, u32)> {
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
pub(crate) fn push(out: &mut Vec<(u32, u32)>, first: u32, last: u32) {
    match out.last_mut() {
        Some(before) if before.1 + 1 == first => before.1 = last,
        _ => out.push((first, last)),
    }
}

/// Ranges in order, without gaps between them that are none.
fn united(mut ranges: Vec<(u32, u32)>) -> Ranges {
    ranges.sort_unstable();
    let mut out = Vec::new();
    ranges
        .iter()
        .for_each(|&(first, last)| push(&mut out, first, last));
    out.into()
}

/// What most of some places are that are not dead, and how many.
fn most(places: impl Iterator<Item = u32>) -> Option<(u32, usize)> {
    let mut counts: HashMap<u32, usize, FixedState> = HashMap::default();
    for place in places.filter(|&place| place != 0) {
        *counts.entry(place).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|&(place, count)| (count, place))
}

/// Text of a class, of any length.
pub(crate) fn any_text(class: ClassId) -> FreeText {
    FreeText {
        class,
        chars: usize::MAX,
        behind: Behind::ItsClass,
        ends: false,
    }
}

impl Caches {
    /// What is known of the texts at a place.
    pub(crate) fn describe(
        &mut self,
        config: u32,
        horizon: Horizon<'_>,
        inner: &Inner,
    ) -> Description {
        if config == 0 {
            return Description::Unknown;
        }
        // A walk begins there, if it begins anywhere.
        let config = self.in_walk(config, inner);
        self.level = self.height(config);
        if config & WALK != 0 {
            return self.describe_json(config, horizon, inner);
        }
        // Asking is no step of a walk.
        let least = self.least;
        let reading = self.reading(config, inner);
        self.least = least;
        match reading {
            Reading::Loop { class, on_top } => {
                let text = TextLoop {
                    class,
                    next: Cursor(config),
                    steady: u32::MAX,
                    alike: true,
                };
                match on_top {
                    true => Description::Top(Some(text)),
                    false => Description::Text(text),
                }
            }
            Reading::Like(other) => Description::Like {
                cursor: Cursor(other),
                apart: None,
            },
            Reading::Other => Description::Top(None),
        }
    }

    fn reading(&mut self, config: u32, inner: &Inner) -> Reading {
        if let Some(&known) = self.readings.get(&config) {
            return known;
        }
        let next: Vec<u32> = (0..128)
            .map(|byte| self.step(config, byte, inner))
            .collect();
        let back = next.iter().filter(|&&to| to == config).count();
        let reading = if back >= LEAST_CHARS {
            self.read_loop(config, inner)
        } else {
            self.read_like(&next, inner)
        };
        self.bytes += 32;
        self.readings.insert(config, reading);
        reading
    }

    fn read_loop(&mut self, config: u32, inner: &Inner) -> Reading {
        let top = self.height(config);
        let is_steady = !inner.cfg.is_greedy && self.is_steady(config, inner);
        // What leads back is a matter of the lexemes alone, if the stacks stay as they are.
        let places = self.configs.threads(config).iter();
        let places: Box<[u32]> = places.map(|thread| thread.place).collect();
        let is_known = (is_steady || inner.cfg.is_greedy) && !inner.checks_live;
        if is_known && let Some(&class) = self.loops.get(&places) {
            let on_top = true;
            return Reading::Loop { class, on_top };
        }
        let mut looked = u32::MAX;
        let mut step = |caches: &mut Caches, at: u32, byte: u8| {
            caches.least = u32::MAX;
            let next = caches.step(at, byte, inner);
            // What leads elsewhere at once, or nowhere, is no part of the loop. What leads back
            // ends the same lexemes as before, if it ends no others.
            let counts = match next == config {
                true => !is_steady || caches.ends_others(at, byte, inner),
                false => byte >= 0x80 && next != 0,
            };
            if counts {
                looked = looked.min(caches.least);
            }
            (next != 0).then_some(next)
        };
        let ranges = match self.alike_at(&places, inner) {
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
        let on_top = looked >= top;
        let Some(class) = inner.classes.id(ranges) else {
            return Reading::Other;
        };
        if is_known && on_top {
            self.bytes += 40 + 4 * places.len();
            self.loops.insert(places, class);
        }
        Reading::Loop { class, on_top }
    }

    /// Where every split counts and no value of JSON is read: see [`Caches::alike`].
    fn alike_at(&mut self, places: &[u32], inner: &Inner) -> Option<Characters> {
        let are_lexes = places.iter().all(|place| place & JSON == 0);
        match are_lexes && !inner.cfg.is_greedy {
            true => self.alike(places, inner),
            false => None,
        }
    }

    /// The first characters of a name that could still be a keyword, say.
    fn read_like(&mut self, next: &[u32], inner: &Inner) -> Reading {
        let Some((other, count)) = most(next.iter().copied()) else {
            return Reading::Other;
        };
        if count < LEAST_CHARS || !self.has_no_json(other) {
            return Reading::Other;
        }
        let same = (0..128).zip(next);
        let same = same.filter(|&(byte, &to)| self.step(other, byte, inner) == to);
        match same.count() >= ALIKE && matches!(self.reading(other, inner), Reading::Loop { .. }) {
            true => Reading::Like(other),
            false => Reading::Other,
        }
    }

    /// Any text of a class may come where a lexeme that has begun, or may begin, takes it.
    pub(crate) fn free_text(&mut self, config: u32, inner: &Inner) -> Option<FreeText> {
        if let Some(mut value) = self.sure_value(config, inner) {
            return (!value.ends()).then(|| value.free_text())?;
        }
        let mut best: Option<(usize, ClassId)> = None;
        for at in 0..self.configs.threads(config).len() {
            let Thread { place, front } = self.configs.threads(config)[at];
            if place & JSON != 0 {
                continue;
            }
            if inner.checks_live && !self.all_safe_behind(place, front, inner) {
                return None;
            }
            if let Some((count, class)) = self.free_of_lex(place, inner)
                && best.is_none_or(|best| count > best.0)
            {
                best = Some((count, class));
            }
        }
        let (_, class) = best?;
        // Under greedy lexing a lazy lexeme cuts all others short where it ends.
        let is_open = |caches: &mut Caches, at: usize| {
            let Thread { place, .. } = caches.configs.threads(config)[at];
            place & JSON == 0 && caches.stays_open(place, class, inner)
        };
        let may_be_cut = inner.proof.has_lazy && inner.cfg.is_greedy;
        let is_open =
            !may_be_cut || (0..self.configs.threads(config).len()).all(|at| is_open(self, at));
        is_open.then(|| any_text(class))
    }

    /// Tells whether no lexeme that has begun in a place may end where nothing can follow.
    fn all_safe_behind(&mut self, place: u32, front: u32, inner: &Inner) -> bool {
        (0..self.lexes[place as usize].members.len()).all(|at| {
            let state = self.lexes[place as usize].members[at];
            let terminal = inner.lexer.terminal[state as usize];
            self.safe_behind(front, terminal, inner)
        })
    }

    /// A class of which any text leads on from some state of a set, and how many ASCII
    /// characters it has. Walks ask it at many nodes.
    pub(crate) fn free_of_lex(&mut self, lex: u32, inner: &Inner) -> Option<(usize, ClassId)> {
        if let Some(known) = self.lexes[lex as usize].free {
            return known;
        }
        let members = self.lexes[lex as usize].members.clone();
        let all = members
            .iter()
            .filter_map(|&state| self.free_from(state, inner));
        // Of as many characters the first.
        let best = all.reduce(|best, other| if other.0 > best.0 { other } else { best });
        let best = best.filter(|&(_, class)| self.stays_open(lex, class, inner));
        self.lexes[lex as usize].free = Some(best);
        best
    }

    /// Tells whether no lazy lexeme ends in text of a class from some states on.
    fn stays_open(&mut self, lex: u32, class: ClassId, inner: &Inner) -> bool {
        if !inner.proof.has_lazy {
            return true;
        }
        if let Some(&known) = self.stay_open.get(&(lex, class)) {
            return known;
        }
        let ranges = inner.classes.get(class);
        let has = |byte: u8| {
            // Which characters the bytes of others may be is not looked at.
            let is_in = |range: &(u32, u32)| (range.0..=range.1).contains(&u32::from(byte));
            byte >= 0x80 || ranges.iter().any(is_in)
        };
        let mut bytes: Vec<u8> = (0..=255).filter(|&byte| has(byte)).collect();
        let classes = &inner.lexer.classes;
        bytes.sort_unstable_by_key(|&byte| classes[usize::from(byte)]);
        bytes.dedup_by_key(|byte| classes[usize::from(*byte)]);
        let mut met = vec![lex];
        let mut at = 0;
        let mut is_open = true;
        while is_open && let Some(&from) = met.get(at) {
            at += 1;
            is_open = self.lexes[from as usize].lazy.is_empty() && met.len() <= MAX_PLACES;
            for &byte in &bytes {
                let to = self.lex_step(from, classes[usize::from(byte)], inner);
                if to != 0 && !met.contains(&to) {
                    met.push(to);
                }
            }
        }
        self.bytes += 24;
        self.stay_open.insert((lex, class), is_open);
        is_open
    }

    /// A class of which any text leads on from a state of a terminal, and how many ASCII
    /// characters it has.
    fn free_from(&mut self, state: u32, inner: &Inner) -> Option<(usize, ClassId)> {
        if let Some(&known) = self.free.get(&state) {
            return known;
        }
        let lexer = &inner.lexer;
        let step = |state: u32, byte: u8| lexer.step(state, lexer.classes[usize::from(byte)]);
        let into_loops = (0..128).map(|byte| {
            let to = step(state, byte);
            if to != 0 && step(to, byte) == to {
                to
            } else {
                0
            }
        });
        let free = most(into_loops)
            .filter(|&(_, count)| count >= LEAST_CHARS)
            .and_then(|(to, count)| {
                let ranges = Finder::class((state, to), (to, to), |(a, b), byte| {
                    let next = (step(a, byte), step(b, byte));
                    (next.0 != 0 && next.1 != 0).then_some(next)
                });
                inner.classes.id(ranges).map(|class| (count, class))
            });
        self.bytes += 24;
        self.free.insert(state, free);
        free
    }
}
