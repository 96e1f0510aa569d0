//! Emptiness: how deep the flattest value of each goal nests, as a least
//! fixpoint. In round `h` the goals are found that can be met with what was
//! found in the rounds before, so a round is a level of nesting.

use super::live::{Live, ObjectAt};
use super::node::{EMPTY, Node};

pub(super) fn solve(nodes: &mut [Node]) {
    let mut open: Vec<(u32, u32)> = Vec::new();
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
    while !open.is_empty() {
        let live = Live {
            nodes,
            room: EMPTY - 1,
        };
        let found: Vec<(u32, u32)> = open
            .iter()
            .copied()
            .filter(|(n, g)| has_container(&live, &nodes[*n as usize], *g))
            .collect();
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
    node.units.iter().any(|u| u.contains(&goal))
        || node
            .number
            .as_ref()
            .is_some_and(|m| m.leaves.iter().any(|(g, _)| *g == goal))
        || node
            .string
            .as_ref()
            .is_some_and(|m| m.leaves.iter().any(|l| l.goal == goal))
}

fn has_container(live: &Live<'_>, node: &Node, goal: u32) -> bool {
    let at = ObjectAt::START;
    let array = node.array.as_ref().is_some_and(|m| {
        (0..m.threads.len() as u32)
            .any(|t| m.threads[t as usize].goal == goal && live.array(m, t, 0, 0))
    });
    array
        || node.object.as_ref().is_some_and(|m| {
            (0..m.threads.len() as u32)
                .any(|t| m.threads[t as usize].goal == goal && live.object(m, t, 0, &at))
        })
}
