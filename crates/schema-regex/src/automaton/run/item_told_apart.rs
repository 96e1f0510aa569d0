//! Items that must differ, where their texts need not be known: once an item
//! cannot become equal to one before it, it is read on as any other, and its
//! masks are those of all such items. Only a further item can go wrong then,
//! within one token: such tokens are exceptions.
//!
//! An array inside of such an item whose values are listed is followed from its own bracket on, as if it
//! were the outermost. For example, behind `[{"note":"a","tags":["x"]},{"note":"b` a walk compares no note,
//! but the tags of `","tags":["x","x"]` with each other.

use fsm_index::{EachException, Exception, Overlay};

use crate::automaton::machine::Machine;
use crate::automaton::machine::SchemaAutomaton;
use crate::automaton::run::config::{Gap, Top};
use crate::automaton::run::equality::canonical;
use crate::automaton::run::levels::OpenLevel;
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::sorted::TextSet;
use crate::automaton::run::state::{self, Item, Load, State};
use crate::automaton::run::{forgotten, step};

impl Overlay<State> for SchemaAutomaton {
    /// An item that must differ may become one of those before it, or the next
    /// ones may; and a name that is open may come again behind its own end, within one token:
    /// a walk does not know how they began.
    fn exceptions(&self, state: &State, each: &mut EachException<'_>) {
        let can_be_refused = |token: &[u8]| {
            (state.is_in_name() && state::may_come_again(&self.machine, state, token))
                || may_double(&self.machine, state, token)
        };
        if state.is_in_name() {
            // Its end, and the name between its quotes.
            let quotes = Exception::Often {
                byte: b'"',
                times: 3,
            };
            each(quotes, &can_be_refused);
        }
        if state.item().is_some() {
            item_exceptions(&self.machine, state, &mut |exception| {
                each(exception, &can_be_refused);
            });
        }
    }
}

/// Commits text within an item that differs: `None` if more than that
/// happens.
#[cold]
pub(super) fn advance_apart(
    machine: &Machine,
    state: &mut State,
    bytes: &[u8],
    x: &mut Scratch,
) -> Option<Result<(), usize>> {
    let item = state.item().filter(|item| item.differs)?;
    let must_differ = |level: &&OpenLevel| level.frame.is_unique(machine);
    let depth = state.below.iter().find(must_differ)?.depth;
    let before = state::load(machine, state, x, Load::Apart);
    let mut config = before;
    for (i, byte) in bytes.iter().enumerate() {
        let Some(next) = step::next(machine, config, *byte, x) else {
            return Some(Err(i));
        };
        let here = x.depth(next.stack);
        let inside = here > depth || (here == depth && matches!(next.top, Top::String { .. }));
        let opened = here > x.depth(config.stack)
            && x.peek(Noted::beside_masks(next.stack))
                .frame
                .is_unique(machine);
        if !inside || opened {
            return None;
        }
        config = next;
    }
    let mut text = Vec::with_capacity(item.text.len() + bytes.len());
    text.extend_from_slice(&item.text);
    text.extend_from_slice(bytes);
    let differs = true;
    state::store_apart(machine, config, &before, Item { text, differs }, state, x);
    Some(Ok(()))
}

/// Tokens that go on with further items behind the open one.
#[cold]
fn item_exceptions(machine: &Machine, state: &State, each: &mut dyn FnMut(Exception<'_>)) {
    let mut levels = state.below.iter();
    let items = |level: &OpenLevel| level.seen().map_or(0, TextSet::len);
    let is_compared =
        |level: &OpenLevel| forgotten::only_compares(machine, &level.frame, items(level));
    if state.item().is_none() || !levels.all(is_compared) {
        return;
    }
    if let Some((begun, seen)) = state::open_item(machine, state) {
        let mut rest = Vec::new();
        let before = format!("\"{}", String::from_utf8_lossy(begun));
        let alike = seen.map(|seen| seen.range(seen.beginning_with(&before)));
        for item in alike.into_iter().flatten() {
            let text = item.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
            let Some(end) = text.and_then(|text| text.as_bytes().strip_prefix(begun)) else {
                continue;
            };
            // Spelled with escapes it is found among the suspects.
            if !end.contains(&b'\\') {
                rest.clear();
                rest.extend_from_slice(end);
                rest.push(b'"');
                each(Exception::Begins(&rest));
            }
        }
        // The string may be spelled with escapes, or a further item may follow it.
        each(Exception::InOrder(b"\\\""));
        each(Exception::InOrder(b"\","));
        return;
    }
    let must_differ = |level: &&OpenLevel| level.frame.is_unique(machine);
    if !state.below.iter().any(|level| must_differ(&level)) {
        return;
    }
    // The bytes that close what is open, and then the comma before the next item.
    let mut order: Vec<u8> = Vec::new();
    for level in state.below.iter().take_while(|level| !must_differ(level)) {
        order.push(if level.frame.is_object { b'}' } else { b']' });
    }
    if order.is_empty() {
        match state.top {
            Top::String { .. } => order.push(b'"'),
            // The next item is compared, but not the one after it.
            Top::Gap(Gap::AfterItem, _) => order.push(b','),
            _ => {}
        }
    }
    order.push(b',');
    each(Exception::InOrder(&order));
    // Another such array may be opened.
    each(Exception::InOrder(b"[,"));
}

/// Tells whether a token could be refused because of a further item, or because an item is spelled
/// with escapes.
fn may_double(machine: &Machine, state: &State, token: &[u8]) -> bool {
    if state.item().is_none() {
        return false;
    }
    if let Some((begun, seen)) = state::open_item(machine, state) {
        // A string that is still open may become any other. Behind its end and a comma the
        // next item is equal to another at its own end at the earliest.
        let Some(end) = string_end(token) else {
            return false;
        };
        let (string, behind) = token.split_at(end);
        if string.contains(&b'\\') {
            let item = canonical(&[b"\"", begun, string, b"\""].concat());
            if seen.is_some_and(|seen| seen.has(&item)) {
                return true;
            }
        }
        let Some(comma) = behind.iter().position(|&byte| byte == b',') else {
            return false;
        };
        return match behind[comma + 1..].trim_ascii_start() {
            [] => false,
            [b'"', string @ ..] => string.contains(&b'"'),
            _ => true,
        };
    }
    if token.contains(&b'\\') {
        return true;
    }
    let comma = token.iter().position(|&byte| byte == b',');
    let goes_on = |at: usize| token[at + 1..].iter().any(|b| !b.is_ascii_whitespace());
    comma.is_some_and(goes_on)
}

/// Returns the end of a string that is open: its quote that is not escaped.
fn string_end(token: &[u8]) -> Option<usize> {
    let mut at = 0;
    while *token.get(at)? != b'"' {
        at += if token[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}
