//! The terms that a partial has applied, so that each is applied once.

use std::collections::HashSet;

use super::{Term, What};
use crate::hash::FxSet;

/// A term that only consists of numbers, packed: node, atom and tag, collector.
type Key = [u32; 3];

/// Up to so many packed terms are compared one by one.
const FEW: usize = 6;

/// A set of terms. Most of them only have numbers: they are kept apart from those with
/// names, which a schema chooses.
#[derive(Clone, Default)]
pub(super) struct Done {
    few: [Key; FEW],
    /// How many there are of the few.
    count: usize,
    /// All packed terms, once they are more than a few.
    many: FxSet<Key>,
    named: Option<HashSet<Term>>,
}

impl Done {
    /// Whether the term is new.
    pub(super) fn insert(&mut self, term: &Term) -> bool {
        let Some(key) = packed(term) else {
            return self.named.get_or_insert_default().insert(term.clone());
        };
        if !self.many.is_empty() {
            return self.many.insert(key);
        }
        if self.few[..self.count].contains(&key) {
            return false;
        }
        if self.count < FEW {
            self.few[self.count] = key;
            self.count += 1;
        } else {
            self.many.reserve(4 * FEW);
            self.many.extend(self.few);
            self.many.insert(key);
        }
        true
    }

    pub(super) fn contains(&self, term: &Term) -> bool {
        match packed(term) {
            Some(key) if self.many.is_empty() => self.few[..self.count].contains(&key),
            Some(key) => self.many.contains(&key),
            None => self.named.as_ref().is_some_and(|set| set.contains(term)),
        }
    }
}

fn packed(term: &Term) -> Option<Key> {
    let (node, atom, tag) = match &term.what {
        What::Node(s) => (s.node, 0, u32::from(s.positive)),
        What::Atom(node, atom, positive) => (*node, *atom, 2 + u32::from(*positive)),
        What::AllButUnevaluated(node) => (*node, 0, 4),
        _ => return None,
    };
    let collector = term.collector.map_or(0, |c| u32::from(c) + 1);
    Some([node.0, u32::from(atom) | tag << 16, collector])
}

#[cfg(test)]
mod tests {
    use super::super::{node_term, term};
    use super::{Done, FEW, What};
    use crate::ir::NodeId;

    #[test]
    fn each_term_is_new_once() {
        let mut done = Done::default();
        for node in 0..2 * FEW as u32 {
            let node = NodeId(node);
            let terms = [
                node_term(node, true, None),
                node_term(node, false, None),
                node_term(node, true, Some(0)),
                term(What::Atom(node, 0, true)),
                term(What::Atom(node, 0, false)),
                term(What::Atom(node, 1, false)),
                term(What::AllButUnevaluated(node)),
                term(What::Require(node.0.to_string().into())),
                term(What::Forbid(node.0.to_string().into())),
            ];
            for t in &terms {
                assert!(!done.contains(t));
                assert!(done.insert(t));
                assert!(done.contains(t));
                assert!(!done.insert(t));
            }
        }
    }
}
