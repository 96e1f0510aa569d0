//! The shortest numbers, strings and names, searched for breadth first.
//!
//! For example, a string with `"pattern": "^a+b$"` has the shortest text `"ab"`.

use std::collections::{HashMap, VecDeque};

use schema_normal::language::char_dfa::{CharDfa, DEAD};
use schema_normal::language::numbers::dfa::NumberDfa;

use crate::automaton::machine::Machine;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::strings::{StringDemand, StringMachine};
use crate::automaton::run::completion::lacking;
use crate::automaton::run::config::{Config, EMPTY_LIST, Key, Str, Top, UNKNOWN};
use crate::automaton::run::number_bytes::number_state;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::string_goals;
use crate::automaton::run::{step, text_runs};

/// The most states that are looked at for one string, because a search must end on any pattern.
const MAX_SEARCH: usize = 200_000;

/// The bytes that numbers are made of, digits first because a digit ends most numbers.
const NUMBER_BYTES: &[u8; 15] = b"0123456789.-eE+";

/// The most states that are looked at for a name that is wanted, before any other one is taken,
/// because any name ends the search.
const MAX_WANTED: usize = 5_000;

/// A string that lacks more characters than this is written with equal characters up to the last
/// ones, because a search would take a state for each.
const MANY_CHARS: u64 = 256;

/// So many characters are searched for, because the last ones must meet what an expression demands.
const LAST_CHARS: u64 = 64;

/// So many characters are tried, each in one alternative, in the time of a state, because each is
/// one step of an automaton.
const TRIED_AS_A_STATE: u64 = 1_024;

/// Up to so many declared names are looked at one by one, because few are left behind a first
/// character, and the search in their place takes as long as some hundreds.
const FEW_NAMES: usize = 64;

/// So many characters are tried in a name in the time of a state, because each is read by itself.
const HEADS_AS_A_STATE: u64 = 32;

/// The bytes that go on in a character (RFC 3629).
const CONTINUATIONS: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = 0x80 + at as u8;
        at += 1;
    }
    bytes
};

/// The rest of a number, the first one of the shortest by the order of [`NUMBER_BYTES`].
///
/// A number ends where any of its automata accepts, so that the nearest end is that of the nearest
/// one: each knows how far its states are from their ends, and no product is searched.
/// O(automata x bytes of the rest).
pub(super) fn shortest_number(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
) -> Option<Vec<u8>> {
    let Top::Number { node, set, state } = config.top else {
        return None;
    };
    let m = machine.number(node)?;
    let wanted = x.slice(set);
    let mut at: Vec<(&NumberDfa, u32)> = m
        .of(|goal| wanted.contains(&goal))
        .map(|(number, dfa)| (dfa, number_state(m, number, state, x)))
        .filter(|(_, state)| *state != DEAD)
        .collect();
    let far = |(dfa, state): &(&NumberDfa, u32)| dfa.far(*state);
    let mut left = at.iter().filter_map(far).min()?;
    let mut rest = Vec::new();
    while left > 0 {
        // A farther state does not end in time.
        at.retain(|here| far(here) == Some(left));
        left -= 1;
        let behind = |byte: u8| -> Vec<(&NumberDfa, u32)> {
            let next = at.iter().map(|(dfa, state)| (*dfa, dfa.step(*state, byte)));
            next.filter(|here| here.1 != DEAD && far(here) == Some(left))
                .collect()
        };
        let mut ways = NUMBER_BYTES.iter().map(|byte| (*byte, behind(*byte)));
        let (byte, next) = ways.find(|(_, next)| !next.is_empty())?;
        rest.push(byte);
        at = next;
    }
    Some(rest)
}

pub(super) fn shortest_string(
    machine: &Machine,
    config: Config,
    x: &mut Scratch,
) -> Option<Vec<u8>> {
    let Top::String { node, set, .. } = config.top else {
        return None;
    };
    let m = machine.string(node)?;
    if let Some(text) = nearest_end(machine, config, x) {
        return Some(text);
    }
    if may_close(machine, &config, x) {
        return Some(b"\"".to_vec());
    }
    let mut others: Vec<char> = m.dfas.iter().flat_map(|d| representatives(d)).collect();
    others.sort_unstable();
    others.dedup();
    let heads = |text: &Str| -> Vec<char> {
        let words = &m.words[text.words.lo as usize..text.words.hi as usize];
        let read = text.words.read as usize;
        let mut out: Vec<char> = words
            .iter()
            .filter_map(|w| w.text[read..].chars().next())
            .collect();
        out.dedup();
        out.extend(&others);
        // One that no word goes on with.
        let free = ('a'..=char::MAX).find(|c| !out.contains(c));
        out.extend(free);
        out
    };
    let mut filled = Vec::new();
    let mut config = config;
    while let Top::String { text, .. } = config.top {
        let missing = missing_chars(m, set, &text, x);
        if !x.allowance().fits(missing) {
            return None;
        }
        if missing <= MANY_CHARS || text.partial != Partial::None {
            break;
        }
        let many = usize::try_from(missing - LAST_CHARS).unwrap_or(usize::MAX);
        let Some(next) = fill(machine, config, many, &heads(&text), x, &mut filled) else {
            break;
        };
        config = next;
    }
    let rest = search(
        config,
        x,
        MAX_SEARCH,
        &mut |c, x| may_close(machine, c, x),
        &mut |c, x| {
            let Top::String { text, .. } = c.top else {
                return Vec::new();
            };
            let heads = heads(&text);
            let tried = heads.len() as u64 * m.leaves.len() as u64;
            x.allowance().search(tried / TRIED_AS_A_STATE);
            characters(machine, *c, text.partial, &heads, x)
        },
    )?;
    filled.extend(rest);
    filled.push(b'"');
    Some(filled)
}

/// Tells whether a string may end here.
fn may_close(machine: &Machine, config: &Config, x: &mut Scratch) -> bool {
    let Top::String { node, set, text } = config.top else {
        return false;
    };
    let Some(m) = machine.string(node) else {
        return false;
    };
    text.partial == Partial::None
        && string_goals(m, set, &text, x) != EMPTY_LIST
        && step::next(machine, *config, b'"', x).is_some()
}

/// The rest of a string whose value is one expression's, along the distances to the end of its
/// automaton: no search is needed. `None` where something else counts, too.
fn nearest_end(machine: &Machine, config: Config, x: &mut Scratch) -> Option<Vec<u8>> {
    let Top::String { node, set, text } = config.top else {
        return None;
    };
    let m = machine.string(node)?;
    let wanted = x.list(set);
    let mut leaves = m.leaves.iter().filter(|leaf| wanted.contains(&leaf.goal));
    let (Some(leaf), None) = (leaves.next(), leaves.next()) else {
        return None;
    };
    let ([dfa], StringDemand::Read { lengths: None, .. }) = (&*m.dfas, &leaf.demand) else {
        return None;
    };
    if text.partial != Partial::None || text.state == DEAD {
        return None;
    }
    let mut rest = String::new();
    let mut state = text.state;
    while dfa.far(state) > 0 {
        let near = dfa
            .arrows(state)
            .min_by_key(|(to, first, last)| (dfa.far(*to), visible(*first, *last).is_none()));
        let (to, first, last) = near?;
        let c = visible(first, last).or_else(|| char::from_u32(first))?;
        rest.push(c);
        state = to;
    }
    let mut out = serde_json::to_vec(&rest).ok()?;
    out.remove(0);
    let end = text_runs::read_on(machine, config, &out, x).ok()?;
    (!matches!(end.top, Top::String { .. })).then_some(out)
}

/// Returns the configuration behind as many equal characters of one byte as may come, up to a
/// number; `None` if none may come.
fn fill(
    machine: &Machine,
    config: Config,
    many: usize,
    heads: &[char],
    x: &mut Scratch,
    out: &mut Vec<u8>,
) -> Option<Config> {
    let plain = |c: &char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    heads.iter().filter(|c| plain(c)).find_map(|c| {
        let (mut at, mut done) = (config, 0);
        // Twice as many each time: what soon stops costs little.
        let mut more = 1;
        while done < many {
            let text = vec![*c as u8; more.min(many - done)];
            match text_runs::read_on(machine, at, &text, x) {
                Ok(next) => (at, done) = (next, done + text.len()),
                Err(0) => break,
                Err(read) => {
                    at = text_runs::read_on(machine, at, &text[..read], x).ok()?;
                    done += read;
                    break;
                }
            }
            more *= 2;
        }
        out.extend(std::iter::repeat_n(*c as u8, done));
        (done > 0).then_some(at)
    })
}

pub(super) fn shortest_name(
    machine: &Machine,
    config: Config,
    key: Key,
    x: &mut Scratch,
) -> Option<Vec<u8>> {
    // The bytes read so far make no difference.
    let text = UNKNOWN;
    let config = Config {
        top: Top::Key(Key { text, ..key }),
        ..config
    };
    let frame = x.frame(config.stack).frame;
    let m: &ObjectMachine = machine.object(frame.node)?;
    if let Some(text) = declared_name(machine, config, key, x) {
        return Some(text);
    }
    let seen = x.seen(frame.seen).clone();
    let mut ways = |c: &Config, x: &mut Scratch| {
        let Top::Key(key) = c.top else {
            return Vec::new();
        };
        let mut heads: Vec<char> = Vec::new();
        for i in key.names.lo as usize..key.names.hi as usize {
            heads.extend(m.names[i].text[key.names.read as usize..].chars().next());
        }
        for i in key.used.lo as usize..key.used.hi as usize {
            heads.extend(seen.list.get(i)[key.used.read as usize..].chars().next());
        }
        heads.sort_unstable();
        heads.dedup();
        heads.truncate(64);
        if let Some(keys) = &m.keys {
            heads.extend(representatives(&keys.dfa));
        }
        heads.extend('a'..='z');
        heads.extend('0'..='9');
        let tried = heads.len() as u64;
        x.allowance().search(tried / HEADS_AS_A_STATE);
        characters(machine, *c, key.partial, &heads, x)
    };
    let named = |c: &Config, x: &mut Scratch| {
        let ended = step::next(machine, *c, b'"', x)?;
        matches!(ended.top, Top::Gap(..))
            .then(|| x.peek(Noted::beside_masks(ended.stack)).frame.member)
    };
    // A further name that brings the first thread forward, else any.
    let wanted = lacking::classes_wanted(machine, config.stack, x).unwrap_or_default();
    let mut brings =
        |c: &Config, x: &mut Scratch| named(c, x).is_some_and(|number| wanted.contains(&number));
    let found = match wanted.is_empty() {
        true => None,
        false => search(config, x, MAX_WANTED, &mut brings, &mut ways),
    };
    let mut ends = |c: &Config, x: &mut Scratch| named(c, x).is_some();
    let mut text = match found {
        Some(text) => text,
        None => search(config, x, MAX_SEARCH, &mut ends, &mut ways)?,
    };
    text.push(b'"');
    Some(text)
}

/// The rest of the declared name that brings the end nearest, of those that begin as the name does that is
/// open: a required one, else the shortest. `None` where there is none, or another name ends sooner.
fn declared_name(machine: &Machine, config: Config, key: Key, x: &mut Scratch) -> Option<Vec<u8>> {
    if key.partial != Partial::None || key.names.is_none() {
        return None;
    }
    let frame = x.peek(Noted::beside_masks(config.stack)).frame;
    let m = machine.object(frame.node)?;
    let (lo, hi) = (key.names.lo as usize, key.names.hi as usize);
    if hi - lo > FEW_NAMES {
        return None;
    }
    let required = lacking::required_names(machine, config.stack, x).unwrap_or_default();
    let read = key.names.read as usize;
    let mut names: Vec<(bool, usize, usize)> = (lo..hi)
        .map(|at| {
            let word = &m.names[at];
            let is_required = word.listed.iter().any(|n| required.contains(n));
            (!is_required, word.text.len() - read, at)
        })
        .collect();
    names.sort_unstable();
    for (is_optional, _, at) in names {
        if is_optional && step::next(machine, config, b'"', x).is_some() {
            // A further name ends here.
            return None;
        }
        let mut text = serde_json::to_vec(&m.names[at].text[read..]).ok()?;
        text.remove(0);
        let ended = text_runs::read_on(machine, config, &text, x);
        if ended.is_ok_and(|ended| matches!(ended.top, Top::Gap(..))) {
            return Some(text);
        }
    }
    None
}

/// The ways on by one character, or by the rest of a partial one.
fn characters(
    machine: &Machine,
    config: Config,
    partial: Partial,
    heads: &[char],
    x: &mut Scratch,
) -> Vec<(Vec<u8>, Config)> {
    let bytes = match partial {
        Partial::None => {
            let texts = heads.iter().map(|c| {
                let mut text = serde_json::to_vec(&c.to_string()).unwrap_or_default();
                text.pop();
                text.split_off(1.min(text.len()))
            });
            let ways = texts.filter_map(|text| {
                let mut at = config;
                for byte in &text {
                    at = step::next(machine, at, *byte, x)?;
                }
                Some((text, at))
            });
            return ways.collect();
        }
        Partial::Utf8 { .. } => CONTINUATIONS.as_slice(),
        Partial::Escape => b"\"\\/bfnrtu",
        Partial::Hex { .. } => b"0123456789abcdef",
        Partial::HighEscape { .. } => b"\\",
        Partial::HighU { .. } => b"u",
    };
    // A begun character can be ended: the first way will do.
    let mut ways = bytes.iter().filter_map(|byte| {
        let next = step::next(machine, config, *byte, x)?;
        Some((vec![*byte], next))
    });
    ways.next().into_iter().collect()
}

/// A visible character of a range that stands for itself in JSON.
fn visible(first: u32, last: u32) -> Option<char> {
    let mut range = first.max(0x20)..=last.min(0x7E);
    let found = range.find(|c| ![0x22, 0x5C].contains(c))?;
    char::from_u32(found)
}

/// Returns the number of characters that a string lacks at least, by the lengths that are asked of
/// it alone.
fn missing_chars(m: &StringMachine, set: u32, text: &Str, x: &mut Scratch) -> u64 {
    let wanted = x.list(set);
    let leaves = m.leaves.iter().filter(|leaf| wanted.contains(&leaf.goal));
    let least = leaves.map(|leaf| leaf.demand.bounds().0).min();
    least.unwrap_or(0).saturating_sub(u64::from(text.length))
}

/// A character for each symbol of an automaton, visible ones first.
fn representatives(dfa: &CharDfa) -> Vec<char> {
    dfa.representatives()
        .into_iter()
        .filter_map(char::from_u32)
        .collect()
}

/// The ways on from a state: a text, and where it leads.
type Ways<'w, S> = dyn FnMut(&S, &mut Scratch) -> Vec<(Vec<u8>, S)> + 'w;

/// Breadth first: the text to the nearest state that is an end.
fn search<S: Copy + Eq + std::hash::Hash>(
    start: S,
    x: &mut Scratch,
    most: usize,
    is_end: &mut dyn FnMut(&S, &mut Scratch) -> bool,
    next: &mut Ways<'_, S>,
) -> Option<Vec<u8>> {
    let mut from: HashMap<S, Option<(S, Vec<u8>)>> = HashMap::from([(start, None)]);
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        if is_end(&state, x) {
            let mut parts: Vec<Vec<u8>> = Vec::new();
            let mut at = state;
            while let Some(Some((before, text))) = from.get(&at) {
                parts.push(text.clone());
                at = *before;
            }
            parts.reverse();
            return Some(parts.concat());
        }
        // A search for an item that differs, as walks make them, has limits of
        // its own.
        if from.len() > most || (x.allowance().is_spent() && !x.is_searching()) {
            return None;
        }
        x.allowance().search(1);
        for (text, to) in next(&state, x) {
            from.entry(to).or_insert_with(|| {
                queue.push_back(to);
                Some((state, text))
            });
        }
    }
    None
}
