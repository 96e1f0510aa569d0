//! Knowledge of locations that the normaliser keeps: those that were closed, and the members that
//! tell objects apart. For example, `{"properties": {"kind": {"const": "a"}}}` has `kind`.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::ir::{Name, NodeId};

/// The objects that were closed.
#[derive(Default)]
pub(super) struct Closing {
    /// The locations that admit some names and no others, by the names in order.
    pub(super) lists: FxHashMap<Vec<Name>, NodeId>,
    /// The locations whose `properties` were closed.
    pub(super) closed: BTreeSet<NodeId>,
}

/// The members that tell the objects of a location from others (discriminators).
pub(super) struct Discriminators {
    /// The members that must be there.
    pub(super) needs: Box<[Name]>,
    /// The members that list their values.
    pub(super) tags: Box<[(Name, NodeId)]>,
    /// The number of declared members.
    pub(super) declared: usize,
}

impl Discriminators {
    /// The members that list their values and must be there.
    pub(super) fn needed_tags(&self) -> impl Iterator<Item = &(Name, NodeId)> {
        let tags = self.tags.iter();
        tags.filter(|(name, _)| self.needs.contains(name))
    }
}
