//! One byte: from one configuration to the next, or to none.

use std::sync::Arc;

use super::SchemaAutomaton;
use super::dfa::DEAD;
use super::live::{Live, ObjectAt};
use super::node::{LOOSE, Leaf, NO_CLASS, Node, ObjectMachine, Span, StringMachine};
use super::scratch::{
    Config, EMPTY_LIST, EMPTY_TEXT, FIRST, FIRST_THREAD, Frame, Gap, Key, NO_TEXT, Scratch, Seen,
    Str, Top, UNKNOWN, Usable,
};
use super::space::NO_SPACE;
use super::text::{self, Partial, Sink};
use super::unique;

type Next = Option<(Top, u32)>;

impl SchemaAutomaton {
    pub(super) fn first(&self) -> Config {
        Config {
            top: Top::Value {
                node: 0,
                set: FIRST,
                space: NO_SPACE,
            },
            stack: 0,
            item: NO_TEXT,
        }
    }

    pub(super) fn next(&self, config: Config, byte: u8, x: &mut Scratch) -> Option<Config> {
        let mut item = config.item;
        if item != NO_TEXT {
            item = x.add_text(item, u32::from(byte));
        }
        let (top, stack) = self.dispatch(config.top, config.stack, byte, item, x)?;
        // Whether an item that must differ is open has only changed where an
        // array was opened or closed.
        if x.depth(stack) != x.depth(config.stack) {
            item = self.item_after(stack, item, x);
        }
        let next = Config { top, stack, item };
        if item != NO_TEXT && !x.searching && !self.can_differ(next, x) {
            return None;
        }
        Some(next)
    }

    fn item_after(&self, stack: u32, item: u32, x: &mut Scratch) -> u32 {
        let mut at = stack;
        let mut inside = false;
        while at != 0 && !inside {
            let node = *x.stacks.get(at);
            inside = self.is_unique(&node.frame);
            at = node.below;
        }
        match (inside, item) {
            (false, _) => NO_TEXT,
            (true, NO_TEXT) => EMPTY_TEXT,
            (true, item) => item,
        }
    }

    fn is_unique(&self, frame: &Frame) -> bool {
        !frame.is_object
            && self
                .node(frame.node)
                .array
                .as_ref()
                .is_some_and(|m| m.unique)
    }

    fn dispatch(&self, top: Top, stack: u32, byte: u8, item: u32, x: &mut Scratch) -> Next {
        match top {
            Top::Value { node, set, space } => {
                if let Some(space) = self.space.step(space, byte) {
                    return Some((Top::Value { node, set, space }, stack));
                }
                if !self.space.may_end(space) {
                    return None;
                }
                self.begin(node, set, stack, byte, item, x)
            }
            Top::Unit { word, at, set } => {
                let text = UNITS[word as usize];
                if text.get(at as usize) != Some(&byte) {
                    return None;
                }
                if at as usize + 1 == text.len() {
                    return self.close(set, stack, item, x);
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
                if let Some(state) = self.number_step(node, set, state, byte, x) {
                    return Some((Top::Number { node, set, state }, stack));
                }
                let set = self.number_goals(node, set, state, x);
                if set == EMPTY_LIST || stack == 0 {
                    return None;
                }
                // The byte is not part of the number.
                let before = if item == NO_TEXT {
                    item
                } else {
                    x.text_before(item)
                };
                let (top, stack) = self.close(set, stack, before, x)?;
                self.dispatch(top, stack, byte, item, x)
            }
            Top::String { node, set, text } => {
                let m = self.node(node).string.as_ref()?;
                if text.partial == Partial::None && byte == b'"' {
                    let set = string_goals(m, set, &text, x);
                    return if set == EMPTY_LIST {
                        None
                    } else {
                        self.close(set, stack, item, x)
                    };
                }
                let mut sink = StringSink { m, set, x };
                let (partial, mut text) =
                    text::read(&mut sink, self.escapes, text.partial, text, byte)?;
                text.partial = partial;
                Some((Top::String { node, set, text }, stack))
            }
            Top::Key(key) => self.key_step(key, stack, byte, x),
            Top::Gap { gap, space } => {
                if let Some(space) = self.space.step(space, byte) {
                    return Some((Top::Gap { gap, space }, stack));
                }
                if !self.space.may_end(space) {
                    return None;
                }
                self.gap_step(gap, stack, byte, item, x)
            }
            Top::End => None,
        }
    }

    pub(super) fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    pub(super) fn live(&self, room: u32) -> Live<'_> {
        Live {
            nodes: &self.nodes,
            room,
        }
    }

    /// The levels that a value on top of a stack may still open.
    pub(super) fn room(&self, stack: u32, x: &Scratch) -> u32 {
        self.max_nesting.saturating_sub(x.depth(stack))
    }

    fn begin(&self, node: u32, set: u32, stack: u32, byte: u8, item: u32, x: &mut Scratch) -> Next {
        let n = self.node(node);
        match byte {
            b'n' | b'f' | b't' => {
                let word = match byte {
                    b'n' => 0,
                    b'f' => 1,
                    _ => 2,
                };
                let goals = &n.units[word as usize];
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
            b'"' => {
                let m = n.string.as_ref()?;
                let set = match m.free {
                    Some(leaf) => {
                        let goal = m.leaves[leaf as usize].goal;
                        if !x.lists.get(set).contains(&goal) {
                            return None;
                        }
                        x.add_list(&[goal])
                    }
                    None => set,
                };
                let text = string_start(m, set, x);
                let text = Str {
                    state: text,
                    words: Span::all(m.words.list.len()),
                    length: 0,
                    partial: Partial::None,
                };
                string_live(m, set, &text, x).then_some((Top::String { node, set, text }, stack))
            }
            b'{' => {
                let m = n.object.as_ref()?;
                let room = self.room(stack, x);
                if room == 0 {
                    return None;
                }
                let live = self.live(room - 1);
                let at = ObjectAt::START;
                let wanted = x.list(set);
                let mut threads = Vec::new();
                for (t, thread) in m.threads.iter().enumerate() {
                    if wanted.contains(&thread.goal) && live.object(m, t as u32, 0, &at) {
                        threads.extend([t as u32, 0]);
                    }
                }
                if threads.is_empty() {
                    return None;
                }
                let frame = Frame {
                    node,
                    is_object: true,
                    threads: x.add_list(&threads),
                    pos: 0,
                    count: 0,
                    used: EMPTY_LIST,
                    seen: 0,
                    member: 0,
                    start: 0,
                };
                let stack = x.push(frame, stack);
                Some((self.gap(Gap::ObjectStart), stack))
            }
            b'[' => {
                let m = n.array.as_ref()?;
                let room = self.room(stack, x);
                if room == 0 {
                    return None;
                }
                let live = self.live(room - 1);
                let wanted = x.list(set);
                let mut threads = Vec::new();
                for (t, thread) in m.threads.iter().enumerate() {
                    if wanted.contains(&thread.goal)
                        && live.array(m, t as u32, 0, 0)
                        && unique::has_room(m, t as u32, 0, &[])
                    {
                        threads.extend([t as u32, 0]);
                    }
                }
                if threads.is_empty() {
                    return None;
                }
                let frame = Frame {
                    node,
                    is_object: false,
                    threads: x.add_list(&threads),
                    pos: 0,
                    count: 0,
                    used: EMPTY_LIST,
                    seen: 0,
                    member: 0,
                    start: if item == NO_TEXT {
                        0
                    } else {
                        x.text_length(item)
                    },
                };
                let stack = x.push(frame, stack);
                Some((self.gap(Gap::ArrayStart), stack))
            }
            _ => {
                let m = n.number.as_ref()?;
                let wanted = x.list(set);
                let start: Vec<u32> = (0..m.dfas.len() as u32)
                    .map(|d| {
                        let used = m
                            .leaves
                            .iter()
                            .any(|(g, at)| *at == d && wanted.contains(g));
                        if used { 0 } else { DEAD }
                    })
                    .collect();
                let state = if let [one] = *start {
                    one
                } else {
                    x.add_list(&start)
                };
                let state = self.number_step(node, set, state, byte, x)?;
                Some((Top::Number { node, set, state }, stack))
            }
        }
    }

    pub(super) fn gap(&self, gap: Gap) -> Top {
        let space = match gap {
            Gap::BeforeKey => self.space.after_separator,
            _ => self.space.elsewhere,
        };
        Top::Gap { gap, space }
    }

    fn number_step(
        &self,
        node: u32,
        _set: u32,
        state: u32,
        byte: u8,
        x: &mut Scratch,
    ) -> Option<u32> {
        let m = self.node(node).number.as_ref()?;
        if let [one] = &*m.dfas {
            let to = if state == DEAD {
                DEAD
            } else {
                one.step(state, byte)
            };
            return (to != DEAD).then_some(to);
        }
        let states = x.list(state);
        let next: Vec<u32> = states
            .iter()
            .zip(&m.dfas)
            .map(|(s, d)| if *s == DEAD { DEAD } else { d.step(*s, byte) })
            .collect();
        next.iter().any(|s| *s != DEAD).then(|| x.add_list(&next))
    }

    /// The goals that a number satisfies if it ends here.
    pub(super) fn number_goals(&self, node: u32, set: u32, state: u32, x: &mut Scratch) -> u32 {
        let Some(m) = self.node(node).number.as_ref() else {
            return EMPTY_LIST;
        };
        if let ([one], [(0, 0)], FIRST) = (&*m.dfas, &*m.leaves, set) {
            return if one.accepts(state) {
                FIRST
            } else {
                EMPTY_LIST
            };
        }
        let states: Arc<[u32]> = if m.dfas.len() == 1 {
            Arc::from([state])
        } else {
            x.list(state)
        };
        let wanted = x.list(set);
        let mut held: Vec<u32> = m
            .leaves
            .iter()
            .filter(|(g, d)| {
                let s = states[*d as usize];
                s != DEAD && m.dfas[*d as usize].accepts(s) && wanted.contains(g)
            })
            .map(|(g, _)| *g)
            .collect();
        held.sort_unstable();
        held.dedup();
        x.add_list(&held)
    }

    /// A value has ended and satisfies the goals `set`.
    fn close(&self, set: u32, stack: u32, item: u32, x: &mut Scratch) -> Next {
        if stack == 0 {
            return Some((Top::End, 0));
        }
        let top = x.frame(stack);
        let mut frame = top.frame;
        let node = self.node(frame.node);
        let room = self.room(stack, x);
        let live = self.live(room);
        let held = x.list(set);
        let threads = x.list(frame.threads);
        let mut next: Vec<(u32, u32)> = Vec::new();
        let gap;
        if frame.is_object {
            let m = node.object.as_ref()?;
            let member = m.member(frame.member);
            gap = Gap::AfterMember;
            if frame.threads == FIRST_THREAD && m.threads.len() == 1 && m.threads[0].simple {
                // The name was let in by this thread alone.
                next.push((0, 0));
            } else {
                let used = x.list(frame.used);
                let extras = self.extras(m, frame.seen, x);
                let at = ObjectAt {
                    last: frame.pos,
                    count: frame.count,
                    used: &used,
                    extras: &extras,
                };
                for pair in threads.chunks_exact(2) {
                    for c in member.of(pair[0]) {
                        let ext = pair[1] | c.take;
                        if held.contains(&c.goal) && live.object(m, pair[0], ext, &at) {
                            next.push((pair[0], ext));
                        }
                    }
                }
                let all = next.clone();
                // Of two that differ in what they have found, more is better.
                next.retain(|(t, e)| !all.iter().any(|(u, f)| u == t && f != e && f & e == *e));
            }
            frame.member = 0;
        } else {
            let m = node.array.as_ref()?;
            gap = Gap::AfterItem;
            let last = m.members.len() - 1;
            let member = &m.members[(frame.pos as usize).min(last)];
            let mut doubled = false;
            if m.unique {
                let text = self.item_text(item, frame.start, x);
                let seen = x.seen.get(frame.seen);
                match seen.list.binary_search(&text) {
                    Ok(_) => doubled = true,
                    Err(i) => {
                        let mut list = seen.list.to_vec();
                        list.insert(i, text);
                        frame.seen = x.seen.add(Seen {
                            list: list.into(),
                            unknown: false,
                        });
                    }
                }
            }
            let pos = if frame.pos < m.cap {
                frame.pos + 1
            } else {
                frame.pos
            };
            frame.pos = pos;
            for pair in threads.chunks_exact(2) {
                if doubled && m.threads[pair[0] as usize].unique {
                    continue;
                }
                for c in member.of(pair[0]) {
                    if held.contains(&c.goal)
                        && let Some(ext) = Live::raise(m, pair[0], pair[1], c.take)
                        && live.array(m, pair[0], ext, pos)
                        && unique::has_room(m, pair[0], pos, &x.seen.get(frame.seen).list)
                    {
                        next.push((pair[0], ext));
                    }
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
        Some((self.gap(gap), stack))
    }

    /// The item that began at `start`, in a form that is equal for equal
    /// values.
    fn item_text(&self, item: u32, start: u32, x: &Scratch) -> Arc<str> {
        let bytes: Vec<u8> = x.text(item, start).into_iter().map(|b| b as u8).collect();
        unique::canonical(&bytes).into()
    }

    /// The numbers of further names used, by class, where a class is finite.
    fn extras(&self, m: &ObjectMachine, seen: u32, x: &Scratch) -> Vec<u64> {
        if seen == 0 || m.classes.iter().all(|c| c.count.is_none()) {
            return Vec::new();
        }
        let mut out = vec![0; m.classes.len()];
        let seen = x.seen.get(seen);
        for name in seen.list.iter() {
            if let Some(slot) = out.get_mut(m.class_of(name) as usize) {
                *slot += 1;
            }
        }
        out
    }

    fn gap_step(&self, gap: Gap, stack: u32, byte: u8, item: u32, x: &mut Scratch) -> Next {
        match (gap, byte) {
            (Gap::ObjectStart | Gap::BeforeKey, b'"') => {
                let usable = self.usable(stack, x);
                if !usable.some {
                    return None;
                }
                let top = x.frame(stack);
                let m = self.node(top.frame.node).object.as_ref()?;
                let key = Key {
                    state: 0,
                    names: Span::all(m.names.list.len()),
                    used: Span::all(x.seen.get(top.frame.seen).list.len()),
                    partial: Partial::None,
                    text: EMPTY_TEXT,
                };
                Some((Top::Key(key), stack))
            }
            (Gap::ObjectStart | Gap::AfterMember, b'}')
            | (Gap::ArrayStart | Gap::AfterItem, b']') => {
                let set = self.complete(stack, x);
                if set == EMPTY_LIST {
                    return None;
                }
                let below = x.frame(stack).below;
                self.close(set, below, item, x)
            }
            (Gap::AfterMember, b',') => {
                let usable = self.usable(stack, x);
                usable.some.then(|| (self.gap(Gap::BeforeKey), stack))
            }
            (Gap::Colon, b':') => {
                let top = x.frame(stack);
                let m = self.node(top.frame.node).object.as_ref()?;
                let member = m.member(top.frame.member);
                let set = self.member_goals(stack, top.frame.member, x);
                let value = Top::Value {
                    node: member.node,
                    set,
                    space: self.space.after_separator,
                };
                (set != EMPTY_LIST).then_some((value, stack))
            }
            (Gap::AfterItem, b',') => {
                let start = if item == NO_TEXT {
                    0
                } else {
                    x.text_length(item)
                };
                self.item(stack, start, self.space.after_separator, x)
            }
            (Gap::ArrayStart, _) => {
                let start = x.frame(stack).frame.start;
                let (top, stack) = self.item(stack, start, NO_SPACE, x)?;
                self.dispatch(top, stack, byte, item, x)
            }
            _ => None,
        }
    }

    /// The goals that an array or object satisfies if it ends here.
    pub(super) fn complete(&self, stack: u32, x: &mut Scratch) -> u32 {
        let frame = x.frame(stack).frame;
        let node = self.node(frame.node);
        let live = self.live(self.room(stack, x));
        let threads = x.list(frame.threads);
        let mut goals: Vec<u32> = Vec::new();
        if frame.is_object {
            let Some(m) = node.object.as_ref() else {
                return EMPTY_LIST;
            };
            let used = x.list(frame.used);
            let at = ObjectAt {
                last: frame.pos,
                count: frame.count,
                used: &used,
                extras: &[],
            };
            for pair in threads.chunks_exact(2) {
                let thread = &m.threads[pair[0] as usize];
                if live.object_complete(m, pair[0], pair[1], &at) {
                    goals.push(thread.goal);
                }
            }
        } else {
            let Some(m) = node.array.as_ref() else {
                return EMPTY_LIST;
            };
            for pair in threads.chunks_exact(2) {
                if live.array_complete(m, pair[0], pair[1], frame.pos) {
                    goals.push(m.threads[pair[0] as usize].goal);
                }
            }
        }
        goals.sort_unstable();
        goals.dedup();
        x.add_list(&goals)
    }

    /// The next item of an array.
    fn item(&self, stack: u32, start: u32, space: u32, x: &mut Scratch) -> Next {
        let top = x.frame(stack);
        let mut frame = top.frame;
        frame.start = start;
        let stack = if frame == top.frame {
            stack
        } else {
            x.push(frame, top.below)
        };
        let m = self.node(frame.node).array.as_ref()?;
        let room = self.room(stack, x);
        let live = self.live(room);
        let last = m.members.len() - 1;
        let member = &m.members[(frame.pos as usize).min(last)];
        let pos = if frame.pos < m.cap {
            frame.pos + 1
        } else {
            frame.pos
        };
        let threads = x.list(frame.threads);
        let mut goals: Vec<u32> = Vec::new();
        for pair in threads.chunks_exact(2) {
            for c in member.of(pair[0]) {
                if !goals.contains(&c.goal)
                    && live.fits(member, c.goal)
                    && let Some(ext) = Live::raise(m, pair[0], pair[1], c.take)
                    && live.array(m, pair[0], ext, pos)
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

    /// The goals that the value of an open member may satisfy, of which the
    /// name has been read.
    fn member_goals(&self, stack: u32, number: u32, x: &mut Scratch) -> u32 {
        let frame = x.frame(stack).frame;
        let Some(m) = self.node(frame.node).object.as_ref() else {
            return EMPTY_LIST;
        };
        let member = m.member(number);
        let live = self.live(self.room(stack, x));
        let threads = x.list(frame.threads);
        let used = x.list(frame.used);
        let extras = self.extras(m, frame.seen, x);
        let at = ObjectAt {
            last: frame.pos,
            count: frame.count,
            used: &used,
            extras: &extras,
        };
        let mut goals: Vec<u32> = Vec::new();
        for pair in threads.chunks_exact(2) {
            for c in member.of(pair[0]) {
                if !goals.contains(&c.goal)
                    && live.fits(member, c.goal)
                    && live.object(m, pair[0], pair[1] | c.take, &at)
                {
                    goals.push(c.goal);
                }
            }
        }
        goals.sort_unstable();
        x.add_list(&goals)
    }

    /// The object after a name: the frame with the threads that can go on.
    fn after_name(&self, stack: u32, number: u32, x: &mut Scratch) -> Option<Frame> {
        let mut frame = x.frame(stack).frame;
        let m = self.node(frame.node).object.as_ref()?;
        let live = self.live(self.room(stack, x));
        let used = x.list(frame.used);
        let before = ObjectAt {
            last: frame.pos,
            count: frame.count,
            used: &used,
            extras: &[],
        };
        let declared = (number as usize) < m.declared.len();
        let mut after_used = used.to_vec();
        let word = number as usize / 32;
        if declared && m.tracked[word] & (1 << (number % 32)) != 0 {
            if after_used.len() <= word {
                after_used.resize(word + 1, 0);
            }
            after_used[word] |= 1 << (number % 32);
        }
        let mut extras = self.extras(m, frame.seen, x);
        if !declared {
            let class = number as usize - m.declared.len();
            if m.classes[class].count.is_some() {
                extras.resize(m.classes.len(), 0);
                extras[class] += 1;
            }
        }
        let count = if frame.count < m.cap {
            frame.count + 1
        } else {
            frame.count
        };
        let pos = if m.ordered {
            number.min(m.declared.len() as u32) + 1
        } else {
            0
        };
        let after = ObjectAt {
            last: pos,
            count,
            used: &after_used,
            extras: &extras,
        };
        let member = m.member(number);
        let threads = x.list(frame.threads);
        let mut next: Vec<u32> = Vec::new();
        for pair in threads.chunks_exact(2) {
            let t = &m.threads[pair[0] as usize];
            if live.in_order(t, &before, number)
                && member.of(pair[0]).iter().any(|c| {
                    live.fits(member, c.goal) && live.object(m, pair[0], pair[1] | c.take, &after)
                })
            {
                next.extend(pair);
            }
        }
        if next.is_empty() {
            return None;
        }
        frame.threads = x.add_list(&next);
        frame.pos = pos;
        frame.count = count;
        frame.used = x.add_list(&after_used);
        frame.member = number;
        Some(frame)
    }

    /// Which names may come next in the object on top of a stack.
    pub(super) fn usable(&self, stack: u32, x: &mut Scratch) -> Arc<Usable> {
        if let Some(known) = x.usable.get(&stack) {
            let known = Arc::clone(known);
            // The frame is looked at all the same.
            x.frame(stack);
            return known;
        }
        let frame = x.frame(stack).frame;
        let mut names = Vec::new();
        let mut classes = 0u64;
        let mut some = false;
        if let Some(m) = self.node(frame.node).object.as_ref() {
            names = vec![0u32; m.declared.len().div_ceil(32)];
            let last = m.declared.len() as u32;
            let (from, to) = match &*m.threads {
                // In order, up to the next required one.
                [t] if t.simple && m.ordered && t.ranks.iter().all(|r| *r != LOOSE) => {
                    let next = t.required.partition_point(|(r, _)| *r < frame.pos);
                    let to = t.required.get(next).map_or(last, |(r, _)| *r + 1);
                    (frame.pos.min(last), to)
                }
                _ => (0, last),
            };
            for name in from..to {
                if self.after_name(stack, name, x).is_some() {
                    names[name as usize / 32] |= 1 << (name % 32);
                    some = true;
                }
            }
            let extras = self.extras(m, frame.seen, x);
            for (c, class) in m.classes.iter().enumerate() {
                let spent = class
                    .count
                    .is_some_and(|n| extras.get(c).copied().unwrap_or(0) >= n);
                let number = (m.declared.len() + c) as u32;
                if !spent && self.after_name(stack, number, x).is_some() {
                    classes |= 1 << c;
                    some = true;
                }
            }
        }
        let usable = Arc::new(Usable {
            names: names.into(),
            classes,
            some,
        });
        x.usable.insert(stack, Arc::clone(&usable));
        usable
    }

    fn key_step(&self, key: Key, stack: u32, byte: u8, x: &mut Scratch) -> Next {
        let usable = self.usable(stack, x);
        let top = x.frame(stack);
        let m = self.node(top.frame.node).object.as_ref()?;
        let seen = x.seen.get(top.frame.seen).clone();
        if key.partial == Partial::None && byte == b'"' {
            let named = key.names.ends(|i| &m.names.list[i].text);
            let number = match named {
                Some(i) => {
                    let number = m.names.list[i].listed[0];
                    let free = usable.names[number as usize / 32] & (1 << (number % 32)) != 0;
                    return free
                        .then(|| self.after_name(stack, number, x))
                        .flatten()
                        .map(|frame| (self.gap(Gap::Colon), x.push(frame, top.below)));
                }
                None => {
                    let class = match &m.keys {
                        Some(keys) if key.state != DEAD => keys.class[key.state as usize],
                        Some(_) => NO_CLASS,
                        None => 0,
                    };
                    if class == NO_CLASS || usable.classes & (1 << class) == 0 {
                        return None;
                    }
                    m.declared.len() as u32 + class
                }
            };
            if key.used.ends(|i| &seen.list[i]).is_some() {
                return None;
            }
            let mut frame = self.after_name(stack, number, x)?;
            let mut next = seen;
            if key.text == UNKNOWN {
                next.unknown = true;
            } else {
                let name: String = x
                    .text(key.text, 0)
                    .into_iter()
                    .filter_map(char::from_u32)
                    .collect();
                // It cannot be told from the name that began before the walk.
                if next.unknown {
                    return None;
                }
                if let Err(i) = next.list.binary_search_by(|n| (**n).cmp(&name)) {
                    let mut list = next.list.to_vec();
                    list.insert(i, name.into());
                    next.list = list.into();
                }
            }
            frame.seen = x.seen.add(next);
            return Some((self.gap(Gap::Colon), x.push(frame, top.below)));
        }
        let mut sink = KeySink {
            m,
            usable: &usable,
            seen: &seen,
            x,
        };
        let (partial, mut key) = text::read(&mut sink, self.escapes, key.partial, key, byte)?;
        key.partial = partial;
        Some((Top::Key(key), stack))
    }
}

pub(super) const UNITS: [&[u8]; 3] = [b"null", b"false", b"true"];

struct KeySink<'a> {
    m: &'a ObjectMachine,
    usable: &'a Usable,
    seen: &'a Seen,
    x: &'a mut Scratch,
}

impl KeySink<'_> {
    /// Whether some usable name goes on from here.
    fn live(&self, state: u32, names: Span, used: Span) -> bool {
        let m = self.m;
        for word in &m.names.list[names.lo as usize..names.hi as usize] {
            let n = word.listed[0];
            if self.usable.names[n as usize / 32] & (1 << (n % 32)) != 0 {
                return true;
            }
        }
        if self.usable.classes == 0 {
            return false;
        }
        let Some(keys) = &m.keys else {
            return true;
        };
        if state == DEAD {
            return false;
        }
        let mut left = 0u64;
        for c in 0..m.classes.len() {
            if self.usable.classes & (1 << c) != 0 {
                match keys.counts[c][state as usize] {
                    None => return true,
                    Some(n) => left = left.saturating_add(n),
                }
            }
        }
        if left == 0 {
            return false;
        }
        // Finitely many: those that are declared or used are no more.
        let usable = |name: &str| {
            let c = keys.class_of(name);
            c != NO_CLASS && self.usable.classes & (1 << c) != 0
        };
        let declared = m.names.list[names.lo as usize..names.hi as usize]
            .iter()
            .filter(|w| usable(&w.text))
            .count();
        let spent = self.seen.list[used.lo as usize..used.hi as usize]
            .iter()
            .filter(|n| usable(n))
            .count();
        left > (declared + spent) as u64
    }

    fn step(&self, key: &Key, c: u32) -> (u32, Span, Span) {
        let state = match &self.m.keys {
            Some(keys) if key.state != DEAD => keys.dfa.step(key.state, c),
            Some(_) => DEAD,
            None => 0,
        };
        let names = key.names.step(c, |i| &self.m.names.list[i].text);
        let used = key.used.step(c, |i| &self.seen.list[i]);
        (state, names, used)
    }
}

impl Sink for KeySink<'_> {
    type State = Key;

    fn put(&mut self, key: Key, c: u32) -> Option<Key> {
        let (state, names, used) = self.step(&key, c);
        if !self.live(state, names, used) {
            return None;
        }
        let text = if key.text == UNKNOWN {
            UNKNOWN
        } else {
            self.x.add_text(key.text, c)
        };
        Some(Key {
            state,
            names,
            used,
            partial: Partial::None,
            text,
        })
    }

    fn some(&mut self, key: Key, lo: u32, hi: u32) -> bool {
        // Names and used names branch at single characters.
        let m = self.m;
        let heads = |span: Span, text: &dyn Fn(usize) -> String| -> Vec<u32> {
            (span.lo as usize..span.hi as usize)
                .filter_map(|i| text(i)[span.read as usize..].chars().next().map(u32::from))
                .filter(|c| (lo..=hi).contains(c))
                .collect()
        };
        let mut special = heads(key.names, &|i| m.names.list[i].text.to_string());
        special.extend(heads(key.used, &|i| self.seen.list[i].to_string()));
        special.sort_unstable();
        special.dedup();
        for c in &special {
            let (state, names, used) = self.step(&key, *c);
            if self.live(state, names, used) {
                return true;
            }
        }
        if self.usable.classes == 0 || special.len() as u64 > u64::from(hi - lo) {
            return false;
        }
        let Some(keys) = &m.keys else {
            return true;
        };
        if key.state == DEAD {
            return false;
        }
        let open = |state: u32| self.live(state, Span::NONE, Span::NONE);
        if special.is_empty() {
            return keys.dfa.some_in(key.state, lo, hi, open);
        }
        // Between the special ones.
        let mut from = lo;
        for c in special.iter().copied().chain([hi + 1]) {
            if from < c && keys.dfa.some_in(key.state, from, c - 1, open) {
                return true;
            }
            from = c + 1;
        }
        false
    }
}

/// The state of the automata at the beginning of a string.
fn string_start(m: &StringMachine, set: u32, x: &mut Scratch) -> u32 {
    if m.dfas.len() <= 1 {
        return 0;
    }
    let wanted = x.list(set);
    let start: Vec<u32> = (0..m.dfas.len() as u32)
        .map(|d| {
            let used = m
                .leaves
                .iter()
                .any(|l| l.dfa == Some(d) && wanted.contains(&l.goal));
            if used { 0 } else { DEAD }
        })
        .collect();
    x.add_list(&start)
}

fn leaf_state(m: &StringMachine, leaf: &Leaf, state: u32, x: &Scratch) -> u32 {
    match leaf.dfa {
        None => 0,
        Some(_) if m.dfas.len() == 1 => state,
        Some(d) => x.lists.get(state)[d as usize],
    }
}

/// Whether a leaf can still accept. `words` are those that go on from here.
fn leaf_live(m: &StringMachine, id: usize, state: u32, words: Span, length: u32) -> bool {
    let leaf = &m.leaves[id];
    let span = || m.words.list[words.lo as usize..words.hi as usize].iter();
    if leaf.listed {
        return span().any(|w| w.listed.contains(&(id as u32)));
    }
    let length = u64::from(length);
    if leaf.dfa.is_some() {
        return state != DEAD && leaf.lengths.as_ref().is_none_or(|l| l.live(state, length));
    }
    if leaf.max.is_some_and(|max| length > max) {
        return false;
    }
    // With no character left only the text itself remains.
    let last = leaf.excludes && leaf.max == Some(length);
    !(last
        && words
            .ends(|i| &m.words.list[i].text)
            .is_some_and(|i| m.words.list[i].excluded.contains(&(id as u32))))
}

fn leaf_accepts(m: &StringMachine, id: usize, text: &Str, state: u32) -> bool {
    let leaf = &m.leaves[id];
    let word = text
        .words
        .ends(|i| &m.words.list[i].text)
        .map(|i| &m.words.list[i]);
    if leaf.listed {
        return word.is_some_and(|w| w.listed.contains(&(id as u32)));
    }
    let length = u64::from(text.length);
    if let Some(d) = leaf.dfa {
        return state != DEAD
            && m.dfas[d as usize].accepts(state)
            && leaf.lengths.as_ref().is_none_or(|l| l.accepts(length));
    }
    length >= leaf.min
        && leaf.max.is_none_or(|max| length <= max)
        && !(leaf.excludes && word.is_some_and(|w| w.excluded.contains(&(id as u32))))
}

pub(super) fn string_live(m: &StringMachine, set: u32, text: &Str, x: &Scratch) -> bool {
    if m.free.is_some() {
        return true;
    }
    let wanted = x.lists.get(set);
    m.leaves.iter().enumerate().any(|(i, leaf)| {
        wanted.contains(&leaf.goal)
            && leaf_live(
                m,
                i,
                leaf_state(m, leaf, text.state, x),
                text.words,
                text.length,
            )
    })
}

/// The goals that a string satisfies if it ends here.
pub(super) fn string_goals(m: &StringMachine, set: u32, text: &Str, x: &mut Scratch) -> u32 {
    if m.free.is_some() {
        return set;
    }
    let wanted = x.list(set);
    let mut held: Vec<u32> = m
        .leaves
        .iter()
        .enumerate()
        .filter(|(i, leaf)| {
            wanted.contains(&leaf.goal)
                && leaf_accepts(m, *i, text, leaf_state(m, leaf, text.state, x))
        })
        .map(|(_, leaf)| leaf.goal)
        .collect();
    held.sort_unstable();
    held.dedup();
    x.add_list(&held)
}

struct StringSink<'a> {
    m: &'a StringMachine,
    set: u32,
    x: &'a mut Scratch,
}

impl StringSink<'_> {
    fn step(&mut self, text: &Str, c: u32) -> Str {
        let m = self.m;
        let state = match &*m.dfas {
            [] => 0,
            [one] if text.state != DEAD => one.step(text.state, c),
            [_] => DEAD,
            many => {
                let states = self.x.list(text.state);
                let next: Vec<u32> = states
                    .iter()
                    .zip(many)
                    .map(|(s, d)| if *s == DEAD { DEAD } else { d.step(*s, c) })
                    .collect();
                self.x.add_list(&next)
            }
        };
        Str {
            state,
            words: text.words.step(c, |i| &m.words.list[i].text),
            length: if text.length < m.cap {
                text.length + 1
            } else {
                text.length
            },
            partial: Partial::None,
        }
    }
}

impl Sink for StringSink<'_> {
    type State = Str;

    fn put(&mut self, text: Str, c: u32) -> Option<Str> {
        if self.m.free.is_some() {
            return Some(Str {
                partial: Partial::None,
                ..text
            });
        }
        let next = self.step(&text, c);
        string_live(self.m, self.set, &next, self.x).then_some(next)
    }

    fn some(&mut self, text: Str, lo: u32, hi: u32) -> bool {
        let m = self.m;
        if m.free.is_some() {
            return true;
        }
        let length = if text.length < m.cap {
            text.length + 1
        } else {
            text.length
        };
        let wanted = self.x.list(self.set);
        for (i, leaf) in m.leaves.iter().enumerate() {
            if !wanted.contains(&leaf.goal) {
                continue;
            }
            let state = leaf_state(m, leaf, text.state, self.x);
            if let Some(d) = leaf.dfa {
                let dfa = &m.dfas[d as usize];
                let open = |s: u32| leaf_live(m, i, s, Span::NONE, length);
                if state != DEAD && dfa.some_in(state, lo, hi, open) {
                    return true;
                }
                continue;
            }
            if !leaf.listed && !leaf.excludes {
                if leaf_live(m, i, 0, Span::NONE, length) {
                    return true;
                }
                continue;
            }
            // Words branch at single characters.
            let read = text.words.read as usize;
            let mut heads: Vec<u32> = m.words.list[text.words.lo as usize..text.words.hi as usize]
                .iter()
                .filter_map(|w| w.text[read..].chars().next().map(u32::from))
                .filter(|c| (lo..=hi).contains(c))
                .collect();
            heads.dedup();
            for c in &heads {
                let next = self.step(&text, *c);
                if leaf_live(m, i, 0, next.words, next.length) {
                    return true;
                }
            }
            if !leaf.listed
                && heads.len() as u64 <= u64::from(hi - lo)
                && leaf_live(m, i, 0, Span::NONE, length)
            {
                return true;
            }
        }
        false
    }
}
