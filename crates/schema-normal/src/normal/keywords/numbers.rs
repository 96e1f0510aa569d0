//! `minimum`, `maximum`, their exclusive ones, and `multipleOf`.
//!
//! For example, the complement of `{"minimum": 3}` is `{"exclusiveMaximum": 3}`.

use crate::decimal::Decimal;
use crate::language::numbers::conditions::NumberCondition;
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
    let Shape::Number(n) = &mut p.shape else {
        return Flow::Dead;
    };
    n.at = Some(at);
    let is_low = (end == End::Low) == (sense == Sense::Itself);
    let bound = Bound {
        value: value.clone(),
        exclusive: exclusive == (sense == Sense::Itself),
    };
    flow(n.numbers.add(match is_low {
        true => NumberCondition::From(bound),
        false => NumberCondition::UpTo(bound),
    }))
}

/// A multiple of the divisor, or none.
pub(super) fn multiple_of(p: &mut Partial, at: At, sense: Sense, divisor: &Decimal) -> Flow {
    if let Shape::Number(n) = &mut p.shape {
        let condition = NumberCondition::Multiple(divisor.clone(), sense == Sense::Itself);
        n.numbers.add(condition);
        n.multiple_at = Some(at);
        n.at = Some(at);
    }
    Flow::On
}
