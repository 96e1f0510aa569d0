//! Python's two ways of formatting text: `%` and `str.format`.

use minijinja::{Error, State, Value};

use super::call::Arguments;
use super::text::{float_repr, repr, str};
use super::value::{SequenceKind, View, float, integer, view};
use super::{charge, charge_printing, operators, type_error, value};

/// Widest field, in code points.
const MAX_WIDTH: usize = 10_000;

/// How one value is laid out.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
}

impl Layout {
    /// Takes note of the blanks and digits that fill a field.
    fn charge(&self, state: &mut State<'_, '_>) -> Result<(), Error> {
        // The digits of a float are worked out one by one.
        charge(state, self.width * 4 + self.precision.unwrap_or(0) * 16)
    }
}

/// `text % arguments`.
pub(super) fn percent(
    state: &mut State<'_, '_>,
    text: &str,
    arguments: &Value,
) -> Result<String, Error> {
    let (mut positional, named) = match view(arguments) {
        View::Sequence(s) if s.kind == SequenceKind::Tuple => (s.items.clone().into_iter(), None),
        View::Dict(dict) => (vec![arguments.clone()].into_iter(), Some(dict)),
        _ => (vec![arguments.clone()].into_iter(), None),
    };
    let mut used_names = false;
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut value = None;
        if let Some(after) = rest.strip_prefix('(') {
            let Some((name, after)) = after.split_once(')') else {
                return Err(type_error("incomplete format key"));
            };
            let dict = named.ok_or_else(|| type_error("format requires a mapping"))?;
            let found = dict.entries.get(&Value::from(name)).cloned();
            value = Some(found.ok_or_else(|| type_error(format!("KeyError: '{name}'")))?);
            used_names = true;
            rest = after;
        }
        let mut layout = Layout::default();
        let flags = rest.find(|c| !"#0- +".contains(c)).unwrap_or(rest.len());
        for flag in rest[..flags].chars() {
            match flag {
                '#' => layout.alternate = true,
                '0' => layout.fill = Some('0'),
                '-' => layout.align = Some('<'),
                '+' => layout.sign = Some('+'),
                _ => layout.sign = layout.sign.or(Some(' ')),
            }
        }
        rest = &rest[flags..];
        layout.width = number(&mut rest)?.unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            layout.precision = Some(number(&mut rest)?.unwrap_or(0));
        }
        let Some(kind) = rest.chars().next() else {
            return Err(type_error("incomplete format"));
        };
        rest = &rest[kind.len_utf8()..];
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match value {
            Some(value) => value,
            None => positional
                .next()
                .ok_or_else(|| type_error("not enough arguments for format string"))?,
        };
        charge_printing(state, &value)?;
        layout.charge(state)?;
        let wants_number = || type_error(format!("%{kind} format: a real number is required"));
        let piece = match kind {
            's' | 'r' | 'a' => {
                let text = match kind {
                    's' => str(&value),
                    _ => repr(&value),
                };
                let layout = Layout {
                    align: layout.align.or(Some('>')),
                    fill: None,
                    ..layout
                };
                field_of_text(&text, layout)
            }
            'd' | 'i' | 'u' => {
                let number = match (integer(&value), float(&value)) {
                    (Some(number), _) => number,
                    (None, Some(number)) if number.is_finite() => number as i128,
                    _ => return Err(wants_number()),
                };
                field_of_integer(number, 'd', sized(layout))?
            }
            'x' | 'X' | 'o' => {
                let number = integer(&value).ok_or_else(wants_number)?;
                field_of_integer(number, kind, sized(layout))?
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let number = float(&value).ok_or_else(wants_number)?;
                field_of_float(number, Some(kind), sized(layout))
            }
            'c' => match (view(&value), integer(&value)) {
                (View::Text(text), _) if text.chars().count() == 1 => field_of_text(
                    text,
                    Layout {
                        align: layout.align.or(Some('>')),
                        fill: None,
                        precision: None,
                        ..layout
                    },
                ),
                (_, Some(code)) => {
                    let c = u32::try_from(code).ok().and_then(char::from_u32);
                    c.ok_or_else(|| type_error("%c arg not in range(0x110000)"))?
                        .to_string()
                }
                _ => return Err(type_error("%c requires int or char")),
            },
            other => {
                return Err(type_error(format!(
                    "unsupported format character '{other}'"
                )));
            }
        };
        out.push_str(&piece);
    }
    out.push_str(rest);
    if positional.next().is_some() && !used_names && named.is_none() {
        return Err(type_error(
            "not all arguments converted during string formatting",
        ));
    }
    Ok(out)
}

/// Numbers padded with zeros are padded behind their sign.
fn sized(layout: Layout) -> Layout {
    match (layout.align, layout.fill) {
        (None, Some('0')) => Layout {
            align: Some('='),
            ..layout
        },
        (Some(_), _) => Layout {
            fill: None,
            ..layout
        },
        _ => layout,
    }
}

fn number(rest: &mut &str) -> Result<Option<usize>, Error> {
    let length = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let digits = &rest[..length];
    *rest = &rest[length..];
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(number) if number <= MAX_WIDTH => Ok(Some(number)),
        _ => Err(super::limit_error(format!(
            "a field is wider than {MAX_WIDTH} characters"
        ))),
    }
}

/// `text.format(arguments)`.
pub(super) fn braces(
    state: &mut State<'_, '_>,
    text: &str,
    arguments: &Arguments,
) -> Result<String, Error> {
    let mut next = 0;
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(type_error("Single '}' encountered in format string"));
        }
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            depth == 0
        });
        let Some(end) = end else {
            return Err(type_error("expected '}' before end of string"));
        };
        let field = &rest[..end];
        rest = &rest[end + 1..];
        let (field, spec) = field.split_once(':').unwrap_or((field, ""));
        let (field, conversion) = match field.split_once('!') {
            Some((field, conversion)) => (field, Some(conversion)),
            None => (field, None),
        };
        let mut value = lookup(arguments, field, &mut next)?;
        let mut spec = spec.to_owned();
        if let (Some(open), Some(close)) = (spec.find('{'), spec.find('}'))
            && open < close
        {
            let inner = lookup(arguments, &spec[open + 1..close], &mut next)?;
            charge_printing(state, &inner)?;
            spec.replace_range(open..=close, &str(&inner));
        }
        charge_printing(state, &value)?;
        match conversion {
            None => {}
            Some("r" | "a") => value = Value::from(repr(&value)),
            Some("s") => value = Value::from(str(&value)),
            Some(other) => {
                return Err(type_error(format!(
                    "Unknown conversion specifier '{other}'"
                )));
            }
        }
        out.push_str(&with_spec(state, &value, &spec)?);
    }
    out.push_str(rest);
    Ok(out)
}

/// The value that a field names: `0.name[key]`.
fn lookup(arguments: &Arguments, field: &str, next: &mut usize) -> Result<Value, Error> {
    let end = field.find(['.', '[']).unwrap_or(field.len());
    let (first, mut path) = field.split_at(end);
    let value = if first.is_empty() {
        *next += 1;
        arguments.positional.get(*next - 1)
    } else if let Ok(at) = first.parse::<usize>() {
        arguments.positional.get(at)
    } else {
        let named = arguments.named.iter().find(|(name, _)| name == first);
        named.map(|(_, value)| value)
    };
    let Some(value) = value else {
        return Err(type_error(match first.is_empty() {
            true => "Replacement index out of range for positional args tuple".to_owned(),
            false => format!("KeyError: '{first}'"),
        }));
    };
    let mut value = value.clone();
    while !path.is_empty() {
        if let Some(after) = path.strip_prefix('[') {
            let Some((key, after)) = after.split_once(']') else {
                return Err(type_error("Missing ']' in format string"));
            };
            let key = match key.parse::<i64>() {
                Ok(at) => Value::from(at),
                Err(_) => Value::from(key),
            };
            value = operators::path(&value, &key)?;
            path = after;
        } else {
            let after = path.strip_prefix('.').unwrap_or(path);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            value = operators::attribute(None, &value, &after[..end])?;
            path = &after[end..];
        }
    }
    Ok(value)
}

/// `format(value, spec)`.
fn with_spec(state: &mut State<'_, '_>, value: &Value, spec: &str) -> Result<String, Error> {
    if spec.is_empty() {
        return Ok(str(value));
    }
    let mut layout = Layout::default();
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
        layout.align = layout.align.or(Some('='));
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
            Some(precision.ok_or_else(|| type_error("Format specifier missing precision"))?);
    }
    layout.charge(state)?;
    let mut kinds = rest.chars();
    let kind = kinds.next();
    if kinds.next().is_some() {
        return Err(type_error("Invalid format specifier"));
    }
    let unknown = || {
        type_error(format!(
            "Unknown format code '{}' for object of type '{}'",
            kind.unwrap_or(' '),
            value::type_name(value)
        ))
    };
    match view(value) {
        View::Text(text) => match kind {
            None | Some('s') if layout.align != Some('=') => Ok(field_of_text(text, layout)),
            None | Some('s') => Err(type_error(
                "'=' alignment not allowed in string format specifier",
            )),
            _ => Err(unknown()),
        },
        View::Int(_) | View::Bool(_) => {
            let number = integer(value).unwrap_or_default();
            match kind {
                None | Some('d' | 'n') => field_of_integer(number, 'd', layout),
                Some(kind @ ('x' | 'X' | 'o' | 'b')) => field_of_integer(number, kind, layout),
                Some('c') => {
                    let c = u32::try_from(number).ok().and_then(char::from_u32);
                    let c = c.ok_or_else(|| type_error("%c arg not in range(0x110000)"))?;
                    Ok(field_of_text(&c.to_string(), layout))
                }
                Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => {
                    Ok(field_of_float(number as f64, kind, layout))
                }
                _ => Err(unknown()),
            }
        }
        View::Float(number) => match kind {
            None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%') => {
                Ok(field_of_float(number, kind, layout))
            }
            _ => Err(unknown()),
        },
        _ => Err(type_error(format!(
            "unsupported format string passed to {}.__format__",
            value::type_name(value)
        ))),
    }
}

fn field_of_text(text: &str, layout: Layout) -> String {
    let text: String = match layout.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    };
    padded("", &text, layout, '<')
}

/// Pads what has a sign and a body.
fn padded(sign: &str, body: &str, layout: Layout, default: char) -> String {
    let missing = layout
        .width
        .saturating_sub(sign.chars().count() + body.chars().count());
    let fill = layout.fill.unwrap_or(' ');
    let run = |count: usize| -> String { std::iter::repeat_n(fill, count).collect() };
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

fn sign_of(negative: bool, layout: Layout) -> &'static str {
    match (negative, layout.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

fn grouped(digits: &str, grouping: Option<char>, size: usize) -> String {
    let Some(grouping) = grouping else {
        return digits.to_owned();
    };
    let count = digits.len();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (count - at).is_multiple_of(size) {
            out.push(grouping);
        }
        out.push(c);
    }
    out
}

fn field_of_integer(number: i128, kind: char, layout: Layout) -> Result<String, Error> {
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
    Ok(padded(
        &sign,
        &grouped(&digits, layout.grouping, group),
        layout,
        '>',
    ))
}

fn field_of_float(number: f64, kind: Option<char>, layout: Layout) -> String {
    let sign = sign_of(number.is_sign_negative() && !number.is_nan(), layout);
    let size = number.abs();
    let precision = layout.precision.unwrap_or(6);
    let body = if !number.is_finite() {
        float_repr(size)
    } else {
        match kind {
            Some('f' | 'F') => format!("{size:.precision$}"),
            Some('%') => format!("{:.precision$}%", size * 100.0),
            Some('e' | 'E') => exponential(size, precision),
            Some('g' | 'G' | 'n') => general(size, precision, layout.alternate),
            _ => match layout.precision {
                None => float_repr(size),
                Some(precision) => {
                    // Like `g`, but a number without a fraction keeps one.
                    let text = general(size, precision, false);
                    match text.contains(['.', 'e']) {
                        true => text,
                        false => format!("{text}.0"),
                    }
                }
            },
        }
    };
    let body = match kind {
        Some('E' | 'G' | 'F') => body.to_uppercase(),
        _ => body,
    };
    let body = match (layout.grouping, body.find(['.', 'e', '%'])) {
        (None, _) => body,
        (grouping, at) => {
            let at = at.unwrap_or(body.len());
            format!("{}{}", grouped(&body[..at], grouping, 3), &body[at..])
        }
    };
    padded(sign, &body, layout, '>')
}

fn exponential(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn general(size: f64, precision: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    if size == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{size:.*e}", precision - 1);
    let exponent = scientific.split_once('e').map_or("0", |(_, e)| e);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let text = if exponent < -4 || exponent >= precision as i32 {
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
