//! Jinja's filters: what stands behind `|`. For example, `tools | tojson(indent=4)`.

mod lists;
mod numbers;
pub(crate) mod tests;
mod texts;

use python_compat::number;
use python_compat::show::{JsonError, Style};
use python_compat::text::{self, capitalize};

use self::lists::{chunks, dictsort, join, map, ordering, select};
use self::numbers::{int, round};
use self::texts::{filesize, indent, title, truncate, urlencode, wordwrap, xmlattr};
use super::callable::{Arguments, fits, text as text_of, whole};
use super::value::{
    self, Entries, Key, MAX_WEIGHT, SequenceKind, TextKind, Value, length, sequence, tuple,
};
use super::{
    Fault, ITEM, Render, charge, charge_looking, charge_printing, defined, format, items_of,
    limit_error, made, made_list, made_of, markup, methods, operators, type_error,
};

/// The filters. They are listed once, because a template with any other name is refused when it is
/// read.
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

/// Tells whether there is a filter of that name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Applies the filter that `args` are named after.
pub(crate) fn apply(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let name = args.name.clone();
    let name = &*name;
    charge(render, 1)?;
    match name {
        "map" => return map(render, value, args),
        "select" | "reject" | "selectattr" | "rejectattr" => return select(render, value, args),
        "format" => {
            charge_printing(render, value)?;
            let text = value.str();
            let arguments = match args.named.is_empty() {
                true => tuple(args.positional)?,
                false => {
                    let named = args.named.into_iter();
                    let entries: Entries = named.map(|(k, v)| (Key::from(&*k), v)).collect();
                    value::dict(entries)?
                }
            };
            let kind = value.text_kind();
            let text = format::percent(render, &text, kind, &arguments)?;
            return made_of(render, kind, text);
        }
        _ => {}
    }
    if ONE_PASS.contains(&name) {
        args.bind::<0>([])?;
        return one_pass(render, name, value);
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
            Ok(match value {
                Value::Dict(_) | Value::Text(_) | Value::Sequence(_)
                    if !methods::has(value.type_name(), name) =>
                {
                    Value::Undefined
                }
                _ => operators::attribute(value, name),
            })
        }
        "tojson" => tojson(render, value, args),
        "trim" => {
            let [characters] = args.bind(["chars"])?;
            let text = plain(render, value)?;
            let text = methods::strip_both(&text, characters.as_ref())?;
            made_of(render, value.text_kind(), text)
        }
        "replace" => {
            let [old, new, count] = args.bind(["old", "new", "count"])?;
            let text = plain(render, value)?;
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let (old, new) = (plain(render, &old)?, plain(render, &new)?);
            let count = match count.filter(|c| !c.is_none()) {
                Some(count) => usize::try_from(whole(name, &count)?).ok(),
                None => None,
            };
            methods::replace(render, &text, &old, &new, count)
        }
        "join" => join(render, value, args),
        "int" => {
            charge_printing(render, value)?;
            int(value, args)
        }
        "float" => {
            charge_printing(render, value)?;
            let [default] = args.bind(["default"])?;
            let parsed = match defined(value)? {
                Value::Text(text) => number::float(text),
                _ => value.float(),
            };
            Ok(match parsed {
                Some(number) => Value::from(number),
                None => default.unwrap_or_else(|| Value::from(0.0)),
            })
        }
        "indent" => indent(render, value, args),
        "center" => {
            let [width] = args.bind(["width"])?;
            let width = match width {
                Some(width) => whole(name, &width)?,
                None => 80,
            };
            let text = plain(render, value)?;
            let share = |missing: usize, width: usize| missing / 2 + (missing & width & 1);
            let padded = methods::pad(render, &text, width, ' ', share)?;
            Ok(match padded {
                Value::Text(text) => value.text_kind().of(text.shared().clone()),
                other => other,
            })
        }
        "round" => round(value, args),
        "sort" | "unique" | "min" | "max" | "sum" | "groupby" => ordering(render, value, args),
        "dictsort" => dictsort(render, value, args),
        "batch" | "slice" => chunks(render, value, args),
        "truncate" => truncate(render, value, args),
        "wordwrap" => wordwrap(render, value, args),
        "filesizeformat" => {
            let [binary] = args.bind(["binary"])?;
            let binary = binary.is_some_and(|b| b.is_true());
            charge_looking(render, value)?;
            made(render, filesize(value, binary)?)
        }
        "urlencode" => {
            args.bind::<0>([])?;
            urlencode(render, value)
        }
        "xmlattr" => {
            let [autospace] = args.bind(["autospace"])?;
            let space = autospace.is_none_or(|a| a.is_true());
            xmlattr(render, value, space)
        }
        _ => Err(type_error(format!("No filter named '{name}'."))),
    }
}

/// Filters without arguments. They are listed, because they share one path, which checks that
/// nothing is given.
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
fn plain(render: &mut Render, value: &Value) -> Result<String, Fault> {
    charge_printing(render, value)?;
    Ok(value.str())
}

fn one_pass(render: &mut Render, name: &str, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        // Counted, reversed or rewritten, it is read from end to end.
        charge(render, text.len() / 8)?;
    }
    match name {
        "abs" => match (value.integer(), value.float()) {
            (Some(number), _) => fits(number.checked_abs()),
            (None, Some(number)) => Ok(Value::from(number.abs())),
            _ => {
                defined(value)?;
                Err(type_error(format!(
                    "bad operand type for abs(): '{}'",
                    value.type_name()
                )))
            }
        },
        "count" | "length" => length(value).map(Value::from).ok_or_else(|| {
            type_error(format!(
                "object of type '{}' has no len()",
                value.type_name()
            ))
        }),
        "first" => {
            if let Value::Text(text) = value {
                let first = text.chars().next().map(|c| Value::from(c.to_string()));
                return Ok(first.unwrap_or_default());
            }
            Ok(items_of(render, value)?
                .into_iter()
                .next()
                .unwrap_or_default())
        }
        "last" => {
            if let Value::Text(text) = value {
                let last = text.chars().next_back();
                // `reversed` asks for items, and those of markup are markup.
                let last = last.map(|c| text.kind().of(c.to_string()));
                return Ok(last.unwrap_or_default());
            }
            if value.type_name() == "generator" {
                return Err(type_error("'generator' object is not reversible"));
            }
            Ok(items_of(render, value)?
                .into_iter()
                .next_back()
                .unwrap_or_default())
        }
        "list" => {
            let items = items_of(render, value)?;
            made_list(render, items)
        }
        "items" => match value {
            Value::Undefined => generator(render, Vec::new()),
            Value::Dict(dict) => {
                charge(render, dict.entries.len() * 2 * ITEM)?;
                let pairs = methods::pairs(&dict.entries)?;
                generator(render, pairs)
            }
            _ => Err(type_error("Can only get item pairs from a mapping.")),
        },
        "reverse" => match value {
            Value::Text(text) => {
                charge(render, text.len())?;
                Ok(text.kind().of(text.chars().rev().collect::<String>()))
            }
            _ if value.type_name() == "generator" => {
                let items = items_of(render, value)?.into_iter().rev().collect();
                made_list(render, items)
            }
            _ => {
                let items = items_of(render, value)?.into_iter().rev().collect();
                generator(render, items)
            }
        },
        "safe" => match value {
            Value::Text(text) => Ok(TextKind::Markup.of(text.shared().clone())),
            _ => {
                let text = plain(render, value)?;
                made_of(render, TextKind::Markup, text)
            }
        },
        "string" => match value {
            Value::Text(_) => Ok(value.clone()),
            _ => {
                let text = plain(render, value)?;
                made(render, text)
            }
        },
        "e" | "escape" if value.is_markup() => Ok(value.clone()),
        "e" | "escape" | "forceescape" => {
            let text = plain(render, value)?;
            charge(render, text.len() * 2)?;
            made_of(render, TextKind::Markup, markup::escape(&text))
        }
        "pprint" => {
            charge_printing(render, value)?;
            made(render, python_compat::repr(value))
        }
        "wordcount" => {
            let text = plain(render, value)?;
            let words = text.split(|c: char| !(text::is_alphanumeric(c) || c == '_'));
            Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
        }
        _ => {
            let text = plain(render, value)?;
            charge(render, text.len() * 2)?;
            let (kind, text) = match name {
                "capitalize" => (value.text_kind(), capitalize(&text)),
                "lower" => (value.text_kind(), text.to_lowercase()),
                "upper" => (value.text_kind(), text.to_uppercase()),
                "title" => (TextKind::Plain, title(&text)),
                _ => return markup::striptags(render, &text),
            };
            made_of(render, kind, text)
        }
    }
}

fn generator(render: &mut Render, items: Vec<Value>) -> Result<Value, Fault> {
    charge(render, items.len() * ITEM)?;
    sequence(SequenceKind::Generator, items)
}

fn tojson(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [ascii, indent, separators, sort_keys] =
        args.bind(["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match indent.filter(|v| !v.is_none()) {
        None => None,
        Some(indent) => Some(match &indent {
            Value::Text(text) => text.to_string(),
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
        Some(separators) => match items_of(render, &separators)?.as_slice() {
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
    let mut style = Style::plain();
    style.ascii = ascii.is_some_and(|v| v.is_true());
    style.indent = indent;
    style.item_separator = item;
    style.key_separator = key;
    style.sort_keys = sort_keys.is_some_and(|v| v.is_true());
    style.limit = MAX_WEIGHT;
    charge_printing(render, value)?;
    match python_compat::dumps(value, &style) {
        Ok(json) => made(render, json),
        Err(JsonError::Unserializable(message)) => Err(type_error(message)),
        Err(_) => Err(limit_error(format!("JSON of more than {MAX_WEIGHT} bytes"))),
    }
}

/// The longest indentation or separators of `tojson`, in bytes: no prompt has more, and each line
/// repeats it, so that a long one would multiply the text.
const MAX_INDENT: usize = 256;
