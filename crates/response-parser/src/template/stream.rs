//! A response that arrives piece by piece.

use std::sync::Arc;

use serde_json::Value as Json;

use super::Inner;
use super::content;
use super::load::{Anchor, Field, Kind, Template, key, named};
use super::machine::{Machine, Phase, Regions};
use super::tools::Tools;
use crate::error::{Error, ErrorKind};
use crate::partial::{self, PartialJson};
use crate::value::{Beyond, Object, Value};

/// Something that happened while a response arrived.
///
/// ```
/// use response_parser::{Event, Family, ResponseTemplate, Turn};
///
/// let mut stream = ResponseTemplate::of_family(Family::HERMES)?.stream(&Turn::after(""))?;
/// let mut shown = String::new();
/// for piece in ["Hel", "lo."] {
///     for event in stream.feed(piece)? {
///         if let Event::RegionChunk { text, dirty: false, .. } = event {
///             shown += &text;
///         }
///     }
/// }
/// assert_eq!(stream.finish()?.message["content"], "Hello.");
/// assert!("Hello.".starts_with(&shown));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A region of a field starts.
    RegionOpen {
        /// The field's name.
        field: Arc<str>,
    },
    /// Text of the open region.
    RegionChunk {
        /// The field's name.
        field: Arc<str>,
        /// The text, never empty.
        text: String,
        /// The text is raw material (JSON, tags, lines) that a user should not be shown.
        dirty: bool,
    },
    /// The region ends.
    RegionClose {
        /// The field's name.
        field: Arc<str>,
        /// What the region's text became.
        value: Json,
    },
}

impl Event {
    /// The name of the field that the event is about.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Event::RegionOpen { field }
            | Event::RegionChunk { field, .. }
            | Event::RegionClose { field, .. } => field,
        }
    }

    /// The event as the reference writes it: an object with `type`, `field` and what belongs
    /// to it.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate, Turn};
    /// use serde_json::json;
    ///
    /// let mut stream = ResponseTemplate::of_family(Family::HERMES)?.stream(&Turn::after(""))?;
    /// let events = stream.feed("<think>\nHm.")?;
    /// assert_eq!(events[0].to_json(), json!({"type": "region_open", "field": "reasoning_content"}));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Event::RegionOpen { field } => {
                serde_json::json!({"type": "region_open", "field": &**field})
            }
            Event::RegionChunk { field, text, dirty } => serde_json::json!(
                {"type": "region_chunk", "field": &**field, "text": text, "dirty": dirty}
            ),
            Event::RegionClose { field, value } => {
                serde_json::json!({"type": "region_close", "field": &**field, "value": value})
            }
        }
    }

    /// Joins chunks of one region that follow each other. What is left is the same for every
    /// way of cutting a response.
    ///
    /// ```
    /// use response_parser::{Event, Family, ResponseTemplate, Turn};
    ///
    /// let template = ResponseTemplate::of_family(Family::HERMES)?;
    /// let read = |pieces: &[&str]| {
    ///     let mut stream = template.stream(&Turn::after(""))?;
    ///     let mut events = Vec::new();
    ///     for piece in pieces {
    ///         stream.feed_into(piece, &mut events)?;
    ///     }
    ///     events.extend(stream.finish()?.events);
    ///     Ok::<_, response_parser::Error>(Event::merge(events))
    /// };
    /// assert_eq!(read(&["Hello."])?, read(&["He", "l", "lo."])?);
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    #[must_use]
    pub fn merge(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
        let mut merged: Vec<Event> = Vec::new();
        for event in events {
            if let (Some(Event::RegionChunk { text, .. }), Event::RegionChunk { text: more, .. }) =
                (merged.last_mut(), &event)
            {
                text.push_str(more);
            } else {
                merged.push(event);
            }
        }
        merged
    }
}

/// The end of a streamed response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Finished {
    /// What happened since the last feed.
    pub events: Vec<Event>,
    /// The message.
    pub message: Json,
}

/// A response that is read while it arrives; from [`crate::ResponseTemplate::stream`].
///
/// The events, once merged ([`Event::merge`]), and the message do not depend on how the text
/// is cut into pieces. Memory is linear in the text.
pub struct TemplateStream {
    inner: Arc<Inner>,
    tools: Tools,
    machine: Machine,
    /// The prefix that is left after the start anchor, and all text that was fed.
    buffer: String,
    output: Object<'static>,
    failed: Option<Error>,
    partial: Option<OpenJson>,
}

/// The JSON region at work: where its text starts, how much of it was read, its value so far.
struct OpenJson {
    from: usize,
    read: usize,
    json: PartialJson,
}

/// The value so far of the JSON region that is open; from [`TemplateStream::partial`].
///
/// ```
/// use response_parser::{Family, ResponseTemplate, Turn};
///
/// let mut stream = ResponseTemplate::of_family(Family::LLAMA3)?.stream(&Turn::after(""))?;
/// stream.feed("{\"name\": \"weather\", \"parameters\": {\"city\": \"Os")?;
/// let partial = stream.partial().unwrap();
/// assert_eq!(partial.value().unwrap()["parameters"]["city"], "Os");
/// assert_eq!(partial.json().pointer(), "/parameters/city");
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PartialValue<'s> {
    field: &'s str,
    json: &'s PartialJson,
    captures: &'s [(usize, usize, usize)],
    open: Option<&'s Anchor>,
    text: &'s str,
}

impl<'s> PartialValue<'s> {
    /// The region's field.
    #[must_use]
    pub fn field(&self) -> &'s str {
        self.field
    }

    /// What is known of the region's JSON, before any transform.
    #[must_use]
    pub fn json(&self) -> &'s PartialJson {
        self.json
    }

    /// The value so far; `None` before anything of it can be told.
    #[must_use]
    pub fn value(&self) -> Option<&'s Json> {
        self.json.value()
    }

    /// A named group of the match that opened the region, such as the name of the tool.
    #[must_use]
    pub fn capture(&self, name: &str) -> Option<&'s str> {
        let (group, _) = named(self.open?).find(|(_, known)| *known == name)?;
        let (_, from, to) = self.captures.iter().find(|(known, ..)| *known == group)?;
        self.text.get(*from..*to)
    }
}

impl TemplateStream {
    pub(super) fn new(
        inner: Arc<Inner>,
        tools: Tools,
        prefix: &str,
        events: &mut Vec<Event>,
    ) -> Result<TemplateStream, Error> {
        let template = &inner.template;
        let rest = after_anchor(template, prefix)?.to_owned();
        let mut stream = TemplateStream {
            machine: Machine::new(template),
            output: template.defaults.clone(),
            buffer: rest,
            tools,
            failed: None,
            partial: None,
            inner,
        };
        if !stream.buffer.is_empty() {
            stream.run(Phase::Prefix, events)?;
        }
        Ok(stream)
    }

    /// Takes the next piece of the text and returns what it settles.
    ///
    /// A delimiter that may have begun is held back until it is sure what it is. The cost is
    /// linear in all text fed, for patterns that need no backtracking.
    ///
    /// # Errors
    ///
    /// Where a region's text does not become a value, or a budget is used up. The stream is
    /// over then: every later call fails in the same way. To have the events that came before
    /// the failure, use [`TemplateStream::feed_into`].
    pub fn feed(&mut self, chunk: &str) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        self.feed_into(chunk, &mut events)?;
        Ok(events)
    }

    /// Like [`TemplateStream::feed`], and appends the events to a list of the caller's.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`]; the events before the failure are in the list.
    pub fn feed_into(&mut self, chunk: &str, events: &mut Vec<Event>) -> Result<(), Error> {
        self.buffer.push_str(chunk);
        self.run(Phase::Growing, events)
    }

    /// Takes it that the text is over, and returns the message.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`]; [`ErrorKind::RequiredMissing`] for a field that is
    /// not optional and got no value; [`ErrorKind::NotJson`] where the message holds what JSON
    /// cannot.
    pub fn finish(mut self) -> Result<Finished, Error> {
        let mut events = Vec::new();
        self.run(Phase::Whole, &mut events)?;
        let output = finish(&self.inner.template, self.output)?;
        let message = to_json(Value::Object(output), self.inner.beyond)?;
        Ok(Finished { events, message })
    }

    /// The value so far of the JSON region that is open, for a user interface that shows
    /// arguments while they come; `None` outside of one.
    ///
    /// Work is done only when asked for, and the sum of all calls is linear in the text.
    pub fn partial(&mut self) -> Option<PartialValue<'_>> {
        let template = &self.inner.template;
        let (field, from) = self.machine.open_region(template)?;
        let field = &template.fields[field];
        let Kind::Json(dialect) = &field.parser.kind else {
            return None;
        };
        if self.partial.as_ref().is_none_or(|open| open.from != from) {
            self.partial = Some(OpenJson {
                from,
                read: from,
                json: PartialJson::with_dialect(partial::Dialect {
                    unquoted_keys: dialect.unquoted_keys,
                    string_delims: dialect.string_delims.clone(),
                }),
            });
        }
        let open = self.partial.as_mut()?;
        let to = self.machine.pos().max(open.read);
        open.json.feed(&self.buffer[open.read..to]);
        open.read = to;
        Some(PartialValue {
            field: &field.name,
            json: &open.json,
            captures: self.machine.captures(),
            open: field.open.as_ref(),
            text: &self.buffer,
        })
    }

    fn run(&mut self, phase: Phase, events: &mut Vec<Event>) -> Result<(), Error> {
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        let mut regions = Streamed {
            template: &self.inner.template,
            beyond: self.inner.beyond,
            tools: &self.tools,
            text: &self.buffer,
            output: &mut self.output,
            events,
        };
        let done = self
            .machine
            .run(&self.inner.template, &self.buffer, phase, &mut regions);
        if let Err(error) = &done {
            self.failed = Some(error.again());
        }
        done
    }
}

impl std::fmt::Debug for TemplateStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateStream")
            .field("bytes", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

/// The part of a prefix after the last start anchor; all of it if there is none.
pub(super) fn after_anchor<'p>(template: &Template, prefix: &'p str) -> Result<&'p str, Error> {
    Ok(behind_anchor(template, prefix)?.unwrap_or(prefix))
}

/// The same, `None` if there is none.
pub(super) fn behind_anchor<'p>(
    template: &Template,
    prefix: &'p str,
) -> Result<Option<&'p str>, Error> {
    let anchor = &template.start_anchor;
    let mut matches = anchor.pattern.matches(prefix);
    let mut behind = None;
    loop {
        let groups = matches.next_match();
        let groups = groups.map_err(|e| crate::run::exhausted(e, anchor.pointer.clone()))?;
        match groups.and_then(|groups| groups.first().copied().flatten()) {
            Some((_, end)) => behind = Some(&prefix[end..]),
            None => return Ok(behind),
        }
    }
}

/// Makes events, and values that outlive the text.
struct Streamed<'a> {
    template: &'a Template,
    beyond: Beyond,
    tools: &'a Tools,
    text: &'a str,
    output: &'a mut Object<'static>,
    events: &'a mut Vec<Event>,
}

impl Streamed<'_> {
    fn field(&self, field: usize) -> Arc<str> {
        self.template.fields[field].name.clone()
    }
}

impl Regions for Streamed<'_> {
    fn open(&mut self, field: usize) {
        let field = self.field(field);
        self.events.push(Event::RegionOpen { field });
    }

    fn text(&mut self, field: usize, from: usize, to: usize) {
        let dirty = self.template.fields[field].parser.is_dirty();
        self.events.push(Event::RegionChunk {
            field: self.field(field),
            text: self.text[from..to].to_owned(),
            dirty,
        });
    }

    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error> {
        let spec = &self.template.fields[field];
        let value = region_value(spec, self.tools, self.text, (from, to), captures)?;
        let value = value.into_owned();
        store(spec, self.output, value.clone())?;
        self.events.push(Event::RegionClose {
            field: self.field(field),
            value: to_json(value, self.beyond)?,
        });
        Ok(())
    }
}

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
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error> {
        let spec = &self.template.fields[field];
        let value = region_value(spec, self.tools, self.text, (from, to), captures)?;
        store(spec, self.output, value)
    }
}

fn region_value<'t>(
    field: &Field,
    tools: &Tools,
    text: &'t str,
    (from, to): (usize, usize),
    captures: &[(usize, usize, usize)],
) -> Result<Value<'t>, Error> {
    let names: Vec<(usize, &str)> = field.open.iter().flat_map(named).collect();
    let captures: Vec<(&str, &'t str)> = captures
        .iter()
        .filter_map(|&(group, from, to)| {
            let (_, name) = names.iter().find(|(known, _)| *known == group)?;
            Some((*name, &text[from..to]))
        })
        .collect();
    content::value(field, tools, &text[from..to], from, &captures)
}

/// Puts a region's value into the output.
fn store<'t>(field: &Field, output: &mut Object<'t>, value: Value<'t>) -> Result<(), Error> {
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
