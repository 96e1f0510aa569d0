//! Filters of texts: casing, escaping, cutting, wrapping. For example, `'hello world' | title` is
//! `Hello World`.

use python_compat::number;
use python_compat::text::{LineEnds, capitalize, is_alphanumeric, is_space, line_count, lines};

use super::super::callable::{Arguments, whole};
use super::super::markup::{self, escape};
use super::super::value::{Entries, Key, TextKind, Value, dict, tuple};
use super::super::{
    Fault, ITEM, Render, charge, charge_printing, defined, format, items_of, made, made_of,
    operators, text_methods, type_error,
};
use crate::syntax::tree::Operator;

/// The value as text, paid for.
fn plain(render: &mut Render, value: &Value) -> Result<String, Fault> {
    charge_printing(render, value)?;
    Ok(value.str())
}

/// `lower`, `upper`, `capitalize` and `title`.
pub(crate) fn cased(render: &mut Render, name: &str, value: &Value) -> Result<Value, Fault> {
    let text = rewritten(render, value)?;
    let (kind, text) = match name {
        "capitalize" => (value.text_kind(), capitalize(&text)),
        "lower" => (value.text_kind(), text.to_lowercase()),
        "upper" => (value.text_kind(), text.to_uppercase()),
        _ => (TextKind::Plain, title(&text)),
    };
    made_of(render, kind, text)
}

/// `striptags`.
pub(crate) fn strip_tags(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    let text = rewritten(render, value)?;
    markup::striptags(render, &text)
}

/// `escape`, whatever the value is.
pub(crate) fn escaped(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    let text = rewritten(render, value)?;
    made_of(render, TextKind::Markup, escape(&text))
}

/// The value as text that is written anew, paid for.
fn rewritten(render: &mut Render, value: &Value) -> Result<String, Fault> {
    let text = plain(render, value)?;
    charge(render, text.len() * 2)?;
    Ok(text)
}

/// `safe`: markup, as it is.
pub(crate) fn safe(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(text) = value {
        return Ok(TextKind::Markup.of(text.shared().clone()));
    }
    let text = plain(render, value)?;
    made_of(render, TextKind::Markup, text)
}

pub(crate) fn string(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    if let Value::Text(_) = value {
        return Ok(value.clone());
    }
    let text = plain(render, value)?;
    made(render, text)
}

pub(crate) fn word_count(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    let text = plain(render, value)?;
    let words = text.split(|c: char| !(is_alphanumeric(c) || c == '_'));
    Ok(Value::from(words.filter(|word| !word.is_empty()).count()))
}

/// `format`: the arguments in place of what starts with `%`.
pub(crate) fn percent(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    charge_printing(render, value)?;
    let text = value.str();
    let arguments = match args.named.is_empty() {
        true => tuple(args.positional)?,
        false => {
            let named = args.named.into_iter();
            let entries: Entries = named.map(|(k, v)| (Key::from(&*k), v)).collect();
            dict(entries)?
        }
    };
    let kind = value.text_kind();
    let text = format::percent(render, &text, kind, &arguments)?;
    made_of(render, kind, text)
}

pub(crate) fn trim(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [characters] = args.bind(["chars"])?;
    let text = plain(render, value)?;
    let text = text_methods::strip_both(&text, characters.as_ref())?;
    made_of(render, value.text_kind(), text)
}

pub(crate) fn replace(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [old, new, count] = args.bind(["old", "new", "count"])?;
    let text = plain(render, value)?;
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let (old, new) = (plain(render, &old)?, plain(render, &new)?);
    let count = match count.filter(|c| !c.is_none()) {
        Some(count) => usize::try_from(whole("replace", &count)?).ok(),
        None => None,
    };
    text_methods::replace(render, &text, &old, &new, count)
}

pub(crate) fn center(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [width] = args.bind(["width"])?;
    let width = match width {
        Some(width) => whole("center", &width)?,
        None => 80,
    };
    let text = plain(render, value)?;
    let share = |missing: usize, width: usize| missing / 2 + (missing & width & 1);
    let padded = text_methods::pad(render, &text, width, ' ', share)?;
    Ok(match padded {
        Value::Text(text) => value.text_kind().of(text.shared().clone()),
        other => other,
    })
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

/// A value that has to be a text.
fn text_alone<'v>(filter: &str, value: &'v Value) -> Result<&'v Value, Fault> {
    match defined(value)? {
        Value::Text(_) => Ok(value),
        _ => Err(type_error(format!(
            "{filter} wants a text, not '{}'",
            value.type_name()
        ))),
    }
}

pub(crate) fn indent(render: &mut Render, value: &Value, args: Arguments) -> Result<Value, Fault> {
    let [width, first, blank] = args.bind(["width", "first", "blank"])?;
    let text = plain(render, text_alone("indent", value)?)?;
    let of_markup = value.is_markup();
    // Markup before a line escapes it, and before all of them what is escaped already.
    let unit_escapes = !of_markup && width.as_ref().is_some_and(Value::is_markup);
    let unit = match &width {
        None => "    ".to_owned(),
        Some(width) => match width {
            Value::Text(text) => text.to_string(),
            _ => {
                let count = usize::try_from(whole("indent", width)?).unwrap_or(0);
                charge(render, count)?;
                " ".repeat(count)
            }
        },
    };
    let (first, blank) = (
        first.is_some_and(|v| v.is_true()),
        blank.is_some_and(|v| v.is_true()),
    );
    charge(render, line_count(&text).saturating_mul(ITEM / 2))?;
    let source = format!("{text}\n");
    let all = lines(&source, LineEnds::Drop);
    charge(
        render,
        text.len() + all.len().saturating_mul(unit.len() + 1),
    )?;
    let mut out = String::new();
    for (at, line) in all.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if at > 0 && (blank || !line.is_empty()) {
            out.push_str(&unit);
        }
        match unit_escapes && (blank || at > 0) {
            true => out.push_str(&escape(line)),
            false => out.push_str(line),
        }
    }
    if first {
        let escapes_all = unit_escapes && !blank;
        let rest = if escapes_all { escape(&out) } else { out };
        out = unit + &rest;
    }
    match of_markup || (unit_escapes && (first || blank)) {
        true => made_of(render, TextKind::Markup, out),
        false => made(render, out),
    }
}

pub(crate) fn truncate(
    render: &mut Render,
    value: &Value,
    args: Arguments,
) -> Result<Value, Fault> {
    let [wanted, kill, end, leeway] = args.bind(["length", "killwords", "end", "leeway"])?;
    let number = |value: Option<Value>, default: i64| match value.filter(|v| !v.is_none()) {
        Some(value) => whole("truncate", &value),
        None => Ok(default),
    };
    let (wanted, leeway) = (number(wanted, 255)?, number(leeway, 5)?);
    let end = end.unwrap_or_else(|| Value::from("..."));
    let end = match &end {
        Value::Text(_) => end,
        other => Value::from(plain(render, other)?),
    };
    let items = match value {
        Value::Sequence(sequence) => Some(sequence.items.len()),
        Value::Dict(dict) => Some(dict.entries.len()),
        Value::Undefined => None,
        _ => text_alone("truncate", value).map(|_| None)?,
    };
    if let Some(items) = items {
        // A text that is short enough is not looked at.
        return match items as i64 <= wanted.saturating_add(leeway) {
            true => Ok(value.clone()),
            false => text_alone("truncate", value).cloned(),
        };
    }
    let text = plain(render, value)?;
    let (count, tail) = (
        text.chars().count() as i64,
        end.as_str().unwrap_or_default().chars().count() as i64,
    );
    if wanted < tail || leeway < 0 {
        return Err(type_error(format!(
            "expected length >= {tail} and leeway >= 0, got {wanted} and {leeway}"
        )));
    }
    if count <= wanted.saturating_add(leeway) {
        return made_of(render, value.text_kind(), text);
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
    let kept = value.text_kind().of(kept);
    operators::apply(render, Operator::Add, &kept, &end)
}

pub(crate) fn wordwrap(
    render: &mut Render,
    value: &Value,
    args: Arguments,
) -> Result<Value, Fault> {
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
    let separator = separator.filter(|v| !v.is_none());
    // Markup between lines escapes them.
    let kind = separator.as_ref().map_or(TextKind::Plain, Value::text_kind);
    let separator = match separator {
        None => "\n".to_owned(),
        Some(separator) => plain(render, &separator)?,
    };
    let text = plain(render, text_alone("wordwrap", value)?)?;
    let hyphens = hyphens.is_none_or(|v| v.is_true());
    charge(render, text.len().saturating_mul(4))?;
    charge(render, line_count(&text).saturating_mul(ITEM / 2))?;
    let mut wrapped: Vec<&str> = Vec::new();
    for line in lines(&text, LineEnds::Drop) {
        let before = wrapped.len();
        // A long word alone is so many pieces: they are paid for before they are there.
        let foreseen = line.len() / width;
        charge(render, foreseen.saturating_mul(ITEM))?;
        wrap_line(line, width, breaks, hyphens, &mut wrapped);
        if wrapped.len() == before {
            wrapped.push("");
        }
        let more = (wrapped.len() - before).saturating_sub(foreseen);
        charge(render, more.saturating_mul(ITEM))?;
    }
    charge(render, wrapped.len().saturating_mul(separator.len()))?;
    match kind {
        TextKind::Plain => Ok(Value::from(wrapped.join(&separator))),
        TextKind::Markup => {
            let wrapped: Vec<String> = wrapped.into_iter().map(escape).collect();
            made_of(render, kind, wrapped.join(&separator))
        }
    }
}

/// Python's `textwrap.wrap` for one line. Each line of the result is a piece of this one.
fn wrap_line<'t>(line: &'t str, width: usize, breaks: bool, hyphens: bool, out: &mut Vec<&'t str>) {
    // Words and the blanks between them, the next one last. Blanks are those of ASCII.
    let is_blank = |c: char| matches!(c, '\t'..='\r' | ' ');
    let mut chunks: Vec<&str> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let blank = is_blank(first);
        let end = rest.find(|c| is_blank(c) != blank).unwrap_or(rest.len());
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
            chunks.push(&chunk[..=at]);
            chunk = &chunk[at + 1..];
        }
        chunks.push(chunk);
    }
    chunks.reverse();
    // The characters that are dropped at the ends of lines are blanks as `str.strip` sees them.
    let all_blank = |chunk: &str| chunk.chars().all(is_space);
    // Returns the end of so many characters of a chunk; none if it has no more than that. A word of
    // a megabyte is not counted anew for each line that it fills.
    let end_of = |chunk: &str, count: usize| chunk.char_indices().nth(count).map(|(at, _)| at);
    let mut first = true;
    let mut at = 0;
    while let Some(&next) = chunks.last() {
        if !first && all_blank(next) {
            at += next.len();
            chunks.pop();
        }
        let from = at;
        let mut last: Option<&str> = None;
        let mut used = 0;
        while let Some(&next) = chunks.last() {
            if end_of(next, width - used).is_some() {
                break;
            }
            used += next.chars().count();
            at += next.len();
            last = chunks.pop();
        }
        if let Some(&long) = chunks.last().filter(|next| end_of(next, width).is_some()) {
            if breaks {
                let mut cut = end_of(long, width - used).unwrap_or(long.len());
                // Behind a hyphen, if there is one.
                let hyphen = long[..cut].rfind('-').filter(|_| hyphens);
                if let Some(hyphen) = hyphen.filter(|at| long[..*at].contains(|c| c != '-')) {
                    cut = hyphen + 1;
                }
                let (head, tail) = long.split_at(cut);
                at += cut;
                last = Some(head);
                chunks.pop();
                chunks.push(tail);
            } else if last.is_none() {
                at += long.len();
                last = chunks.pop();
            }
        }
        let mut end = at;
        if let Some(last) = last.filter(|last| all_blank(last)) {
            end -= last.len();
        }
        if end > from {
            out.push(&line[from..end]);
            first = false;
        }
    }
}

pub(crate) fn filesize(value: &Value, binary: bool) -> Result<String, Fault> {
    let bytes = match value {
        Value::Text(text) => number::float(text),
        _ => value.float(),
    };
    let bytes = bytes.ok_or_else(|| type_error("filesizeformat wants a number"))?;
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok("1 Byte".to_owned());
    }
    if bytes < base {
        let whole = operators::cut(bytes)
            .map_or_else(|| format!("{:.0}", bytes.trunc()), |n| n.to_string());
        return Ok(format!("{whole} Bytes"));
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
            false => {
                let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
                out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    out
}

pub(crate) fn urlencode(render: &mut Render, value: &Value) -> Result<Value, Fault> {
    charge_printing(render, value)?;
    let pairs = match value {
        Value::Dict(dict) => dict
            .entries
            .iter()
            .map(|(key, value)| (key.value().str(), value.str()))
            .collect(),
        Value::Sequence(sequence) => {
            let mut pairs = Vec::new();
            for pair in &sequence.items {
                match items_of(render, pair)?.as_slice() {
                    [key, value] => pairs.push((key.str(), value.str())),
                    _ => return Err(type_error("urlencode wants pairs")),
                }
            }
            pairs
        }
        _ => return made(render, percent_encode(&value.str(), "/")),
    };
    let encode = |text: &str| percent_encode(text, "").replace("%20", "+");
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
        .collect();
    made(render, pairs.join("&"))
}

pub(crate) fn xmlattr(render: &mut Render, value: &Value, space: bool) -> Result<Value, Fault> {
    let Value::Dict(dict) = value else {
        return Err(type_error("xmlattr wants a map"));
    };
    charge_printing(render, value)?;
    let mut parts = Vec::new();
    for (key, value) in &dict.entries {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let key = key.value();
        let name = key.str();
        if name.contains(|c: char| is_space(c) || "/>=".contains(c)) {
            return Err(type_error(format!(
                "Invalid character in attribute name: '{name}'"
            )));
        }
        parts.push(format!(
            "{}=\"{}\"",
            markup::escaped(key),
            markup::escaped(value)
        ));
    }
    let joined = parts.join(" ");
    match space && !joined.is_empty() {
        true => made(render, format!(" {joined}")),
        false => made(render, joined),
    }
}
