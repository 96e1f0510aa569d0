//! What a mask can depend on of an object of which a member's value is being read: whether
//! the object may end behind it, and whether another name may follow. Tokens that end a
//! value seldom reach further, so that most objects are alike.

use fsm_index::{ByteSet, Horizon};

use crate::automaton::keys::key;
use crate::automaton::keys::tag::Tag;
use crate::automaton::machine::Machine;
use crate::automaton::machine::lexicon::NAMES;
use crate::automaton::machine::node::ObjectMachine;
use crate::automaton::run::plain_object;
use crate::automaton::run::plain_object::PlainObject;
use crate::automaton::run::scratch::{More, Noted, ObjectSummary, Scratch, Told};

/// Appends all that the object on top of a stack, with a member open or behind one,
/// means for tokens within the horizon, if that is less than its whole frame.
pub(crate) fn push_object_summary(
    machine: &Machine,
    stack: u32,
    horizon: Horizon<'_>,
    x: &mut Scratch,
    out: &mut Vec<u32>,
) -> bool {
    let (Some(heads), ObjectSummary::Told(told)) = (
        horizon.name_heads(&NAMES),
        object_summary(machine, stack, x),
    ) else {
        return false;
    };
    let frame = x.peek(Noted::beside_masks(stack)).frame;
    let Some(m) = machine.node(frame.node).object.as_ref() else {
        return false;
    };
    if told.more != More::None {
        // What was used may not come again, and what is declared is no further name.
        let used = &x.seen.get(frame.seen).list;
        let is_told = |name: &str| head_of(machine, name).meets(heads);
        if name_heads(machine, m).meets(heads) || used.iter().any(|name| is_told(name)) {
            return false;
        }
    }
    out.extend([Tag::Object as u32, told.ends, told.more as u32]);
    if told.more == More::OfClasses {
        let (low, high) = (told.classes as u32, (told.classes >> 32) as u32);
        out.extend([frame.node, low, high]);
    }
    true
}

pub(crate) fn object_summary(machine: &Machine, stack: u32, x: &mut Scratch) -> ObjectSummary {
    let at = stack as usize;
    if let Some(known @ (ObjectSummary::Told(_) | ObjectSummary::Untold)) =
        x.object_summaries.get(at)
    {
        return *known;
    }
    let told = fresh_object_summary(machine, stack, x);
    let summary = told.map_or(ObjectSummary::Untold, ObjectSummary::Told);
    if x.object_summaries.len() <= at {
        x.object_summaries.resize(at + 1, ObjectSummary::Unasked);
    }
    x.object_summaries[at] = summary;
    summary
}

fn fresh_object_summary(machine: &Machine, stack: u32, x: &Scratch) -> Option<Told> {
    let top = Noted::beside_masks(stack);
    let frame = x.peek(top).frame;
    if !frame.is_object || x.seen.get(frame.seen).unknown {
        return None;
    }
    let plain = plain_object::plain(machine, top, x)?;
    let (more, classes) = plain.more(x)?;
    let (_, ends) = plain.ends(x);
    Some(Told {
        ends: if ends { plain.thread().goal + 1 } else { 0 },
        more,
        classes,
    })
}

/// With what declared names begin, in any spelling.
pub(crate) fn name_heads(machine: &Machine, m: &ObjectMachine) -> ByteSet {
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
    match key::may_escape(machine, &[first]) {
        true => plain.or(ByteSet::of(b"\\")),
        false => plain,
    }
}

impl PlainObject<'_> {
    /// Which names may come, and the classes of further ones as bits; `None` where that
    /// takes more to tell.
    pub(crate) fn more(&self, x: &Scratch) -> Option<(More, u64)> {
        let classes = self.classes(x)?;
        let more = match (classes, self.has_keys()) {
            (0, _) if !self.some_name(x)? => More::None,
            (0, _) => More::Declared,
            (_, false) => More::Further,
            (_, true) => More::OfClasses,
        };
        Some((more, classes))
    }
}
