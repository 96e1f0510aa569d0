//! Numbers.

use std::collections::HashSet;

use crate::budget::Limit;
use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind};
use crate::language::number_expressions::{
    Fraction, any_number, intersect, listed, listed_multiples, multiples, range,
};
use crate::language::re::Re;
use crate::normal::shape::{Numbers, Shape};
use crate::options::{IntegerSpelling, Options};
use crate::regex::Printer;
use crate::regex::spell;
use crate::regex::spell::Place;

/// What a byte of the expression of numbers takes, in units of work.
const BYTE: usize = 12;

pub(crate) fn print(printer: &Printer<'_>, shape: &Shape) -> Result<Option<String>, Error> {
    let n = &shape.numbers;
    let options = printer.options;
    if let Some(allowed) = &n.allowed {
        let mut texts: Vec<String> = Vec::new();
        let mut met = HashSet::new();
        for (d, zeros) in allowed.iter().filter(|(d, _)| n.holds(d)) {
            let text = spelled(d, *zeros, options);
            printer.work(BYTE * text.len())?;
            if met.insert(text.clone()) {
                texts.push(text);
            }
        }
        return Ok(match texts.len() {
            0 => None,
            1 => Some(texts.swap_remove(0)),
            _ => Some(format!("(?:{})", texts.join("|"))),
        });
    }
    let fraction = match n.integer {
        Some(true) => Fraction::None(options.integers),
        Some(false) => Fraction::Required,
        None => Fraction::Any,
    };
    let unbounded = n.low.is_none() && n.high.is_none();
    if unbounded && fraction == Fraction::Any && n.multiples.is_empty() {
        return Ok(Some(spell::print(&any_number(), Place::Raw)));
    }
    let mut re = None;
    if let (Some(low), Some(high), [(first, _), ..]) = (&n.low, &n.high, n.multiples.as_slice())
        && let Some(list) = listed_multiples(low, high, first, fraction)
    {
        let held = list.iter().filter(|d| n.holds(d));
        let spelt = held.map(|d| listed(d, fraction));
        re = Some(Re::alt(spelt.chain([minus_zero(n, fraction)])));
    }
    let re = match re {
        Some(re) => re,
        None => {
            let mut re = range(n.low.as_ref(), n.high.as_ref(), fraction);
            if !unbounded {
                re = Re::alt([re, minus_zero(n, fraction)]);
            }
            for (i, (divisor, (node, keyword))) in n.multiples.iter().enumerate() {
                let refuse = |what: &str| {
                    printer.normaliser.error(
                        ErrorKind::Refused,
                        *node,
                        keyword,
                        format!("`multipleOf` {}: {what} needs too large an expression; list the values in an `enum` or drop the keyword", divisor.plain()),
                    )
                };
                let limit = Limit::new(options.max_automaton_states, &printer.normaliser.budget);
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
    let text = spell::print(&re, Place::Raw);
    // A bound is spelt digit by digit.
    printer.work(BYTE * text.len())?;
    Ok(Some(text))
}

/// Zero with a sign, where numbers were left out and no bound is given: a range
/// has it only if it has no ends.
fn minus_zero(n: &Numbers, fraction: Fraction) -> Re {
    let zero = Decimal::zero();
    if n.is_bounded || !n.holds(&zero) {
        return Re::Never;
    }
    Re::concat([Re::literal("-"), listed(&zero, fraction)])
}

/// A number of an `enum`: its plain spelling, and a fraction of zeros where the
/// schema wrote one or integers may have it.
pub(crate) fn spelled(d: &Decimal, zeros: bool, options: &Options) -> String {
    let text = spell::print(&Re::literal(&d.plain()), Place::Raw);
    if d.is_integer() && options.integers == IntegerSpelling::ZeroFraction {
        format!("{text}(?:\\.0+)?")
    } else if d.is_integer() && zeros {
        format!("{text}(?:\\.0)?")
    } else {
        text
    }
}
