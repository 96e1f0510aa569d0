//! Numbers.
//!
//! For example, `{"type": "integer", "minimum": 0, "maximum": 9}` becomes one digit.

use std::collections::HashSet;

use schema_normal::decimal::Decimal;
use schema_normal::ir::ROOT;
use schema_normal::language::numbers::expressions::{
    Bound, Fraction, any_number, intersect, listed, listed_multiples, multiples, range, scientific,
};
use schema_normal::language::re::Re;
use schema_normal::normal::alternative::NumberShape;
use schema_normal::normal::conjunctions::ConjId;
use schema_normal::normal::in_place::blamed;
use schema_normal::options::{IntegerSpelling, Options};
use schema_normal::{Error, ErrorKind};

use crate::regex::spell::Spelling;
use crate::regex::{Capped, Printer, alternation, spell};

/// The units of work of a byte of the expression of numbers, because it is made from automata.
const BYTE: usize = 12;

pub(super) fn print(
    printer: &mut Printer<'_>,
    conj: ConjId,
    n: &NumberShape,
) -> Result<Option<String>, Error> {
    let options = &printer.options;
    if let Some(allowed) = &n.allowed {
        let mut texts: Vec<String> = Vec::new();
        let mut met = HashSet::new();
        for (d, zeros) in allowed {
            let text = spelled(d, *zeros, options);
            printer.work(BYTE * text.len())?;
            if met.insert(text.clone()) {
                texts.push(text);
            }
        }
        return Ok(alternation(texts));
    }
    let Some((fraction, divisors)) = divisors(printer, conj, n)? else {
        return Ok(None);
    };
    let is_bounded = n.low.is_some() || n.high.is_some();
    let unbounded = !is_bounded && n.excluded.is_empty();
    if unbounded && fraction == Fraction::Any && divisors.is_empty() {
        return Ok(Some(spell::print(&any_number(), Spelling::Raw)));
    }
    // Only integers without a bound are capped: an expression does not count the digits of
    // two parts together.
    if let (true, Fraction::None(IntegerSpelling::Plain), [], Some(cap)) = (
        unbounded,
        fraction,
        &divisors[..],
        printer.options.caps.digits,
    ) {
        let cap = cap.max(1);
        printer.narrow("", Capped::Digits(cap));
        return Ok(Some(format!("-?(?:0|[1-9][0-9]{{0,{}}})", cap - 1)));
    }
    let mut re = None;
    if let (Some(low), Some(high), [first, ..]) = (&n.low, &n.high, divisors.as_slice())
        && let Some(list) = listed_multiples(low, high, first, fraction)
    {
        let held = list.iter().filter(|d| holds(n, &divisors, d));
        re = Some(Re::alt(held.map(|d| listed(d, fraction))));
    }
    let re = match re {
        Some(re) => re,
        None => {
            let mut re = Re::alt(gaps(n).map(|(low, high)| {
                let (low, high) = (low.as_ref(), high.as_ref());
                let plain = range(low, high, fraction);
                match n.has_exponents() {
                    true => Re::alt([plain, scientific(low, high)]),
                    false => plain,
                }
            }));
            if !is_bounded && !unbounded {
                re = Re::alt([re, minus_zero(n, fraction)]);
            }
            for (i, divisor) in divisors.iter().enumerate() {
                let refuse = |what: &str| {
                    let (node, keyword) = n.multiple_at.unwrap_or((ROOT, "multipleOf"));
                    Error::at(
                        ErrorKind::Refused,
                        &printer.normaliser.schema().node(node).pointer,
                        keyword,
                        format!(
                            "`multipleOf` {}: {what} needs too large an expression; list the values in an `enum` or drop the keyword",
                            divisor.plain()
                        ),
                    )
                };
                let limit = printer.normaliser.limit();
                let multiple =
                    multiples(divisor, fraction, limit).map_err(|_| refuse("the divisor"))?;
                re = if i == 0 && unbounded && fraction != Fraction::Required {
                    multiple
                } else {
                    intersect(&re, &multiple, limit)
                        .map_err(|_| refuse("the divisor with what stands beside it"))?
                };
            }
            re
        }
    };
    if re == Re::Never {
        return Ok(None);
    }
    let text = spell::print(&re, Spelling::Raw);
    // A bound is spelt digit by digit.
    printer.work(BYTE * text.len())?;
    Ok(Some(text))
}

/// Which fractions numbers have, and of what they are multiples; `None` where both
/// contradict each other.
fn divisors(
    printer: &Printer<'_>,
    conj: ConjId,
    n: &NumberShape,
) -> Result<Option<(Fraction, Vec<Decimal>)>, Error> {
    let mut integer = n.integer;
    let mut divisors: Vec<Decimal> = Vec::new();
    for (divisor, positive) in &n.multiples {
        match (divisor.is_one(), positive, integer) {
            (true, true, Some(false)) | (true, false, Some(true)) => return Ok(None),
            // All integers are multiples of one.
            (true, true, Some(true)) => {}
            (true, false, _) => integer = Some(false),
            (_, true, _) if divisors.contains(divisor) => {}
            (_, true, _) => divisors.push(divisor.clone()),
            (false, false, _) => {
                let at = n.multiple_at.unwrap_or((ROOT, "multipleOf"));
                let error = printer.normaliser.not_negated(at, "a divisor");
                return Err(blamed(printer.normaliser, conj, error));
            }
        }
    }
    if integer == Some(false) && divisors.iter().any(Decimal::is_one) {
        return Ok(None);
    }
    let fraction = match integer {
        Some(true) => Fraction::None(printer.options.integers),
        Some(false) => Fraction::Required,
        None => Fraction::Any,
    };
    Ok(Some((fraction, divisors)))
}

/// The ranges between the bounds and the excluded numbers.
fn gaps(n: &NumberShape) -> impl Iterator<Item = (Option<Bound>, Option<Bound>)> {
    let is_inside = |d: &&Decimal| {
        n.low.as_ref().is_none_or(|low| **d >= low.value)
            && n.high.as_ref().is_none_or(|high| **d <= high.value)
    };
    let mut excluded: Vec<&Decimal> = n.excluded.iter().filter(is_inside).collect();
    excluded.sort();
    excluded.dedup();
    let out = |d: &Decimal| Bound {
        value: d.clone(),
        exclusive: true,
    };
    let ends = excluded.iter().map(|d| Some(out(d)));
    let lows: Vec<Option<Bound>> = [n.low.clone()].into_iter().chain(ends.clone()).collect();
    let highs: Vec<Option<Bound>> = ends.chain([n.high.clone()]).collect();
    let is_some = |(low, high): &(Option<Bound>, Option<Bound>)| match (low, high) {
        (Some(l), Some(h)) => l.value < h.value || !(l.exclusive || h.exclusive),
        _ => true,
    };
    lows.into_iter().zip(highs).filter(is_some)
}

/// Tells whether a number is what a shape asks, with these divisors.
fn holds(n: &NumberShape, divisors: &[Decimal], d: &Decimal) -> bool {
    let above = |b: &Bound| *d > b.value || (*d == b.value && !b.exclusive);
    let below = |b: &Bound| *d < b.value || (*d == b.value && !b.exclusive);
    n.low.as_ref().is_none_or(above)
        && n.high.as_ref().is_none_or(below)
        && n.integer.is_none_or(|want| d.is_integer() == want)
        && divisors.iter().all(|m| d.is_multiple_of(m) != Some(false))
        && !n.excluded.contains(d)
}

/// Zero with a sign, where numbers were left out and no bound is given: a range
/// has it only if it has no ends.
fn minus_zero(n: &NumberShape, fraction: Fraction) -> Re {
    let zero = Decimal::zero();
    if !holds(n, &[], &zero) {
        return Re::Never;
    }
    Re::concat([Re::literal("-"), listed(&zero, fraction)])
}

/// A number of an `enum`: its plain spelling, and a fraction of zeros where the
/// schema wrote one or integers may have it.
pub(super) fn spelled(d: &Decimal, zeros: bool, options: &Options) -> String {
    let text = spell::print(&Re::literal(&d.plain()), Spelling::Raw);
    if d.is_integer() && options.integers == IntegerSpelling::ZeroFraction {
        format!("{text}(?:\\.0+)?")
    } else if d.is_integer() && zeros {
        format!("{text}(?:\\.0)?")
    } else {
        text
    }
}
