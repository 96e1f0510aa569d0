//! Objects of which a location lists the members, and no others: the other demands on their members
//! are settled by name, without a choice.
//!
//! For example, `{"properties": {"a": {}}, "additionalProperties": false, "minProperties": 1}`
//! needs `a`.

use crate::error::Error;
use crate::ir::{Body, Members, Name, NodeId};
use crate::normal::alternative::{MemberRule, ObjectShape, Scope, Witness};
use crate::normal::locations::Locations;

/// The names of which a member that is asked for may be.
pub(super) enum Left {
    Many,
    One(Name),
    None,
}

/// Tells whether there can be no member of a name where these are said of members.
pub(super) fn bars(locations: &Locations, members: &Members, name: &str) -> bool {
    match members.names.get(name) {
        Some(value) => is_never(locations, value),
        None => members.patterns.is_empty() && is_never(locations, members.additional),
    }
}

fn is_never(locations: &Locations, node: NodeId) -> bool {
    matches!(locations.schema().node(node).body, Body::Never)
}

/// The same of the rules of an object, as far as that is plain.
pub(super) fn is_barred(locations: &Locations, o: &ObjectShape, name: &str) -> bool {
    let mut rules = o.rules.iter().filter_map(|rule| rule.members());
    rules.any(|(node, atom)| bars(locations, locations.members((node, atom)), name))
}

/// The members of an object that has no others, as far as that is plain.
pub fn all_members<'l>(locations: &'l Locations, o: &ObjectShape) -> Option<&'l Members> {
    o.rules.iter().find_map(|rule| match rule {
        MemberRule::Members { node, atom, closed } => {
            let members = locations.members((*node, *atom));
            let is_closed = *closed || is_never(locations, members.additional);
            (is_closed && members.patterns.is_empty()).then_some(members)
        }
        MemberRule::Name(..) | MemberRule::Unevaluated(..) => None,
    })
}

/// Which names a member that is asked for may have: in an object whose members are
/// listed it often is one.
pub(super) fn names_left(
    locations: &Locations,
    o: &ObjectShape,
    witness: &Witness,
) -> Result<Left, Error> {
    let Scope::Additional(node, atom) = &witness.scope else {
        return Ok(Left::Many);
    };
    let asked = locations.members((*node, *atom));
    let Some(listed) = all_members(locations, o).filter(|_| asked.patterns.is_empty()) else {
        return Ok(Left::Many);
    };
    locations.work(*node, listed.names.list().len())?;
    let is_left = |name: &&Name| {
        asked.names.get(name).is_none()
            && !o.forbidden.contains(*name)
            && !is_barred(locations, o, name)
    };
    let mut left = listed.names.order().filter(is_left);
    Ok(match (left.next(), left.next()) {
        (None, _) => Left::None,
        (Some(name), None) => Left::One(name.clone()),
        (Some(_), Some(_)) => Left::Many,
    })
}
