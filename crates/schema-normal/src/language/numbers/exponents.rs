//! Automata of the numbers in a range in scientific notation, made digit by digit: what
//! [`scientific`](crate::language::numbers::expressions::scientific) says as an expression, without the way
//! over one. For example, up to 25 a `2.5` may have the exponents up to 1, and a `2.6` those up to 0.

use std::cmp::Ordering;

use fsm_tables::explore;

use crate::budget::{Limit, TooBig};
use crate::language::char_dfa::DEAD;
use crate::language::numbers::dfa::NumberDfa;
use crate::language::numbers::expressions::{Bound, MAX_POWER};
use crate::language::numbers::places;

/// A bound above zero: the digits of its mantissa, and its power of ten.
struct MantissaEdge {
    digits: Vec<u8>,
    power: i64,
    exclusive: bool,
}

/// The magnitudes that one sign may have.
struct MantissaMagnitudes {
    low: Option<MantissaEdge>,
    high: Option<MantissaEdge>,
}

/// The order of the mantissa so far and that of a bound: it begins like it, or the exponent that
/// the bound asks for is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Alike,
    Known(i64),
}

/// The part of a mantissa that was read last.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MantissaPlace {
    Whole,
    Point,
    Part,
}

/// The text so far, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ExponentRead {
    Start,
    Minus,
    Mantissa {
        minus: bool,
        places: usize,
        least: Side,
        most: Side,
        place: MantissaPlace,
    },
    /// Behind the `e`: the least and the greatest exponent.
    Exponent(i64, i64),
    /// Behind its sign: the least and the greatest magnitude.
    Signed(i64, i64),
    /// Behind a zero there.
    Zero(i64, i64),
    /// Behind another digit: whether it is enough, and a bit for each digit that may follow.
    Digit(bool, u16),
    End,
}

struct ExponentRange {
    plus: Option<MantissaMagnitudes>,
    minus: Option<MantissaMagnitudes>,
}

/// The symbol of the sign: the digits come first, so that a digit is its own symbol.
const MINUS: usize = 10;
/// The symbol of `+`, as [`NumberDfa::tables`] numbers it.
const PLUS: usize = 11;
/// The symbol of the point, as [`NumberDfa::tables`] numbers it.
const POINT: usize = 12;
/// The symbol of `e`, as [`NumberDfa::tables`] numbers it; `E` has the next one and leads to the
/// same.
const EXPONENT: usize = 13;
/// The number of symbols. `E` is not among them, because it is put in behind.
const WIDTH: usize = 14;

/// The numbers between two bounds in scientific notation.
pub(super) fn scientific(
    low: Option<&Bound>,
    high: Option<&Bound>,
    mut limit: Limit<'_>,
) -> Result<NumberDfa, TooBig> {
    let is_below = |bound: &Bound| bound.value.is_negative() || bound.value.is_zero();
    let is_above = |bound: &Bound| !bound.value.is_negative() || bound.value.is_zero();
    // A bound beyond zero says nothing of these magnitudes.
    let edge = |bound: Option<&Bound>, minus: bool| {
        let bound = bound.filter(|bound| bound.value.is_negative() == minus)?;
        let (mantissa, power) = places::scientific(&bound.value)?;
        let (mut digits, part) = mantissa.parts();
        digits.extend(part);
        let exclusive = bound.exclusive;
        Some(MantissaEdge {
            digits,
            power,
            exclusive,
        })
    };
    let range = ExponentRange {
        plus: (!high.is_some_and(is_below)).then(|| MantissaMagnitudes {
            low: edge(low, false),
            high: edge(high, false),
        }),
        minus: (!low.is_some_and(is_above)).then(|| MantissaMagnitudes {
            low: edge(high, true),
            high: edge(low, true),
        }),
    };
    let step = |at: &ExponentRead, symbol: usize| range.step(*at, symbol);
    let all = explore(WIDTH, ExponentRead::Start, step, accepts, &mut limit)?;
    let least = all.minimized(&mut limit)?;
    let mut rows = vec![[DEAD; 16]; least.states()];
    for (row, next) in rows.iter_mut().zip(least.rows()) {
        // The columns of a `NumberDfa` have both letters of an exponent.
        row[..EXPONENT + 1].copy_from_slice(next);
        row[EXPONENT + 1] = next[EXPONENT];
    }
    Ok(NumberDfa::of_rows(rows, least.labels().to_vec()))
}

impl ExponentRange {
    fn of(&self, minus: bool) -> Option<&MantissaMagnitudes> {
        match minus {
            true => self.minus.as_ref(),
            false => self.plus.as_ref(),
        }
    }

    fn step(&self, at: ExponentRead, symbol: usize) -> Option<ExponentRead> {
        match (at, symbol) {
            (ExponentRead::Start, MINUS) => self.minus.is_some().then_some(ExponentRead::Minus),
            (ExponentRead::Start | ExponentRead::Minus, 1..10) => {
                let minus = at == ExponentRead::Minus;
                let m = self.of(minus)?;
                let side = |edge: &Option<MantissaEdge>, free: i64| match edge {
                    Some(_) => Side::Alike,
                    None => Side::Known(free),
                };
                let (least, most) = (side(&m.low, -MAX_POWER), side(&m.high, MAX_POWER));
                self.digit(symbol as u8, minus, 0, (least, most), MantissaPlace::Whole)
            }
            (
                ExponentRead::Mantissa {
                    minus,
                    places,
                    least,
                    most,
                    place,
                },
                _,
            ) => match (place, symbol) {
                (MantissaPlace::Whole, POINT) => Some(ExponentRead::Mantissa {
                    minus,
                    places,
                    least,
                    most,
                    place: MantissaPlace::Point,
                }),
                (MantissaPlace::Point | MantissaPlace::Part, 0..10) => self.digit(
                    symbol as u8,
                    minus,
                    places,
                    (least, most),
                    MantissaPlace::Part,
                ),
                (MantissaPlace::Whole | MantissaPlace::Part, EXPONENT) => {
                    self.exponent(minus, places, least, most)
                }
                _ => None,
            },
            (ExponentRead::Exponent(least, most), PLUS) => signed(least.max(0), most),
            (ExponentRead::Exponent(least, most), MINUS) => signed((-most).max(1), -least),
            (ExponentRead::Exponent(least, most), 0..10) => {
                self.step(signed(least.max(0), most)?, symbol)
            }
            (ExponentRead::Signed(least, most), 0) => {
                (least < 10).then_some(ExponentRead::Zero(least, most))
            }
            (ExponentRead::Signed(least, most), 1..10) => {
                let is_in = |power: i64| (least..=most).contains(&power);
                let digit = symbol as i64;
                let follow = (0..10).filter(|next| is_in(10 * digit + next));
                let follow = follow.fold(0, |bits, next| bits | 1u16 << next);
                (is_in(digit) || follow != 0).then_some(ExponentRead::Digit(is_in(digit), follow))
            }
            (ExponentRead::Zero(least, most), 0..10) => (least..=most)
                .contains(&(symbol as i64))
                .then_some(ExponentRead::End),
            (ExponentRead::Digit(_, follow), 0..10) => {
                (follow & 1 << symbol != 0).then_some(ExponentRead::End)
            }
            _ => None,
        }
    }

    /// One more digit of the mantissa, behind so many.
    fn digit(
        &self,
        digit: u8,
        minus: bool,
        places: usize,
        (least, most): (Side, Side),
        place: MantissaPlace,
    ) -> Option<ExponentRead> {
        if let (Side::Known(_), Side::Known(_), MantissaPlace::Part) = (least, most, place) {
            // Whose bounds they were is forgotten.
            return Some(ExponentRead::Mantissa {
                minus,
                places,
                least,
                most,
                place,
            });
        }
        let m = self.of(minus)?;
        let compare = |edge: &MantissaEdge| digit.cmp(edge.digits.get(places).unwrap_or(&0));
        let least = match (least, &m.low) {
            (Side::Alike, Some(low)) => match compare(low) {
                Ordering::Less => Side::Known(low.power + 1),
                Ordering::Equal => Side::Alike,
                Ordering::Greater => Side::Known(low.power),
            },
            (known, _) => known,
        };
        let most = match (most, &m.high) {
            (Side::Alike, Some(high)) => match compare(high) {
                Ordering::Less => Side::Known(high.power),
                Ordering::Equal => Side::Alike,
                Ordering::Greater => Side::Known(high.power - 1),
            },
            (known, _) => known,
        };
        let is_open = least == Side::Alike || most == Side::Alike;
        if let (Side::Known(least), Side::Known(most)) = (least, most)
            && least > most
        {
            return None;
        }
        let longest = [&m.low, &m.high].into_iter().flatten();
        let longest = longest.map(|edge| edge.digits.len()).max().unwrap_or(0);
        Some(ExponentRead::Mantissa {
            // Once both are known it matters no more where they came from.
            minus: minus && is_open,
            places: match is_open {
                true => (places + 1).min(longest),
                false => 0,
            },
            least,
            most,
            place,
        })
    }

    fn exponent(
        &self,
        minus: bool,
        places: usize,
        least: Side,
        most: Side,
    ) -> Option<ExponentRead> {
        // The rest of the digits of a bound is not zero.
        let is_all = |edge: &MantissaEdge| places >= edge.digits.len();
        let least = match (least, self.of(minus).and_then(|m| m.low.as_ref())) {
            (Side::Known(power), _) => power,
            (Side::Alike, Some(low)) => low.power + i64::from(!is_all(low) || low.exclusive),
            (Side::Alike, None) => return None,
        };
        let most = match (most, self.of(minus).and_then(|m| m.high.as_ref())) {
            (Side::Known(power), _) => power,
            (Side::Alike, Some(high)) => high.power - i64::from(is_all(high) && high.exclusive),
            (Side::Alike, None) => return None,
        };
        let (least, most) = (least.max(-MAX_POWER), most.min(MAX_POWER));
        (least <= most).then_some(ExponentRead::Exponent(least, most))
    }
}

fn signed(least: i64, most: i64) -> Option<ExponentRead> {
    (least <= most).then_some(ExponentRead::Signed(least, most))
}

fn accepts(at: &ExponentRead) -> bool {
    match at {
        ExponentRead::Zero(least, most) => (*least..=*most).contains(&0),
        ExponentRead::Digit(is_enough, _) => *is_enough,
        ExponentRead::End => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::decimal::Decimal;
    use crate::language::char_dfa::CharDfa;
    use crate::language::numbers::dfa::NumberDfa;
    use crate::language::numbers::expressions as numbers;
    use crate::language::numbers::expressions::Bound;

    #[test]
    fn automata_are_those_of_the_expressions() {
        let ends = [
            "-1e120", "-1e21", "-50.25", "-5", "-0.125", "-1e-12", "0", "1e-120", "1e-12", "0.05",
            "0.99", "1", "1.25", "5", "5.005", "9.99", "10", "99.9", "2e7", "1e99", "1e100",
        ];
        let bounds = || {
            let one = |end: &str, exclusive| {
                let value = Decimal::parse(end).unwrap();
                Some(Bound { value, exclusive })
            };
            let each = ends
                .into_iter()
                .flat_map(move |end| [one(end, false), one(end, true)]);
            each.chain([None])
        };
        for low in bounds() {
            for high in bounds() {
                let (low, high) = (low.as_ref(), high.as_ref());
                let re = numbers::scientific(low, high);
                let expected = NumberDfa::new(&CharDfa::new(&[(&re, true)], 9_000).unwrap());
                let made = super::scientific(low, high, 9_000.into()).unwrap();
                let different = [(&made, &expected), (&expected, &made)].map(|(one, other)| {
                    let rest = one.without(other, 9_000.into()).unwrap();
                    rest.tables().1.iter().any(|accepts| *accepts)
                });
                assert_eq!(different, [false, false], "{low:?} to {high:?}");
            }
        }
    }
}
