//! Makes events of regions as they are read, and the values that they leave. For example, the text
//! `Hi ` is given as `Hi`, and its blank only once something follows it.

use std::sync::Arc;

use serde_json::Value as Json;

use super::arguments::{Growing, Writing};
use super::call::{Body, Parameter, Rows, Scan};
use super::call_content;
use super::choices::{Broken, Language, Pieces};
use super::events::Event;
use super::fields::{ParserKind, Template, key};
use super::inner::TemplateInner;
use super::output::{named_captures, region_value, store, to_json};
use super::regions::{Capture, NoCall, Regions, Rest, Span};
use super::tools::{Names, Tools};
use crate::error::{Error, ErrorKind};
use crate::text::Text;
use crate::value::{Object, Value};

/// Stands within the letters of what is no special token, so that they are no mark. It is no character that
/// text may have.
pub(super) const SPELT: char = '\u{FDD0}';

/// The text that was given of the open region.
#[derive(Default)]
pub(super) struct Shown {
    /// Something that is not blank came.
    started: bool,
    /// Blanks that count only if something else follows.
    held: String,
}

/// Makes events, and values that outlive the text.
pub(super) struct Streamed<'a> {
    pub(super) template: &'a Template,
    pub(super) inner: &'a TemplateInner,
    pub(super) tools: &'a Tools,
    pub(super) text: &'a str,
    pub(super) output: &'a mut Object<'static>,
    pub(super) shown: &'a mut Shown,
    pub(super) writing: &'a mut Writing,
    /// Letters of what is no special token are marked.
    pub(super) spelt: bool,
    pub(super) events: &'a mut Vec<Event>,
}

impl Streamed<'_> {
    fn field(&self, field: usize) -> Arc<str> {
        self.template.fields[field].name.clone()
    }

    /// Tells whether blanks around the region's text, or a region of nothing else, do not count.
    fn is_text(&self, field: usize) -> bool {
        self.template.language == Language::Extended
            && matches!(self.template.fields[field].parser.kind, ParserKind::Text)
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
        captures: &[Capture],
        parameters: &[Parameter],
    ) -> Result<Value<'static>, Error> {
        let spec = &self.template.fields[field];
        let Some(call) = &spec.call else {
            let message = "only calls have parameters";
            return Err(Error::new(ErrorKind::CallInvalid, &spec.pointer, message));
        };
        let captures = named_captures(spec, self.text, captures);
        let found = call_content::FoundCall {
            text: self.text,
            from: span.from,
            to: span.to,
            captures: &captures,
            parameters,
        };
        let value = call_content::call(spec, call, self.tools, self.names(field), &found)?;
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
        captures: &[Capture],
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

    fn expects(&self, field: usize, captures: &[Capture], key: &str) -> bool {
        let captures = named_captures(&self.template.fields[field], self.text, captures);
        let name = captures.iter().find(|(name, _)| *name == "name");
        name.is_some_and(|(_, name)| self.tools.has_parameter(name, key))
    }

    fn reads(
        &self,
        field: usize,
        span: Span,
        captures: &[Capture],
        parameters: &[Parameter],
    ) -> bool {
        let value = self.value(field, span, captures, parameters);
        value.is_ok_and(|value| to_json(value, self.inner.beyond).is_ok())
    }

    fn grows(
        &mut self,
        field: usize,
        (from, to): (usize, usize),
        captures: &[Capture],
        scan: &Scan,
    ) {
        let spec = &self.template.fields[field];
        let (Pieces::Arguments, Some(call)) = (self.inner.pieces, &spec.call) else {
            return;
        };
        let captures = named_captures(spec, self.text, captures);
        let name = captures.iter().find(|(name, _)| *name == "name");
        let name = name.map(|(_, name)| call_content::told(call, name));
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
        captures: &[Capture],
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
        captures: &[Capture],
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
        let found = call_content::FoundCall {
            text: &text,
            from: 0,
            to: text.len(),
            captures: &captures,
            parameters: &[],
        };
        // A text that is no list of calls so far is reported as cut off, like the rest.
        let value = call_content::call(spec, call, self.tools, self.names(field), &found);
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
