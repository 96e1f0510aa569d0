//! Methods of Python's texts. For example, `' a b '.strip().split(' ')` is `['a', 'b']`.

use python_compat::text::{
    self, LineEnds, all_cased, capitalize, is_alpha, is_alphanumeric, is_decimal, is_digit,
    is_space, lines, rsplit_space, split_space, swapcase, title,
};

use super::callable::{Arguments, text as text_of, whole};
use super::value::{SequenceKind, Text, TextKind, Value, list, tuple};
use super::weight::weight;
use super::{Fault, ITEM, Render, charge, format, items_of, made, markup, type_error};

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

/// The method of a text that `args` are named after, of those that [`has`](super::methods::has) knows.
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
    match name {
        "lower" | "casefold" | "upper" | "capitalize" | "title" | "swapcase" => {
            args.bind::<0>([])?;
            made(render, cased(name, receiver))
        }
        "strip" | "lstrip" | "rstrip" => stripped(render, name, receiver, args),
        "startswith" | "endswith" => has_affix(render, name, receiver, args),
        "find" | "index" | "rfind" | "rindex" => find(name, receiver, args),
        "count" => count(receiver, args),
        "replace" => replaced(render, receiver, args),
        "removeprefix" | "removesuffix" => without_affix(render, name, receiver, args),
        "split" | "rsplit" => split(render, name, receiver, args),
        "splitlines" => split_lines(render, receiver, args),
        "partition" | "rpartition" => partition(render, name, receiver, args),
        "join" => join(render, receiver, args),
        "ljust" | "rjust" | "center" => justified(render, name, receiver, args),
        "zfill" => zero_filled(render, receiver, args),
        "expandtabs" => expand_tabs(render, receiver, args),
        "format" => {
            let text = format::braces(render, receiver, kind, &args)?;
            made(render, text)
        }
        "format_map" => format_map(render, receiver, kind, args),
        _ => {
            let Some(holds) = predicate(name, receiver) else {
                return Err(type_error(format!(
                    "the method '{name}' of texts is not supported"
                )));
            };
            args.bind::<0>([])?;
            Ok(Value::from(holds))
        }
    }
}

/// The text in another case.
fn cased(name: &str, receiver: &str) -> String {
    match name {
        "lower" => receiver.to_lowercase(),
        "casefold" => text::casefold(receiver),
        "upper" => receiver.to_uppercase(),
        "capitalize" => capitalize(receiver),
        "title" => title(receiver),
        _ => swapcase(receiver),
    }
}

/// The answer of a method such as `isdigit`; none if there is no such.
fn predicate(name: &str, receiver: &str) -> Option<bool> {
    let all = |is: fn(char) -> bool| !receiver.is_empty() && receiver.chars().all(is);
    Some(match name {
        "isalnum" => all(is_alphanumeric),
        "isalpha" => all(is_alpha),
        "isascii" => receiver.is_ascii(),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(is_digit),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(is_space),
        "isprintable" => receiver.chars().all(text::is_printable),
        "isidentifier" => text::is_identifier(receiver),
        "islower" => all_cased(receiver, char::is_lowercase),
        "isupper" => all_cased(receiver, char::is_uppercase),
        "istitle" => text::is_title(receiver),
        _ => return None,
    })
}

/// `strip`, `lstrip` and `rstrip`.
fn stripped(
    render: &mut Render,
    name: &str,
    receiver: &str,
    args: Arguments,
) -> Result<Value, Fault> {
    let [characters] = args.bind(["chars"])?;
    let side = match name {
        "strip" => Strip::Both,
        "lstrip" => Strip::Left,
        _ => Strip::Right,
    };
    made(render, strip(receiver, characters.as_ref(), side)?)
}

/// `startswith` and `endswith`.
fn has_affix(
    render: &mut Render,
    name: &str,
    receiver: &str,
    args: Arguments,
) -> Result<Value, Fault> {
    let [prefix, start, end] = args.bind(["prefix", "start", "end"])?;
    charge(render, prefix.as_ref().map_or(0, weight))?;
    let candidates = candidates(name, &prefix.unwrap_or_default())?;
    let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
    let found = start != usize::MAX
        && candidates.iter().any(|candidate| match name {
            "startswith" => window.starts_with(candidate.as_str()),
            _ => window.ends_with(candidate.as_str()),
        });
    Ok(Value::from(found))
}

/// `find` and `index`, from either end.
fn find(name: &str, receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [sub, start, end] = args.bind(["sub", "start", "end"])?;
    let sub = sub.unwrap_or_default();
    let sub = text_of(name, &sub)?;
    let (window, start) = window(name, receiver, start.as_ref(), end.as_ref())?;
    let found = match name.starts_with('r') {
        false => window.find(sub),
        true => window.rfind(sub),
    };
    match found.filter(|_| start != usize::MAX) {
        Some(at) => Ok(Value::from(start + window[..at].chars().count())),
        None if name.ends_with("find") => Ok(Value::Int(-1)),
        None => Err(type_error("substring not found")),
    }
}

/// `count`.
fn count(receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [sub, start, end] = args.bind(["sub", "start", "end"])?;
    let sub = sub.unwrap_or_default();
    let sub = text_of("count", &sub)?;
    let (window, start) = window("count", receiver, start.as_ref(), end.as_ref())?;
    Ok(match start {
        usize::MAX => Value::Int(0),
        _ => Value::from(window.matches(sub).count()),
    })
}

/// `replace`.
fn replaced(render: &mut Render, receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [old, new, count] = args.bind(["old", "new", "count"])?;
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let count = most("replace", count.as_ref())?;
    replace(
        render,
        receiver,
        text_of("replace", &old)?,
        text_of("replace", &new)?,
        count,
    )
}

/// `removeprefix` and `removesuffix`.
fn without_affix(
    render: &mut Render,
    name: &str,
    receiver: &str,
    args: Arguments,
) -> Result<Value, Fault> {
    let [affix] = args.bind_all(["affix"])?;
    let affix = text_of(name, &affix)?;
    let text = match name {
        "removeprefix" => receiver.strip_prefix(affix),
        _ => receiver.strip_suffix(affix),
    };
    made(render, text.unwrap_or(receiver))
}

/// `split` and `rsplit`.
fn split(render: &mut Render, name: &str, receiver: &str, args: Arguments) -> Result<Value, Fault> {
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
    list(parts.into_iter().map(Value::from).collect())
}

/// `splitlines`.
fn split_lines(render: &mut Render, receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [keep] = args.bind(["keepends"])?;
    let ends = match keep.is_some_and(|keep| keep.is_true()) {
        true => LineEnds::Keep,
        false => LineEnds::Drop,
    };
    let count = text::line_count(receiver);
    charge(render, receiver.len() + count * ITEM)?;
    let lines = lines(receiver, ends).into_iter().map(Value::from);
    list(lines.collect())
}

/// `partition` and `rpartition`.
fn partition(
    render: &mut Render,
    name: &str,
    receiver: &str,
    args: Arguments,
) -> Result<Value, Fault> {
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
    tuple(parts.map(Value::from).to_vec())
}

/// `join`, with the text between the items.
fn join(render: &mut Render, receiver: &str, args: Arguments) -> Result<Value, Fault> {
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
    Ok(Value::from(out))
}

/// `ljust`, `rjust` and `center`.
fn justified(
    render: &mut Render,
    name: &str,
    receiver: &str,
    args: Arguments,
) -> Result<Value, Fault> {
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
    )
}

/// `zfill`: zeros behind the sign.
fn zero_filled(render: &mut Render, receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [width] = args.bind_all(["width"])?;
    let width = whole("zfill", &width)?;
    let (sign, digits) = match receiver.chars().next() {
        Some(c @ ('+' | '-')) => (Some(c), &receiver[1..]),
        _ => (None, receiver),
    };
    let width = width - i64::from(sign.is_some());
    let padded = pad(render, digits, width, '0', |missing, _| missing)?;
    let mut out: String = sign.into_iter().collect();
    out.push_str(padded.as_str().unwrap_or_default());
    made(render, out)
}

/// `expandtabs`.
fn expand_tabs(render: &mut Render, receiver: &str, args: Arguments) -> Result<Value, Fault> {
    let [size] = args.bind(["tabsize"])?;
    let size = match size {
        Some(size) => whole("expandtabs", &size)?,
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
    Ok(Value::from(out))
}

/// `format_map`.
fn format_map(
    render: &mut Render,
    receiver: &str,
    kind: TextKind,
    args: Arguments,
) -> Result<Value, Fault> {
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
        name: "format_map".into(),
        positional: Vec::new(),
        named: named.collect(),
    };
    let text = format::braces(render, receiver, kind, &args)?;
    made(render, text)
}
