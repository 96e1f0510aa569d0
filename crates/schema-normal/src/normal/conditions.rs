//! Conditions on the members of an object that are kept as a schema says them, where their
//! alternatives would multiply.
//!
//! For example `allOf` of eleven times `anyOf: [{"required": ["a"]}, {"required": ["b"]}]` has two
//! thousand alternatives, but only eleven conditions, each about two names. A condition is about
//! whether a member of some name is there, and whether its value satisfies a location; a keyword
//! that is about members by patterns, or counts them, is a choice as ever.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::ir::{ALWAYS, Name, NodeId};

/// The number of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConditionId(u32);

/// The condition that never holds, at a fixed place because it is compared with often.
pub(super) const FALSE: ConditionId = ConditionId(0);
/// The condition that always holds, at a fixed place because it is compared with often.
pub(super) const TRUE: ConditionId = ConditionId(1);

/// Something that holds of an object or does not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// It always holds, or never.
    Is(bool),
    /// A member of this name is there, and its value satisfies a location.
    Member(Name, NodeId),
    /// No member is there but those that the `Members` atom of a location names, by its patterns
    /// as well.
    Closed(NodeId, u16),
    /// Another one does not hold.
    Not(ConditionId),
    /// All of them hold.
    All(Box<[ConditionId]>),
    /// One of them holds at least.
    Any(Box<[ConditionId]>),
    /// One of them holds, and no other.
    One(Box<[ConditionId]>),
}

impl Condition {
    /// The conditions that it consists of.
    pub fn parts(&self) -> &[ConditionId] {
        match self {
            Condition::Is(_) | Condition::Member(..) | Condition::Closed(..) => &[],
            Condition::Not(part) => std::slice::from_ref(part),
            Condition::All(parts) | Condition::Any(parts) | Condition::One(parts) => parts,
        }
    }
}

/// Conditions by number, each once. They have names, which a schema chooses: the hash is one
/// that it cannot make collide.
pub struct Conditions {
    list: IndexSet<Condition>,
    /// By location, that of its objects; `None` where there is none.
    of: FxHashMap<NodeId, Option<ConditionId>>,
}

impl Default for Conditions {
    fn default() -> Conditions {
        let constants = [Condition::Is(false), Condition::Is(true)];
        Conditions {
            list: constants.into_iter().collect(),
            of: FxHashMap::default(),
        }
    }
}

impl Conditions {
    /// Returns a condition.
    pub fn get(&self, id: ConditionId) -> &Condition {
        &self.list[id.0 as usize]
    }

    /// Returns the condition of a location, if it was asked for, and has one.
    pub(super) fn of(&self, node: NodeId) -> Option<Option<ConditionId>> {
        self.of.get(&node).copied()
    }

    pub(super) fn set_of(&mut self, node: NodeId, condition: Option<ConditionId>) {
        self.of.insert(node, condition);
    }

    pub(super) fn add(&mut self, condition: Condition) -> ConditionId {
        ConditionId(self.list.insert_full(condition).0 as u32)
    }

    pub(super) fn there(&mut self, name: &Name) -> ConditionId {
        self.add(Condition::Member(name.clone(), ALWAYS))
    }

    pub(super) fn all_there(&mut self, names: &[Name]) -> ConditionId {
        let there = names.iter().map(|name| self.there(name)).collect();
        self.all(there)
    }

    pub(super) fn not(&mut self, id: ConditionId) -> ConditionId {
        match *self.get(id) {
            Condition::Is(is) => ConditionId(u32::from(!is)),
            Condition::Not(of) => of,
            _ => self.add(Condition::Not(id)),
        }
    }

    pub(super) fn all(&mut self, parts: Vec<ConditionId>) -> ConditionId {
        match self.gathered(parts, TRUE) {
            Ok(parts) => self.add(Condition::All(parts)),
            Err(one) => one,
        }
    }

    pub(super) fn any(&mut self, parts: Vec<ConditionId>) -> ConditionId {
        match self.gathered(parts, FALSE) {
            Ok(parts) => self.add(Condition::Any(parts)),
            Err(one) => one,
        }
    }

    /// Several parts, each once, of which none is `neutral` or its opposite; else what they
    /// come to.
    fn gathered(
        &mut self,
        mut parts: Vec<ConditionId>,
        neutral: ConditionId,
    ) -> Result<Box<[ConditionId]>, ConditionId> {
        parts.retain(|part| *part != neutral);
        let opposite = self.not(neutral);
        if parts.contains(&opposite) {
            return Err(opposite);
        }
        let mut met: BTreeSet<ConditionId> = BTreeSet::new();
        parts.retain(|part| met.insert(*part));
        match parts[..] {
            [] => Err(neutral),
            [one] => Err(one),
            _ => Ok(parts.into()),
        }
    }

    /// One of several, and no other.
    pub(super) fn one(&mut self, mut parts: Vec<ConditionId>) -> ConditionId {
        parts.retain(|part| *part != FALSE);
        let certain = parts.iter().filter(|part| **part == TRUE).count();
        if certain > 1 {
            return FALSE;
        }
        if certain == 1 {
            parts.retain(|part| *part != TRUE);
            let none = parts.into_iter().map(|part| self.not(part));
            let none = none.collect();
            return self.all(none);
        }
        match parts[..] {
            [] => FALSE,
            [one] => one,
            _ => self.add(Condition::One(parts.into())),
        }
    }

    /// Returns the condition that the second holds if the first does.
    pub(super) fn implied(&mut self, if_this: ConditionId, then: ConditionId) -> ConditionId {
        let not = self.not(if_this);
        self.any(vec![not, then])
    }
}
