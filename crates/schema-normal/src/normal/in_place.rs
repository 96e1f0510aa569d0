//! The locations that apply to the same value: what they evaluate, and whether they come back to
//! themselves.
//!
//! For example, `{"$ref": "#"}` applies itself to the same value and is refused.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind};
use crate::ir::{AtomKind, NodeId};
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::{Locations, NOT_NEGATED};

/// The first `oneOf` that a conjunction leads to in place.
pub(super) fn one_of_in_place(locations: &Locations, conj: ConjId) -> Option<NodeId> {
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut todo: Vec<NodeId> = locations.conj(conj).iter().rev().map(|s| s.node).collect();
    while let Some(node) = todo.pop() {
        if !seen.insert(node) {
            continue;
        }
        let mut atoms = locations.schema().node(node).atoms().iter();
        if atoms.any(|atom| matches!(atom.kind, AtomKind::OneOf(_))) {
            return Some(node);
        }
        let mut inner = applied_in_place(locations, node.0 as usize);
        inner.reverse();
        todo.append(&mut inner);
    }
    None
}

/// Refuses references that come back to themselves without descending
/// into a value: they say nothing.
pub fn refuse_cycles(locations: &Locations) -> Result<(), Error> {
    let n = locations.schema().nodes.len();
    let mut state = vec![0u8; n];
    for start in 0..n {
        if state[start] != 0 {
            continue;
        }
        let inner = applied_in_place(locations, start);
        if inner.is_empty() {
            state[start] = 2;
            continue;
        }
        let mut path: Vec<(usize, Vec<NodeId>)> = vec![(start, inner)];
        state[start] = 1;
        while let Some((at, rest)) = path.last_mut() {
            let Some(next) = rest.pop() else {
                state[*at] = 2;
                path.pop();
                continue;
            };
            match state[next.0 as usize] {
                0 => {
                    state[next.0 as usize] = 1;
                    let inner = applied_in_place(locations, next.0 as usize);
                    path.push((next.0 as usize, inner));
                }
                1 => {
                    return Err(Error::new(
                        ErrorKind::Cyclic,
                        locations.pointer(next),
                        "the references come back here without descending into the value, so they say nothing",
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The locations that a location applies to the same value.
fn applied_in_place(locations: &Locations, node: usize) -> Vec<NodeId> {
    let mut inner = Vec::new();
    for atom in locations.schema().nodes[node].atoms() {
        atom.kind.in_place(|n| inner.push(n));
    }
    inner
}

/// The error about a conjunction: where a complement is wanted because the branches of
/// a `oneOf` are not known to exclude each other, that one is at fault.
pub fn blamed(locations: &Locations, conj: ConjId, error: Error) -> Error {
    let is_complement = error.message().ends_with(NOT_NEGATED);
    let (true, Some(at)) = (is_complement, one_of_in_place(locations, conj)) else {
        return error;
    };
    let reason = format!(
        "its branches are not known to exclude each other, and {} at #{} cannot be negated; use `anyOf`, or tell the branches apart by a required property with a `const`",
        error.keyword().unwrap_or("a keyword"),
        error.pointer()
    );
    locations.refusal((at, "oneOf"), &reason)
}
