//! Keys of one automaton: what the mask at a cursor can depend on.
//!
//! For example, two places inside of free strings have one key, since nothing but the string's end
//! lies ahead of a token there.

use fsm_index::{Cursor, Horizon};
use schema_normal::decimal::clamped;

use crate::automaton::machine::Machine;
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::config::{
    Config, Frame, Gap, Key, Str, Top, UNKNOWN, UNKNOWN_ITEM, is_kept,
};
use crate::automaton::run::keys::Keys;
use crate::automaton::run::keys::tag::Tag;
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::Noted;
use crate::automaton::run::span::Span;

impl Keys<'_> {
    /// Tells whether the key of the topmost level means the same under every schema: strings that
    /// are free or only counted, and numbers without bounds. It tells everything that can be read
    /// before their end.
    pub(super) fn is_plain(&self, top: Top) -> bool {
        match top {
            Top::String { node, text, .. } => self.machine.string(node).is_some_and(|m| {
                let bytes = clamped(self.horizon.bytes());
                m.is_free() || counted(m, &text, bytes).is_some()
            }),
            Top::Number { node, .. } => common_number(self.machine, node).is_some(),
            _ => false,
        }
    }

    /// Returns the number of levels that may still be opened, alike where no token can tell, if no
    /// value needs more than `tallest`.
    pub(super) fn room_told(&self, stack: u32, tallest: u32) -> u32 {
        self.machine
            .room(self.x.depth(stack))
            .min(much_room(tallest, self.horizon))
    }

    /// Appends what the mask at a cursor can depend on; see
    /// [`fsm_index::ByteAutomaton::key`].
    pub(super) fn key_of(&mut self, cursor: Cursor, depth: usize) -> bool {
        if cursor.is_dead() {
            return false;
        }
        let before = self.out.len();
        let Config { top, stack, item } = *self.x.config(cursor);
        if is_kept(item) {
            return false;
        }
        // The values that an item opens are not compared if the item differs.
        if item == UNKNOWN_ITEM {
            self.out.push(Tag::InItem as u32);
        }
        if !self.push_top(top, stack, depth) {
            return false;
        }
        // A value that begins at the topmost level may open more.
        let opens = depth > 1 || !matches!(top, Top::Number { .. } | Top::String { .. });
        if !self.machine.is_bounded() && opens {
            self.out.push(self.room_told(stack, self.machine.tallest()));
        }
        if self.key_of_stack(top, stack, depth) && self.out.len() - before <= MAX_KEY {
            return true;
        }
        self.out.truncate(before);
        false
    }

    /// Appends what a mask can depend on of the topmost level, if that can be told.
    fn push_top(&mut self, top: Top, stack: u32, depth: usize) -> bool {
        match top {
            Top::Value { node, set, space } => {
                self.out
                    .extend([Tag::Value as u32, self.machine.node(node).alias, space]);
                self.push_list(set);
            }
            Top::Unit { word, at, set } => {
                self.out.extend([Tag::Unit as u32, word.into(), at.into()]);
                self.push_list(set);
            }
            Top::Number {
                node,
                state,
                set: _,
            } if depth == 1 && stack != 0 && common_number(self.machine, node).is_some() => {
                // Before its end, one number without bounds is like the other.
                let number = common_number(self.machine, node).unwrap_or_default();
                self.out.extend([Tag::CommonNumber as u32, number, state]);
            }
            Top::Number { node, set, state } => {
                self.push_number(&[self.machine.node(node).alias], node, set, state);
            }
            Top::String { node, set, text } => {
                let Some(m) = self.machine.string(node) else {
                    return false;
                };
                let bytes = clamped(self.horizon.bytes());
                if depth == 1 && m.is_free() {
                    // Before its end, one free string is like the other.
                    self.out.push(Tag::FreeString as u32);
                    self.out.extend(text.partial.packed());
                } else if let (1, Some((more, less))) = (depth, counted(m, &text, bytes)) {
                    // Likewise of strings that are only counted, how many
                    // characters are missing and how many may come.
                    self.out.extend([Tag::CountedString as u32, more, less]);
                    self.out.extend(text.partial.packed());
                } else {
                    self.push_string(&[self.machine.node(node).alias], m, set, text);
                }
            }
            Top::Key(key) => {
                let Key {
                    state,
                    names,
                    used,
                    partial,
                    text,
                } = key;
                if text != UNKNOWN {
                    return false;
                }
                self.out.extend([Tag::Key as u32, state]);
                self.out.extend(partial.packed());
                if depth == 1 && key.is_further() {
                    self.push_further(stack);
                } else {
                    self.push_span(names);
                    self.push_span(used);
                }
            }
            Top::Gap(gap, space) => {
                self.out.extend([Tag::Gap as u32, gap as u32, space]);
                if depth == 1 && gap == Gap::BeforeFurther {
                    self.push_further(stack);
                }
                // The frame of an object whose member is open may not be told.
                if gap == Gap::Colon {
                    let top = Noted::beside_masks(stack);
                    let frame = self.x.peek(top).frame;
                    if let Some(m) = self.machine.object(frame.node) {
                        let goals =
                            member_names::goals_of_member(self.machine, top, frame.member, self.x);
                        self.out
                            .push(self.machine.node(m.member(frame.member).node).alias);
                        self.push_list(goals);
                    }
                }
            }
            Top::End => self.out.push(Tag::End as u32),
        }
        true
    }

    /// Appends what tells the further names of an object apart: without classes all are
    /// alike.
    fn push_further(&mut self, stack: u32) {
        let top = Noted::beside_masks(stack);
        let usable = member_names::usable(self.machine, top, self.x);
        let node = self.x.peek(top).frame.node;
        let keys = self.machine.object(node).map(|m| m.keys.is_some());
        self.out
            .push(if keys == Some(true) { node } else { u32::MAX });
        self.push_values(usable.values);
    }

    /// Appends what a mask can depend on below the topmost level, which says
    /// whether names come next.
    fn key_of_stack(&mut self, top: Top, stack: u32, depth: usize) -> bool {
        // Between names they are told apart from their first bytes on.
        let names = matches!(
            top,
            Top::Key(_) | Top::Gap(Gap::ObjectStart | Gap::BeforeKey | Gap::BeforeFurther, _)
        );
        let before = self.out.len();
        let mut at = stack;
        for _ in 1..depth {
            if at == 0 {
                break;
            }
            let below = self.x.peek(Noted::beside_masks(at)).below;
            let in_names = names && at == stack;
            if (in_names || !self.push_object_summary(at)) && !self.push_frame(at) {
                return false;
            }
            if self.out.len() - before > MAX_KEY {
                return false;
            }
            at = below;
        }
        if at == 0 {
            self.out.push(Tag::Bottom as u32);
        }
        true
    }

    /// Appends the whole frame on top of a stack, if a mask can be told by it.
    fn push_frame(&mut self, stack: u32) -> bool {
        // A node is of an array or of an object; where an item began is for items alone, which
        // have no key.
        let Frame {
            node,
            is_object: _,
            threads,
            pos,
            count,
            used,
            seen,
            member,
            start: _,
        } = self.x.peek(Noted::beside_masks(stack)).frame;
        self.out
            .extend([Tag::Frame as u32, node, pos, count, member]);
        self.push_list(threads);
        self.push_list(used);
        let seen = self.x.seen(seen);
        if seen.list.len() > MAX_KEY {
            return false;
        }
        self.out.push(seen.list.len() as u32);
        for name in seen.list.iter() {
            self.out.push(name.len() as u32);
            push_text(name, self.out);
        }
        !seen.unknown
    }

    /// Appends the inside of a number whose machine has a name.
    pub(super) fn push_number(&mut self, name: &[u32], node: u32, set: u32, state: u32) {
        self.out.push(Tag::Number as u32);
        self.out.extend(name);
        self.push_list(set);
        let number = self.machine.number(node);
        self.push_state(state, number.is_some_and(|m| m.dfas.len() > 1));
    }

    /// The same of a string.
    pub(super) fn push_string(&mut self, name: &[u32], m: &StringMachine, set: u32, text: Str) {
        let Str {
            state,
            words,
            length,
            partial,
        } = text;
        self.out.push(Tag::String as u32);
        self.out.extend(name);
        self.push_list(set);
        self.push_state(state, m.dfas.len() > 1);
        self.push_span(words);
        self.out.extend(partial.packed());
        let bytes = clamped(self.horizon.bytes());
        self.out.push(length_told(m, length, bytes));
    }

    pub(super) fn push_list(&mut self, id: u32) {
        let list = self.x.slice(id);
        self.out.push(list.len() as u32);
        self.out.extend(list.iter());
    }

    /// Appends the demands on the values of further names: class, node and goals of each.
    fn push_values(&mut self, id: u32) {
        let values = self.x.slice(id);
        self.out.push(values.len() as u32);
        for value in values.chunks_exact(3) {
            let goals = self.x.slice(value[2]);
            self.out.extend([value[0], value[1], goals.len() as u32]);
            self.out.extend(goals);
        }
    }

    fn push_state(&mut self, state: u32, several: bool) {
        if several {
            self.push_list(state);
        } else {
            self.out.push(state);
        }
    }

    fn push_span(&mut self, span: Span) {
        self.out.extend([span.lo, span.hi, span.read]);
    }
}

/// The number of the automaton of a node's numbers, if they are without
/// bounds.
fn common_number(machine: &Machine, node: u32) -> Option<u32> {
    let m = machine.number(node)?;
    match (&*m.leaves, &*m.dfas) {
        ([_], [dfa]) => dfa.common(),
        _ => None,
    }
}

/// As many levels as no token can open, in values that need no more than `tallest`.
pub(super) fn much_room(tallest: u32, horizon: Horizon<'_>) -> u32 {
    let opened = horizon.occurrences(b'[') + horizon.occurrences(b'{');
    tallest.saturating_add(clamped(opened))
}

fn push_text(text: &str, out: &mut Vec<u32>) {
    for chunk in text.as_bytes().chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        out.push(u32::from_le_bytes(word));
    }
}

/// The longest mask key, in words, because a longer one is seldom met again.
const MAX_KEY: usize = 512;

/// Returns the bounds of a string that only counts its characters: how many must come at least, and
/// one more than how many may; alike if `horizon` bytes cannot tell.
fn counted(m: &StringMachine, text: &Str, horizon: u32) -> Option<(u32, u32)> {
    let [leaf] = &*m.leaves else { return None };
    let StringDemand::Counted {
        min,
        max,
        excludes: false,
    } = leaf.demand
    else {
        return None;
    };
    let clamp = |left: u64| clamped(left).min(horizon + 1);
    let length = u64::from(text.length);
    let less = match max {
        Some(max) => clamp(max.checked_sub(length)?) + 1,
        None => 0,
    };
    Some((clamp(min.saturating_sub(length)), less))
}

/// A length, alike where no text of at most `horizon` bytes can tell.
fn length_told(m: &StringMachine, length: u32, horizon: u32) -> u32 {
    if !m.counts() {
        return 0;
    }
    let at = u64::from(length);
    let near = |bound: u64| at <= bound && bound <= at + u64::from(horizon);
    let is_exact = m.leaves.iter().any(|leaf| {
        let (min, max) = leaf.demand.bounds();
        let is_met = matches!(&leaf.demand, StringDemand::Read { lengths: Some(lengths), .. }
            if !lengths.are_far(at, horizon.into()));
        is_met || (at < min && near(min)) || max.is_some_and(near)
    });
    if is_exact {
        return length + 1 + (m.leaves.len() as u32);
    }
    // Which bounds lie ahead, far away.
    let ahead = m.leaves.iter().filter(|leaf| at < leaf.demand.bounds().0);
    ahead.count() as u32
}
