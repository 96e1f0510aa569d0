//! Objects of which one location says everything, by `properties` and `required`
//! alone: most of them. Their machines are what [`object_machine`](super::objects::object_machine) makes
//! too, without asking what is not there.
//!
//! For example, `{"properties": {"a": true}, "required": ["a"]}` is such an object, and one with
//! `minProperties` beside is none.

use std::sync::Arc;

use schema_normal::Error;
use schema_normal::budget::STEP;
use schema_normal::ir::signed::Signed;
use schema_normal::ir::{ALWAYS, Atom, AtomKind, Body, NEVER, Name, NodeId};
use schema_normal::normal::alternative::{MemberRule, ObjectShape};
use schema_normal::normal::conjunctions::{ConjId, NONE};
use schema_normal::options::PropertyOrder;

use crate::automaton::compile::builder::Builder;
use crate::automaton::machine::few::Few;
use crate::automaton::machine::node::{Choice, Choices, Member};
use crate::automaton::machine::objects::{ExtraClass, LOOSE, ObjectMachine, ObjectThread};
use crate::automaton::machine::strings::Word;

/// The most names that are required without being properties, because each is compared with all.
const MAX_REQUIRED: usize = 16;

/// The most references in a row that are followed, because references may form a circle.
const MAX_REFERENCES: usize = 8;

/// The machine of one alternative of one goal, if it is that plain.
pub(super) fn plain_object(
    builder: &mut Builder,
    goal: ConjId,
    o: &ObjectShape,
) -> Result<Option<ObjectMachine>, Error> {
    if o.rules.is_empty() && o.required.is_empty() && is_plain(o) {
        return any_members(builder, o).map(Some);
    }
    let Some((node, atom, further)) = says_everything(builder, goal, o) else {
        return Ok(None);
    };
    let members = builder.normaliser.members((node, atom));
    let list = members.names.list();
    // Behind the properties come the names that are only required.
    let Some(more) = required_in_order(builder, node, |n| members.names.get(n).is_none()) else {
        return Ok(None);
    };
    let count = list.len() + more.len();
    let mut words: Vec<Word> = Vec::with_capacity(count);
    let sorted = members.names.sorted().iter();
    words.extend(sorted.map(|at| word(&list[*at as usize].0, *at)));
    if !more.is_empty() {
        let more = (list.len() as u32..).zip(&more);
        words.extend(more.map(|(number, name)| word(name, number)));
        words.sort_unstable_by(|a, b| a.text.cmp(&b.text));
    }
    let number = |name: &Name| match members.names.place(name) {
        Some(place) => Some(place as u32),
        None => {
            let place = more.iter().position(|n| n == name);
            place.map(|place| (list.len() + place) as u32)
        }
    };
    let mut required: Vec<(u32, u32)> = Vec::with_capacity(o.required.len());
    required.extend(o.required.iter().filter_map(number).map(|n| (n, n)));
    required.sort_unstable();
    let any_order = builder.options().property_order == PropertyOrder::Any;
    builder.normaliser.work(node, count * STEP)?;
    let mut declared = Vec::with_capacity(count);
    for place in 0..count {
        let list = builder.normaliser.members((node, atom)).names.list();
        let value = list.get(place).map_or(further, |(_, node)| *node);
        declared.push(plain_member(builder, value)?);
    }
    let member = plain_member(builder, further)?;
    let classes = match member.options.is_empty() {
        true => Vec::new(),
        false => vec![ExtraClass {
            member,
            count: None,
        }],
    };
    let mut ranks: Vec<u32> = (0..count as u32).collect();
    if any_order {
        ranks.fill(LOOSE);
        for r in &mut required {
            r.0 = LOOSE;
        }
    }
    let thread = ObjectThread::new(0, o.min, o.max).with_names(ranks, required);
    let machine = ObjectMachine::new(vec![thread], words, declared, classes, None);
    Ok(Some(machine))
}

/// The machine of an alternative that admits any members.
fn any_members(builder: &mut Builder, o: &ObjectShape) -> Result<ObjectMachine, Error> {
    let class = ExtraClass {
        member: plain_member(builder, ALWAYS)?,
        count: None,
    };
    let thread = ObjectThread::new(0, o.min, o.max);
    let machine = ObjectMachine::new(vec![thread], Vec::new(), Vec::new(), vec![class], None);
    Ok(machine)
}

/// The location of the members, and that of further ones, where a goal is one
/// location that leads nowhere else and has no patterns.
fn says_everything(
    builder: &Builder,
    goal: ConjId,
    o: &ObjectShape,
) -> Option<(NodeId, u16, NodeId)> {
    let &[
        Signed {
            node,
            positive: true,
        },
    ] = builder.normaliser.conj(goal)
    else {
        return None;
    };
    let (node, atoms) = behind_references(builder, node)?;
    let leads_nowhere = |kind: &AtomKind| {
        !matches!(
            kind,
            AtomKind::AllOf(_)
                | AtomKind::AnyOf(_)
                | AtomKind::OneOf(_)
                | AtomKind::Not(_)
                | AtomKind::If { .. }
                | AtomKind::Ref(_)
                | AtomKind::DependentRequired(_)
                | AtomKind::DependentSchemas(_)
        )
    };
    if !is_plain(o) || !atoms.iter().all(|atom| leads_nowhere(&atom.kind)) {
        return None;
    }
    let [
        MemberRule::Members {
            node: at,
            atom,
            closed,
        },
    ] = o.rules[..]
    else {
        return None;
    };
    let members = builder.normaliser.members((at, atom));
    let further = if closed { NEVER } else { members.additional };
    (at == node && members.patterns.is_empty()).then_some((node, atom, further))
}

/// The location to which one leads that says nothing itself, and its atoms.
fn behind_references(builder: &Builder, mut node: NodeId) -> Option<(NodeId, &[Atom])> {
    for _ in 0..MAX_REFERENCES {
        let Body::Atoms(atoms) = &builder.normaliser.schema().node(node).body else {
            return None;
        };
        match &atoms[..] {
            [
                Atom {
                    kind: AtomKind::Ref(to),
                    ..
                },
            ] => node = *to,
            atoms => return Some((node, atoms)),
        }
    }
    None
}

/// Some of the names that a location requires, each once, in the order of the
/// schema; `None` where they are many.
fn required_in_order(
    builder: &Builder,
    node: NodeId,
    wanted: impl Fn(&str) -> bool,
) -> Option<Vec<Name>> {
    let mut out: Vec<Name> = Vec::new();
    for atom in builder.normaliser.schema().node(node).atoms() {
        if let AtomKind::Required(names) = &atom.kind {
            for name in names.iter().filter(|n| wanted(n)) {
                if out.contains(name) {
                    continue;
                }
                if out.len() == MAX_REQUIRED {
                    return None;
                }
                out.push(Arc::clone(name));
            }
        }
    }
    Some(out)
}

/// The member of the only thread that has to satisfy one location.
fn plain_member(builder: &mut Builder, node: NodeId) -> Result<Member, Error> {
    let conj = builder.normaliser.intern(&[Signed::yes(node)]);
    if conj == NONE {
        return Ok(Member {
            node: u32::MAX,
            options: Choices::default(),
        });
    }
    let choice = Choice {
        thread: 0,
        goal: 0,
        take: 0,
    };
    Ok(Member {
        node: builder.node(&[conj])?,
        options: Choices::one(choice),
    })
}

/// Tells whether nothing is said of names but which there are and which must be.
fn is_plain(o: &ObjectShape) -> bool {
    o.forbidden.is_empty()
        && o.implies.is_empty()
        && o.names.is_empty()
        && o.some.is_empty()
        && o.conditions.is_empty()
}

pub(super) fn word(text: &Name, number: u32) -> Word {
    Word {
        text: Arc::clone(text),
        listed: Few::One(number),
        excluded: Few::default(),
    }
}

#[cfg(test)]
mod tests;
