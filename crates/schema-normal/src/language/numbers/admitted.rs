//! Numbers as expressions, made from the conditions on them.
//!
//! For example, `{"type": "integer", "minimum": 0, "maximum": 9}` becomes one digit.

use crate::budget::Limit;
use crate::decimal::Decimal;
use crate::language::numbers::conditions::NumberConditions;
use crate::language::numbers::expressions::{
    Bound, Fraction, intersect, listed, listed_multiples, multiples, range, scientific,
};
use crate::language::numbers::places::is_one;
use crate::language::re::Re;
use crate::options::IntegerSpelling;

/// The numbers that satisfy some conditions, for a printer of expressions.
pub enum NumberTexts<'s> {
    /// A list; the flag says that the schema wrote a fraction of zeros.
    Listed(&'s [(Decimal, bool)]),
    /// All numbers.
    Every,
    /// All integers, in their plain spelling.
    Integers(Re),
    /// The numbers of an expression.
    Some(Re),
}

/// The reason why numbers have no expression.
pub enum NumberRefusal {
    /// No multiple of a divisor is wanted, and such a complement has none.
    Complement,
    /// The expression of this is too large.
    TooLarge(String),
}

impl NumberConditions {
    /// Returns the numbers that satisfy the conditions.
    pub fn numbers(
        &self,
        integers: IntegerSpelling,
        limit: Limit<'_>,
    ) -> Result<NumberTexts<'_>, NumberRefusal> {
        if let Some(allowed) = &self.allowed {
            return Ok(NumberTexts::Listed(allowed));
        }
        let Some((fraction, divisors)) = self.divisors(integers)? else {
            return Ok(NumberTexts::Some(Re::Never));
        };
        let is_bounded = self.low.is_some() || self.high.is_some();
        let is_every = !is_bounded && self.excluded.is_empty();
        match (is_every, fraction, &divisors[..]) {
            (true, Fraction::Any, []) => return Ok(NumberTexts::Every),
            (true, Fraction::None(IntegerSpelling::Plain), []) => {
                return Ok(NumberTexts::Integers(range(None, None, fraction)));
            }
            _ => {}
        }
        if let (Some(low), Some(high), [first, ..]) = (&self.low, &self.high, &divisors[..])
            && let Some(list) = listed_multiples(low, high, first, fraction)
        {
            let held = list.iter().filter(|d| self.holds(&divisors, d));
            return Ok(NumberTexts::Some(Re::alt(
                held.map(|d| listed(d, fraction)),
            )));
        }
        let mut re = Re::alt(self.gaps().map(|(low, high)| {
            let (low, high) = (low.as_ref(), high.as_ref());
            let plain = range(low, high, fraction);
            match self.has_exponents() {
                true => Re::alt([plain, scientific(low, high)]),
                false => plain,
            }
        }));
        if !is_bounded && !is_every {
            re = Re::alt([re, self.minus_zero(fraction)]);
        }
        for (i, divisor) in divisors.iter().enumerate() {
            let refuse =
                |what| NumberRefusal::TooLarge(format!("`multipleOf` {}: {what}", divisor.plain()));
            let multiple =
                multiples(divisor, fraction, limit).map_err(|_| refuse("the divisor"))?;
            re = if i == 0 && is_every && fraction != Fraction::Required {
                multiple
            } else {
                intersect(&re, &multiple, limit)
                    .map_err(|_| refuse("the divisor with what stands beside it"))?
            };
        }
        Ok(NumberTexts::Some(re))
    }

    /// Returns the fractions that the numbers have, and their divisors; `None` where both
    /// contradict each other.
    fn divisors(
        &self,
        integers: IntegerSpelling,
    ) -> Result<Option<(Fraction, Vec<Decimal>)>, NumberRefusal> {
        let mut integer = self.integer;
        let mut divisors: Vec<Decimal> = Vec::new();
        for (divisor, positive) in &self.multiples {
            match (is_one(divisor), positive, integer) {
                (true, true, Some(false)) | (true, false, Some(true)) => return Ok(None),
                // All integers are multiples of one.
                (true, true, Some(true)) => {}
                (true, false, _) => integer = Some(false),
                (_, true, _) if divisors.contains(divisor) => {}
                (_, true, _) => divisors.push(divisor.clone()),
                (false, false, _) => return Err(NumberRefusal::Complement),
            }
        }
        if integer == Some(false) && divisors.iter().any(is_one) {
            return Ok(None);
        }
        Ok(Some((Fraction::of(integer, integers), divisors)))
    }

    /// Returns the ranges between the bounds and the excluded numbers.
    fn gaps(&self) -> impl Iterator<Item = (Option<Bound>, Option<Bound>)> {
        let is_inside = |d: &&Decimal| {
            self.low.as_ref().is_none_or(|low| **d >= low.value)
                && self.high.as_ref().is_none_or(|high| **d <= high.value)
        };
        let mut excluded: Vec<&Decimal> = self.excluded.iter().filter(is_inside).collect();
        excluded.sort();
        excluded.dedup();
        let out = |d: &Decimal| Bound {
            value: d.clone(),
            exclusive: true,
        };
        let ends = excluded.iter().map(|d| Some(out(d)));
        let lows: Vec<Option<Bound>> = [self.low.clone()].into_iter().chain(ends.clone()).collect();
        let highs: Vec<Option<Bound>> = ends.chain([self.high.clone()]).collect();
        let is_some = |(low, high): &(Option<Bound>, Option<Bound>)| match (low, high) {
            (Some(l), Some(h)) => l.value < h.value || !(l.exclusive || h.exclusive),
            _ => true,
        };
        lows.into_iter().zip(highs).filter(is_some)
    }

    /// Tells whether a number is what the conditions ask, with these divisors.
    fn holds(&self, divisors: &[Decimal], d: &Decimal) -> bool {
        let above = |b: &Bound| *d > b.value || (*d == b.value && !b.exclusive);
        let below = |b: &Bound| *d < b.value || (*d == b.value && !b.exclusive);
        self.low.as_ref().is_none_or(above)
            && self.high.as_ref().is_none_or(below)
            && self.integer.is_none_or(|want| d.is_integer() == want)
            && divisors.iter().all(|m| d.is_multiple_of(m) != Some(false))
            && !self.excluded.contains(d)
    }

    /// Returns zero with a sign, where numbers were left out and no bound is given: a range has it
    /// only if it has no ends.
    fn minus_zero(&self, fraction: Fraction) -> Re {
        let zero = Decimal::default();
        if !self.holds(&[], &zero) {
            return Re::Never;
        }
        Re::concat([Re::literal("-"), listed(&zero, fraction)])
    }
}
