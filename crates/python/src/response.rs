//! Answers of models, read back: whole, and while they arrive. For example, a template of the
//! family `hermes` reads a text with `<tool_call>` blocks as a message with `tool_calls`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use response_parser::{
    Broken, End, ErrorKind, Event, Family, Mode, Names, Piece, Pieces, Release,
    ResponseSchema as Schema, ResponseTemplate as Template, ResponseTemplateBuilder,
    TemplateRelease, TemplateStream, Turn, Unrepresentable,
};
use serde_json::Value;

use crate::error::{IntoPython, caught, detached, of_kind};
use crate::json::{parse, tagged_to_python, text_of, to_python, value_of};

/// A `response_template`, by which a model's answer is read back.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ResponseTemplate {
    template: Template,
    /// The same, whose values JSON need not hold: a stream cannot begin again when it meets one.
    tagged: Template,
    kind: TemplateLanguage,
}

/// Whose language a template is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TemplateLanguage {
    /// The reference's.
    Given,
    /// That of a family: what cannot be read is an event.
    Family,
}

impl ResponseTemplate {
    fn build(
        kind: TemplateLanguage,
        builder: &ResponseTemplateBuilder,
        build: impl Fn(ResponseTemplateBuilder) -> Result<Template, response_parser::Error>,
    ) -> PyResult<ResponseTemplate> {
        let of = |builder: ResponseTemplateBuilder| {
            caught(|| build(builder).map_err(IntoPython::into_python))
        };
        let tagged = builder.clone().with_unrepresentable(Unrepresentable::Tag);
        Ok(ResponseTemplate {
            template: of(builder.clone())?,
            tagged: of(tagged)?,
            kind,
        })
    }
}

/// Why an answer is over, by the names that servers use.
fn end_of(reason: &str) -> PyResult<End> {
    match reason {
        "stop" => Ok(End::Stop),
        "length" => Ok(End::Length),
        _ => Err(of_kind(
            "bad_option",
            format!("reason is one of \"stop\", \"length\", not {reason:?}"),
        )),
    }
}

/// Reads the mode, which says what is to be done if the reference fails.
fn mode_of(mode: &str) -> PyResult<Mode> {
    match mode {
        "lenient" => Ok(Mode::Lenient),
        "reference" => Ok(Mode::Reference),
        _ => Err(of_kind(
            "bad_option",
            format!("mode is one of \"lenient\", \"reference\", not {mode:?}"),
        )),
    }
}

/// The one of `known` releases of transformers that a name is.
fn release_of<Release: Copy>(known: [(&str, Release); 2], release: &str) -> PyResult<Release> {
    let found = known.iter().find(|(name, _)| *name == release);
    found.map(|(_, known)| *known).ok_or_else(|| {
        let [(old, _), (new, _)] = known;
        let message = format!("release is one of {old:?}, {new:?}, not {release:?}");
        of_kind("bad_option", message)
    })
}

fn tools_of(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    tools.map(value_of).transpose()
}

fn turn<'a>(prefix: Option<&'a str>, tools: Option<&'a Value>) -> Turn<'a> {
    let turn = Turn::after(prefix.unwrap_or_default());
    match tools {
        Some(tools) => turn.with_tools(tools),
        None => turn,
    }
}

#[pymethods]
impl ResponseTemplate {
    /// Compiles a template: its JSON, or what that reads as. If `transformers` fails and the
    /// meaning is plain, `"lenient"` has an answer and `"reference"` the same error; a part that
    /// can only fail later is refused at once, or fails later. `release` is that of transformers
    /// whose language it is: `"5.23"` or `"5.24"`.
    #[new]
    #[pyo3(signature = (template, *, mode = "lenient", release = "5.24"))]
    fn new(template: &Bound<'_, PyAny>, mode: &str, release: &str) -> PyResult<ResponseTemplate> {
        let json = parse(&text_of(template)?, "the response template")?;
        let known = [
            ("5.23", TemplateRelease::V5_23),
            ("5.24", TemplateRelease::V5_24),
        ];
        let builder = Template::builder().with_mode(mode_of(mode)?);
        let builder = builder.with_release(release_of(known, release)?);
        ResponseTemplate::build(TemplateLanguage::Given, &builder, |builder| {
            builder.build(&json)
        })
    }

    /// The template in a model's folder.
    #[staticmethod]
    fn from_directory(path: std::path::PathBuf) -> PyResult<ResponseTemplate> {
        let template = caught(|| Template::from_model_dir(path).map_err(IntoPython::into_python))?;
        let json = template.json().clone();
        ResponseTemplate::build(TemplateLanguage::Given, &Template::builder(), |builder| {
            builder.build(&json)
        })
    }

    /// The template by which the texts of a family of models are read, by its name. A call that cannot be read is
    /// content (`errors="content"`), an event alone (`"drop"`) or an error (`"raise"`); one that was cut off is never
    /// content. `names="offered"` takes calls of offered tools alone; with `arguments="stream"` a stream gives the JSON of a
    /// call's arguments piece by piece, as events of the type `arguments`.
    #[staticmethod]
    #[pyo3(signature = (name, *, errors = "content", names = "any", arguments = "whole"))]
    fn family(
        name: &str,
        errors: &str,
        names: &str,
        arguments: &str,
    ) -> PyResult<ResponseTemplate> {
        let unknown = |option: &str, known: &str, given: &str| {
            let message = format!("{option} is one of {known}, not {given:?}");
            of_kind("bad_option", message)
        };
        let family: Family = name
            .parse()
            .map_err(|error| of_kind("bad_option", format!("{error}")))?;
        let errors = match errors {
            "content" => Broken::Content,
            "drop" => Broken::Drop,
            "raise" => Broken::Fail,
            other => return Err(unknown("errors", "\"content\", \"drop\", \"raise\"", other)),
        };
        let names = match names {
            "any" => Names::Any,
            "offered" => Names::Offered,
            other => return Err(unknown("names", "\"any\", \"offered\"", other)),
        };
        let pieces = match arguments {
            "whole" => Pieces::None,
            "stream" => Pieces::Arguments,
            other => return Err(unknown("arguments", "\"whole\", \"stream\"", other)),
        };
        let builder = Template::builder()
            .with_broken(errors)
            .with_names(names)
            .with_pieces(pieces);
        ResponseTemplate::build(TemplateLanguage::Family, &builder, |builder| {
            builder.family(family)
        })
    }

    /// The message of a whole answer. Numbers that JSON has not (infinities, integers of any
    /// length) are Python's. `prefix` is the rendered prompt, or its end: some prompts
    /// begin the answer. `tools` are those that were offered: arguments that were written as
    /// text are cast to the types of their schemas. `reason` says why the answer is over: of a family, nothing but its
    /// mark ends a call where the answer was cut (`"length"`).
    #[pyo3(signature = (text, *, prefix = None, tools = None, reason = "stop"))]
    fn parse(
        &self,
        py: Python<'_>,
        text: &str,
        prefix: Option<&str>,
        tools: Option<&Bound<'_, PyAny>>,
        reason: &str,
    ) -> PyResult<Py<PyAny>> {
        let end = end_of(reason)?;
        let tools = tools_of(tools)?;
        let turn = turn(prefix, tools.as_ref());
        if self.kind == TemplateLanguage::Family {
            let read = || self.tagged.read(&turn, text, end);
            let read = detached(py, || read().map_err(IntoPython::into_python))?;
            return tagged_to_python(py, &read.message);
        }
        let parse = |template: &Template| template.parse_turn(&turn, text);
        match py.detach(|| caught(|| Ok(parse(&self.template))))? {
            Ok(message) => to_python(py, &message),
            Err(error) if error.kind() == ErrorKind::NotJson => {
                let message = detached(py, || {
                    let message = parse(&self.tagged);
                    message.map_err(IntoPython::into_python)
                })?;
                tagged_to_python(py, &message)
            }
            Err(error) => Err(error.into_python()),
        }
    }

    /// Starts to read an answer that arrives in pieces. `special_tokens` are the texts of the tokenizer's special
    /// tokens, for `feed_pieces`.
    #[pyo3(signature = (*, prefix = None, tools = None, special_tokens = None))]
    fn stream(
        &self,
        prefix: Option<&str>,
        tools: Option<&Bound<'_, PyAny>>,
        special_tokens: Option<Vec<String>>,
    ) -> PyResult<ResponseStream> {
        let tools = tools_of(tools)?;
        let specials = special_tokens.unwrap_or_default();
        let specials: Vec<&str> = specials.iter().map(String::as_str).collect();
        let mut events = Vec::new();
        let stream = caught(|| {
            let turn = turn(prefix, tools.as_ref()).with_special_tokens(&specials);
            let stream = self.tagged.stream_with(&turn, &mut events);
            stream.map_err(IntoPython::into_python)
        })?;
        let stream = Mutex::new(Some(Reading {
            stream,
            before: events,
        }));
        Ok(ResponseStream { stream })
    }

    /// The template as JSON.
    #[getter]
    fn json(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, self.template.json())
    }
}

/// A stream, with what the prompt has said already.
struct Reading {
    stream: TemplateStream,
    before: Vec<Event>,
}

/// An answer that is read while it arrives.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ResponseStream {
    stream: Mutex<Option<Reading>>,
}

fn events_to_python<'py>(py: Python<'py>, events: &[Event]) -> PyResult<Bound<'py, PyList>> {
    let events = events
        .iter()
        .map(|event| tagged_to_python(py, &event.to_json()));
    let events: PyResult<Vec<_>> = events.collect();
    PyList::new(py, events?)
}

impl ResponseStream {
    fn with<T>(&self, work: impl FnOnce(&mut Reading) -> PyResult<T>) -> PyResult<T> {
        caught(|| {
            // A stream that a panic left behind raises an error of its own from then on.
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            work(stream.as_mut().ok_or_else(over)?)
        })
    }
}

#[cold]
fn over() -> PyErr {
    of_kind("finished", "the answer is over; start another stream")
}

#[pymethods]
impl ResponseStream {
    /// Takes the next piece of the answer; the events that it settles, each a dict with `type`
    /// (`region_open`, `region_chunk`, `region_close`, and of families also `region_error` and
    /// `arguments`), `field` and what belongs to it. If the answer cannot be read on, the events
    /// before are given and the next call raises.
    fn feed<'py>(&self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyList>> {
        let events = self.with(|reading| {
            let mut events = std::mem::take(&mut reading.before);
            match reading.stream.feed_into(chunk, &mut events) {
                // The stream says the same when it is asked again.
                Err(_) if !events.is_empty() => Ok(events),
                fed => fed.map(|()| events).map_err(IntoPython::into_python),
            }
        })?;
        events_to_python(py, &events)
    }

    /// Takes pieces of the answer, each with whether it is a special token; otherwise as `feed`.
    /// Text that is spelt like a special token in other pieces is no mark.
    fn feed_pieces<'py>(
        &self,
        py: Python<'py>,
        pieces: Vec<(String, bool)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let pieces: Vec<(&str, Piece)> = pieces
            .iter()
            .map(|(text, special)| match special {
                true => (text.as_str(), Piece::Special),
                false => (text.as_str(), Piece::Text),
            })
            .collect();
        let events = self.with(|reading| {
            let mut events = std::mem::take(&mut reading.before);
            match reading.stream.feed_pieces(&pieces, &mut events) {
                Err(_) if !events.is_empty() => Ok(events),
                fed => fed.map(|()| events).map_err(IntoPython::into_python),
            }
        })?;
        events_to_python(py, &events)
    }

    /// The value so far of the JSON that is open: a dict with `field`, `value`, `name` (of the
    /// tool, where the region's opening says it) and `pointer`; None outside of one.
    fn partial<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.with(|reading| {
            let Some(partial) = reading.stream.partial() else {
                return Ok(None);
            };
            let dict = PyDict::new(py);
            dict.set_item("field", partial.field())?;
            let value = partial.value().map(|value| to_python(py, value));
            dict.set_item("value", value.transpose()?)?;
            dict.set_item("name", partial.capture("name"))?;
            dict.set_item("pointer", partial.json().pointer())?;
            Ok(Some(dict))
        })
    }

    /// Takes it that the answer is over, for that `reason`: the last events, and the message.
    #[pyo3(signature = (reason = "stop"))]
    fn finish<'py>(&self, py: Python<'py>, reason: &str) -> PyResult<Bound<'py, PyTuple>> {
        let end = end_of(reason)?;
        let taken = self
            .stream
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Reading { stream, before } = taken.ok_or_else(over)?;
        let finished = caught(|| stream.finish_by(end).map_err(IntoPython::into_python))?;
        let events: Vec<Event> = before.into_iter().chain(finished.events).collect();
        let events = events_to_python(py, &events)?.into_any().unbind();
        PyTuple::new(py, [events, tagged_to_python(py, &finished.message)?])
    }
}

/// A `response_schema`, by which a model's answer is read back.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ResponseSchema {
    schema: Schema,
    mode: Mode,
    release: Release,
}

#[pymethods]
impl ResponseSchema {
    /// Compiles a schema: its JSON, or what that reads as. `mode` is as that of
    /// `ResponseTemplate`; `release` is that of transformers whose language it is: `"5.0"`, or
    /// `"5.12"`, the last one that has it.
    #[new]
    #[pyo3(signature = (schema, *, mode = "lenient", release = "5.12"))]
    fn new(schema: &Bound<'_, PyAny>, mode: &str, release: &str) -> PyResult<ResponseSchema> {
        let json = parse(&text_of(schema)?, "the response schema")?;
        let mode = mode_of(mode)?;
        let release = release_of([("5.0", Release::V5_0), ("5.12", Release::V5_12)], release)?;
        let builder = Schema::builder().with_mode(mode).with_release(release);
        let schema = caught(|| builder.build(&json).map_err(IntoPython::into_python))?;
        Ok(ResponseSchema {
            schema,
            mode,
            release,
        })
    }

    /// The schema in a model's folder.
    #[staticmethod]
    fn from_directory(path: std::path::PathBuf) -> PyResult<ResponseSchema> {
        let schema = caught(|| Schema::from_model_dir(path).map_err(IntoPython::into_python))?;
        Ok(ResponseSchema {
            schema,
            mode: Mode::default(),
            release: Release::default(),
        })
    }

    /// The message of a whole answer. Numbers that JSON has not are Python's.
    fn parse(&self, py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
        match py.detach(|| caught(|| Ok(self.schema.parse(text))))? {
            Ok(message) => to_python(py, &message),
            Err(error) if error.kind() == ErrorKind::NotJson => {
                let message = detached(py, || {
                    let builder = Schema::builder().with_mode(self.mode);
                    let builder = builder.with_release(self.release);
                    let tagged = builder.with_unrepresentable(Unrepresentable::Tag);
                    let schema = tagged.build(self.schema.json());
                    let message = schema.and_then(|schema| schema.parse(text));
                    message.map_err(IntoPython::into_python)
                })?;
                tagged_to_python(py, &message)
            }
            Err(error) => Err(error.into_python()),
        }
    }

    /// The schema as JSON.
    #[getter]
    fn json(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, self.schema.json())
    }
}
