//! Objects that a member tells apart, and values that are listed: alternatives that exclude
//! each other need no complements.
//!
//! For example, objects with `"kind": {"const": "a"}` and with `"kind": {"const": "b"}` exclude
//! each other if both require `kind`.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use crate::budget::STEP;
use crate::error::Error;
use crate::ir::signed::Signed;
use crate::ir::{Atom, AtomKind, Kinds, Members, Name, NodeId};
use crate::normal::alternative::{ALL_KINDS, Kind};
use crate::normal::closed::bars;
use crate::normal::found::Discriminators;
use crate::normal::known::truth_of;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;
use crate::normal::plain::bits;
use crate::values;

/// The number of members, or lists of items, that are tried because they may tell values apart.
const MOST_TAGS: usize = 4;

/// The number of alternatives above which it is not asked whether each is told apart, because each
/// is compared with each.
const MOST_WAYS: usize = 32;

/// The length of a list above which it is not asked which of its values another location allows,
/// because each is validated.
const MOST_LISTED: usize = 64;

/// The units of work of asking whether a member lists its values, because a name is looked up.
const NAME: usize = 2;

/// Tells whether no value of a kind can satisfy both locations, as far as that is cheap to see.
pub(super) fn exclude_each_other(
    normaliser: &mut Normaliser,
    a: NodeId,
    b: NodeId,
    kind: Kind,
) -> Result<bool, Error> {
    let key = (a.min(b), a.max(b), kind);
    if let Some(known) = normaliser.excluding.get(&key) {
        return Ok(*known);
    }
    let answer = is_apart(normaliser, a, b, kind)?
        || all_apart(normaliser, a, b, kind)?
        || all_apart(normaliser, b, a, kind)?;
    normaliser.excluding.insert(key, answer);
    Ok(answer)
}

/// The same without a look into alternatives.
fn is_apart(normaliser: &mut Normaliser, a: NodeId, b: NodeId, kind: Kind) -> Result<bool, Error> {
    Ok(plainly_exclude(normaliser, a, b, kind)?
        || (kind == Kind::Array && arrays_apart(normaliser, a, b)?))
}

/// The same without a look into items either, so that nothing recurses.
fn plainly_exclude(
    normaliser: &mut Normaliser,
    a: NodeId,
    b: NodeId,
    kind: Kind,
) -> Result<bool, Error> {
    Ok((kind == Kind::Object && objects_apart(normaliser, a, b)?)
        || listed_apart(normaliser, a, b, kind)?
        || listed_apart(normaliser, b, a, kind)?
        || truth_of(normaliser, a, kind) == Some(false)
        || truth_of(normaliser, b, kind) == Some(false))
}

/// Says whether a location demands one of few others, each of which excludes the second location.
fn all_apart(normaliser: &mut Normaliser, a: NodeId, b: NodeId, kind: Kind) -> Result<bool, Error> {
    let ways = certain_atoms(normaliser, a).find_map(|atom| match &atom.kind {
        AtomKind::AnyOf(ways) | AtomKind::OneOf(ways) => Some(ways),
        _ => None,
    });
    let Some(ways) = ways.filter(|ways| ways.len() <= MOST_WAYS).cloned() else {
        return Ok(false);
    };
    normaliser.work(a, STEP + ways.len())?;
    for way in ways {
        if !is_apart(normaliser, way, b, kind)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says whether no value satisfies both locations, as far as their kinds and lists say so.
fn values_apart(normaliser: &mut Normaliser, a: NodeId, b: NodeId) -> Result<bool, Error> {
    for kind in ALL_KINDS {
        let apart = truth_of(normaliser, a, kind) == Some(false)
            || truth_of(normaliser, b, kind) == Some(false)
            || listed_apart(normaliser, a, b, kind)?
            || listed_apart(normaliser, b, a, kind)?;
        if !apart {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says whether arrays must have an item, and their first ones exclude each other.
fn arrays_apart(normaliser: &mut Normaliser, a: NodeId, b: NodeId) -> Result<bool, Error> {
    normaliser.work(a, STEP)?;
    let has_one = |atom: &Atom| matches!(atom.kind, AtomKind::MinItems(least) if least > 0);
    if !certain_atoms(normaliser, a).any(has_one) && !certain_atoms(normaliser, b).any(has_one) {
        return Ok(false);
    }
    let first = |node: NodeId| {
        let items = certain_atoms(normaliser, node).filter_map(|atom| match &atom.kind {
            AtomKind::Items(items) => Some(*items.prefix.first().unwrap_or(&items.rest)),
            _ => None,
        });
        items.take(MOST_TAGS).collect::<Vec<_>>()
    };
    let (of_a, of_b) = (first(a), first(b));
    for (a, b) in of_a.iter().flat_map(|a| of_b.iter().map(move |b| (*a, *b))) {
        let mut apart = true;
        for kind in ALL_KINDS {
            apart = apart && plainly_exclude(normaliser, a, b, kind)?;
        }
        if apart {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether a location lists few values of a kind, of which another allows none.
fn listed_apart(
    normaliser: &mut Normaliser,
    a: NodeId,
    b: NodeId,
    kind: Kind,
) -> Result<bool, Error> {
    let conj = normaliser.intern(&[Signed::yes(a)]);
    let Some(values) = normaliser.candidates(conj) else {
        return Ok(false);
    };
    if values.len() > MOST_LISTED {
        return Ok(false);
    }
    normaliser.work(a, 4 * values.len())?;
    let mut of_kind = values.iter().filter(|value| Kinds::of(value) == bits(kind));
    Ok(of_kind.all(|value| is_refused(normaliser, b, value)))
}

/// Tells whether locations list their values of a kind, none lists one of another, and what
/// lists none allows none of them: that may be one location.
pub(super) fn all_listed_apart(
    normaliser: &mut Normaliser,
    nodes: &[NodeId],
    kind: Kind,
) -> Result<bool, Error> {
    let mut lists = Vec::with_capacity(nodes.len());
    let mut unlisted = None;
    for node in nodes {
        let conj = normaliser.intern(&[Signed::yes(*node)]);
        match normaliser.candidates(conj) {
            Some(values) => lists.push(values),
            None if unlisted.is_none() => unlisted = Some(*node),
            None => return Ok(false),
        }
    }
    let mut met = HashSet::new();
    for list in lists {
        let of_kind = list.iter().filter(|value| Kinds::of(value) == bits(kind));
        // A value may be listed twice in one of them.
        let own: HashSet<String> = of_kind.clone().map(values::canonical_value).collect();
        if !own.into_iter().all(|value| met.insert(value)) {
            return Ok(false);
        }
        if let Some(node) = unlisted {
            normaliser.work(node, 4 * list.len())?;
            if !of_kind
                .into_iter()
                .all(|value| is_refused(normaliser, node, value))
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn is_refused(locations: &Locations, node: NodeId, value: &Value) -> bool {
    matches!(locations.holds(&[Signed::yes(node)], value), Ok(false))
}

/// Tells whether objects all need a member of the same name of which each lists values, and
/// none lists one of another: then no two of them are satisfied at once.
pub(super) fn all_tagged_apart(normaliser: &mut Normaliser, nodes: &[NodeId], kind: Kind) -> bool {
    let (Kind::Object, Some((first, others))) = (kind, nodes.split_first()) else {
        return false;
    };
    let first = discriminators_of(normaliser, *first);
    let mut tags = first.needed_tags().take(MOST_TAGS).peekable();
    if tags.peek().is_none() {
        return false;
    }
    let others: Vec<Rc<Discriminators>> = others
        .iter()
        .map(|other| discriminators_of(normaliser, *other))
        .collect();
    tags.any(|(name, value)| {
        let mut met = HashSet::new();
        let mut is_new = |normaliser: &mut Normaliser, value: NodeId| {
            let conj = normaliser.intern(&[Signed::yes(value)]);
            let values = normaliser.candidates(conj);
            values.is_some_and(|values| {
                // A value may be listed twice in one of them.
                let own: HashSet<String> = values.iter().map(values::canonical_value).collect();
                own.into_iter().all(|value| met.insert(value))
            })
        };
        is_new(normaliser, *value)
            && others.iter().all(|told| {
                let known = told.needed_tags().find(|(n, _)| n == name);
                known.is_some_and(|(_, value)| is_new(normaliser, *value))
            })
    })
}

/// Tells whether one of two objects needs a member that the other forbids, or a member of which
/// both list the values and share none.
fn objects_apart(normaliser: &mut Normaliser, a: NodeId, b: NodeId) -> Result<bool, Error> {
    let (told_a, told_b) = (
        discriminators_of(normaliser, a),
        discriminators_of(normaliser, b),
    );
    normaliser.work(a, STEP + NAME * (told_a.needs.len() + told_b.needs.len()))?;
    if forbids_one(normaliser, b, &told_a.needs) || forbids_one(normaliser, a, &told_b.needs) {
        return Ok(true);
    }
    Ok(tagged_apart(normaliser, a, (&told_a, &told_b))?
        || members_apart(normaliser, a, b, &told_a.needs)?
        || members_apart(normaliser, b, a, &told_b.needs)?)
}

/// Says whether a member that the first location needs has other values there than in the second.
fn members_apart(
    normaliser: &mut Normaliser,
    a: NodeId,
    b: NodeId,
    needs: &[Name],
) -> Result<bool, Error> {
    for name in needs.iter().take(MOST_TAGS) {
        let said = |normaliser: &Normaliser, node: NodeId| {
            let mut said = members_said(normaliser, node);
            said.find_map(|members| match members.names.get(name) {
                Some(value) => Some(value),
                None if members.patterns.is_empty() && members.additional_said => {
                    Some(members.additional)
                }
                None => None,
            })
        };
        let (Some(of_a), Some(of_b)) = (said(normaliser, a), said(normaliser, b)) else {
            continue;
        };
        normaliser.work(a, STEP)?;
        if values_apart(normaliser, of_a, of_b)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether a location plainly has no value with a member of one of the names.
fn forbids_one(locations: &Locations, node: NodeId, names: &[Name]) -> bool {
    // A member of that name has no value, or no name may be like it.
    names.iter().any(|name| {
        certain_atoms(locations, node).any(|atom| match &atom.kind {
            AtomKind::Members(members) => bars(locations, members, name),
            AtomKind::PropertyNames(own) => {
                is_refused(locations, *own, &Value::from(name.to_string()))
            }
            _ => false,
        })
    })
}

/// Tells whether two objects have a member, required in one of them, of which both list the
/// values and share none. Work is charged to a location.
fn tagged_apart(
    normaliser: &mut Normaliser,
    at: NodeId,
    (a, b): (&Discriminators, &Discriminators),
) -> Result<bool, Error> {
    normaliser.work(at, NAME * (a.declared + b.declared))?;
    if a.tags.is_empty() || b.tags.is_empty() {
        return Ok(false);
    }
    let names = a.needs.len() + b.needs.len() + b.tags.len();
    normaliser.work(at, STEP + 2 * a.tags.len() * (1 + names))?;
    for (name, node_a) in &a.tags {
        let Some((_, node_b)) = b.tags.iter().find(|(n, _)| n == name) else {
            continue;
        };
        if !a.needs.contains(name) && !b.needs.contains(name) {
            continue;
        }
        let conj_a = normaliser.intern(&[Signed::yes(*node_a)]);
        let conj_b = normaliser.intern(&[Signed::yes(*node_b)]);
        let (Some(x), Some(y)) = (normaliser.candidates(conj_a), normaliser.candidates(conj_b))
        else {
            continue;
        };
        normaliser.work(at, 16 * (x.len() + y.len()))?;
        let own: HashSet<String> = x.iter().map(values::canonical_value).collect();
        if !y.iter().any(|v| own.contains(&values::canonical_value(v))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The keywords that hold wherever this location does.
pub(super) fn certain_atoms(locations: &Locations, node: NodeId) -> impl Iterator<Item = &Atom> {
    let mut out = vec![node];
    let mut i = 0;
    while i < out.len() && out.len() < 64 {
        for atom in locations.schema().node(out[i]).atoms() {
            let more = match &atom.kind {
                AtomKind::Ref(node) => std::slice::from_ref(node),
                AtomKind::AllOf(nodes) => nodes,
                _ => &[],
            };
            for n in more {
                if !out.contains(n) {
                    out.push(*n);
                }
            }
        }
        i += 1;
    }
    out.into_iter()
        .flat_map(|node| locations.schema().node(node).atoms())
}

/// Returns its demands on members.
fn members_said(locations: &Locations, node: NodeId) -> impl Iterator<Item = &Members> {
    certain_atoms(locations, node).filter_map(|atom| match &atom.kind {
        AtomKind::Members(members) => Some(members),
        _ => None,
    })
}

/// Returns the members that tell objects of a location from others, found once.
fn discriminators_of(normaliser: &mut Normaliser, node: NodeId) -> Rc<Discriminators> {
    if let Some(known) = normaliser.discriminators.get(&node) {
        return Rc::clone(known);
    }
    let (mut tags, mut declared) = (Vec::new(), 0);
    for members in members_said(normaliser, node) {
        declared += members.names.list().len();
        for at in members.names.sorted() {
            let (name, value) = &members.names.list()[*at as usize];
            if lists_values(normaliser, *value) {
                tags.push((name.clone(), *value));
            }
        }
    }
    let told = Rc::new(Discriminators {
        needs: needed_names(normaliser, node).into(),
        tags: tags.into(),
        declared,
    });
    normaliser.discriminators.insert(node, Rc::clone(&told));
    told
}

fn lists_values(locations: &Locations, node: NodeId) -> bool {
    certain_atoms(locations, node).any(|atom| match atom.kind {
        AtomKind::Values(_) => true,
        AtomKind::Pattern(pattern) => locations.schema().pattern(pattern).texts().is_some(),
        _ => false,
    })
}

fn needed_names(locations: &Locations, node: NodeId) -> Vec<Name> {
    let names = certain_atoms(locations, node).filter_map(|atom| match &atom.kind {
        AtomKind::Required(names) => Some(names),
        _ => None,
    });
    names.flatten().cloned().collect()
}
