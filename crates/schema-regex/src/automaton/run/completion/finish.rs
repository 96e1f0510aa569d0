//! Completions: a short text from a state to acceptance. At each place where
//! something has to be chosen, one thread is followed and what it lacks is
//! written: scalars before containers, flat containers before tall ones.
//!
//! For example, behind `{"a": ` with an integer wanted and nothing else required it writes `0}`.

use schema_normal::normal::alternative::Kind;

use crate::automaton::machine::Machine;
use crate::automaton::machine::node::EMPTY;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::completion::{lacking, shortest};
use crate::automaton::run::config::{Config, EMPTY_LIST, Gap, Top, UNITS};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::{another_value, number_bytes, step, text_runs, unique_items};

/// Writes the rest of a text that is admitted.
pub(super) struct Finisher<'a> {
    pub(super) machine: &'a Machine,
    pub(super) x: &'a mut Scratch,
    pub(super) out: &'a mut Vec<u8>,
}

impl<'a> Finisher<'a> {
    pub(super) fn new(machine: &'a Machine, x: &'a mut Scratch, out: &'a mut Vec<u8>) -> Self {
        Finisher { machine, x, out }
    }

    pub(super) fn finish(&mut self, first: Config, most: usize) -> bool {
        let start = self.out.len();
        let mut config = first;
        let (mut detours, mut steps) = (0, 0u64);
        // The same text with all ways open, read as far as to the last detour.
        let (mut wide, mut read) = (first, start);
        while self.out.len() - start <= most && !self.x.allowance().is_spent() {
            let length = self.out.len();
            if config.stack != 0 {
                let seen = self.x.peek(Noted::beside_masks(config.stack)).frame.seen;
                let count = self.x.seen(seen).list.len() as u64;
                self.x.allowance().search(count / AS_A_STATE);
            }
            self.x.allowance().set_room(most - (length - start));
            steps += 1;
            let state = u64::from(steps.is_multiple_of(STEPS_A_STATE));
            self.x.allowance().search(state);
            if let Some(next) = self.finish_one(config) {
                config = next;
                continue;
            }
            self.out.truncate(length);
            detours += 1;
            if has_ended(self.machine, &config, self.x) {
                return true;
            }
            if detours > MAX_DETOURS || self.x.allowance().is_too_small() {
                return false;
            }
            // The plain way is barred by items that must differ: another one,
            // which exists, of all ways that were open.
            let behind = self.out[read..].iter();
            let Some(here) = behind
                .copied()
                .try_fold(wide, |c, b| step::next(self.machine, c, b, self.x))
            else {
                return false;
            };
            let bytes = unique_items::bytes_to_try(&here);
            let way = bytes.into_iter().chain(0x20..=0xFF).find_map(|byte| {
                step::next(self.machine, here, byte, self.x).map(|next| (byte, next))
            });
            let Some((byte, next)) = way else {
                return false;
            };
            self.out.push(byte);
            (wide, read) = (next, self.out.len());
            config = next;
        }
        false
    }

    pub(super) fn feed(&mut self, config: Config, text: &[u8]) -> Option<Config> {
        let next = text_runs::read_known(self.machine, config, text, self.x)?;
        self.out.extend_from_slice(text);
        Some(next)
    }

    /// One step nearer to the end; `None` at the end.
    pub(super) fn finish_one(&mut self, config: Config) -> Option<Config> {
        match config.top {
            Top::End => None,
            Top::Unit { word, at, .. } => self.feed(config, &UNITS[word as usize][at as usize..]),
            Top::Value { space, .. } => {
                let config = self.feed(config, &self.machine.space().finish(space))?;
                self.begin_value(config)
            }
            Top::Number { node, set, state } => {
                let held = number_bytes::number_goals(self.machine, node, set, state, self.x);
                if held == EMPTY_LIST {
                    let more = shortest::shortest_number(self.machine, config, self.x)?;
                    return self.feed(config, &more);
                }
                if config.stack == 0 {
                    return None;
                }
                // Whatever ends the array or object ends the number.
                self.after_number(config)
            }
            Top::String { .. } => {
                let more = shortest::shortest_string(self.machine, config, self.x)?;
                self.feed(config, &more)
            }
            Top::Key(key) => {
                let more = shortest::shortest_name(self.machine, config, key, self.x)?;
                self.feed(config, &more)
            }
            Top::Gap(gap, space) => {
                let config = self.feed(config, &self.machine.space().finish(space))?;
                self.finish_gap(config, gap)
            }
        }
    }

    fn after_number(&mut self, config: Config) -> Option<Config> {
        let white = self.machine.space().finish(self.machine.space().elsewhere);
        let config = self.feed(config, &white)?;
        for byte in b"]}," {
            if let Some(next) = step::next(self.machine, config, *byte, self.x) {
                self.out.push(*byte);
                return Some(lacking::narrowed(self.machine, next, self.x));
            }
        }
        // It may not be this number again: a longer one, one spelling of each.
        let length = self.out.len();
        for more in unique_items::longer_numbers(self.machine, &config, self.x) {
            if let Some(next) = self.feed(config, more.as_bytes())
                && b"]},"
                    .iter()
                    .any(|b| step::next(self.machine, next, *b, self.x).is_some())
            {
                return Some(next);
            }
            self.out.truncate(length);
        }
        None
    }

    fn finish_gap(&mut self, config: Config, gap: Gap) -> Option<Config> {
        match gap {
            Gap::Colon => {
                let config = self.feed(config, b":")?;
                Some(lacking::narrowed(self.machine, config, self.x))
            }
            Gap::ObjectStart | Gap::AfterMember => {
                if let Some(next) = step::next(self.machine, config, b'}', self.x) {
                    self.out.push(b'}');
                    return Some(next);
                }
                let config = if gap == Gap::AfterMember {
                    let next = self.feed(config, b",")?;
                    let white = self
                        .machine
                        .space()
                        .finish(self.machine.space().after_separator);
                    self.feed(next, &white)?
                } else {
                    config
                };
                self.name(config)
            }
            Gap::BeforeKey | Gap::BeforeFurther => self.name(config),
            Gap::ArrayStart | Gap::AfterItem => {
                if let Some(next) = step::next(self.machine, config, b']', self.x) {
                    self.out.push(b']');
                    return Some(next);
                }
                if gap == Gap::AfterItem {
                    let next = self.feed(config, b",")?;
                    return Some(lacking::narrowed(self.machine, next, self.x));
                }
                // The first item: its goals are those of the array itself.
                let top = self.x.frame(config.stack);
                let choice = lacking::item_choice(self.machine, config.stack, self.x)?;
                let m = self.machine.array(top.frame.node)?;
                let member = m.members.first()?;
                let set = self.x.add_list(&[choice.goal]);
                let item = Top::Value {
                    node: member.node,
                    set,
                    space: NO_SPACE,
                };
                self.begin_value(Config {
                    top: item,
                    ..config
                })
            }
        }
    }

    /// Begins the value that comes next, with the first of its heads that may
    /// come: an item that must differ bars those that lead to no other value.
    fn begin_value(&mut self, config: Config) -> Option<Config> {
        let Top::Value { node, set, .. } = config.top else {
            return None;
        };
        if let Some((text, next)) = another_value::another_value(self.machine, config, self.x) {
            self.out.extend(text);
            return Some(next);
        }
        let (head, next) = first_bytes(self.machine, node, set, self.x)
            .into_iter()
            .find_map(|head| {
                step::next(self.machine, config, head, self.x).map(|next| (head, next))
            })?;
        self.out.push(head);
        Some(next)
    }
}

/// So many names, or values of a list, are looked through in the time of a state, because each is
/// one comparison of a few bytes.
pub(super) const AS_A_STATE: u64 = 64;

/// So many steps of a completion take the time of a searched state, because each tries one way.
const STEPS_A_STATE: u64 = 4;

/// The most detours of a completion, one byte each that is found by trying, because each reads on
/// all ways that are open.
const MAX_DETOURS: usize = 10_000;

/// Tells whether the text may end here, and nothing has to be added.
pub(super) fn has_ended(machine: &Machine, config: &Config, x: &mut Scratch) -> bool {
    match config.top {
        Top::End => true,
        Top::Number { node, set, state } => {
            config.stack == 0
                && number_bytes::number_goals(machine, node, set, state, x) != EMPTY_LIST
        }
        _ => false,
    }
}

/// The first bytes that values may have: scalars first, then what is
/// flattest.
fn first_bytes(machine: &Machine, node: u32, set: u32, x: &Scratch) -> Vec<u8> {
    let n = machine.node(node);
    let wanted = x.list(set);
    let mut heads = Vec::new();
    let scalars = [
        (Kind::Number, &b"0123456789-"[..]),
        (Kind::String, b"\""),
        (Kind::Null, b"n"),
        (Kind::False, b"f"),
        (Kind::True, b"t"),
    ];
    for (kind, bytes) in scalars {
        if n.may_be(kind, |goal| wanted.contains(&goal)) {
            heads.extend(bytes);
        }
    }
    let least = |goals: &mut dyn Iterator<Item = u32>| {
        goals
            .filter(|goal| wanted.contains(goal))
            .map(|goal| n.heights[goal as usize])
            .min()
            .unwrap_or(EMPTY)
    };
    let arrays = n.array.iter().flat_map(|m| m.threads.iter());
    let array = least(&mut arrays.map(|thread| thread.goal));
    let objects = n.object.iter().flat_map(|m| m.threads.iter());
    let object = least(&mut objects.map(|thread| thread.goal));
    heads.extend(match array <= object {
        true => b"[{",
        false => b"{[",
    });
    heads
}
