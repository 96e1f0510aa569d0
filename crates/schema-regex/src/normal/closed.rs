//! Objects of which a location says which members they have, and no others: what else is
//! asked of their members is settled by name, without a choice.

use crate::error::Error;
use crate::ir::{Body, Members, Name, NodeId};
use crate::normal::alternative::{MemberRule, ObjectShape, Scope, Witness};
use crate::normal::normaliser::Normaliser;

/// The names of which a member that is asked for may be.
pub(super) enum Left {
    Many,
    One(Name),
    None,
}

impl Normaliser {
    /// Tells whether there can be no member of a name where these are said of members.
    pub(super) fn bars(&self, members: &Members, name: &str) -> bool {
        match members.names.get(name) {
            Some(value) => self.is_never(value),
            None => members.patterns.is_empty() && self.is_never(members.additional),
        }
    }

    fn is_never(&self, node: NodeId) -> bool {
        matches!(self.schema.node(node).body, Body::Never)
    }

    /// The same of the rules of an object, as far as that is plain.
    pub(super) fn is_barred(&self, o: &ObjectShape, name: &str) -> bool {
        let mut rules = o.rules.iter().filter_map(|rule| rule.members());
        rules.any(|(node, atom)| self.bars(self.members(node, atom), name))
    }

    /// The members of an object that has no others, as far as that is plain.
    pub(crate) fn all_members(&self, o: &ObjectShape) -> Option<&Members> {
        o.rules.iter().find_map(|rule| match rule {
            MemberRule::Members { node, atom, closed } => {
                let members = self.members(*node, *atom);
                let is_closed = *closed || self.is_never(members.additional);
                (is_closed && members.patterns.is_empty()).then_some(members)
            }
            MemberRule::Name(..) | MemberRule::Unevaluated(..) => None,
        })
    }

    /// Which names a member that is asked for may have: in an object whose members are
    /// listed it often is one.
    pub(super) fn names_left(&self, o: &ObjectShape, witness: &Witness) -> Result<Left, Error> {
        let Scope::Additional(node, atom) = &witness.scope else {
            return Ok(Left::Many);
        };
        let asked = self.members(*node, *atom);
        let Some(listed) = self.all_members(o).filter(|_| asked.patterns.is_empty()) else {
            return Ok(Left::Many);
        };
        self.work(*node, listed.names.list().len())?;
        let is_left = |name: &&Name| {
            !asked.names.has(name) && !o.forbidden.contains(*name) && !self.is_barred(o, name)
        };
        let mut left = listed.names.order().filter(is_left);
        Ok(match (left.next(), left.next()) {
            (None, _) => Left::None,
            (Some(name), None) => Left::One(name.clone()),
            (Some(_), Some(_)) => Left::Many,
        })
    }
}
