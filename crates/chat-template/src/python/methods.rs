//! Methods of Python's texts, lists and maps.

use indexmap::IndexMap;
use minijinja::{Error, ErrorKind, State, Value};

use super::call::{Arguments, text as text_of, whole};
use super::text::{
    self, LineEnds, all_cased, capitalize, is_alpha, is_decimal, is_digit, is_space, lines,
    rsplit_space, split_space, swapcase, title,
};
use super::value::{
    Dict, Sequence, SequenceKind, dict as new_dict, equal, integer, list, sequence as new, tuple,
};
use super::{charge, charge_looking, format, items_of, made, type_error};

/// Methods that change what they belong to, which templates must not.
const MUTATING: [&str; 17] = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
    "add",
    "discard",
    "difference_update",
    "appendleft",
    "rotate",
    "__setitem__",
];

const TEXT_METHODS: [&str; 45] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];

/// Whether a value of that type has a method of that name.
pub(super) fn has(type_name: &str, method: &str) -> bool {
    let own: &[&str] = match type_name {
        "str" => return TEXT_METHODS.contains(&method),
        "dict" => &DICT_METHODS,
        "list" => &LIST_METHODS,
        "tuple" | "range" => return ["count", "index"].contains(&method),
        other => return super::numbers::has(other, method),
    };
    own.contains(&method)
        || match type_name {
            "dict" => [
                "clear",
                "pop",
                "popitem",
                "setdefault",
                "update",
                "fromkeys",
            ]
            .contains(&method),
            _ => [
                "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
            ]
            .contains(&method),
        }
}

/// Whether it is a method that templates must not use.
pub(super) fn is_mutating(method: &str) -> bool {
    MUTATING.contains(&method)
}

#[cold]
fn unsafe_method(kind: &str, name: &str) -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        format!("access to attribute '{name}' of '{kind}' object is unsafe."),
    )
}

/// A slice of a text by code points, as the optional last arguments of `find`
/// and others give it: the slice and where it starts.
fn window<'t>(
    function: &str,
    text: &'t str,
    start: Option<&Value>,
    end: Option<&Value>,
) -> Result<(&'t str, usize), Error> {
    if start.is_none_or(Value::is_none) && end.is_none_or(Value::is_none) {
        return Ok((text, 0));
    }
    let count = text.chars().count();
    let place = |value: Option<&Value>, default: usize| -> Result<usize, Error> {
        let Some(value) = value.filter(|v| !v.is_none()) else {
            return Ok(default);
        };
        let place = whole(function, value)?;
        Ok(match usize::try_from(place) {
            Ok(place) => place,
            Err(_) => {
                let back = usize::try_from(place.unsigned_abs()).unwrap_or(usize::MAX);
                count.saturating_sub(back)
            }
        })
    };
    let (start, end) = (place(start, 0)?, place(end, count)?.min(count));
    if start > end {
        // Nothing is found here, not even nothing.
        return Ok(("", usize::MAX));
    }
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(b, _)| b);
    let (first, last) = (byte(start), byte(end));
    Ok((text.get(first..last).unwrap_or_default(), start))
}

/// Texts to compare with: one, or a tuple of them.
fn candidates(function: &str, value: &Value) -> Result<Vec<String>, Error> {
    match super::value::view(value) {
        super::value::View::Sequence(sequence) if sequence.kind == SequenceKind::Tuple => sequence
            .items
            .iter()
            .map(|item| Ok(text_of(function, item)?.to_owned()))
            .collect(),
        _ => Ok(vec![text_of(function, value)?.to_owned()]),
    }
}

/// The number of times at most, where a negative one means no limit.
fn most(function: &str, value: Option<&Value>) -> Result<Option<usize>, Error> {
    match value {
        None => Ok(None),
        Some(value) => Ok(usize::try_from(whole(function, value)?).ok()),
    }
}

fn fill(function: &str, value: Option<&Value>) -> Result<char, Error> {
    let Some(value) = value else {
        return Ok(' ');
    };
    let text = text_of(function, value)?;
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(type_error(
            "The fill character must be exactly one character long",
        )),
    }
}

/// Pads a text to a number of code points.
pub(super) fn pad(
    state: &mut State<'_, '_>,
    text: &str,
    width: i64,
    fill: char,
    share: impl Fn(usize, usize) -> usize,
) -> Result<Value, Error> {
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    charge(state, missing.saturating_mul(fill.len_utf8()))?;
    let left = share(missing, width);
    let mut out = String::new();
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(text);
    out.extend(std::iter::repeat_n(fill, missing - left));
    made(state, out)
}

/// Replaces as `str.replace` does.
pub(super) fn replace(
    state: &mut State<'_, '_>,
    text: &str,
    old: &str,
    new: &str,
    count: Option<usize>,
) -> Result<Value, Error> {
    let times = text.matches(old).count().min(count.unwrap_or(usize::MAX));
    charge(state, text.len() + times.saturating_mul(new.len() + 8))?;
    let replaced = match count {
        None => text.replace(old, new),
        Some(count) => text.replacen(old, new, count),
    };
    Ok(Value::from(replaced))
}

enum Strip {
    Both,
    Left,
    Right,
}

fn strip(text: &str, characters: Option<&Value>, side: Strip) -> Result<String, Error> {
    let set = match characters.filter(|v| !v.is_none()) {
        Some(value) => Some(text_of("strip", value)?),
        None => None,
    };
    let is = |c: char| match set {
        Some(set) => set.contains(c),
        None => is_space(c),
    };
    Ok(match side {
        Strip::Both => text.trim_matches(is),
        Strip::Left => text.trim_start_matches(is),
        Strip::Right => text.trim_end_matches(is),
    }
    .to_owned())
}

/// Strips as `str.strip` does, both sides.
pub(super) fn strip_both(text: &str, characters: Option<&Value>) -> Result<String, Error> {
    strip(text, characters, Strip::Both)
}

/// A method of a text; none if there is no such.
pub(super) fn text(
    state: &mut State<'_, '_>,
    receiver: &str,
    name: &str,
    args: Arguments,
) -> Option<Result<Value, Error>> {
    TEXT_METHODS
        .contains(&name)
        .then(|| text_method(state, receiver, name, args))
}

fn text_method(
    state: &mut State<'_, '_>,
    receiver: &str,
    name: &str,
    args: Arguments,
) -> Result<Value, Error> {
    let named = ["split", "rsplit", "splitlines", "expandtabs", "format"].contains(&name);
    if !named && !args.named.is_empty() {
        return Err(type_error(format!(
            "str.{name}() takes no keyword arguments"
        )));
    }
    // Each character is looked up in tables, compared, or changed.
    let times = match name {
        _ if name.starts_with("is") => 1,
        "find" | "rfind" | "index" | "rindex" | "count" | "strip" | "lstrip" | "rstrip" => 1,
        "lower" | "casefold" | "upper" | "capitalize" | "title" | "swapcase" => 3,
        _ => 0,
    };
    charge(state, receiver.len() * times)?;
    let plain = |args: Arguments| args.bind::<0>([]).map(|_| ());
    let all = |is: fn(char) -> bool| !receiver.is_empty() && receiver.chars().all(is);
    Ok(match name {
        "lower" | "casefold" | "upper" | "capitalize" | "title" | "swapcase" => {
            plain(args)?;
            let text = match name {
                "lower" => receiver.to_lowercase(),
                "casefold" => text::casefold(receiver),
                "upper" => receiver.to_uppercase(),
                "capitalize" => capitalize(receiver),
                "title" => title(receiver),
                _ => swapcase(receiver),
            };
            made(state, text)?
        }
        "isalnum" => {
            plain(args)?;
            Value::from(all(|c| c.is_alphanumeric()))
        }
        "isalpha" => {
            plain(args)?;
            Value::from(all(is_alpha))
        }
        "isascii" => {
            plain(args)?;
            Value::from(receiver.is_ascii())
        }
        "isdecimal" => {
            plain(args)?;
            Value::from(all(is_decimal))
        }
        "isdigit" => {
            plain(args)?;
            Value::from(all(is_digit))
        }
        "isnumeric" => {
            plain(args)?;
            Value::from(all(char::is_numeric))
        }
        "isspace" => {
            plain(args)?;
            Value::from(all(is_space))
        }
        "isprintable" => {
            plain(args)?;
            Value::from(receiver.chars().all(text::is_printable))
        }
        "isidentifier" => {
            plain(args)?;
            let mut characters = receiver.chars();
            let first = characters.next();
            Value::from(
                first.is_some_and(|c| c == '_' || c.is_alphabetic())
                    && characters.all(|c| c == '_' || c.is_alphanumeric()),
            )
        }
        "islower" => {
            plain(args)?;
            Value::from(all_cased(receiver, char::is_lowercase))
        }
        "isupper" => {
            plain(args)?;
            Value::from(all_cased(receiver, char::is_uppercase))
        }
        "istitle" => {
            plain(args)?;
            Value::from(text::is_title(receiver))
        }
        "strip" | "lstrip" | "rstrip" => {
            let [characters] = args.bind(["chars"])?;
            let side = match name {
                "strip" => Strip::Both,
                "lstrip" => Strip::Left,
                _ => Strip::Right,
            };
            made(state, strip(receiver, characters.as_ref(), side)?)?
        }
        "startswith" | "endswith" => {
            let [prefix, start, end] = args.bind(["prefix", "start", "end"])?;
            charge(state, prefix.as_ref().map_or(0, super::value::weight))?;
            let candidates = candidates(name, &prefix.unwrap_or_default())?;
            let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
            let found = start != usize::MAX
                && candidates.iter().any(|candidate| match name {
                    "startswith" => window.starts_with(candidate.as_str()),
                    _ => window.ends_with(candidate.as_str()),
                });
            Value::from(found)
        }
        "find" | "index" | "rfind" | "rindex" => {
            let [sub, start, end] = args.bind(["sub", "start", "end"])?;
            let sub = sub.unwrap_or_default();
            let sub = text_of(name, &sub)?;
            let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
            let found = match name.starts_with('r') {
                false => window.find(sub),
                true => window.rfind(sub),
            };
            match found.filter(|_| start != usize::MAX) {
                Some(at) => Value::from(start + window[..at].chars().count()),
                None if name.ends_with("find") => Value::from(-1),
                None => return Err(type_error("substring not found")),
            }
        }
        "count" => {
            let [sub, start, end] = args.bind(["sub", "start", "end"])?;
            let sub = sub.unwrap_or_default();
            let sub = text_of(name, &sub)?;
            let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
            match start {
                usize::MAX => Value::from(0),
                _ => Value::from(window.matches(sub).count()),
            }
        }
        "replace" => {
            let [old, new, count] = args.bind(["old", "new", "count"])?;
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let count = most(name, count.as_ref())?;
            replace(
                state,
                receiver,
                text_of(name, &old)?,
                text_of(name, &new)?,
                count,
            )?
        }
        "removeprefix" | "removesuffix" => {
            let [affix] = args.bind_all(["affix"])?;
            let affix = text_of(name, &affix)?;
            let text = match name {
                "removeprefix" => receiver.strip_prefix(affix),
                _ => receiver.strip_suffix(affix),
            };
            made(state, text.unwrap_or(receiver))?
        }
        "split" | "rsplit" => {
            let [separator, count] = args.bind(["sep", "maxsplit"])?;
            let count = most(name, count.as_ref())?;
            let from_left = name == "split";
            let parts = match separator.as_ref().and_then(Value::as_str) {
                None => text::word_count(receiver),
                Some("") => 0,
                Some(separator) => receiver.matches(separator).count() + 1,
            };
            charge(
                state,
                receiver.len() + parts.min(count.unwrap_or(parts)) * super::ITEM,
            )?;
            let parts: Vec<&str> = match separator.filter(|s| !s.is_none()) {
                None if from_left => split_space(receiver, count),
                None => rsplit_space(receiver, count),
                Some(separator) => {
                    let separator = text_of(name, &separator)?.to_owned();
                    if separator.is_empty() {
                        return Err(type_error("empty separator"));
                    }
                    let count = count.unwrap_or(usize::MAX - 1) + 1;
                    match from_left {
                        true => receiver.splitn(count, separator.as_str()).collect(),
                        false => {
                            let mut parts: Vec<&str> =
                                receiver.rsplitn(count, separator.as_str()).collect();
                            parts.reverse();
                            parts
                        }
                    }
                }
            };
            list(parts.into_iter().map(Value::from).collect())?
        }
        "splitlines" => {
            let [keep] = args.bind(["keepends"])?;
            let ends = match keep.is_some_and(|keep| keep.is_true()) {
                true => LineEnds::Keep,
                false => LineEnds::Drop,
            };
            let count = text::line_count(receiver);
            charge(state, receiver.len() + count * super::ITEM)?;
            let lines = lines(receiver, ends).into_iter().map(Value::from);
            list(lines.collect())?
        }
        "partition" | "rpartition" => {
            let [separator] = args.bind_all(["sep"])?;
            let separator = text_of(name, &separator)?;
            if separator.is_empty() {
                return Err(type_error("empty separator"));
            }
            let found = match name {
                "partition" => receiver.split_once(separator),
                _ => receiver.rsplit_once(separator),
            };
            charge(state, receiver.len())?;
            let parts = match (found, name) {
                (Some((before, after)), _) => [before, separator, after],
                (None, "partition") => [receiver, "", ""],
                (None, _) => ["", "", receiver],
            };
            tuple(parts.map(Value::from).to_vec())?
        }
        "join" => {
            let [items] = args.bind_all(["iterable"])?;
            let items = items_of(state, &items)?;
            let mut out = String::new();
            for (at, item) in items.iter().enumerate() {
                let super::value::View::Text(item) = super::value::view(item) else {
                    return Err(type_error(format!(
                        "sequence item {at}: expected str instance, {} found",
                        super::value::type_name(item)
                    )));
                };
                charge(state, item.len() + receiver.len())?;
                if at > 0 {
                    out.push_str(receiver);
                }
                out.push_str(item);
            }
            Value::from(out)
        }
        "ljust" | "rjust" | "center" => {
            let [width, character] = args.bind(["width", "fillchar"])?;
            let width = whole(name, &width.unwrap_or_default())?;
            let character = fill(name, character.as_ref())?;
            pad(
                state,
                receiver,
                width,
                character,
                |missing, width| match name {
                    "ljust" => 0,
                    "rjust" => missing,
                    _ => missing / 2 + (missing & width & 1),
                },
            )?
        }
        "zfill" => {
            let [width] = args.bind_all(["width"])?;
            let width = whole(name, &width)?;
            let (sign, digits) = match receiver.chars().next() {
                Some(c @ ('+' | '-')) => (Some(c), &receiver[1..]),
                _ => (None, receiver),
            };
            let width = width - i64::from(sign.is_some());
            let padded = pad(state, digits, width, '0', |missing, _| missing)?;
            let mut out: String = sign.into_iter().collect();
            out.push_str(padded.as_str().unwrap_or_default());
            made(state, out)?
        }
        "expandtabs" => {
            let [size] = args.bind(["tabsize"])?;
            let size = match size {
                Some(size) => whole(name, &size)?,
                None => 8,
            };
            let size = usize::try_from(size).unwrap_or(0);
            let tabs = receiver.matches('\t').count();
            charge(state, receiver.len() + tabs.saturating_mul(size))?;
            let mut out = String::new();
            let mut column = 0;
            for c in receiver.chars() {
                match c {
                    '\t' if size == 0 => {}
                    '\t' => {
                        let blanks = size - column % size;
                        out.extend(std::iter::repeat_n(' ', blanks));
                        column += blanks;
                    }
                    '\n' | '\r' => {
                        out.push(c);
                        column = 0;
                    }
                    c => {
                        out.push(c);
                        column += 1;
                    }
                }
            }
            Value::from(out)
        }
        "format" => {
            let text = format::braces(state, receiver, &args)?;
            made(state, text)?
        }
        "format_map" => {
            let [names] = args.bind_all(["mapping"])?;
            let super::value::View::Dict(names) = super::value::view(&names) else {
                return Err(type_error("format_map() wants a mapping"));
            };
            let named = names.entries.iter();
            let named =
                named.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.clone())));
            let args = Arguments {
                name: name.to_owned(),
                positional: Vec::new(),
                named: named.collect(),
            };
            let text = format::braces(state, receiver, &args)?;
            made(state, text)?
        }
        _ => {
            return Err(type_error(format!(
                "the method '{name}' of texts is not supported"
            )));
        }
    })
}

/// A method of a list, a tuple, a range or a view; none if there is no such.
pub(super) fn sequence(
    receiver: &Sequence,
    name: &str,
    args: Arguments,
) -> Option<Result<Value, Error>> {
    let listed = receiver.kind == SequenceKind::List;
    if listed && MUTATING.contains(&name) {
        return Some(Err(unsafe_method("list", name)));
    }
    let indexed = matches!(
        receiver.kind,
        SequenceKind::List | SequenceKind::Tuple | SequenceKind::Range { .. }
    );
    Some(match name {
        "copy" if listed => list(receiver.items.clone()),
        "count" if indexed => args.bind_all(["value"]).map(|[wanted]| {
            let found = receiver.items.iter().filter(|item| equal(item, &wanted));
            Value::from(found.count())
        }),
        "index" if indexed => args.bind(["value", "start", "end"]).and_then(|places| {
            let [wanted, start, end] = places;
            let count = receiver.items.len();
            let place = |value: Option<Value>, default: usize| {
                let Some(at) = value.as_ref().and_then(integer) else {
                    return default;
                };
                let at = if at < 0 { at + count as i128 } else { at };
                usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(count)
            };
            let wanted = wanted.unwrap_or_default();
            let (start, end) = (place(start, 0), place(end, count));
            let mut range = receiver.items.iter().enumerate().take(end).skip(start);
            let found = range.find(|(_, item)| equal(item, &wanted));
            match found {
                Some((at, _)) => Ok(Value::from(at)),
                None => Err(type_error(format!(
                    "{} is not in list",
                    text::repr(&wanted)
                ))),
            }
        }),
        _ => return None,
    })
}

/// A method of a map; none if there is no such.
pub(super) fn dict(
    state: &mut State<'_, '_>,
    receiver: &Dict,
    name: &str,
    args: Arguments,
) -> Option<Result<Value, Error>> {
    if MUTATING.contains(&name) {
        return Some(Err(unsafe_method("dict", name)));
    }
    let entries = &receiver.entries;
    let view = |kind: &'static str, items: Vec<Value>| new(SequenceKind::View(kind), items);
    Some(match name {
        "get" => args.bind(["key", "default"]).and_then(|[key, default]| {
            let key = key.ok_or_else(|| type_error("get expected at least 1 argument, got 0"))?;
            charge_looking(state, &key)?;
            Ok(match entries.get(&key) {
                Some(value) => value.clone(),
                None => default.unwrap_or_else(|| Value::from(())),
            })
        }),
        "items" | "keys" | "values" | "copy" => args
            .bind::<0>([])
            .and_then(|_| charge(state, entries.len() * super::ITEM))
            .and_then(|()| match name {
                "keys" => view("dict_keys", entries.keys().cloned().collect()),
                "values" => view("dict_values", entries.values().cloned().collect()),
                "items" => view("dict_items", pairs(entries)?),
                _ => new_dict(entries.clone()),
            }),
        "fromkeys" => from_keys(state, args),
        _ => return None,
    })
}

/// The entries of a map as tuples.
pub(super) fn pairs(entries: &IndexMap<Value, Value>) -> Result<Vec<Value>, Error> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| tuple(vec![key.clone(), value.clone()]))
        .collect()
}

/// `dict.fromkeys`.
pub(super) fn from_keys(state: &mut State<'_, '_>, args: Arguments) -> Result<Value, Error> {
    let [keys, value] = args.bind(["iterable", "value"])?;
    let value = value.unwrap_or_else(|| Value::from(()));
    let keys = items_of(state, &keys.unwrap_or_default())?;
    charge(state, keys.len() * super::ITEM)?;
    for key in &keys {
        charge_looking(state, key)?;
    }
    new_dict(keys.into_iter().map(|key| (key, value.clone())).collect())
}
