//! Spellings of the numbers in a range, of the multiples of a number, and of
//! both together, as expressions over plain decimals.
//!
//! A range is read digit by digit: as long as the digits so far equal those of
//! a bound the next digit is limited by it, after that anything follows.

use fsm_tables::{NONE, Table};

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::decimal::Decimal;
use crate::language::elimination::eliminate;
use crate::language::product::Product;
use crate::language::re::{CharSet, Re, char_set};
use crate::options::IntegerSpelling;

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bound {
    pub(crate) value: Decimal,
    /// Whether the value itself is outside.
    pub(crate) exclusive: bool,
}

/// Which numbers, as far as their fraction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fraction {
    Any,
    /// Integers, in this spelling.
    None(IntegerSpelling),
    /// Numbers that are not integers.
    Required,
}

/// Every JSON number, exponents included.
pub(crate) fn any_number() -> Re {
    let sign = Re::chars(&[('+', '+'), ('-', '-')]).optional();
    let exponent = Re::concat([Re::chars(&[('E', 'E'), ('e', 'e')]), sign, digits(1)]);
    Re::concat([
        Re::literal("-").optional(),
        integer_part(),
        Re::concat([Re::literal("."), digits(1)]).optional(),
        exponent.optional(),
    ])
}

fn digit(a: u8, b: u8) -> Re {
    if a > b {
        Re::Never
    } else {
        Re::chars(&[(char::from(b'0' + a), char::from(b'0' + b))])
    }
}

fn digits(min: u32) -> Re {
    digit(0, 9).repeat(min, None)
}

fn integer_part() -> Re {
    Re::alt([digit(0, 0), Re::concat([digit(1, 9), digits(0)])])
}

/// What may follow the integer digits when neither bound matters any more.
fn free_fraction(fraction: Fraction) -> Re {
    match fraction {
        Fraction::Any => Re::concat([Re::literal("."), digits(1)]).optional(),
        Fraction::None(IntegerSpelling::Plain) => Re::Empty,
        Fraction::None(IntegerSpelling::ZeroFraction) => zero_fraction(),
        Fraction::Required => Re::concat([Re::literal("."), digits(0), digit(1, 9), digits(0)]),
    }
}

fn zero_fraction() -> Re {
    Re::concat([Re::literal("."), digit(0, 0).repeat(1, None)]).optional()
}

/// The plain decimals between `low` and `high`, without exponents. Where no
/// bound is given, `-0` is admitted.
pub(crate) fn range(low: Option<&Bound>, high: Option<&Bound>, fraction: Fraction) -> Re {
    if low.is_none() && high.is_none() {
        return Re::concat([
            Re::literal("-").optional(),
            integer_part(),
            free_fraction(fraction),
        ]);
    }
    let zero = Bound {
        value: Decimal::zero(),
        exclusive: false,
    };
    let above_zero = Bound {
        value: Decimal::zero(),
        exclusive: true,
    };
    // Not negative: from the greater of low and 0.
    let from = match low {
        Some(b) if !b.value.is_negative() => b.clone(),
        _ => zero,
    };
    let plus = match high {
        Some(b) if b.value.is_negative() => Re::Never,
        _ => magnitudes(&from, high, fraction),
    };
    // Negative: the mirror image, zero left out.
    let minus = match low {
        Some(b) if !b.value.is_negative() => Re::Never,
        _ => {
            let from = match high {
                Some(b) if b.value.is_negative() => Bound {
                    value: b.value.negated(),
                    exclusive: b.exclusive,
                },
                _ => above_zero,
            };
            let to = low.map(|b| Bound {
                value: b.value.negated(),
                exclusive: b.exclusive,
            });
            magnitudes(&from, to.as_ref(), fraction)
        }
    };
    Re::alt([Re::concat([Re::literal("-"), minus]), plus])
}

/// Plain decimals without a sign in `low..high`.
fn magnitudes(low: &Bound, high: Option<&Bound>, fraction: Fraction) -> Re {
    let (low_int, low_frac) = low.value.parts();
    let low = Edge {
        frac: &low_frac,
        exclusive: low.exclusive,
    };
    let Some(bound) = high else {
        // As many digits as the bound, or more.
        let same = integer(&low_int, None, Some(low), None, true, fraction);
        let longer = if low_int == [0] {
            Re::concat([digit(1, 9), digits(0), free_fraction(fraction)])
        } else {
            let more = u32::try_from(low_int.len()).unwrap_or(u32::MAX);
            Re::concat([digit(1, 9), digits(more), free_fraction(fraction)])
        };
        // A one-digit bound of 0 is covered by `longer` from 1 on.
        if low_int == [0] {
            let zero = Re::concat([digit(0, 0), fraction_between(Some(low), None, fraction)]);
            return Re::alt([zero, longer]);
        }
        return Re::alt([same, longer]);
    };
    let (high_int, high_frac) = bound.value.parts();
    let high = Edge {
        frac: &high_frac,
        exclusive: bound.exclusive,
    };
    if high_int.len() < low_int.len() {
        return Re::Never;
    }
    if high_int.len() == low_int.len() {
        return integer(
            &low_int,
            Some(&high_int),
            Some(low),
            Some(high),
            true,
            fraction,
        );
    }
    let shortest = integer(&low_int, None, Some(low), None, true, fraction);
    let longest = integer(&[], Some(&high_int), None, Some(high), true, fraction);
    let between = if high_int.len() > low_int.len() + 1 {
        let from = u32::try_from(low_int.len()).unwrap_or(u32::MAX);
        let to = u32::try_from(high_int.len() - 2).unwrap_or(u32::MAX);
        Re::concat([
            digit(1, 9),
            digit(0, 9).repeat(from, Some(to)),
            free_fraction(fraction),
        ])
    } else {
        Re::Never
    };
    Re::alt([shortest, between, longest])
}

#[derive(Clone, Copy)]
struct Edge<'a> {
    frac: &'a [u8],
    exclusive: bool,
}

/// Integer parts with as many digits as the bound that is given (either or
/// both, of one length), and their fractions. A bound whose edge is `None` does
/// not matter any more.
fn integer(
    low: &[u8],
    high: Option<&[u8]>,
    low_edge: Option<Edge<'_>>,
    high_edge: Option<Edge<'_>>,
    first: bool,
    fraction: Fraction,
) -> Re {
    let length = high.map_or(low.len(), <[u8]>::len);
    if length == 0 {
        return fraction_between(low_edge, high_edge, fraction);
    }
    if low_edge.is_none() && high_edge.is_none() {
        let n = u32::try_from(length).unwrap_or(u32::MAX);
        return Re::concat([digit(0, 9).repeat(n, Some(n)), free_fraction(fraction)]);
    }
    // A leading zero is legal only where it is the whole integer part.
    let least_digit = u8::from(first && length > 1);
    let floor = if low_edge.is_some() {
        low.first().copied().unwrap_or(0).max(least_digit)
    } else {
        least_digit
    };
    let ceiling = match (high_edge, high) {
        (Some(_), Some(h)) => h.first().copied().unwrap_or(9),
        _ => 9,
    };
    if floor > ceiling {
        return Re::Never;
    }
    let low_tail = low.get(1..).unwrap_or(&[]);
    let high_tail = high.and_then(|h| h.get(1..));
    let none: Option<Edge<'_>> = None;
    let low_tight = |d: u8| low_edge.filter(|_| low.first() == Some(&d));
    let high_tight = |d: u8| high_edge.filter(|_| high.and_then(|h| h.first()) == Some(&d));
    // Spans of digits with what follows them; equal ones are joined.
    let mut spans: Vec<(u8, u8, Re)> = Vec::new();
    let mut push = |from: u8, to: u8, rest: Re| match spans.last_mut() {
        Some((_, last, known)) if *known == rest => *last = to,
        _ => spans.push((from, to, rest)),
    };
    let tight = |d: u8| {
        integer_tail(
            low_tail,
            high_tail,
            low_tight(d),
            high_tight(d),
            length - 1,
            fraction,
        )
    };
    push(floor, floor, tight(floor));
    if ceiling > floor {
        if ceiling > floor + 1 {
            let rest = integer_tail(low_tail, high_tail, none, none, length - 1, fraction);
            push(floor + 1, ceiling - 1, rest);
        }
        push(ceiling, ceiling, tight(ceiling));
    }
    Re::alt(
        spans
            .into_iter()
            .map(|(from, to, rest)| Re::concat([digit(from, to), rest])),
    )
}

fn integer_tail(
    low: &[u8],
    high: Option<&[u8]>,
    low_edge: Option<Edge<'_>>,
    high_edge: Option<Edge<'_>>,
    length: usize,
    fraction: Fraction,
) -> Re {
    // Below only zeros everything is allowed, above only nines every integer.
    let low_edge =
        low_edge.filter(|e| e.exclusive || !e.frac.is_empty() || low.iter().any(|d| *d != 0));
    let high_edge = high_edge.filter(|e| {
        let nines = high.is_some_and(|h| h.iter().all(|d| *d == 9));
        !(nines && !e.exclusive && matches!(fraction, Fraction::None(_)))
    });
    if low_edge.is_none() && high_edge.is_none() {
        let n = u32::try_from(length).unwrap_or(u32::MAX);
        return Re::concat([digit(0, 9).repeat(n, Some(n)), free_fraction(fraction)]);
    }
    if length == 0 {
        return fraction_between(low_edge, high_edge, fraction);
    }
    let high = if high_edge.is_some() { high } else { None };
    integer(low, high, low_edge, high_edge, false, fraction)
}

/// What may follow integer digits that equal those of a bound (or of both).
fn fraction_between(low: Option<Edge<'_>>, high: Option<Edge<'_>>, fraction: Fraction) -> Re {
    if low.is_none() && high.is_none() {
        return free_fraction(fraction);
    }
    let end_ok = low.is_none_or(|e| e.frac.is_empty() && !e.exclusive)
        && high.is_none_or(|e| !e.frac.is_empty() || !e.exclusive);
    match fraction {
        Fraction::None(spelling) => match (end_ok, spelling) {
            (false, _) => Re::Never,
            (true, IntegerSpelling::Plain) => Re::Empty,
            (true, IntegerSpelling::ZeroFraction) => zero_fraction(),
        },
        Fraction::Any => {
            let tail = Re::concat([Re::literal("."), more_digits(low, high)]);
            if end_ok { tail.optional() } else { tail }
        }
        Fraction::Required => {
            // Not all zeros: strictly above the integer.
            let low = match low {
                Some(e) if !e.frac.is_empty() => e,
                _ => Edge {
                    frac: &[],
                    exclusive: true,
                },
            };
            Re::concat([Re::literal("."), more_digits(Some(low), high)])
        }
    }
}

/// At least one more fraction digit, the remaining digits of the bounds given.
fn more_digits(low: Option<Edge<'_>>, high: Option<Edge<'_>>) -> Re {
    // A bound that the digits so far satisfy whatever follows is dropped.
    let low = low.filter(|e| !e.frac.is_empty() || e.exclusive);
    match (low, high) {
        (None, None) => return digits(1),
        (Some(l), None) if l.frac.is_empty() => {
            return Re::concat([digits(0), digit(1, 9), digits(0)]);
        }
        (None, Some(h)) if h.frac.is_empty() => {
            return if h.exclusive {
                Re::Never
            } else {
                digit(0, 0).repeat(1, None)
            };
        }
        (Some(_), Some(h)) if h.frac.is_empty() => return Re::Never,
        _ => {}
    }
    let floor = low.map_or(0, |e| e.frac.first().copied().unwrap_or(0));
    let ceiling = high.map_or(9, |e| e.frac.first().copied().unwrap_or(0));
    if floor > ceiling {
        return Re::Never;
    }
    let mut out = Vec::new();
    let mut step = |d: u8| {
        let l = low.filter(|_| d == floor).map(|e| Edge {
            frac: e.frac.get(1..).unwrap_or(&[]),
            ..e
        });
        let h = high.filter(|_| d == ceiling).map(|e| Edge {
            frac: e.frac.get(1..).unwrap_or(&[]),
            ..e
        });
        let end_ok = l.is_none_or(|e| e.frac.is_empty() && !e.exclusive)
            && h.is_none_or(|e| !e.frac.is_empty() || !e.exclusive);
        let rest = more_digits(l, h);
        let rest = if end_ok { rest.optional() } else { rest };
        out.push(Re::concat([digit(d, d), rest]));
    };
    step(floor);
    if ceiling > floor {
        step(ceiling);
        if ceiling > floor + 1 {
            out.push(Re::concat([digit(floor + 1, ceiling - 1), digits(0)]));
        }
    }
    Re::alt(out)
}

/// The largest residue automaton that is built.
const MAX_MODULUS: u128 = 5_000;

/// Plain decimals that are multiples of `divisor`.
pub(crate) fn multiples<'b>(
    divisor: &Decimal,
    fraction: Fraction,
    limit: impl Into<Limit<'b>>,
) -> Result<Re, TooBig> {
    let scale = divisor.scale();
    // Of a power of ten only the zeros matter, however many.
    let power = match (divisor.mantissa(), divisor.zeros()) {
        (Some(1), Some(zeros)) => Some(zeros),
        (Some(1), None) => Some(0),
        _ => None,
    };
    let modulus = match power {
        Some(_) => 1,
        None => divisor.scaled(scale).ok_or(TooBig)?,
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
    let n = u32::try_from(zeros).unwrap_or(u32::MAX);
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

/// The most numbers that are written out one by one.
const MAX_LISTED: u128 = 500;

/// Multiples of a divisor in a closed range, listed, where they are few.
pub(crate) fn listed_multiples(
    low: &Bound,
    high: &Bound,
    divisor: &Decimal,
    fraction: Fraction,
) -> Option<Vec<Decimal>> {
    let scale = divisor
        .scale()
        .max(low.value.scale())
        .max(high.value.scale());
    let step = i128::try_from(divisor.scaled(scale)?).ok()?;
    let signed = |d: &Decimal| {
        let n = i128::try_from(d.scaled(scale)?).ok()?;
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
pub(crate) fn listed(value: &Decimal, fraction: Fraction) -> Re {
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

/// What two expressions of numbers have in common.
pub(crate) fn intersect<'b>(a: &Re, b: &Re, limit: impl Into<Limit<'b>>) -> Result<Re, TooBig> {
    let limit = limit.into();
    Product::new(&[a, b], limit)?.to_re(|v| v == 3, limit)
}

#[cfg(test)]
mod tests {
    use crate::decimal::Decimal;
    use crate::language::number_expressions::{
        Bound, Fraction, intersect, listed_multiples, multiples, range,
    };
    use crate::options::IntegerSpelling;
    use crate::regex::spell::{Place, print};
    use proptest::prelude::*;
    use regex_automata::meta::Regex;

    const PLAIN: Fraction = Fraction::None(IntegerSpelling::Plain);

    fn bound(text: &str, exclusive: bool) -> Bound {
        Bound {
            value: Decimal::parse(text).unwrap(),
            exclusive,
        }
    }

    fn whole(re: &crate::language::re::Re) -> Regex {
        Regex::new(&format!("^(?:{})$", print(re, Place::Raw))).unwrap()
    }

    #[test]
    fn small_integer_ranges_are_arithmetic() {
        for a in -25..=25i64 {
            for b in a..=25 {
                let re = whole(&range(
                    Some(&bound(&a.to_string(), false)),
                    Some(&bound(&b.to_string(), false)),
                    PLAIN,
                ));
                for n in -130..=130i64 {
                    assert_eq!(
                        re.is_match(&n.to_string()),
                        (a..=b).contains(&n),
                        "{n} in {a}..={b}"
                    );
                }
            }
            let up = whole(&range(Some(&bound(&a.to_string(), true)), None, PLAIN));
            let down = whole(&range(None, Some(&bound(&a.to_string(), true)), PLAIN));
            for n in -1200..=1200i64 {
                assert_eq!(up.is_match(&n.to_string()), n > a, "{n} > {a}");
                assert_eq!(down.is_match(&n.to_string()), n < a, "{n} < {a}");
            }
        }
    }

    #[test]
    fn spelling_is_json() {
        let re = whole(&range(
            Some(&bound("-5", false)),
            Some(&bound("1000", false)),
            Fraction::Any,
        ));
        for good in [
            "0", "0.0", "999.99", "1000", "1000.00", "-5", "-4.99", "-0.1",
        ] {
            assert!(re.is_match(good), "{good}");
        }
        for bad in [
            "", "-", "01", "00", "1.", ".5", "1000.01", "-5.1", "1e2", "+1", "-01",
        ] {
            assert!(!re.is_match(bad), "{bad}");
        }
    }

    #[test]
    fn multiples_are_arithmetic() {
        for m in [1u32, 2, 3, 4, 5, 6, 8, 10, 12, 20, 25, 50, 100] {
            let Ok(re) = multiples(&Decimal::parse(&m.to_string()).unwrap(), PLAIN, 2_000) else {
                panic!("{m} is too big");
            };
            let re = whole(&re);
            for n in 0..2_500u32 {
                assert_eq!(re.is_match(&n.to_string()), n % m == 0, "{n} by {m}");
            }
        }
        for (m, scaled) in [
            ("0.01", 1),
            ("0.1", 10),
            ("2.5", 250),
            ("0.25", 25),
            ("0.5", 50),
        ] {
            let re = whole(&multiples(&Decimal::parse(m).unwrap(), Fraction::Any, 2_000).unwrap());
            for n in 0..2_000 {
                let text = format!("{}.{:02}", n / 100, n % 100);
                assert_eq!(re.is_match(&text), n % scaled == 0, "{text} by {m}");
                assert_eq!(
                    re.is_match(&format!("{text}0")),
                    n % scaled == 0,
                    "{text}0 by {m}"
                );
                assert!(!re.is_match(&format!("{text}1")), "{text}1 by {m}");
            }
        }
    }

    #[test]
    fn multiples_meet_ranges() {
        let even = multiples(&Decimal::parse("2").unwrap(), PLAIN, 500).unwrap();
        let span = range(Some(&bound("-7", false)), Some(&bound("40", false)), PLAIN);
        let re = whole(&intersect(&even, &span, 500).unwrap());
        for n in -60..60i32 {
            assert_eq!(
                re.is_match(&n.to_string()),
                n % 2 == 0 && (-7..=40).contains(&n),
                "{n}"
            );
        }
        let list = listed_multiples(
            &bound("-1", true),
            &bound("1", false),
            &Decimal::parse("0.25").unwrap(),
            Fraction::Any,
        )
        .unwrap();
        let texts: Vec<String> = list.iter().map(Decimal::plain).collect();
        assert_eq!(
            texts,
            ["-0.75", "-0.5", "-0.25", "0", "0.25", "0.5", "0.75", "1"]
        );
    }

    fn decimal() -> impl Strategy<Value = String> {
        (any::<bool>(), 0u32..2000, 0u32..1000, 0usize..4).prop_map(|(neg, int, frac, places)| {
            let sign = if neg { "-" } else { "" };
            if places == 0 {
                format!("{sign}{int}")
            } else {
                let frac = format!("{frac:03}");
                format!("{sign}{int}.{}", &frac[..places])
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn decimal_ranges_are_arithmetic(
            a in decimal(), b in decimal(),
            ax in any::<bool>(), bx in any::<bool>(), which in 0u8..3,
            numbers in proptest::collection::vec(decimal(), 40),
            kind in 0u8..3,
        ) {
            let (low, high) = (bound(&a, ax), bound(&b, bx));
            let low = (which != 1).then_some(low);
            let high = (which != 2).then_some(high);
            let fraction = [Fraction::Any, Fraction::Required, Fraction::None(IntegerSpelling::ZeroFraction)][usize::from(kind)];
            let re = whole(&range(low.as_ref(), high.as_ref(), fraction));
            let mut texts = numbers;
            for t in [&a, &b] {
                texts.push(t.clone());
                texts.push(if t.contains('.') { format!("{t}0") } else { format!("{t}.0") });
                texts.push(if t.contains('.') { format!("{t}1") } else { format!("{t}.1") });
            }
            for text in texts {
                let n = Decimal::parse(&text).unwrap();
                // Zero has no sign here.
                if n.is_zero() && text.starts_with('-') { continue; }
                let above = low.as_ref().is_none_or(|l| n > l.value || (n == l.value && !l.exclusive));
                let below = high.as_ref().is_none_or(|h| n < h.value || (n == h.value && !h.exclusive));
                let kind_ok = match fraction {
                    Fraction::Any => true,
                    Fraction::Required => !n.is_integer(),
                    Fraction::None(_) => n.is_integer(),
                };
                prop_assert_eq!(re.is_match(&text), above && below && kind_ok, "{}", text);
            }
        }
    }
}
