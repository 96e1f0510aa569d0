//! `minimum`, `maximum`, their exclusive ones, and `multipleOf`.
//!
//! For example, the complement of `{"minimum": 3}` is `{"exclusiveMaximum": 3}`.

use std::cmp::Ordering;

use crate::decimal::Decimal;
use crate::language::numbers::expressions::Bound;
use crate::normal::alternative::{At, Shape};
use crate::normal::keywords::sense::Sense;
use crate::normal::partial::{Flow, Partial, flow};

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
    (end, sense): (End, Sense),
    value: &Decimal,
    exclusive: bool,
) -> Flow {
    let bound = Bound {
        value: value.clone(),
        exclusive: exclusive == (sense == Sense::Itself),
    };
    let Shape::Number(n) = &mut p.shape else {
        return Flow::Dead;
    };
    n.at = Some(at);
    match (end == End::Low) == (sense == Sense::Itself) {
        true => tighten(&mut n.low, bound, Ordering::Greater),
        false => tighten(&mut n.high, bound, Ordering::Less),
    }
    match (&n.low, &n.high) {
        (Some(l), Some(h)) => {
            flow(l.value < h.value || (l.value == h.value && !l.exclusive && !h.exclusive))
        }
        _ => Flow::On,
    }
}

/// A multiple of the divisor, or none.
pub(super) fn multiple_of(p: &mut Partial, at: At, sense: Sense, divisor: &Decimal) -> Flow {
    if let Shape::Number(n) = &mut p.shape {
        n.multiples.push((divisor.clone(), sense == Sense::Itself));
        n.multiple_at = Some(at);
        n.at = Some(at);
    }
    Flow::On
}

/// Sets a bound where none was, or one that was less tight: tighter is what is so to it.
fn tighten(known: &mut Option<Bound>, bound: Bound, tighter: Ordering) {
    let is_tighter = known
        .as_ref()
        .is_none_or(|k| match bound.value.cmp(&k.value) {
            Ordering::Equal => bound.exclusive,
            other => other == tighter,
        });
    if is_tighter {
        *known = Some(bound);
    }
}
