//! Reads a value with a compiled schema, step by step as the reference does. For example, `{"type":
//! "integer"}` reads the text `5` as the number 5.

use serde_json::Value as Json;

use super::compile::{Additional, JsonParser, Keywords, Kind, Replacement, Schema, Spelling};
use super::gemma4::gemma4_as_json;
use super::messages::{exhausted, jmespath_error, name, shorten};
use super::release::{Mode, Release};
use crate::error::{Error, ErrorKind};
use crate::json::{self, MAX_DEPTH, Problem};
use crate::pyre::{Groups, Pattern};
use crate::scalar;
use crate::text::MAX_TEXT;
use crate::text::Text;
use crate::value::{Object, Value};

type Result<T> = std::result::Result<T, Error>;

/// One parse.
pub(crate) struct Run<'t> {
    pub(crate) mode: Mode,
    pub(crate) release: Release,
    /// The text that is parsed, to say where in it a part lies.
    pub(crate) input: &'t str,
}

impl<'t> Run<'t> {
    /// Reads `content` with `schema`. Recursion is as deep as the schema.
    pub(crate) fn parse(&self, schema: &Schema, content: Value<'t>) -> Result<Value<'t>> {
        match schema {
            Schema::Anything => Ok(content),
            Schema::Broken { json, error } => parse_broken(json, error, &content),
            Schema::Keywords(keywords) => self.keywords(keywords, content),
        }
    }

    fn keywords(&self, node: &Keywords, content: Value<'t>) -> Result<Value<'t>> {
        if let Some(constant) = &node.constant {
            return Ok(constant.clone());
        }
        if content == Value::Null {
            return Ok(Value::Null);
        }
        let mut content = content;
        if node.wants_string && !matches!(content, Value::Text(_)) {
            let message = format!("a regex reads a string, not {}", name(&content));
            return Err(Error::new(
                ErrorKind::RegexOnNonString,
                &node.pointer,
                message,
            ));
        }
        if let Some(substitutions) = &node.substitutions {
            let pointer = || format!("{}/x-regex-substitutions", node.pointer);
            let text = text_of(&content, &pointer)?;
            content = Value::Text(replaced(raise(substitutions)?, text.clone())?);
        }
        if let Some(pattern) = &node.regex {
            let pattern = raise(pattern)?;
            let pointer = || format!("{}/x-regex", node.pointer);
            let text = text_of(&content, &pointer)?;
            let found = pattern
                .search(text.as_str())
                .map_err(|e| exhausted(e, pointer()))?;
            let Some(groups) = found else {
                return Ok(Value::Null);
            };
            content = group_value(pattern, text, &groups, &pointer)?;
        }
        if let Some(pattern) = &node.iterator {
            node.check_iterator()?;
            let pattern = raise(pattern)?;
            let pointer = || format!("{}/x-regex-iterator", node.pointer);
            let text = text_of(&content, &pointer)?;
            let mut items = Vec::new();
            let mut matches = pattern.matches(text.as_str());
            while let Some(groups) = matches.next_match().map_err(|e| exhausted(e, pointer()))? {
                items.push(group_value(pattern, text, &groups, &pointer)?);
            }
            if items.is_empty() {
                return Ok(Value::Null);
            }
            content = Value::Array(items);
        }
        if let Some(pattern) = &node.key_value {
            node.check_key_value()?;
            let pattern = raise(pattern)?;
            let object = self.key_value(node, pattern, &content)?;
            if object.is_empty() {
                return Ok(Value::Null);
            }
            content = Value::Object(object);
        }
        if let Some(parser) = &node.parser {
            // If nothing looks at the result, it is made in its final form at once.
            let last = node.mapping.is_none()
                && node.mapping_regex.is_none()
                && node.kind == Kind::Untouched;
            if let (true, Ok(parser), Value::Text(text)) = (last, parser, &content)
                && parser.spelling == Spelling::Json
                && matches!(&parser.arguments, Ok(arguments) if arguments.transform.is_none())
                && let Some(text) = text.borrowed()
                && let Some(json) = json::decode_plain(text)
            {
                return Ok(Value::finished(json));
            }
            content = self.json(node, raise(parser)?, content)?;
        }
        if let Some(mapping) = &node.mapping {
            let Value::Text(text) = &content else {
                let message = format!("x-mapping reads a string, not {}", name(&content));
                let pointer = format!("{}/x-mapping", node.pointer);
                return Err(Error::new(ErrorKind::MappingNonString, pointer, message));
            };
            if let Some(value) = raise(mapping)?.get(text) {
                content = value.clone();
            }
        }
        if let Some(replacements) = &node.mapping_regex {
            let Value::Text(text) = content else {
                let message = format!("x-mapping-regex reads a string, not {}", name(&content));
                let pointer = format!("{}/x-mapping-regex", node.pointer);
                return Err(Error::new(
                    ErrorKind::MappingRegexNonString,
                    pointer,
                    message,
                ));
            };
            content = Value::Text(replaced(raise(replacements)?, text)?);
        }
        self.kind(node, &node.kind, content)
    }

    fn key_value(
        &self,
        node: &Keywords,
        pattern: &Pattern,
        content: &Value<'t>,
    ) -> Result<Object<'t>> {
        let pointer = || format!("{}/x-regex-key-value", node.pointer);
        let text = text_of(content, &pointer)?;
        let mut object = Object::default();
        let mut matches = pattern.matches(text.as_str());
        while let Some(groups) = matches.next_match().map_err(|e| exhausted(e, pointer()))? {
            let mut value = group_value(pattern, text, &groups, &pointer)?;
            let pair = match &mut value {
                Value::Object(map) => {
                    let key = map.get(&Text::plain("key")).cloned();
                    key.zip(map.remove(&Text::plain("value")))
                }
                _ => None,
            };
            let Some((Value::Text(key), value)) = pair else {
                let message = "each match must have the named groups key and value";
                return Err(
                    Error::new(ErrorKind::KeyValueMissingGroups, pointer(), message).at_offset(
                        groups
                            .first()
                            .copied()
                            .flatten()
                            .and_then(|(from, _)| self.offset_of(text).map(|offset| offset + from)),
                    ),
                );
            };
            object.insert(key, value);
        }
        Ok(object)
    }

    fn json(&self, node: &Keywords, parser: &JsonParser, content: Value<'t>) -> Result<Value<'t>> {
        let pointer = || format!("{}/x-parser", node.pointer);
        let Value::Text(text) = content else {
            let message = format!("the JSON parser reads a string, not {}", name(&content));
            return Err(Error::new(ErrorKind::JsonNonString, pointer(), message));
        };
        let text = match parser.spelling {
            Spelling::Json => text,
            Spelling::Gemma4 => {
                let json = gemma4_as_json(text.as_str());
                text.rebuilt(json)
            }
        };
        let arguments = raise(&parser.arguments)?;
        let value = match json::decode_text(&text) {
            Ok(value) => value,
            Err(error) => {
                let kind = match error.problem {
                    Problem::TooDeep => ErrorKind::DepthLimit,
                    _ if arguments.allow_non_json => ErrorKind::NotJson,
                    _ => ErrorKind::JsonInvalid,
                };
                if kind == ErrorKind::NotJson {
                    Value::Text(text)
                } else {
                    let mut message = format!("not JSON: {}", error.problem.message());
                    if kind == ErrorKind::DepthLimit {
                        message = format!("the JSON is nested deeper than {MAX_DEPTH}");
                    } else {
                        message.push_str("; set allow_non_json to keep such text as it is");
                    }
                    let offset = self.offset_of(&text).map(|offset| offset + error.offset);
                    return Err(Error::new(kind, pointer(), message).at_offset(offset));
                }
            }
        };
        match &arguments.transform {
            None => Ok(value),
            Some(transform) => raise(transform)?.search(&value).map_err(|error| {
                jmespath_error(error, format!("{}/x-parser-args/transform", node.pointer))
            }),
        }
    }

    fn kind(&self, node: &Keywords, kind: &Kind, content: Value<'t>) -> Result<Value<'t>> {
        let lenient = self.mode == Mode::Lenient;
        match kind {
            Kind::Untouched => Ok(content),
            Kind::Object => self.object(node, content),
            Kind::Array => self.array(node, content),
            Kind::String | Kind::Integer | Kind::Number | Kind::Boolean => match (kind, &content) {
                (_, Value::Text(text)) => self.scalar(node, kind, text),
                // Python's truth values are integers.
                (Kind::Integer, Value::Int(_) | Value::Bool(_))
                | (Kind::Number, Value::Float(_))
                | (Kind::Boolean, Value::Bool(_))
                    if self.release == Release::V5_12 =>
                {
                    Ok(content)
                }
                (Kind::Number, Value::Bool(truth)) if self.release == Release::V5_12 => {
                    Ok(Value::Float(f64::from(u8::from(*truth))))
                }
                (Kind::Number, Value::Int(number)) if self.release == Release::V5_12 => {
                    match number.to_f64() {
                        float if float.is_finite() => Ok(Value::Float(float)),
                        _ => Err(Error::new(
                            ErrorKind::FloatInvalid,
                            &node.pointer,
                            "the integer is too large for a number",
                        )),
                    }
                }
                (Kind::Integer | Kind::Number, Value::Int(_))
                | (Kind::Number, Value::Float(_))
                | (Kind::Boolean, Value::Bool(_))
                    if lenient =>
                {
                    Ok(content)
                }
                _ => {
                    let message = format!("a scalar is read from a string, not {}", name(&content));
                    Err(Error::new(
                        ErrorKind::ScalarNonString,
                        &node.pointer,
                        message,
                    ))
                }
            },
            Kind::Null => {
                let message = format!("expected null, not {}", name(&content));
                Err(Error::new(
                    ErrorKind::UnsupportedType,
                    &node.pointer,
                    message,
                ))
            }
            Kind::Unsupported(shown) => {
                let message = format!("unsupported type {}", shorten(shown));
                let pointer = format!("{}/type", node.pointer);
                Err(Error::new(ErrorKind::UnsupportedType, pointer, message))
            }
            Kind::OneOf(kinds) => {
                let mut last = None;
                for kind in kinds {
                    match self.kind(node, kind, content.clone()) {
                        Ok(value) => return Ok(value),
                        Err(error) => last = Some(error),
                    }
                }
                let untyped = || {
                    Error::new(
                        ErrorKind::UnsupportedType,
                        &node.pointer,
                        "the list is empty",
                    )
                };
                Err(last.unwrap_or_else(untyped))
            }
        }
    }

    fn scalar(&self, node: &Keywords, kind: &Kind, text: &Text<'t>) -> Result<Value<'t>> {
        // Text with lone surrogates is neither a number nor a boolean.
        let (value, error, what) = match kind {
            Kind::Integer => {
                let value = scalar::integer(text.as_str()).map(Value::Int);
                (value, ErrorKind::IntInvalid, "an integer")
            }
            Kind::Number => {
                let value = scalar::float(text.as_str()).map(Value::Float);
                (value, ErrorKind::FloatInvalid, "a number")
            }
            Kind::Boolean => {
                let value = match text.as_str().to_lowercase().as_str() {
                    "true" | "1" => Some(Value::Bool(true)),
                    "false" | "0" => Some(Value::Bool(false)),
                    _ => None,
                };
                (
                    value,
                    ErrorKind::BoolInvalid,
                    "a boolean (true, false, 1 or 0)",
                )
            }
            _ => return Ok(Value::Text(text.clone())),
        };
        value.ok_or_else(|| {
            let message = format!("not {what}: \"{}\"", shorten(text.as_str()));
            Error::new(error, &node.pointer, message).at_offset(self.offset_of(text))
        })
    }

    fn object(&self, node: &Keywords, content: Value<'t>) -> Result<Value<'t>> {
        let mut parsed = Object::default();
        let mut object = match content {
            Value::Text(text) => {
                let Some(properties) = &node.properties else {
                    let message =
                        "an object is read from a string by its properties, and there are none";
                    let kind = ErrorKind::ObjectStringWithoutProperties;
                    return Err(
                        Error::new(kind, &node.pointer, message).at_offset(self.offset_of(&text))
                    );
                };
                for (key, schema) in raise(properties)? {
                    let value = self.parse(schema, Value::Text(text.clone()))?;
                    if value != Value::Null {
                        parsed.insert(key.clone(), value);
                    }
                }
                check_required(node, &parsed)?;
                return Ok(Value::Object(parsed));
            }
            Value::Object(object) => object,
            other => {
                let message = format!(
                    "an object is read from a string or an object, not {}",
                    name(&other)
                );
                return Err(Error::new(
                    ErrorKind::ObjectBadContent,
                    &node.pointer,
                    message,
                ));
            }
        };
        if let Some(properties) = &node.properties {
            for (key, schema) in raise(properties)? {
                if let Some(value) = self.property(key, schema, &mut object)? {
                    parsed.insert(key.clone(), value);
                }
            }
        }
        if let Some(Additional::Schema(_) | Additional::Kept) = &node.additional {
            for (key, value) in object {
                let known = match &node.properties {
                    Some(properties) => raise(properties)?.contains_key(&key),
                    None => false,
                };
                if !known {
                    let value = match &node.additional {
                        Some(Additional::Schema(schema)) => self.parse(schema, value)?,
                        _ => value,
                    };
                    parsed.insert(key, value);
                }
            }
        }
        check_required(node, &parsed)?;
        Ok(Value::Object(parsed))
    }

    /// The value of a property, or `None` if it is left out.
    fn property(
        &self,
        key: &Text<'static>,
        schema: &Schema,
        object: &mut Object<'t>,
    ) -> Result<Option<Value<'t>>> {
        let own = match schema {
            Schema::Keywords(own) => Some(own),
            Schema::Anything => None,
            Schema::Broken { json, error } => {
                // The reference looks for keywords in a schema that is no object, too.
                if looks_into(json, "const")?
                    || !object.contains_key(key) && looks_into(json, "default")?
                {
                    return Err(error.again());
                }
                None
            }
        };
        if let Some(constant) = own.and_then(|own| own.constant.as_ref()) {
            return Ok(Some(constant.clone()));
        }
        match object.get_mut(key) {
            Some(value) => self
                .parse(schema, std::mem::replace(value, Value::Null))
                .map(Some),
            None => Ok(own.and_then(|own| own.default.clone())),
        }
    }

    fn array(&self, node: &Keywords, content: Value<'t>) -> Result<Value<'t>> {
        let empty = match &content {
            Value::Null | Value::Bool(false) => true,
            Value::Text(text) => text.as_str().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            Value::Int(n) => n.to_usize() == Some(0),
            Value::Float(n) => *n == 0.0,
            Value::Bool(true) | Value::Json(_) => false,
        };
        if empty {
            return Ok(Value::Array(Vec::new()));
        }
        let bad = |content: &Value<'_>| {
            let message = format!("an array is read from an array, not {}", name(content));
            Error::new(ErrorKind::ArrayBadContent, &node.pointer, message)
        };
        if let Some(schema) = &node.items {
            let Value::Array(items) = content else {
                return Err(bad(&content));
            };
            let parsed = items.into_iter().map(|item| self.parse(schema, item));
            return parsed.collect::<Result<_>>().map(Value::Array);
        }
        let Some(schemas) = &node.prefix_items else {
            if self.mode == Mode::Lenient && matches!(content, Value::Array(_)) {
                return Ok(content);
            }
            let message = "an array needs items or prefixItems";
            return Err(Error::new(
                ErrorKind::ArrayWithoutItems,
                &node.pointer,
                message,
            ));
        };
        let schemas = raise(schemas)?;
        let items = match content {
            Value::Array(items) => items,
            other if schemas.len() == 1 => vec![other],
            other => return Err(bad(&other)),
        };
        if items.len() != schemas.len() {
            let (have, want) = (items.len(), schemas.len());
            let message = format!("{have} item(s) for {want} schema(s)");
            let pointer = format!("{}/prefixItems", node.pointer);
            return Err(Error::new(ErrorKind::PrefixItemsLength, pointer, message));
        }
        let pairs = items.into_iter().zip(schemas);
        let parsed = pairs.map(|(item, schema)| self.parse(schema, item));
        parsed.collect::<Result<_>>().map(Value::Array)
    }

    /// Returns the place of `part` in the input, if it is a part of it.
    fn offset_of(&self, part: &Text<'t>) -> Option<usize> {
        let part = part.borrowed()?;
        let from = self.input.as_ptr() as usize;
        let offset = (part.as_ptr() as usize).checked_sub(from)?;
        (offset + part.len() <= self.input.len()).then_some(offset)
    }
}

/// Refuses an object that lacks a key of `required`.
fn check_required(node: &Keywords, parsed: &Object<'_>) -> Result<()> {
    let Some(required) = &node.required else {
        return Ok(());
    };
    let missing = raise(required)?
        .iter()
        .find(|key| !parsed.contains_key(key));
    match missing {
        None => Ok(()),
        Some(key) => {
            let pointer = format!("{}/required", node.pointer);
            let message = format!("the object lacks \"{}\"", shorten(key.as_str()));
            Err(Error::new(ErrorKind::RequiredMissing, pointer, message))
        }
    }
}

/// The text after all replacements, one after the other.
fn replaced<'t>(replacements: &[Replacement], mut text: Text<'t>) -> Result<Text<'t>> {
    for replacement in replacements {
        let (pattern, template) = raise(&replacement.compiled)?;
        let pointer = || replacement.pointer.clone();
        let replaced = pattern.replace(template, text.as_str(), MAX_TEXT);
        let replaced = replaced.map_err(|e| exhausted(e, pointer()))?;
        let Some(replaced) = replaced else {
            let message = format!("the replaced text is longer than {MAX_TEXT} bytes");
            return Err(Error::new(ErrorKind::SizeLimit, pointer(), message));
        };
        text = text.rebuilt(replaced);
    }
    Ok(text)
}

/// The part, or its error now that its step runs.
fn raise<T>(part: &Result<T>) -> Result<&T> {
    part.as_ref().map_err(Error::again)
}

fn text_of<'c, 't>(content: &'c Value<'t>, pointer: &dyn Fn() -> String) -> Result<&'c Text<'t>> {
    match content {
        Value::Text(text) => Ok(text),
        other => {
            let message = format!("the regex before left {}, no string", name(other));
            Err(Error::new(ErrorKind::PythonType, pointer(), message))
        }
    }
}

/// Returns the value of a match: an object of its named groups, or its only group.
fn group_value<'t>(
    pattern: &Pattern,
    text: &Text<'t>,
    groups: &Groups,
    pointer: &dyn Fn() -> String,
) -> Result<Value<'t>> {
    let names = pattern.names();
    let part = |group: usize| groups.get(group).copied().flatten();
    if names.iter().any(Option::is_some) {
        let mut object = Object::default();
        for (group, name) in names.iter().enumerate() {
            if let (Some(name), Some((from, to))) = (name, part(group)) {
                object.insert(Text::plain(name.clone()), Value::Text(text.slice(from..to)));
            }
        }
        return Ok(Value::Object(object));
    }
    match names.len() - 1 {
        1 => Ok(part(1).map_or(Value::Null, |(from, to)| Value::Text(text.slice(from..to)))),
        0 => {
            let message = "the pattern has no group; put (...) around what is wanted";
            Err(Error::new(ErrorKind::RegexNoGroups, pointer(), message))
        }
        count => {
            let message = format!(
                "the pattern has {count} groups without names; name them (?P<name>...), or keep one and write (?:...) for the others"
            );
            Err(Error::new(
                ErrorKind::RegexMultipleGroups,
                pointer(),
                message,
            ))
        }
    }
}

/// Does with a schema that is no object as the reference does.
fn parse_broken<'t>(json: &Json, error: &Error, content: &Value<'t>) -> Result<Value<'t>> {
    if !looks_into(json, "const").unwrap_or(true) && *content == Value::Null {
        return Ok(Value::Null);
    }
    Err(error.again())
}

/// Python's `keyword in schema` for a schema that is no object.
fn looks_into(json: &Json, keyword: &str) -> Result<bool> {
    match json {
        Json::String(text) => Ok(text.contains(keyword)),
        Json::Array(items) => Ok(items.iter().any(|item| item.as_str() == Some(keyword))),
        _ => Err(Error::new(
            ErrorKind::PythonType,
            "",
            "a schema must be an object",
        )),
    }
}
