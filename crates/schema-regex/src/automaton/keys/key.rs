//! Keys of one automaton: what the mask at a cursor can depend on.

use fsm_index::{Cursor, Horizon};

use crate::automaton::keys::object_summary;
use crate::automaton::keys::tag::Tag;
use crate::automaton::machine::Machine;
use crate::automaton::machine::node::{Span, StringMachine};
use crate::automaton::run::config::{
    Config, Frame, Gap, Key, Str, Top, UNKNOWN, UNKNOWN_ITEM, is_kept,
};
use crate::automaton::run::member_names;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::language::clamped;
use crate::language::escapes::is_never_raw;
use crate::options::Escapes;

/// Whether some character of a name may be written as an escape: where none may,
/// an escape leads away from the name.
pub(crate) fn may_escape(machine: &Machine, name: &[u8]) -> bool {
    let escaped = |byte: &u8| is_never_raw(*byte) || !byte.is_ascii();
    machine.name_escapes() == Escapes::All || name.iter().any(escaped)
}

/// The number of the automaton of a node's numbers, if they are without
/// bounds.
fn common_number(machine: &Machine, node: u32) -> Option<u32> {
    let m = machine.node(node).number.as_ref()?;
    match (&*m.leaves, &*m.dfas) {
        ([_], [dfa]) => dfa.common,
        _ => None,
    }
}

/// Whether the key of the topmost level means the same under every schema:
/// strings that are free or only counted, and numbers without bounds. It
/// tells everything that can be read before their end.
pub(crate) fn is_plain(machine: &Machine, top: Top, horizon: Horizon<'_>) -> bool {
    match top {
        Top::String { node, text, .. } => machine.node(node).string.as_ref().is_some_and(|m| {
            let bytes = clamped(horizon.bytes());
            m.free.is_some() || counted(m, &text, bytes).is_some()
        }),
        Top::Number { node, .. } => common_number(machine, node).is_some(),
        _ => false,
    }
}

/// How many levels may still be opened, alike where no token can tell, if no
/// value needs more than `tallest`.
pub(crate) fn room_told(
    machine: &Machine,
    stack: u32,
    tallest: u32,
    horizon: Horizon<'_>,
    x: &Scratch,
) -> u32 {
    machine
        .room(x.depth(stack))
        .min(much_room(tallest, horizon))
}

/// Appends what the mask at a cursor can depend on; see
/// [`fsm_index::ByteAutomaton::key`].
pub(crate) fn key_of(
    machine: &Machine,
    cursor: Cursor,
    depth: usize,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> bool {
    if cursor.is_dead() {
        return false;
    }
    let before = out.len();
    let Config { top, stack, item } = *x.configs.get(cursor.0);
    if is_kept(item) {
        return false;
    }
    // Where an item differs, what it opens is not compared.
    if item == UNKNOWN_ITEM {
        out.push(Tag::InItem as u32);
    }
    if !push_top(machine, top, stack, (depth, horizon), x, out) {
        return false;
    }
    // What begins at the topmost level may open more.
    let opens = depth > 1 || !matches!(top, Top::Number { .. } | Top::String { .. });
    if !machine.is_bounded() && opens {
        out.push(room_told(machine, stack, machine.tallest(), horizon, x));
    }
    // Between names they are told apart from their first bytes on.
    let names = matches!(
        top,
        Top::Key(_)
            | Top::Gap {
                gap: Gap::ObjectStart | Gap::BeforeKey | Gap::BeforeFurther,
                ..
            }
    );
    if key_of_stack(machine, (stack, names), depth, horizon, x, out)
        && out.len() - before <= MAX_KEY
    {
        return true;
    }
    out.truncate(before);
    false
}

/// Appends what a mask can depend on of the topmost level, if that can be told.
fn push_top(
    machine: &Machine,
    top: Top,
    stack: u32,
    (depth, horizon): (usize, Horizon<'_>),
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> bool {
    match top {
        Top::Value { node, set, space } => {
            out.extend([Tag::Value as u32, machine.node(node).alias, space]);
            push_list(x, set, out);
        }
        Top::Unit { word, at, set } => {
            out.extend([Tag::Unit as u32, word.into(), at.into()]);
            push_list(x, set, out);
        }
        Top::Number {
            node,
            state,
            set: _,
        } if depth == 1 && stack != 0 && common_number(machine, node).is_some() => {
            // Before its end, one number without bounds is like the other.
            let number = common_number(machine, node).unwrap_or_default();
            out.extend([Tag::CommonNumber as u32, number, state]);
        }
        Top::Number { node, set, state } => {
            out.extend([Tag::Number as u32, machine.node(node).alias]);
            push_list(x, set, out);
            let number = machine.node(node).number.as_ref();
            push_state(x, state, number.is_some_and(|m| m.dfas.len() > 1), out);
        }
        Top::String { node, set, text } => {
            let Some(m) = machine.node(node).string.as_ref() else {
                return false;
            };
            let Str {
                state,
                words,
                length,
                partial,
            } = text;
            let bytes = clamped(horizon.bytes());
            if depth == 1 && m.free.is_some() {
                // Before its end, one free string is like the other.
                out.push(Tag::FreeString as u32);
                out.extend(partial.packed());
            } else if let (1, Some((more, less))) = (depth, counted(m, &text, bytes)) {
                // Likewise of strings that are only counted, how many
                // characters are missing and how many may come.
                out.extend([Tag::CountedString as u32, more, less]);
                out.extend(partial.packed());
            } else {
                out.extend([Tag::String as u32, machine.node(node).alias]);
                push_list(x, set, out);
                push_state(x, state, m.dfas.len() > 1, out);
                push_span(words, out);
                out.extend(partial.packed());
                out.push(length_told(m, length, bytes));
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
            out.extend([Tag::Key as u32, state]);
            out.extend(partial.packed());
            if depth == 1 && key.is_further() {
                push_further(machine, stack, x, out);
            } else {
                push_span(names, out);
                push_span(used, out);
            }
        }
        Top::Gap { gap, space } => {
            out.extend([Tag::Gap as u32, gap as u32, space]);
            if depth == 1 && gap == Gap::BeforeFurther {
                push_further(machine, stack, x, out);
            }
            // Of an object whose member is open its frame may not be told.
            if gap == Gap::Colon {
                let top = Noted::beside_masks(stack);
                let frame = x.peek(top).frame;
                if let Some(m) = &machine.node(frame.node).object {
                    let goals = member_names::goals_of_member(machine, top, frame.member, x);
                    out.push(machine.node(m.member(frame.member).node).alias);
                    push_list(x, goals, out);
                }
            }
        }
        Top::End => out.push(Tag::End as u32),
    }
    true
}

/// Appends what tells the further names of an object apart: without classes all are
/// alike.
fn push_further(machine: &Machine, stack: u32, x: &mut Scratch, out: &mut Vec<u32>) {
    let top = Noted::beside_masks(stack);
    let usable = member_names::usable(machine, top, x);
    let node = x.peek(top).frame.node;
    let keys = machine.node(node).object.as_ref().map(|m| m.keys.is_some());
    out.push(if keys == Some(true) { node } else { u32::MAX });
    push_values(x, usable.values, out);
}

/// Appends what a mask can depend on below the topmost level, which may be before a
/// name or in it.
fn key_of_stack(
    machine: &Machine,
    (stack, names): (u32, bool),
    depth: usize,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> bool {
    let before = out.len();
    let mut at = stack;
    for _ in 1..depth {
        if at == 0 {
            break;
        }
        let below = x.peek(Noted::beside_masks(at)).below;
        let in_names = names && at == stack;
        if (in_names || !object_summary::push_object_summary(machine, at, horizon, x, out))
            && !push_frame(at, x, out)
        {
            return false;
        }
        if out.len() - before > MAX_KEY {
            return false;
        }
        at = below;
    }
    if at == 0 {
        out.push(Tag::Bottom as u32);
    }
    true
}

/// As many levels as no token can open, in values that need no more than `tallest`.
pub(crate) fn much_room(tallest: u32, horizon: Horizon<'_>) -> u32 {
    let opened = horizon.occurrences(b'[') + horizon.occurrences(b'{');
    tallest.saturating_add(clamped(opened))
}

/// Appends the whole frame on top of a stack, if a mask can be told by it.
fn push_frame(stack: u32, x: &Scratch, out: &mut Vec<u32>) -> bool {
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
    } = x.peek(Noted::beside_masks(stack)).frame;
    out.extend([Tag::Frame as u32, node, pos, count, member]);
    push_list(x, threads, out);
    push_list(x, used, out);
    let seen = x.seen.get(seen);
    if seen.list.len() > MAX_KEY {
        return false;
    }
    out.push(seen.list.len() as u32);
    for name in seen.list.iter() {
        out.push(name.len() as u32);
        push_text(name, out);
    }
    !seen.unknown
}

/// The longest mask key, in words.
const MAX_KEY: usize = 512;

/// Of a string of which only the characters are counted: how many must come at
/// least, and one more than how many may; alike where `horizon` bytes cannot
/// tell.
fn counted(m: &StringMachine, text: &Str, horizon: u32) -> Option<(u32, u32)> {
    let [leaf] = &*m.leaves else { return None };
    if leaf.listed || leaf.excludes || leaf.dfa.is_some() || leaf.lengths.is_some() {
        return None;
    }
    let clamp = |left: u64| clamped(left).min(horizon + 1);
    let length = u64::from(text.length);
    let less = match leaf.max {
        Some(max) => clamp(max.checked_sub(length)?) + 1,
        None => 0,
    };
    Some((clamp(leaf.min.saturating_sub(length)), less))
}

/// A length, alike where no text of at most `horizon` bytes can tell.
pub(crate) fn length_told(m: &StringMachine, length: u32, horizon: u32) -> u32 {
    if m.cap == 0 {
        return 0;
    }
    let exact = m.leaves.iter().any(|leaf| {
        let far = |bound: u64| bound > u64::from(length) + u64::from(horizon);
        let lengths = leaf.lengths.as_ref();
        lengths.is_some_and(|l| !l.are_far(length.into(), horizon.into()))
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

pub(crate) fn push_list(x: &Scratch, id: u32, out: &mut Vec<u32>) {
    let list = x.lists.get(id);
    out.push(list.len() as u32);
    out.extend(list.iter());
}

/// What the values of further names must be: class, node and goals of each.
fn push_values(x: &Scratch, id: u32, out: &mut Vec<u32>) {
    let values = x.lists.get(id);
    out.push(values.len() as u32);
    for value in values.chunks_exact(3) {
        out.extend([value[0], value[1]]);
        push_list(x, value[2], out);
    }
}

pub(crate) fn push_state(x: &Scratch, state: u32, several: bool, out: &mut Vec<u32>) {
    if several {
        push_list(x, state, out);
    } else {
        out.push(state);
    }
}

pub(crate) fn push_span(span: Span, out: &mut Vec<u32>) {
    out.extend([span.lo, span.hi, span.read]);
}

fn push_text(text: &str, out: &mut Vec<u32>) {
    for chunk in text.as_bytes().chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        out.push(u32::from_le_bytes(word));
    }
}
