//! Python's `int(text)` and `float(text)`, and how it prints numbers.

use std::cmp::Ordering;
use std::fmt;

use crate::pyre::class::digit_value;

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

/// The text without Python's white space around it: Unicode's, and the information
/// separators U+001C to U+001F.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1C}'..='\u{1F}'))
}

/// Splits a sign off.
fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Python's `int(text)`. Linear.
///
/// White space around is Unicode's; the information separators U+001C to U+001F, which
/// Python's `str.strip` takes for white space too, are none here.
pub(crate) fn integer(text: &str) -> Option<Int> {
    let (negative, text) = signed(text.trim());
    let mut rest = text.chars();
    let mut out = String::with_capacity(text.len());
    digits(&mut rest, &mut out);
    (!out.is_empty() && rest.as_str().is_empty()).then(|| Int::from_digits(negative, &out))
}

/// Appends the run of decimal digits at the front, with single underscores between them.
fn digits(rest: &mut std::str::Chars<'_>, out: &mut String) {
    let mut ahead = rest.clone();
    let mut after_digit = false;
    while let Some(c) = ahead.next() {
        if let Some(digit) = digit_value(c).and_then(|value| char::from_digit(value, 10)) {
            out.push(digit);
            after_digit = true;
            *rest = ahead.clone();
        } else if c == '_' && after_digit {
            after_digit = false;
        } else {
            break;
        }
    }
}

/// Python's `float(text)`. Linear.
pub(crate) fn float(text: &str) -> Option<f64> {
    let (negative, text) = signed(text.trim());
    let lower = text.to_ascii_lowercase();
    let magnitude = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => decimal(text)?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn decimal(text: &str) -> Option<f64> {
    let mut rest = text.chars();
    let mut number = String::with_capacity(text.len());
    digits(&mut rest, &mut number);
    let mut mantissa = number.len();
    if let Some(after) = rest.as_str().strip_prefix('.') {
        number.push('.');
        rest = after.chars();
        digits(&mut rest, &mut number);
        mantissa = number.len() - 1;
    }
    if mantissa == 0 {
        return None;
    }
    if let Some(after) = rest.as_str().strip_prefix(['e', 'E']) {
        let (negative, after) = signed(after);
        number.push_str(if negative { "e-" } else { "e" });
        let before = number.len();
        rest = after.chars();
        digits(&mut rest, &mut number);
        if number.len() == before {
            return None;
        }
    }
    if !rest.as_str().is_empty() {
        return None;
    }
    number.parse().ok()
}

/// A double as Python's `repr` and `json.dumps` print it.
pub(crate) fn print_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    // Rust's shortest digits are Python's; the layout differs.
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{number}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

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
    fn floats() {
        for (text, expected) in [
            ("1_0.5_0", 10.5),
            ("5.", 5.0),
            (".5", 0.5),
            ("1e1_0", 1e10),
            ("-iNf", f64::NEG_INFINITY),
        ] {
            assert_eq!(float(text), Some(expected), "{text}");
        }
        for text in ["", ".", "e5", "1e", "1._5", "1_.5", "1e1_", "nan(1)", "1 2"] {
            assert_eq!(float(text), None, "{text}");
        }
        assert!(float(" NaN ").is_some_and(f64::is_nan));
    }

    #[test]
    fn printed_floats() {
        for (number, expected) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(print_float(number), expected);
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
