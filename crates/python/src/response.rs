//! Answers of models, read back: whole, and while they arrive.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use response_parser::{
    ErrorKind, Event, Mode, Release, ResponseSchema as Schema, ResponseTemplate as Template,
    TemplateStream, Turn, Unrepresentable,
};
use serde_json::Value;

use crate::error::{IntoPython, caught, detached, of_kind};
use crate::json::{parse, tagged_to_python, text_of, to_python, value_of};

/// How a model's answer is read back, by a `response_template`.
#[pyclass(frozen, module = "tokenmold")]
pub(crate) struct ResponseTemplate {
    template: Template,
    mode: Mode,
}

/// What is to be done where the reference fails.
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
    /// Compiles a template: its JSON, or what that reads as. Where `transformers` fails and the
    /// meaning is plain, `"lenient"` has an answer and `"reference"` the same error; a part that
    /// can only fail later is refused at once, or fails later.
    #[new]
    #[pyo3(signature = (template, *, mode = "lenient"))]
    fn new(template: &Bound<'_, PyAny>, mode: &str) -> PyResult<ResponseTemplate> {
        let json = parse(&text_of(template)?, "the response template")?;
        let mode = mode_of(mode)?;
        let builder = Template::builder().with_mode(mode);
        let template = caught(|| builder.build(&json).map_err(IntoPython::into_python))?;
        Ok(ResponseTemplate { template, mode })
    }

    /// The template in a model's folder.
    #[staticmethod]
    fn from_directory(path: std::path::PathBuf) -> PyResult<ResponseTemplate> {
        let template = caught(|| Template::from_model_dir(path).map_err(IntoPython::into_python))?;
        let mode = Mode::default();
        Ok(ResponseTemplate { template, mode })
    }

    /// The message of a whole answer. Numbers that JSON has not (infinities, integers of any
    /// length) are Python's; a stream refuses them. `prefix` is the rendered prompt, or its end: some prompts
    /// begin the answer. `tools` are those that were offered: arguments that were written as
    /// text are cast to the types of their schemas.
    #[pyo3(signature = (text, *, prefix = None, tools = None))]
    fn parse(
        &self,
        py: Python<'_>,
        text: &str,
        prefix: Option<&str>,
        tools: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let tools = tools_of(tools)?;
        let turn = turn(prefix, tools.as_ref());
        let parse = |template: &Template| template.parse_turn(&turn, text);
        match py.detach(|| caught(|| Ok(parse(&self.template))))? {
            Ok(message) => to_python(py, &message),
            Err(error) if error.kind() == ErrorKind::NotJson => {
                let message = detached(py, || {
                    let builder = Template::builder().with_mode(self.mode);
                    let tagged = builder.with_unrepresentable(Unrepresentable::Tag);
                    let template = tagged.build(self.template.json());
                    let message = template.and_then(|template| parse(&template));
                    message.map_err(IntoPython::into_python)
                })?;
                tagged_to_python(py, &message)
            }
            Err(error) => Err(error.into_python()),
        }
    }

    /// Starts to read an answer that arrives in pieces.
    #[pyo3(signature = (*, prefix = None, tools = None))]
    fn stream(
        &self,
        prefix: Option<&str>,
        tools: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ResponseStream> {
        let tools = tools_of(tools)?;
        let mut events = Vec::new();
        let stream = caught(|| {
            let turn = turn(prefix, tools.as_ref());
            let stream = self.template.stream_with(&turn, &mut events);
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
    let events = events.iter().map(|event| to_python(py, &event.to_json()));
    let events: PyResult<Vec<_>> = events.collect();
    PyList::new(py, events?)
}

impl ResponseStream {
    fn with<T>(&self, work: impl FnOnce(&mut Reading) -> PyResult<T>) -> PyResult<T> {
        caught(|| {
            // What a panic left behind is an error of the stream's own from then on.
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
    /// (`region_open`, `region_chunk` or `region_close`), `field` and what belongs to it.
    fn feed<'py>(&self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyList>> {
        let events = self.with(|reading| {
            let mut events = std::mem::take(&mut reading.before);
            let fed = reading.stream.feed_into(chunk, &mut events);
            fed.map_err(IntoPython::into_python)?;
            Ok(events)
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

    /// Takes it that the answer is over: the last events, and the message.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let taken = self
            .stream
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Reading { stream, before } = taken.ok_or_else(over)?;
        let finished = caught(|| stream.finish().map_err(IntoPython::into_python))?;
        let events: Vec<Event> = before.into_iter().chain(finished.events).collect();
        let events = events_to_python(py, &events)?.into_any().unbind();
        PyTuple::new(py, [events, to_python(py, &finished.message)?])
    }
}

/// How a model's answer is read back, by a `response_schema`.
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
        let release = match release {
            "5.0" => Release::V5_0,
            "5.12" => Release::V5_12,
            other => {
                let message = format!("release is one of \"5.0\", \"5.12\", not {other:?}");
                return Err(of_kind("bad_option", message));
            }
        };
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
