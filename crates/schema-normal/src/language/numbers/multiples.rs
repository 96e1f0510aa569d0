//! Numbers that are multiples of some divisors, and not of others: the digits so far are a residue
//! of one modulus, that of all divisors together, and are read beside a range of numbers. For
//! example, for multiples of 6 that are none of 4 the modulus is 12, and the residue 6 is accepted.

use fsm_tables::Pairs;

use crate::budget::Limit;
use crate::budget::TooBig;
use crate::decimal::Decimal;
use crate::language::char_dfa::DEAD;
use crate::language::numbers::dfa::NumberDfa;
use crate::language::numbers::expressions::Fraction;
use crate::language::numbers::places;
use crate::options::IntegerSpelling;

/// The numbers of an automaton that are multiples of some divisors and not of the
/// others, with at most `limit` states.
pub(super) fn among(
    numbers: NumberDfa,
    divisors: &[(Decimal, bool)],
    fraction: Fraction,
    limit: Limit<'_>,
) -> Result<NumberDfa, TooBig> {
    let (large, divisors): (Vec<_>, Vec<_>) =
        divisors.iter().cloned().partition(|(d, _)| is_large(d));
    let mut numbers = numbers;
    for (divisor, wanted) in &large {
        let multiples = of_zeros(divisor, fraction, limit)?;
        let others = numbers.without(&multiples, limit).ok_or(TooBig)?;
        numbers = match wanted {
            true => numbers.without(&others, limit).ok_or(TooBig)?,
            false => others,
        };
    }
    if divisors.is_empty() {
        return Ok(numbers);
    }
    let Some(all) = Residues::of(&divisors)? else {
        return Ok(NumberDfa::of_rows(Vec::new(), Vec::new()));
    };
    let mut met = numbers;
    for residues in all {
        met = residues.meet(&met, limit)?;
    }
    Ok(met)
}

/// The most zeros at its end with which a divisor is read by residues of all of it: with more, its
/// zeros are counted, because the residues would be ten times as many for each.
const MANY_ZEROS: usize = 3;

/// Tells whether a divisor ends with many zeros.
fn is_large(divisor: &Decimal) -> bool {
    places::zeros(divisor).is_some_and(|zeros| zeros > MANY_ZEROS)
}

/// All plain spellings of the multiples of a whole number that ends with zeros, as the
/// fraction lets them be spelled: the digits so far are a residue of the number without
/// its zeros, and how many zeros they end with.
fn of_zeros(divisor: &Decimal, fraction: Fraction, limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
    let (Some(modulus), Some(most)) = (divisor.mantissa(), places::zeros(divisor)) else {
        return Err(TooBig);
    };
    // The number of the first residue: the states before are the start, behind the sign, zero, the
    // point and zeros behind it, because these have no residue yet.
    const FIRST: u64 = 5;
    let (sign, zero, point, zeros) = (1, 2, 3, 4);
    let row = most as u64 + 1;
    let count = modulus.checked_mul(row).and_then(|n| n.checked_add(FIRST));
    let count = count.filter(|n| *n <= limit.states as u64).ok_or(TooBig)?;
    limit.charge(16 * count as usize)?;
    // Up to `most` zeros are counted; the residue is that of the digits before them, or
    // behind the last one that is counted of all but those.
    let number = |residue: u64, zeros: u64| (FIRST + residue * row + zeros) as u32;
    let times = |residue: u64, n: u64| -> u64 {
        let all = u128::from(residue) * u128::from(n) % u128::from(modulus);
        all as u64
    };
    let mut tens = vec![1 % modulus];
    for at in 0..=most {
        tens.push(times(tens[at], 10));
    }
    let mut next = vec![[DEAD; 16]; count as usize];
    let mut accept = vec![false; count as usize];
    let has_point = !matches!(fraction, Fraction::None(IntegerSpelling::Plain));
    for start in [0, sign] {
        next[start][0] = zero as u32;
        for (digit, slot) in (0..10).zip(&mut next[start]).skip(1) {
            *slot = number(digit % modulus, 0);
        }
    }
    next[0][10] = sign as u32;
    next[point][0] = zeros as u32;
    next[zeros][0] = zeros as u32;
    (accept[zero], accept[zeros]) = (true, true);
    if has_point {
        next[zero][12] = point as u32;
    }
    for residue in 0..modulus {
        for trailing in 0..row {
            let here = number(residue, trailing) as usize;
            let is_full = trailing == most as u64;
            next[here][0] = match is_full {
                true => number(times(residue, 10), trailing),
                false => number(residue, trailing + 1),
            };
            let before = times(residue, tens[trailing as usize + 1]);
            for digit in 1..10u64 {
                next[here][digit as usize] = number((before + digit) % modulus, 0);
            }
            if is_full && residue == 0 {
                accept[here] = true;
                if has_point {
                    next[here][12] = point as u32;
                }
            }
        }
    }
    Ok(NumberDfa::trimmed(next, accept))
}

/// The part of a number that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MultipleRead {
    Start,
    Sign,
    Zero,
    Whole(u64),
    /// So many places behind the point, fewer than matter.
    Place(u64, u64),
    /// All places that matter, and zeros: whether the divisors are content, and
    /// whether there is a digit behind the point.
    Zeros(bool, bool),
    /// A number that is no multiple of anything.
    Other,
}

/// Some divisors, times a power of ten that makes all of them whole.
#[derive(Debug)]
struct Residues {
    /// The number of places behind the point that matter.
    scale: usize,
    /// A common multiple of all divisors.
    modulus: u64,
    /// The number that a number must be a multiple of: the least one of all wanted divisors.
    wanted: Option<u64>,
    /// The numbers that it must not be a multiple of.
    unwanted: Vec<u64>,
}

impl Residues {
    /// The divisors in as few groups as have moduli that are not too large; `None`
    /// where they contradict each other.
    fn of(divisors: &[(Decimal, bool)]) -> Result<Option<Vec<Residues>>, TooBig> {
        // Wanted divisors come first: some of the others say nothing then.
        let mut sorted: Vec<&(Decimal, bool)> = divisors.iter().collect();
        sorted.sort_by_key(|(_, is_wanted)| !is_wanted);
        let mut groups: Vec<Vec<&(Decimal, bool)>> = Vec::new();
        let mut all: Vec<Residues> = Vec::new();
        for divisor in sorted {
            let mut joined = groups.last().cloned().unwrap_or_default();
            joined.push(divisor);
            match (Residues::joined(&joined), groups.last_mut()) {
                (Joined::Never, _) => return Ok(None),
                (Joined::Residues(residues), Some(last)) => {
                    *last = joined;
                    all.pop();
                    all.push(residues);
                }
                (Joined::TooBig, None) => return Err(TooBig),
                (_, _) => {
                    match Residues::joined(&[divisor]) {
                        Joined::Never => return Ok(None),
                        Joined::TooBig => return Err(TooBig),
                        Joined::Residues(residues) => all.push(residues),
                    }
                    groups.push(vec![divisor]);
                }
            }
        }
        Ok(Some(all))
    }

    fn joined(divisors: &[&(Decimal, bool)]) -> Joined {
        let scale = divisors
            .iter()
            .map(|(d, _)| places::scale(d))
            .max()
            .unwrap_or(0);
        let mut wanted: Option<u64> = None;
        let mut unwanted: Vec<u64> = Vec::new();
        for (divisor, is_wanted) in divisors {
            let whole = places::scaled(divisor, scale).map(u64::try_from);
            let Some(Ok(whole @ 1..)) = whole else {
                return Joined::TooBig;
            };
            // A number that has to be a multiple of both is one of their least common
            // multiple.
            let Some(both) = common_multiple(wanted.unwrap_or(1), whole) else {
                return Joined::TooBig;
            };
            match is_wanted {
                true => wanted = Some(both),
                false => unwanted.push(whole),
            }
        }
        let base = wanted.unwrap_or(1);
        let mut bars: Vec<u64> = Vec::new();
        for whole in unwanted {
            match common_multiple(base, whole) {
                Some(both) if wanted == Some(both) => return Joined::Never,
                Some(both) => bars.push(both),
                None => return Joined::TooBig,
            }
        }
        bars.sort_unstable();
        let mut unwanted: Vec<u64> = Vec::new();
        let mut modulus = base;
        for bar in bars {
            // No multiple of a divisor of it is no multiple of it either.
            if unwanted.iter().any(|less| bar % less == 0) {
                continue;
            }
            match common_multiple(modulus, bar) {
                Some(both) => modulus = both,
                None => return Joined::TooBig,
            }
            unwanted.push(bar);
        }
        let residues = Residues {
            scale,
            modulus,
            wanted,
            unwanted,
        };
        match residues.count() {
            Some(_) => Joined::Residues(residues),
            None => Joined::TooBig,
        }
    }

    /// Returns the number of states.
    fn count(&self) -> Option<u32> {
        let places = self.modulus.checked_mul(self.scale as u64 + 1)?;
        u32::try_from(places.checked_add(FIRST_RESIDUE)?).ok()
    }

    fn number(&self, at: MultipleRead) -> u32 {
        let number = match at {
            MultipleRead::Start => 0,
            MultipleRead::Sign => 1,
            MultipleRead::Zero => 2,
            MultipleRead::Other => 3,
            MultipleRead::Zeros(content, some) => 4 + u64::from(content) + 2 * u64::from(some),
            MultipleRead::Whole(residue) => FIRST_RESIDUE + residue,
            MultipleRead::Place(place, residue) => {
                FIRST_RESIDUE + (place + 1) * self.modulus + residue
            }
        };
        // All states have a number: `count` says so.
        number as u32
    }

    fn state(&self, number: u32) -> MultipleRead {
        match number {
            0 => MultipleRead::Start,
            1 => MultipleRead::Sign,
            2 => MultipleRead::Zero,
            3 => MultipleRead::Other,
            4..8 => MultipleRead::Zeros(number & 1 != 0, number & 2 != 0),
            _ => {
                let residue = u64::from(number) - FIRST_RESIDUE;
                match residue / self.modulus {
                    0 => MultipleRead::Whole(residue),
                    place => MultipleRead::Place(place - 1, residue % self.modulus),
                }
            }
        }
    }

    /// Tells whether the divisors are content with a number of so many places.
    fn is_content(&self, places: usize, residue: u64) -> bool {
        let filled = (places..self.scale).fold(residue, |r, _| r * 10 % self.modulus);
        self.wanted.is_none_or(|wanted| filled % wanted == 0)
            && self.unwanted.iter().all(|bar| filled % bar != 0)
    }

    fn accepts(&self, at: MultipleRead) -> bool {
        match at {
            MultipleRead::Start | MultipleRead::Sign => false,
            MultipleRead::Zero => self.is_content(self.scale, 0),
            MultipleRead::Whole(residue) => self.is_content(0, residue),
            MultipleRead::Place(place, residue) => {
                place > 0 && self.is_content(place as usize, residue)
            }
            MultipleRead::Zeros(content, some) => content && some,
            MultipleRead::Other => self.wanted.is_none(),
        }
    }

    /// After so many places behind the point.
    fn place(&self, places: u64, residue: u64) -> Option<MultipleRead> {
        if places < self.scale as u64 {
            return Some(MultipleRead::Place(places, residue));
        }
        let content = self.is_content(self.scale, residue);
        // Digits that are not zero may still follow if nothing is wanted.
        (content || self.wanted.is_none()).then_some(MultipleRead::Zeros(content, places > 0))
    }

    /// Returns the target of each symbol of [`NumberDfa`].
    fn row(&self, at: MultipleRead) -> [Option<MultipleRead>; 16] {
        let other = self.wanted.is_none().then_some(MultipleRead::Other);
        let mut row = [other; 16];
        let whole = |row: &mut [Option<MultipleRead>; 16], from: u64, least: usize| {
            for (digit, slot) in row[..10].iter_mut().enumerate().skip(least) {
                *slot = Some(MultipleRead::Whole((from + digit as u64) % self.modulus));
            }
        };
        match at {
            MultipleRead::Start | MultipleRead::Sign => {
                whole(&mut row, 0, 1);
                row[0] = Some(MultipleRead::Zero);
                if at == MultipleRead::Start {
                    row[10] = Some(MultipleRead::Sign);
                }
            }
            MultipleRead::Zero => row[12] = self.place(0, 0),
            MultipleRead::Whole(residue) => {
                whole(&mut row, residue * 10, 0);
                row[12] = self.place(0, residue);
            }
            MultipleRead::Place(place, residue) => {
                for (digit, slot) in (0..).zip(&mut row[..10]) {
                    *slot = self.place(place + 1, (residue * 10 + digit) % self.modulus);
                }
            }
            MultipleRead::Zeros(content, _) => row[0] = Some(MultipleRead::Zeros(content, true)),
            MultipleRead::Other => {}
        }
        row
    }

    /// The numbers of an automaton with which the divisors are content.
    fn meet(&self, numbers: &NumberDfa, limit: Limit<'_>) -> Result<NumberDfa, TooBig> {
        // From a state that all digits lead back to, each residue is reached.
        if self.modulus > limit.states as u64 && has_free_digits(numbers) {
            return Err(TooBig);
        }
        let count = self.count().ok_or(TooBig)?;
        let (from, accept) = numbers.tables();
        if from.is_empty() {
            return Ok(NumberDfa::of_rows(Vec::new(), Vec::new()));
        }
        let mut pairs = Pairs::with_places(from.len(), count as usize, MANY);
        pairs.number((0, self.number(MultipleRead::Start)));
        let mut next: Vec<[u32; 16]> = Vec::new();
        let mut accepts = Vec::new();
        while next.len() < pairs.len() {
            let (a, b) = pairs.get(next.len());
            let at = self.state(b);
            accepts.push(accept[a as usize] && self.accepts(at));
            let mut row = [DEAD; 16];
            let to_a = from[a as usize];
            for ((slot, a), b) in row.iter_mut().zip(to_a).zip(self.row(at)) {
                if let (true, Some(b)) = (a != DEAD, b) {
                    *slot = pairs.number((a, self.number(b)));
                }
            }
            next.push(row);
            limit.charge(16)?;
            if pairs.len() > limit.states {
                return Err(TooBig);
            }
        }
        Ok(NumberDfa::trimmed(next, accepts))
    }
}

/// The demand of some divisors together.
enum Joined {
    Residues(Residues),
    /// No number contents them.
    Never,
    TooBig,
}

/// The number of the first state with a residue: eight come before, because the start, the sign,
/// zero, any other number and the four kinds of zeros behind a point have none.
const FIRST_RESIDUE: u64 = 8;

/// The most possible pairs for which each has a place: many, because most residues are met.
const MANY: usize = 1 << 21;

/// Tells whether some state is reached by digits that every digit leads back to.
fn has_free_digits(numbers: &NumberDfa) -> bool {
    let (next, _) = numbers.tables();
    let mut met = vec![false; next.len()];
    let mut todo: Vec<u32> = next.first().map(|_| 0).into_iter().collect();
    while let Some(state) = todo.pop() {
        if std::mem::replace(&mut met[state as usize], true) {
            continue;
        }
        let digits = &next[state as usize][..10];
        if digits.iter().all(|to| *to == state) {
            return true;
        }
        todo.extend(digits.iter().filter(|to| **to != DEAD));
    }
    false
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.checked_mul(b / x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::numbers::expressions::{Bound, Fraction};
    use crate::language::numbers::ranges;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    /// Whether a number of at most four places is a multiple, by whole numbers.
    fn is_multiple(number: &str, divisor: &str) -> bool {
        let whole = |text: &str| places::scaled(&decimal(text), 4).unwrap();
        whole(number) % whole(divisor) == 0
    }

    fn runs(dfa: &NumberDfa, text: &str) -> bool {
        let mut state = if dfa.is_empty() { DEAD } else { 0 };
        for byte in text.bytes() {
            if state == DEAD {
                return false;
            }
            state = dfa.step(state, byte);
        }
        state != DEAD && dfa.accepts(state)
    }

    #[test]
    fn numbers_are_those_that_whole_numbers_say() {
        let sets: [&[(&str, bool)]; 12] = [
            &[("3", true)],
            &[("3", false)],
            &[("6", true), ("4", false)],
            &[("6", true), ("3", false)],
            &[("6", true), ("10", true), ("7", false)],
            &[("0.5", true)],
            &[("0.25", true), ("2", false)],
            &[("0.25", false), ("2", false)],
            &[("0.3", true), ("7", true), ("1.5", false)],
            &[("2", false), ("4", false), ("0.01", true)],
            &[("12", false), ("8", false), ("5", false)],
            &[("7", true), ("7", true), ("0.001", false)],
        ];
        let zero = || Bound {
            value: decimal("0"),
            exclusive: false,
        };
        let hundred = || Bound {
            value: decimal("100"),
            exclusive: true,
        };
        let ranges = [(None, None), (Some(zero()), None), (None, Some(hundred()))];
        let texts: Vec<String> = (-260i32..900)
            .flat_map(|n| {
                let whole = n.to_string();
                let parts = ["", ".0", ".5", ".25", ".30", ".75", ".001", ".0500", ".100"];
                parts.map(|part| format!("{whole}{part}"))
            })
            .collect();
        for (low, high) in ranges {
            for divisors in sets {
                let low = low.as_ref();
                let range = || match (low, &high) {
                    (None, None) => ranges::range(
                        Some(&Bound {
                            value: decimal("-1000000"),
                            exclusive: false,
                        }),
                        None,
                        Fraction::Any,
                        10_000.into(),
                    ),
                    _ => ranges::range(low, high.as_ref(), Fraction::Any, 10_000.into()),
                };
                let list: Vec<(Decimal, bool)> = divisors
                    .iter()
                    .map(|(d, want)| (decimal(d), *want))
                    .collect();
                let all = range().unwrap();
                let made = among(range().unwrap(), &list, Fraction::Any, 40_000.into()).unwrap();
                for text in &texts {
                    let content = |(d, want): &(&str, bool)| is_multiple(text, d) == *want;
                    let expected = runs(&all, text) && divisors.iter().all(content);
                    assert_eq!(runs(&made, text), expected, "{text} {divisors:?}");
                }
            }
        }
    }

    /// Divisors that end with many zeros, beside others, against long division.
    #[test]
    fn zeros_are_counted() {
        let sets: [&[(&str, bool)]; 6] = [
            &[("1e30", true)],
            &[("1e30", false)],
            &[("7e5", true)],
            &[("12e4", true), ("9", true)],
            &[("1e4", true), ("3e5", false)],
            &[("10000", false), ("0.5", true)],
        ];
        let heads = [
            "0", "1", "2", "7", "12", "36", "70", "105", "210", "999", "840",
        ];
        let tails = ["", "0", "5", "000", "0000", "00000", "000000", "00100000"];
        let many = [
            "0".repeat(29),
            "0".repeat(30),
            "0".repeat(31),
            format!("{}1", "0".repeat(30)),
        ];
        let mut texts = vec!["0".to_owned(), "-0".to_owned()];
        for head in &heads[1..] {
            for tail in tails.iter().copied().chain(many.iter().map(String::as_str)) {
                for (sign, part) in [
                    ("", ""),
                    ("-", ".0"),
                    ("", ".000"),
                    ("-", ".5"),
                    ("", ".50"),
                ] {
                    texts.push(format!("{sign}{head}{tail}{part}"));
                }
            }
        }
        let low = Bound {
            value: decimal("-1e40"),
            exclusive: false,
        };
        for divisors in sets {
            let list: Vec<(Decimal, bool)> = divisors
                .iter()
                .map(|(d, want)| (decimal(d), *want))
                .collect();
            let all = ranges::range(Some(&low), None, Fraction::Any, 10_000.into()).unwrap();
            let range = ranges::range(Some(&low), None, Fraction::Any, 10_000.into()).unwrap();
            let made = among(range, &list, Fraction::Any, 40_000.into()).unwrap();
            for text in &texts {
                let n = decimal(text);
                let content = |(d, want): &(Decimal, bool)| n.is_multiple_of(d) == Some(*want);
                let expected = runs(&all, text) && list.iter().all(content);
                assert_eq!(runs(&made, text), expected, "{text} {divisors:?}");
            }
        }
    }

    #[test]
    fn large_moduli_are_refused_unless_the_range_is_small() {
        let divisors = [(decimal("1000003"), true), (decimal("99991"), false)];
        let bound = |text: &str| Bound {
            value: decimal(text),
            exclusive: false,
        };
        let (low, high) = (bound("0"), bound("2000006"));
        let open = ranges::range(Some(&low), None, Fraction::Any, 10_000.into()).unwrap();
        assert!(among(open, &divisors, Fraction::Any, 40_000.into()).is_err());
        let high = ranges::range(Some(&high), Some(&high), Fraction::Any, 10_000.into()).unwrap();
        let made = among(high, &divisors, Fraction::Any, 40_000.into()).unwrap();
        assert!(runs(&made, "2000006") && !runs(&made, "2000003"));
        let zero = [(decimal("0"), true)];
        assert!(among(made, &zero, Fraction::Any, 40_000.into()).is_err());
    }
}
