//! The terms that a partial has applied, so that each is applied once. Partials part
//! ways at every choice: what they have applied before is shared by them, not copied.
//!
//! For example, `{"allOf": [{"$ref": "#/a"}, {"$ref": "#/a"}]}` applies `/a` once.

use std::collections::HashSet;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::normal::terms::{Term, What};

/// A term that only consists of numbers, packed: node, atom and tag, collector.
type Key = [u32; 3];

/// The number of terms that are kept, and shared, together, because most partials apply few.
const FEW: usize = 6;

/// Up to so many lists of packed terms are looked through, or terms with names, because a set is
/// found faster only beyond: more become one set.
const MANY: u32 = 12;

/// A set of terms. Most of them only have numbers: they are kept apart from those with
/// names, which a schema chooses.
#[derive(Clone, Default)]
pub(in crate::normal) struct Done {
    few: [Key; FEW],
    /// The number of the few.
    count: usize,
    full: Option<Rc<Full>>,
    many: Option<Rc<FxHashSet<Key>>>,
    named: Option<Rc<NamedTerm>>,
    many_named: Option<Rc<HashSet<Term>>>,
}

/// As many packed terms as are kept together, and those before them.
struct Full {
    keys: [Key; FEW],
    before: Option<Rc<Full>>,
    /// The number of lists, this one included.
    depth: u32,
}

/// A term with names, and those before it.
struct NamedTerm {
    term: Term,
    before: Option<Rc<NamedTerm>>,
    depth: u32,
}

impl Done {
    /// Tells whether the term is new.
    pub(super) fn insert(&mut self, term: &Term) -> bool {
        let Some(key) = packed(term) else {
            return self.insert_named(term);
        };
        if self.has(&key) {
            return false;
        }
        if self.count == FEW {
            let before = self.full.take();
            let depth = before.as_ref().map_or(0, |full| full.depth) + 1;
            let keys = self.few;
            self.full = Some(Rc::new(Full {
                keys,
                before,
                depth,
            }));
            self.count = 0;
            if depth == MANY {
                self.gather();
            }
        }
        self.few[self.count] = key;
        self.count += 1;
        true
    }

    pub(super) fn contains(&self, term: &Term) -> bool {
        match packed(term) {
            Some(key) => self.has(&key),
            None => self.has_named(term),
        }
    }

    fn has(&self, key: &Key) -> bool {
        self.few[..self.count].contains(key)
            || self.lists().any(|full| full.keys.contains(key))
            || self.many.as_ref().is_some_and(|many| many.contains(key))
    }

    fn lists(&self) -> impl Iterator<Item = &Full> {
        std::iter::successors(self.full.as_deref(), |full| full.before.as_deref())
    }

    /// Makes one set of all lists.
    fn gather(&mut self) {
        let mut many = self.many.take().unwrap_or_default();
        // Copied only where another partial has it too.
        let all = Rc::make_mut(&mut many);
        all.extend(self.lists().flat_map(|full| full.keys));
        self.many = Some(many);
        self.full = None;
    }

    fn has_named(&self, term: &Term) -> bool {
        self.names().any(|named| named.term == *term)
            || self
                .many_named
                .as_ref()
                .is_some_and(|many| many.contains(term))
    }

    fn names(&self) -> impl Iterator<Item = &NamedTerm> {
        std::iter::successors(self.named.as_deref(), |named| named.before.as_deref())
    }

    fn insert_named(&mut self, term: &Term) -> bool {
        if self.has_named(term) {
            return false;
        }
        let before = self.named.take();
        let depth = before.as_ref().map_or(0, |named| named.depth) + 1;
        let term = term.clone();
        self.named = Some(Rc::new(NamedTerm {
            term,
            before,
            depth,
        }));
        if depth == MANY {
            let mut many = self.many_named.take().unwrap_or_default();
            let all = Rc::make_mut(&mut many);
            all.extend(self.names().map(|named| named.term.clone()));
            self.many_named = Some(many);
            self.named = None;
        }
        true
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
    use crate::ir::NodeId;
    use crate::ir::signed::Signed;
    use crate::normal::applied::{Done, FEW, What};
    use crate::normal::terms::{node_term, term};

    #[test]
    fn what_parted_ways_shares_what_came_before() {
        let mut done = Done::default();
        let terms = |n: u32| {
            let value = Signed::yes(NodeId(n));
            let member = term(What::Member(n.to_string().into(), value));
            [node_term(NodeId(n), true, None), member]
        };
        for n in 0..200 {
            let mut other = done.clone();
            for t in terms(n) {
                assert!(done.insert(&t));
                assert!(!other.contains(&t) && other.insert(&t));
            }
            other.insert(&node_term(NodeId(n), false, None));
            assert!(!done.contains(&node_term(NodeId(n), false, None)));
            assert!(
                terms(n / 2)
                    .iter()
                    .all(|t| done.contains(t) && other.contains(t))
            );
        }
    }

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
