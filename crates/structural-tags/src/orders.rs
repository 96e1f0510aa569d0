//! The orders in which the members of an object come.
//!
//! For example, three arguments of a tool come in any of six orders: the graph has a junction
//! for each set of those that have come, and each argument is a rule, which is there once.

use std::cell::Cell;

use super::build::{Between, Node};

/// Most members that come in any order: the junctions are as many as their sets.
const ANY_ORDER: usize = 6;

/// The junctions that all sets of a format may have: some thousand, because a graph may have no
/// more than [`MAX_PARTS`](crate::MAX_PARTS).
const JUNCTIONS: usize = 4_000;

/// The number of orders that may still be spelt out.
#[derive(Debug)]
pub(super) struct Orders {
    left: Cell<usize>,
    /// Most that one object takes.
    most: usize,
}

impl Orders {
    /// Orders for so many tools, of which none takes more than its part.
    pub(super) fn new(tools: usize) -> Orders {
        Orders {
            left: Cell::new(JUNCTIONS),
            most: JUNCTIONS / tools.max(1),
        }
    }

    /// Members, and whether each must come: in any order if they are few; in their own order
    /// and sorted by name if they are more; in their own order where there is no room for
    /// others.
    pub(super) fn members(
        &self,
        members: Vec<(&str, Node, bool)>,
        between: Between,
        rules: &mut Vec<Node>,
    ) -> Node {
        let count = members.len();
        let sorted = || {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|&at| members[at].0.to_lowercase());
            order
        };
        if count > 1 && count <= ANY_ORDER && self.take(count << count) {
            return Node::AnyOrder(ruled(members, rules), between);
        }
        let order = sorted();
        let is_sorted = order.is_sorted();
        if is_sorted || !self.take(2 * count) {
            let members = members.into_iter().map(|(_, node, must)| (node, must));
            return Node::Members(members.collect(), between);
        }
        let declared = ruled(members, rules);
        let sorted = order.into_iter().map(|at| declared[at].clone()).collect();
        Node::Alt(vec![
            Node::Members(declared, between),
            Node::Members(sorted, between),
        ])
    }

    fn take(&self, junctions: usize) -> bool {
        let left = self.left.get().checked_sub(junctions);
        let left = left.filter(|_| junctions <= self.most);
        self.left.set(left.unwrap_or(self.left.get()));
        left.is_some()
    }
}

/// Each member by a rule, so that it may stand in many places.
fn ruled(members: Vec<(&str, Node, bool)>, rules: &mut Vec<Node>) -> Vec<(Node, bool)> {
    let rule = |(_, node, must): (&str, Node, bool)| {
        rules.push(node);
        (Node::Call(rules.len() - 1), must)
    };
    members.into_iter().map(rule).collect()
}
