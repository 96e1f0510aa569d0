//! Emptiness: how deep the flattest value of each goal nests, as a least
//! fixpoint. In round `h` the goals are found that can be met with what was
//! found in the rounds before, so a round is a level of nesting.

use super::live::{Live, ObjectAt};
use super::node::{EMPTY, Node};
use super::unique;

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
        (0..m.threads.len() as u32).any(|t| {
            m.threads[t as usize].goal == goal
                && live.array(m, t, 0, 0)
                && unique::has_room(m, t, 0, &[])
        })
    });
    array
        || node.object.as_ref().is_some_and(|m| {
            (0..m.threads.len() as u32)
                .any(|t| m.threads[t as usize].goal == goal && live.object(m, t, 0, &at))
        })
}

/// How deep values can nest at most; `None` where there is no end.
pub(super) fn deepest(nodes: &[Node]) -> Option<u32> {
    let inner = |n: &Node| -> Vec<u32> {
        let mut out: Vec<u32> = Vec::new();
        if let Some(m) = &n.array {
            out.extend(m.members.iter().map(|m| m.node));
        }
        if let Some(m) = &n.object {
            out.extend(m.declared.iter().map(|m| m.node));
            out.extend(m.classes.iter().map(|c| c.member.node));
        }
        out.retain(|n| *n != u32::MAX);
        out
    };
    // 0: not seen, 1: open, 2: done.
    let mut state = vec![0u8; nodes.len()];
    let mut depth = vec![0u32; nodes.len()];
    let mut path: Vec<(usize, Vec<u32>, usize)> = vec![(0, inner(nodes.first()?), 0)];
    state[0] = 1;
    while let Some((at, targets, next)) = path.last_mut() {
        let Some(&to) = targets.get(*next) else {
            let below = targets
                .iter()
                .map(|t| depth[*t as usize])
                .max()
                .unwrap_or(0);
            let node = &nodes[*at];
            depth[*at] = below + u32::from(node.array.is_some() || node.object.is_some());
            state[*at] = 2;
            path.pop();
            continue;
        };
        *next += 1;
        match state[to as usize] {
            0 => {
                state[to as usize] = 1;
                path.push((to as usize, inner(&nodes[to as usize]), 0));
            }
            1 => return None,
            _ => {}
        }
    }
    depth.first().copied()
}
