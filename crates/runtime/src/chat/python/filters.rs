//! Jinja's filters: what stands behind `|`.

use std::cmp::Ordering;

use indexmap::IndexMap;
use minijinja::{Error, State, Value};

use super::call::{Arguments, text as text_of, whole};
use super::json::{self, Characters, Keys, Style};
use super::text::{self, LineEnds, capitalize, is_space, lines, split_space, str};
use super::value::{
    self, SequenceKind, View, compare, float, integer, iterate, length, list, sequence, tuple, view,
};
use super::{ITEM, charge, defined, format, limit_error, made, made_list, methods, operators};
use super::{tests, type_error};

const NAMES: [&str; 52] = [
    "abs",
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
    "xmlattr",
];

/// Whether there is a filter of that name.
pub(in crate::chat) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Applies the filter that `args` are named after.
pub(super) fn apply(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Arguments,
) -> Result<Value, Error> {
    let name = args.name.clone();
    let name = name.as_str();
    charge(state, 1)?;
    match name {
        "map" => return map(state, value, args),
        "select" | "reject" | "selectattr" | "rejectattr" => return select(state, value, args),
        "format" => {
            charge(state, value::weight(value))?;
            let text = str(value);
            let arguments = match args.named.is_empty() {
                true => tuple(args.positional)?,
                false => {
                    let named = args.named.into_iter();
                    value::dict(named.map(|(k, v)| (Value::from(k), v)).collect())?
                }
            };
            let text = format::percent(state, &text, &arguments)?;
            return made(state, text);
        }
        _ => {}
    }
    if ONE_PASS.contains(&name) {
        args.bind::<0>([])?;
        return one_pass(state, name, value);
    }
    match name {
        "default" | "d" => {
            let [default, boolean] = args.bind(["default_value", "boolean"])?;
            let falsy = boolean.is_some_and(|b| b.is_true()) && !value.is_true();
            Ok(match value.is_undefined() || falsy {
                true => default.unwrap_or_else(|| Value::from("")),
                false => value.clone(),
            })
        }
        "attr" => {
            let [name] = args.bind_all(["name"])?;
            let name = text_of("attr", &name)?;
            defined(value)?;
            // Attributes only; entries of a map are none.
            Ok(match view(value) {
                View::Dict(_) | View::Text(_) | View::Sequence(_)
                    if !methods::has(value::type_name(value), name) =>
                {
                    Value::UNDEFINED
                }
                _ => operators::attribute(None, value, name)?,
            })
        }
        "tojson" => tojson(state, value, args),
        "trim" => {
            let [characters] = args.bind(["chars"])?;
            let text = plain(state, value)?;
            made(state, methods::strip_both(&text, characters.as_ref())?)
        }
        "replace" => {
            let [old, new, count] = args.bind(["old", "new", "count"])?;
            let text = plain(state, value)?;
            let (old, new) = (str(&old.unwrap_or_default()), str(&new.unwrap_or_default()));
            let count = match count.filter(|c| !c.is_none()) {
                Some(count) => usize::try_from(whole(name, &count)?).ok(),
                None => None,
            };
            methods::replace(state, &text, &old, &new, count)
        }
        "join" => join(state, value, args),
        "int" => int(value, args),
        "float" => {
            let [default] = args.bind(["default"])?;
            let parsed = match view(defined(value)?) {
                View::Text(text) => parse_float(text),
                _ => float(value),
            };
            Ok(match parsed {
                Some(number) => Value::from(number),
                None => default.unwrap_or_else(|| Value::from(0.0)),
            })
        }
        "indent" => indent(state, value, args),
        "center" => {
            let [width] = args.bind(["width"])?;
            let width = match width {
                Some(width) => whole(name, &width)?,
                None => 80,
            };
            let text = plain(state, value)?;
            let share = |missing: usize, width: usize| missing / 2 + (missing & width & 1);
            methods::pad(state, &text, width, ' ', share)
        }
        "round" => round(value, args),
        "sort" | "unique" | "min" | "max" | "sum" | "groupby" => ordering(state, value, args),
        "dictsort" => dictsort(state, value, args),
        "batch" | "slice" => chunks(state, value, args),
        "truncate" => truncate(state, value, args),
        "wordwrap" => wordwrap(state, value, args),
        "filesizeformat" => {
            let [binary] = args.bind(["binary"])?;
            let binary = binary.is_some_and(|b| b.is_true());
            made(state, filesize(value, binary)?)
        }
        "urlencode" => {
            args.bind::<0>([])?;
            urlencode(state, value)
        }
        "xmlattr" => {
            let [autospace] = args.bind(["autospace"])?;
            let space = autospace.is_none_or(|a| a.is_true());
            xmlattr(state, value, space)
        }
        _ => Err(type_error(format!("No filter named '{name}'."))),
    }
}

/// Filters without arguments.
const ONE_PASS: [&str; 20] = [
    "abs",
    "capitalize",
    "count",
    "e",
    "escape",
    "first",
    "forceescape",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "pprint",
    "reverse",
    "safe",
    "string",
    "striptags",
    "title",
    "upper",
    "wordcount",
];

/// The value as text, paid for.
fn plain(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    charge(state, value::weight(value))?;
    Ok(str(value))
}

fn one_pass(state: &mut State<'_, '_>, name: &str, value: &Value) -> Result<Value, Error> {
    match name {
        "abs" => match (integer(value), float(value)) {
            (Some(number), _) => {
                let number = number.checked_abs();
                let number = number.ok_or_else(|| limit_error("a number has too many bits"))?;
                Ok(match i64::try_from(number) {
                    Ok(number) => Value::from(number),
                    Err(_) => Value::from(number),
                })
            }
            (None, Some(number)) => Ok(Value::from(number.abs())),
            _ => {
                defined(value)?;
                Err(type_error(format!(
                    "bad operand type for abs(): '{}'",
                    value::type_name(value)
                )))
            }
        },
        "count" | "length" => length(value).map(Value::from).ok_or_else(|| {
            type_error(format!(
                "object of type '{}' has no len()",
                value::type_name(value)
            ))
        }),
        "first" => {
            if let View::Text(text) = view(value) {
                let first = text.chars().next().map(|c| Value::from(c.to_string()));
                return Ok(first.unwrap_or_default());
            }
            charge(state, length(value).unwrap_or(0))?;
            Ok(iterate(value)?.into_iter().next().unwrap_or_default())
        }
        "last" => {
            if let View::Text(text) = view(value) {
                let last = text.chars().next_back().map(|c| Value::from(c.to_string()));
                return Ok(last.unwrap_or_default());
            }
            if value::type_name(value) == "generator" {
                return Err(type_error("'generator' object is not reversible"));
            }
            charge(state, length(value).unwrap_or(0))?;
            Ok(iterate(value)?.into_iter().next_back().unwrap_or_default())
        }
        "list" => {
            let items = iterate(value)?;
            made_list(state, items)
        }
        "items" => match view(value) {
            View::Undefined => generator(state, Vec::new()),
            View::Dict(dict) => {
                let pairs = methods::pairs(&dict.entries)?;
                generator(state, pairs)
            }
            _ => Err(type_error("Can only get item pairs from a mapping.")),
        },
        "reverse" => match view(value) {
            View::Text(text) => made(state, text.chars().rev().collect::<String>()),
            _ if value::type_name(value) == "generator" => {
                let items = iterate(value)?.into_iter().rev().collect();
                made_list(state, items)
            }
            _ => {
                let items = iterate(value)?.into_iter().rev().collect();
                generator(state, items)
            }
        },
        "safe" | "string" => match view(value) {
            View::Text(_) => Ok(value.clone()),
            _ => {
                let text = plain(state, value)?;
                made(state, text)
            }
        },
        "pprint" => {
            charge(state, value::weight(value))?;
            made(state, text::repr(value))
        }
        "wordcount" => {
            let text = plain(state, value)?;
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
        }
        _ => {
            let text = plain(state, value)?;
            let text = match name {
                "capitalize" => capitalize(&text),
                "lower" => text.to_lowercase(),
                "upper" => text.to_uppercase(),
                "title" => title(&text),
                "striptags" => striptags(&text),
                _ => escape(&text),
            };
            made(state, text)
        }
    }
}

fn generator(state: &mut State<'_, '_>, items: Vec<Value>) -> Result<Value, Error> {
    charge(state, items.len() * ITEM)?;
    sequence(SequenceKind::Generator, items)
}

/// Jinja's `title`, which knows words by blanks, hyphens and brackets.
fn title(text: &str) -> String {
    let separates = |c: char| is_space(c) || "-({[<".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let separators = separates(first);
        let end = rest
            .find(|c| separates(c) != separators)
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.extend(first.to_uppercase());
        out.push_str(&word[first.len_utf8()..].to_lowercase());
        rest = after;
    }
    out
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

fn striptags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let comment = rest[at..].starts_with("<!--");
        let close = if comment { "-->" } else { ">" };
        let Some(end) = rest[at..].find(close) else {
            break;
        };
        out.push_str(&rest[..at]);
        rest = &rest[at + end + close.len()..];
    }
    out.push_str(rest);
    let words: Vec<&str> = split_space(&out, None);
    let joined = words.join(" ");
    joined
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

fn tojson(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [ascii, indent, separators, sort_keys] =
        args.bind(["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match indent.filter(|v| !v.is_none()) {
        None => None,
        Some(indent) => Some(match view(&indent) {
            View::Text(text) => text.to_owned(),
            _ => {
                let count = usize::try_from(whole("tojson", &indent)?).unwrap_or(0);
                " ".repeat(count.min(MAX_INDENT + 1))
            }
        }),
    };
    if indent.as_ref().is_some_and(|i| i.len() > MAX_INDENT) {
        return Err(limit_error(format!(
            "tojson: an indentation of more than {MAX_INDENT} bytes"
        )));
    }
    let (item, key) = match separators.filter(|v| !v.is_none()) {
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
        Some(separators) => match iterate(&separators)?.as_slice() {
            [item, key] => (
                text_of("tojson", item)?.to_owned(),
                text_of("tojson", key)?.to_owned(),
            ),
            _ => return Err(type_error("tojson: separators must be two texts")),
        },
    };
    if item.len() + key.len() > MAX_INDENT {
        return Err(limit_error(format!(
            "tojson: separators of more than {MAX_INDENT} bytes"
        )));
    }
    let style = Style {
        characters: match ascii.is_some_and(|v| v.is_true()) {
            true => Characters::Ascii,
            false => Characters::All,
        },
        indent,
        item_separator: item,
        key_separator: key,
        keys: match sort_keys.is_some_and(|v| v.is_true()) {
            true => Keys::Sorted,
            false => Keys::AsTheyCome,
        },
    };
    charge(state, value::weight(value))?;
    let mut out = String::new();
    json::write(&mut out, value, &style, 0)?;
    made(state, out)
}

/// Longest indentation or separators of `tojson`, in bytes.
const MAX_INDENT: usize = 256;

fn join(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [separator, attribute] = args.bind(["d", "attribute"])?;
    let separator = separator.map(|s| str(&s)).unwrap_or_default();
    let mut out = String::new();
    for (at, item) in iterate(value)?.into_iter().enumerate() {
        let item = match attribute.as_ref().filter(|a| !a.is_none()) {
            Some(attribute) => operators::path(&item, attribute)?,
            None => item,
        };
        charge(state, value::weight(&item) + separator.len())?;
        if at > 0 {
            out.push_str(&separator);
        }
        out.push_str(&str(&item));
    }
    made(state, out)
}

fn int(value: &Value, args: Arguments) -> Result<Value, Error> {
    let [default, base] = args.bind(["default", "base"])?;
    let base = match base {
        Some(base) => whole("int", &base)?,
        None => 10,
    };
    let parsed = match view(defined(value)?) {
        View::Text(text) => parse_int(text, base).or_else(|| {
            // A number with a fraction is cut.
            let number = parse_float(text).filter(|n| n.is_finite());
            number.map(|number| number as i128)
        }),
        View::Float(number) if number.is_finite() => Some(number as i128),
        _ => integer(value),
    };
    Ok(match parsed {
        Some(number) => match i64::try_from(number) {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(number),
        },
        None => default.unwrap_or_else(|| Value::from(0)),
    })
}

fn parse_int(text: &str, base: i64) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed = |prefix: &str| lower.strip_prefix(prefix).map(str::to_owned);
    let (base, digits) = match base {
        16 => (16, prefixed("0x").unwrap_or(lower)),
        8 => (8, prefixed("0o").unwrap_or(lower)),
        2 => (2, prefixed("0b").unwrap_or(lower)),
        0 => match (prefixed("0x"), prefixed("0o"), prefixed("0b")) {
            (Some(digits), _, _) => (16, digits),
            (_, Some(digits), _) => (8, digits),
            (_, _, Some(digits)) => (2, digits),
            _ => (10, lower),
        },
        base => (
            u32::try_from(base).ok().filter(|b| (2..=36).contains(b))?,
            lower,
        ),
    };
    // Underscores stand between digits only.
    let wrong =
        digits.starts_with(['_', '+', '-']) || digits.ends_with('_') || digits.contains("__");
    if wrong {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), base).ok()?;
    Some(sign * number)
}

fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let lower = text.to_ascii_lowercase();
    let named = lower.trim_start_matches(['+', '-']);
    let known = ["inf", "infinity", "nan"].contains(&named);
    let numeric = lower.chars().all(|c| "0123456789+-._e".contains(c));
    let wrong = lower.starts_with('_') || lower.ends_with('_') || lower.contains("__");
    match (known || numeric) && !wrong {
        true => lower.replace('_', "").parse().ok(),
        false => None,
    }
}

fn indent(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [width, first, blank] = args.bind(["width", "first", "blank"])?;
    let text = plain(state, defined(value)?)?;
    let unit = match &width {
        None => "    ".to_owned(),
        Some(width) => match view(width) {
            View::Text(text) => text.to_owned(),
            _ => {
                let count = usize::try_from(whole("indent", width)?).unwrap_or(0);
                charge(state, count)?;
                " ".repeat(count)
            }
        },
    };
    let (first, blank) = (
        first.is_some_and(|v| v.is_true()),
        blank.is_some_and(|v| v.is_true()),
    );
    let source = format!("{text}\n");
    let all = lines(&source, LineEnds::Drop);
    charge(state, text.len() + all.len().saturating_mul(unit.len() + 1))?;
    let mut out = String::new();
    for (at, line) in all.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let indented = match at {
            0 => first,
            _ => blank || !line.is_empty(),
        };
        if indented {
            out.push_str(&unit);
        }
        out.push_str(line);
    }
    Ok(Value::from(out))
}

fn round(value: &Value, args: Arguments) -> Result<Value, Error> {
    let [precision, method] = args.bind(["precision", "method"])?;
    let precision = match precision {
        Some(precision) => whole("round", &precision)?.clamp(-300, 300) as i32,
        None => 0,
    };
    let method = method
        .map(|m| str(&m))
        .unwrap_or_else(|| "common".to_owned());
    defined(value)?;
    let number = float(value).ok_or_else(|| {
        type_error(format!(
            "type {} doesn't define __round__ method",
            value::type_name(value)
        ))
    })?;
    let scale = 10f64.powi(precision);
    let rounded = match method.as_str() {
        "common" => {
            if let Some(whole) = integer(value) {
                let rounded = match precision {
                    0.. => Some(whole),
                    _ => round_whole(whole, precision.unsigned_abs()),
                };
                let rounded = rounded.and_then(|n| i64::try_from(n).ok());
                return Ok(rounded.map_or_else(|| value.clone(), Value::from));
            }
            match precision {
                // To even, by the exact decimal value.
                0.. => {
                    let digits = usize::try_from(precision).unwrap_or(0);
                    format!("{number:.digits$}").parse().unwrap_or(number)
                }
                _ => (number * scale).round_ties_even() / scale,
            }
        }
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        _ => return Err(type_error("method must be common, ceil or floor")),
    };
    Ok(Value::from(rounded))
}

/// Rounds to a power of ten, halves to even.
fn round_whole(number: i128, zeros: u32) -> Option<i128> {
    let Some(scale) = 10i128.checked_pow(zeros) else {
        return Some(0);
    };
    let (floor, rest) = (number.div_euclid(scale), number.rem_euclid(scale));
    let up = match (rest * 2).cmp(&scale) {
        Ordering::Less => 0,
        Ordering::Equal => floor.rem_euclid(2),
        Ordering::Greater => 1,
    };
    (floor + up).checked_mul(scale)
}

/// `map`: an attribute or a filter of each item.
fn map(state: &mut State<'_, '_>, value: &Value, mut args: Arguments) -> Result<Value, Error> {
    let items = iterate(value)?;
    let mut out = Vec::with_capacity(items.len());
    if args.positional.is_empty() && args.named.iter().any(|(name, _)| name == "attribute") {
        let [attribute, default] = args.bind(["attribute", "default"])?;
        let attribute = attribute.unwrap_or_default();
        for item in items {
            charge(state, 1)?;
            out.push(operators::path_or(&item, &attribute, default.as_ref())?);
        }
        return generator(state, out);
    }
    if args.positional.is_empty() {
        return Err(type_error("map requires a filter argument"));
    }
    let filter = args.shift();
    let filter = text_of("map", &filter)?.to_owned();
    if !exists(&filter) || ["map", "select", "reject"].contains(&filter.as_str()) {
        return Err(type_error(format!("No filter named '{filter}'.")));
    }
    for item in items {
        let args = Arguments {
            name: filter.clone(),
            positional: args.positional.clone(),
            named: args.named.clone(),
        };
        out.push(apply(state, &item, args)?);
    }
    generator(state, out)
}

/// `select`, `reject`, `selectattr`, `rejectattr`.
fn select(state: &mut State<'_, '_>, value: &Value, mut args: Arguments) -> Result<Value, Error> {
    let name = args.name.clone();
    let keeps = name.starts_with("select");
    let attribute = match name.ends_with("attr") {
        true if args.positional.is_empty() => {
            return Err(type_error("Missing parameter for attribute name"));
        }
        true => Some(args.shift()),
        false => None,
    };
    let test = match args.positional.is_empty() {
        true => None,
        false => {
            let test = args.shift();
            let test = text_of(&name, &test)?.to_owned();
            if !tests::exists(&test) {
                return Err(type_error(format!("No test named '{test}'.")));
            }
            Some(test)
        }
    };
    let mut out = Vec::new();
    for item in iterate(value)? {
        charge(state, 1)?;
        let tested = match &attribute {
            Some(attribute) => operators::path(&item, attribute)?,
            None => item.clone(),
        };
        let passes = match &test {
            None => tested.is_true(),
            Some(test) => {
                let args = Arguments {
                    name: test.clone(),
                    positional: args.positional.clone(),
                    named: args.named.clone(),
                };
                tests::apply(state, &tested, args)?
            }
        };
        if passes == keeps {
            out.push(item);
        }
    }
    generator(state, out)
}

/// What an item is sorted or grouped by: its attribute, in lower case unless
/// case counts.
fn key(item: &Value, attribute: Option<&Value>, case_sensitive: bool) -> Result<Value, Error> {
    let value = match attribute {
        None => item.clone(),
        Some(attribute) => match attribute.as_str() {
            // Several attributes, the first counting most.
            Some(names) if names.contains(',') => {
                let parts = names.split(',').map(|name| {
                    let name = Value::from(name.trim());
                    key(item, Some(&name), case_sensitive)
                });
                return list(parts.collect::<Result<_, _>>()?);
            }
            _ => operators::path(item, attribute)?,
        },
    };
    Ok(match view(&value) {
        View::Text(text) if !case_sensitive => Value::from(text.to_lowercase()),
        _ => value,
    })
}

/// `sort`, `unique`, `min`, `max`, `sum`, `groupby`.
fn ordering(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let name = args.name.clone();
    let items = iterate(value)?;
    charge(
        state,
        items.len() * ITEM + value::weight(value).saturating_mul(2),
    )?;
    if name == "sum" {
        let [attribute, start] = args.bind(["attribute", "start"])?;
        let mut total = start.unwrap_or_else(|| Value::from(0));
        for item in items {
            let item = match attribute.as_ref().filter(|a| !a.is_none()) {
                Some(attribute) => operators::path(&item, attribute)?,
                None => item,
            };
            total = match (integer(&total), integer(&item)) {
                (Some(a), Some(b)) => {
                    let sum = a.checked_add(b);
                    Value::from(sum.ok_or_else(|| limit_error("a number has too many bits"))?)
                }
                _ => match (float(&total), float(&item)) {
                    (Some(a), Some(b)) => Value::from(a + b),
                    _ => {
                        return Err(type_error(format!(
                            "unsupported operand type(s) for +: '{}' and '{}'",
                            value::type_name(&total),
                            value::type_name(&item)
                        )));
                    }
                },
            };
        }
        return Ok(match integer(&total).and_then(|n| i64::try_from(n).ok()) {
            Some(number) => Value::from(number),
            None => total,
        });
    }
    let (reverse, case_sensitive, attribute, default) = match name.as_str() {
        "sort" => {
            let [reverse, case, attribute] =
                args.bind(["reverse", "case_sensitive", "attribute"])?;
            (reverse, case, attribute, None)
        }
        "groupby" => {
            let [attribute, default, case] =
                args.bind(["attribute", "default", "case_sensitive"])?;
            if attribute.is_none() {
                return Err(type_error("groupby wants an attribute"));
            }
            (None, case, attribute, default)
        }
        _ => {
            let [case, attribute] = args.bind(["case_sensitive", "attribute"])?;
            (None, case, attribute, None)
        }
    };
    let case_sensitive = case_sensitive.is_some_and(|v| v.is_true());
    let attribute = attribute.filter(|a| !a.is_none());
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let mut sorted_by = key(&item, attribute.as_ref(), case_sensitive)?;
        if let (true, Some(default)) = (sorted_by.is_undefined(), &default) {
            sorted_by = default.clone();
        }
        keyed.push((sorted_by, item));
    }
    if name == "unique" {
        let mut seen: IndexMap<Value, Value> = IndexMap::new();
        for (key, item) in keyed {
            seen.entry(key).or_insert(item);
        }
        return generator(state, seen.into_values().collect());
    }
    if name == "min" || name == "max" {
        let mut best: Option<(Value, Value)> = None;
        for (key, item) in keyed {
            let wanted = match name.as_str() {
                "min" => Ordering::Less,
                _ => Ordering::Greater,
            };
            let better = match &best {
                None => true,
                Some((best, _)) => compare(&key, best)? == Some(wanted),
            };
            if better {
                best = Some((key, item));
            }
        }
        return Ok(best.map(|(_, item)| item).unwrap_or_default());
    }
    sort(&mut keyed, reverse.is_some_and(|v| v.is_true()))?;
    if name == "sort" {
        return made_list(state, keyed.into_iter().map(|(_, item)| item).collect());
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in keyed {
        match groups.last_mut() {
            Some((last, items)) if value::equal(last, &key) => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let groups: Result<Vec<Value>, Error> = groups
        .into_iter()
        .map(|(key, items)| {
            let grouper = match (case_sensitive, items.first(), &attribute) {
                // The name of the group is spelled as in its first item.
                (false, Some(first), Some(attribute)) => {
                    let spelled = operators::path(first, attribute)?;
                    if spelled.is_undefined() { key } else { spelled }
                }
                _ => key,
            };
            sequence(SequenceKind::Group, vec![grouper, list(items)?])
        })
        .collect();
    made_list(state, groups?)
}

/// Sorts, keeping the order of equals; fails where Python would.
fn sort(keyed: &mut [(Value, Value)], reverse: bool) -> Result<(), Error> {
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| match compare(a, b) {
        Ok(order) => {
            let order = order.unwrap_or(Ordering::Equal);
            if reverse { order.reverse() } else { order }
        }
        Err(error) => {
            failed.get_or_insert(error);
            Ordering::Equal
        }
    });
    failed.map_or(Ok(()), Err)
}

fn dictsort(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [case, by, reverse] = args.bind(["case_sensitive", "by", "reverse"])?;
    let View::Dict(dict) = view(value) else {
        defined(value)?;
        return Err(type_error(format!(
            "'{}' object has no attribute 'items'",
            value::type_name(value)
        )));
    };
    let at = match by.map(|by| str(&by)).as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        _ => {
            return Err(type_error(
                "You can only sort by either \"key\" or \"value\"",
            ));
        }
    };
    let case = case.is_some_and(|v| v.is_true());
    charge(state, value::weight(value))?;
    let mut keyed = Vec::new();
    for pair in methods::pairs(&dict.entries)? {
        keyed.push((key(&pair, Some(&Value::from(at)), case)?, pair));
    }
    sort(&mut keyed, reverse.is_some_and(|v| v.is_true()))?;
    made_list(state, keyed.into_iter().map(|(_, pair)| pair).collect())
}

/// `batch` and `slice`.
fn chunks(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let name = args.name.clone();
    let [count, fill] = args.bind(["count", "fill_with"])?;
    let count = whole(&name, &count.unwrap_or_default())?;
    let count = usize::try_from(count).ok().filter(|c| *c > 0);
    let count = count.ok_or_else(|| type_error(format!("{name}() wants a count above 0")))?;
    let fill = fill.filter(|f| !f.is_none());
    let items = iterate(value)?;
    let mut out = Vec::new();
    if name == "batch" {
        for chunk in items.chunks(count) {
            let mut chunk = chunk.to_vec();
            if let Some(fill) = &fill {
                charge(state, (count - chunk.len()).saturating_mul(ITEM))?;
                chunk.resize(count, fill.clone());
            }
            out.push(made_list(state, chunk)?);
        }
        return generator(state, out);
    }
    charge(state, count.saturating_mul(ITEM))?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    for at in 0..count {
        let mut chunk: Vec<Value> = rest
            .by_ref()
            .take(each + usize::from(at < longer))
            .collect();
        if let Some(fill) = fill.as_ref().filter(|_| longer > 0 && at >= longer) {
            chunk.push(fill.clone());
        }
        out.push(made_list(state, chunk)?);
    }
    generator(state, out)
}

fn truncate(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [wanted, kill, end, leeway] = args.bind(["length", "killwords", "end", "leeway"])?;
    let number = |value: Option<Value>, default: i64| match value.filter(|v| !v.is_none()) {
        Some(value) => whole("truncate", &value),
        None => Ok(default),
    };
    let (wanted, leeway) = (number(wanted, 255)?, number(leeway, 5)?);
    let end = end.map(|end| str(&end)).unwrap_or_else(|| "...".to_owned());
    let text = plain(state, value)?;
    let (count, tail) = (text.chars().count() as i64, end.chars().count() as i64);
    if wanted < tail || leeway < 0 {
        return Err(type_error(format!(
            "expected length >= {tail} and leeway >= 0, got {wanted} and {leeway}"
        )));
    }
    if count <= wanted.saturating_add(leeway) {
        return made(state, text);
    }
    let kept: String = text
        .chars()
        .take(usize::try_from(wanted - tail).unwrap_or(0))
        .collect();
    let kept = match kill.is_some_and(|v| v.is_true()) {
        true => kept.as_str(),
        false => kept
            .rsplit_once(' ')
            .map_or(kept.as_str(), |(kept, _)| kept),
    };
    made(state, format!("{kept}{end}"))
}

fn wordwrap(state: &mut State<'_, '_>, value: &Value, args: Arguments) -> Result<Value, Error> {
    let [width, break_long, separator, hyphens] = args.bind([
        "width",
        "break_long_words",
        "wrapstring",
        "break_on_hyphens",
    ])?;
    let width = match width {
        Some(width) => whole("wordwrap", &width)?,
        None => 79,
    };
    let width = usize::try_from(width).ok().filter(|w| *w > 0);
    let width = width.ok_or_else(|| type_error("invalid width (must be > 0)"))?;
    let breaks = break_long.is_none_or(|v| v.is_true());
    let separator = separator
        .filter(|v| !v.is_none())
        .map_or_else(|| "\n".to_owned(), |s| str(&s));
    let text = plain(state, value)?;
    let hyphens = hyphens.is_none_or(|v| v.is_true());
    let mut wrapped: Vec<String> = Vec::new();
    for line in lines(&text, LineEnds::Drop) {
        let before = wrapped.len();
        wrap_line(line, width, breaks, hyphens, &mut wrapped);
        if wrapped.len() == before {
            wrapped.push(String::new());
        }
    }
    charge(
        state,
        text.len() + wrapped.len().saturating_mul(separator.len()),
    )?;
    Ok(Value::from(wrapped.join(&separator)))
}

/// Python's `textwrap.wrap` for one line.
fn wrap_line(line: &str, width: usize, breaks: bool, hyphens: bool, out: &mut Vec<String>) {
    // Words and the blanks between them, the next one last.
    let mut chunks: Vec<String> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let blank = is_space(first);
        let end = rest.find(|c| is_space(c) != blank).unwrap_or(rest.len());
        let (mut chunk, after) = rest.split_at(end);
        rest = after;
        // A word may be cut behind a hyphen between letters.
        let cut = |chunk: &str| {
            let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            let mut places = chunk.match_indices('-').map(|(at, _)| at);
            places.find(|at| {
                letter(chunk[..*at].chars().next_back()) && letter(chunk[at + 1..].chars().next())
            })
        };
        while let Some(at) = cut(chunk).filter(|_| hyphens) {
            chunks.push(chunk[..=at].to_owned());
            chunk = &chunk[at + 1..];
        }
        chunks.push(chunk.to_owned());
    }
    chunks.reverse();
    let is_blank = |chunk: &String| chunk.chars().all(is_space);
    let mut first = true;
    while let Some(next) = chunks.last() {
        if is_blank(next) && !first {
            chunks.pop();
        }
        let mut current: Vec<String> = Vec::new();
        let mut used = 0;
        while let Some(next) = chunks.last() {
            let size = next.chars().count();
            if used + size > width {
                break;
            }
            used += size;
            current.extend(chunks.pop());
        }
        if let Some(long) = chunks
            .last()
            .filter(|next| next.chars().count() > width)
            .cloned()
        {
            if breaks {
                let left = width - used;
                let at = long
                    .char_indices()
                    .nth(left)
                    .map_or(long.len(), |(at, _)| at);
                current.push(long[..at].to_owned());
                chunks.pop();
                chunks.push(long[at..].to_owned());
            } else if current.is_empty() {
                current.extend(chunks.pop());
            }
        }
        if current.last().is_some_and(is_blank) {
            current.pop();
        }
        if !current.is_empty() {
            out.push(current.concat());
            first = false;
        }
    }
}

fn filesize(value: &Value, binary: bool) -> Result<String, Error> {
    let bytes = match view(value) {
        View::Text(text) => parse_float(text),
        _ => float(value),
    };
    let bytes = bytes.ok_or_else(|| type_error("filesizeformat wants a number"))?;
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok("1 Byte".to_owned());
    }
    if bytes < base {
        return Ok(format!("{} Bytes", bytes.trunc()));
    }
    let units = match binary {
        true => ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"],
        false => ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"],
    };
    let mut unit = base;
    for name in units {
        if bytes < unit * base || name.starts_with('Y') {
            return Ok(format!("{:.1} {name}", bytes / unit));
        }
        unit *= base;
    }
    Ok(String::new())
}

fn percent_encode(text: &str, kept: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let c = char::from(byte);
        match c.is_ascii_alphanumeric() || "_.-~".contains(c) || kept.contains(c) {
            true => out.push(c),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn urlencode(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    charge(state, value::weight(value).saturating_mul(3))?;
    let pairs = match view(value) {
        View::Dict(dict) => dict
            .entries
            .iter()
            .map(|(key, value)| (str(key), str(value)))
            .collect(),
        View::Sequence(sequence) => {
            let mut pairs = Vec::new();
            for pair in &sequence.items {
                match iterate(pair)?.as_slice() {
                    [key, value] => pairs.push((str(key), str(value))),
                    _ => return Err(type_error("urlencode wants pairs")),
                }
            }
            pairs
        }
        _ => return made(state, percent_encode(&str(value), "/")),
    };
    let encode = |text: &str| percent_encode(text, "").replace("%20", "+");
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
        .collect();
    made(state, pairs.join("&"))
}

fn xmlattr(state: &mut State<'_, '_>, value: &Value, space: bool) -> Result<Value, Error> {
    let View::Dict(dict) = view(value) else {
        return Err(type_error("xmlattr wants a map"));
    };
    charge(state, value::weight(value).saturating_mul(2))?;
    let mut parts = Vec::new();
    for (key, value) in &dict.entries {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let key = str(key);
        if key.contains(|c: char| is_space(c) || "/>=".contains(c)) {
            return Err(type_error(format!(
                "Invalid character in attribute name: '{key}'"
            )));
        }
        parts.push(format!("{}=\"{}\"", escape(&key), escape(&str(value))));
    }
    let joined = parts.join(" ");
    match space && !joined.is_empty() {
        true => made(state, format!(" {joined}")),
        false => made(state, joined),
    }
}
