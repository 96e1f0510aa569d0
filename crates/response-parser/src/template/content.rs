//! From the text of a region to its value. For example, the region `{"name": "f", "arguments": {}}`
//! becomes a call of `f` by the parser `json`.

use std::borrow::Cow;
use std::collections::HashSet;

use super::call::{Body, Call, Parameter, Parameters, Rows, trimmed};
use super::call_list;
use super::choices::TemplateRelease;
use super::load::{Field, JsonDialect, KvLines, Parser, ParserKind, XmlInline, empty_separator};
use super::loose;
use super::tools::{Names, Tools};
use super::transform::{Scope, Use};
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind};
use crate::json::{self, MAX_DEPTH, Problem};
use crate::pyre::is_word;
use crate::scalar;
use crate::schema::exhausted;
use crate::schema::shorten;
use crate::text::Text;
use crate::value::{Object, Value};

type Result<T> = std::result::Result<T, Error>;

/// The value of a region of `field` with the text `body`, at `offset` of the whole text.
pub(super) fn value<'t>(
    field: &Field,
    tools: &Tools,
    body: &'t str,
    offset: usize,
    captures: &[(&str, &'t str)],
) -> Result<Value<'t>> {
    let depth = match tools.is_empty() {
        true => Look::NoFurther,
        false => Look::Inside,
    };
    let content = parse(&field.parser, &Text::plain(body), depth);
    let content = content.map_err(|e| e.moved_by(offset))?;
    let Some(transform) = &field.transform else {
        let mut content = content;
        if !tools.is_empty() {
            tools.cast(&mut content);
        }
        return Ok(content);
    };
    let pointer = format!("{}/transform", field.pointer);
    let fill = |mut scope: Scope<'_, 't>| {
        // Arguments are cast where they come from, so that every place that shows them does
        // so alike.
        if !tools.is_empty()
            && let Some(path) = transform.source(&["function", "arguments"])
        {
            let filled = transform.fill(&mut scope, Use::Copy, &pointer)?;
            if let (Some(name), Some(arguments)) = (called(&filled), scope.find_mut(&path)) {
                tools.cast_arguments(&name, arguments);
            }
        }
        let mut filled = transform.fill(&mut scope, Use::Take, &pointer)?;
        if !tools.is_empty() {
            tools.cast(&mut filled);
        }
        Ok(filled)
    };
    if !field.transform_each {
        let mut values = Object::default();
        values.insert(Text::plain("content"), content);
        return fill(Scope { captures, values });
    }
    let shape = || {
        let message = "transform_each needs a list of objects";
        let pointer = format!("{}/transform_each", field.pointer);
        Error::new(ErrorKind::TransformEachShape, pointer, message).at_offset(Some(offset))
    };
    let items = match content {
        Value::Array(items) => items,
        Value::Json(Json::Array(items)) => items.into_iter().map(Value::finished).collect(),
        _ => return Err(shape()),
    };
    let filled = items.into_iter().map(|item| match item {
        Value::Object(values) => fill(Scope { captures, values }),
        Value::Json(Json::Object(map)) => {
            let values = map
                .into_iter()
                .map(|(key, value)| (Text::plain(key), Value::finished(value)));
            let values = values.collect();
            fill(Scope { captures, values })
        }
        _ => Err(shape()),
    });
    filled.collect::<Result<_>>().map(Value::Array)
}

/// The name of the function that a call is of.
fn called(call: &Value<'_>) -> Option<String> {
    let Value::Object(call) = call else {
        return None;
    };
    match call.get(&Text::plain("function")) {
        Some(Value::Object(function)) => match function.get(&Text::plain("name")) {
            Some(Value::Text(name)) => Some(name.as_str().to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// The parts of a call that were found in the text.
pub(super) struct FoundCall<'f, 't> {
    pub(super) text: &'t str,
    /// Its body, without marks.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) captures: &'f [(&'f str, &'t str)],
    pub(super) parameters: &'f [Parameter],
}

/// The call of a region, or the list of its calls: names are texts, arguments objects.
pub(super) fn call(
    field: &Field,
    call: &Call,
    tools: &Tools,
    names: Names,
    found: &FoundCall<'_, '_>,
) -> Result<Value<'static>> {
    let captures: Vec<(&str, Cow<'_, str>)> = found
        .captures
        .iter()
        .map(|&(name, text)| (name, told(call, text)))
        .collect();
    let captures: Vec<(&str, &str)> = captures
        .iter()
        .map(|(name, text)| (*name, &**text))
        .collect();
    let name = captures.iter().find(|(name, _)| *name == "name");
    let name = name.map_or("", |(_, name)| *name);
    let body = &found.text[found.from..found.to];
    let pointer = &field.parser.pointer;
    let at = |offset: usize| Some(found.from + offset);
    let wrong = |problem: loose::LooseProblem| {
        let message = format!("no call: {}", problem.message);
        let error = Error::new(ErrorKind::CallInvalid, pointer, message);
        error.at_offset(at(problem.offset))
    };
    let not_json = |error: json::JsonError| {
        let message = format!("not JSON: {}", error.problem.message());
        let error_at = at(error.offset);
        Error::new(ErrorKind::JsonInvalid, pointer, message).at_offset(error_at)
    };
    let content = match &call.body {
        Body::Json(dialect) if dialect.unquoted_keys => {
            let word = |key: &str, word: &str| tools.word(name, key, word);
            loose::value(body, &dialect.string_delims, &word).map_err(wrong)?
        }
        Body::Json(_) | Body::Keyed => {
            let decoded = json::decode(body).map_err(not_json)?.into_owned();
            match (&call.body, decoded) {
                (Body::Keyed, Value::Array(items)) => {
                    let calls = items.into_iter().map(|item| keyed(item, pointer));
                    Value::Array(calls.collect::<Result<_>>()?)
                }
                (_, decoded) => decoded,
            }
        }
        Body::JsonLines => {
            let mut calls = Vec::new();
            for (from, value) in values(body) {
                let decoded = json::decode(value).map_err(|error| {
                    let offset = from + error.offset;
                    not_json(json::JsonError { offset, ..error })
                })?;
                calls.push(decoded.into_owned());
            }
            Value::Array(calls)
        }
        Body::Python(Rows::List) => loose::calls(body).map_err(wrong)?,
        Body::Python(Rows::Lines) => loose::lines(body).map_err(wrong)?,
        Body::PythonArguments => loose::arguments(body).map_err(wrong)?,
        Body::Parameters(parameters) => {
            Value::Object(arguments(call, parameters, tools, name, found))
        }
    };
    let Some(transform) = &field.transform else {
        return Ok(content);
    };
    let pointer = format!("{}/transform", field.pointer);
    let fill = |content: Value<'static>| {
        let mut values = Object::default();
        values.insert(Text::plain("content"), content);
        let mut scope = Scope {
            captures: &captures,
            values,
        };
        let mut filled = transform
            .fill(&mut scope, Use::Take, &pointer)?
            .into_owned();
        lawful(&mut filled, tools, names, &pointer)?;
        Ok(filled)
    };
    match content {
        Value::Array(items) if call.lists => {
            if items.is_empty() {
                let message = "a list of no calls";
                return Err(Error::new(ErrorKind::CallInvalid, &pointer, message));
            }
            let calls = items.into_iter().map(fill);
            calls.collect::<Result<_>>().map(Value::Array)
        }
        content => fill(content),
    }
}

/// A call whose tool's name is the only key: as an object with `name` and `arguments`.
fn keyed(item: Value<'static>, pointer: &str) -> Result<Value<'static>> {
    let member = match item {
        Value::Object(item) if item.len() == 1 => item.into_iter().next(),
        _ => None,
    };
    let Some((name, arguments)) = member else {
        let message = "no call: expected an object with one member, whose key is the tool's name";
        return Err(Error::new(ErrorKind::CallInvalid, pointer, message));
    };
    let mut call = Object::default();
    call.insert(Text::plain("name"), Value::Text(name));
    call.insert(Text::plain("arguments"), arguments);
    Ok(Value::Object(call))
}

/// The JSON values of a text that stand one after another, and where they begin. A piece that is no
/// value goes with the next one, or is one by itself, and cannot be decoded. Linear.
fn values(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = &text[from..];
        let start = from + (rest.len() - rest.trim_start().len());
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for (at, &byte) in (start..).zip(&text.as_bytes()[start..]) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        from = at + 1;
                        return Some((start, &text[start..from]));
                    }
                }
                _ => {}
            }
        }
        from = text.len();
        (start < from).then(|| (start, &text[start..]))
    })
}

/// Parameters as an object, each read as its schema says.
fn arguments(
    call: &Call,
    parameters: &Parameters,
    tools: &Tools,
    name: &str,
    found: &FoundCall<'_, '_>,
) -> Object<'static> {
    let mut object = Object::default();
    for parameter in found.parameters {
        let raw = &found.text[parameter.from..parameter.to];
        let raw = trimmed(raw, &parameters.trim);
        let key = key_of(call, parameter);
        let value = tools.read(name, &key, raw, parameter.plain);
        object.insert(Text::plain(key.into_owned()), value);
    }
    object
}

/// Makes sure that a call has a name that is a text, and arguments that are an object, and casts them.
fn lawful(call: &mut Value<'static>, tools: &Tools, names: Names, pointer: &str) -> Result<()> {
    let wrong = |kind: ErrorKind, message: &str| Err(Error::new(kind, pointer, message));
    let Value::Object(call) = call else {
        return wrong(ErrorKind::CallInvalid, "a call is an object");
    };
    let Some(Value::Object(function)) = call.get_mut(&Text::plain("function")) else {
        return wrong(ErrorKind::CallInvalid, "a call has a function");
    };
    let name = match function.get(&Text::plain("name")) {
        Some(Value::Text(name)) if !name.as_str().is_empty() => name.as_str().to_owned(),
        _ => return wrong(ErrorKind::CallInvalid, "the name of a call is a text"),
    };
    if names == Names::Offered && !tools.has(&name) {
        let message = format!("no tool {:?} is on offer", shorten(&name));
        return wrong(ErrorKind::CallUnknownTool, &message);
    }
    let key = Text::plain("arguments");
    let given = match function.get_mut(&key) {
        None => Value::Null,
        Some(given) => std::mem::replace(given, Value::Null),
    };
    let mut arguments = match given {
        Value::Null => Value::Object(Object::default()),
        // Some models write the object as a text.
        Value::Text(text) if !text.as_str().trim().is_empty() => {
            match json::decode_text(&text).map(Value::into_owned) {
                Ok(object @ Value::Object(_)) => object,
                _ => {
                    return wrong(
                        ErrorKind::CallInvalid,
                        "the arguments of a call are an object",
                    );
                }
            }
        }
        Value::Text(_) => Value::Object(Object::default()),
        object @ Value::Object(_) => object,
        _ => {
            return wrong(
                ErrorKind::CallInvalid,
                "the arguments of a call are an object",
            );
        }
    };
    tools.cast_strings(&name, &mut arguments);
    function.insert(key, arguments);
    Ok(())
}

/// The name of a parameter.
pub(super) fn key_of<'p>(call: &Call, parameter: &'p Parameter) -> Cow<'p, str> {
    told(call, &parameter.key)
}

/// Returns the text within a mark.
pub(super) fn told<'t>(call: &Call, text: &'t str) -> Cow<'t, str> {
    match call.entities {
        true => entities(text),
        false => Cow::Borrowed(text),
    }
}

/// The text with XML's own entities, and numbered ones, as the characters they stand for.
fn entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest has ten characters.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let name = end.map(|end| &rest[1..end]);
        let c = match name {
            Some("amp") => Some('&'),
            Some("lt") => Some('<'),
            Some("gt") => Some('>'),
            Some("quot") => Some('"'),
            Some("apos") => Some('\''),
            Some(name) => {
                let number = name.strip_prefix('#');
                let code = number.and_then(|number| match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16).ok(),
                    None => number.parse().ok(),
                });
                code.and_then(char::from_u32)
            }
            None => None,
        };
        let length = match (c, end) {
            (Some(c), Some(end)) => {
                out.push(c);
                end + 1
            }
            _ => {
                out.push('&');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// True if a value that was parsed from JSON is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Only by placeholders.
    NoFurther,
    /// To change parts of it.
    Inside,
}

/// Reads `text` with a content parser. Recursion is as deep as the template.
fn parse<'t>(parser: &Parser, text: &Text<'t>, depth: Look) -> Result<Value<'t>> {
    let trimmed = || match parser.strip {
        true => text.trimmed(),
        false => text.clone(),
    };
    let number = |value: Option<Value<'t>>, kind: ErrorKind, what: &str| {
        value.ok_or_else(|| {
            let message = format!("not {what}: \"{}\"", shorten(text.as_str()));
            Error::new(kind, &parser.pointer, message).at_offset(Some(0))
        })
    };
    match &parser.kind {
        ParserKind::Text => Ok(Value::Text(trimmed())),
        ParserKind::Int => {
            let value = scalar::integer(scalar::trim(text.as_str())).map(Value::Int);
            number(value, ErrorKind::IntInvalid, "an integer")
        }
        ParserKind::Float => {
            let value = scalar::float(scalar::trim(text.as_str())).map(Value::Float);
            number(value, ErrorKind::FloatInvalid, "a number")
        }
        ParserKind::Bool => {
            let text = trimmed();
            let lower = text.as_str().to_lowercase();
            Ok(Value::Bool(matches!(lower.as_str(), "true" | "1")))
        }
        ParserKind::Json(dialect) => parse_json(parser, dialect, text, depth),
        ParserKind::XmlInline(xml) => xml_inline(parser, xml, text, depth),
        ParserKind::KvLines(lines) => kv_lines(parser, lines, &trimmed(), depth),
        ParserKind::CallList => call_list::calls(text.as_str()).map_err(|problem| {
            let message = format!("no list of calls: {}", problem.message);
            let error = Error::new(ErrorKind::CallInvalid, &parser.pointer, message);
            error.at_offset(Some(problem.offset))
        }),
        ParserKind::Call => {
            let message = "a call is read with its parameters";
            Err(Error::new(ErrorKind::CallInvalid, &parser.pointer, message))
        }
        ParserKind::Broken(error) => Err(error.again()),
    }
}

fn parse_json<'t>(
    parser: &Parser,
    dialect: &JsonDialect,
    text: &Text<'t>,
    depth: Look,
) -> Result<Value<'t>> {
    let rewritten = rewrite(dialect, text.as_str()).map_err(|offset| {
        let message = "the text has U+0001 or U+0002, which string_delims cannot take";
        Error::new(ErrorKind::JsonSentinel, &parser.pointer, message).at_offset(Some(offset))
    })?;
    if depth == Look::NoFurther {
        let plain = match &rewritten {
            Some(rewritten) => json::decode_plain(rewritten),
            None => text.borrowed().and_then(json::decode_plain),
        };
        if let Some(json) = plain {
            return Ok(Value::finished(json));
        }
    }
    let decoded = match &rewritten {
        None => json::decode_text(text),
        Some(rewritten) => {
            let rewritten = text.rebuilt(rewritten.clone());
            json::decode_text(&rewritten)
        }
    };
    decoded.or_else(|error| {
        if error.problem == Problem::TooDeep {
            let message = format!("the JSON is nested deeper than {MAX_DEPTH}");
            return Err(Error::new(ErrorKind::DepthLimit, &parser.pointer, message));
        }
        if dialect.allow_non_json {
            return Ok(Value::Text(match parser.strip {
                true => text.trimmed(),
                false => text.clone(),
            }));
        }
        let message = format!("not JSON: {}", error.problem.message());
        let offset = rewritten.is_none().then_some(error.offset);
        Err(Error::new(ErrorKind::JsonInvalid, &parser.pointer, message).at_offset(offset))
    })
}

/// The text as JSON proper, `None` if it needs no change. Fails with the place of a
/// character that the rewriting uses for itself.
fn rewrite(dialect: &JsonDialect, text: &str) -> std::result::Result<Option<String>, usize> {
    if dialect.string_delims.is_empty() && !dialect.unquoted_keys {
        return Ok(None);
    }
    let mut text = Cow::Borrowed(text);
    let mut strings: Vec<String> = Vec::new();
    if !dialect.string_delims.is_empty()
        && let Some(place) = text.find(['\u{1}', '\u{2}'])
    {
        return Err(place);
    }
    for (open, close) in &dialect.string_delims {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(from) = text[at..].find(open.as_str()) {
            let start = at + from + open.len();
            let Some(length) = text[start..].find(close.as_str()) else {
                break;
            };
            out.push_str(&text[at..at + from]);
            out.push_str(&format!("\u{1}{}\u{2}", strings.len()));
            strings.push(text[start..start + length].to_owned());
            let end = start + length + close.len();
            if end == at {
                break;
            }
            at = end;
        }
        out.push_str(&text[at..]);
        text = Cow::Owned(out);
    }
    if dialect.unquoted_keys {
        text = Cow::Owned(quote_keys(&text, dialect.release));
    }
    if strings.is_empty() {
        return Ok(Some(text.into_owned()));
    }
    let mut out = String::with_capacity(text.len());
    put_back(&text, &strings, &mut out);
    Ok(Some(out))
}

/// Puts quotes around each run of word characters between `{` or `,` and `:`. From 5.24 on there may be blanks
/// between them, and what stands in quotes is left alone. Linear.
fn quote_keys(text: &str, release: TemplateRelease) -> String {
    let old = release == TemplateRelease::V5_23;
    let behind_blanks = |text: &str| match old {
        true => 0,
        false => text.len() - text.trim_start().len(),
    };
    let mut out = String::with_capacity(text.len() + 16);
    let (mut copied, mut at) = (0, 0);
    // No string that begins before this place ends: its quote would have ended the one that was tried first.
    let mut unclosed = 0;
    while let Some(found) = text[at..].find(['{', ',', '"']) {
        let place = at + found;
        at = place + 1;
        if text.as_bytes()[place] == b'"' {
            if !old && place >= unclosed {
                match string_end(text, at) {
                    Ok(end) => at = end,
                    Err(stopped) => unclosed = stopped,
                }
            }
            continue;
        }
        let from = at + behind_blanks(&text[at..]);
        let key = &text[from..];
        let key = &key[..key.find(|c: char| !is_word(c)).unwrap_or(key.len())];
        let to = from + key.len();
        let colon = to + behind_blanks(&text[to..]);
        if !key.is_empty() && text[colon..].starts_with(':') {
            out.push_str(&text[copied..from]);
            out.push('"');
            out.push_str(key);
            out.push('"');
            copied = to;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The place behind the string that begins at `from`, behind its quote; the place up to which there is none if it
/// does not end: at the end of the text, or at an escaped line end, which no string has.
fn string_end(text: &str, from: usize) -> std::result::Result<usize, usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text.as_bytes()[at..]) {
        let place = at + found;
        at = place + 1;
        if text.as_bytes()[place] == b'"' {
            return Ok(at);
        }
        match text[at..].chars().next() {
            None | Some('\n') => return Err(at),
            Some(escaped) => at += escaped.len_utf8(),
        }
    }
    Err(text.len())
}

/// Copies `text` with its marks replaced by the strings they stand for. Marks inside those
/// strings, of pairs that came before, stay what they are.
fn put_back(text: &str, strings: &[String], out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1}') {
        out.push_str(before);
        rest = after;
        if let Some((number, after)) = after.split_once('\u{2}')
            && let Some(string) = number.parse().ok().and_then(|n: usize| strings.get(n))
        {
            json::encode(&Value::text(string), out);
            rest = after;
        }
    }
    out.push_str(rest);
}

fn xml_inline<'t>(
    parser: &Parser,
    xml: &XmlInline,
    text: &Text<'t>,
    depth: Look,
) -> Result<Value<'t>> {
    let depth = match xml.merge_duplicates {
        true => Look::Inside,
        false => depth,
    };
    let mut object = Object::default();
    // Keys whose value is the list of their values; in 5.23 any list is taken for one.
    let mut merged: HashSet<Text<'t>> = HashSet::new();
    let pointer = || format!("{}/tag_pattern", parser.pointer);
    let mut matches = xml.pattern.matches(text.as_str());
    while let Some(groups) = matches.next_match().map_err(|e| exhausted(e, pointer()))? {
        let part = |group: Option<usize>| {
            let (from, to) = groups.get(group?).copied().flatten()?;
            Some((from, text.slice(from..to)))
        };
        let Some((_, key)) = part(xml.key) else {
            let message = "each match must have the named group key";
            let offset = groups.first().copied().flatten().map(|(from, _)| from);
            return Err(Error::new(ErrorKind::XmlKeyGroup, pointer(), message).at_offset(offset));
        };
        let raw = match (xml.value, part(xml.value)) {
            (None, _) => Some((0, Text::plain(""))),
            (Some(_), part) => part,
        };
        let value = match (&xml.value_parser, raw) {
            (None, None) => Value::Null,
            (None, Some((_, raw))) => Value::Text(raw),
            (Some(parser), Some((from, raw))) => {
                parse(parser, &raw, depth).map_err(|e| e.moved_by(from))?
            }
            (Some(parser), None) => {
                let message = "a value is missing";
                return Err(Error::new(ErrorKind::PythonType, &parser.pointer, message));
            }
        };
        match object.get_mut(&key) {
            Some(known) if xml.merge_duplicates => {
                let is_list = match xml.release {
                    TemplateRelease::V5_23 => matches!(known, Value::Array(_)),
                    _ => !merged.insert(key),
                };
                if !is_list {
                    let first = std::mem::replace(known, Value::Null);
                    *known = Value::Array(vec![first]);
                }
                if let Value::Array(items) = known {
                    items.push(value);
                }
            }
            _ => {
                object.insert(key, value);
            }
        }
    }
    Ok(Value::Object(object))
}

fn kv_lines<'t>(
    parser: &Parser,
    lines: &KvLines,
    text: &Text<'t>,
    depth: Look,
) -> Result<Value<'t>> {
    if lines.line_sep.is_empty() {
        return Err(empty_separator(&parser.pointer));
    }
    let mut object = Object::default();
    let whole = text.as_str();
    let mut from = 0;
    for line in whole.split(lines.line_sep.as_str()) {
        let place = from;
        from += line.len() + lines.line_sep.len();
        let line = text.slice(place..place + line.len()).trimmed();
        if line.as_str().is_empty() {
            continue;
        }
        if lines.kv_sep.is_empty() {
            return Err(empty_separator(&parser.pointer));
        }
        let Some(at) = line.as_str().find(lines.kv_sep.as_str()) else {
            continue;
        };
        let key = line.slice(0..at).trimmed();
        let rest = at + lines.kv_sep.len()..line.as_str().len();
        let value = line.slice(rest).trimmed();
        let value = match &lines.value_parser {
            None => Value::Text(value),
            Some(parser) => parse(parser, &value, depth).map_err(|e| e.moved_by(place))?,
        };
        object.insert(key, value);
    }
    Ok(Value::Object(object))
}
