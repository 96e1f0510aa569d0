//! A response that arrives piece by piece. For example, the pieces `<thi`, `nk>Hm` and `.</think>`
//! give the events that `reasoning_content` begins, goes on and ends.

use std::sync::Arc;

use serde_json::Value as Json;

use super::arguments::{Growing, Writing};
use super::call::{Body, Parameter, Rows, Scan};
use super::content;
use super::cuts::Phase;
use super::load::{Anchor, Field, Kind, Template, key, named};
use super::machine::{End, Machine};
use super::regions::{NoCall, Regions, Rest, Span};
use super::tools::{Names, Tools};
use super::{Broken, Language, Piece, Pieces, TemplateInner};
use crate::error::{Error, ErrorKind};
use crate::partial::{self, PartialJson};
use crate::text::Text;
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
        /// The value of the region's text.
        value: Json,
    },
    /// A piece of the JSON of a call's arguments, as servers stream them. Only if asked for, see [`Pieces`].
    Arguments {
        /// The field's name.
        field: Arc<str>,
        /// The number of the call in the field, from 0.
        call: usize,
        /// The tool's name.
        name: String,
        /// The piece. All pieces of a call add up to the JSON of its arguments.
        text: String,
    },
    /// The region ends, and its text is not what it should be: a call that is cut off or cannot be read. Only in
    /// the extended language.
    RegionError {
        /// The field's name.
        field: Arc<str>,
        /// The text, with its marks. If it counts as content, chunks of that follow.
        text: String,
        /// The kind of the error, as [`ErrorKind::as_str`] has it.
        kind: String,
        /// The message of the error.
        message: String,
    },
}

impl Event {
    /// The name of the field that the event is about.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Event::RegionOpen { field }
            | Event::RegionChunk { field, .. }
            | Event::RegionClose { field, .. }
            | Event::Arguments { field, .. }
            | Event::RegionError { field, .. } => field,
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
            Event::Arguments {
                field,
                call,
                name,
                text,
            } => serde_json::json!({
                "type": "arguments", "field": &**field, "call": call, "name": name, "text": text
            }),
            Event::RegionError {
                field,
                text,
                kind,
                message,
            } => serde_json::json!({
                "type": "region_error", "field": &**field, "text": text, "kind": kind, "message": message
            }),
        }
    }

    /// Joins chunks of one region that follow each other. The events that are left are the same for
    /// every way of cutting a response.
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
    /// The events since the last feed.
    pub events: Vec<Event>,
    /// The message.
    pub message: Json,
}

/// A response that is read while it arrives; from [`crate::ResponseTemplate::stream`].
///
/// The events, once merged ([`Event::merge`]), and the message do not depend on how the text
/// is cut into pieces. Memory is linear in the text.
pub struct TemplateStream {
    inner: Arc<TemplateInner>,
    tools: Tools,
    machine: Machine,
    /// The prefix that is left after the start anchor, and all text that was fed.
    buffer: String,
    output: Object<'static>,
    failed: Option<Error>,
    partial: Option<OpenJson>,
    shown: Shown,
    writing: Writing,
    /// Texts of special tokens.
    specials: Vec<String>,
    /// The end of the text so far, where it is letters; none before pieces come.
    spelt: Option<String>,
}

/// Stands within the letters of what is no special token, so that they are no mark. It is no character that
/// text may have.
const SPELT: char = '\u{FDD0}';

/// The text that was given of the open region.
#[derive(Default)]
struct Shown {
    /// Something that is not blank came.
    started: bool,
    /// Blanks that count only if something else follows.
    held: String,
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

    /// Returns the region's JSON so far, before any transform.
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
        inner: Arc<TemplateInner>,
        tools: Tools,
        specials: &[&str],
        prefix: &str,
        events: &mut Vec<Event>,
    ) -> Result<TemplateStream, Error> {
        let template = &inner.template;
        let mut rest = after_anchor(template, prefix)?.to_owned();
        if template.language == Language::Extended {
            rest.drain(..closed_unopened(template, &rest)?);
        }
        let mut stream = TemplateStream {
            machine: Machine::new(template),
            specials: specials.iter().map(|&text| text.to_owned()).collect(),
            spelt: None,
            output: template.defaults.clone(),
            buffer: rest,
            tools,
            failed: None,
            partial: None,
            shown: Shown::default(),
            writing: Writing::default(),
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
    /// A region's text does not become a value, or a budget is used up. The stream is over then:
    /// every later call fails in the same way. To have the events that came before the failure, use
    /// [`TemplateStream::feed_into`].
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

    /// Takes pieces of the text of which it is known whether they are special tokens, and appends
    /// what they settle. Text that is spelt like one of the turn's special tokens in other pieces
    /// is no mark; and a mark that is one ends even a string. From the first pieces on, text is
    /// given by this alone.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`]; the events before the failure are in the list.
    ///
    /// ```
    /// use response_parser::{Family, Piece, ResponseTemplate, Turn};
    ///
    /// let specials = ["<|tool_call>", "<tool_call|>"];
    /// let turn = Turn::after("").with_special_tokens(&specials);
    /// let mut stream = ResponseTemplate::of_family(Family::GEMMA4)?.stream(&turn)?;
    /// let pieces = [("Write <|tool", Piece::Text), ("_call>call:f{}", Piece::Text)];
    /// stream.feed_pieces(&pieces, &mut Vec::new())?;
    /// let pieces = [("<|tool_call>", Piece::Special), ("call:f{}", Piece::Text), ("<tool_call|>", Piece::Special)];
    /// stream.feed_pieces(&pieces, &mut Vec::new())?;
    /// let message = stream.finish()?.message;
    /// assert_eq!(message["content"], "Write <|tool_call>call:f{}");
    /// assert_eq!(message["tool_calls"].as_array().map(Vec::len), Some(1));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn feed_pieces(
        &mut self,
        pieces: &[(&str, Piece)],
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        if self.spelt.is_none() {
            let machine = std::mem::replace(&mut self.machine, Machine::new(&self.inner.template));
            self.machine = machine.with_specials(self.specials.clone());
        }
        let mut spelt = self.spelt.take().unwrap_or_default();
        for (text, piece) in pieces {
            match piece {
                Piece::Special => {
                    self.buffer.push_str(text);
                    spelt.clear();
                }
                Piece::Text => self.spell(text, &mut spelt),
            }
        }
        self.spelt = Some(spelt);
        self.run(Phase::Growing, events)
    }

    /// Appends letters; `before` is the end of the letters before them, as far as a special token may have begun there.
    fn spell(&mut self, text: &str, before: &mut String) {
        let known = before.len();
        before.push_str(text);
        let mut copied = known;
        let mut at = 0;
        while at < before.len() {
            let rest = &before[at..];
            let found = self.specials.iter().map(String::as_str);
            let found = found.filter(|special| !special.is_empty() && rest.starts_with(special));
            let first = rest.chars().next().map_or(1, char::len_utf8);
            if let Some(length) = found.map(str::len).max()
                && at + length > known
            {
                let place = known.max(at + first);
                self.buffer.push_str(&before[copied..place]);
                self.buffer.push(SPELT);
                copied = place;
            }
            at += first;
        }
        self.buffer.push_str(&before[copied..]);
        let longest = self.specials.iter().map(String::len).max().unwrap_or(0);
        let mut kept = before.len().saturating_sub(longest);
        while !before.is_char_boundary(kept) {
            kept += 1;
        }
        before.drain(..kept);
    }

    /// Takes it that the text is over, and returns the message.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::feed`]; [`ErrorKind::RequiredMissing`] for a field that is
    /// not optional and got no value; [`ErrorKind::NotJson`] where the message holds what JSON
    /// cannot.
    pub fn finish(self) -> Result<Finished, Error> {
        self.finish_by(End::Stop)
    }

    /// Takes it that the text is over for this reason, and returns the message.
    ///
    /// A call that was cut off is never one. A call that nothing but the text's end ends is one only if the
    /// model ended the text.
    ///
    /// # Errors
    ///
    /// As [`TemplateStream::finish`].
    ///
    /// ```
    /// use response_parser::{End, Family, ResponseTemplate, Turn};
    ///
    /// let mut stream = ResponseTemplate::of_family(Family::HERMES)?.stream(&Turn::after(""))?;
    /// stream.feed("One moment.\n<tool_call>\n{\"name\": \"rm\", \"arguments\": {\"path\": \"/tm")?;
    /// let finished = stream.finish_by(End::Length)?;
    /// assert_eq!(finished.message["content"], "One moment.");
    /// assert!(finished.message.get("tool_calls").is_none());
    /// assert_eq!(finished.events.last().map(|e| e.to_json()["kind"].clone()), Some("call_unfinished".into()));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn finish_by(mut self, end: End) -> Result<Finished, Error> {
        let mut events = Vec::new();
        self.machine.ends_by(end);
        self.run(Phase::Whole, &mut events)?;
        let output = finish(&self.inner.template, self.output)?;
        let message = to_json(Value::Object(output), self.inner.beyond)?;
        Ok(Finished { events, message })
    }

    /// Takes the rest of the text, which ends with it: the same as the last piece and [`TemplateStream::finish_by`], and
    /// quicker.
    pub(super) fn finish_with(mut self, rest: &str, end: End) -> Result<Finished, Error> {
        self.buffer.push_str(rest);
        self.finish_by(end)
    }

    /// The value so far of the JSON region that is open, for a user interface that shows
    /// arguments while they come; `None` outside of one.
    ///
    /// Work is done only when asked for, and the sum of all calls is linear in the text.
    pub fn partial(&mut self) -> Option<PartialValue<'_>> {
        let template = &self.inner.template;
        let (field, from) = self.machine.open_region(template)?;
        let field = &template.fields[field];
        let body = field.call.as_ref().map(|call| &call.body);
        let ((Kind::Json(dialect), _) | (_, Some(Body::Json(dialect)))) =
            (&field.parser.kind, body)
        else {
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
            inner: &self.inner,
            tools: &self.tools,
            text: &self.buffer,
            output: &mut self.output,
            shown: &mut self.shown,
            writing: &mut self.writing,
            spelt: self.spelt.is_some(),
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

/// The length of what closes reasoning at the very beginning of a response: in the prompt it closes what was
/// not opened there, and is no content.
fn closed_unopened(template: &Template, rest: &str) -> Result<usize, Error> {
    for field in &template.fields {
        if let (Some(_), Some(close)) = (&field.open, &field.close) {
            let groups = close.pattern.match_at(rest, 0);
            let groups = groups.map_err(|e| crate::schema::exhausted(e, close.pointer.clone()))?;
            let found = groups.and_then(|groups| groups.first().copied().flatten());
            if let Some((_, end)) = found.filter(|(from, end)| from < end) {
                return Ok(end);
            }
        }
    }
    Ok(0)
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
        let groups = groups.map_err(|e| crate::schema::exhausted(e, anchor.pointer.clone()))?;
        match groups.and_then(|groups| groups.first().copied().flatten()) {
            Some((_, end)) => behind = Some(&prefix[end..]),
            None => return Ok(behind),
        }
    }
}

/// Makes events, and values that outlive the text.
struct Streamed<'a> {
    template: &'a Template,
    inner: &'a TemplateInner,
    tools: &'a Tools,
    text: &'a str,
    output: &'a mut Object<'static>,
    shown: &'a mut Shown,
    writing: &'a mut Writing,
    /// Letters of what is no special token are marked.
    spelt: bool,
    events: &'a mut Vec<Event>,
}

impl Streamed<'_> {
    fn field(&self, field: usize) -> Arc<str> {
        self.template.fields[field].name.clone()
    }

    /// Tells whether blanks around the region's text, or a region of nothing else, do not count.
    fn is_text(&self, field: usize) -> bool {
        self.template.language == Language::Extended
            && matches!(self.template.fields[field].parser.kind, Kind::Text)
    }

    fn chunk(&mut self, field: usize, text: String, dirty: bool) {
        let field = self.field(field);
        let text = self.plain(text);
        if !text.is_empty() {
            self.events.push(Event::RegionChunk { field, text, dirty });
        }
    }

    /// The text as it came.
    fn plain(&self, text: String) -> String {
        match self.spelt && text.contains(SPELT) {
            true => text.replace(SPELT, ""),
            false => text,
        }
    }

    /// The value without what stands in letters.
    fn plain_value(&self, value: Value<'static>) -> Value<'static> {
        match (self.spelt, value) {
            (true, Value::Text(text)) => {
                let plain = self.plain(text.as_str().to_owned());
                Value::Text(text.rebuilt(plain))
            }
            (true, Value::Array(items)) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.plain_value(item))
                    .collect(),
            ),
            (true, Value::Object(object)) => {
                let members = object.into_iter();
                let members = members.map(|(key, value)| {
                    let plain = self.plain(key.as_str().to_owned());
                    (key.rebuilt(plain), self.plain_value(value))
                });
                Value::Object(members.collect())
            }
            (_, value) => value,
        }
    }

    /// Gives text of a region so that the chunks add up to the message: without the blanks that it loses, and with
    /// what joins it to the region before.
    fn show(&mut self, field: usize, from: usize, to: usize) {
        let spec = &self.template.fields[field];
        let strip = spec.parser.strip;
        let mut text = &self.text[from..to];
        if !self.shown.started {
            let body = text.trim_start_matches(python_compat::text::is_space);
            if body.is_empty() {
                self.shown.held.push_str(text);
                return;
            }
            if strip {
                text = body;
                self.shown.held.clear();
            }
            self.shown.started = true;
            self.events.push(Event::RegionOpen {
                field: spec.name.clone(),
            });
            if let (Some(join), Some(Value::Text(before))) =
                (&spec.join, self.output.get(&key(spec)))
                && !join.is_empty()
                && !before.as_str().is_empty()
            {
                self.shown.held.insert_str(0, join);
            }
        }
        let kept = match strip {
            true => text.trim_end_matches(python_compat::text::is_space).len(),
            false => text.len(),
        };
        if kept > 0 {
            let mut chunk = std::mem::take(&mut self.shown.held);
            chunk.push_str(&text[..kept]);
            self.chunk(field, chunk, false);
        }
        self.shown.held.push_str(&text[kept..]);
    }

    fn names(&self, field: usize) -> Names {
        let call = self.template.fields[field].call.as_ref();
        // A call without a mark of its own is one only if it is of a tool.
        match call.is_some_and(|call| call.bare) && !self.tools.is_empty() {
            true => Names::Offered,
            false => self.inner.names,
        }
    }

    fn value(
        &self,
        field: usize,
        span: Span,
        captures: &[(usize, usize, usize)],
        parameters: &[Parameter],
    ) -> Result<Value<'static>, Error> {
        let spec = &self.template.fields[field];
        let Some(call) = &spec.call else {
            let message = "only calls have parameters";
            return Err(Error::new(ErrorKind::CallInvalid, &spec.pointer, message));
        };
        let captures = named_captures(spec, self.text, captures);
        let found = content::Found {
            text: self.text,
            from: span.from,
            to: span.to,
            captures: &captures,
            parameters,
        };
        let value = content::call(spec, call, self.tools, self.names(field), &found)?;
        Ok(self.plain_value(value))
    }

    /// Gives a piece of the arguments of the call of that number.
    fn piece(&mut self, field: usize, call: usize, name: &str, text: String) {
        let text = self.plain(text);
        if !text.is_empty() {
            self.events.push(Event::Arguments {
                field: self.field(field),
                call,
                name: name.to_owned(),
                text,
            });
        }
    }

    /// Returns the number of calls that the field has.
    fn count(&self, field: usize) -> usize {
        match self.output.get(&key(&self.template.fields[field])) {
            Some(Value::Array(calls)) => calls.len(),
            _ => 0,
        }
    }

    /// Gives what is left of the arguments of the finished call, or of each of a list.
    fn pieces(&mut self, field: usize, value: &Value<'static>) {
        if self.inner.pieces != Pieces::Arguments {
            return;
        }
        let mut writing = std::mem::take(self.writing);
        let before = self.count(field);
        let one = std::slice::from_ref(value);
        let calls = match value {
            Value::Array(calls) => calls,
            _ => one,
        };
        for (i, call) in calls.iter().enumerate() {
            let Value::Object(call) = call else { continue };
            let Some(Value::Object(function)) = call.get(&Text::plain("function")) else {
                continue;
            };
            let (Some(Value::Text(name)), Some(arguments)) = (
                function.get(&Text::plain("name")),
                function.get(&Text::plain("arguments")),
            ) else {
                continue;
            };
            let mut text = String::new();
            writing.finish(arguments, &mut text);
            writing = Writing::default();
            self.piece(field, before + i, name.as_str(), text);
        }
    }

    /// Keeps a call, or each of a list.
    fn keep(&mut self, field: usize, value: Value<'static>, json: Json) -> Result<(), Error> {
        self.pieces(field, &value);
        let spec = &self.template.fields[field];
        match value {
            Value::Array(items) if spec.repeats => {
                for item in items {
                    store(spec, self.output, item)?;
                }
            }
            value => store(spec, self.output, value)?,
        }
        let field = self.field(field);
        self.events.push(Event::RegionClose { field, value: json });
        Ok(())
    }

    /// Reports what is no call, and says whether it is content.
    fn report(
        &mut self,
        field: usize,
        span: Span,
        why: NoCall,
        error: &Error,
    ) -> Result<Rest, Error> {
        let spec = &self.template.fields[field];
        if self.inner.broken == Broken::Fail {
            return Err(error.again());
        }
        self.events.push(Event::RegionError {
            field: spec.name.clone(),
            text: self.plain(self.text[span.open..span.end].to_owned()),
            kind: error.kind().as_str().to_owned(),
            message: error.to_string(),
        });
        let bare = spec.call.as_ref().is_some_and(|call| call.bare);
        let content = match why {
            NoCall::Unfinished => false,
            NoCall::Broken => self.inner.broken == Broken::Content,
        };
        Ok(match (content, bare) {
            (_, true) => Rest::Content { from: span.from },
            (true, false) => Rest::Content { from: span.open },
            (false, false) => Rest::None,
        })
    }
}

impl Regions for Streamed<'_> {
    fn open(&mut self, field: usize) {
        *self.shown = Shown::default();
        *self.writing = Writing::default();
        if !self.is_text(field) {
            let field = self.field(field);
            self.events.push(Event::RegionOpen { field });
        }
    }

    fn text(&mut self, field: usize, from: usize, to: usize) {
        if self.is_text(field) {
            return self.show(field, from, to);
        }
        let dirty = self.template.fields[field].parser.is_dirty();
        self.chunk(field, self.text[from..to].to_owned(), dirty);
    }

    fn close(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error> {
        let spec = &self.template.fields[field];
        if self.is_text(field) && !std::mem::take(self.shown).started {
            return Ok(());
        }
        let value = region_value(spec, self.tools, self.text, (from, to), captures)?;
        let value = self.plain_value(value.into_owned());
        store(spec, self.output, value.clone())?;
        self.events.push(Event::RegionClose {
            field: self.field(field),
            value: to_json(value, self.inner.beyond)?,
        });
        Ok(())
    }

    fn expects(&self, field: usize, captures: &[(usize, usize, usize)], key: &str) -> bool {
        let captures = named_captures(&self.template.fields[field], self.text, captures);
        let name = captures.iter().find(|(name, _)| *name == "name");
        name.is_some_and(|(_, name)| self.tools.has_parameter(name, key))
    }

    fn reads(
        &self,
        field: usize,
        span: Span,
        captures: &[(usize, usize, usize)],
        parameters: &[Parameter],
    ) -> bool {
        let value = self.value(field, span, captures, parameters);
        value.is_ok_and(|value| to_json(value, self.inner.beyond).is_ok())
    }

    fn grows(
        &mut self,
        field: usize,
        (from, to): (usize, usize),
        captures: &[(usize, usize, usize)],
        scan: &Scan,
    ) {
        let spec = &self.template.fields[field];
        let (Pieces::Arguments, Some(call)) = (self.inner.pieces, &spec.call) else {
            return;
        };
        let captures = named_captures(spec, self.text, captures);
        let name = captures.iter().find(|(name, _)| *name == "name");
        let name = name.map(|(_, name)| content::told(call, name));
        let (tools, names) = (self.tools, self.names(field));
        let growing = Growing {
            call,
            tools,
            text: self.text,
            from,
            to,
            parameters: &scan.parameters,
            open: scan.in_value(),
            // A region that may turn out to be no call has no pieces.
            may: &|name| match names {
                Names::Offered => tools.has(name),
                Names::Any => !call.bare,
            },
        };
        let mut text = String::new();
        self.writing.grow(&growing, name.as_deref(), &mut text);
        let number = self.count(field);
        let name = self.writing.name.clone().unwrap_or_default();
        self.piece(field, number, &name, text);
    }

    fn call(
        &mut self,
        field: usize,
        span: Span,
        captures: &[(usize, usize, usize)],
        parameters: &[Parameter],
    ) -> Result<Rest, Error> {
        let value = self.value(field, span, captures, parameters);
        let json = value.and_then(|value| {
            let json = to_json(value.clone(), self.inner.beyond)?;
            Ok((value, json))
        });
        match json {
            Ok((value, json)) => {
                self.keep(field, value, json)?;
                Ok(Rest::None)
            }
            Err(error) => self.report(field, span, NoCall::Broken, &error),
        }
    }

    fn part(
        &mut self,
        field: usize,
        from: usize,
        to: usize,
        captures: &[(usize, usize, usize)],
    ) -> Result<(), Error> {
        let body = &self.text[from..to];
        let spec = &self.template.fields[field];
        let Some(call) = &spec.call else {
            return Ok(());
        };
        let text = match &call.body {
            Body::JsonLines | Body::Python(Rows::Lines) => body.to_owned(),
            _ if body.trim_start().starts_with('[') => format!("{body}]"),
            _ => return Ok(()),
        };
        let captures = named_captures(spec, self.text, captures);
        let found = content::Found {
            text: &text,
            from: 0,
            to: text.len(),
            captures: &captures,
            parameters: &[],
        };
        // A text that is no list of calls so far is reported as cut off, like the rest.
        let value = content::call(spec, call, self.tools, self.names(field), &found);
        if let Ok(value) = value.map(|value| self.plain_value(value)) {
            let json = to_json(value.clone(), self.inner.beyond)?;
            self.keep(field, value, json)?;
        }
        Ok(())
    }

    fn no_call(&mut self, field: usize, span: Span, why: NoCall) -> Result<Rest, Error> {
        let pointer = &self.template.fields[field].pointer;
        let (kind, message) = match why {
            NoCall::Broken => (ErrorKind::CallInvalid, "what was opened is no call"),
            NoCall::Unfinished => (ErrorKind::CallUnfinished, "the text ends within a call"),
        };
        let error = Error::new(kind, pointer, message).at_offset(Some(span.open));
        self.report(field, span, why, &error)
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

    // A template of the reference's language has no calls of this kind.
    fn expects(&self, _: usize, _: &[(usize, usize, usize)], _: &str) -> bool {
        false
    }

    fn reads(&self, _: usize, _: Span, _: &[(usize, usize, usize)], _: &[Parameter]) -> bool {
        false
    }

    fn grows(&mut self, _: usize, _: (usize, usize), _: &[(usize, usize, usize)], _: &Scan) {}

    fn call(
        &mut self,
        _: usize,
        _: Span,
        _: &[(usize, usize, usize)],
        _: &[Parameter],
    ) -> Result<Rest, Error> {
        Ok(Rest::None)
    }

    fn part(
        &mut self,
        _: usize,
        _: usize,
        _: usize,
        _: &[(usize, usize, usize)],
    ) -> Result<(), Error> {
        Ok(())
    }

    fn no_call(&mut self, _: usize, _: Span, _: NoCall) -> Result<Rest, Error> {
        Ok(Rest::None)
    }
}

fn region_value<'t>(
    field: &Field,
    tools: &Tools,
    text: &'t str,
    (from, to): (usize, usize),
    captures: &[(usize, usize, usize)],
) -> Result<Value<'t>, Error> {
    let captures = named_captures(field, text, captures);
    content::value(field, tools, &text[from..to], from, &captures)
}

/// The groups of the matches that opened and closed a region, by name.
fn named_captures<'f, 't>(
    field: &'f Field,
    text: &'t str,
    captures: &[(usize, usize, usize)],
) -> Vec<(&'f str, &'t str)> {
    let names: Vec<(usize, &str)> = field.named().collect();
    let captures = captures.iter().filter_map(|&(group, from, to)| {
        let (_, name) = names.iter().find(|(known, _)| *known == group)?;
        Some((*name, &text[from..to]))
    });
    captures.collect()
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
