//! The part of an object that may matter to a token which reads on behind a value or into one: whether the
//! object may end, and which names may come.
//!
//! For example, behind `{"a": 1` of `{"properties": {"a": true, "b": true}}` it may end, and more may come.

use crate::automaton::machine::Machine;
use crate::automaton::run::found::{NamesToCome, Told};
use crate::automaton::run::plain_object::{self, PlainObject};
use crate::automaton::run::scratch::{Noted, Scratch};

/// Returns that part of the object on top of a stack, with a member open or behind one; `None` where it takes more to
/// tell.
pub(super) fn on_top(machine: &Machine, stack: u32, x: &mut Scratch) -> Option<Told> {
    if let Some(known) = x.found().object_summaries.get(stack) {
        return *known;
    }
    let made = fresh(machine, stack, x);
    x.found_mut().object_summaries.insert(stack, made);
    made
}

fn fresh(machine: &Machine, stack: u32, x: &Scratch) -> Option<Told> {
    let top = Noted::beside_masks(stack);
    let frame = x.peek(top).frame;
    if !frame.is_object || x.seen(frame.seen).unknown {
        return None;
    }
    let (_, _, told) = told(&plain_object::plain(machine, top, x)?, x)?;
    Some(told)
}

/// Returns what tells objects of a node apart of which nothing was read, and whether names may come; `None` where
/// that takes more to tell.
pub(super) fn at_start(machine: &Machine, node: u32, x: &Scratch) -> Option<([u64; 3], bool)> {
    let (goal, can_end, told) = told(&plain_object::plain_start(machine, node)?, x)?;
    let ends = u64::from(can_end) | u64::from(told.ends != 0) << 1;
    let words = [u64::from(goal), told.more as u64, ends];
    match told.more {
        NamesToCome::None => Some((words, false)),
        NamesToCome::Declared | NamesToCome::Further => Some((words, true)),
        NamesToCome::OfClasses => None,
    }
}

fn told(plain: &PlainObject<'_>, x: &Scratch) -> Option<(u32, bool, Told)> {
    let classes = plain.classes(x)?;
    let more = match (classes, plain.has_keys()) {
        (0, _) if !plain.some_name(x)? => NamesToCome::None,
        (0, _) => NamesToCome::Declared,
        (_, false) => NamesToCome::Further,
        (_, true) => NamesToCome::OfClasses,
    };
    let goal = plain.thread().goal;
    let (can_end, may_end) = plain.ends(x);
    let ends = if may_end { goal + 1 } else { 0 };
    let told = Told {
        ends,
        more,
        classes,
    };
    Some((goal, can_end, told))
}
