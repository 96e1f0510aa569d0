//! The members that a location names, with the location of each. For example, the members `b`, `a`
//! and `c` keep this order, and are found by a search in the sorted one.

use crate::ir::{Name, NodeId};

/// Names in the order of the schema, found by their bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    list: Vec<(Name, NodeId)>,
    /// The places of the names in the list, in the order of their bytes.
    sorted: Vec<u32>,
}

impl Named {
    /// Each name is there once.
    pub(crate) fn new(list: Vec<(Name, NodeId)>) -> Named {
        let mut sorted: Vec<u32> = (0..list.len() as u32).collect();
        sorted.sort_unstable_by_key(|at| &*list[*at as usize].0);
        Named { list, sorted }
    }

    /// Names and locations in the order of the schema.
    pub fn list(&self) -> &[(Name, NodeId)] {
        &self.list
    }

    /// The names in the order of the schema.
    pub fn order(&self) -> impl ExactSizeIterator<Item = &Name> {
        self.list.iter().map(|(name, _)| name)
    }

    /// The places in the list in the order of the names' bytes.
    pub fn sorted(&self) -> &[u32] {
        &self.sorted
    }

    /// Returns the place of a name in the list.
    pub fn place(&self, name: &str) -> Option<usize> {
        let name_at = |at: &u32| &*self.list[*at as usize].0;
        let found = self.sorted.binary_search_by(|at| name_at(at).cmp(name));
        found.ok().map(|at| self.sorted[at] as usize)
    }

    /// Returns the location of a name. O(1) on average.
    pub fn get(&self, name: &str) -> Option<NodeId> {
        self.place(name).map(|at| self.list[at].1)
    }

    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut NodeId> {
        self.list.iter_mut().map(|(_, node)| node)
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::NodeId;
    use crate::ir::named::Named;

    #[test]
    fn names_keep_their_order_and_are_found() {
        let list = ["b", "", "ab", "é", "a"];
        let named = Named::new(
            (0..)
                .map(NodeId)
                .zip(list)
                .map(|(n, s)| (s.into(), n))
                .collect(),
        );
        assert!(named.order().map(|n| &**n).eq(list));
        for (i, name) in list.into_iter().enumerate() {
            assert_eq!(named.get(name), Some(NodeId(i as u32)));
            assert_eq!(named.place(name), Some(i));
        }
        assert!(named.get("c").is_none() && named.get("aa").is_none());
        assert!(Named::default().get("").is_none());
    }
}
