//! Hints for whoever walks: where text of a class is read in a loop, which
//! cursor resembles another, and what a mask can depend on.

use std::sync::OnceLock;

use fsm_index::{ClassId, Cursor, JSON_TEXT, TextLoop};

use super::SchemaAutomaton;
use super::dfa::{CharDfa, DEAD};
use super::node::{Leaf, ObjectMachine, Span, StringMachine};
use super::scratch::{Config, Key, NO_TEXT, Scratch, Str, Top, UNKNOWN};
use super::step::string_live;
use super::text::Partial;

/// The class of [`JSON_TEXT`].
const ANY_TEXT: ClassId = ClassId(0);

/// Classes smaller than this are quicker to walk.
const LEAST_CLASS: u32 = 24;

/// Ranges of code points.
type Ranges = Box<[(u32, u32)]>;

/// The loops of the automata of strings and names: a class for each state.
#[derive(Debug, Default)]
pub(super) struct Loops {
    classes: Vec<OnceLock<Ranges>>,
}

impl Loops {
    /// The number of the first state's class.
    pub(super) fn reserve(&mut self, states: usize) -> u32 {
        let base = self.classes.len();
        self.classes.resize_with(base + states, OnceLock::new);
        base as u32
    }

    fn class(&self, dfa: &CharDfa, base: u32, state: u32) -> Option<ClassId> {
        let at = base + state;
        let ranges = self.classes.get(at as usize)?.get_or_init(|| {
            let mut out = Vec::new();
            for (lo, hi) in dfa.loop_class(state) {
                for (a, b) in JSON_TEXT {
                    let (from, to) = (lo.max(*a), hi.min(*b));
                    if from <= to {
                        out.push((from, to));
                    }
                }
            }
            out.into()
        });
        let size: u32 = ranges.iter().map(|(a, b)| b - a + 1).sum();
        (size >= LEAST_CLASS).then_some(ClassId(at + 1))
    }

    pub(super) fn ranges(&self, class: ClassId) -> &[(u32, u32)] {
        match class.0.checked_sub(1) {
            None => JSON_TEXT,
            Some(at) => self
                .classes
                .get(at as usize)
                .and_then(OnceLock::get)
                .map_or(&[], |c| c),
        }
    }
}

impl SchemaAutomaton {
    pub(super) fn loop_at(
        &self,
        cursor: Cursor,
        horizon: usize,
        x: &mut Scratch,
    ) -> Option<TextLoop> {
        if cursor.is_dead() {
            return None;
        }
        let config = *x.configs.get(cursor.0);
        if config.item != NO_TEXT {
            return None;
        }
        match config.top {
            Top::String { node, set, text } if text.partial == Partial::None => {
                let m = self.node(node).string.as_ref()?;
                self.string_loop(config, cursor, m, (node, set), text, horizon, x)
            }
            Top::Key(key)
                if key.partial == Partial::None
                    && key.text == UNKNOWN
                    && key.names.is_none()
                    && key.used.is_none() =>
            {
                let usable = self.usable(config.stack, x);
                let frame = x.frame(config.stack).frame;
                let m = self.node(frame.node).object.as_ref()?;
                if usable.classes == 0 {
                    return None;
                }
                let class = self.key_loop(m, key.state, usable.classes)?;
                Some(TextLoop {
                    class,
                    next: cursor,
                    steady: u32::MAX,
                })
            }
            _ => None,
        }
    }

    fn key_loop(&self, m: &ObjectMachine, state: u32, classes: u64) -> Option<ClassId> {
        let Some(keys) = &m.keys else {
            return Some(ANY_TEXT);
        };
        if state == DEAD {
            return None;
        }
        let endless = (0..m.classes.len())
            .any(|c| classes & (1 << c) != 0 && keys.counts[c][state as usize].is_none());
        if !endless {
            return None;
        }
        self.loops.class(&keys.dfa, keys.loops, state)
    }

    #[allow(clippy::too_many_arguments)]
    fn string_loop(
        &self,
        config: Config,
        cursor: Cursor,
        m: &StringMachine,
        (node, set): (u32, u32),
        text: Str,
        horizon: usize,
        x: &mut Scratch,
    ) -> Option<TextLoop> {
        if m.free.is_some() {
            return Some(TextLoop {
                class: ANY_TEXT,
                next: cursor,
                steady: u32::MAX,
            });
        }
        if !text.words.is_none() {
            return None;
        }
        let wanted = x.list(set);
        let leaves: Vec<&Leaf> = m
            .leaves
            .iter()
            .filter(|l| wanted.contains(&l.goal) && !l.listed)
            .collect();
        let with_dfa = leaves.iter().filter(|l| l.dfa.is_some()).count();
        let length = if text.length < m.cap {
            text.length + 1
        } else {
            text.length
        };
        let next = Str { length, ..text };
        if !string_live(m, set, &next, x) {
            return None;
        }
        let class = match (with_dfa, &*m.dfas) {
            (0, _) => ANY_TEXT,
            (n, [dfa]) if n == leaves.len() && text.state != DEAD => {
                self.loops.class(dfa, m.loops[0], text.state)?
            }
            _ => return None,
        };
        let mut steady = u32::MAX;
        for leaf in &leaves {
            if leaf.dfa.is_some() {
                if leaf.lengths.is_some() {
                    steady = 0;
                }
                continue;
            }
            let here = u64::from(text.length);
            let mut far = u64::MAX;
            if let Some(max) = leaf.max {
                far = far.min(max.saturating_sub(here).saturating_sub(horizon as u64));
            }
            if here < leaf.min {
                far = far.min((leaf.min - here).saturating_sub(horizon as u64));
            }
            steady = steady.min(u32::try_from(far).unwrap_or(u32::MAX));
        }
        let next = Config {
            top: Top::String {
                node,
                set,
                text: next,
            },
            ..config
        };
        Some(TextLoop {
            class,
            next: Cursor(x.configs.add(next)),
            steady,
        })
    }

    /// A cursor without the names and words that only single texts reach.
    pub(super) fn like(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        if cursor.is_dead() {
            return None;
        }
        let config = *x.configs.get(cursor.0);
        if config.item != NO_TEXT {
            return None;
        }
        let top = match config.top {
            Top::Key(key)
                if key.partial == Partial::None
                    && key.text == UNKNOWN
                    && !(key.names.is_none() && key.used.is_none()) =>
            {
                let usable = self.usable(config.stack, x);
                let frame = x.frame(config.stack).frame;
                let m = self.node(frame.node).object.as_ref()?;
                self.key_loop(m, key.state, usable.classes)?;
                Top::Key(Key {
                    names: Span::NONE,
                    used: Span::NONE,
                    ..key
                })
            }
            Top::String { node, set, text }
                if text.partial == Partial::None && !text.words.is_none() =>
            {
                let m = self.node(node).string.as_ref()?;
                let text = Str {
                    words: Span::NONE,
                    ..text
                };
                if !string_live(m, set, &text, x) {
                    return None;
                }
                Top::String { node, set, text }
            }
            _ => return None,
        };
        Some(Cursor(x.configs.add(Config { top, ..config })))
    }

    /// Appends what the mask at a cursor can depend on; see
    /// [`fsm_index::ByteAutomaton::mask_key`].
    pub(super) fn key_of(
        &self,
        cursor: Cursor,
        depth: usize,
        horizon: usize,
        x: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> bool {
        if cursor.is_dead() {
            return false;
        }
        let before = out.len();
        let config = *x.configs.get(cursor.0);
        if config.item != NO_TEXT {
            return false;
        }
        let horizon = u32::try_from(horizon).unwrap_or(u32::MAX);
        match config.top {
            Top::Value { node, set, space } => {
                out.extend([1, node, space]);
                push_list(x, set, out);
            }
            Top::Unit { word, at, set } => {
                out.extend([2, u32::from(word), u32::from(at)]);
                push_list(x, set, out);
            }
            Top::Number { node, set, state } => {
                out.extend([3, node]);
                push_list(x, set, out);
                let several = self
                    .node(node)
                    .number
                    .as_ref()
                    .is_some_and(|m| m.dfas.len() > 1);
                push_state(x, state, several, out);
            }
            Top::String { node, set, text } => {
                let Some(m) = self.node(node).string.as_ref() else {
                    return false;
                };
                out.extend([4, node]);
                push_list(x, set, out);
                push_state(x, text.state, m.dfas.len() > 1, out);
                push_span(text.words, out);
                push_partial(text.partial, out);
                out.push(clamped(m, text.length, horizon));
            }
            Top::Key(key) => {
                if key.text != UNKNOWN {
                    return false;
                }
                out.extend([5, key.state]);
                push_span(key.names, out);
                push_span(key.used, out);
                push_partial(key.partial, out);
            }
            Top::Gap { gap, space } => out.extend([6, gap as u32, space]),
            Top::End => out.push(7),
        }
        if !self.bounded {
            let room = self.room(config.stack, x);
            out.push(room.min(self.tallest.saturating_add(horizon)));
        }
        let mut at = config.stack;
        for _ in 1..depth {
            if at == 0 {
                break;
            }
            let node = *x.stacks.get(at);
            let f = node.frame;
            out.extend([8, f.node, f.pos, f.count, f.member]);
            push_list(x, f.threads, out);
            push_list(x, f.used, out);
            let seen = x.seen.get(f.seen);
            if seen.unknown {
                out.truncate(before);
                return false;
            }
            out.push(seen.list.len() as u32);
            for name in seen.list.iter() {
                out.push(name.len() as u32);
                push_text(name, out);
            }
            if out.len() - before > MAX_KEY {
                out.truncate(before);
                return false;
            }
            at = node.below;
        }
        if at == 0 {
            out.push(9);
        }
        true
    }
}

/// The longest mask key, in words.
const MAX_KEY: usize = 512;

/// A length, alike where no text of at most `horizon` bytes can tell.
fn clamped(m: &StringMachine, length: u32, horizon: u32) -> u32 {
    if m.cap == 0 {
        return 0;
    }
    let exact = m.leaves.iter().any(|leaf| {
        let far = |bound: u64| bound > u64::from(length) + u64::from(horizon);
        leaf.lengths.is_some()
            || (u64::from(length) < leaf.min && !far(leaf.min))
            || leaf
                .max
                .is_some_and(|max| !far(max) && u64::from(length) <= max)
    });
    if exact {
        return length + 1 + (m.leaves.len() as u32);
    }
    // Which bounds lie ahead, far away.
    m.leaves
        .iter()
        .filter(|leaf| u64::from(length) < leaf.min)
        .count() as u32
}

fn push_list(x: &Scratch, id: u32, out: &mut Vec<u32>) {
    let list = x.lists.get(id);
    out.push(list.len() as u32);
    out.extend(list.iter());
}

fn push_state(x: &Scratch, state: u32, several: bool, out: &mut Vec<u32>) {
    if several {
        push_list(x, state, out);
    } else {
        out.push(state);
    }
}

fn push_span(span: Span, out: &mut Vec<u32>) {
    out.extend([span.lo, span.hi, span.read]);
}

fn push_text(text: &str, out: &mut Vec<u32>) {
    for chunk in text.as_bytes().chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        out.push(u32::from_le_bytes(word));
    }
}

fn push_partial(partial: Partial, out: &mut Vec<u32>) {
    match partial {
        Partial::None => out.push(0),
        Partial::Utf8 { bits, left, least } => out.extend([1, bits, u32::from(left), least]),
        Partial::Escape => out.push(2),
        Partial::Hex {
            value,
            digits,
            high,
        } => out.extend([3, value, u32::from(digits), high]),
        Partial::HighEscape { high } => out.extend([4, high]),
        Partial::HighU { high } => out.extend([5, high]),
    }
}
