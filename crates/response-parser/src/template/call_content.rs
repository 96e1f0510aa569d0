//! The values of calls. For example, `<parameter=city>Ulm</parameter>` is an argument with the name
//! `city`, and is read as its schema says.

use std::borrow::Cow;

use super::call::{Body, Call, Parameter, Parameters, Rows, trimmed};
use super::fields::Field;
use super::loose;
use super::tools::{Names, Tools};
use super::transform::{Scope, Use};
use crate::error::{Error, ErrorKind};
use crate::json;
use crate::schema::shorten;
use crate::text::Text;
use crate::value::{Object, Value};

type Result<T> = std::result::Result<T, Error>;

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
