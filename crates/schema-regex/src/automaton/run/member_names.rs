//! The names of members: those that may come in an object, and reading one.
//!
//! For example, behind `{"a": 1, "` of an object with the properties `a`, `b` and `c`, in any
//! order, the names `b` and `c` may come.

use std::sync::Arc;

use schema_normal::language::char_dfa::DEAD;

use crate::automaton::machine::Machine;
use crate::automaton::machine::after_names::AfterNames;
use crate::automaton::machine::live::Live;
use crate::automaton::machine::node::Choice;
use crate::automaton::machine::objects::{NO_CLASS, ObjectMachine};
use crate::automaton::machine::progress::{ObjectAt, has_bit};
use crate::automaton::run::config::{
    EMPTY_LIST, EMPTY_TEXT, Frame, Gap, Key, NAMED, Next, Top, UNKNOWN, threads_in,
};
use crate::automaton::run::found::Usable;
use crate::automaton::run::object_steps::{self, are_several, set_bit};
use crate::automaton::run::plain_object;
use crate::automaton::run::scratch::{Noted, Scratch, StackNode};
use crate::automaton::run::seen::Seen;
use crate::automaton::run::span::Span;
use crate::automaton::run::string_bytes as text;
use crate::automaton::run::string_bytes::{Partial, Sink};
use crate::automaton::run::texts::Texts;

/// The goals that the value of an open member may satisfy, of which the
/// name has been read.
pub(super) fn goals_of_member(machine: &Machine, top: Noted, number: u32, x: &mut Scratch) -> u32 {
    match plain_object::plain_goals(machine, top, x) {
        Some(goals) => goals,
        None => member_goals(machine, top, number, x),
    }
}

/// The same where several threads may have let the name in.
fn member_goals(machine: &Machine, top: Noted, number: u32, x: &mut Scratch) -> u32 {
    let frame = x.peek(top).frame;
    if !are_several(x.slice(frame.threads)) {
        return fresh_member_goals(machine, top, number, x);
    }
    if let Some(known) = x.found().objects.asked.get(&(top.stack(), number)) {
        return *known;
    }
    let goals = fresh_member_goals(machine, top, number, x);
    x.found_mut()
        .objects
        .asked
        .insert((top.stack(), number), goals);
    goals
}

fn fresh_member_goals(machine: &Machine, top: Noted, number: u32, x: &mut Scratch) -> u32 {
    let frame = x.peek(top).frame;
    let Some(m) = machine.object(frame.node) else {
        return EMPTY_LIST;
    };
    let member = m.member(number);
    let live = machine.live(machine.room(x.depth(top.stack())));
    let threads = x.list(frame.threads);
    let used = x.list(frame.used);
    let extras = object_steps::extras(m, frame.seen, x);
    let at = frame.object_at(&used, &extras);
    let mut goals: Vec<u32> = Vec::new();
    for thread in threads_in(&threads) {
        let t = &m.threads[thread.id as usize];
        let ways = t.ways(number, &live, m, &at);
        let goes_on = |c: &Choice| match &ways {
            Some(leads) => leads(c.take),
            None => live.goes_on(m, thread, (number, c), &at),
        };
        for c in member.of(thread.id) {
            if !goals.contains(&c.goal) && live.fits(member, c.goal) && goes_on(c) {
                goals.push(c.goal);
            }
        }
    }
    goals.sort_unstable();
    x.add_list(&goals)
}

/// The object after a name: the frame with the threads that can go on.
fn after_name(machine: &Machine, top: Noted, number: u32, x: &mut Scratch) -> Option<Frame> {
    let frame = x.peek(top).frame;
    if !are_several(x.slice(frame.threads)) {
        return fresh_after_name(machine, top, number, x);
    }
    if let Some(known) = x.found().objects.named.get(&(top.stack(), number)) {
        return *known;
    }
    let after = fresh_after_name(machine, top, number, x);
    x.found_mut()
        .objects
        .named
        .insert((top.stack(), number), after);
    after
}

fn fresh_after_name(machine: &Machine, top: Noted, number: u32, x: &mut Scratch) -> Option<Frame> {
    let mut frame = x.peek(top).frame;
    let m = machine.object(frame.node)?;
    let naming = naming(machine, m, top, x);
    let next: Vec<u32> = naming.threads_after(number).flatten().collect();
    if next.is_empty() {
        return None;
    }
    let (pos, count) = naming.m.behind(number, naming.frame.count);
    if let Some(name) = naming.tracked(number) {
        let mut used = naming.used.to_vec();
        set_bit(&mut used, name);
        frame.used = x.add_list(&used);
    }
    frame.threads = x.add_list(&next);
    frame.pos = pos;
    frame.count = count;
    frame.member = number;
    Some(frame)
}

fn naming<'a>(machine: &'a Machine, m: &'a ObjectMachine, top: Noted, x: &Scratch) -> Naming<'a> {
    let frame = x.peek(top).frame;
    Naming {
        m,
        frame,
        used: x.list(frame.used),
        extras: object_steps::extras(m, frame.seen, x),
        threads: x.list(frame.threads),
        live: machine.live(machine.room(x.depth(top.stack()))),
    }
}

/// Which names may come next in the object on top of a stack.
pub(super) fn usable(machine: &Machine, top: Noted, x: &mut Scratch) -> Arc<Usable> {
    if let Some(known) = x.found().usable.get(top.stack()) {
        return Arc::clone(known);
    }
    let StackNode { frame, below, .. } = x.peek(top);
    let mut usable = Usable {
        names: Box::new([]),
        classes: 0,
        some: false,
        values: EMPTY_LIST,
    };
    if let Some(m) = machine.object(frame.node) {
        usable.names = usable_names(machine, m, top, x);
        usable.some = usable.names.iter().any(|word| *word != 0);
        let extras = object_steps::extras(m, frame.seen, x);
        let mut values: Vec<u32> = Vec::new();
        for (c, class) in m.classes.iter().enumerate() {
            let spent = class
                .count
                .is_some_and(|n| extras.get(c).copied().unwrap_or(0) >= n);
            let number = (m.declared.len() + c) as u32;
            if spent {
                continue;
            }
            let Some(after) = after_name(machine, top, number, x) else {
                continue;
            };
            usable.classes |= 1 << c;
            usable.some = true;
            let after = top.instead(x.push(after, below));
            let goals = member_goals(machine, after, number, x);
            let alias = machine.node(m.member(number).node).alias;
            values.extend([c as u32, alias, goals]);
        }
        usable.values = x.add_list(&values);
    }
    let usable = Arc::new(usable);
    let known = &mut x.found_mut().usable;
    known.insert(top.stack(), Arc::clone(&usable));
    usable
}

/// Tells whether some name may come next.
pub(super) fn some_name_may_come(machine: &Machine, top: Noted, x: &mut Scratch) -> bool {
    let known = x.found().usable.get(top.stack()).map(|usable| usable.some);
    let known = known.or_else(|| plain_object::plain(machine, top, x)?.some_name(x));
    known.unwrap_or_else(|| usable(machine, top, x).some)
}

/// The declared names that may come next, as bits.
fn usable_names(machine: &Machine, m: &ObjectMachine, top: Noted, x: &mut Scratch) -> Box<[u32]> {
    let mut names = vec![0u32; m.declared.len().div_ceil(32)];
    let last = m.declared.len() as u32;
    let frame = x.peek(top).frame;
    if let Some(plain) = plain_object::plain(machine, top, x) {
        for name in plain.thread().next_names(frame.pos) {
            if plain.may_come(name, x) {
                names[name as usize / 32] |= 1 << (name % 32);
            }
        }
        return names.into();
    }
    let naming = naming(machine, m, top, x);
    if last > FEW_NAMES {
        naming.mark_usable(&mut names);
    } else {
        for name in 0..last {
            if naming.threads_after(name).next().is_some() {
                names[name as usize / 32] |= 1 << (name % 32);
            }
        }
        debug_assert_eq!(names, {
            let mut at_once = vec![0; names.len()];
            naming.mark_usable(&mut at_once);
            at_once
        });
    }
    names.into()
}

pub(super) fn key_step(machine: &Machine, key: Key, stack: u32, byte: u8, x: &mut Scratch) -> Next {
    // The key of the topmost level tells all of further names.
    let noted = match key.is_further() {
        true => Noted::told_by_key(stack),
        false => x.note(stack),
    };
    let top = x.peek(noted);
    let m = machine.object(top.frame.node)?;
    if key.partial == Partial::None && byte == b'"' {
        let usable = usable(machine, noted, x);
        let seen = x.seen(top.frame.seen).clone();
        let named = key.names.ends(|i| &m.names[i].text);
        let number = match named {
            Some(i) => {
                let number = m.names[i].listed[0];
                let free = has_bit(&usable.names, number);
                return free
                    .then(|| after_name(machine, noted, number, x))
                    .flatten()
                    .map(|frame| (Top::between(machine, Gap::Colon), x.push(frame, top.below)));
            }
            None => {
                let keys = m.keys.as_ref();
                let class = keys.map_or(0, |keys| keys.class_at(key.state));
                if class == NO_CLASS || usable.classes & (1 << class) == 0 {
                    return None;
                }
                m.declared.len() as u32 + class
            }
        };
        if key.used.ends(|i| seen.list.get(i)).is_some() {
            return None;
        }
        let mut frame = after_name(machine, noted, number, x)?;
        let mut next = seen;
        if key.text == UNKNOWN {
            next.unknown = true;
        } else {
            let name: String = x
                .texts()
                .values(key.text, 0)
                .into_iter()
                .filter_map(char::from_u32)
                .collect();
            // Nobody can tell whether it is the name that began before the walk: see `exceptions`.
            next = next.with_name(&name).unwrap_or(next);
        }
        frame.seen = x.add_seen(next);
        return Some((Top::between(machine, Gap::Colon), x.push(frame, top.below)));
    }
    if x.found().usable.get(stack).is_none() {
        usable(machine, noted, x);
    }
    let (usable, seen, texts) = x.in_name(stack, top.frame.seen)?;
    let mut sink = KeySink {
        m,
        usable,
        seen,
        texts,
    };
    let (partial, mut key) = text::read(&mut sink, machine.name_escapes(), key.partial, key, byte)?;
    key.partial = partial;
    Some((Top::Key(key), stack))
}

/// The inside of a name in front of a byte that is read alone: what reads it adds to
/// the text of the name, or wants it at its end, if it is not a declared one.
pub(super) fn spelt_for(machine: &Machine, byte: u8, key: Key, top: Noted, x: &mut Scratch) -> Key {
    let ends = byte == b'"' && key.partial == Partial::None;
    match machine.object(x.peek(top).frame.node) {
        Some(m) if ends && key.names.ends(|i| &m.names[i].text).is_some() => key,
        _ => spelt(machine, key, top, x),
    }
}

/// The inside of a name with its text spelt out.
pub(super) fn spelt(machine: &Machine, mut key: Key, top: Noted, x: &mut Scratch) -> Key {
    if key.text == NAMED
        && let Some(m) = machine.object(x.peek(top).frame.node)
    {
        let begun = key.names.begun(&m.names).chars();
        key.text = begun.fold(EMPTY_TEXT, |t, c| x.texts_mut().append(t, u32::from(c)));
    }
    key
}

/// So many names are asked for one by one, because the way that asks for all has lists to make.
const FEW_NAMES: u32 = 32;

/// An object before a name, to see which ones may come.
struct Naming<'a> {
    m: &'a ObjectMachine,
    frame: Frame,
    used: Arc<[u32]>,
    extras: Vec<u64>,
    threads: Arc<[u32]>,
    live: Live<'a>,
}

impl Naming<'_> {
    /// The name, if a frame remembers that it was used.
    fn tracked(&self, number: u32) -> Option<u32> {
        let declared = (number as usize) < self.m.declared.len();
        (declared && self.m.tracks(number)).then_some(number)
    }

    /// Sets the bits of the declared names that may come: what `threads_after` says of each,
    /// for all of them at once.
    fn mark_usable(&self, names: &mut [u32]) {
        let m = self.m;
        let before = self.frame.object_at(&self.used, &self.extras);
        // The threads by their numbers, each with the states that it is in.
        let mut states: Vec<Vec<u32>> = vec![Vec::new(); m.threads.len()];
        for thread in threads_in(&self.threads) {
            states[thread.id as usize].push(thread.progress);
        }
        let mut after_names: Vec<Option<AfterNames<'_>>> = Vec::new();
        after_names.resize_with(m.threads.len(), || None);
        for (number, member) in (0..).zip(&m.declared) {
            let (last, count) = self.m.behind(number, self.frame.count);
            let after = before.with_member(last, count, self.tracked(number), None);
            let may_come = member.options.iter().any(|choice| {
                let thread = choice.thread as usize;
                if states[thread].is_empty()
                    || !self.live.fits(member, choice.goal)
                    || !self.live.in_order(&m.threads[thread], &before, number)
                {
                    return false;
                }
                let after_names = after_names[thread]
                    .get_or_insert_with(|| AfterNames::new(&self.live, m, choice.thread, &before));
                let mut states = states[thread].iter();
                states.any(|progress| after_names.object(number, (*progress, choice), &after))
            });
            if may_come {
                names[number as usize / 32] |= 1 << (number % 32);
            }
        }
    }

    /// The threads, each with its own state, that can go on behind a name.
    fn threads_after(&self, number: u32) -> impl Iterator<Item = [u32; 2]> {
        let m = self.m;
        let member = m.member(number);
        let class = (number as usize)
            .checked_sub(m.declared.len())
            .filter(|class| m.classes[*class].count.is_some());
        let (pos, count) = self.m.behind(number, self.frame.count);
        let tracked = self.tracked(number);
        threads_in(&self.threads).filter_map(move |thread| {
            let before = self.frame.object_at(&self.used, &[]);
            let class = class.map(|class| class as u32);
            let after = ObjectAt::of(pos, count, &self.used, &self.extras);
            let after = after.with_member(pos, count, tracked, class);
            let goes_on = self
                .live
                .in_order(&m.threads[thread.id as usize], &before, number)
                && member.of(thread.id).iter().any(|c| {
                    self.live.fits(member, c.goal)
                        && self.live.goes_on(m, thread, (number, c), &after)
                });
            goes_on.then_some([thread.id, thread.progress])
        })
    }
}

struct KeySink<'a> {
    m: &'a ObjectMachine,
    usable: &'a Usable,
    seen: &'a Seen,
    texts: &'a mut Texts,
}

impl KeySink<'_> {
    /// Tells whether some usable name goes on from here.
    fn live(&self, state: u32, names: Span, used: Span) -> bool {
        let m = self.m;
        if self.usable.classes != 0 && m.keys.is_none() {
            return true;
        }
        for word in &m.names[names.lo as usize..names.hi as usize] {
            let n = word.listed[0];
            if has_bit(&self.usable.names, n) {
                return true;
            }
        }
        if self.usable.classes == 0 {
            return false;
        }
        let Some(keys) = &m.keys else {
            return true;
        };
        let mut left = 0u64;
        for names in keys.left(self.usable.classes, state) {
            match names {
                None => return true,
                Some(n) => left = left.saturating_add(n),
            }
        }
        if left == 0 {
            return false;
        }
        // Finitely many: those that are declared or used are no more.
        let usable = |name: &str| {
            let c = m.class_of(name);
            c != NO_CLASS && self.usable.classes & (1 << c) != 0
        };
        let declared = m.names[names.lo as usize..names.hi as usize]
            .iter()
            .filter(|w| usable(&w.text))
            .count();
        let spent = self
            .seen
            .list
            .range(used.lo as usize..used.hi as usize)
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
        let names = key.names.step(c, |i| &self.m.names[i].text);
        let used = key.used.step(c, |i| self.seen.list.get(i));
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
            self.texts.add(key.text, c)
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
        let m = self.m;
        if self.usable.classes != 0 && m.keys.is_none() {
            return true;
        }
        // Names and used names branch at single characters.
        let names = &m.names;
        let names = key.names.heads((lo, hi), |i| &names[i].text);
        let used = key.used.heads((lo, hi), |i| self.seen.list.get(i));
        let mut special: Vec<u32> = names.chain(used).collect();
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
