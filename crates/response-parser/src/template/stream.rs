//! A response that arrives piece by piece. For example, the pieces `<thi`, `nk>Hm` and `.</think>`
//! give the events that `reasoning_content` begins, goes on and ends.

use std::sync::Arc;

use serde_json::Value as Json;

use super::arguments::Writing;
use super::call::Body;
use super::choices::{Language, Piece};
use super::cuts::Phase;
use super::events::Event;
use super::fields::{Anchor, ParserKind, Template, named};
use super::inner::TemplateInner;
use super::machine::{End, Machine};
use super::output::{finish, to_json};
use super::regions::Capture;
use super::streamed::{SPELT, Shown, Streamed};
use super::tools::Tools;
use crate::error::Error;
use crate::partial::{self, PartialJson};
use crate::value::{Object, Value};

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
    captures: &'s [Capture],
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
    /// As [`TemplateStream::feed`]; [`ErrorKind::RequiredMissing`](crate::ErrorKind::RequiredMissing) for a field that is
    /// not optional and got no value; [`ErrorKind::NotJson`](crate::ErrorKind::NotJson) where the message holds what JSON
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
        let ((ParserKind::Json(dialect), _) | (_, Some(Body::Json(dialect)))) =
            (&field.parser.kind, body)
        else {
            return None;
        };
        if self.partial.as_ref().is_none_or(|open| open.from != from) {
            self.partial = Some(OpenJson {
                from,
                read: from,
                json: PartialJson::with_dialect(partial::LenientSyntax {
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
