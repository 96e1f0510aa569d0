//! The automata of numbers, made from the conditions on them and kept.
//!
//! For example, `{"minimum": 5}` and `{"type": "number", "minimum": 5}` share one automaton.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::budget::{Limit, TooBig};
use crate::decimal::Decimal;
use crate::language::char_dfa::CharDfa;
use crate::language::numbers::conditions::NumberConditions;
use crate::language::numbers::dfa::NumberDfa;
use crate::language::numbers::expressions::{
    Bound, Fraction, any_number, listed, range, scientific,
};
use crate::language::numbers::places::is_one;
use crate::language::numbers::{exponents, multiples, ranges, words};
use crate::language::re::Re;
use crate::options::IntegerSpelling;

/// The automata of one compilation, each by the conditions that it was made from.
#[derive(Default)]
pub struct NumberAutomata {
    made: HashMap<NumberConditions, Arc<NumberDfa>>,
}

impl NumberAutomata {
    /// Returns the automaton of the numbers that satisfy some conditions.
    pub fn of(
        &mut self,
        asked: &NumberConditions,
        integers: IntegerSpelling,
        limit: Limit<'_>,
    ) -> Result<Arc<NumberDfa>, TooBig> {
        if let Some(number) = shared(asked, Fraction::of(asked.integer, integers)) {
            let cell = &SHARED[number];
            if let Some(known) = cell.get() {
                return Ok(Arc::clone(known));
            }
            let made = match number {
                EVERY => of_re(&any_number(), limit)?,
                _ => make(asked, integers, limit)?,
            };
            let common = (number < COMMON).then_some(number as u32);
            return Ok(Arc::clone(
                cell.get_or_init(|| Arc::new(made.with_common(common))),
            ));
        }
        if let Some(known) = self.made.get(asked) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(make(asked, integers, limit)?);
        self.made.insert(asked.clone(), Arc::clone(&made));
        Ok(made)
    }
}

/// The place of all numbers among the shared automata: the first one, because it has no spelling
/// to choose.
const EVERY: usize = 0;

/// The number of shared automata without bounds, which keys know by number: all numbers, and the
/// integers in each spelling, because most schemas with numbers have these.
const COMMON: usize = 1 + IntegerSpelling::NAMED.len();

/// Automata that are made once in a process, because most numbers have no bounds, or are those from
/// zero or from one on.
static SHARED: [OnceLock<Arc<NumberDfa>>; COMMON + 4] = [const { OnceLock::new() }; COMMON + 4];

/// Returns the place of an automaton among the shared ones.
fn shared(asked: &NumberConditions, fraction: Fraction) -> Option<usize> {
    if asked.high.is_some()
        || asked.allowed.is_some()
        || !asked.multiples.is_empty()
        || !asked.excluded.is_empty()
    {
        return None;
    }
    let Some(low) = &asked.low else {
        return match fraction {
            Fraction::Any => Some(EVERY),
            Fraction::None(spelling) => {
                let named = IntegerSpelling::NAMED.iter();
                Some(1 + named.take_while(|(_, other)| *other != spelling).count())
            }
            Fraction::Required => None,
        };
    };
    let first = match fraction {
        Fraction::Any => COMMON,
        Fraction::None(IntegerSpelling::Plain) => COMMON + 2,
        _ => return None,
    };
    let is_usual = !low.exclusive && (low.value.is_zero() || is_one(&low.value));
    is_usual.then(|| first + usize::from(is_one(&low.value)))
}

fn of_re(re: &Re, limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
    Ok(NumberDfa::new(&CharDfa::new(&[(re, true)], limit)?))
}

fn make(
    asked: &NumberConditions,
    integers: IntegerSpelling,
    limit: Limit<'_>,
) -> Result<NumberDfa, TooBig> {
    if let Some(list) = &asked.allowed {
        return match words::of(list, integers, limit)? {
            Some(made) => Ok(made),
            None => {
                // An integer may have any number of zeros behind the point.
                let spelling = |d: &Decimal| match d.is_integer() {
                    true => listed(d, Fraction::None(integers)),
                    false => Re::literal(&d.plain()),
                };
                of_re(&Re::alt(list.iter().map(|(d, _)| spelling(d))), limit)
            }
        };
    }
    let fraction = Fraction::of(asked.integer, integers);
    let (low, high) = (asked.low.as_ref(), asked.high.as_ref());
    let mut made = match (low, high) {
        (None, None) => of_re(&range(None, None, fraction), limit)?,
        _ => ranges::range(low, high, fraction, limit)?,
    };
    if asked.has_exponents() {
        made = made.or(&exponents::scientific(low, high, limit)?, limit)?;
    }
    if !asked.multiples.is_empty() {
        made = multiples::among(made, &asked.multiples, fraction, limit)?;
    }
    if !asked.excluded.is_empty() {
        let spellings = Re::alt(asked.excluded.iter().flat_map(spellings));
        made = made
            .without(&of_re(&spellings, limit)?, limit)
            .ok_or(TooBig)?;
    }
    Ok(made)
}

/// All spellings of a number that is left out.
fn spellings(d: &Decimal) -> Vec<Re> {
    let mut out = vec![listed(d, Fraction::Any)];
    if d.is_zero() {
        out.push(Re::concat([Re::literal("-"), out[0].clone()]));
    }
    let itself = Bound {
        value: d.clone(),
        exclusive: false,
    };
    out.push(scientific(Some(&itself), Some(&itself)));
    out
}
