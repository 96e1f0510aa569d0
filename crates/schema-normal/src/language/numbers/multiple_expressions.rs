//! Spellings of the multiples of a number. For example, the multiples of 10 are `0` and the
//! integers that end in `0`.

use fsm_tables::{NONE, Table};

use crate::budget::{Limit, TooBig};
use crate::decimal::Decimal;
use crate::decimal::clamped;
use crate::language::numbers::expressions::{Bound, Fraction, digit, digits, zero_fraction};
use crate::language::numbers::places;
use crate::language::re::elimination::eliminate;
use crate::language::re::{CharSet, Re, char_set};
use crate::options::IntegerSpelling;

/// The largest modulus whose residue automaton is built, because eliminating its states takes their
/// square at least.
const MAX_MODULUS: u128 = 5_000;

/// The most numbers that are written out one by one, because the expression has each of them.
const MAX_LISTED: u128 = 500;

/// Plain decimals that are multiples of `divisor`.
pub(super) fn multiples<'b>(
    divisor: &Decimal,
    fraction: Fraction,
    limit: impl Into<Limit<'b>>,
) -> Result<Re, TooBig> {
    let scale = places::scale(divisor);
    // If it is a power of ten, only the zeros matter, however many.
    let power = match (divisor.mantissa(), places::zeros(divisor)) {
        (Some(1), Some(zeros)) => Some(zeros),
        (Some(1), None) => Some(0),
        _ => None,
    };
    let modulus = match power {
        Some(_) => 1,
        None => places::scaled(divisor, scale).ok_or(TooBig)?,
    };
    if modulus == 0 {
        return Err(TooBig);
    }
    // Integers: the number of digits after the point that may be non-zero.
    let sign = Re::literal("-").optional();
    if let Some(zeros) = power {
        let whole = tens(zeros.saturating_sub(scale));
        let free = scale.saturating_sub(zeros);
        let tail = match fraction {
            Fraction::None(IntegerSpelling::Plain) => Re::Empty,
            Fraction::None(IntegerSpelling::ZeroFraction) => zero_fraction(),
            Fraction::Any | Fraction::Required if free == 0 => zero_fraction(),
            Fraction::Any | Fraction::Required => {
                let n = u32::try_from(free).map_err(|_| TooBig)?;
                let rest =
                    Re::concat([digit(0, 9).repeat(1, Some(n)), digit(0, 0).repeat(0, None)]);
                Re::concat([Re::literal("."), rest]).optional()
            }
        };
        return Ok(Re::concat([sign, whole, tail]));
    }
    if modulus > MAX_MODULUS {
        return Err(TooBig);
    }
    let body = residues(modulus as usize, scale, fraction, limit.into())?;
    Ok(Re::concat([sign, body]))
}

/// Multiples of a power of ten, without sign.
fn tens(zeros: usize) -> Re {
    let n = clamped(zeros);
    Re::alt([
        digit(0, 0),
        Re::concat([digit(1, 9), digits(0), digit(0, 0).repeat(n, Some(n))]),
    ])
}

/// Unsigned decimals whose value times `10^scale` is a multiple of `modulus`:
/// an automaton whose state is the residue of the digits so far and, after the
/// point, how many digits that was.
fn residues(
    modulus: usize,
    scale: usize,
    fraction: Fraction,
    mut limit: Limit<'_>,
) -> Result<Re, TooBig> {
    let places = if matches!(fraction, Fraction::None(_)) {
        0
    } else {
        scale
    };
    // States: the start, a leading zero, then `modulus` for the integer
    // part and for each place after the point (the last of which loops on 0).
    let (start, zero, first) = (0usize, 1usize, 2usize);
    let point = |place: usize, r: usize| first + modulus * (place + 1) + r;
    let count = first + modulus * (places + 2);
    if count > limit.states.saturating_mul(4) {
        return Err(TooBig);
    }
    // The residue once the missing places are filled with zeros.
    let filled = |r: usize, missing: usize| (0..missing).fold(r, |r, _| r * 10 % modulus);
    limit.charge(count)?;
    let width = 11;
    let mut next = vec![NONE; count * width];
    let mut accept = vec![false; count];
    let mut edge = |from: usize, symbol: usize, to: usize| next[from * width + symbol] = to as u32;
    let has_point = fraction != Fraction::None(IntegerSpelling::Plain);
    // After the point with no place to fill only zeros follow.
    let after_point = |place: usize| place.min(places);
    edge(start, 0, zero);
    for d in 1..10 {
        edge(start, d, first + d % modulus);
    }
    accept[zero] = fraction != Fraction::Required;
    for r in 0..modulus {
        let integer = first + r;
        for d in 0..10 {
            edge(integer, d, first + (r * 10 + d) % modulus);
        }
        accept[integer] = fraction != Fraction::Required && filled(r, scale) == 0;
        let scaled = if places == 0 { filled(r, scale) } else { r };
        if has_point {
            // State (0, r): the point was read and no digit yet.
            edge(integer, 10, point(0, scaled));
            if r == 0 {
                edge(zero, 10, point(0, 0));
            }
        }
    }
    for place in 0..=places {
        for r in 0..modulus {
            let here = point(place, r);
            if place < places {
                for d in 0..10 {
                    edge(
                        here,
                        d,
                        point(after_point(place + 1), (r * 10 + d) % modulus),
                    );
                }
                accept[here] = place > 0 && filled(r, places - place) == 0;
            } else {
                accept[here] = places > 0 && r == 0;
            }
        }
    }
    // Zeros at the end: with no places, one is needed after the point; the
    // automaton has no room for "none yet", so it is said beside it.
    if places > 0 {
        edge(point(places, 0), 0, point(places, 0));
    }
    let mut sets: Vec<CharSet> = (0..10u8)
        .map(|d| char_set(&[(char::from(b'0' + d), char::from(b'0' + d))]))
        .collect();
    sets.push(char_set(&[('.', '.')]));
    let least = Table::new(width, next, accept).minimized(&mut limit)?;
    let whole = eliminate(&least, &sets, limit)?;
    // With no places the point leads nowhere in the table.
    Ok(match places == 0 && has_point {
        true => Re::concat([whole, zero_fraction()]),
        false => whole,
    })
}

/// Multiples of a divisor in a closed range, listed, where they are few.
pub(super) fn listed_multiples(
    low: &Bound,
    high: &Bound,
    divisor: &Decimal,
    fraction: Fraction,
) -> Option<Vec<Decimal>> {
    let scale = places::scale(divisor)
        .max(places::scale(&low.value))
        .max(places::scale(&high.value));
    let step = i128::try_from(places::scaled(divisor, scale)?).ok()?;
    let signed = |d: &Decimal| {
        let n = i128::try_from(places::scaled(d, scale)?).ok()?;
        Some(if d.is_negative() { -n } else { n })
    };
    let mut from = signed(&low.value)?;
    let mut to = signed(&high.value)?;
    if step == 0 {
        return None;
    }
    from = from.checked_add(i128::from(low.exclusive))?;
    to = to.checked_sub(i128::from(high.exclusive))?;
    let first = from.checked_add(step - 1)?.div_euclid(step);
    let last = to.div_euclid(step);
    if last < first {
        return Some(Vec::new());
    }
    if u128::try_from(last.checked_sub(first)?).ok()? > MAX_LISTED {
        return None;
    }
    let mut out = Vec::new();
    for k in first..=last {
        let n = k.checked_mul(step)?;
        let value = Decimal::parse(&format!("{n}e-{scale}"))?;
        match fraction {
            Fraction::None(_) if !value.is_integer() => {}
            Fraction::Required if value.is_integer() => {}
            _ => out.push(value),
        }
    }
    Some(out)
}

/// A listed number as an expression.
pub(super) fn listed(value: &Decimal, fraction: Fraction) -> Re {
    let text = Re::literal(&value.plain());
    match fraction {
        Fraction::None(IntegerSpelling::Plain) => text,
        Fraction::None(IntegerSpelling::ZeroFraction) => Re::concat([text, zero_fraction()]),
        _ => {
            let zeros = digit(0, 0).repeat(0, None);
            if value.is_integer() {
                Re::concat([text, zero_fraction()])
            } else {
                Re::concat([text, zeros])
            }
        }
    }
}
