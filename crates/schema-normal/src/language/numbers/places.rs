//! Decimal numbers by the places of their digits, as spellings and automata ask about them.
//!
//! For example, `1.25` has two places behind the point, and is 125 in steps of a hundredth.

use crate::decimal::{Decimal, Sign};

/// A whole number.
pub(super) fn whole(value: u32) -> Decimal {
    Decimal::parse(&value.to_string()).unwrap_or_default()
}

/// Tells whether a number is 1.
pub(super) fn is_one(of: &Decimal) -> bool {
    !of.is_negative() && of.magnitude() == (&[1], 1)
}

/// The number on the other side of zero.
pub(super) fn negated(of: &Decimal) -> Decimal {
    let (digits, exponent) = of.magnitude();
    let sign = match of.is_negative() {
        true => Sign::Plus,
        false => Sign::Minus,
    };
    Decimal::of_magnitude(sign, digits, exponent)
}

/// Returns the number of digits after the point.
pub(super) fn scale(of: &Decimal) -> usize {
    let (digits, exponent) = of.magnitude();
    (digits.len() as i64 - exponent).max(0) as usize
}

/// `|of| * 10^scale` as a machine integer, where it fits and is whole.
pub(super) fn scaled(of: &Decimal, scale: usize) -> Option<u128> {
    let (digits, exponent) = of.magnitude();
    let shift = exponent - digits.len() as i64 + scale as i64;
    if shift < 0 {
        return if of.is_zero() { Some(0) } else { None };
    }
    let mut out: u128 = 0;
    for &d in digits {
        out = out.checked_mul(10)?.checked_add(u128::from(d))?;
    }
    for _ in 0..shift {
        out = out.checked_mul(10)?;
    }
    Some(out)
}

/// Returns the number of zeros that a whole number ends with; `None` of one that is not whole.
pub(super) fn zeros(of: &Decimal) -> Option<usize> {
    let (digits, exponent) = of.magnitude();
    usize::try_from(exponent - digits.len() as i64).ok()
}

/// The magnitude in scientific notation: a number from 1 on and below 10, and the power of
/// ten that it is multiplied with. Zero has none.
pub(super) fn scientific(of: &Decimal) -> Option<(Decimal, i64)> {
    let (digits, exponent) = of.magnitude();
    let mantissa = Decimal::of_magnitude(Sign::Plus, digits, 1);
    (!of.is_zero()).then_some((mantissa, exponent - 1))
}
