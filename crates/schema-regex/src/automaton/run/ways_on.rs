//! The ways on from where a text stands, in pieces: scalars and names as a whole, one
//! spelling for each value, and members that may come in any order in one order.
//!
//! For example, the ways on from `{` of an object with the booleans `a` and `b` are the names
//! `"a":` and `"b":`, and `}`.

use std::collections::HashSet;
use std::sync::Arc;

use schema_normal::language::char_dfa::DEAD;
use schema_normal::normal::alternative::Kind;

use crate::automaton::machine::Machine;
use crate::automaton::machine::objects::{KeyMachine, NO_CLASS, ObjectMachine};
use crate::automaton::machine::progress::has_bit;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::config::{Config, Gap, Key, Top, UNITS, threads_in};
use crate::automaton::run::equality::canonical;
use crate::automaton::run::found::Usable;
use crate::automaton::run::number_bytes::number_state;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::string_texts::{self, AutomatonTexts, Enough, each_text, spelt_behind};
use crate::automaton::run::{member_names, step};

/// The place of a text that is tried.
#[derive(Clone)]
pub(super) struct Tried {
    pub(super) config: Config,
    /// The text that was added.
    pub(super) text: Vec<u8>,
    /// By depth of objects the least number of a declared name that may come, of those
    /// that may come at any time.
    floors: Vec<(u32, u32)>,
}

impl Tried {
    pub(super) fn new(config: Config) -> Tried {
        Tried {
            config,
            text: Vec::new(),
            floors: Vec::new(),
        }
    }

    fn floor(&self, depth: u32) -> u32 {
        let known = self.floors.iter().find(|(at, _)| *at == depth);
        known.map_or(0, |(_, floor)| *floor)
    }
}

/// Returns all ways on, or `most` at least of those that differ in one scalar or name: those that
/// end things come first. Steps are taken as a search takes them.
pub(super) fn ways(machine: &Machine, from: &Tried, most: usize, x: &mut Scratch) -> Vec<Tried> {
    let mut out = Vec::new();
    let config = from.config;
    match config.top {
        Top::End => {}
        Top::Unit { word, at, .. } => {
            way(
                machine,
                from,
                &UNITS[word as usize][at as usize..],
                &mut out,
                x,
            );
        }
        Top::Value { node, set, space } => {
            let white = machine.space().finish(space);
            value_ways(machine, from, &white, (node, set), most, &mut out, x);
        }
        Top::Number { .. } => numbers_on(machine, from, most, &mut out, x),
        Top::String { node, set, text } => {
            let Some(m) = machine.string(node) else {
                return out;
            };
            let wanted = x.list(set);
            let next = string_texts::may_become(machine, text.partial);
            let mut pieces: Vec<Vec<u8>> = Vec::new();
            each_text(m, &wanted, (text, next.as_deref()), most, x, &mut |rest| {
                pieces.push(spelt_behind(text.partial, rest));
                match pieces.len() < most {
                    true => Enough::No,
                    false => Enough::Yes,
                }
            });
            for piece in pieces {
                way(machine, from, &piece, &mut out, x);
            }
        }
        Top::Key(key) => names_on(machine, from, b"", key, most, &mut out, x),
        Top::Gap(gap, space) => {
            let white = machine.space().finish(space);
            gap_ways(machine, from, gap, white, most, &mut out, x);
        }
    }
    out
}

/// Tells whether what comes next is one of numbers without end, or of further names without end:
/// each of these is in some value, and no value has them all.
pub(super) fn begins_endless(machine: &Machine, config: &Config, x: &mut Scratch) -> bool {
    let stack = config.stack;
    let value = match config.top {
        Top::Value { node, set, .. } => Some((node, set)),
        Top::Gap(Gap::ArrayStart, _) => {
            let start = x.frame(stack).frame.start;
            match step::next_item(machine, stack, start, NO_SPACE, x) {
                Some((Top::Value { node, set, .. }, _)) => Some((node, set)),
                _ => None,
            }
        }
        Top::Gap(gap, _) if gap.is_before_a_name() => {
            let top = Noted::beside_masks(stack);
            let usable = member_names::usable(machine, top, x).classes;
            let frame = x.peek(top).frame;
            let Some(m) = machine.object(frame.node) else {
                return false;
            };
            let mut classes = (0..).zip(&m.classes);
            return classes.any(|(c, class)| usable & (1 << c) != 0 && class.count.is_none());
        }
        _ => None,
    };
    let Some((node, set)) = value else {
        return false;
    };
    let number = machine.number(node);
    let wanted = x.slice(set);
    number
        .as_ref()
        .is_some_and(|m| m.is_endless(|goal| wanted.contains(&goal)))
}

/// At most how many values the open arrays bar whose items must differ.
pub(super) fn barred_by_arrays(machine: &Machine, stack: u32, x: &Scratch) -> usize {
    let barred = x.levels(stack).filter_map(|level| {
        let m = level.frame.unique_array(machine)?;
        Some(x.seen(level.frame.seen).list.len() + m.catalog.count())
    });
    barred.sum()
}

/// Adds the way by some bytes, if there is one.
fn way(machine: &Machine, from: &Tried, bytes: &[u8], out: &mut Vec<Tried>, x: &mut Scratch) {
    let mut config = from.config;
    for byte in bytes {
        match step::next(machine, config, *byte, x) {
            Some(next) => config = next,
            None => return,
        }
    }
    let mut text = from.text.clone();
    text.extend_from_slice(bytes);
    let depth = x.depth(config.stack);
    let mut floors = from.floors.clone();
    let opened = depth > x.depth(from.config.stack);
    floors.retain(|(at, _)| *at < depth + u32::from(!opened));
    out.push(Tried {
        config,
        text,
        floors,
    });
}

/// The ways into a value.
fn value_ways(
    machine: &Machine,
    from: &Tried,
    white: &[u8],
    (node, set): (u32, u32),
    most: usize,
    out: &mut Vec<Tried>,
    x: &mut Scratch,
) {
    let n = machine.node(node);
    let wanted = x.list(set);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    if let Some(m) = &n.number {
        let mut met = HashSet::new();
        for (_, dfa) in m.of(|goal| wanted.contains(&goal)) {
            for text in dfa.texts_after(0, "", most) {
                if met.insert(canonical(text.as_bytes())) {
                    pieces.push(text.into_bytes());
                }
            }
        }
    }
    let others = [
        (Kind::Null, UNITS[0]),
        (Kind::False, UNITS[1]),
        (Kind::True, UNITS[2]),
        (Kind::String, b"\""),
        (Kind::Array, b"["),
        (Kind::Object, b"{"),
    ];
    for (kind, piece) in others {
        if n.may_be(kind, |goal| wanted.contains(&goal)) {
            pieces.push(piece.to_vec());
        }
    }
    for piece in pieces {
        way(machine, from, &[white, &piece].concat(), out, x);
    }
}

/// The number that is open, as far as it was read.
pub(super) fn open_number(config: &Config, x: &Scratch) -> String {
    let mut at = config.item;
    let mut bytes = Vec::new();
    while let Some(byte) = x.texts().last_byte(at)
        && b"0123456789+-.eE".contains(&byte)
    {
        bytes.push(byte);
        at = x.texts().before(at);
    }
    bytes.reverse();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Texts that make a number of what is open, each another value.
pub(super) fn number_texts(
    machine: &Machine,
    config: &Config,
    most: usize,
    x: &Scratch,
) -> Vec<String> {
    let Top::Number { node, set, state } = config.top else {
        return Vec::new();
    };
    let Some(m) = machine.number(node) else {
        return Vec::new();
    };
    let begun = open_number(config, x);
    let wanted = x.slice(set);
    let mut met = HashSet::new();
    let mut out = Vec::new();
    for (number, dfa) in m.of(|goal| wanted.contains(&goal)) {
        let here = number_state(m, number, state, x);
        if here == DEAD {
            continue;
        }
        for text in dfa.texts_after(here, &begun, most) {
            if met.insert(canonical((begun.clone() + &text).as_bytes())) {
                out.push(text);
            }
        }
    }
    out
}

/// A number and what ends it, in an array or object.
fn numbers_on(machine: &Machine, from: &Tried, most: usize, out: &mut Vec<Tried>, x: &mut Scratch) {
    if from.config.stack == 0 {
        return;
    }
    let white = machine.space().finish(machine.space().elsewhere);
    for text in number_texts(machine, &from.config, most, x) {
        for end in [b"]", b"}", b","] {
            let piece = [text.as_bytes(), &white, end].concat();
            way(machine, from, &piece, out, x);
        }
    }
}

fn gap_ways(
    machine: &Machine,
    from: &Tried,
    gap: Gap,
    white: Vec<u8>,
    most: usize,
    out: &mut Vec<Tried>,
    x: &mut Scratch,
) {
    let config = from.config;
    let with = |byte: u8| [&white[..], &[byte]].concat();
    match gap {
        Gap::Colon => way(machine, from, &with(b':'), out, x),
        Gap::ArrayStart => {
            way(machine, from, &with(b']'), out, x);
            let start = x.frame(config.stack).frame.start;
            let item = step::next_item(machine, config.stack, start, NO_SPACE, x);
            if let Some((Top::Value { node, set, .. }, _)) = item {
                value_ways(machine, from, &white, (node, set), most, out, x);
            }
        }
        Gap::AfterItem => {
            way(machine, from, &with(b']'), out, x);
            way(machine, from, &with(b','), out, x);
        }
        Gap::ObjectStart | Gap::AfterMember => {
            way(machine, from, &with(b'}'), out, x);
            let mut before = white.clone();
            if gap == Gap::AfterMember {
                before.push(b',');
                before.extend(machine.space().finish(machine.space().after_separator));
            }
            names_from(machine, from, before, most, out, x);
        }
        Gap::BeforeKey | Gap::BeforeFurther => names_from(machine, from, white, most, out, x),
    }
}

/// The ways by a name, from before it.
fn names_from(
    machine: &Machine,
    from: &Tried,
    mut before: Vec<u8>,
    most: usize,
    out: &mut Vec<Tried>,
    x: &mut Scratch,
) {
    before.push(b'"');
    let mut begun = Vec::new();
    way(machine, from, &before, &mut begun, x);
    if let Some(at) = begun.pop()
        && let Top::Key(key) = at.config.top
    {
        names_on(machine, from, &before, key, most, out, x);
    }
}

/// The same from within the name, behind some bytes.
fn names_on(
    machine: &Machine,
    from: &Tried,
    before: &[u8],
    key: Key,
    most: usize,
    out: &mut Vec<Tried>,
    x: &mut Scratch,
) {
    let top = x.note(from.config.stack);
    let frame = x.peek(top).frame;
    let Some(m) = machine.object(frame.node) else {
        return;
    };
    let begun = BegunName {
        machine,
        m,
        from,
        before,
        key,
        next: string_texts::name_may_become(machine, key.partial),
        usable: member_names::usable(machine, top, x),
    };
    begun.declared(&x.list(frame.threads), out, x);
    match &m.keys {
        _ if begun.usable.classes == 0 => {}
        None => begun.any(out, x),
        Some(keys) => {
            let used = x.seen(frame.seen).list.len();
            begun.further(keys, most.saturating_add(used), out, x);
        }
    }
}

/// A name that was begun, to see how it goes on.
struct BegunName<'a> {
    machine: &'a Machine,
    m: &'a ObjectMachine,
    from: &'a Tried,
    /// The bytes that come before what is added to the name.
    before: &'a [u8],
    key: Key,
    /// The characters that a spelling which was begun may become, if one was.
    next: Option<Vec<(u32, u32)>>,
    usable: Arc<Usable>,
}

impl BegunName<'_> {
    /// Returns the bytes to a rest of the name, and its end.
    fn piece(&self, rest: &str) -> Vec<u8> {
        [self.before, &spelt_behind(self.key.partial, rest)].concat()
    }

    /// Says whether a rest of the name goes on with what was begun of a character.
    fn fits(&self, rest: &str) -> bool {
        let Some(ranges) = &self.next else {
            return true;
        };
        let first = rest.chars().next().map(u32::from);
        first.is_some_and(|c| ranges.iter().any(|(lo, hi)| (*lo..=*hi).contains(&c)))
    }

    /// Finds the ways to declared names: among those that may come at any time, to the ones that
    /// are behind the last that came.
    fn declared(&self, threads: &[u32], out: &mut Vec<Tried>, x: &mut Scratch) {
        let Self { m, key, .. } = self;
        let depth = x.depth(self.from.config.stack);
        let is_loose = |name: u32| {
            threads_in(threads).all(|thread| m.threads[thread.id as usize].is_loose(name))
        };
        let span = key.names.lo as usize..key.names.hi as usize;
        for word in m.names.get(span).unwrap_or_default() {
            let name = word.listed[0];
            let may = has_bit(&self.usable.names, name);
            let loose = is_loose(name);
            if !may || (loose && name < self.from.floor(depth)) {
                continue;
            }
            let rest = &word.text[key.names.read as usize..];
            if !self.fits(rest) {
                continue;
            }
            let found = out.len();
            way(self.machine, self.from, &self.piece(rest), out, x);
            if let Some(to) = out.get_mut(found)
                && loose
            {
                to.floors.retain(|(at, _)| *at != depth);
                to.floors.push((depth, name + 1));
            }
        }
    }

    /// Finds ways where any name may come: that is found out as soon as none is begun.
    fn any(&self, out: &mut Vec<Tried>, x: &mut Scratch) {
        match &self.next {
            None if self.before.is_empty() => {}
            None => way(self.machine, self.from, self.before, out, x),
            Some(ranges) => {
                let chars = ranges.iter().flat_map(|(lo, hi)| *lo..=*hi);
                for c in chars.filter_map(char::from_u32).take(8) {
                    let mut piece = self.piece(c.encode_utf8(&mut [0; 4]));
                    piece.pop();
                    way(self.machine, self.from, &piece, out, x);
                }
            }
        }
    }

    /// Finds the ways to names that are not declared, `enough` at most.
    fn further(&self, keys: &KeyMachine, enough: usize, out: &mut Vec<Tried>, x: &mut Scratch) {
        if self.key.state == DEAD {
            return;
        }
        let classes = self.usable.classes;
        let words = AutomatonTexts {
            dfa: &keys.dfa,
            ends: &|state, _| match keys.class_at(state) {
                NO_CLASS => false,
                class => classes & (1 << class) != 0,
            },
            live: &|state, _| keys.left(classes, state).any(|n| n != Some(0)),
            min: 0,
        };
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        let start = (self.key.state, 0);
        words.each(start, self.next.as_deref(), enough, &mut |rest| {
            pieces.push(self.piece(rest));
            match pieces.len() < enough {
                true => Enough::No,
                false => Enough::Yes,
            }
        });
        for piece in pieces {
            way(self.machine, self.from, &piece, out, x);
        }
    }
}
