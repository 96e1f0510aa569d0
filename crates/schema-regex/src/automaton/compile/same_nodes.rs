//! Nodes that read the same texts in the same way, so that what is known of
//! one holds for the other: for example, two properties that are free strings.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::automaton::machine::node::{Node, NumberMachine};
use crate::automaton::machine::strings::StringMachine;

/// Gives every node its [`Node::alias`]. Arrays and objects stand for
/// themselves. O(size of the nodes).
pub(super) fn solve(nodes: &mut [Node]) {
    let mut first: HashMap<Box<[u64]>, u32> = HashMap::new();
    // The nodes without texts and bounds that a schema chose.
    let mut plain: FxHashMap<Box<[u64]>, u32> = FxHashMap::default();
    let mut key: Vec<u64> = Vec::with_capacity(32);
    for (id, node) in (0..).zip(nodes) {
        node.alias = id;
        if node.array.is_some() || node.object.is_some() {
            continue;
        }
        key.clear();
        key.push(node.goals.len() as u64);
        for goals in &node.units {
            list(goals, &mut key);
        }
        number(node.number.as_deref(), &mut key);
        string(node.string.as_deref(), &mut key);
        let is_plain = node.string.as_ref().is_none_or(|m| m.is_free());
        let known = match is_plain {
            true => plain.get(&*key),
            false => first.get(&*key),
        };
        if let Some(known) = known {
            node.alias = *known;
            continue;
        }
        match is_plain {
            true => plain.insert(key.as_slice().into(), id),
            false => first.insert(key.as_slice().into(), id),
        };
    }
}

fn list(items: &[u32], key: &mut Vec<u64>) {
    key.push(items.len() as u64);
    key.extend(items.iter().map(|&item| u64::from(item)));
}

fn number(machine: Option<&NumberMachine>, key: &mut Vec<u64>) {
    let Some(machine) = machine else {
        key.push(u64::MAX);
        return;
    };
    key.push(machine.leaves.len() as u64);
    for &(goal, dfa) in &machine.leaves {
        key.extend([u64::from(goal), u64::from(dfa)]);
    }
    key.extend(
        machine
            .dfas
            .iter()
            .map(|dfa| Arc::as_ptr(dfa).addr() as u64),
    );
}

fn string(machine: Option<&StringMachine>, key: &mut Vec<u64>) {
    let Some(machine) = machine else {
        key.push(u64::MAX);
        return;
    };
    // The leaves tell up to where lengths are counted.
    key.push(machine.leaves.len() as u64);
    for leaf in &machine.leaves {
        key.push(u64::from(leaf.goal));
        key.extend(leaf.demand.numbers());
    }
    key.extend(
        machine
            .dfas
            .iter()
            .map(|dfa| Arc::as_ptr(dfa).addr() as u64),
    );
    key.push(machine.words.len() as u64);
    for word in machine.words.iter() {
        key.push(word.text.len() as u64);
        key.extend(word.text.as_bytes().chunks(8).map(packed));
        list(&word.listed, key);
        list(&word.excluded, key);
    }
}

/// Up to eight bytes as one number.
fn packed(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}
