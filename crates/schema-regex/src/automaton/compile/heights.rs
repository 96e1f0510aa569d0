//! Emptiness: how deep the flattest value of each goal nests, as a least
//! fixpoint. In round `h` the goals are found that can be met with what was
//! found in the rounds before, so a round is a level of nesting.
//!
//! For example, `{"type": "array", "minItems": 1, "items": {"const": 0}}` has height one: `[0]`.

use schema_normal::normal::alternative::Kind;

use crate::automaton::machine::live::Live;
use crate::automaton::machine::node::{EMPTY, Node};
use crate::automaton::machine::progress::ObjectAt;

pub(super) fn solve(nodes: &mut [Node]) {
    let mut open: Vec<(u32, u32)> = Vec::new();
    for node in nodes.iter_mut() {
        node.heights.fill(EMPTY);
    }
    for (n, node) in nodes.iter_mut().enumerate() {
        for g in 0..node.goals.len() as u32 {
            if is_scalar(node, g) {
                node.heights[g as usize] = 0;
            } else if node.array.is_some() || node.object.is_some() {
                open.push((n as u32, g));
            }
        }
    }
    let mut height = 1;
    let mut found: Vec<(u32, u32)> = Vec::with_capacity(open.len());
    while !open.is_empty() {
        let live = Live::new(nodes, EMPTY - 1);
        found.clear();
        let met = open.iter().copied();
        found.extend(met.filter(|(n, g)| has_container(&live, &nodes[*n as usize], *g)));
        if found.is_empty() {
            return;
        }
        for (n, g) in &found {
            nodes[*n as usize].heights[*g as usize] = height;
        }
        open.retain(|(n, g)| nodes[*n as usize].heights[*g as usize] == EMPTY);
        height += 1;
    }
}

fn is_scalar(node: &Node, goal: u32) -> bool {
    let kinds = [
        Kind::Null,
        Kind::False,
        Kind::True,
        Kind::Number,
        Kind::String,
    ];
    kinds.iter().any(|kind| node.may_be(*kind, |g| g == goal))
}

fn has_container(live: &Live<'_>, node: &Node, goal: u32) -> bool {
    let at = ObjectAt::START;
    let array = node.array.as_ref().is_some_and(|m| {
        (0..m.threads.len() as u32).any(|t| {
            m.threads[t as usize].goal == goal
                && live.array(m, t, 0, 0)
                && m.catalog.has_room(m, (t, 0), 0, &())
        })
    });
    array
        || node.object.as_ref().is_some_and(|m| {
            (0..m.threads.len() as u32)
                .any(|t| m.threads[t as usize].goal == goal && live.object(m, t, 0, &at))
        })
}

/// Returns the greatest depth to which values nest; `None` if there is no end.
pub(super) fn deepest(nodes: &[Node]) -> Option<u32> {
    /// The depth of a node that was not seen, because no schema has as many nodes.
    const NOT_SEEN: u32 = u32::MAX;
    /// The depth of a node on the path, because it must differ from that of a node not seen.
    const OPEN: u32 = u32::MAX - 1;
    let mut depth = vec![NOT_SEEN; nodes.len()];
    // Which node, how many of its inner ones were looked at, and the deepest of them.
    let mut path: Vec<(usize, usize, u32)> = Vec::with_capacity(8);
    *depth.first_mut()? = OPEN;
    path.push((0, 0, 0));
    while let Some((at, next, below)) = path.last_mut() {
        let node = &nodes[*at];
        let Some(to) = inner(node, *next) else {
            let deep = *below + u32::from(node.array.is_some() || node.object.is_some());
            depth[*at] = deep;
            path.pop();
            if let Some((_, _, above)) = path.last_mut() {
                *above = deep.max(*above);
            }
            continue;
        };
        *next += 1;
        let to = to as usize;
        match depth.get(to) {
            Some(&NOT_SEEN) => {
                depth[to] = OPEN;
                path.push((to, 0, 0));
            }
            Some(&OPEN) => return None,
            Some(known) => *below = (*below).max(*known),
            // The impossible has no node.
            None => {}
        }
    }
    depth.first().copied()
}

/// The node of an item or of a member, by its number among them.
fn inner(node: &Node, index: usize) -> Option<u32> {
    let mut index = index;
    let members = node.array.as_ref().map_or(&[][..], |m| &m.members);
    if let Some(member) = members.get(index) {
        return Some(member.node);
    }
    index -= members.len();
    let object = node.object.as_ref()?;
    if let Some(member) = object.declared.get(index) {
        return Some(member.node);
    }
    let class = object.classes.get(index - object.declared.len())?;
    Some(class.member.node)
}
