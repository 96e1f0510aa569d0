//! The locations that apply to the same value: what they evaluate, and whether they come back to
//! themselves.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind};
use crate::ir::{AtomKind, NodeId};
use crate::normal::conjunctions::ConjId;
use crate::normal::normaliser::Normaliser;

impl Normaliser {
    /// Tells whether a location evaluates members or items, itself or in place.
    pub(crate) fn evaluates(&mut self, node: NodeId) -> bool {
        if let Some(known) = self.evaluates.get(&node) {
            return *known;
        }
        let mut todo = vec![node];
        let mut seen = vec![node];
        let mut answer = false;
        while let Some(at) = todo.pop() {
            for atom in self.schema.atoms(at) {
                match &atom.kind {
                    AtomKind::Members(_)
                    | AtomKind::Items(_)
                    | AtomKind::Contains { .. }
                    | AtomKind::UnevaluatedItems(_)
                    | AtomKind::UnevaluatedProperties(_) => answer = true,
                    // A complement evaluates nothing.
                    AtomKind::Not(_) => {}
                    other => other.in_place(|n| {
                        if !seen.contains(&n) {
                            seen.push(n);
                            todo.push(n);
                        }
                    }),
                }
            }
        }
        self.evaluates.insert(node, answer);
        answer
    }

    /// The first `oneOf` that a conjunction leads to in place.
    pub(super) fn one_of_in_place(&self, conj: ConjId) -> Option<NodeId> {
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut todo: Vec<NodeId> = self.conj(conj).iter().rev().map(|s| s.node).collect();
        while let Some(node) = todo.pop() {
            if !seen.insert(node) {
                continue;
            }
            let mut atoms = self.schema.atoms(node).iter();
            if atoms.any(|atom| matches!(atom.kind, AtomKind::OneOf(_))) {
                return Some(node);
            }
            let mut inner = self.inner(node.0 as usize);
            inner.reverse();
            todo.append(&mut inner);
        }
        None
    }

    /// Refuses references that come back to themselves without descending
    /// into a value: they say nothing.
    pub(crate) fn refuse_cycles(&self) -> Result<(), Error> {
        let n = self.schema.nodes.len();
        let mut state = vec![0u8; n];
        for start in 0..n {
            if state[start] != 0 {
                continue;
            }
            let inner = self.inner(start);
            if inner.is_empty() {
                state[start] = 2;
                continue;
            }
            let mut path: Vec<(usize, Vec<NodeId>)> = vec![(start, inner)];
            state[start] = 1;
            while let Some((at, rest)) = path.last_mut() {
                let Some(next) = rest.pop() else {
                    state[*at] = 2;
                    path.pop();
                    continue;
                };
                match state[next.0 as usize] {
                    0 => {
                        state[next.0 as usize] = 1;
                        let inner = self.inner(next.0 as usize);
                        path.push((next.0 as usize, inner));
                    }
                    1 => {
                        return Err(Error::new(
                            ErrorKind::Cyclic,
                            self.pointer(next),
                            "the references come back here without descending into the value, so they say nothing",
                        ));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The locations that a location applies to the same value.
    fn inner(&self, node: usize) -> Vec<NodeId> {
        let mut inner = Vec::new();
        for atom in self.schema.nodes[node].atoms() {
            atom.kind.in_place(|n| inner.push(n));
        }
        inner
    }
}
