//! Objects that have no members but those that a schema lists, where the options say so
//! ([`AdditionalMembers::Closed`](crate::options::AdditionalMembers)).
//!
//! An alternative of a conjunction is closed, in which all is together that one object must satisfy
//! and nothing is left to choose, so that the language only gets smaller. For example
//! `{"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}, "required": ["c"]}]}` has one
//! alternative with two rules, one for `a` and one for `b`. A third rule is added, of a location
//! that the schema does not have: `a`, `b` and `c`, and no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Error;
use crate::ir::named::Named;
use crate::ir::{ALWAYS, Atom, AtomKind, Members, NEVER, Name, NodeId};
use crate::normal::alternative::{KeptChoices, MemberRule, MembersAt, ObjectShape, Shape};
use crate::normal::chosen_names::{LISTS, chosen_names};
use crate::normal::closed::is_barred;
use crate::normal::conditions::{Condition, FALSE, TRUE};
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::Locations;
use crate::normal::member_order::member_order_of;
use crate::normal::normaliser::Normaliser;
use crate::normal::shape_table::Shapes;
use crate::normal::terms::{Term, What};

/// The location at which something was narrowed, the keyword, and how.
type Narrowing = (String, &'static str, String);

/// Closes the alternatives of an object that list members and do not speak of others.
pub(super) fn close_objects(
    normaliser: &mut Normaliser,
    conj: ConjId,
    shapes: Shapes,
) -> Result<Shapes, Error> {
    let mut out = Vec::with_capacity(shapes.len());
    let mut strays = Vec::new();
    let mut order = None;
    let mut is_changed = false;
    for shape in shapes.iter() {
        let Shape::Object(o) = shape else {
            return Ok(shapes);
        };
        normaliser.work(normaliser.first_of(conj), 2 * (1 + o.rules.len()))?;
        let listed = match o.choices {
            KeptChoices::Of(_) => closable(normaliser, o),
            KeptChoices::Settled => None,
        };
        let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
            out.push(shape.clone());
            strays.push(false);
            continue;
        };
        let count = listed
            .iter()
            .map(|at| normaliser.members(*at).names.order().len());
        let count = count.sum::<usize>() + o.required.len();
        normaliser.work(normaliser.first_of(conj), 4 * count)?;
        let names = names_together(normaliser, o, &listed);
        if o.min > count_possible(normaliser, o, &names)? {
            out.push(shape.clone());
            strays.push(false);
            continue;
        }
        is_changed = true;
        strays.push(has_stray(normaliser, o, &listed));
        normaliser
            .closing
            .closed
            .extend(listed.iter().map(|(node, _)| *node));
        let mut o = o.clone();
        close_to(normaliser, &mut o, &listed, names, (conj, &mut order))?;
        out.push(Shape::Object(o));
    }
    // A branch of `oneOf` may be ruled out by a member that does not satisfy it, and that
    // nothing else speaks of: an object rather does without.
    if strays.contains(&true) && strays.contains(&false) {
        let mut strays = strays.into_iter();
        out.retain(|_| strays.next() == Some(false));
    }
    Ok(match is_changed {
        true => out.into(),
        false => shapes,
    })
}

/// Closes an alternative whose choices are kept, by what those declare; `false` where that
/// cannot be said.
pub(super) fn close_choices(
    normaliser: &mut Normaliser,
    conj: ConjId,
    shape: &mut Shape,
) -> Result<bool, Error> {
    let Shape::Object(o) = shape else {
        return Ok(true);
    };
    let is_kept = !o.conditions.is_empty() || !o.choices.list().is_empty();
    if !normaliser.options().closes() || !is_kept {
        return Ok(true);
    }
    if let Some(listed) = closable(normaliser, o) {
        let mut names = names_together(normaliser, o, &listed);
        let Some(chosen) = chosen_names(normaliser, o, &names, !listed.is_empty())? else {
            return Ok(false);
        };
        names.extend(chosen.names);
        if chosen.open != TRUE && o.min <= count_possible(normaliser, o, &names)? {
            let all = listed.iter().chain(&chosen.listed);
            normaliser.closing.closed.extend(all.map(|(node, _)| *node));
            if chosen.open == FALSE {
                o.conditions.insert(chosen.declared);
                close_to(normaliser, o, &listed, names, (conj, &mut None))?;
            } else {
                let order = order_of_names(normaliser, conj)?;
                let node = only_names(normaliser, in_order(&order, names));
                let known = &mut normaliser.conditions;
                let closed = known.add(Condition::Closed(node, 0));
                let closed = known.all(vec![chosen.declared, closed]);
                o.conditions.insert(known.any(vec![chosen.open, closed]));
            }
        }
    }
    o.choices = KeptChoices::Settled;
    Ok(true)
}

/// Adds to an alternative that it has no members but those of some names; the order of a
/// conjunction is found once.
fn close_to(
    normaliser: &mut Normaliser,
    o: &mut ObjectShape,
    listed: &[MembersAt],
    names: BTreeSet<Name>,
    (conj, order): (ConjId, &mut Option<Vec<Name>>),
) -> Result<(), Error> {
    if let Some(at) = says_all(normaliser, listed, &names) {
        with_closed(o, at);
        return Ok(());
    }
    let order = match order {
        Some(known) => known,
        none => none.insert(order_of_names(normaliser, conj)?),
    };
    let node = only_names(normaliser, in_order(order, names));
    let closed = false;
    o.rules.push(MemberRule::Members {
        node,
        atom: 0,
        closed,
    });
    Ok(())
}

/// The atoms that list the members of an alternative, if none of its rules speaks of other
/// members.
fn closable(locations: &Locations, o: &ObjectShape) -> Option<Vec<MembersAt>> {
    if !o.some.is_empty() {
        return None;
    }
    let mut listed = Vec::new();
    for rule in &o.rules {
        match rule {
            MemberRule::Members { node, atom, .. } => {
                let members = locations.members((*node, *atom));
                if members.additional_said || !members.patterns.is_empty() {
                    return None;
                }
                if locations.schema().node(*node).atoms()[*atom as usize].keyword == LISTS {
                    listed.push((*node, *atom));
                }
            }
            MemberRule::Name(..) => {}
            MemberRule::Unevaluated(..) => return None,
        }
    }
    Some(listed)
}

/// The names that an alternative speaks of, each once: listed, required, or implied.
fn names_together(locations: &Locations, o: &ObjectShape, listed: &[MembersAt]) -> BTreeSet<Name> {
    let mut names: BTreeSet<Name> = BTreeSet::new();
    for (node, atom) in listed {
        names.extend(locations.members((*node, *atom)).names.order().cloned());
    }
    names.extend(o.required.iter().cloned());
    for (name, needed) in &o.implies {
        names.insert(name.clone());
        names.extend(needed.iter().cloned());
    }
    names
}

/// Returns the places at which some names may be there.
fn count_possible(
    locations: &Locations,
    o: &ObjectShape,
    names: &BTreeSet<Name>,
) -> Result<u64, Error> {
    let mut count = 0;
    for name in names {
        let is_left = o.min == 0
            || !o.forbidden.contains(name)
                && !is_barred(locations, o, name)
                && locations.name_satisfies(&o.names, name)?;
        count += u64::from(is_left);
    }
    Ok(count)
}

/// Tells whether a member is only there because it must fail a condition.
fn has_stray(locations: &Locations, o: &ObjectShape, listed: &[MembersAt]) -> bool {
    let is_listed = |name: &Name| {
        let mut atoms = listed.iter();
        atoms.any(|(node, atom)| locations.members((*node, *atom)).names.get(name).is_some())
    };
    let mut failing = o.rules.iter().filter_map(|rule| match rule {
        MemberRule::Name(name, value) if !value.positive => Some(name),
        _ => None,
    });
    failing.any(|name| !is_listed(name))
}

/// The only atom that lists members, if it lists all of some names.
fn says_all(
    locations: &Locations,
    listed: &[MembersAt],
    names: &BTreeSet<Name>,
) -> Option<MembersAt> {
    match *listed {
        [at] => (locations.members(at).names.order().len() == names.len()).then_some(at),
        _ => None,
    }
}

/// The names that a conjunction mentions, in the order in which members stand; some
/// repeat.
fn order_of_names(locations: &Locations, conj: ConjId) -> Result<Vec<Name>, Error> {
    let order = member_order_of(locations, conj);
    let listed = order
        .walk
        .iter()
        .flat_map(|at| locations.members(*at).names.order());
    let names: Vec<Name> = listed.chain(&order.others).cloned().collect();
    locations.work(locations.first_of(conj), 4 * names.len())?;
    Ok(names)
}

/// A location of objects with no members but those of some names.
fn only_names(normaliser: &mut Normaliser, names: Vec<Name>) -> NodeId {
    if let Some(known) = normaliser.closing.lists.get(&names) {
        return *known;
    }
    let list = names.iter().map(|name| (Arc::clone(name), ALWAYS));
    let members = Members {
        names: Named::new(list.collect()),
        patterns: Vec::new(),
        additional: NEVER,
        additional_said: true,
    };
    let atom = Atom {
        keyword: "additionalProperties",
        kind: AtomKind::Members(members),
    };
    let node = normaliser.synthetic(ALWAYS, vec![atom]);
    normaliser.closing.lists.insert(names, node);
    node
}

/// Tells whether a term leads to a location that lists members.
pub(super) fn declares(locations: &mut Locations, term: &Term) -> bool {
    matches!(term.what, What::Node(s) if s.positive && locations.evaluates(s.node))
}

/// Returns the objects that were closed, for the ledger.
pub fn closings(normaliser: &Normaliser) -> impl Iterator<Item = Narrowing> {
    let how = "objects have no further members, as Options::additional_members closes them";
    let closed = normaliser.closing.closed.iter();
    closed.map(move |node| (normaliser.pointer(*node), LISTS, how.to_owned()))
}

/// Makes an atom of an alternative admit no further members.
fn with_closed(o: &mut ObjectShape, at: MembersAt) {
    for rule in &mut o.rules {
        let is_it = rule.members() == Some(at);
        if let (MemberRule::Members { closed, .. }, true) = (rule, is_it) {
            *closed = true;
        }
    }
}

/// Some names as an order has them, and behind these what it does not have.
fn in_order(order: &[Name], mut names: BTreeSet<Name>) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::with_capacity(names.len());
    out.extend(order.iter().filter_map(|name| names.take(name)));
    out.extend(names);
    out
}
