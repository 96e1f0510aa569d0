//! Integers of any size, and Python's `int(text)` and `float(text)`. For example,
//! `9223372036854775808`, one more than 64 bits hold, keeps its digits.

use std::cmp::Ordering;
use std::fmt;

/// An integer of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Int {
    /// One that fits.
    Small(i64),
    /// One that does not: its decimal digits, signed if negative, without leading zeros.
    Big(Box<str>),
}

impl Int {
    /// From decimal digits, at least one.
    pub(crate) fn from_digits(negative: bool, digits: &str) -> Int {
        let digits = digits.trim_start_matches('0');
        if digits.len() < 19 {
            let magnitude = digits.parse::<i64>().unwrap_or(0);
            return Int::Small(if negative { -magnitude } else { magnitude });
        }
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{digits}");
        text.parse()
            .map_or_else(|_| Int::Big(text.into()), Int::Small)
    }

    pub(crate) fn to_usize(&self) -> Option<usize> {
        match self {
            Int::Small(n) => usize::try_from(*n).ok(),
            Int::Big(_) => None,
        }
    }

    /// The nearest double.
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Int::Small(n) => *n as f64,
            // Digits always parse; too many of them give an infinity.
            Int::Big(digits) => digits.parse().unwrap_or(f64::NAN),
        }
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Int::Small(n) => *n < 0,
            Int::Big(digits) => digits.starts_with('-'),
        }
    }

    pub(crate) fn abs(&self) -> Int {
        match self {
            Int::Small(n) if *n >= 0 => Int::Small(*n),
            other => Int::from_digits(false, other.to_string().trim_start_matches('-')),
        }
    }

    /// The exact sum.
    pub(crate) fn add(&self, other: &Int) -> Int {
        if let (Int::Small(a), Int::Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Int::Small(sum);
        }
        let (a, b) = (self.abs().to_string(), other.abs().to_string());
        if self.is_negative() == other.is_negative() {
            return Int::from_digits(self.is_negative(), &add_digits(&a, &b));
        }
        match compare_digits(&a, &b) {
            Ordering::Equal => Int::Small(0),
            Ordering::Greater => Int::from_digits(self.is_negative(), &subtract_digits(&a, &b)),
            Ordering::Less => Int::from_digits(other.is_negative(), &subtract_digits(&b, &a)),
        }
    }

    /// The integer part of a finite number that has no fraction.
    pub(crate) fn from_whole(number: f64) -> Int {
        let text = format!("{number:.0}");
        Int::from_digits(text.starts_with('-'), text.trim_start_matches('-'))
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Int) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Int) -> Ordering {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => a.cmp(b),
            _ => match (self.is_negative(), other.is_negative()) {
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (negative, _) => {
                    let (a, b) = (self.abs().to_string(), other.abs().to_string());
                    let order = compare_digits(&a, &b);
                    if negative { order.reverse() } else { order }
                }
            },
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Small(n) => n.fmt(f),
            Int::Big(digits) => f.write_str(digits),
        }
    }
}

/// Compares two numbers written without leading zeros.
fn compare_digits(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn add_digits(a: &str, b: &str) -> String {
    let (mut a, mut b) = (a.bytes().rev(), b.bytes().rev());
    let mut digits = Vec::new();
    let mut carry = 0;
    loop {
        let (x, y) = (a.next(), b.next());
        if x.is_none() && y.is_none() && carry == 0 {
            break;
        }
        let sum = x.unwrap_or(b'0') - b'0' + (y.unwrap_or(b'0') - b'0') + carry;
        digits.push(char::from(b'0' + sum % 10));
        carry = sum / 10;
    }
    digits.iter().rev().collect()
}

/// `a - b` for `a >= b`.
fn subtract_digits(a: &str, b: &str) -> String {
    let mut b = b.bytes().rev();
    let mut digits = Vec::new();
    let mut borrow = 0;
    for x in a.bytes().rev() {
        let less = b.next().unwrap_or(b'0') - b'0' + borrow;
        let x = x - b'0';
        borrow = u8::from(x < less);
        digits.push(char::from(b'0' + x + 10 * borrow - less));
    }
    digits.iter().rev().collect()
}

/// Python's `str.strip()`.
pub(crate) use python_compat::text::strip as trim;

/// Python's `int(text)`. Linear.
pub(crate) fn integer(text: &str) -> Option<Int> {
    let read = python_compat::number::integer(text, 10)?;
    Some(Int::from_digits(read.negative, &read.digits))
}

/// Python's `float(text)`. Linear.
pub(crate) use python_compat::number::float;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for (text, expected) in [
            ("5", "5"),
            (" +1_000\u{2003}", "1000"),
            ("-0", "0"),
            ("\u{661}\u{662}", "12"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854775808"),
            ("000000000000000000000000000007", "7"),
        ] {
            assert_eq!(
                integer(text).map(|n| n.to_string()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
        for text in [
            "",
            "_1",
            "1_",
            "1__0",
            "1.0",
            "+ 5",
            "0x10",
            "\u{200B}1",
            "²",
            "--1",
        ] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn arithmetic_of_big_integers() {
        let n = |text: &str| integer(text).unwrap_or(Int::Small(0));
        let big = n("99999999999999999999999999");
        assert_eq!(big.add(&n("1")).to_string(), "100000000000000000000000000");
        assert_eq!(big.add(&n("-99999999999999999999999998")), Int::Small(1));
        assert_eq!(
            n("-5").add(&n("-99999999999999999999")).to_string(),
            "-100000000000000000004"
        );
        assert!(n("-99999999999999999999") < n("-5"));
        assert!(n("99999999999999999999") > n("5"));
        assert_eq!(Int::from_whole(1e23).to_string(), "99999999999999991611392");
        assert_eq!(
            n("-9223372036854775808").abs().to_string(),
            "9223372036854775808"
        );
    }
}
