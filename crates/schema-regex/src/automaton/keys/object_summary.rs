//! The part of an open object that a mask inside of a member's value can depend on: whether the
//! object may end behind it, and whether another name may follow. Tokens that end a value seldom
//! reach further, so that most objects are alike.
//!
//! For example, behind `{"a": ` objects that may end or go on with a declared name are alike,
//! whichever names are left.

use fsm_index::ByteSet;

use crate::automaton::keys::key::Keys;
use crate::automaton::keys::tag::Tag;
use crate::automaton::machine::Machine;
use crate::automaton::machine::lexicon::NAMES;
use crate::automaton::machine::node::ObjectMachine;
use crate::automaton::run::found::{NamesToCome, ObjectSummary, Told};
use crate::automaton::run::plain_object::{self, PlainObject};
use crate::automaton::run::scratch::{Noted, Scratch};

impl Keys<'_> {
    /// Appends all that the object on top of a stack, with a member open or behind one,
    /// means for tokens within the horizon, if that is less than its whole frame.
    pub(super) fn push_object_summary(&mut self, stack: u32) -> bool {
        let (Some(heads), ObjectSummary::Told(told)) =
            (self.horizon.name_heads(&NAMES), self.object_summary(stack))
        else {
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

    pub(super) fn object_summary(&mut self, stack: u32) -> ObjectSummary {
        if let Some(known) = self.x.object_summary(stack) {
            return known;
        }
        let told = self.fresh_object_summary(stack);
        let summary = told.map_or(ObjectSummary::Untold, ObjectSummary::Told);
        self.x.keep_object_summary(stack, summary);
        summary
    }

    fn fresh_object_summary(&self, stack: u32) -> Option<Told> {
        let top = Noted::beside_masks(stack);
        let frame = self.x.peek(top).frame;
        if !frame.is_object || self.x.seen(frame.seen).unknown {
            return None;
        }
        let plain = plain_object::plain(self.machine, top, self.x)?;
        let (more, classes) = plain.more(self.x)?;
        let (_, ends) = plain.ends(self.x);
        Some(Told {
            ends: if ends { plain.thread().goal + 1 } else { 0 },
            more,
            classes,
        })
    }
}

/// With what declared names begin, in any spelling.
pub(super) fn name_heads(machine: &Machine, m: &ObjectMachine) -> ByteSet {
    *m.heads.get_or_init(|| {
        let names = m.names.list.iter();
        names.fold(ByteSet::NONE, |heads, word| {
            heads.or(head_of(machine, &word.text))
        })
    })
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

impl PlainObject<'_> {
    /// Which names may come, and the classes of further ones as bits; `None` where that
    /// takes more to tell.
    pub(super) fn more(&self, x: &Scratch) -> Option<(NamesToCome, u64)> {
        let classes = self.classes(x)?;
        let more = match (classes, self.has_keys()) {
            (0, _) if !self.some_name(x)? => NamesToCome::None,
            (0, _) => NamesToCome::Declared,
            (_, false) => NamesToCome::Further,
            (_, true) => NamesToCome::OfClasses,
        };
        Some((more, classes))
    }
}
