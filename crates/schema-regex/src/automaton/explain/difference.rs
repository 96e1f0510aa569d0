//! The values that one schema admits and another does not: both in one compilation, one negated.
//!
//! Locations that are alike in both become one, so that what the schemas share
//! contradicts itself at once and only their differences cost anything. Alike
//! are locations with the same pointer and the same keywords that lead to alike
//! locations: the greatest such relation, so that recursion does no harm.
//!
//! For example, `{"type": ["string", "null"]}` admits `null`, and `{"type": "string"}` does not.

use std::collections::HashMap;

use schema_normal::ir::{ALWAYS, Atom, Body, NEVER, NodeId, PatternId, ROOT, Schema};

/// Returns a schema with the locations of both, and the root of `other` in it; its own root is that of
/// `schema`.
pub(super) fn joined(schema: &Schema, other: &Schema) -> (Schema, NodeId) {
    let mut both = schema.clone();
    let root = append(&mut both, other);
    (both, root)
}

/// Adds the locations of `other`; the answer is its root.
fn append(schema: &mut Schema, other: &Schema) -> NodeId {
    let mut sources: HashMap<String, u32> = HashMap::new();
    for (i, entry) in schema.patterns.iter().enumerate() {
        sources.insert(entry.source.clone(), i as u32);
    }
    let mut patterns: Vec<PatternId> = Vec::with_capacity(other.patterns.len());
    for entry in &other.patterns {
        let fresh = schema.patterns.len() as u32;
        let id = *sources.entry(entry.source.clone()).or_insert(fresh);
        if id == fresh {
            schema.patterns.push(entry.clone());
        }
        patterns.push(PatternId(id));
    }
    let alike = alike(schema, other, &patterns);
    // Locations that are not alike come after those of `schema`.
    let mut number: Vec<NodeId> = Vec::with_capacity(other.nodes.len());
    let mut next = schema.nodes.len() as u32;
    for known in alike {
        number.push(known.unwrap_or_else(|| {
            next += 1;
            NodeId(next - 1)
        }));
    }
    let first = schema.nodes.len() as u32;
    for (i, node) in other.nodes.iter().enumerate() {
        if number[i].0 < first {
            continue;
        }
        let mut node = node.clone();
        if let Body::Atoms(atoms) = &mut node.body {
            rename(atoms, &|n| number[n.0 as usize], &patterns);
        }
        node.notes.clear();
        schema.nodes.push(node);
    }
    number[ROOT.0 as usize]
}

fn rename(atoms: &mut [Atom], node: &dyn Fn(NodeId) -> NodeId, patterns: &[PatternId]) {
    for atom in atoms {
        atom.kind.rename(node, |id| patterns[id.0 as usize]);
    }
}

/// For each location of `other` the one of `schema` that is alike.
fn alike(schema: &Schema, other: &Schema, patterns: &[PatternId]) -> Vec<Option<NodeId>> {
    // By pointer, the first with the first: dynamic scopes read a place twice.
    let mut places: HashMap<String, Vec<u32>> = HashMap::new();
    for (i, node) in schema.nodes.iter().enumerate().skip(2).rev() {
        places
            .entry(node.pointer.to_string())
            .or_default()
            .push(i as u32);
    }
    let mut pairs: Vec<Option<NodeId>> = vec![Some(ALWAYS), Some(NEVER)];
    for node in &other.nodes[2..] {
        let place = places.get_mut(&node.pointer.to_string());
        pairs.push(place.and_then(Vec::pop).map(NodeId));
    }
    // Above which locations each one stands.
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); other.nodes.len()];
    for (i, node) in other.nodes.iter().enumerate() {
        for atom in node.atoms() {
            atom.kind.children(|n| above[n.0 as usize].push(i as u32));
        }
    }
    let mut todo: Vec<u32> = (2..other.nodes.len() as u32).collect();
    while let Some(i) = todo.pop() {
        let Some(pair) = pairs[i as usize] else {
            continue;
        };
        let same = match (&schema.node(pair).body, &other.nodes[i as usize].body) {
            (Body::Atoms(a), Body::Atoms(b)) => {
                let mut b = b.clone();
                // A location without a partner becomes one that is nowhere.
                let node = |n: NodeId| pairs[n.0 as usize].unwrap_or(NodeId(u32::MAX));
                rename(&mut b, &node, patterns);
                *a == b
            }
            (a, b) => a == b,
        };
        if !same {
            pairs[i as usize] = None;
            todo.extend(&above[i as usize]);
        }
    }
    pairs
}
