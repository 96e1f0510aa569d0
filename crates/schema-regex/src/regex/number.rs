//! Numbers.
//!
//! For example, `{"type": "integer", "minimum": 0, "maximum": 9}` becomes one digit.

use std::collections::HashSet;

use schema_normal::decimal::Decimal;
use schema_normal::ir::ROOT;
use schema_normal::language::numbers::admitted::{NumberRefusal, NumberTexts};
use schema_normal::language::numbers::expressions::any_number;
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
    let (integers, limit) = (printer.options.integers, printer.normaliser.limit());
    let numbers = n.numbers.numbers(integers, limit);
    let numbers = numbers.map_err(|why| refused(printer, conj, n, why))?;
    let re = match (numbers, printer.options.caps.digits) {
        (NumberTexts::Listed(list), _) => return listed(printer, list),
        (NumberTexts::Every, _) => return Ok(Some(spell::print(&any_number(), Spelling::Raw))),
        // Only integers without a bound are capped: an expression does not count the digits of
        // two parts together.
        (NumberTexts::Integers(_), Some(cap)) => {
            let cap = cap.max(1);
            printer.narrow("", Capped::Digits(cap));
            return Ok(Some(format!("-?(?:0|[1-9][0-9]{{0,{}}})", cap - 1)));
        }
        (NumberTexts::Integers(re) | NumberTexts::Some(re), _) => re,
    };
    if re == Re::Never {
        return Ok(None);
    }
    let text = spell::print(&re, Spelling::Raw);
    // A bound is spelt digit by digit.
    printer.work(BYTE * text.len())?;
    Ok(Some(text))
}

fn refused(printer: &Printer<'_>, conj: ConjId, n: &NumberShape, why: NumberRefusal) -> Error {
    let at = n.multiple_at.unwrap_or((ROOT, "multipleOf"));
    match why {
        NumberRefusal::Complement => {
            let error = printer.normaliser.not_negated(at, "a divisor");
            blamed(printer.normaliser, conj, error)
        }
        NumberRefusal::TooLarge(what) => Error::at(
            ErrorKind::Refused,
            &printer.normaliser.schema().node(at.0).pointer,
            at.1,
            format!(
                "{what} needs too large an expression; list the values in an `enum` or drop the keyword"
            ),
        ),
    }
}

/// The numbers of a list, each once.
fn listed(printer: &mut Printer<'_>, list: &[(Decimal, bool)]) -> Result<Option<String>, Error> {
    let mut texts: Vec<String> = Vec::new();
    let mut met = HashSet::new();
    for (d, zeros) in list {
        let text = spelled(d, *zeros, &printer.options);
        printer.work(BYTE * text.len())?;
        if met.insert(text.clone()) {
            texts.push(text);
        }
    }
    Ok(alternation(texts))
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
