//! Decimal numbers of any length, compared exactly.
//!
//! For example, `1.50` and `15e-1` are equal, and `1e400` is above every `f64`.

use std::cmp::Ordering;

/// The longest integer or fraction part, in digits, because a longer one takes memory that a short
/// exponent asks for: every finite `f64` fits.
const MAX_DIGITS: i64 = 1_100;

/// A decimal number: `0.d1 d2 ... dn * 10^exponent`, `d1` and `dn` not zero;
/// zero has no digits, and is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// The sign of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

impl Decimal {
    /// Reads a number as JSON spells it. `None` where it is not one, or its
    /// plain spelling would have more than about a thousand digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exp) = match rest.find(['e', 'E']) {
            Some(i) => (
                &rest[..i],
                rest[i + 1..].trim_start_matches('+').parse::<i64>().ok()?,
            ),
            None => (rest, 0),
        };
        let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if int.is_empty() && frac.is_empty() {
            return None;
        }
        let mut digits = Vec::with_capacity(int.len() + frac.len());
        for b in int.bytes().chain(frac.bytes()) {
            if !b.is_ascii_digit() {
                return None;
            }
            digits.push(b - b'0');
        }
        let mut exponent = (int.len() as i64).checked_add(exp)?;
        let leading = digits.iter().take_while(|&&d| d == 0).count();
        digits.drain(..leading);
        exponent = exponent.checked_sub(leading as i64)?;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Decimal::default());
        }
        let length = digits.len() as i64;
        if exponent > MAX_DIGITS || length.checked_sub(exponent)? > MAX_DIGITS {
            return None;
        }
        Some(Decimal {
            negative,
            digits,
            exponent,
        })
    }

    /// Returns the number with the digits that the value kept, `None` where its exponent is out of bounds.
    pub fn from_number(number: &serde_json::Number) -> Option<Self> {
        Decimal::parse(&number.to_string())
    }

    /// Returns the absolute value: the digits from the first that is no zero to the last, behind the
    /// point, and the power of ten that they are multiplied with.
    pub(crate) fn magnitude(&self) -> (&[u8], i64) {
        (&self.digits, self.exponent)
    }

    /// The number with this [`magnitude`](Self::magnitude) and a sign.
    pub(crate) fn of_magnitude(sign: Sign, digits: &[u8], exponent: i64) -> Self {
        Decimal {
            negative: sign == Sign::Minus && !digits.is_empty(),
            digits: digits.to_vec(),
            exponent,
        }
    }

    /// Tells whether the number is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Tells whether the number is below 0.
    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Tells whether the number has no fraction: `1.0` has none.
    pub fn is_integer(&self) -> bool {
        self.digits.len() as i64 <= self.exponent
    }

    /// The digits before and after the point of the absolute value; the first
    /// is never empty (`0`), the second has no zero at its end.
    pub(crate) fn parts(&self) -> (Vec<u8>, Vec<u8>) {
        let mut int = Vec::new();
        let mut frac = Vec::new();
        if self.exponent <= 0 {
            int.push(0);
            if !self.is_zero() {
                frac.extend(std::iter::repeat_n(0, (-self.exponent) as usize));
            }
            frac.extend_from_slice(&self.digits);
        } else {
            let n = self.exponent as usize;
            for i in 0..n {
                int.push(self.digits.get(i).copied().unwrap_or(0));
            }
            if self.digits.len() > n {
                frac.extend_from_slice(&self.digits[n..]);
            }
        }
        (int, frac)
    }

    /// The digits as a whole number, without the power of ten, where it fits.
    pub(crate) fn mantissa(&self) -> Option<u64> {
        self.digits
            .iter()
            .try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add(u64::from(*d)))
    }

    /// Tells whether `self` is a whole multiple of `divisor`, which is positive.
    pub fn is_multiple_of(&self, divisor: &Decimal) -> Option<bool> {
        // Neither number has a zero at its end, so that powers of ten are told apart.
        let power = |d: &Decimal| d.exponent - d.digits.len() as i64;
        let modulus = divisor.mantissa().filter(|m| *m > 0)?;
        if self.is_zero() {
            return Some(true);
        }
        let zeros = power(self) - power(divisor);
        if zeros < 0 {
            return Some(false);
        }
        // Long division of the digit string, so that any length works.
        let modulus = u128::from(modulus);
        let mut rest: u128 = 0;
        for &d in &self.digits {
            rest = (rest * 10 + u128::from(d)) % modulus;
        }
        for _ in 0..zeros {
            rest = rest * 10 % modulus;
        }
        Some(rest == 0)
    }

    /// The plain spelling, without exponent.
    pub fn plain(&self) -> String {
        let (int, frac) = self.parts();
        let mut out = String::new();
        if self.negative {
            out.push('-');
        }
        out.extend(int.iter().map(|d| char::from(b'0' + d)));
        if !frac.is_empty() {
            out.push('.');
            out.extend(frac.iter().map(|d| char::from(b'0' + d)));
        }
        out
    }

    fn cmp_abs(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        self.exponent
            .cmp(&other.exponent)
            .then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
        }
    }
}

/// Returns a number, or the largest of 32 bits if it is beyond.
pub fn clamped(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::decimal::Decimal;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn compares_by_value() {
        let order = [
            "-1e3", "-10.5", "-10.25", "-1", "0", "0.001", "0.01", "1", "1.5", "9", "10", "1e20",
        ];
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(d(a).cmp(&d(b)), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(d("1.0"), d("1"));
        assert_eq!(d("-0"), d("0.00"));
        assert_eq!(d("100e-2"), d("1"));
    }

    #[test]
    fn divides_and_prints() {
        assert_eq!(d("7.5").is_multiple_of(&d("2.5")), Some(true));
        assert_eq!(d("7.51").is_multiple_of(&d("0.01")), Some(true));
        assert_eq!(d("7.515").is_multiple_of(&d("0.01")), Some(false));
        assert_eq!(d("1e30").is_multiple_of(&d("7")), Some(false));
        assert_eq!(d("-1.50e1").plain(), "-15");
        assert_eq!(d("15e-3").plain(), "0.015");
        assert!(Decimal::parse("1e999999").is_none());
        assert!(Decimal::parse("").is_none());
    }
}
