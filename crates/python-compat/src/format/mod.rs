//! The two ways of formatting: `format(value, spec)` with the fields of `str.format`, and `%`.
//!
//! This module cuts texts into fields and lays values out; its callers find the values.
//!
//! For example, -7 by the spec `*^6` is `**-7**`.

use crate::number::{float_repr, with_exponent};

/// The layout of one value.
///
/// ```
/// use python_compat::format::Spec;
///
/// let spec = Spec::parse("*^+9,d")?;
/// assert_eq!(spec.integer(1234, "int")?, "*+1,234**");
/// assert!(Spec::parse("q8!").is_err());
/// # Ok::<(), python_compat::format::FormatError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    /// Numbers are padded behind their sign, because the width begins with a zero.
    zeros: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    /// The letter at the end, if there is one.
    kind: Option<char>,
}

/// Why something cannot be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// The format is malformed or does not suit the value; Python's words.
    Wrong(String),
    /// A field is wider than [`MAX_WIDTH`].
    TooWide,
}

/// The widest field, and the most digits, in code points: no prompt needs more, and Python's own
/// limit would let a short template ask for gigabytes, since it is only that of the memory.
pub const MAX_WIDTH: usize = 10_000;

#[cold]
fn wrong(message: impl Into<String>) -> FormatError {
    FormatError::Wrong(message.into())
}

/// A number at the front.
fn number(rest: &mut &str) -> Result<Option<usize>, FormatError> {
    let length = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(length);
    *rest = after;
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number <= MAX_WIDTH => Ok(Some(number)),
        _ => Err(FormatError::TooWide),
    }
}

impl Spec {
    /// Reads a format specification, `>8.3f`.
    ///
    /// # Errors
    ///
    /// It is none, or too wide.
    pub fn parse(spec: &str) -> Result<Self, FormatError> {
        let mut layout = Spec::default();
        let mut rest = spec;
        let mut characters = rest.chars();
        let (first, second) = (characters.next(), characters.next());
        let is_align = |c: Option<char>| c.is_some_and(|c| "<>=^".contains(c));
        if is_align(second) {
            (layout.fill, layout.align) = (first, second);
            rest = characters.as_str();
        } else if is_align(first) {
            layout.align = first;
            rest = &rest[1..];
        }
        if let Some(sign) = rest.chars().next().filter(|c| "+- ".contains(*c)) {
            layout.sign = Some(sign);
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('#') {
            layout.alternate = true;
            rest = after;
        }
        if rest.starts_with('0') {
            layout.fill = layout.fill.or(Some('0'));
            layout.zeros = layout.align.is_none();
            rest = &rest[1..];
        }
        layout.width = number(&mut rest)?.unwrap_or(0);
        if let Some(grouping) = rest.chars().next().filter(|c| ",_".contains(*c)) {
            layout.grouping = Some(grouping);
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            let precision = number(&mut rest)?;
            layout.precision =
                Some(precision.ok_or_else(|| wrong("Format specifier missing precision"))?);
        }
        let mut kinds = rest.chars();
        layout.kind = kinds.next();
        match kinds.next() {
            Some(_) => Err(wrong("Invalid format specifier")),
            None => Ok(layout),
        }
    }

    /// Returns the bytes that laying a value out costs beside the value: those that fill the field,
    /// and digits that are worked out one by one.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.width * 4 + self.precision.unwrap_or(0) * 16
    }

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

fn character(code: i128) -> Result<String, FormatError> {
    let c = u32::try_from(code).ok().and_then(char::from_u32);
    let c = c.ok_or_else(|| wrong("%c arg not in range(0x110000)"))?;
    Ok(c.to_string())
}

/// A piece of a text that is formatted with `%`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Percent<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A place for a value.
    Field(Directive<'t>),
}

/// A place for a value in a text that is formatted with `%`: `%(name)-5d`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Directive<'t> {
    /// The key of a map, in place of the next value.
    pub name: Option<&'t str>,
    /// The letter at the end.
    pub kind: char,
    /// The layout of the value.
    pub spec: Spec,
}

/// The next piece of a text that is formatted with `%`, which it takes from the front of
/// `rest`; none at the end.
///
/// # Errors
///
/// A directive is malformed or too wide.
///
/// ```
/// use python_compat::format::{Percent, next_percent};
///
/// let mut rest = "%(n)04d%%";
/// let Some(Percent::Field(place)) = next_percent(&mut rest)? else {
///     panic!("a place comes first");
/// };
/// assert_eq!(place.integer(7), "0007");
/// assert_eq!(rest, "%%");
/// # Ok::<(), python_compat::format::FormatError>(())
/// ```
pub fn next_percent<'t>(rest: &mut &'t str) -> Result<Option<Percent<'t>>, FormatError> {
    let text = *rest;
    let Some(mut after) = text.strip_prefix('%') else {
        if text.is_empty() {
            return Ok(None);
        }
        let (plain, after) = text.split_at(text.find('%').unwrap_or(text.len()));
        *rest = after;
        return Ok(Some(Percent::Text(plain)));
    };
    let mut name = None;
    if let Some(inside) = after.strip_prefix('(') {
        let Some((key, behind)) = inside.split_once(')') else {
            return Err(wrong("incomplete format key"));
        };
        name = Some(key);
        after = behind;
    }
    let mut spec = Spec::default();
    let flags = after.find(|c| !"#0- +".contains(c)).unwrap_or(after.len());
    for flag in after[..flags].chars() {
        match flag {
            '#' => spec.alternate = true,
            '0' => spec.fill = Some('0'),
            '-' => spec.align = Some('<'),
            '+' => spec.sign = Some('+'),
            _ => spec.sign = spec.sign.or(Some(' ')),
        }
    }
    after = &after[flags..];
    spec.width = number(&mut after)?.unwrap_or(0);
    if let Some(behind) = after.strip_prefix('.') {
        after = behind;
        spec.precision = Some(number(&mut after)?.unwrap_or(0));
    }
    let mut characters = after.chars();
    let Some(kind) = characters.next() else {
        return Err(wrong("incomplete format"));
    };
    *rest = characters.as_str();
    Ok(Some(match kind {
        '%' => Percent::Text("%"),
        kind => Percent::Field(Directive { name, kind, spec }),
    }))
}

impl Directive<'_> {
    /// Lays out a text, for `%s` and its like.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let spec = Spec {
            align: self.spec.align.or(Some('>')),
            fill: None,
            ..self.spec.clone()
        };
        field_of_text(text, &spec)
    }

    /// Lays out an integer, for `%d`, `%x` and their like.
    #[must_use]
    pub fn integer(&self, number: i128) -> String {
        let kind = match self.kind {
            kind @ ('x' | 'X' | 'o') => kind,
            _ => 'd',
        };
        field_of_integer(number, kind, &self.sized())
    }

    /// Lays out a float, for `%f` and its like.
    #[must_use]
    pub fn float(&self, number: f64) -> String {
        field_of_float(number, Some(self.kind), &self.sized())
    }

    /// Lays out a character, for `%c`.
    #[must_use]
    pub fn character(&self, c: &str) -> String {
        let spec = Spec {
            precision: None,
            ..self.spec.clone()
        };
        Directive { spec, ..*self }.text(c)
    }

    /// Lays out the character of that code point, for `%c`.
    ///
    /// # Errors
    ///
    /// There is no such character.
    pub fn code_point(&self, code: i128) -> Result<String, FormatError> {
        Ok(self.character(&character(code)?))
    }

    /// Numbers padded with zeros are padded behind their sign.
    fn sized(&self) -> Spec {
        let spec = self.spec.clone();
        match (spec.align, spec.fill) {
            (None, Some('0')) => Spec {
                align: Some('='),
                ..spec
            },
            (Some(_), _) => Spec { fill: None, ..spec },
            _ => spec,
        }
    }
}

/// A piece of a text that is formatted with `str.format`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Braces<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A place for a value: `{name!r:spec}`.
    Field {
        /// The name of the value: a number, a name, or nothing for the next one; `.name` and
        /// `[key]` behind it.
        name: &'t str,
        /// The conversion that is done first: `r`, `s` or `a`.
        conversion: Option<&'t str>,
        /// The layout, which may have fields itself.
        spec: &'t str,
    },
}

/// The next piece of a text that is formatted with `str.format`, which it takes from the
/// front of `rest`; none at the end.
///
/// # Errors
///
/// The braces do not match.
pub fn next_braces<'t>(rest: &mut &'t str) -> Result<Option<Braces<'t>>, FormatError> {
    let text = *rest;
    let Some(brace) = text.chars().next() else {
        return Ok(None);
    };
    if !['{', '}'].contains(&brace) {
        let (plain, after) = text.split_at(text.find(['{', '}']).unwrap_or(text.len()));
        *rest = after;
        return Ok(Some(Braces::Text(plain)));
    }
    let inside = &text[1..];
    if let Some(after) = inside.strip_prefix(brace) {
        *rest = after;
        return Ok(Some(Braces::Text(&text[..1])));
    }
    if brace == '}' {
        return Err(wrong("Single '}' encountered in format string"));
    }
    let mut depth = 1;
    let end = inside.find(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    let Some(end) = end else {
        return Err(wrong("expected '}' before end of string"));
    };
    *rest = &inside[end + 1..];
    let (field, spec) = inside[..end]
        .split_once(':')
        .unwrap_or((&inside[..end], ""));
    let (name, conversion) = match field.split_once('!') {
        Some((name, conversion)) => (name, Some(conversion)),
        None => (field, None),
    };
    Ok(Some(Braces::Field {
        name,
        conversion,
        spec,
    }))
}

fn field_of_text(text: &str, layout: &Spec) -> String {
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

fn field_of_integer(number: i128, kind: char, layout: &Spec) -> String {
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

fn field_of_float(number: f64, kind: Option<char>, layout: &Spec) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_lay_out_as_format_does() {
        let spec = |text: &str| Spec::parse(text).unwrap();
        for (text, expected) in [
            ("5", "   -7"),
            ("<5", "-7   "),
            ("*^6", "**-7**"),
            ("05", "-0007"),
            ("+d", "-7"),
            ("#x", "-0x7"),
            (".2f", "-7.00"),
        ] {
            assert_eq!(spec(text).integer(-7, "int").unwrap(), expected, "{text}");
        }
        for (text, expected) in [
            ("", "1234567.891"),
            (",.1f", "1,234,567.9"),
            (".3g", "1.23e+06"),
            ("e", "1.234568e+06"),
            (".1%", "123456789.1%"),
            ("016,.1f", "00,001,234,567.9"),
            (",.0E", "1E+06"),
            (".0g", "1e+06"),
            ("#.0f", "1234568."),
            (".3", "1.23e+06"),
            (".8", "1234567.9"),
        ] {
            assert_eq!(spec(text).float(1234567.891).unwrap(), expected, "{text}");
        }
        assert_eq!(spec(">4.2").text("añb").unwrap(), "  añ");
        assert_eq!(spec("08,").integer(1234, "int").unwrap(), "0,001,234");
        for wrong in [".3d", ",x", "_n", ",c", "+c"] {
            assert!(spec(wrong).integer(1, "int").is_err(), "{wrong}");
        }
        assert_eq!(spec("05").text("a").unwrap(), "a0000");
        assert!(spec(",").text("a").is_err());
        assert_eq!(spec("3c").integer(65, "int").unwrap(), "  A");
        assert_eq!(spec(".0g").float(2.0).unwrap(), "2");
        assert!(spec("d").text("a").is_err());
        assert!(spec("=5").text("a").is_err());
        assert!(spec("s").integer(1, "int").is_err());
        assert!(Spec::parse("5.").is_err());
        assert!(Spec::parse("dd").is_err());
        assert_eq!(Spec::parse("10001"), Err(FormatError::TooWide));
    }

    #[test]
    fn texts_are_cut_at_their_fields() {
        let mut rest = "a%%%(b)-5.2fc";
        let mut pieces = Vec::new();
        while let Some(piece) = next_percent(&mut rest).unwrap() {
            pieces.push(match piece {
                Percent::Text(text) => text.to_owned(),
                Percent::Field(directive) => {
                    format!("{:?} {}", directive.name, directive.float(1.0))
                }
            });
        }
        assert_eq!(pieces, ["a", "%", "Some(\"b\") 1.00 ", "c"]);
        let mut rest = "a{{{b.c!r:>{d}}}}";
        let mut pieces = Vec::new();
        while let Some(piece) = next_braces(&mut rest).unwrap() {
            pieces.push(piece);
        }
        let field = Braces::Field {
            name: "b.c",
            conversion: Some("r"),
            spec: ">{d}",
        };
        assert_eq!(
            pieces,
            [
                Braces::Text("a"),
                Braces::Text("{"),
                field,
                Braces::Text("}")
            ]
        );
        for wrong in ["{", "}", "a{b", "{a}}"] {
            let mut rest = wrong;
            let all = std::iter::from_fn(|| next_braces(&mut rest).transpose());
            assert!(all.collect::<Result<Vec<_>, _>>().is_err(), "{wrong}");
        }
    }
}
