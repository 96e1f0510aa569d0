//! Goals of which it is plain that they have more values than anybody lists, so that
//! nobody begins to.

use super::SchemaAutomaton;
use super::live::{Live, ObjectAt};
use super::unique::MAX_VALUES;
use crate::hash::FxSet;

/// How deep values are looked into, and how deep those beside may nest. Less than this
/// is never bounded by the options.
const DEPTH: u32 = 8;

/// The least bound on nesting for which that holds.
const LEAST_NESTING: u32 = 4 * DEPTH;

impl SchemaAutomaton {
    /// Whether a value of the goal is, or holds, a text or number of any length, one of more
    /// texts than are listed, a further name without a demand, or an array of any length.
    /// `false` is no proof of the contrary.
    pub(super) fn is_plainly_endless(&self, node: u32, goal: u32) -> bool {
        if self.max_nesting < LEAST_NESTING {
            return false;
        }
        let live = Live {
            nodes: &self.nodes,
            room: DEPTH,
        };
        let mut seen: FxSet<(u32, u32)> = FxSet::default();
        // Asked last, since that takes a look at the whole automaton.
        let mut patterns = Vec::new();
        let mut todo = vec![(node, goal, 0)];
        while let Some((at, goal, depth)) = todo.pop() {
            if depth > DEPTH || !seen.insert((at, goal)) {
                continue;
            }
            let Some(node) = self.nodes.get(at as usize) else {
                continue;
            };
            if let Some(m) = &node.string {
                let leaves = m.leaves.iter().filter(|l| l.goal == goal && !l.listed);
                for leaf in leaves {
                    match leaf.dfa {
                        None if leaf.max != Some(0) => return true,
                        Some(d) => {
                            let bounds = leaf.lengths.as_ref().map(|l| l.bounds());
                            patterns.push((&m.dfas[d as usize], bounds));
                        }
                        _ => {}
                    }
                }
            }
            if let Some(m) = &node.number {
                let mut leaves = m.leaves.iter().filter(|(g, _)| *g == goal);
                if leaves.any(|(_, dfa)| m.dfas[*dfa as usize].is_plainly_endless()) {
                    return true;
                }
            }
            if let Some(m) = &node.array {
                for (t, thread) in (0..).zip(&m.threads) {
                    let is_simple = !thread.unique && thread.counts.is_empty();
                    if thread.goal != goal || !is_simple || thread.max == Some(0) {
                        continue;
                    }
                    let Some(first) = m.members.first() else {
                        continue;
                    };
                    if !live.array(m, t, 0, 0) {
                        continue;
                    }
                    let options = first.of(t).iter().filter(|c| live.fits(first, c.goal));
                    let before = todo.len();
                    todo.extend(options.map(|c| (first.node, c.goal, depth + 1)));
                    if todo.len() > before && m.members.len() == 1 && thread.max.is_none() {
                        return true;
                    }
                }
            }
            if let Some(m) = &node.object {
                for (t, thread) in (0..).zip(&m.threads) {
                    let is_open = thread.goal == goal && thread.simple;
                    if !is_open || !live.object(m, t, 0, &ObjectAt::START) {
                        continue;
                    }
                    for class in &m.classes {
                        let member = &class.member;
                        let mut options = member.of(t).iter();
                        let offers = options.any(|c| live.fits(member, c.goal));
                        if offers && class.count.is_none() && m.keys.is_none() {
                            return true;
                        }
                    }
                    for member in &m.declared {
                        let options = member.of(t).iter().filter(|c| live.fits(member, c.goal));
                        todo.extend(options.map(|c| (member.node, c.goal, depth + 1)));
                    }
                }
            }
        }
        patterns.iter().any(|(dfa, bounds)| {
            let (min, max) = bounds.unwrap_or((0, None));
            dfa.has_more_than(MAX_VALUES as u64, min, max)
                || (bounds.is_none() && dfa.is_endless(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Options;
    use crate::automaton::{SchemaAutomaton, Scratch};

    #[test]
    fn what_is_plainly_endless_is_not_listed() {
        let few = json!({"enum": ["a", "b", 1]});
        let schemas = [
            (json!({"type": "string"}), true),
            (json!({"type": "string", "maxLength": 0}), false),
            (json!({"type": "object", "additionalProperties": few}), true),
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few}}),
                false,
            ),
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few, "b": {"type": "string"}}}),
                true,
            ),
            // The member can never be there.
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"a": few, "b": {"type": "string", "minLength": 2, "maxLength": 1}}}),
                false,
            ),
            (json!({"type": "array", "items": few}), true),
            (json!({"type": "array", "items": few, "maxItems": 2}), false),
            (
                json!({"type": "array", "items": few, "uniqueItems": true}),
                false,
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
                true,
            ),
            (few.clone(), false),
            (json!({"type": "string", "pattern": "^a+$"}), true),
            (json!({"type": "string", "pattern": "^a{2}$"}), false),
            (json!({"type": "string", "pattern": "^[a-j]{3}$"}), false),
            (json!({"type": "string", "pattern": "^[a-j]{4}$"}), true),
            (
                json!({"type": "string", "pattern": "^[a-j]*$", "maxLength": 3}),
                false,
            ),
            (
                json!({"type": "string", "pattern": "^[a-j]*$", "maxLength": 4}),
                true,
            ),
            (
                json!({"type": "string", "pattern": "^[a-j]*b?$", "minLength": 6, "maxLength": 7}),
                true,
            ),
            (json!({"type": "integer"}), true),
            (json!({"type": "number", "minimum": 3}), true),
            (
                json!({"type": "integer", "minimum": 3, "maximum": 11}),
                false,
            ),
        ];
        for (item, endless) in schemas {
            let schema = json!({"type": "array", "items": item, "uniqueItems": true});
            let automaton = SchemaAutomaton::new(&schema, &Options::default()).unwrap();
            let items = &automaton.nodes[0].array.as_ref().unwrap().members[0];
            let goal = items.options[0].goal;
            let plainly = automaton.is_plainly_endless(items.node, goal);
            assert_eq!(plainly, endless, "{item}");
            let listed = automaton.values(items.node, goal, &mut Scratch::new());
            assert!(!plainly || listed.is_none(), "{item}");
        }
    }
}
