//! Strings of many alternatives: automata side by side cost each step of a mask, so those that say
//! yes to the same goal become one.
//!
//! For example, an `anyOf` of ten patterns of strings becomes one automaton.

use std::sync::Arc;

use schema_normal::Error;
use schema_normal::ir::NodeId;
use schema_normal::language::char_dfa::CharDfa;

use crate::automaton::compile::builder::{Builder, number_in};
use crate::automaton::machine::strings::{Leaf, StringDemand};

/// From so many automata on those of one goal are united, because fewer are quickly stepped.
const MANY: usize = 8;

/// The most automata of one place that are read side by side, because each byte steps all of them.
const MOST: usize = 512;

/// The leaves of a node and their automata.
pub(crate) struct Leaves {
    pub(super) leaves: Vec<Leaf>,
    pub(super) dfas: Vec<Arc<CharDfa>>,
    /// The earlier places of the leaves, by their places now.
    pub(super) places: Option<Vec<u32>>,
}

/// The automaton of a leaf that asks for nothing else.
fn unbounded(leaf: &Leaf) -> Option<u32> {
    let dfa = leaf.demand.dfa()?;
    (leaf.demand.bounds() == (0, None)).then_some(dfa)
}

/// Unites automata where they are many; refuses those that are too many after that.
pub(super) fn united(
    builder: &Builder,
    leaves: Vec<Leaf>,
    dfas: Vec<Arc<CharDfa>>,
    at: Option<(NodeId, &'static str)>,
) -> Result<Leaves, Error> {
    if dfas.len() < MANY {
        return Ok(Leaves {
            leaves,
            dfas,
            places: None,
        });
    }
    let mut goals: Vec<(u32, Vec<u32>)> = Vec::new();
    for leaf in &leaves {
        let Some(dfa) = unbounded(leaf) else {
            continue;
        };
        match goals.iter_mut().find(|(goal, _)| *goal == leaf.goal) {
            Some((_, list)) => list.push(dfa),
            None => goals.push((leaf.goal, vec![dfa])),
        }
    }
    let limit = builder.normaliser.limit();
    let mut made: Vec<(u32, Arc<CharDfa>)> = Vec::new();
    for (goal, mut list) in goals {
        list.sort_unstable();
        list.dedup();
        if list.len() < 2 {
            continue;
        }
        let parts: Vec<&CharDfa> = list.iter().map(|i| &*dfas[*i as usize]).collect();
        // The parts of a union that is too large stay beside each other.
        if let Ok(union) = CharDfa::union(&parts, limit) {
            made.push((goal, Arc::new(union)));
        }
    }
    let mut out = Leaves {
        leaves: Vec::with_capacity(leaves.len()),
        dfas: Vec::new(),
        places: Some(Vec::with_capacity(leaves.len())),
    };
    let mut met: Vec<u32> = Vec::new();
    for (place, mut leaf) in (0..).zip(leaves) {
        let of_goal = made.iter().find(|(goal, _)| *goal == leaf.goal);
        let union = of_goal.filter(|_| unbounded(&leaf).is_some());
        if let Some((goal, _)) = union {
            if met.contains(goal) {
                continue;
            }
            met.push(*goal);
        }
        if let StringDemand::Read { dfa, .. } = &mut leaf.demand {
            let read = union.map_or(&dfas[*dfa as usize], |(_, union)| union);
            *dfa = number_in(&mut out.dfas, Arc::clone(read));
        }
        out.leaves.push(leaf);
        if let Some(places) = &mut out.places {
            places.push(place);
        }
    }
    if out.dfas.len() > MOST {
        let at = at.unwrap_or((schema_normal::ir::ROOT, "pattern"));
        return Err(builder.normaliser.refusal(
            at,
            &format!(
                "more than {MOST} expressions are read side by side, and together they take too many states; use fewer alternatives or raise Options::max_automaton_states"
            ),
        ));
    }
    Ok(out)
}
