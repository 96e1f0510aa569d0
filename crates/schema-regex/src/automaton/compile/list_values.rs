//! Lists the values of items that must differ, where they are few, and refuses what could
//! not be followed later.
//!
//! For example, `{"items": {"enum": [1, 2]}, "uniqueItems": true}` has two values to list, so that
//! no third item may come.

use std::sync::Arc;

use schema_normal::ir::{NodeId, Schema};
use schema_normal::normal::alternative::Kind;
use schema_normal::{Error, ErrorKind};

use crate::automaton::compile::endless::{self, MAX_VALUES, Plainly};
use crate::automaton::compile::heights;
use crate::automaton::machine::Machine;
use crate::automaton::machine::enough_values::Catalog;
use crate::automaton::machine::node::{ArrayMachine, Member};
use crate::automaton::machine::strings::StringDemand;
use crate::automaton::run::{Scratch, listed_values};

/// Lists the values of items that must differ, where they are few, and solves emptiness again with what
/// that says.
pub(super) fn list_values(
    machine: &mut Machine,
    schema: &Schema,
    unique: &[(usize, NodeId)],
) -> Result<(), Error> {
    // An inner array comes after the one it is in.
    for (n, at) in unique.iter().copied().rev() {
        let Some(m) = &machine.nodes()[n].array else {
            continue;
        };
        let catalog = catalog(machine, schema, m, at)?;
        machine.set_catalog(n, catalog, heights::solve);
    }
    Ok(())
}

fn catalog(
    machine: &Machine,
    schema: &Schema,
    m: &ArrayMachine,
    at: NodeId,
) -> Result<Catalog, Error> {
    let mut x = Scratch::new();
    let mut listed: Vec<Vec<Option<Vec<Arc<str>>>>> = Vec::new();
    let mut least: Vec<Vec<u64>> = Vec::new();
    for member in &m.members {
        let node = machine.nodes().get(member.node as usize);
        let goals = node.map_or(0, |n| n.goals.len()) as u32;
        let mut lists = Vec::new();
        let mut counts = Vec::new();
        for goal in 0..goals {
            let plainly = endless::plainly(machine, member.node, goal);
            if plainly == Plainly::Endless {
                lists.push(None);
                counts.push(u64::MAX);
                continue;
            }
            let many = endless::least_amount(machine, member.node, goal);
            if many > MAX_VALUES as u64 || plainly == Plainly::Many {
                lists.push(None);
                counts.push(many.max(MAX_VALUES as u64 + 1));
                continue;
            }
            let (few, values) = listed_values::of(machine, member.node, goal, MAX_VALUES, &mut x);
            counts.push(many.max(few));
            lists.push(values);
        }
        listed.push(lists);
        least.push(counts);
    }
    let is_exact = |member: &Member, goal| is_counted_exactly(machine, member.node, goal);
    Catalog::new(m, listed, least, is_exact).map_err(|why| {
        let pointer = &schema.node(at).pointer;
        let message = format!("`uniqueItems`: {why}");
        Error::at(ErrorKind::Refused, pointer, "uniqueItems", message)
    })
}

/// Tells whether a goal is one automaton of strings or numbers and nothing else, and its values are few enough
/// to be counted exactly.
fn is_counted_exactly(machine: &Machine, node: u32, goal: u32) -> bool {
    let Some(n) = machine.nodes().get(node as usize) else {
        return false;
    };
    let others = [
        Kind::Null,
        Kind::False,
        Kind::True,
        Kind::Array,
        Kind::Object,
    ];
    if others.iter().any(|kind| n.may_be(*kind, |g| g == goal)) {
        return false;
    }
    let numbers = n.number.iter().flat_map(|m| m.leaves.iter());
    let numbers = numbers.filter(|(g, _)| *g == goal).count();
    let strings = n.string.iter().flat_map(|m| m.leaves.iter());
    let strings: Vec<_> = strings.filter(|leaf| leaf.goal == goal).collect();
    let is_exact = match (numbers, &strings[..]) {
        (1, []) => true,
        (0, [leaf]) => match &leaf.demand {
            StringDemand::Read { lengths, .. } => lengths.as_ref().is_none_or(|l| l.counts_all()),
            StringDemand::Listed | StringDemand::Counted { .. } => false,
        },
        _ => false,
    };
    is_exact && endless::least_amount(machine, node, goal) < u64::MAX
}
