//! Jinja's filters: what stands behind `|`.

mod lists;
mod numbers;
mod texts;

use minijinja::{Error, State, Value};

use self::lists::{chunks, dictsort, join, map, ordering, select};
use self::numbers::{int, parse_float, round};
use self::texts::{
    escape, filesize, indent, striptags, title, truncate, urlencode, wordwrap, xmlattr,
};
use super::call::{Arguments, text as text_of, whole};
use super::json::{self, Characters, Keys, Style};
use super::text::{self, capitalize, str};
use super::value::{self, SequenceKind, View, float, integer, length, sequence, tuple, view};
use super::{
    ITEM, charge, charge_looking, charge_printing, defined, format, items_of, limit_error, made,
    made_list, methods, operators, type_error,
};

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
pub(crate) fn exists(name: &str) -> bool {
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
            charge_printing(state, value)?;
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
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let (old, new) = (plain(state, &old)?, plain(state, &new)?);
            let count = match count.filter(|c| !c.is_none()) {
                Some(count) => usize::try_from(whole(name, &count)?).ok(),
                None => None,
            };
            methods::replace(state, &text, &old, &new, count)
        }
        "join" => join(state, value, args),
        "int" => {
            charge_printing(state, value)?;
            int(value, args)
        }
        "float" => {
            charge_printing(state, value)?;
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
            charge_looking(state, value)?;
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
    charge_printing(state, value)?;
    Ok(str(value))
}

fn one_pass(state: &mut State<'_, '_>, name: &str, value: &Value) -> Result<Value, Error> {
    if let View::Text(text) = view(value) {
        // Counted, reversed or rewritten, it is read from end to end.
        charge(state, text.len() / 8)?;
    }
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
            Ok(items_of(state, value)?
                .into_iter()
                .next()
                .unwrap_or_default())
        }
        "last" => {
            if let View::Text(text) = view(value) {
                let last = text.chars().next_back().map(|c| Value::from(c.to_string()));
                return Ok(last.unwrap_or_default());
            }
            if value::type_name(value) == "generator" {
                return Err(type_error("'generator' object is not reversible"));
            }
            Ok(items_of(state, value)?
                .into_iter()
                .next_back()
                .unwrap_or_default())
        }
        "list" => {
            let items = items_of(state, value)?;
            made_list(state, items)
        }
        "items" => match view(value) {
            View::Undefined => generator(state, Vec::new()),
            View::Dict(dict) => {
                charge(state, dict.entries.len() * 2 * ITEM)?;
                let pairs = methods::pairs(&dict.entries)?;
                generator(state, pairs)
            }
            _ => Err(type_error("Can only get item pairs from a mapping.")),
        },
        "reverse" => match view(value) {
            View::Text(text) => {
                charge(state, text.len())?;
                Ok(Value::from(text.chars().rev().collect::<String>()))
            }
            _ if value::type_name(value) == "generator" => {
                let items = items_of(state, value)?.into_iter().rev().collect();
                made_list(state, items)
            }
            _ => {
                let items = items_of(state, value)?.into_iter().rev().collect();
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
            charge(state, value::weight(value).saturating_mul(4))?;
            made(state, text::repr(value))
        }
        "wordcount" => {
            let text = plain(state, value)?;
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
        }
        _ => {
            let text = plain(state, value)?;
            charge(state, text.len() * 2)?;
            if name == "striptags" {
                charge(state, text::word_count(&text).saturating_mul(ITEM / 2))?;
            }
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
        Some(separators) => match items_of(state, &separators)?.as_slice() {
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
    charge_printing(state, value)?;
    let mut out = String::new();
    json::write(&mut out, value, &style, 0)?;
    made(state, out)
}

/// Longest indentation or separators of `tojson`, in bytes.
const MAX_INDENT: usize = 256;
