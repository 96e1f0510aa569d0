//! Large choices that a schema writes down again and again, as one whose references were
//! replaced by what they name does: they are settled once.
//!
//! For example, a schema of forms that has the same `anyOf` of two hundred countries in thirty
//! members has thirty such choices.

use crate::ir::{AtomKind, Body, NodeId};
use crate::normal::alternative::Kind;
use crate::normal::conjunctions::ConjId;
use crate::normal::locations::Locations;
use crate::normal::normaliser::Normaliser;

/// A choice of fewer branches is not compared, because it is quicker to settle.
const LEAST_BRANCHES: usize = 8;
/// With so many choices of as many branches one is compared.
const MOST_COMPARED: usize = 8;
/// Choices nest no deeper where they are compared, because those written out are mostly flat.
const MOST_DEPTH: usize = 4;

/// A conjunction that was asked before and says of a kind, word for word, what this one
/// says. Arrays and objects stand for themselves: what they say of items and members
/// has a location.
pub(super) fn said_before(normaliser: &mut Normaliser, conj: ConjId, kind: Kind) -> Option<ConjId> {
    let [part] = normaliser.conj(conj) else {
        return None;
    };
    let node = part.node;
    if kind > Kind::String || !part.positive {
        return None;
    }
    let branches = normaliser
        .locations
        .schema()
        .node(node)
        .atoms()
        .iter()
        .map(|atom| match &atom.kind {
            AtomKind::AnyOf(nodes) | AtomKind::OneOf(nodes) => nodes.len(),
            _ => 0,
        });
    let branches = branches.max().filter(|count| *count >= LEAST_BRANCHES)?;
    let known = normaliser
        .choices
        .get(&branches)
        .map_or(&[][..], Vec::as_slice);
    let before = known.iter().find(|(other, _)| {
        normaliser.budget().take(4 * branches) && say_the_same(normaliser, *other, node, 0)
    });
    match before {
        Some((other, before)) => (*other != node).then_some(*before),
        None => {
            let list = normaliser.choices.entry(branches).or_default();
            if list.len() < MOST_COMPARED {
                list.push((node, conj));
            }
            None
        }
    }
}

fn say_the_same(locations: &Locations, a: NodeId, b: NodeId, depth: usize) -> bool {
    if a == b {
        return true;
    }
    let (Body::Atoms(one), Body::Atoms(other)) = (
        &locations.schema().node(a).body,
        &locations.schema().node(b).body,
    ) else {
        return false;
    };
    let same = |a: &NodeId, b: &NodeId| say_the_same(locations, *a, *b, depth + 1);
    depth < MOST_DEPTH
        && one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.keyword == other.keyword
                && match (&one.kind, &other.kind) {
                    (AtomKind::AllOf(a), AtomKind::AllOf(b))
                    | (AtomKind::AnyOf(a), AtomKind::AnyOf(b))
                    | (AtomKind::OneOf(a), AtomKind::OneOf(b)) => {
                        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
                    }
                    (AtomKind::Ref(a), AtomKind::Ref(b)) | (AtomKind::Not(a), AtomKind::Not(b)) => {
                        same(a, b)
                    }
                    (one, other) => one == other,
                }
        })
}
