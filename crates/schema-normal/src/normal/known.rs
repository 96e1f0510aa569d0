//! The facts about a term without splitting.
//!
//! For example, `{"minLength": 2}` holds of a string that has three characters at least.

use crate::ir::signed::Signed;
use crate::ir::{AtomKind, Body, Name, NodeId};
use crate::normal::alternative::{Kind, MemberRule, Shape};
use crate::normal::closed::is_barred;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::Partial;
use crate::normal::plain::{bits, concerns};
use crate::normal::terms::What;

/// Tells whether all values of a kind satisfy a location or none does, `None` where some may.
pub fn truth_of(normaliser: &mut Normaliser, node: NodeId, kind: Kind) -> Option<bool> {
    let empty = Partial::new(kind);
    status_of(normaliser, &empty, &What::Node(Signed::yes(node)), kind, 0)
}

pub(super) fn status_of(
    normaliser: &mut Normaliser,
    p: &Partial,
    what: &What,
    kind: Kind,
    depth: usize,
) -> Option<bool> {
    // Work over the budget is refused at the place at which the answer is used.
    if depth > 8 || !normaliser.budget().take(4) {
        return None;
    }
    match what {
        What::Node(s) => node_status(normaliser, p, s.node, kind, depth).map(|b| b == s.positive),
        What::Atom(node, index, positive) => {
            atom_status(normaliser, p, *node, *index, kind, depth).map(|b| b == *positive)
        }
        What::Forbid(_) | What::Require(_) if kind != Kind::Object => Some(false),
        What::Forbid(name) => is_there(normaliser, p, name).map(|there| !there),
        What::Require(name) => is_there(normaliser, p, name),
        What::Member(name, value) => member_status(normaliser, p, name, *value),
        _ => None,
    }
}

/// Tells whether an object has a member of a name.
fn is_there(locations: &Locations, p: &Partial, name: &Name) -> Option<bool> {
    let Shape::Object(o) = &p.shape else {
        return Some(false);
    };
    if o.forbidden.contains(name) {
        return Some(false);
    }
    if o.required.contains(name) {
        return Some(true);
    }
    if !locations.budget().take(2 * o.rules.len()) {
        return None;
    }
    is_barred(locations, o, name).then_some(false)
}

fn node_status(
    normaliser: &mut Normaliser,
    p: &Partial,
    node: NodeId,
    kind: Kind,
    depth: usize,
) -> Option<bool> {
    let count = match &normaliser.schema().node(node).body {
        Body::Always => return Some(true),
        Body::Never => return Some(false),
        Body::Atoms(atoms) => atoms.len(),
    };
    if !normaliser.budget().take(2 * count) {
        return None;
    }
    all_hold((0..count).map(|i| atom_status(normaliser, p, node, i as u16, kind, depth)))
}

/// Tells whether all of some locations hold, each or its complement.
fn all_status(
    normaliser: &mut Normaliser,
    p: &Partial,
    parts: Vec<Signed>,
    kind: Kind,
    depth: usize,
) -> Option<bool> {
    normaliser.budget().take(4 * parts.len());
    all_hold(parts.into_iter().map(|part| {
        let status = node_status(normaliser, p, part.node, kind, depth + 1);
        status.map(|holds| holds == part.positive)
    }))
}

fn atom_status(
    normaliser: &mut Normaliser,
    p: &Partial,
    node: NodeId,
    index: u16,
    kind: Kind,
    depth: usize,
) -> Option<bool> {
    let atom = normaliser
        .locations
        .schema()
        .node(node)
        .atoms()
        .get(index as usize)?;
    if !concerns(&atom.kind, kind) {
        return Some(true);
    }
    match &atom.kind {
        AtomKind::Type { kinds, integer } => match (kinds.has(bits(kind)), &p.shape) {
            (true, _) => Some(true),
            (false, Shape::Number(n)) if *integer => n.numbers.integer(),
            (false, _) => Some(false),
        },
        AtomKind::Ref(n) => {
            let n = *n;
            node_status(normaliser, p, n, kind, depth + 1)
        }
        AtomKind::Required(names) => {
            let Shape::Object(o) = &p.shape else {
                return None;
            };
            if names.iter().any(|n| o.forbidden.contains(n)) {
                return Some(false);
            }
            names.iter().all(|n| o.required.contains(n)).then_some(true)
        }
        AtomKind::Members(members) => {
            let Shape::Object(o) = &p.shape else {
                return None;
            };
            normaliser.budget().take(2 * o.required.len());
            let listed: Vec<(Name, NodeId)> = o
                .required
                .iter()
                .filter_map(|n| members.names.get(n).map(|v| (n.clone(), v)))
                .collect();
            for (name, value) in listed {
                if member_status(normaliser, p, &name, Signed::yes(value)) == Some(false) {
                    return Some(false);
                }
            }
            None
        }
        AtomKind::AllOf(nodes) => {
            let parts = nodes.iter().map(|n| Signed::yes(*n)).collect();
            all_status(normaliser, p, parts, kind, depth)
        }
        AtomKind::AnyOf(nodes) => {
            // One of them holds unless all complements do.
            let parts = nodes.iter().map(|n| !Signed::yes(*n)).collect();
            all_status(normaliser, p, parts, kind, depth).map(|none| !none)
        }
        AtomKind::Not(n) => {
            let n = *n;
            node_status(normaliser, p, n, kind, depth + 1).map(|b| !b)
        }
        _ => None,
    }
}

/// Tells whether the member is there and so, where its values are listed.
fn member_status(
    normaliser: &mut Normaliser,
    p: &Partial,
    name: &str,
    value: Signed,
) -> Option<bool> {
    let Shape::Object(o) = &p.shape else {
        return Some(false);
    };
    if o.forbidden.contains(name) {
        return Some(false);
    }
    if !normaliser.budget().take(8 + 2 * o.rules.len()) {
        return None;
    }
    if is_barred(normaliser, o, name) {
        return Some(false);
    }
    let mut parts: Vec<Signed> = Vec::new();
    for rule in &o.rules {
        match rule {
            MemberRule::Members { node, atom, .. } => {
                let members = normaliser.members((*node, *atom));
                parts.extend(members.names.get(name).map(Signed::yes));
            }
            MemberRule::Name(n, s) if **n == *name => parts.push(*s),
            _ => {}
        }
    }
    let required = o.required.contains(name);
    let conj = normaliser.intern(&parts);
    let Some(candidates) = normaliser.candidates(conj) else {
        return listed_status(normaliser, &parts, value, required);
    };
    let mut some = false;
    let mut all = true;
    for v in candidates.iter() {
        match normaliser.holds(&[value], v) {
            Ok(true) => some = true,
            Ok(false) => all = false,
            Err(_) => return None,
        }
    }
    if !some {
        Some(false)
    } else if all && required {
        Some(true)
    } else {
        None
    }
}

/// Tells whether a member that satisfies some locations is there and so, where the wanted
/// location lists values: none of them may be one of the member.
fn listed_status(
    normaliser: &mut Normaliser,
    parts: &[Signed],
    wanted: Signed,
    required: bool,
) -> Option<bool> {
    if parts.is_empty() {
        return None;
    }
    let conj = normaliser.intern(&[Signed::yes(wanted.node)]);
    let listed = normaliser.candidates(conj)?;
    let excluded = listed
        .iter()
        .all(|value| matches!(normaliser.holds(parts, value), Ok(false)));
    match (excluded, wanted.positive) {
        (false, _) => None,
        (true, true) => Some(false),
        (true, false) => required.then_some(true),
    }
}

/// Tells whether all of some conditions hold, as far as that is known: one that fails settles it.
fn all_hold(conditions: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_known = true;
    for condition in conditions {
        match condition {
            Some(false) => return Some(false),
            Some(true) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(true)
}
