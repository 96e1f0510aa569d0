//! The parts of a graph whose nodes lead to each other (Tarjan, "Depth-first search and linear graph
//! algorithms", 1972). For example, in a graph in which 0 leads to 1, and 1 and 2 to each other, 1 and 2 are one.

/// Returns the strongly connected components of a graph, each behind those to which it leads: by node,
/// the nodes that it leads to. O(nodes + edges); takes no stack.
///
/// ```
/// // 0 leads to 1, 1 and 2 to each other.
/// let groups = fsm_tables::components(&[vec![1], vec![2], vec![1]]);
/// assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
/// assert_eq!(groups[1], [0]);
/// ```
#[must_use]
pub fn components(to: &[Vec<u32>]) -> Vec<Vec<u32>> {
    /// The order of a node that was not reached, because no graph has as many nodes.
    const NEW: u32 = u32::MAX;
    let mut order = vec![NEW; to.len()];
    let mut low = vec![0u32; to.len()];
    let mut on_stack = vec![false; to.len()];
    let (mut stack, mut out, mut met) = (Vec::new(), Vec::new(), 0);
    for root in 0..to.len() as u32 {
        if order[root as usize] != NEW {
            continue;
        }
        let mut calls = vec![(root, 0usize)];
        while let Some((node, at)) = calls.pop() {
            let n = node as usize;
            if at == 0 {
                (order[n], low[n]) = (met, met);
                met += 1;
                stack.push(node);
                on_stack[n] = true;
            } else {
                low[n] = low[n].min(low[to[n][at - 1] as usize]);
            }
            let mut rest = (at..to[n].len()).map(|i| (i, to[n][i] as usize));
            let next = rest.find(|(_, next)| {
                if order[*next] != NEW && on_stack[*next] {
                    low[n] = low[n].min(order[*next]);
                }
                order[*next] == NEW
            });
            if let Some((i, next)) = next {
                calls.push((node, i + 1));
                calls.push((next as u32, 0));
                continue;
            }
            if low[n] == order[n] {
                let from = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                let group = stack.split_off(from);
                group
                    .iter()
                    .for_each(|other| on_stack[*other as usize] = false);
                out.push(group);
            }
        }
    }
    out
}

/// Returns by node the node of its strongly connected component that a search through the nodes, in order, meets
/// first. As [`components`].
///
/// ```
/// // 0 leads to 1, 1 and 2 to each other.
/// assert_eq!(fsm_tables::component_of(&[vec![1], vec![2], vec![1]]), [0, 1, 1]);
/// ```
#[must_use]
pub fn component_of(to: &[Vec<u32>]) -> Vec<u32> {
    let mut of = vec![0; to.len()];
    for group in components(to) {
        // The first one on the stack is the one that was met first.
        group.iter().for_each(|node| of[*node as usize] = group[0]);
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_behind_those_they_lead_to() {
        let graph = [vec![1, 3], vec![2], vec![1], vec![4], vec![4], vec![]];
        let mut groups = components(&graph);
        groups.iter_mut().for_each(|group| group.sort_unstable());
        assert_eq!(groups, [vec![1, 2], vec![4], vec![3], vec![0], vec![5]]);
    }
}
