//! One byte: from one configuration to the next, or to none.
//!
//! For example, in a value of `{"type": ["integer", "array"]}` the byte `4` leads into a number,
//! `[` into an array, and `"` nowhere.

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::Machine;
use crate::automaton::machine::progress::ObjectAt;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::config::{
    Config, EMPTY_LIST, EMPTY_TEXT, FIRST, FIRST_THREAD, FORGOTTEN, Frame, Gap, Key, NAMED,
    NO_TEXT, Next, Top, UNITS, UNKNOWN_ITEM, has_goal, is_kept, threads_in,
};
use crate::automaton::run::object_steps::{self, are_several};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes as text;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::{StringSink, string_goals, string_live, string_start};
use crate::automaton::run::{
    equality, forgotten, member_names, number_bytes, plain_object, unique_items,
};

pub(super) fn next(machine: &Machine, config: Config, byte: u8, x: &mut Scratch) -> Option<Config> {
    let mut item = config.item;
    if is_kept(item) {
        item = x.texts_mut().add(item, u32::from(byte));
    }
    let (top, stack) = dispatch(machine, config.top, config.stack, byte, item, x)?;
    // Only at brackets the open item may be another one, or be none that must differ.
    if x.depth(stack) != x.depth(config.stack) {
        item = item_after(machine, config.stack, stack, item, x);
    } else if is_kept(item) && byte == b',' && is_outermost(machine, top, stack, x) {
        item = EMPTY_TEXT;
    }
    let next = Config { top, stack, item };
    if is_kept(item) && !x.is_searching() {
        return compared(machine, next, x);
    }
    Some(next)
}

/// A configuration with an item that may have to differ.
#[cold]
fn compared(machine: &Machine, next: Config, x: &mut Scratch) -> Option<Config> {
    let threat = unique_items::threat_to(machine, &next, x);
    if threat.exists {
        return unique_items::can_differ(machine, next, threat, x).then_some(next);
    }
    match x.forgets() {
        true => Some(forgotten::forgotten(machine, next, x).unwrap_or(next)),
        false => Some(next),
    }
}

/// Tells whether what comes next is an item of the outermost array whose items must differ.
fn is_outermost(machine: &Machine, top: Top, stack: u32, x: &mut Scratch) -> bool {
    let Top::Value { .. } = top else {
        return false;
    };
    let frame = x.frame(stack).frame;
    frame.start == 0 && frame.is_unique(machine)
}

/// The text of the item that is open where an array or object was opened or closed.
fn item_after(machine: &Machine, before: u32, stack: u32, item: u32, x: &mut Scratch) -> u32 {
    if item == NO_TEXT {
        // Outside of all such arrays only one that was just opened counts.
        let opened = stack != 0 && x.frame(stack).frame.is_unique(machine);
        return if opened { EMPTY_TEXT } else { NO_TEXT };
    }
    let mut levels = x.levels(stack);
    let unique = levels.find(|level| level.frame.is_unique(machine));
    let Some(level) = unique else {
        return NO_TEXT;
    };
    let is_opened = level.depth == x.depth(stack) && level.depth > x.depth(before);
    match level.frame.start {
        FORGOTTEN => UNKNOWN_ITEM,
        0 if is_opened && item == UNKNOWN_ITEM => EMPTY_TEXT,
        _ => item,
    }
}

fn dispatch(machine: &Machine, top: Top, stack: u32, byte: u8, item: u32, x: &mut Scratch) -> Next {
    match top {
        Top::Value { node, set, space } => {
            if let Some(space) = machine.space().step(space, byte) {
                return Some((Top::Value { node, set, space }, stack));
            }
            if !machine.space().may_end(space) {
                return None;
            }
            begin(machine, node, set, stack, byte, item, x)
        }
        Top::Unit { word, at, set } => {
            let text = UNITS[word as usize];
            if text.get(at as usize) != Some(&byte) {
                return None;
            }
            if at as usize + 1 == text.len() {
                return close(machine, set, stack, item, x);
            }
            Some((
                Top::Unit {
                    word,
                    at: at + 1,
                    set,
                },
                stack,
            ))
        }
        Top::Number { node, set, state } => {
            if let Some(state) = number_bytes::number_step(machine, node, state, byte, x) {
                return Some((Top::Number { node, set, state }, stack));
            }
            // The byte is not part of the number: it may only be what comes
            // behind a value in an array or object.
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}') {
                return None;
            }
            let set = number_bytes::number_goals(machine, node, set, state, x);
            if set == EMPTY_LIST || stack == 0 {
                return None;
            }
            let before = if is_kept(item) {
                x.texts().before(item)
            } else {
                item
            };
            let (top, stack) = close(machine, set, stack, before, x)?;
            dispatch(machine, top, stack, byte, item, x)
        }
        Top::String { node, set, text } => {
            let m = machine.string(node)?;
            if text.partial == Partial::None && byte == b'"' {
                let set = string_goals(m, set, &text, x);
                return if set == EMPTY_LIST {
                    None
                } else {
                    close(machine, set, stack, item, x)
                };
            }
            let mut sink = StringSink { m, set, x };
            let (partial, mut text) =
                text::read(&mut sink, machine.value_escapes(), text.partial, text, byte)?;
            text.partial = partial;
            Some((Top::String { node, set, text }, stack))
        }
        Top::Key(key) => {
            let ends = byte == b'"' && key.partial == Partial::None;
            if ends
                && !key.names.is_none()
                && let Some(next) = plain_object::behind_plain_name(machine, &key, stack, x)
            {
                return next;
            }
            let key = match key.text {
                NAMED => {
                    let top = x.note(stack);
                    member_names::spelt_for(machine, byte, key, top, x)
                }
                _ => key,
            };
            member_names::key_step(machine, key, stack, byte, x)
        }
        Top::Gap(gap, space) => {
            if let Some(space) = machine.space().step(space, byte) {
                return Some((Top::Gap(gap, space), stack));
            }
            if !machine.space().may_end(space) {
                return None;
            }
            gap_step(machine, gap, stack, byte, item, x)
        }
        Top::End => None,
    }
}

/// The first byte of a value.
fn begin(
    machine: &Machine,
    node: u32,
    set: u32,
    stack: u32,
    byte: u8,
    item: u32,
    x: &mut Scratch,
) -> Next {
    match byte {
        b'n' => begin_unit(machine, node, set, stack, 0, x),
        b'f' => begin_unit(machine, node, set, stack, 1, x),
        b't' => begin_unit(machine, node, set, stack, 2, x),
        b'"' => begin_string(machine, node, set, stack, x),
        b'{' => begin_object(machine, node, set, stack, x),
        b'[' => begin_array(machine, node, set, stack, item, x),
        _ => begin_number(machine, node, set, stack, byte, x),
    }
}

/// The first byte of one of the words of [`UNITS`].
#[inline]
fn begin_unit(
    machine: &Machine,
    node: u32,
    set: u32,
    stack: u32,
    word: u8,
    x: &mut Scratch,
) -> Next {
    let goals = &machine.node(node).units[word as usize];
    let set = if set == FIRST && **goals == [0] {
        FIRST
    } else {
        let wanted = x.list(set);
        let held: Vec<u32> = goals
            .iter()
            .copied()
            .filter(|g| wanted.contains(g))
            .collect();
        x.add_list(&held)
    };
    (set != EMPTY_LIST).then_some((Top::Unit { word, at: 1, set }, stack))
}

#[inline]
fn begin_string(machine: &Machine, node: u32, set: u32, stack: u32, x: &mut Scratch) -> Next {
    let m = machine.string(node)?;
    let set = match &*m.leaves {
        [leaf] if m.is_free() => {
            if !x.slice(set).contains(&leaf.goal) {
                return None;
            }
            x.add_list(&[leaf.goal])
        }
        _ => set,
    };
    let text = string_start(m, set, x);
    string_live(m, set, &text, x).then_some((Top::String { node, set, text }, stack))
}

#[inline]
fn begin_object(machine: &Machine, node: u32, set: u32, stack: u32, x: &mut Scratch) -> Next {
    let m = machine.object(node)?;
    let room = machine.room(x.depth(stack));
    if room == 0 {
        return None;
    }
    let key = (node, set, room);
    let known = x.found().objects.begun.get(&key).copied();
    let threads = known.unwrap_or_else(|| {
        let live = machine.live(room - 1);
        let at = ObjectAt::START;
        let wanted = x.list(set);
        let mut threads = Vec::new();
        for (t, thread) in m.threads.iter().enumerate() {
            if has_goal(&wanted, thread.goal) && live.object(m, t as u32, 0, &at) {
                threads.extend([t as u32, 0]);
            }
        }
        let list = x.add_list(&threads);
        if are_several(&threads) {
            x.found_mut().objects.begun.insert(key, list);
        }
        list
    });
    if threads == EMPTY_LIST {
        return None;
    }
    let stack = x.push(Frame::first(node, threads), stack);
    Some((Top::between(machine, Gap::ObjectStart), stack))
}

#[inline]
fn begin_array(
    machine: &Machine,
    node: u32,
    set: u32,
    stack: u32,
    item: u32,
    x: &mut Scratch,
) -> Next {
    let m = machine.array(node)?;
    let room = machine.room(x.depth(stack));
    if room == 0 {
        return None;
    }
    let live = machine.live(room - 1);
    let wanted = x.list(set);
    let mut threads = Vec::new();
    let nothing = TextSet::default();
    for (t, thread) in m.threads.iter().enumerate() {
        if has_goal(&wanted, thread.goal)
            && live.array(m, t as u32, 0, 0)
            && m.catalog.has_room(m, (t as u32, 0), 0, &nothing)
        {
            threads.extend([t as u32, 0]);
        }
    }
    if threads.is_empty() {
        return None;
    }
    let mut frame = Frame::first(node, x.add_list(&threads));
    frame.is_object = false;
    if is_kept(item) {
        frame.start = x.texts().length(item);
    } else if item == UNKNOWN_ITEM && m.unique && !m.catalog.is_listed() {
        frame.start = FORGOTTEN;
    }
    let stack = x.push(frame, stack);
    Some((Top::between(machine, Gap::ArrayStart), stack))
}

#[inline]
fn begin_number(
    machine: &Machine,
    node: u32,
    set: u32,
    stack: u32,
    byte: u8,
    x: &mut Scratch,
) -> Next {
    let m = machine.number(node)?;
    let wanted = x.list(set);
    let start: Vec<u32> = (0..m.dfas.len() as u32)
        .map(|d| {
            let mut leaves = m.leaves.iter();
            let used = leaves.any(|(g, at)| *at == d && wanted.contains(g));
            if used { 0 } else { DEAD }
        })
        .collect();
    let state = match *start {
        [one] => one,
        _ => x.add_list(&start),
    };
    let state = number_bytes::number_step(machine, node, state, byte, x)?;
    Some((Top::Number { node, set, state }, stack))
}

/// A value has ended and satisfies the goals `set`.
fn close(machine: &Machine, set: u32, stack: u32, item: u32, x: &mut Scratch) -> Next {
    if stack == 0 {
        return Some((Top::End, 0));
    }
    let noted = x.note(stack);
    let top = x.peek(noted);
    let mut frame = top.frame;
    let node = machine.node(frame.node);
    if frame.is_object && plain_object::plain(machine, noted, x).is_some() {
        // The name was let in by this thread alone.
        frame.member = 0;
        return Some((
            Top::between(machine, Gap::AfterMember),
            x.push(frame, top.below),
        ));
    }
    if frame.is_object {
        let behind = object_steps::behind_member(machine, set, noted, x);
        (frame.threads, frame.used) = (behind.threads, behind.used);
        if frame.threads == EMPTY_LIST {
            return None;
        }
        frame.member = 0;
        return Some((
            Top::between(machine, Gap::AfterMember),
            x.push(frame, top.below),
        ));
    }
    let room = machine.room(x.depth(stack));
    let live = machine.live(room);
    let held = x.list(set);
    let threads = x.list(frame.threads);
    let mut next: Vec<(u32, u32)> = Vec::new();
    let m = node.array.as_ref()?;
    let member = m.member(frame.pos);
    let mut doubled = false;
    if m.unique && item != UNKNOWN_ITEM && frame.start != FORGOTTEN {
        let text = equality::canonical(&x.texts().bytes(item, frame.start));
        match x.seen(frame.seen).with_item(text) {
            Some(seen) => frame.seen = x.add_seen(seen),
            None => doubled = true,
        }
    }
    let pos = m.behind(frame.pos);
    frame.pos = pos;
    for thread in threads_in(&threads) {
        if doubled && m.threads[thread.id as usize].unique {
            continue;
        }
        for c in member.of(thread.id) {
            if has_goal(&held, c.goal)
                && let Some(progress) = live.behind_item(m, thread, c.take, pos)
                && m.catalog
                    .has_room(m, (thread.id, progress), pos, &x.seen(frame.seen).list)
            {
                next.push((thread.id, progress));
            }
        }
    }
    if next.is_empty() {
        return None;
    }
    next.sort_unstable();
    next.dedup();
    if let [(0, 0)] = next[..] {
        frame.threads = FIRST_THREAD;
    } else {
        let flat: Vec<u32> = next.iter().flat_map(|(t, e)| [*t, *e]).collect();
        frame.threads = x.add_list(&flat);
    }
    let stack = x.push(frame, top.below);
    Some((Top::between(machine, Gap::AfterItem), stack))
}

fn gap_step(machine: &Machine, gap: Gap, stack: u32, byte: u8, item: u32, x: &mut Scratch) -> Next {
    match (gap, byte) {
        (Gap::ObjectStart | Gap::BeforeKey, b'"') => {
            let noted = x.note(stack);
            if !member_names::some_name_may_come(machine, noted, x) {
                return None;
            }
            let top = x.peek(noted);
            let m = machine.object(top.frame.node)?;
            let names = Span::all(m.names.len());
            let used = Span::all(x.seen(top.frame.seen).list.len());
            Some((Top::Key(Key::first(names, used)), stack))
        }
        (Gap::ObjectStart | Gap::AfterMember, b'}') | (Gap::ArrayStart | Gap::AfterItem, b']') => {
            let set = complete(machine, stack, x);
            if set == EMPTY_LIST {
                return None;
            }
            let below = x.frame(stack).below;
            close(machine, set, below, item, x)
        }
        (Gap::BeforeFurther, b'"') => {
            if member_names::usable(machine, Noted::told_by_key(stack), x).classes == 0 {
                return None;
            }
            Some((Top::Key(Key::first(Span::NONE, Span::NONE)), stack))
        }
        (Gap::AfterMember, b',') => {
            let top = x.note(stack);
            let some = member_names::some_name_may_come(machine, top, x);
            some.then(|| (Top::between(machine, Gap::BeforeKey), stack))
        }
        (Gap::Colon, b':') => {
            let noted = Noted::told_by_key(stack);
            let top = x.peek(noted);
            let m = machine.object(top.frame.node)?;
            let member = m.member(top.frame.member);
            let set = member_names::goals_of_member(machine, noted, top.frame.member, x);
            let value = Top::Value {
                node: member.node,
                set,
                space: machine.space().after_separator,
            };
            (set != EMPTY_LIST).then_some((value, stack))
        }
        (Gap::AfterItem, b',') => {
            // The text begins anew with an item of the outermost array.
            let start = match x.frame(stack).frame.start {
                kept @ (0 | FORGOTTEN) => kept,
                _ if is_kept(item) => x.texts().length(item),
                _ => 0,
            };
            next_item(machine, stack, start, machine.space().after_separator, x)
        }
        (Gap::ArrayStart, _) => {
            let start = x.frame(stack).frame.start;
            let (top, stack) = next_item(machine, stack, start, NO_SPACE, x)?;
            dispatch(machine, top, stack, byte, item, x)
        }
        _ => None,
    }
}

/// The goals that an array or object satisfies if it ends here.
fn complete(machine: &Machine, stack: u32, x: &mut Scratch) -> u32 {
    let frame = x.frame(stack).frame;
    let node = machine.node(frame.node);
    let live = machine.live(machine.room(x.depth(stack)));
    let threads = x.slice(frame.threads);
    let mut goals: Vec<u32> = Vec::new();
    if frame.is_object {
        let Some(m) = node.object.as_ref() else {
            return EMPTY_LIST;
        };
        let used = x.slice(frame.used);
        let at = frame.object_at(used, &[]);
        for thread in threads_in(threads) {
            if live.object_complete(m, thread.id, thread.progress, &at) {
                goals.push(m.threads[thread.id as usize].goal);
            }
        }
    } else {
        let Some(m) = node.array.as_ref() else {
            return EMPTY_LIST;
        };
        for thread in threads_in(threads) {
            if live.array_complete(m, thread.id, thread.progress, frame.pos) {
                goals.push(m.threads[thread.id as usize].goal);
            }
        }
    }
    goals.sort_unstable();
    goals.dedup();
    x.add_list(&goals)
}

/// The next item of an array.
pub(super) fn next_item(
    machine: &Machine,
    stack: u32,
    start: u32,
    space: u32,
    x: &mut Scratch,
) -> Next {
    let top = x.frame(stack);
    let mut frame = top.frame;
    frame.start = start;
    let stack = if frame == top.frame {
        stack
    } else {
        x.push(frame, top.below)
    };
    let m = machine.array(frame.node)?;
    let room = machine.room(x.depth(stack));
    let live = machine.live(room);
    let member = m.member(frame.pos);
    let pos = m.behind(frame.pos);
    let threads = x.slice(frame.threads);
    let mut goals: Vec<u32> = Vec::new();
    for thread in threads_in(threads) {
        for c in member.of(thread.id) {
            if !goals.contains(&c.goal)
                && live.fits(member, c.goal)
                && let Some(progress) = live.behind_item(m, thread, c.take, pos)
                && m.catalog
                    .has_room(m, (thread.id, progress), pos, &x.seen(frame.seen).list)
            {
                goals.push(c.goal);
            }
        }
    }
    if goals.is_empty() {
        return None;
    }
    goals.sort_unstable();
    let value = Top::Value {
        node: member.node,
        set: x.add_list(&goals),
        space,
    };
    Some((value, stack))
}
