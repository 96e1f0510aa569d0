//! Numbers: how `repr` prints a float, and what `int(text)` and `float(text)` read. For example,
//! `repr(1e16)` is `1e+16`, and `int(" +1_000 ")` is 1000.

use crate::text::digit_value;

/// The shortest text that reads back as the same float, laid out as `repr` does: exponents
/// from 1e16 and below 1e-4; `inf`, `nan`.
///
/// ```
/// use python_compat::number::float_repr;
///
/// assert_eq!(float_repr(1e16), "1e+16");
/// assert_eq!(float_repr(3.0), "3.0");
/// assert_eq!(float_repr(f64::INFINITY), "inf");
/// ```
#[must_use]
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // As few digits as Rust prints; of two such texts Python takes the one that is nearer,
    // and of two that are equally near the even one, which is what rounding to so many
    // digits gives.
    let mut scientific = format!("{value:e}");
    let digits = scientific.bytes().take_while(|b| *b != b'e');
    let count = digits.filter(u8::is_ascii_digit).count();
    let rounded = format!("{value:.*e}", count.saturating_sub(1));
    let reads_back = rounded.parse() == Ok(value);
    if reads_back {
        scientific = rounded;
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        return with_exponent(digits, exponent);
    }
    let behind = usize::try_from(count as i64 - 1 - i64::from(exponent)).unwrap_or(0);
    match reads_back {
        true => format!("{value:.*}", behind.max(1)),
        false => format!("{value:?}"),
    }
}

/// The same as JSON has it: `Infinity`, `NaN`.
#[must_use]
pub fn float_json(value: f64) -> String {
    match value.is_finite() {
        true => float_repr(value),
        false if value.is_nan() => "NaN".to_owned(),
        false => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
    }
}

/// `1.5e-07`, with two digits of the exponent or more.
pub(crate) fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Splits a sign off.
fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// `int(text, base)`: whether it is negative, and its digits, in lower case for bases beyond
/// ten. None if it is no such number. Linear.
///
/// A base of 0 reads the prefixes of literals. White space around is Unicode's; the
/// information separators U+001C to U+001F, which `str.strip` takes for white space too, are
/// none here. Digits may be of any script, with single underscores between them.
///
/// ```
/// use python_compat::number::integer;
///
/// let read = |text, base| integer(text, base).and_then(|n| n.to_i128());
/// assert_eq!(read(" -1_000 ", 10), Some(-1000));
/// assert_eq!(read("0xff", 16), Some(255));
/// assert_eq!(read("1.0", 10), None);
/// ```
#[must_use]
pub fn integer(text: &str, base: u32) -> Option<Integer> {
    let (negative, mut text) = signed(text.trim());
    let mut base = base;
    let prefix = |base: u32| match base {
        16 => Some(["0x", "0X"]),
        8 => Some(["0o", "0O"]),
        2 => Some(["0b", "0B"]),
        _ => None,
    };
    let mut prefixed = false;
    for candidate in [16, 8, 2] {
        if base != 0 && base != candidate {
            continue;
        }
        let marks = prefix(candidate).unwrap_or_default();
        if let Some(rest) = marks.iter().find_map(|mark| text.strip_prefix(mark)) {
            (text, base, prefixed) = (rest, candidate, true);
            break;
        }
    }
    if prefixed {
        // One underscore may stand behind a prefix.
        text = text.strip_prefix('_').unwrap_or(text);
    }
    let literal = base == 0;
    if literal {
        base = 10;
    }
    if !(2..=36).contains(&base) {
        return None;
    }
    let mut rest = text.chars();
    let mut digits = String::with_capacity(text.len());
    take_digits(&mut rest, base, &mut digits);
    let whole = !digits.is_empty() && rest.as_str().is_empty();
    // As in source text, a number does not begin with a zero.
    let odd = literal && digits.starts_with('0') && digits.bytes().any(|b| b != b'0');
    (whole && !odd).then_some(Integer {
        negative,
        digits,
        base,
    })
}

/// An integer as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integer {
    /// True if it has a minus sign.
    pub negative: bool,
    /// Its digits in ASCII, at least one.
    pub digits: String,
    /// The base of the digits: 2 to 36.
    pub base: u32,
}

impl Integer {
    /// The number, if it has at most 127 bits.
    #[must_use]
    pub fn to_i128(&self) -> Option<i128> {
        let number = i128::from_str_radix(&self.digits, self.base).ok()?;
        Some(if self.negative { -number } else { number })
    }
}

/// Appends the run of digits at the front, with single underscores between them.
fn take_digits(rest: &mut std::str::Chars<'_>, base: u32, out: &mut String) {
    let mut ahead = rest.clone();
    let mut after_digit = false;
    while let Some(c) = ahead.next() {
        let digit = digit_value(c).or_else(|| c.to_digit(base));
        let digit = digit.filter(|digit| *digit < base);
        if let Some(digit) = digit.and_then(|value| char::from_digit(value, base)) {
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

/// `float(text)`. Linear.
///
/// ```
/// use python_compat::number::float;
///
/// assert_eq!(float(" 1_0.5e2 "), Some(1050.0));
/// assert_eq!(float("-inf"), Some(f64::NEG_INFINITY));
/// assert_eq!(float("0x1"), None);
/// ```
#[must_use]
pub fn float(text: &str) -> Option<f64> {
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
    take_digits(&mut rest, 10, &mut number);
    let mut mantissa = number.len();
    if let Some(after) = rest.as_str().strip_prefix('.') {
        number.push('.');
        rest = after.chars();
        take_digits(&mut rest, 10, &mut number);
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
        take_digits(&mut rest, 10, &mut number);
        if number.len() == before {
            return None;
        }
    }
    if !rest.as_str().is_empty() {
        return None;
    }
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (1.0, "1.0"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-5, "1.5e-05"),
            (-0.0, "-0.0"),
            (1e-7, "1e-07"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (1e300, "1e+300"),
            // Exactly between two texts of sixteen digits.
            (884_845_970_446_651.0 + 0.25, "884845970446651.2"),
            (2_216_718_699_030_504.0 + 0.25, "2216718699030504.2"),
            (0.1 + 0.2, "0.30000000000000004"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }

    #[test]
    fn integers_read_as_python_reads_them() {
        for (text, base, expected) in [
            ("5", 10, Some(5)),
            (" +1_000\u{2003}", 10, Some(1000)),
            ("-0", 10, Some(0)),
            ("\u{661}\u{662}", 10, Some(12)),
            ("0x1F", 16, Some(31)),
            ("1f", 16, Some(31)),
            ("0x_f", 0, Some(15)),
            ("-0b11", 0, Some(-3)),
            ("00", 0, Some(0)),
            ("010", 0, None),
            ("0o17", 8, Some(15)),
            ("0b1", 16, Some(0xb1)),
            ("zz", 36, Some(35 * 37)),
            ("2", 2, None),
            ("5", 1, None),
            ("", 10, None),
            ("_1", 10, None),
            ("1_", 10, None),
            ("1__0", 10, None),
            ("1.0", 10, None),
            ("+ 5", 10, None),
            ("0x10", 10, None),
            ("0x", 16, None),
            ("\u{200b}1", 10, None),
            ("²", 10, None),
            ("--1", 10, None),
        ] {
            let read = integer(text, base).and_then(|n| n.to_i128());
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn floats_read_as_python_reads_them() {
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
}
