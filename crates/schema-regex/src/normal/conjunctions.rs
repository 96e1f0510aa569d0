//! Sets of locations that hold together: each is kept once, and has a number.

use crate::ir::signed::Signed;
use crate::ir::{ALWAYS, Body, NodeId};
use crate::normal::normaliser::Normaliser;

/// The number of a set of signed locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConjId(pub(crate) u32);

/// Any value.
pub(crate) const ANY: ConjId = ConjId(0);
/// No value.
pub(crate) const NONE: ConjId = ConjId(1);

/// Conjunctions by number.
#[derive(Debug, Default)]
pub(crate) struct Conjs {
    /// The parts of all, one conjunction after the other.
    parts: Vec<Signed>,
    /// The ends of the parts of each.
    ends: Vec<u32>,
}

impl Conjs {
    /// The parts of a conjunction, in order.
    pub(crate) fn of(&self, id: ConjId) -> &[Signed] {
        let at = id.0 as usize;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[from as usize..self.ends[at] as usize]
    }

    /// Returns the number of conjunctions.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn with_room(count: usize) -> Conjs {
        Conjs {
            parts: Vec::with_capacity(count),
            ends: Vec::with_capacity(count),
        }
    }

    pub(super) fn add(&mut self, list: &[Signed]) -> ConjId {
        self.parts.extend_from_slice(list);
        self.ends.push(self.parts.len() as u32);
        ConjId(self.ends.len() as u32 - 1)
    }
}

impl Normaliser {
    /// The parts of a conjunction, in order.
    pub(crate) fn conj(&self, id: ConjId) -> &[Signed] {
        self.conjs.of(id)
    }

    /// The conjunction of some parts: each once, without those that say
    /// nothing.
    pub(crate) fn intern(&mut self, parts: &[Signed]) -> ConjId {
        if let [one] = parts {
            return self.intern_one(*one);
        }
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        let id = self.intern_by(parts, &mut list);
        self.list = list;
        id
    }

    /// The same for no part, or several, with room for a list.
    fn intern_by(&mut self, parts: &[Signed], list: &mut Vec<Signed>) -> ConjId {
        for s in parts {
            match self.says(*s) {
                Some(true) => {}
                Some(false) => return NONE,
                None => list.push(*s),
            }
        }
        list.sort_unstable();
        list.dedup();
        match list[..] {
            [] => return ANY,
            [one] => return self.intern_one(one),
            _ if list.windows(2).any(|w| w[0].node == w[1].node) => return NONE,
            _ => {}
        }
        if let Some(id) = self.conj_ids.get(list.as_slice()) {
            return *id;
        }
        let id = self.conjs.add(list);
        self.conj_ids.insert(list.as_slice().into(), id);
        id
    }

    fn intern_one(&mut self, part: Signed) -> ConjId {
        match self.says(part) {
            Some(true) => return ANY,
            Some(false) => return NONE,
            None => {}
        }
        let at = part.node.0 as usize;
        if at >= self.singles.len() {
            self.singles.resize(self.schema.nodes.len(), [None; 2]);
        }
        let sign = usize::from(part.positive);
        if let Some(known) = self.singles[at][sign] {
            return known;
        }
        let id = self.conjs.add(&[part]);
        self.singles[at][sign] = Some(id);
        id
    }

    /// Returns the truth of a part, if that is all or nothing.
    pub(crate) fn says(&self, part: Signed) -> Option<bool> {
        match &self.schema.node(part.node).body {
            Body::Always => Some(part.positive),
            Body::Never => Some(!part.positive),
            Body::Atoms(_) => None,
        }
    }

    pub(crate) fn pointer(&self, node: NodeId) -> String {
        self.schema.node(node).pointer.to_string()
    }

    /// Returns the pointer of an error about a conjunction.
    pub(crate) fn pointer_of(&self, conj: ConjId) -> String {
        let parts = self.conj(conj).first();
        parts.map_or(String::new(), |s| self.pointer(s.node))
    }

    /// The location that an error about a conjunction names.
    pub(crate) fn first_of(&self, conj: ConjId) -> NodeId {
        self.conj(conj).first().map_or(ALWAYS, |s| s.node)
    }
}
