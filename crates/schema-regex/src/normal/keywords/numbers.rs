//! `minimum`, `maximum`, their exclusive ones, and `multipleOf`.

use crate::decimal::Decimal;
use crate::language::number_expressions::Bound;
use crate::normal::alternative::{At, NumberShape, Shape};
use crate::normal::search::partial::{Flow, Partial, flow};

/// Which end of a range a keyword bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Low,
    High,
}

/// At least the value, or at most; the complement of the one is the other, without the value
/// itself where that was in.
pub(super) fn bound(
    p: &mut Partial,
    at: At,
    (end, positive): (End, bool),
    value: &Decimal,
    exclusive: bool,
) -> Flow {
    let bound = Bound {
        value: value.clone(),
        exclusive: exclusive == positive,
    };
    let Shape::Number(n) = &mut p.shape else {
        return Flow::Dead;
    };
    n.at = Some(at);
    match (end == End::Low) == positive {
        true => raise(n, bound),
        false => lower(n, bound),
    }
    match (&n.low, &n.high) {
        (Some(l), Some(h)) => {
            flow(l.value < h.value || (l.value == h.value && !l.exclusive && !h.exclusive))
        }
        _ => Flow::On,
    }
}

/// A multiple of the divisor, or none.
pub(super) fn multiple_of(p: &mut Partial, at: At, positive: bool, divisor: &Decimal) -> Flow {
    if let Shape::Number(n) = &mut p.shape {
        n.multiples.push((divisor.clone(), positive));
        n.multiple_at = Some(at);
        n.at = Some(at);
    }
    Flow::On
}

/// The greater one of two lower bounds.
fn raise(n: &mut NumberShape, bound: Bound) {
    let tighter = n
        .low
        .as_ref()
        .is_none_or(|l| bound.value > l.value || (bound.value == l.value && bound.exclusive));
    if tighter {
        n.low = Some(bound);
    }
}

/// The lesser one of two upper bounds.
fn lower(n: &mut NumberShape, bound: Bound) {
    let tighter = n
        .high
        .as_ref()
        .is_none_or(|h| bound.value < h.value || (bound.value == h.value && bound.exclusive));
    if tighter {
        n.high = Some(bound);
    }
}
