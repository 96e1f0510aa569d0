//! Keywords that apply locations to the same value: `allOf`, `anyOf`, `oneOf`, `if`, and
//! `dependentSchemas`. (`not` and references are one term each.)
//!
//! For example, the complement of `allOf` is a choice: one of the locations does not hold.

use crate::budget::STEP;
use crate::error::Error;
use crate::ir::{ALWAYS, Name, NodeId};
use crate::normal::alternative::At;
use crate::normal::known::truth_of;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;
use crate::normal::partial::{Flow, Partial, Use, split};
use crate::normal::tagged::{all_listed_apart, all_tagged_apart, exclude_each_other};
use crate::normal::terms::{Branch, Term, What, choices, node_term, term};

/// All of them hold; the complement is that one does not.
pub(super) fn all_of(p: &mut Partial, used: Use, nodes: &[NodeId]) -> Flow {
    if used.positive {
        let parts = nodes.iter().rev();
        let terms = parts.map(|n| node_term(*n, true, used.collector));
        p.pending.extend(terms);
        return Flow::On;
    }
    let branch = nodes.iter().map(|n| vec![node_term(*n, false, None)]);
    let branch = branch.collect();
    split(p, branch)
}

/// If a name is there, a location holds; the complement is that one of them does not beside its
/// name.
pub(super) fn dependent_schemas(p: &mut Partial, used: Use, list: &[(Name, NodeId)]) -> Flow {
    if used.positive {
        for (name, node) in list {
            let branch = vec![
                vec![term(What::Forbid(name.clone()))],
                vec![
                    term(What::Require(name.clone())),
                    node_term(*node, true, used.collector),
                ],
            ];
            p.branches.push(choices(branch));
        }
        return Flow::On;
    }
    let branch = list.iter().map(|(name, node)| {
        vec![
            term(What::Require(name.clone())),
            node_term(*node, false, None),
        ]
    });
    let branch = branch.collect();
    split(p, branch)
}

/// One of them holds at least; the complement is that none does.
pub(super) fn any_of(
    locations: &mut Locations,
    p: &mut Partial,
    at: At,
    used: Use,
    nodes: &[NodeId],
) -> Result<Flow, Error> {
    if !used.positive {
        let parts = nodes.iter().rev();
        p.pending.extend(parts.map(|n| node_term(*n, false, None)));
        return Ok(Flow::On);
    }
    let branch = branches_of_any(locations, nodes, used.collector, at)?;
    Ok(split(p, branch))
}

/// One of them holds and the others do not; the complement is that none does, or two.
pub(super) fn one_of(
    normaliser: &mut Normaliser,
    p: &mut Partial,
    used: Use,
    mut nodes: Vec<NodeId>,
) -> Result<Flow, Error> {
    let (node, kind) = (used.node, used.kind);
    normaliser.work(node, 16 * nodes.len())?;
    // A location that no value of the kind satisfies has nothing to say.
    nodes.retain(|one| truth_of(normaliser, *one, kind) != Some(false));
    let mut branch: Branch = Vec::new();
    if used.positive {
        if all_tagged_apart(normaliser, &nodes, kind) || all_listed_apart(normaliser, &nodes, kind)?
        {
            let one = |n: &NodeId| vec![node_term(*n, true, used.collector)];
            return Ok(split(p, nodes.iter().map(one).collect()));
        }
        for (i, one) in nodes.iter().enumerate() {
            normaliser.work(node, 8 * nodes.len())?;
            let mut terms = Vec::new();
            for (j, other) in nodes.iter().enumerate() {
                if i != j && !exclude_each_other(normaliser, *one, *other, kind)? {
                    terms.push(node_term(*other, false, None));
                }
            }
            terms.push(node_term(*one, true, used.collector));
            branch.push(terms);
        }
        return Ok(split(p, branch));
    }
    branch.push(nodes.iter().map(|n| node_term(*n, false, None)).collect());
    for (i, one) in nodes.iter().enumerate() {
        normaliser.work(node, STEP * i)?;
        for other in &nodes[..i] {
            if !exclude_each_other(normaliser, *one, *other, kind)? {
                branch.push(vec![
                    node_term(*one, true, None),
                    node_term(*other, true, None),
                ]);
            }
        }
    }
    Ok(split(p, branch))
}

/// The condition holds and what follows from it, or it does not and the other one does;
/// the complement denies what follows.
pub(super) fn if_then_else(
    locations: &mut Locations,
    p: &mut Partial,
    used: Use,
    (condition, then, otherwise): (NodeId, NodeId, NodeId),
) -> Flow {
    let Use {
        positive,
        collector,
        ..
    } = used;
    if positive
        && then == ALWAYS
        && otherwise == ALWAYS
        && (collector.is_none() || !locations.evaluates(condition))
    {
        return Flow::On;
    }
    let collector = if positive { collector } else { None };
    let branch = vec![
        vec![
            node_term(then, positive, collector),
            node_term(condition, true, collector),
        ],
        vec![
            node_term(otherwise, positive, collector),
            node_term(condition, false, None),
        ],
    ];
    split(p, branch)
}

/// The alternatives of `anyOf`. If a keyword counts what was evaluated, they say of each branch
/// that evaluates whether it holds.
fn branches_of_any(
    locations: &mut Locations,
    nodes: &[NodeId],
    collector: Option<u16>,
    at: At,
) -> Result<Branch, Error> {
    let split: Vec<NodeId> = match collector {
        Some(_) => nodes
            .iter()
            .copied()
            .filter(|n| locations.evaluates(*n))
            .collect(),
        None => Vec::new(),
    };
    if split.is_empty() {
        return Ok(nodes
            .iter()
            .map(|n| vec![node_term(*n, true, None)])
            .collect());
    }
    if split.len() > MAX_EVALUATING {
        return Err(locations.refusal(
            at,
            "too many branches evaluate members beside an unevaluated keyword",
        ));
    }
    let mut branch: Branch = Vec::new();
    for subset in (0..1u32 << split.len()).rev() {
        let terms: Vec<Term> = split
            .iter()
            .enumerate()
            .map(|(i, n)| node_term(*n, subset & (1 << i) != 0, collector))
            .collect();
        if subset != 0 {
            branch.push(terms);
            continue;
        }
        for plain in nodes.iter().filter(|n| !split.contains(n)) {
            let mut terms = terms.clone();
            terms.push(node_term(*plain, true, None));
            branch.push(terms);
        }
    }
    Ok(branch)
}

/// The most branches of an `anyOf` that may evaluate, because each doubles the alternatives.
const MAX_EVALUATING: usize = 8;
