//! Automata of the numbers in a range, made digit by digit: what
//! [`range`](crate::language::numbers::expressions::range) says as an expression, without the way over one.
//!
//! A magnitude without leading zeros is compared with a bound of known digits: more
//! digits before the point are more, as many are compared one by one.
//!
//! For example, up to 25 a `2` at the beginning of two digits may be followed by `0` to `5`.

use std::cmp::Ordering;

use fsm_tables::explore;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::decimal::Decimal;
use crate::language::char_dfa::DEAD;
use crate::language::numbers::dfa::NumberDfa;
use crate::language::numbers::expressions::{Bound, Fraction};
use crate::options::IntegerSpelling;

/// A bound by its digits before and after the point.
struct DecimalEdge {
    whole: Vec<u8>,
    part: Vec<u8>,
    exclusive: bool,
}

impl DecimalEdge {
    fn new(value: &Decimal, exclusive: bool) -> DecimalEdge {
        let (whole, part) = value.parts();
        DecimalEdge {
            whole,
            part,
            exclusive,
        }
    }

    /// Compares a text of `count` digits as a whole number; its digits that the bound has too
    /// compare like this.
    fn whole(&self, count: usize, digits: Ordering) -> Ordering {
        count.cmp(&self.whole.len()).then(digits)
    }
}

/// The magnitudes that one sign may have.
struct Magnitudes {
    low: DecimalEdge,
    high: Option<DecimalEdge>,
}

/// The text so far, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum RangeRead {
    Start,
    Minus,
    /// A zero, which no digit follows.
    Zero(bool),
    /// So many digits, and how they compare with as many of the bounds. The flag says
    /// that a minus came before; so it does below.
    Whole(bool, usize, Ordering, Ordering),
    /// Behind the point: so many digits of a fraction, which equals what the bounds
    /// begin with, where the flags say so.
    Part {
        minus: bool,
        places: usize,
        is_low: bool,
        is_high: bool,
        is_empty: bool,
        is_zero: bool,
    },
    /// Zeros behind the point of an integer.
    Zeros {
        is_empty: bool,
    },
}

struct DecimalRange {
    plus: Option<Magnitudes>,
    minus: Option<Magnitudes>,
    fraction: Fraction,
}

/// The plain decimals between two bounds, of which one is given.
pub(super) fn range(
    low: Option<&Bound>,
    high: Option<&Bound>,
    fraction: Fraction,
    limit: Limit<'_>,
) -> Result<NumberDfa, TooBig> {
    let edge = |b: &Bound| DecimalEdge::new(&b.value, b.exclusive);
    let is_negative = |b: &Bound| b.value.is_negative();
    let from_zero = |exclusive| DecimalEdge::new(&Decimal::default(), exclusive);
    let plus = (!high.is_some_and(is_negative)).then(|| Magnitudes {
        low: low
            .filter(|b| !is_negative(b))
            .map_or_else(|| from_zero(false), edge),
        high: high.map(edge),
    });
    // The mirror image, zero left out. A value's sign is no matter of its digits.
    let minus = low.is_none_or(is_negative).then(|| Magnitudes {
        low: high
            .filter(|b| is_negative(b))
            .map_or_else(|| from_zero(true), edge),
        high: low.map(edge),
    });
    let range = DecimalRange {
        plus,
        minus,
        fraction,
    };
    range.automaton(limit)
}

/// A column of a row of [`NumberDfa`], and how many behind it lead to the same.
struct Column {
    at: usize,
    count: usize,
    /// The first of their symbols.
    symbol: u8,
}

impl DecimalRange {
    /// The symbols in the order of their bytes: states are numbered breadth first, as
    /// those of an expression are. Digits beside each other that no bound has, and that
    /// are no zeros, are alike.
    fn columns(&self) -> Vec<Column> {
        let mut told = 1u16;
        for m in [&self.plus, &self.minus].into_iter().flatten() {
            for edge in std::iter::once(&m.low).chain(&m.high) {
                for digit in edge.whole.iter().chain(&edge.part) {
                    told |= 1 << digit;
                }
            }
        }
        let one = |at, symbol| Column {
            at,
            count: 1,
            symbol,
        };
        let mut columns = Vec::with_capacity(12);
        columns.extend([one(10, b'-'), one(12, b'.')]);
        let mut before = true;
        for digit in 0..10u8 {
            let is_told = told & 1 << digit != 0;
            match columns.last_mut() {
                Some(last) if !is_told && !before => last.count += 1,
                _ => columns.push(one(digit as usize, b'0' + digit)),
            }
            before = is_told;
        }
        columns
    }

    fn automaton(&self, mut limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
        let columns = self.columns();
        let step = |at: &RangeRead, column: usize| self.step(*at, columns[column].symbol);
        let accepts = |at: &RangeRead| self.accepts(*at);
        let all = explore(columns.len(), RangeRead::Start, step, accepts, &mut limit)?;
        let least = all.minimized(&mut limit)?;
        let mut rows = vec![[DEAD; 16]; least.states()];
        for (row, next) in rows.iter_mut().zip(least.rows()) {
            for (column, to) in columns.iter().zip(next) {
                row[column.at..][..column.count].fill(*to);
            }
        }
        Ok(NumberDfa::of_rows(rows, least.labels().to_vec()))
    }

    fn of(&self, minus: bool) -> Option<&Magnitudes> {
        match minus {
            true => self.minus.as_ref(),
            false => self.plus.as_ref(),
        }
    }

    fn step(&self, at: RangeRead, symbol: u8) -> Option<RangeRead> {
        let digit = symbol.wrapping_sub(b'0');
        match (at, symbol) {
            (RangeRead::Start, b'-') => self.minus.is_some().then_some(RangeRead::Minus),
            (RangeRead::Start | RangeRead::Minus, b'0'..=b'9') => {
                let minus = at == RangeRead::Minus;
                let m = self.of(minus)?;
                if digit == 0 {
                    return Some(RangeRead::Zero(minus));
                }
                let low = digit.cmp(&m.low.whole[0]);
                let high = m.high.as_ref();
                let high = high.map_or(Ordering::Less, |h| digit.cmp(&h.whole[0]));
                Some(self.whole(minus, 1, low, high))
            }
            (RangeRead::Whole(minus, count, low, high), b'0'..=b'9') => {
                let m = self.of(minus)?;
                let then = |before: Ordering, edge: &DecimalEdge| match edge.whole.get(count) {
                    Some(d) => before.then(digit.cmp(d)),
                    None => before,
                };
                let low = then(low, &m.low);
                let high = m.high.as_ref().map_or(Ordering::Less, |h| then(high, h));
                Some(self.whole(minus, count + 1, low, high))
            }
            (RangeRead::Zero(..) | RangeRead::Whole(..), b'.') => self.point(at),
            (RangeRead::Zeros { .. }, b'0') => Some(RangeRead::Zeros { is_empty: false }),
            (
                RangeRead::Part {
                    minus,
                    places,
                    is_low,
                    is_high,
                    is_zero,
                    ..
                },
                b'0'..=b'9',
            ) => {
                let m = self.of(minus)?;
                let place = |edge: &DecimalEdge| digit.cmp(edge.part.get(places).unwrap_or(&0));
                let low = if is_low {
                    place(&m.low)
                } else {
                    Ordering::Greater
                };
                let high = match &m.high {
                    Some(h) if is_high => place(h),
                    _ => Ordering::Less,
                };
                if low == Ordering::Less || high == Ordering::Greater {
                    return None;
                }
                let (is_low, is_high) = (low == Ordering::Equal, high == Ordering::Equal);
                let most = m.high.as_ref().map_or(0, |h| h.part.len());
                let most = most.max(m.low.part.len());
                Some(RangeRead::Part {
                    minus,
                    places: match is_low || is_high {
                        true => (places + 1).min(most),
                        false => 0,
                    },
                    is_low,
                    is_high,
                    is_empty: false,
                    is_zero: is_zero && digit == 0 && self.fraction == Fraction::Required,
                })
            }
            _ => None,
        }
    }

    /// Digits before the point; from one more than those of the bounds on their number
    /// does not matter.
    fn whole(&self, minus: bool, count: usize, low: Ordering, high: Ordering) -> RangeRead {
        let Some(m) = self.of(minus) else {
            return RangeRead::Whole(minus, count, low, high);
        };
        match &m.high {
            None if count > m.low.whole.len() => RangeRead::Whole(
                minus,
                m.low.whole.len() + 1,
                Ordering::Equal,
                Ordering::Less,
            ),
            Some(h) if count > h.whole.len() => {
                // Too much already.
                RangeRead::Whole(minus, h.whole.len() + 1, Ordering::Equal, Ordering::Equal)
            }
            _ => RangeRead::Whole(minus, count, low, high),
        }
    }

    /// Compares the digits that were read before the point with the bounds.
    fn compare(&self, at: RangeRead) -> Option<(&Magnitudes, bool, Ordering, Ordering)> {
        let (minus, low, high) = match at {
            RangeRead::Zero(minus) => {
                let m = self.of(minus)?;
                let zero = |edge: &DecimalEdge| edge.whole(1, 0.cmp(&edge.whole[0]));
                let high = m.high.as_ref().map_or(Ordering::Less, zero);
                (minus, zero(&m.low), high)
            }
            RangeRead::Whole(minus, count, low, digits) => {
                let m = self.of(minus)?;
                let high = m.high.as_ref();
                let high = high.map_or(Ordering::Less, |h| h.whole(count, digits));
                (minus, m.low.whole(count, low), high)
            }
            _ => return None,
        };
        Some((self.of(minus)?, minus, low, high))
    }

    fn point(&self, at: RangeRead) -> Option<RangeRead> {
        match self.fraction {
            Fraction::None(IntegerSpelling::Plain) => None,
            Fraction::None(IntegerSpelling::ZeroFraction) => self
                .is_integer(at)
                .then_some(RangeRead::Zeros { is_empty: true }),
            Fraction::Any | Fraction::Required => {
                let (_, minus, low, high) = self.compare(at)?;
                let is_between = low != Ordering::Less && high != Ordering::Greater;
                is_between.then_some(RangeRead::Part {
                    minus,
                    places: 0,
                    is_low: low == Ordering::Equal,
                    is_high: high == Ordering::Equal,
                    is_empty: true,
                    is_zero: self.fraction == Fraction::Required,
                })
            }
        }
    }

    /// Tells whether what was read before the point is in the range by itself.
    fn is_integer(&self, at: RangeRead) -> bool {
        self.compare(at).is_some_and(|(m, _, low, high)| {
            let above = match low {
                Ordering::Less => false,
                Ordering::Equal => m.low.part.is_empty() && !m.low.exclusive,
                Ordering::Greater => true,
            };
            let below = match (high, &m.high) {
                (Ordering::Greater, _) => false,
                (Ordering::Equal, Some(h)) => !h.part.is_empty() || !h.exclusive,
                _ => true,
            };
            above && below
        })
    }

    fn accepts(&self, at: RangeRead) -> bool {
        match at {
            RangeRead::Start | RangeRead::Minus => false,
            RangeRead::Zero(..) | RangeRead::Whole(..) => {
                self.fraction != Fraction::Required && self.is_integer(at)
            }
            RangeRead::Zeros { is_empty } => !is_empty,
            RangeRead::Part {
                minus,
                places,
                is_low,
                is_high,
                is_empty,
                is_zero,
            } => {
                let Some(m) = self.of(minus) else {
                    return false;
                };
                // The rest of the digits of a bound is not zero.
                let above = !is_low || (places >= m.low.part.len() && !m.low.exclusive);
                let below = match &m.high {
                    Some(h) if is_high => places < h.part.len() || !h.exclusive,
                    _ => true,
                };
                !is_empty && !is_zero && above && below
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::char_dfa::CharDfa;
    use crate::language::numbers::expressions as numbers;

    #[test]
    fn ranges_are_those_of_the_expressions() {
        let values = [
            "0",
            "1",
            "-1",
            "2",
            "9",
            "10",
            "-10",
            "99",
            "100",
            "-128",
            "127",
            "0.5",
            "-0.5",
            "0.05",
            "1.25",
            "1.2",
            "-1.25",
            "12.5",
            "2147483647",
            "-2147483648",
            "999",
            "1000",
            "0.999",
            "-99.99",
            "1e3",
            "12345.678",
        ];
        let values = values.map(|v| Decimal::parse(v).unwrap());
        let mut bounds = vec![None];
        for value in values {
            for exclusive in [false, true] {
                bounds.push(Some(Bound {
                    value: value.clone(),
                    exclusive,
                }));
            }
        }
        let fractions = [
            Fraction::Any,
            Fraction::Required,
            Fraction::None(IntegerSpelling::Plain),
            Fraction::None(IntegerSpelling::ZeroFraction),
        ];
        for (i, low) in bounds.iter().enumerate() {
            for (j, high) in bounds.iter().enumerate() {
                // Each bound meets many others, not all: the expressions take long.
                if (i == 0 && j == 0) || (i * 7 + j * 3) % 4 != 0 {
                    continue;
                }
                for fraction in fractions {
                    let re = numbers::range(low.as_ref(), high.as_ref(), fraction);
                    let slow = NumberDfa::new(&CharDfa::new(&[(&re, true)], 40_000).unwrap());
                    let fast = range(low.as_ref(), high.as_ref(), fraction, 40_000.into()).unwrap();
                    assert_eq!(
                        fast.tables(),
                        slow.tables(),
                        "{low:?} {high:?} {fraction:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn large_ranges_are_refused() {
        let bound = Bound {
            value: Decimal::parse("123456").unwrap(),
            exclusive: false,
        };
        assert!(range(Some(&bound), None, Fraction::Any, 5.into()).is_err());
    }
}
