//! Methods of Python's texts, lists and maps. For example, `' a b '.strip().split(' ')` is `['a',
//! 'b']`.

use python_compat::text::{
    self, LineEnds, all_cased, capitalize, is_alpha, is_alphanumeric, is_decimal, is_digit,
    is_space, lines, rsplit_space, split_space, swapcase, title,
};

use super::callable::{Arguments, text as text_of, whole};
use super::value::{
    self, Dict, Entries, Key, Sequence, SequenceKind, Text, Value, dict as new_dict, equal, list,
    sequence as new, tuple,
};
use super::{
    Fault, ITEM, Render, charge, charge_looking, format, items_of, made, markup, type_error,
};

/// Methods that change what they belong to. They are refused, because templates run as in Jinja's
/// immutable sandbox.
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

/// The methods of `str`, as CPython 3.11 has them.
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

/// The methods of `dict` that change nothing, as CPython 3.11 has them.
const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
/// The methods of `list` that change nothing, as CPython 3.11 has them.
const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];

/// Tells whether a value of that type has a method of that name.
pub(crate) fn has(type_name: &str, method: &str) -> bool {
    let own: &[&str] = match type_name {
        "str" => return TEXT_METHODS.contains(&method),
        "Markup" => return TEXT_METHODS.contains(&method) || markup::METHODS.contains(&method),
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

/// Tells whether it is a method that templates must not use.
pub(crate) fn is_mutating(method: &str) -> bool {
    MUTATING.contains(&method)
}

#[cold]
fn unsafe_method(kind: &str, name: &str) -> Fault {
    type_error(format!(
        "access to attribute '{name}' of '{kind}' object is unsafe."
    ))
}

/// A slice of a text by code points, as the optional last arguments of `find`
/// and others give it: the slice and where it starts.
fn window<'t>(
    function: &str,
    text: &'t str,
    start: Option<&Value>,
    end: Option<&Value>,
) -> Result<(&'t str, usize), Fault> {
    if start.is_none_or(Value::is_none) && end.is_none_or(Value::is_none) {
        return Ok((text, 0));
    }
    let count = text.chars().count();
    let place = |value: Option<&Value>, default: usize| -> Result<usize, Fault> {
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
fn candidates(function: &str, value: &Value) -> Result<Vec<String>, Fault> {
    match value {
        Value::Sequence(sequence) if sequence.kind == SequenceKind::Tuple => sequence
            .items
            .iter()
            .map(|item| Ok(text_of(function, item)?.to_owned()))
            .collect(),
        _ => Ok(vec![text_of(function, value)?.to_owned()]),
    }
}

/// The number of times at most, where a negative one means no limit.
fn most(function: &str, value: Option<&Value>) -> Result<Option<usize>, Fault> {
    match value {
        None => Ok(None),
        Some(value) => Ok(usize::try_from(whole(function, value)?).ok()),
    }
}

fn fill(function: &str, value: Option<&Value>) -> Result<char, Fault> {
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
pub(crate) fn pad(
    render: &mut Render,
    text: &str,
    width: i64,
    fill: char,
    share: impl Fn(usize, usize) -> usize,
) -> Result<Value, Fault> {
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    charge(render, missing.saturating_mul(fill.len_utf8()))?;
    let left = share(missing, width);
    let mut out = String::new();
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(text);
    out.extend(std::iter::repeat_n(fill, missing - left));
    made(render, out)
}

/// Replaces as `str.replace` does.
pub(crate) fn replace(
    render: &mut Render,
    text: &str,
    old: &str,
    new: &str,
    count: Option<usize>,
) -> Result<Value, Fault> {
    let times = text.matches(old).count().min(count.unwrap_or(usize::MAX));
    charge(render, text.len() + times.saturating_mul(new.len() + 8))?;
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

fn strip(text: &str, characters: Option<&Value>, side: Strip) -> Result<String, Fault> {
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
pub(crate) fn strip_both(text: &str, characters: Option<&Value>) -> Result<String, Fault> {
    strip(text, characters, Strip::Both)
}

/// The method of a text that `args` are named after, of those that [`has`] knows.
pub(crate) fn text(render: &mut Render, receiver: &Text, args: Arguments) -> Result<Value, Fault> {
    match receiver.is_markup() {
        true => markup::method(render, receiver, args),
        false => plain_text(render, receiver, args),
    }
}

/// The same of plain text; of markup, but for `format`, the text without its kind.
pub(crate) fn plain_text(
    render: &mut Render,
    receiver: &Text,
    args: Arguments,
) -> Result<Value, Fault> {
    let kind = receiver.kind();
    let receiver = &**receiver;
    let name = args.name.clone();
    let name = &*name;
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
    charge(render, receiver.len() * times)?;
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
            made(render, text)?
        }
        "isalnum" => {
            plain(args)?;
            Value::from(all(is_alphanumeric))
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
            Value::from(text::is_identifier(receiver))
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
            made(render, strip(receiver, characters.as_ref(), side)?)?
        }
        "startswith" | "endswith" => {
            let [prefix, start, end] = args.bind(["prefix", "start", "end"])?;
            charge(render, prefix.as_ref().map_or(0, value::weight))?;
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
                None if name.ends_with("find") => Value::Int(-1),
                None => return Err(type_error("substring not found")),
            }
        }
        "count" => {
            let [sub, start, end] = args.bind(["sub", "start", "end"])?;
            let sub = sub.unwrap_or_default();
            let sub = text_of(name, &sub)?;
            let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
            match start {
                usize::MAX => Value::Int(0),
                _ => Value::from(window.matches(sub).count()),
            }
        }
        "replace" => {
            let [old, new, count] = args.bind(["old", "new", "count"])?;
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let count = most(name, count.as_ref())?;
            replace(
                render,
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
            made(render, text.unwrap_or(receiver))?
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
                render,
                receiver.len() + parts.min(count.unwrap_or(parts)) * ITEM,
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
            charge(render, receiver.len() + count * ITEM)?;
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
            charge(render, receiver.len())?;
            let parts = match (found, name) {
                (Some((before, after)), _) => [before, separator, after],
                (None, "partition") => [receiver, "", ""],
                (None, _) => ["", "", receiver],
            };
            tuple(parts.map(Value::from).to_vec())?
        }
        "join" => {
            let [items] = args.bind_all(["iterable"])?;
            let items = items_of(render, &items)?;
            let mut out = String::new();
            for (at, item) in items.iter().enumerate() {
                let Value::Text(item) = item else {
                    return Err(type_error(format!(
                        "sequence item {at}: expected str instance, {} found",
                        item.type_name()
                    )));
                };
                charge(render, item.len() + receiver.len())?;
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
                render,
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
            let padded = pad(render, digits, width, '0', |missing, _| missing)?;
            let mut out: String = sign.into_iter().collect();
            out.push_str(padded.as_str().unwrap_or_default());
            made(render, out)?
        }
        "expandtabs" => {
            let [size] = args.bind(["tabsize"])?;
            let size = match size {
                Some(size) => whole(name, &size)?,
                None => 8,
            };
            let size = usize::try_from(size).unwrap_or(0);
            let tabs = receiver.matches('\t').count();
            charge(render, receiver.len() + tabs.saturating_mul(size))?;
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
            let text = format::braces(render, receiver, kind, &args)?;
            made(render, text)?
        }
        "format_map" => {
            let [names] = args.bind_all(["mapping"])?;
            let Value::Dict(names) = names else {
                return Err(type_error("format_map() wants a mapping"));
            };
            charge(render, names.entries.len() * ITEM)?;
            let named = names
                .entries
                .iter()
                .filter_map(|(key, value)| match key.value() {
                    Value::Text(key) => Some((key.shared().clone(), value.clone())),
                    _ => None,
                });
            let args = Arguments {
                name: name.into(),
                positional: Vec::new(),
                named: named.collect(),
            };
            let text = format::braces(render, receiver, kind, &args)?;
            made(render, text)?
        }
        _ => {
            return Err(type_error(format!(
                "the method '{name}' of texts is not supported"
            )));
        }
    })
}

/// The method of a list, a tuple, a range or a view that `args` are named after; none if
/// there is no such.
pub(crate) fn sequence(receiver: &Sequence, args: Arguments) -> Option<Result<Value, Fault>> {
    let name = args.name.clone();
    let name = &*name;
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
                let Some(at) = value.as_ref().and_then(Value::integer) else {
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
                    python_compat::repr(&wanted)
                ))),
            }
        }),
        _ => return None,
    })
}

/// The method of a map that `args` are named after, of those that [`has`] knows.
pub(crate) fn dict(render: &mut Render, receiver: &Dict, args: Arguments) -> Result<Value, Fault> {
    let name = args.name.clone();
    let entries = &receiver.entries;
    if MUTATING.contains(&&*name) {
        return Err(unsafe_method("dict", &name));
    }
    if &*name == "get" {
        let [key, default] = args.bind(["key", "default"])?;
        let key = key.ok_or_else(|| type_error("get expected at least 1 argument, got 0"))?;
        charge_looking(render, &key)?;
        let found = match &key {
            Value::Text(name) => receiver.get(name),
            other => entries.get(&Key::new(other.clone())?),
        };
        return Ok(found.cloned().or(default).unwrap_or(Value::None));
    }
    if &*name == "fromkeys" {
        return from_keys(render, args);
    }
    args.bind::<0>([])?;
    charge(render, entries.len() * ITEM)?;
    let view = |kind: &'static str, items: Vec<Value>| new(SequenceKind::View(kind), items);
    match &*name {
        "keys" => view(
            "dict_keys",
            entries.keys().map(|key| key.value().clone()).collect(),
        ),
        "values" => view("dict_values", entries.values().cloned().collect()),
        "items" => view("dict_items", pairs(entries)?),
        _ => new_dict(entries.clone()),
    }
}

/// The entries of a map as tuples.
pub(crate) fn pairs(entries: &Entries) -> Result<Vec<Value>, Fault> {
    let pairs = entries.iter();
    pairs
        .map(|(key, value)| tuple(vec![key.value().clone(), value.clone()]))
        .collect()
}

/// `dict.fromkeys`.
pub(crate) fn from_keys(render: &mut Render, args: Arguments) -> Result<Value, Fault> {
    let [keys, value] = args.bind(["iterable", "value"])?;
    let value = value.unwrap_or_else(|| Value::None);
    let keys = items_of(render, &keys.unwrap_or_default())?;
    charge(render, keys.len() * ITEM)?;
    for key in &keys {
        charge_looking(render, key)?;
    }
    let entries: Result<Entries, Fault> = keys
        .into_iter()
        .map(|key| Ok((Key::new(key)?, value.clone())))
        .collect();
    new_dict(entries?)
}
