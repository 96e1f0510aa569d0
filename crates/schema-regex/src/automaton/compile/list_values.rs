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
use crate::automaton::machine::enough_values::{Catalog, most_items};
use crate::automaton::machine::node::ArrayMachine;
use crate::automaton::machine::white_space::NO_SPACE;
use crate::automaton::run::config::{Config, NO_TEXT, Top};
use crate::automaton::run::equality::canonical;
use crate::automaton::run::scratch::Scratch;
use crate::automaton::run::ways_on::{self, Tried};
use crate::automaton::run::{state, unique_items};

/// The most pieces of text to list them, because long texts take many pieces for few values.
const MAX_PIECES: usize = 100_000;

/// The values of a goal, as far as they were listed.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Sorted, by canonical spelling.
    pub(super) values: Vec<Arc<str>>,
    /// At least how many there are.
    least: u64,
    pub(super) is_complete: bool,
}

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
            let listing = values(machine, member.node, goal, &mut x);
            counts.push(many.max(listing.least));
            lists.push(listing.is_complete.then_some(listing.values));
        }
        listed.push(lists);
        least.push(counts);
    }
    let mut catalog = Catalog::new(m, listed, least);
    let refused = |why: &str| {
        let pointer = &schema.node(at).pointer;
        let message = format!("`uniqueItems`: {why}");
        Err(Error::at(
            ErrorKind::Refused,
            pointer,
            "uniqueItems",
            message,
        ))
    };
    for (t, thread) in (0..).zip(&m.threads) {
        if !thread.unique {
            continue;
        }
        if !catalog.is_followed(m, t) {
            return refused(
                "together with `contains` or `prefixItems`, over so many listed values, it is not followed",
            );
        }
        let needed = most_items(thread);
        for (index, member) in m.members.iter().enumerate() {
            if index as u64 >= needed {
                break;
            }
            for choice in member.of(t) {
                let is_listed = catalog.values(index, choice.goal).is_some();
                if is_listed || catalog.least(index, choice.goal) >= needed {
                    continue;
                }
                let is_alike = m.members.len() == 1 && member.of(t).len() == 1;
                match exact_amount(machine, member.node, choice.goal) {
                    Some(_) if is_alike => catalog.poor[t as usize] = true,
                    _ => {
                        return refused(&format!(
                            "whether there are {needed} different values is not found out; lower `minItems`, or list the values"
                        ));
                    }
                }
            }
        }
    }
    Ok(catalog)
}

/// Returns the number of values that a goal has, if it is one automaton of strings or numbers and
/// nothing else, and few enough to be counted exactly.
fn exact_amount(machine: &Machine, node: u32, goal: u32) -> Option<u64> {
    let n = machine.nodes().get(node as usize)?;
    let others = [
        Kind::Null,
        Kind::False,
        Kind::True,
        Kind::Array,
        Kind::Object,
    ];
    if others.iter().any(|kind| n.may_be(*kind, |g| g == goal)) {
        return None;
    }
    let numbers = n.number.iter().flat_map(|m| m.leaves.iter());
    let numbers = numbers.filter(|(g, _)| *g == goal).count();
    let strings = n.string.iter().flat_map(|m| m.leaves.iter());
    let strings: Vec<_> = strings.filter(|leaf| leaf.goal == goal).collect();
    let is_exact = match (numbers, &strings[..]) {
        (1, []) => true,
        (0, [leaf]) => {
            let counted = leaf.lengths.as_ref().is_none_or(|l| l.counts_all());
            leaf.dfa.is_some() && counted
        }
        _ => false,
    };
    let amount = endless::least_amount(machine, node, goal);
    (is_exact && amount < u64::MAX).then_some(amount)
}

/// The values of one goal of a node, where they are few.
pub(super) fn values(machine: &Machine, node: u32, goal: u32, x: &mut Scratch) -> Listing {
    let set = x.add_list(&[goal]);
    let first = Config {
        top: Top::Value {
            node,
            set,
            space: NO_SPACE,
        },
        stack: 0,
        item: NO_TEXT,
    };
    x.while_searching(|x| listing(machine, first, x))
}

fn listing(machine: &Machine, first: Config, x: &mut Scratch) -> Listing {
    let mut values: Vec<Arc<str>> = Vec::new();
    let mut todo = vec![Tried::new(first)];
    let mut pieces = 0;
    let mut least = 0;
    let mut is_complete = true;
    while let Some(at) = todo.pop() {
        if !at.text.is_empty() && state::ends_at(machine, at.config, x) {
            let value: Arc<str> = canonical(&at.text).into();
            if let Err(i) = values.binary_search(&value) {
                values.insert(i, value);
            }
            if values.len() > MAX_VALUES {
                is_complete = false;
                break;
            }
            continue;
        }
        if ways_on::begins_endless(machine, &at.config, x) {
            (least, is_complete) = (u64::MAX, false);
            break;
        }
        if unique_items::is_endless(machine, &at.config, x) {
            (least, is_complete) = (MAX_VALUES as u64 + 1, false);
            break;
        }
        let most = MAX_VALUES + 1 + ways_on::barred_by_arrays(machine, at.config.stack, x);
        let ways = ways_on::ways(machine, &at, most, x);
        pieces += ways.len();
        if pieces > MAX_PIECES {
            is_complete = false;
            break;
        }
        todo.extend(ways.into_iter().rev());
    }
    Listing {
        least: least.max(values.len() as u64),
        values,
        is_complete,
    }
}
