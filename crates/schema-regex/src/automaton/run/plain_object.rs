//! Objects that one thread reads which asks for nothing but required names: most there are. One
//! look at a name tells whether it may come, without lists of all that may.
//!
//! For example, `{"properties": {"a": true}, "required": ["a"]}` has such objects.

use crate::automaton::machine::Machine;
use crate::automaton::machine::live::Live;
use crate::automaton::machine::node::{EMPTY, Member};
use crate::automaton::machine::objects::{ObjectMachine, ObjectThread};
use crate::automaton::run::config::{FIRST, FIRST_THREAD, Frame, Gap, Key, Next, Top};
use crate::automaton::run::object_steps::set_bit;
use crate::automaton::run::scratch::{Noted, Scratch};

/// Such an object between two members, or inside the name of one.
pub(super) struct PlainObject<'a> {
    m: &'a ObjectMachine,
    t: &'a ObjectThread,
    frame: Frame,
    live: Live<'a>,
}

/// The object on top of a stack, if it is a plain one.
pub(super) fn plain<'a>(machine: &'a Machine, top: Noted, x: &Scratch) -> Option<PlainObject<'a>> {
    let frame = x.peek(top).frame;
    let m = machine.object(frame.node)?;
    match &*m.threads {
        [t] if t.is_simple() && frame.threads == FIRST_THREAD => Some(PlainObject {
            m,
            t,
            frame,
            live: machine.live(machine.room(x.depth(top.stack()))),
        }),
        _ => None,
    }
}

/// The object of a node where nothing of it was read, with room for any value in it,
/// if it is a plain one.
pub(super) fn plain_start(machine: &Machine, node: u32) -> Option<PlainObject<'_>> {
    let m = machine.object(node)?;
    match &*m.threads {
        [t] if t.is_simple() => Some(PlainObject {
            m,
            t,
            frame: Frame::first(node, FIRST_THREAD),
            live: machine.live(EMPTY - 1),
        }),
        _ => None,
    }
}

/// The object behind the end of a declared name, if it is plain: where that leads to,
/// if it may come.
pub(super) fn behind_plain_name(
    machine: &Machine,
    key: &Key,
    stack: u32,
    x: &mut Scratch,
) -> Option<Next> {
    let top = x.note(stack);
    let plain = plain(machine, top, x)?;
    let at = key.names.ends(|i| &plain.m.names[i].text)?;
    let number = plain.m.names[at].listed[0];
    if !plain.may_come(number, x) {
        return Some(None);
    }
    let PlainObject { m, mut frame, .. } = plain;
    if m.tracks(number) {
        let mut used = x.list(frame.used).to_vec();
        set_bit(&mut used, number);
        frame.used = x.add_list(&used);
    }
    (frame.pos, frame.count) = m.behind(number, frame.count);
    frame.member = number;
    let stack = x.push(frame, x.peek(top).below);
    Some(Some((Top::between(machine, Gap::Colon), stack)))
}

/// The goals of the open member of a plain object whose name was read.
pub(super) fn plain_goals(machine: &Machine, top: Noted, x: &mut Scratch) -> Option<u32> {
    let plain = plain(machine, top, x)?;
    let member = plain.m.member(plain.frame.member);
    match member.of(0) {
        [one] if !plain.live.fits(member, one.goal) => None,
        [one] if one.goal == 0 => Some(FIRST),
        [one] => Some(x.add_list(&[one.goal])),
        _ => None,
    }
}

impl<'a> PlainObject<'a> {
    /// Its only thread.
    pub(super) fn thread(&self) -> &'a ObjectThread {
        self.t
    }

    /// Tells whether an automaton tells further names apart.
    pub(super) fn has_keys(&self) -> bool {
        self.m.keys.is_some()
    }

    /// The classes of further names that may come, as bits; `None` where those that came
    /// count.
    pub(super) fn classes(&self, x: &Scratch) -> Option<u64> {
        let classes = 0..self.m.classes.len();
        let may_come = |class| Some(u64::from(self.class_may_come(class, x)?) << class);
        classes
            .map(may_come)
            .try_fold(0, |all, bit| Some(all | bit?))
    }

    /// Tells whether a member has a value that fits.
    fn has_value(&self, member: &Member) -> bool {
        let mut goals = member.of(0).iter();
        goals.any(|choice| self.live.fits(member, choice.goal))
    }

    /// Tells whether a declared name may come. Required names can come, or the thread would be
    /// gone; so this may if it has a value and passes nothing required over.
    pub(super) fn may_come(&self, name: u32, x: &Scratch) -> bool {
        self.in_order(name, x) && self.has_value(&self.m.declared[name as usize])
    }

    fn in_order(&self, number: u32, x: &Scratch) -> bool {
        let at = self.frame.object_at(x.slice(self.frame.used), &[]);
        self.live.in_order(self.t, &at, number)
    }

    /// Tells whether some name may come that begins like one that is open; `None` where that takes
    /// more to tell.
    pub(super) fn lives(&self, key: &Key, x: &Scratch) -> Option<bool> {
        name_lives(
            self.m,
            key,
            |name| self.may_come(name, x),
            |class| self.class_may_come(class, x),
        )
    }

    /// Tells whether further names of a class may come; `None` where those that came count.
    fn class_may_come(&self, class: usize, x: &Scratch) -> Option<bool> {
        let number = (self.m.declared.len() + class) as u32;
        let class = self.m.classes.get(class)?;
        let may = self.in_order(number, x) && self.has_value(&class.member);
        (!may || class.count.is_none()).then_some(may)
    }

    /// Tells whether it can be finished at all, and whether it may end as it is.
    pub(super) fn ends(&self, x: &Scratch) -> (bool, bool) {
        let at = self.frame.object_at(x.slice(self.frame.used), &[]);
        let can_end = self.live.object(self.m, 0, 0, &at);
        (can_end, self.live.object_complete(self.m, 0, 0, &at))
    }

    /// Tells whether some name may come; `None` where that takes more to tell.
    pub(super) fn some_name(&self, x: &Scratch) -> Option<bool> {
        let mut names = self.t.next_names(self.frame.pos);
        if names.any(|name| self.may_come(name, x)) {
            return Some(true);
        }
        let mut counts = false;
        for class in 0..self.m.classes.len() {
            match self.class_may_come(class, x) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => counts = true,
            }
        }
        (!counts).then_some(false)
    }
}

/// Tells whether some name that may come begins like one that is open, by what is known of each
/// declared name and each class of further names; `None` where that takes more to tell.
pub(super) fn name_lives(
    m: &ObjectMachine,
    key: &Key,
    declared: impl Fn(u32) -> bool,
    class: impl Fn(usize) -> Option<bool>,
) -> Option<bool> {
    let names = &m.names[key.names.lo as usize..key.names.hi as usize];
    if names.iter().any(|word| declared(word.listed[0])) {
        return Some(true);
    }
    let mut counts = false;
    for at in 0..m.classes.len() {
        let keys = m.keys.as_ref();
        let left = keys.and_then(|keys| keys.left(1 << at, key.state).next()?);
        // Some of finitely many names were declared, or used.
        match (left, class(at)) {
            (Some(0), _) | (_, Some(false)) => {}
            (None, Some(true)) => return Some(true),
            _ => counts = true,
        }
    }
    (!counts).then_some(false)
}
