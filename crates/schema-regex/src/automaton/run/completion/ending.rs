//! Shortest completions, a piece at a time: for who asks for the ends of many places.
//!
//! For example, `{"a":"x` is finished by the pieces `"` and `,"b":`, `""` and `}` where a second string `b` is required.

use fsm_index::{Cursor, Ending, Growth, Nearer, Standing};

use crate::automaton::machine::Machine;
use crate::automaton::machine::SchemaAutomaton;
use crate::automaton::run::allowance::Allowance;
use crate::automaton::run::completion::finish::{self, Finisher};
use crate::automaton::run::completion::growth::Sums;
use crate::automaton::run::completion::lacking;
use crate::automaton::run::config::{Config, Gap, Top};
use crate::automaton::run::scratch::{Noted, Scratch};
use crate::automaton::run::string_bytes::Partial;

impl Ending<Scratch> for SchemaAutomaton {
    fn nearer(&self, cursor: Cursor, x: &mut Scratch, out: &mut Vec<u8>) -> Nearer {
        nearer(&self.machine, cursor, x, out)
    }

    fn narrower(&self, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
        narrower(&self.machine, cursor, x)
    }

    fn begun(&self, from: Cursor, to: Cursor, x: &mut Scratch) -> u32 {
        begun(from, to, x)
    }

    fn standing(&self, cursor: Cursor, x: &mut Scratch) -> Standing {
        standing(&self.machine, cursor, x)
    }

    fn growth(&self, cost: &dyn Fn(&[u8]) -> usize) -> Growth {
        growth(&self.machine, cost)
    }
}

fn nearer(machine: &Machine, cursor: Cursor, x: &mut Scratch, out: &mut Vec<u8>) -> Nearer {
    if cursor.is_dead() {
        return Nearer::Unknown;
    }
    let config = *x.config(cursor);
    if finish::has_ended(machine, &config, x) {
        return Nearer::End;
    }
    // Cursors do not tell by what items that must differ do so.
    if has_unique_items(machine, config.stack, x) {
        return Nearer::Unknown;
    }
    *x.allowance() = Allowance::new();
    let before = out.len();
    match Finisher::new(machine, x, out).finish_one(config) {
        Some(next) => {
            let to = x.cursor(next);
            match is_behind_further_name(machine, &next, x) {
                true => Nearer::Like(to),
                false => Nearer::To(to),
            }
        }
        None => {
            out.truncate(before);
            Nearer::Unknown
        }
    }
}

fn narrower(machine: &Machine, cursor: Cursor, x: &mut Scratch) -> Option<Cursor> {
    if cursor.is_dead() {
        return None;
    }
    let config = *x.config(cursor);
    let narrowed = lacking::narrowed(machine, config, x);
    (narrowed != config).then(|| x.cursor(narrowed))
}

/// The way from before a name into one, or behind it, begins a member; that from behind the
/// bracket or the comma of an array to a value begins an item.
fn begun(from: Cursor, to: Cursor, x: &mut Scratch) -> u32 {
    if from.is_dead() || to.is_dead() {
        return 0;
    }
    let (from, to) = (*x.config(from), *x.config(to));
    u32::from(begins(&from, &to, x))
}

fn standing(machine: &Machine, cursor: Cursor, x: &mut Scratch) -> Standing {
    if cursor.is_dead() {
        return Standing::default();
    }
    let config = x.config(cursor);
    let is_in_text = match config.top {
        Top::String { node, text, .. } => {
            let machine = machine.string(node);
            text.partial == Partial::None && machine.is_some_and(|m| m.is_free())
        }
        _ => false,
    };
    Standing {
        levels: x.depth(config.stack) as usize,
        is_in_text,
    }
}

fn growth(machine: &Machine, cost: &dyn Fn(&[u8]) -> usize) -> Growth {
    Sums::new(machine, cost).growth()
}

/// Tells whether some array that is open has items that must differ.
fn has_unique_items(machine: &Machine, stack: u32, x: &Scratch) -> bool {
    x.levels(stack).any(|level| level.frame.is_unique(machine))
}

/// Tells whether a piece ended with a name that is not declared: which one depends on those before.
fn is_behind_further_name(machine: &Machine, config: &Config, x: &Scratch) -> bool {
    if !matches!(config.top.gap(), Some(Gap::Colon)) {
        return false;
    }
    let frame = x.peek(Noted::beside_masks(config.stack)).frame;
    let object = machine.object(frame.node);
    object.is_some_and(|m| frame.member as usize >= m.declared.len())
}

/// Tells whether the way from one configuration to the other begins a member or an item.
fn begins(from: &Config, to: &Config, x: &Scratch) -> bool {
    let in_array = |stack: u32| stack != 0 && !x.peek(Noted::beside_masks(stack)).frame.is_object;
    let to_name = matches!(to.top, Top::Key(_) | Top::Gap(Gap::Colon, _));
    match from.top {
        Top::Gap(gap, _) if gap.is_before_a_name() => to_name,
        // A piece may hold the end of a number and the name behind it.
        Top::Number { .. } if to_name => true,
        Top::Gap(Gap::ArrayStart, _) => {
            let still_before = matches!(to.top.gap(), Some(Gap::ArrayStart));
            let is_closed = x.depth(to.stack) < x.depth(from.stack);
            !still_before && !is_closed
        }
        Top::Gap(Gap::AfterItem, _) | Top::Number { .. } => {
            matches!(to.top, Top::Value { .. }) && in_array(to.stack)
        }
        _ => false,
    }
}
