//! The message of a response: its regions' values, joined and checked. For example, two regions of
//! a field that repeats are a list of two values.

use serde_json::Value as Json;

use super::content;
use super::fields::{Field, Template, key};
use super::regions::{Capture, Regions};
use super::tools::Tools;
use crate::error::{Error, ErrorKind};
use crate::value::{Beyond, Object, Value};

/// Makes the message alone, of values that borrow from the text.
pub(super) struct OneShot<'a, 't> {
    pub(super) template: &'a Template,
    pub(super) tools: &'a Tools,
    pub(super) text: &'t str,
    pub(super) output: &'a mut Object<'t>,
}

impl Regions for OneShot<'_, '_> {
    fn open(&mut self, _: usize) {}

    fn text(&mut self, _: usize, _: usize, _: usize) {}

    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[Capture],
    ) -> Result<(), Error> {
        let spec = &self.template.fields[field];
        let value = region_value(spec, self.tools, self.text, (from, to), captures)?;
        store(spec, self.output, value)
    }
}

pub(super) fn region_value<'t>(
    field: &Field,
    tools: &Tools,
    text: &'t str,
    (from, to): (usize, usize),
    captures: &[Capture],
) -> Result<Value<'t>, Error> {
    let captures = named_captures(field, text, captures);
    content::value(field, tools, &text[from..to], from, &captures)
}

/// The groups of the matches that opened and closed a region, by name.
pub(super) fn named_captures<'f, 't>(
    field: &'f Field,
    text: &'t str,
    captures: &[Capture],
) -> Vec<(&'f str, &'t str)> {
    let names: Vec<(usize, &str)> = field.named().collect();
    let captures = captures.iter().filter_map(|&(group, from, to)| {
        let (_, name) = names.iter().find(|(known, _)| *known == group)?;
        Some((*name, &text[from..to]))
    });
    captures.collect()
}

/// Puts a region's value into the output.
pub(super) fn store<'t>(
    field: &Field,
    output: &mut Object<'t>,
    value: Value<'t>,
) -> Result<(), Error> {
    let key = key(field);
    if let Some(join) = &field.join {
        let wrong = |what: &str| {
            let message = format!("join joins strings, and {what} is none");
            Error::new(
                ErrorKind::JoinNonString,
                format!("{}/join", field.pointer),
                message,
            )
        };
        let Value::Text(text) = &value else {
            return Err(wrong("the value"));
        };
        let joined = match output.get(&key) {
            None | Some(Value::Null) => None,
            Some(Value::Text(before)) => Some(before.joined(join, text)),
            Some(_) => {
                let kind = ErrorKind::PythonType;
                let message = "join joins strings, and the default is none";
                return Err(Error::new(kind, format!("{}/join", field.pointer), message));
            }
        };
        output.insert(key, joined.map_or(value, Value::Text));
        return Ok(());
    }
    if !field.repeats {
        output.insert(key, value);
        return Ok(());
    }
    match output.get_mut(&key) {
        Some(Value::Array(items)) => items.push(value),
        Some(_) => {
            let message = "the default is no list, so repeats has nowhere to add to";
            return Err(Error::new(ErrorKind::PythonType, &field.pointer, message));
        }
        None => {
            output.insert(key, Value::Array(vec![value]));
        }
    }
    Ok(())
}

/// The message of an output.
pub(super) fn finish<'t>(template: &Template, output: Object<'t>) -> Result<Object<'t>, Error> {
    let mut output = output;
    for field in &template.fields {
        if !field.optional && !output.contains_key(&key(field)) {
            let message = "the field is not optional, and the response has none";
            return Err(Error::new(
                ErrorKind::RequiredMissing,
                &field.pointer,
                message,
            ));
        }
    }
    output.retain(|key, value| {
        let empty = match value {
            Value::Null => true,
            Value::Text(text) => text.as_str().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            Value::Json(Json::Array(items)) => items.is_empty(),
            Value::Json(Json::Object(map)) => map.is_empty(),
            Value::Json(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
        };
        !empty || template.defaults.contains_key(key)
    });
    Ok(output)
}

/// The value as JSON.
pub(super) fn to_json(value: Value<'_>, beyond: Beyond) -> Result<Json, Error> {
    value.into_json(beyond).map_err(|problem| problem.error())
}
