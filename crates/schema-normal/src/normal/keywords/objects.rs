//! `properties` and its like, `required`, `propertyNames`, the bounds on the number of
//! members, and `dependentRequired`.
//!
//! For example, the complement of `{"required": ["a", "b"]}` is that `a` or `b` is missing.

use crate::error::Error;
use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, Members, Name, NodeId};
use crate::normal::alternative::{At, MemberRule, Scope, Shape, Source, Witness};
use crate::normal::closed::{Left, names_left};
use crate::normal::keywords::sense::{Sense, at_most, bound_count};
use crate::normal::locations::Locations;
use crate::normal::partial::{Flow, Partial, Use, collect, object, split};
use crate::normal::terms::{Branch, What, term};

/// Demands something of each member, by its name; the complement is that some member is not so.
pub(super) fn each_member(p: &mut Partial, at: At, used: Use, members: &Members) -> Flow {
    let (node, atom) = (used.node, used.index);
    if used.positive {
        collect(p, used.collector, |c| {
            c.members.push(Source::Members(node, atom));
        });
        return object(p, |o| {
            o.rules.push(MemberRule::Members {
                node,
                atom,
                closed: false,
            });
            true
        });
    }
    let mut branch: Branch = Vec::new();
    for (name, value) in members.names.list() {
        let value = !Signed::yes(*value);
        branch.push(vec![term(What::Member(name.clone(), value))]);
    }
    let mut witness = |scope: Scope, value: NodeId| {
        if value != ALWAYS {
            let value = !Signed::yes(value);
            branch.push(vec![term(What::Some(Witness { scope, value, at }))]);
        }
    };
    for (pattern, value) in &members.patterns {
        witness(Scope::Pattern(*pattern), *value);
    }
    witness(Scope::Additional(node, atom), members.additional);
    split(p, branch)
}

/// Some member is like this. If any member is so, there must be one.
pub(in crate::normal) fn some_member(
    locations: &Locations,
    p: &mut Partial,
    witness: Witness,
) -> Result<Flow, Error> {
    let is_any_name = match &witness.scope {
        Scope::Additional(node, atom) => {
            let members = locations.members((*node, *atom));
            members.names.list().is_empty() && members.patterns.is_empty()
        }
        _ => false,
    };
    let is_any_value = witness.value.truth(locations.schema()) == Some(true);
    if is_any_name && is_any_value {
        return Ok(min_properties(p, Sense::Itself, 1));
    }
    let Shape::Object(o) = &mut p.shape else {
        return Ok(Flow::Dead);
    };
    match names_left(locations, o, &witness)? {
        Left::None => return Ok(Flow::Dead),
        Left::One(name) if is_any_value => p.pending.push(term(What::Require(name))),
        Left::One(name) => p.pending.push(term(What::Member(name, witness.value))),
        Left::Many => o.some.push(witness),
    }
    Ok(Flow::On)
}

/// Members with all of these names; the complement is that one of them is missing.
pub(super) fn required(p: &mut Partial, sense: Sense, names: &[Name]) -> Flow {
    if sense == Sense::Itself {
        return object(p, |o| {
            o.required.extend(names.iter().cloned());
            o.required.is_disjoint(&o.forbidden)
        });
    }
    let missing = names.iter().map(|n| vec![term(What::Forbid(n.clone()))]);
    let branch = missing.collect();
    split(p, branch)
}

/// At least so many members, or fewer.
pub(super) fn min_properties(p: &mut Partial, sense: Sense, n: u64) -> Flow {
    object(p, |o| bound_count(&mut o.min, &mut o.max, n, sense))
}

/// At most so many members, or more.
pub(super) fn max_properties(p: &mut Partial, sense: Sense, n: u64) -> Flow {
    at_most(n, sense, |n, sense| min_properties(p, sense, n))
}

/// All names satisfy a location; the complement is that one of them does not.
pub(super) fn property_names(p: &mut Partial, at: At, sense: Sense, names: NodeId) -> Flow {
    object(p, |o| {
        match sense {
            Sense::Itself => o.names.push(Signed::yes(names)),
            Sense::Complement => o.some.push(Witness {
                scope: Scope::Failing(Signed::yes(names)),
                value: Signed::yes(ALWAYS),
                at,
            }),
        }
        true
    })
}

/// If the first name is there, so are the others; the complement is that one of them is missing
/// beside it.
pub(super) fn dependent_required(
    p: &mut Partial,
    sense: Sense,
    lists: &[(Name, Vec<Name>)],
) -> Flow {
    if sense == Sense::Itself {
        return object(p, |o| {
            o.implies.extend(lists.iter().cloned());
            true
        });
    }
    let mut branch: Branch = Vec::new();
    for (name, needed) in lists {
        for other in needed.iter().filter(|n| *n != name) {
            branch.push(vec![
                term(What::Require(name.clone())),
                term(What::Forbid(other.clone())),
            ]);
        }
    }
    split(p, branch)
}
