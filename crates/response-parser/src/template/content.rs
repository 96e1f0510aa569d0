//! From the text of a region to its value. For example, the region `{"name": "f", "arguments": {}}`
//! becomes a call of `f` by the parser `json`.

use std::collections::HashSet;

use super::call_list;
use super::choices::TemplateRelease;
use super::fields::{Field, KvLines, Parser, ParserKind, XmlInline, empty_separator};
use super::json_dialect::{JsonDialect, rewrite};
use super::tools::Tools;
use super::transform::{Scope, Use};
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind};
use crate::json::{self, MAX_DEPTH, Problem};
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
