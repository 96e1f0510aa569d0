//! Spellings of the numbers in a range, as expressions over plain decimals; those of
//! multiples are beside (`multiple_expressions.rs`).
//!
//! A range is read digit by digit: as long as the digits so far equal those of
//! a bound the next digit is limited by it, after that anything follows.
//!
//! For example, the integers from 7 to 23 are `[7-9]|1[0-9]|2[0-3]`.

use crate::budget::{Limit, TooBig};
use crate::decimal::Decimal;
use crate::decimal::clamped;
use crate::language::char_dfa::product::Product;
use crate::language::numbers::places;
use crate::language::re::Re;
use crate::options::IntegerSpelling;

pub(super) use crate::language::numbers::multiple_expressions::{
    listed, listed_multiples, multiples,
};

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    /// The value at the end.
    pub value: Decimal,
    /// True if the value itself is outside.
    pub exclusive: bool,
}

/// Which numbers, as far as their fraction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fraction {
    /// All numbers.
    Any,
    /// Integers, in this spelling.
    None(IntegerSpelling),
    /// Numbers that are not integers.
    Required,
}

impl Fraction {
    /// Returns the fractions of integers, of the other numbers, or of all.
    pub(super) fn of(integer: Option<bool>, integers: IntegerSpelling) -> Fraction {
        match integer {
            Some(true) => Fraction::None(integers),
            Some(false) => Fraction::Required,
            None => Fraction::Any,
        }
    }
}

/// Every JSON number, exponents included.
pub fn any_number() -> Re {
    let sign = Re::chars(&[('+', '+'), ('-', '-')]).optional();
    let exponent = Re::concat([Re::chars(&[('E', 'E'), ('e', 'e')]), sign, digits(1)]);
    Re::concat([
        Re::literal("-").optional(),
        integer_part(),
        Re::concat([Re::literal("."), digits(1)]).optional(),
        exponent.optional(),
    ])
}

/// The largest power of ten, either way: two digits are enough for what is measured, and every
/// number is a normal `f64`, so that no reader takes one for infinity or zero.
pub(super) const MAX_POWER: i64 = 99;

/// The numbers between `low` and `high` in scientific notation, as programs write small and large
/// ones (`1e-05`, `1.5E+21`): one digit before the point, which is not zero, and an exponent.
///
/// Numbers in this notation are compared by their exponents and then by their mantissas, so that
/// a text is judged although its mantissa comes first: the bounds' mantissas cut those that a text
/// may have into at most five ranges, each with its own exponents.
pub(super) fn scientific(low: Option<&Bound>, high: Option<&Bound>) -> Re {
    let mirrored = |bound: &Bound| Bound {
        value: places::negated(&bound.value),
        exclusive: bound.exclusive,
    };
    let is_above_zero = |bound: &&Bound| !bound.value.is_negative() && !bound.value.is_zero();
    // A bound on the other side of zero says nothing of these, or leaves none.
    let one_sign = |low: Option<&Bound>, high: Option<&Bound>| match high {
        Some(bound) if !is_above_zero(&bound) => Re::Never,
        high => scientific_magnitudes(low.filter(is_above_zero), high),
    };
    let plus = one_sign(low, high);
    let (low, high) = (low.map(mirrored), high.map(mirrored));
    let minus = one_sign(high.as_ref(), low.as_ref());
    Re::alt([Re::concat([Re::literal("-"), minus]), plus])
}

/// The same without a sign, for bounds above zero.
fn scientific_magnitudes(low: Option<&Bound>, high: Option<&Bound>) -> Re {
    let parts = |bound: Option<&Bound>| {
        let bound = bound?;
        let (mantissa, power) = places::scientific(&bound.value)?;
        Some((mantissa, power, bound.exclusive))
    };
    let (low, high) = (parts(low), parts(high));
    let mut cuts: Vec<&Decimal> = [&low, &high]
        .into_iter()
        .flatten()
        .map(|(mantissa, ..)| mantissa)
        .collect();
    cuts.sort();
    cuts.dedup();
    let (one, ten) = (places::whole(1), places::whole(10));
    let mut from = Bound {
        value: one,
        exclusive: false,
    };
    let mut ranges: Vec<(Bound, Bound)> = Vec::new();
    for cut in cuts {
        let (cut, exclusive) = (cut.clone(), true);
        let before = Bound {
            value: cut.clone(),
            exclusive,
        };
        let itself = Bound {
            value: cut,
            exclusive: false,
        };
        ranges.push((from, before.clone()));
        ranges.push((itself.clone(), itself));
        from = before;
    }
    ranges.push((
        from,
        Bound {
            value: ten,
            exclusive: true,
        },
    ));
    let way = |(from, to): &(Bound, Bound)| {
        if from.value > to.value || (from.value == to.value && (from.exclusive || to.exclusive)) {
            return Re::Never;
        }
        // A range lies on one side of each bound's mantissa, or is it.
        let is_less =
            |mantissa: &Decimal| to.value < *mantissa || (to.value == *mantissa && to.exclusive);
        let is_more = |mantissa: &Decimal| {
            from.value > *mantissa || (from.value == *mantissa && from.exclusive)
        };
        let least = low
            .as_ref()
            .map_or(-MAX_POWER, |(mantissa, power, exclusive)| {
                let is_in = is_more(mantissa) || !(is_less(mantissa) || *exclusive);
                power + i64::from(!is_in)
            });
        let most = high
            .as_ref()
            .map_or(MAX_POWER, |(mantissa, power, exclusive)| {
                let is_in = is_less(mantissa) || !(is_more(mantissa) || *exclusive);
                power - i64::from(!is_in)
            });
        Re::concat([
            range(Some(from), Some(to), Fraction::Any),
            Re::chars(&[('E', 'E'), ('e', 'e')]),
            exponents(least.max(-MAX_POWER), most.min(MAX_POWER)),
        ])
    };
    Re::alt(ranges.iter().map(way))
}

/// Whole numbers from `least` to `most` as exponents: a plus may come before, and a zero before one
/// digit.
fn exponents(least: i64, most: i64) -> Re {
    let plain = |least: i64, most: i64| {
        if least > most {
            return Re::Never;
        }
        let bound = |value: i64| Bound {
            value: places::whole(value as u32),
            exclusive: false,
        };
        let plain = Fraction::None(IntegerSpelling::Plain);
        range(Some(&bound(least)), Some(&bound(most)), plain)
    };
    let within = |least: i64, most: i64| {
        Re::alt([
            Re::concat([Re::literal("0").optional(), plain(least, most.min(9))]),
            plain(least.max(10), most),
        ])
    };
    Re::alt([
        Re::concat([Re::literal("+").optional(), within(least.max(0), most)]),
        Re::concat([Re::literal("-"), within((-most).max(1), -least)]),
    ])
}

pub(super) fn digit(a: u8, b: u8) -> Re {
    if a > b {
        Re::Never
    } else {
        Re::chars(&[(char::from(b'0' + a), char::from(b'0' + b))])
    }
}

pub(super) fn digits(min: u32) -> Re {
    digit(0, 9).repeat(min, None)
}

fn integer_part() -> Re {
    Re::alt([digit(0, 0), Re::concat([digit(1, 9), digits(0)])])
}

/// Returns the text that may follow the integer digits when neither bound matters any more.
fn free_fraction(fraction: Fraction) -> Re {
    match fraction {
        Fraction::Any => Re::concat([Re::literal("."), digits(1)]).optional(),
        Fraction::None(IntegerSpelling::Plain) => Re::Empty,
        Fraction::None(IntegerSpelling::ZeroFraction) => zero_fraction(),
        Fraction::Required => Re::concat([Re::literal("."), digits(0), digit(1, 9), digits(0)]),
    }
}

pub(super) fn zero_fraction() -> Re {
    Re::concat([Re::literal("."), digit(0, 0).repeat(1, None)]).optional()
}

/// The integers between two decimals, in their plain spelling.
pub fn integers_between(low: &str, high: &str) -> Re {
    let bound = |text: &str| {
        Decimal::parse(text).map(|value| Bound {
            value,
            exclusive: false,
        })
    };
    let plain = Fraction::None(IntegerSpelling::Plain);
    range(bound(low).as_ref(), bound(high).as_ref(), plain)
}

/// The plain decimals between `low` and `high`, without exponents. If no bound is given, `-0` is
/// admitted.
pub(super) fn range(low: Option<&Bound>, high: Option<&Bound>, fraction: Fraction) -> Re {
    if low.is_none() && high.is_none() {
        return Re::concat([
            Re::literal("-").optional(),
            integer_part(),
            free_fraction(fraction),
        ]);
    }
    let zero = Bound {
        value: Decimal::default(),
        exclusive: false,
    };
    let above_zero = Bound {
        value: Decimal::default(),
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
                    value: places::negated(&b.value),
                    exclusive: b.exclusive,
                },
                _ => above_zero,
            };
            let to = low.map(|b| Bound {
                value: places::negated(&b.value),
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
            let more = clamped(low_int.len());
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
        let from = clamped(low_int.len());
        let to = clamped(high_int.len() - 2);
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
        let n = clamped(length);
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
        let n = clamped(length);
        return Re::concat([digit(0, 9).repeat(n, Some(n)), free_fraction(fraction)]);
    }
    if length == 0 {
        return fraction_between(low_edge, high_edge, fraction);
    }
    let high = if high_edge.is_some() { high } else { None };
    integer(low, high, low_edge, high_edge, false, fraction)
}

/// Returns the text that may follow integer digits that equal those of a bound (or of both).
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

/// Returns the intersection of two expressions of numbers.
pub(super) fn intersect<'b>(a: &Re, b: &Re, limit: impl Into<Limit<'b>>) -> Result<Re, TooBig> {
    let limit = limit.into();
    Product::new(&[a, b], limit)?.to_re(|v| v == 3, limit)
}
