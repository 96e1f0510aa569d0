//! The order of members: that of `properties` as they appear, then names that only other
//! keywords have.
//!
//! For example, `{"required": ["c"], "properties": {"b": {}, "a": {}}}` has the order `b`, `a`,
//! `c`.

use rustc_hash::FxHashSet;

use crate::ir::{AtomKind, Name, NodeId};
use crate::normal::alternative::{MemberRule, MembersAt, ObjectShape};
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::Locations;

/// Up to so many rules are looked through one by one, because making a set takes longer.
const FEW_RULES: usize = 8;

/// The order that a conjunction gives to members.
#[derive(Default)]
pub struct MemberOrder {
    /// The `Members` atoms that it leads to in place, keyword by keyword.
    pub walk: Vec<MembersAt>,
    /// The same, as a set.
    walked: FxHashSet<MembersAt>,
    /// The names that other keywords have, in order; some repeat.
    pub others: Vec<Name>,
}

impl MemberOrder {
    fn push(&mut self, at: MembersAt) {
        self.walk.push(at);
        self.walked.insert(at);
    }

    /// The atoms that an alternative consists of, in order: names of those come before
    /// all others. Values that are listed have locations that no walk meets.
    pub fn own(&self, shape: &ObjectShape) -> impl Iterator<Item = MembersAt> {
        let rules = &shape.rules;
        let of_rules = || rules.iter().filter_map(MemberRule::members);
        let many: Option<FxHashSet<MembersAt>> =
            (rules.len() > FEW_RULES).then(|| of_rules().collect());
        let is_own = move |at: &MembersAt| match &many {
            Some(all) => all.contains(at),
            None => of_rules().any(|own| own == *at),
        };
        let walked = self.walk.iter().copied().filter(is_own);
        walked.chain(of_rules().filter(|at| !self.walked.contains(at)))
    }
}

/// The order that a conjunction gives to members.
pub fn member_order_of(locations: &Locations, conj: ConjId) -> MemberOrder {
    let mut order = MemberOrder::default();
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    // Locations, each from one of its keywords on.
    let parts = locations.conj(conj).iter().rev();
    let mut todo: Vec<(NodeId, usize)> = parts.map(|s| (s.node, 0)).collect();
    let mut inner: Vec<(NodeId, usize)> = Vec::new();
    while let Some((node, from)) = todo.pop() {
        if from == 0 && !seen.insert(node) {
            continue;
        }
        for (i, atom) in locations
            .schema()
            .node(node)
            .atoms()
            .iter()
            .enumerate()
            .skip(from)
        {
            match &atom.kind {
                AtomKind::Members(_) => order.push((node, i as u16)),
                AtomKind::Required(names) => order.others.extend(names.iter().cloned()),
                AtomKind::DependentRequired(lists) => {
                    for (name, needed) in lists {
                        order.others.push(name.clone());
                        order.others.extend(needed.iter().cloned());
                    }
                }
                AtomKind::DependentSchemas(list) => {
                    order
                        .others
                        .extend(list.iter().map(|(name, _)| name.clone()));
                    inner.extend(list.iter().map(|(_, n)| (*n, 0)));
                }
                other => other.in_place(|n| inner.push((n, 0))),
            }
            if !inner.is_empty() {
                // The keywords behind this one come after what it applies.
                todo.push((node, i + 1));
                todo.extend(inner.drain(..).rev());
                break;
            }
        }
    }
    order
}
