//! The part of an open object that a mask inside of a member's value can depend on: whether the
//! object may end behind it, and whether another name may follow. Tokens that end a value seldom
//! reach further, so that most objects are alike.
//!
//! For example, behind `{"a": ` objects that may end or go on with a declared name are alike,
//! whichever names are left.

use fsm_index::ByteSet;

use crate::automaton::machine::Machine;
use crate::automaton::machine::lexicon::NAMES;
use crate::automaton::machine::objects::ObjectMachine;
use crate::automaton::machine::prints::Print;
use crate::automaton::run::found::NamesToCome;
use crate::automaton::run::keys::Keys;
use crate::automaton::run::keys::key::much_room;
use crate::automaton::run::keys::tag::Tag;
use crate::automaton::run::object_summary;
use crate::automaton::run::scratch::Noted;

impl Keys<'_> {
    /// Appends all that the object on top of a stack, with a member open or behind one,
    /// means for tokens within the horizon, if that is less than its whole frame.
    pub(super) fn push_object_summary(&mut self, stack: u32) -> bool {
        let told = object_summary::on_top(self.machine, stack, self.x);
        let (Some(heads), Some(told)) = (self.horizon.name_heads(&NAMES), told) else {
            return false;
        };
        let frame = self.x.peek(Noted::beside_masks(stack)).frame;
        let Some(m) = self.machine.object(frame.node) else {
            return false;
        };
        if told.more != NamesToCome::None {
            // Used names may not come again, and declared ones are no further names.
            let used = &self.x.seen(frame.seen).list;
            let is_told = |name: &str| head_of(self.machine, name).meets(heads);
            if name_heads(self.machine, m).meets(heads) || used.iter().any(|name| is_told(name)) {
                return false;
            }
        }
        self.out
            .extend([Tag::Object as u32, told.ends, told.more as u32]);
        if told.more == NamesToCome::OfClasses {
            let (low, high) = (told.classes as u32, (told.classes >> 32) as u32);
            self.out.extend([frame.node, low, high]);
        }
        true
    }

    /// Returns the fingerprint of a value of a node, on top of a stack, of which nothing was read yet, if tokens reach
    /// no further and there is room for more than they open.
    pub(super) fn print_of_start(&self, node: u32, stack: u32) -> Option<Print> {
        let (machine, horizon) = (self.machine, self.horizon);
        let start = |node: u32| {
            let (words, has_names) = object_summary::at_start(machine, node, self.x)?;
            let heads = match has_names {
                true => name_heads(machine, machine.object(node)?),
                false => ByteSet::NONE,
            };
            Some((words, heads))
        };
        let print = machine.print_of_start(node, horizon, start)?;
        let has_room = machine.room(self.x.depth(stack)) >= much_room(print.tallest, horizon);
        has_room.then_some(print)
    }
}

/// With what declared names begin, in any spelling.
fn name_heads(machine: &Machine, m: &ObjectMachine) -> ByteSet {
    m.heads(|name| head_of(machine, name))
}

/// With what a name begins, in any spelling: an empty one with its end.
fn head_of(machine: &Machine, name: &str) -> ByteSet {
    let first = name.bytes().next().unwrap_or(b'"');
    let plain = ByteSet::of(&[first]);
    match machine.may_escape(&[first]) {
        true => plain.or(ByteSet::of(b"\\")),
        false => plain,
    }
}
