//! Lays one value out in its field.
//!
//! For example, 1234 in a field of nine places with separators is `    1,234`.

use super::spec::{FormatError, Spec, wrong};
use crate::number::{float_repr, with_exponent};

impl Spec {
    /// Some letters go without separators.
    fn check_grouping(&self) -> Result<(), FormatError> {
        let refused = match (self.grouping, self.kind) {
            (Some(','), Some(kind)) => "xXobcn".contains(kind),
            (Some(_), Some(kind)) => "cn".contains(kind),
            _ => false,
        };
        match (refused, self.grouping, self.kind) {
            (true, Some(grouping), Some(kind)) => {
                Err(wrong(format!("Cannot specify '{grouping}' with '{kind}'.")))
            }
            _ => Ok(()),
        }
    }

    fn unknown(&self, type_name: &str) -> FormatError {
        wrong(format!(
            "Unknown format code '{}' for object of type '{type_name}'",
            self.kind.unwrap_or(' '),
        ))
    }

    /// `format(text, spec)`.
    ///
    /// # Errors
    ///
    /// The specification is not one of texts.
    ///
    /// ```
    /// use python_compat::format::Spec;
    ///
    /// assert_eq!(Spec::parse("_>6.3")?.text("Oslo")?, "___Osl");
    /// # Ok::<(), python_compat::format::FormatError>(())
    /// ```
    pub fn text(&self, text: &str) -> Result<String, FormatError> {
        if let Some(grouping) = self.grouping {
            return Err(wrong(format!("Cannot specify '{grouping}' with 's'.")));
        }
        match self.kind {
            None | Some('s') if self.align != Some('=') => Ok(field_of_text(text, self)),
            None | Some('s') => Err(wrong(
                "'=' alignment not allowed in string format specifier",
            )),
            _ => Err(self.unknown("str")),
        }
    }

    /// `format(integer, spec)`; `type_name` is `int` or `bool`.
    ///
    /// # Errors
    ///
    /// The specification is not one of integers.
    pub fn integer(&self, number: i128, type_name: &str) -> Result<String, FormatError> {
        let kind = self.kind.unwrap_or('d');
        let of_floats = "eEfFgG%".contains(kind);
        if self.precision.is_some() && !of_floats {
            return Err(wrong("Precision not allowed in integer format specifier"));
        }
        if kind == 'c' && (self.sign.is_some() || self.alternate) {
            return Err(wrong("Sign not allowed with integer format specifier 'c'"));
        }
        self.check_grouping()?;
        match self.kind {
            None | Some('d' | 'n') => Ok(field_of_integer(number, 'd', self)),
            Some(kind @ ('x' | 'X' | 'o' | 'b')) => Ok(field_of_integer(number, kind, self)),
            Some('c') => Ok(padded("", &character(number)?, self, '>')),
            Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => {
                Ok(field_of_float(number as f64, self.kind, self))
            }
            _ => Err(self.unknown(type_name)),
        }
    }

    /// `format(float, spec)`.
    ///
    /// # Errors
    ///
    /// The specification is not one of floats.
    ///
    /// ```
    /// use python_compat::format::Spec;
    ///
    /// assert_eq!(Spec::parse(".1%")?.float(0.5)?, "50.0%");
    /// assert_eq!(Spec::parse("e")?.float(1500.0)?, "1.500000e+03");
    /// # Ok::<(), python_compat::format::FormatError>(())
    /// ```
    pub fn float(&self, number: f64) -> Result<String, FormatError> {
        self.check_grouping()?;
        match self.kind {
            None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%') => {
                Ok(field_of_float(number, self.kind, self))
            }
            _ => Err(self.unknown("float")),
        }
    }
}

pub(super) fn character(code: i128) -> Result<String, FormatError> {
    let c = u32::try_from(code).ok().and_then(char::from_u32);
    let c = c.ok_or_else(|| wrong("%c arg not in range(0x110000)"))?;
    Ok(c.to_string())
}

pub(super) fn field_of_text(text: &str, layout: &Spec) -> String {
    let text: String = match layout.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    };
    padded("", &text, layout, '<')
}

/// Pads what has a sign and a body.
fn padded(sign: &str, body: &str, layout: &Spec, default: char) -> String {
    let missing = layout
        .width
        .saturating_sub(sign.chars().count() + body.chars().count());
    let fill = layout.fill.unwrap_or(' ');
    let run = |count: usize| -> String { std::iter::repeat_n(fill, count).collect() };
    let default = match layout.zeros && default == '>' {
        true => '=',
        false => default,
    };
    match layout.align.unwrap_or(default) {
        '<' => format!("{sign}{body}{}", run(missing)),
        '^' => format!(
            "{}{sign}{body}{}",
            run(missing / 2),
            run(missing - missing / 2)
        ),
        '=' => format!("{sign}{}{body}", run(missing)),
        _ => format!("{}{sign}{body}", run(missing)),
    }
}

fn sign_of(negative: bool, layout: &Spec) -> &'static str {
    match (negative, layout.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

/// Digits with separators between groups, at least `least` characters of both: zeros before
/// them are grouped, too.
fn grouped(digits: &str, grouping: Option<char>, size: usize, least: usize) -> String {
    let Some(grouping) = grouping else {
        return digits.to_owned();
    };
    let mut count = digits.len();
    while count + (count - 1) / size < least {
        count += 1;
    }
    let zeros = std::iter::repeat_n('0', count - digits.len());
    let mut out = String::new();
    for (at, c) in zeros.chain(digits.chars()).enumerate() {
        if at > 0 && (count - at).is_multiple_of(size) {
            out.push(grouping);
        }
        out.push(c);
    }
    out
}

/// Returns the number of characters that zeros fill behind a sign, where they do.
fn filled(layout: &Spec, beside: usize) -> usize {
    let zeros = layout.fill == Some('0') && (layout.zeros || layout.align == Some('='));
    match zeros {
        true => layout.width.saturating_sub(beside),
        false => 0,
    }
}

pub(super) fn field_of_integer(number: i128, kind: char, layout: &Spec) -> String {
    let size = number.unsigned_abs();
    let (prefix, digits, group) = match kind {
        'x' => ("0x", format!("{size:x}"), 4),
        'X' => ("0X", format!("{size:X}"), 4),
        'o' => ("0o", format!("{size:o}"), 4),
        'b' => ("0b", format!("{size:b}"), 4),
        _ => ("", size.to_string(), 3),
    };
    let digits = match layout.precision {
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    let mut sign = sign_of(number < 0, layout).to_owned();
    if layout.alternate {
        sign.push_str(prefix);
    }
    let least = filled(layout, sign.len());
    let digits = grouped(&digits, layout.grouping, group, least);
    padded(&sign, &digits, layout, '>')
}

pub(super) fn field_of_float(number: f64, kind: Option<char>, layout: &Spec) -> String {
    let sign = sign_of(number.is_sign_negative() && !number.is_nan(), layout);
    let size = number.abs();
    let precision = layout.precision.unwrap_or(6);
    let mut body = match kind {
        _ if !number.is_finite() => float_repr(size),
        Some('f' | 'F') => format!("{size:.precision$}"),
        Some('%') => format!("{:.precision$}", size * 100.0),
        Some('e' | 'E') => exponential(size, precision),
        Some('g' | 'G' | 'n') => general(size, precision, precision.max(1), layout.alternate),
        _ => match layout.precision {
            None => float_repr(size),
            Some(precision) => {
                // Like `g`, but a number without a fraction keeps one.
                let longest = precision.saturating_sub(1);
                let text = general(size, precision, longest, layout.alternate);
                match text.contains(['.', 'e']) {
                    true => text,
                    false => format!("{text}.0"),
                }
            }
        },
    };
    let end = body.find(|c: char| !c.is_ascii_digit());
    let end = end.unwrap_or(body.len());
    if layout.alternate && number.is_finite() && !body[end..].starts_with('.') {
        body.insert(end, '.');
    }
    if kind == Some('%') {
        body.push('%');
    }
    if end > 0 {
        let (digits, rest) = body.split_at(end);
        let least = filled(layout, sign.len() + rest.len());
        body = grouped(digits, layout.grouping, 3, least) + rest;
    }
    if matches!(kind, Some('E' | 'G' | 'F')) {
        body.make_ascii_uppercase();
    }
    padded(sign, &body, layout, '>')
}

fn exponential(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    with_exponent(digits, exponent.parse().unwrap_or(0))
}

/// With so many digits that count, and with an exponent where that is `longest` or more.
fn general(size: f64, precision: usize, longest: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    let scientific = format!("{size:.*e}", precision - 1);
    let exponent = scientific.split_once('e').map_or("0", |(_, e)| e);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let text = if exponent < -4 || exponent >= longest as i32 {
        exponential(size, precision - 1)
    } else {
        let decimals = (precision as i32 - 1 - exponent).max(0);
        format!("{size:.*}", decimals as usize)
    };
    if keep_zeros || !text.contains('.') {
        return text;
    }
    let (digits, exponent) = match text.split_once('e') {
        Some((digits, exponent)) => (digits, format!("e{exponent}")),
        None => (text.as_str(), String::new()),
    };
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{exponent}")
}
