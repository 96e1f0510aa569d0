//! Completions: a short text from a state to acceptance. At each place where
//! something has to be chosen, one thread is followed and what it lacks is
//! written: scalars before containers, flat containers before tall ones.

use crate::automaton::completion::another_value;
use crate::automaton::completion::lacking;
use crate::automaton::completion::shortest;
use crate::automaton::machine::Machine;
use crate::automaton::machine::node::EMPTY;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::config::{Config, EMPTY_LIST, Gap, Top};
use crate::automaton::run::number_bytes;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::step;
use crate::automaton::run::step::UNITS;
use crate::automaton::run::text_runs;
use crate::automaton::run::unique_items;
use crate::automaton::run::ways_on;
use crate::normal::alternative::Kind;

/// So many names, or values of a list, are looked through in the time of a state.
pub(super) const AS_A_STATE: u64 = 64;

/// So many steps of a completion take the time of a state that is searched.
const STEPS_A_STATE: u64 = 4;

/// So many bytes of a text that is known are read in the time of a state.
const BYTES_AS_A_STATE: u64 = 64;

/// The most detours of a completion, one byte each that is found by trying.
const MAX_DETOURS: usize = 10_000;

/// Writes a text that leads to acceptance; `false` if it would have more than `most`
/// bytes, or none was found.
pub(crate) fn finish(
    machine: &Machine,
    first: Config,
    most: usize,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> bool {
    let start = out.len();
    let mut config = first;
    let (mut detours, mut steps) = (0, 0u64);
    // The same text with all ways open, read as far as to the last detour.
    let (mut wide, mut read) = (first, start);
    while out.len() - start <= most && x.may_compare > 0 && x.may_search > 0 {
        let length = out.len();
        if config.stack != 0 {
            let seen = x.peek(Noted::beside_masks(config.stack)).frame.seen;
            let count = x.seen.get(seen).list.len() as u64;
            x.may_search = x.may_search.saturating_sub(count / AS_A_STATE);
        }
        x.may_write = most - (length - start);
        steps += 1;
        let state = u64::from(steps.is_multiple_of(STEPS_A_STATE));
        x.may_search = x.may_search.saturating_sub(state);
        if let Some(next) = finish_one(machine, config, x, out) {
            config = next;
            continue;
        }
        out.truncate(length);
        detours += 1;
        if has_ended(machine, &config, x) {
            return true;
        }
        if detours > MAX_DETOURS || x.may_write == 0 {
            return false;
        }
        // The plain way is barred by items that must differ: another one,
        // which exists, of all ways that were open.
        let behind = out[read..].iter();
        let Some(here) = behind
            .copied()
            .try_fold(wide, |c, b| step::next(machine, c, b, x))
        else {
            return false;
        };
        let bytes = unique_items::bytes_to_try(&here);
        let way = bytes
            .into_iter()
            .chain(0x20..=0xFF)
            .find_map(|byte| step::next(machine, here, byte, x).map(|next| (byte, next)));
        let Some((byte, next)) = way else {
            return false;
        };
        out.push(byte);
        (wide, read) = (next, out.len());
        config = next;
    }
    false
}

/// Whether the text may end here, and nothing has to be added.
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

pub(crate) fn feed(
    machine: &Machine,
    config: Config,
    text: &[u8],
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    let bytes = text.len() as u64;
    x.may_search = x.may_search.saturating_sub(bytes / BYTES_AS_A_STATE);
    let next = text_runs::read_on(machine, config, text, x).ok()?;
    out.extend_from_slice(text);
    Some(next)
}

/// One step nearer to the end; `None` at the end.
pub(crate) fn finish_one(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    match config.top {
        Top::End => None,
        Top::Unit { word, at, .. } => feed(
            machine,
            config,
            &UNITS[word as usize][at as usize..],
            x,
            out,
        ),
        Top::Value { space, .. } => {
            let config = feed(machine, config, &machine.space().finish(space), x, out)?;
            begin_value(machine, config, x, out)
        }
        Top::Number { node, set, state } => {
            let held = number_bytes::number_goals(machine, node, set, state, x);
            if held == EMPTY_LIST {
                let more = shortest::shortest_number(machine, config, x)?;
                return feed(machine, config, &more, x, out);
            }
            if config.stack == 0 {
                return None;
            }
            // Whatever ends the array or object ends the number.
            after_number(machine, config, x, out)
        }
        Top::String { .. } => {
            let more = shortest::shortest_string(machine, config, x)?;
            feed(machine, config, &more, x, out)
        }
        Top::Key(key) => {
            let more = shortest::shortest_name(machine, config, key, x)?;
            feed(machine, config, &more, x, out)
        }
        Top::Gap { gap, space } => {
            let config = feed(machine, config, &machine.space().finish(space), x, out)?;
            finish_gap(machine, config, gap, x, out)
        }
    }
}

fn after_number(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    let white = machine.space().finish(machine.space().elsewhere);
    let config = feed(machine, config, &white, x, out)?;
    for byte in b"]}," {
        if let Some(next) = step::next(machine, config, *byte, x) {
            out.push(*byte);
            return Some(lacking::narrowed(machine, next, x));
        }
    }
    // It may not be this number again: a longer one, one spelling of each.
    let most = unique_items::threat_to(machine, &config, x).barred + 1;
    let length = out.len();
    for more in ways_on::number_texts(machine, &config, most, x) {
        if let Some(next) = feed(machine, config, more.as_bytes(), x, out)
            && b"]},"
                .iter()
                .any(|b| step::next(machine, next, *b, x).is_some())
        {
            return Some(next);
        }
        out.truncate(length);
    }
    None
}

fn finish_gap(
    machine: &Machine,
    config: Config,
    gap: Gap,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    match gap {
        Gap::Colon => {
            let config = feed(machine, config, b":", x, out)?;
            Some(lacking::narrowed(machine, config, x))
        }
        Gap::ObjectStart | Gap::AfterMember => {
            if let Some(next) = step::next(machine, config, b'}', x) {
                out.push(b'}');
                return Some(next);
            }
            let config = if gap == Gap::AfterMember {
                let next = feed(machine, config, b",", x, out)?;
                let white = machine.space().finish(machine.space().after_separator);
                feed(machine, next, &white, x, out)?
            } else {
                config
            };
            lacking::name(machine, config, x, out)
        }
        Gap::BeforeKey | Gap::BeforeFurther => lacking::name(machine, config, x, out),
        Gap::ArrayStart | Gap::AfterItem => {
            if let Some(next) = step::next(machine, config, b']', x) {
                out.push(b']');
                return Some(next);
            }
            if gap == Gap::AfterItem {
                let next = feed(machine, config, b",", x, out)?;
                return Some(lacking::narrowed(machine, next, x));
            }
            // The first item: its goals are those of the array itself.
            let top = x.frame(config.stack);
            let choice = lacking::item_choice(machine, config.stack, x)?;
            let m = machine.node(top.frame.node).array.as_ref()?;
            let member = m.members.first()?;
            let set = x.add_list(&[choice.goal]);
            let item = Top::Value {
                node: member.node,
                set,
                space: NO_SPACE,
            };
            begin_value(
                machine,
                Config {
                    top: item,
                    ..config
                },
                x,
                out,
            )
        }
    }
}

/// Begins the value that comes next, with the first of its heads that may
/// come: an item that must differ bars those that lead to no other value.
fn begin_value(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    let Top::Value { node, set, .. } = config.top else {
        return None;
    };
    if let Some(next) = another_value::another_value(machine, config, x, out) {
        return Some(next);
    }
    let (head, next) = first_bytes(machine, node, set, x)
        .into_iter()
        .find_map(|head| step::next(machine, config, head, x).map(|next| (head, next)))?;
    out.push(head);
    Some(next)
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
