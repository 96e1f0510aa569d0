//! Characters inside a string or a name, as many at once as there are: most of what a
//! guide commits. Walks go byte by byte, because they ask where each one leads.
//!
//! For example, all letters of `"abc def"` inside of a free string are read at once.

use schema_normal::decimal::clamped;
use schema_normal::language::char_dfa::{CharDfa, DEAD};

use crate::automaton::machine::Machine;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::progress::has_bit;
use crate::automaton::machine::strings::StringMachine;
use crate::automaton::run::config::{Config, Key, NAMED, Str, Top, UNKNOWN, is_kept};
use crate::automaton::run::plain_object::{self, name_lives};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::state::State;
use crate::automaton::run::string_bytes::Partial;
use crate::automaton::run::string_leaves::string_live;
use crate::automaton::run::{member_names, step};

/// Tells whether bytes are text inside a string that may be any, which they leave as it is.
pub(super) fn is_free_text(machine: &Machine, state: &State, bytes: &[u8]) -> bool {
    let Top::String { node, text, .. } = state.top else {
        return false;
    };
    let string = machine.string(node);
    text.partial == Partial::None
        && string.is_some_and(|m| m.is_free())
        && state.item().is_none()
        && run(bytes).len() == bytes.len()
}

/// So many bytes of a text that is known are read in the time of a state, because each is one step.
const BYTES_AS_A_STATE: u64 = 64;

/// Reads a text of which a completion knows that it may come, and counts it as work; `None` if it may not.
pub(super) fn read_known(
    machine: &Machine,
    config: Config,
    text: &[u8],
    x: &mut Scratch,
) -> Option<Config> {
    let bytes = text.len() as u64;
    x.allowance().search(bytes / BYTES_AS_A_STATE);
    read_on(machine, config, text, x).ok()
}

/// Reads bytes and returns the configuration behind them.
///
/// # Errors
///
/// The place of the first byte that may not come.
pub(super) fn read_on(
    machine: &Machine,
    mut config: Config,
    bytes: &[u8],
    x: &mut Scratch,
) -> Result<Config, usize> {
    let mut at = 0;
    let mut at_once = true;
    while let Some(byte) = bytes.get(at) {
        if at_once && is_between_characters(&config) {
            let run = run(&bytes[at..]);
            match behind_run(machine, &config, run, x) {
                Some(top) => config.top = top,
                // Byte by byte it shows which one may not come.
                None => at_once = false,
            }
            if at_once && !run.is_empty() {
                at += run.len();
                continue;
            }
        }
        config = step::next(machine, config, *byte, x).ok_or(at)?;
        at += 1;
    }
    Ok(config)
}

/// Returns the place behind the characters of a run, from between two characters of a string or a
/// name: the same as one after another, because a place that lives behind the last of them lived
/// behind those before it. `None` if they may not come or if it takes more to tell.
fn behind_run(machine: &Machine, config: &Config, run: &str, x: &mut Scratch) -> Option<Top> {
    match config.top {
        Top::String { node, set, text } => {
            let m = machine.string(node)?;
            if m.is_free() || run.is_empty() {
                return Some(config.top);
            }
            let text = string_behind(m, text, run)?;
            let top = Top::String { node, set, text };
            string_live(m, set, &text, x).then_some(top)
        }
        Top::Key(_) if run.is_empty() => Some(config.top),
        Top::Key(key) => {
            let top = x.note(config.stack);
            let frame = x.peek(top).frame;
            let m = machine.object(frame.node)?;
            let state = match &m.keys {
                Some(keys) => state_behind(&keys.dfa, key.state, run),
                None => 0,
            };
            let names = key.names.go_on(run.as_bytes(), |i| &m.names[i].text);
            let seen = &x.seen(frame.seen).list;
            let used = key.used.go_on(run.as_bytes(), |i| seen.get(i));
            let next = Key {
                state,
                names,
                used,
                ..key
            };
            if !plainly_lives(machine, m, &next, top, x) {
                return None;
            }
            let text = match (key.text, names.is_none()) {
                (UNKNOWN, _) => UNKNOWN,
                (_, false) => NAMED,
                (_, true) => {
                    let text = member_names::spelt(machine, key, top, x).text;
                    run.chars()
                        .fold(text, |t, c| x.texts_mut().append(t, u32::from(c)))
                }
            };
            Some(Top::Key(Key { text, ..next }))
        }
        _ => None,
    }
}

/// Tells whether some name that may come begins like an open one, as far as that is plain.
fn plainly_lives(
    machine: &Machine,
    m: &ObjectMachine,
    key: &Key,
    top: Noted,
    x: &mut Scratch,
) -> bool {
    let known = x.found().usable.get(top.stack()).is_some();
    let lives = match plain_object::plain(machine, top, x).filter(|_| !known) {
        Some(plain) => plain.lives(key, x),
        None => {
            let usable = member_names::usable(machine, top, x);
            let declared = |n: u32| has_bit(&usable.names, n);
            name_lives(m, key, declared, |c| Some(usable.classes & (1 << c) != 0))
        }
    };
    lives == Some(true)
}

/// Tells whether a configuration is inside a string or a name, and not inside a character, and
/// whatever is read is not kept for another reason.
fn is_between_characters(config: &Config) -> bool {
    let partial = match config.top {
        Top::String { text, .. } => text.partial,
        Top::Key(key) => key.partial,
        _ => return false,
    };
    partial == Partial::None && !is_kept(config.item)
}

/// The whole characters with which a text begins that stand for themselves in a string.
fn run(bytes: &[u8]) -> &str {
    let mut plain = bytes.iter();
    let end = plain.position(|byte| matches!(byte, b'"' | b'\\' | ..0x20));
    let plain = &bytes[..end.unwrap_or(bytes.len())];
    match std::str::from_utf8(plain) {
        Ok(run) => run,
        Err(e) => std::str::from_utf8(&plain[..e.valid_up_to()]).unwrap_or_default(),
    }
}

fn state_behind(dfa: &CharDfa, state: u32, run: &str) -> u32 {
    let mut chars = run.chars();
    let next = |state, c| match state {
        DEAD => None,
        state => Some(dfa.step(state, u32::from(c))),
    };
    chars.try_fold(state, next).unwrap_or(DEAD)
}

/// The inside of a string behind a run; `None` if several automata read it.
fn string_behind(m: &StringMachine, text: Str, run: &str) -> Option<Str> {
    let state = match &*m.dfas {
        [] => 0,
        [one] => state_behind(one, text.state, run),
        _ => return None,
    };
    Some(Str {
        state,
        words: text.words.go_on(run.as_bytes(), |i| &m.words[i].text),
        length: m.longer(text.length, clamped(run.chars().count())),
        partial: Partial::None,
    })
}
