//! Text parsers in the manner of AgentScope, under `tokenmold.agentscope`. For example, a parser of
//! JSON between Markdown's fences reads the object in a block that begins with three backquotes and
//! `json`.

use pyo3::prelude::*;
use response_parser::agentscope::{
    CodeBlock, DataModel, Hint, JsonDict, JsonObject, MultiTagged, Parsed, RegexTagged,
    TaggedContent, TextParser as _,
};
use response_parser::{Error, Unrepresentable};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{IntoPython, detached, of_kind};
use crate::json::{tagged_to_python, value_of};

/// A parser as `tokenmold.agentscope` describes it.
#[derive(Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
enum Described {
    MarkdownJson {
        hint: Option<Value>,
    },
    MarkdownDict {
        hint: Option<Value>,
        model: Option<Model>,
        required: Vec<String>,
    },
    MarkdownCode {
        language: String,
        hint: Option<String>,
    },
    Tags {
        tags: Vec<Tag>,
        optional: Vec<String>,
    },
    Regex {
        pattern: Option<String>,
        instruction: Option<String>,
        required: Vec<String>,
        values: Values,
    },
}

/// A data model: a pydantic class by its JSON Schema.
#[derive(Deserialize)]
struct Model {
    name: String,
    schema: Value,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    begin: String,
    hint: String,
    end: String,
    values: Values,
}

/// The reading of the text between tags.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Values {
    Json,
    Text,
}

enum Kind {
    Object(JsonObject),
    Dict(JsonDict),
    Code(CodeBlock),
    Tags(MultiTagged),
    Regex(RegexTagged),
}

impl Described {
    fn made(self) -> Result<Kind, Error> {
        let beyond = Unrepresentable::Tag;
        Ok(match self {
            Described::MarkdownJson { hint } => {
                let parser = JsonObject::new().with_unrepresentable(beyond);
                Kind::Object(parser.with_hint(hint_of(hint)))
            }
            Described::MarkdownDict {
                hint,
                model,
                required,
            } => {
                let parser = JsonDict::new()
                    .with_required_keys(required)
                    .with_unrepresentable(beyond);
                Kind::Dict(match model {
                    Some(Model { name, schema }) => {
                        parser.with_model(DataModel::new(name, schema)?)
                    }
                    None => parser.with_hint(hint_of(hint)),
                })
            }
            Described::MarkdownCode { language, hint } => {
                let parser = CodeBlock::new(language);
                Kind::Code(match hint {
                    Some(hint) => parser.with_hint(hint.as_str()),
                    None => parser,
                })
            }
            Described::Tags { tags, optional } => {
                let tags = tags.into_iter().map(|tag| {
                    let made = TaggedContent::new(tag.name, tag.begin, tag.hint, tag.end);
                    match tag.values {
                        Values::Json => made.with_json(),
                        Values::Text => made,
                    }
                });
                let parser = MultiTagged::new(tags).with_optional(optional);
                Kind::Tags(parser.with_unrepresentable(beyond))
            }
            Described::Regex {
                pattern,
                instruction,
                required,
                values,
            } => {
                let parser = match &pattern {
                    Some(pattern) => RegexTagged::with_pattern(pattern)?,
                    None => RegexTagged::new()?,
                };
                let parser = parser
                    .with_required_keys(required)
                    .with_unrepresentable(beyond);
                let parser = match instruction {
                    Some(instruction) => parser.with_instruction(instruction),
                    None => parser,
                };
                Kind::Regex(match values {
                    Values::Json => parser,
                    Values::Text => parser.without_json(),
                })
            }
        })
    }
}

fn hint_of(hint: Option<Value>) -> Hint {
    match hint {
        None | Some(Value::Null) => Hint::Placeholder,
        Some(hint) => hint.into(),
    }
}

impl Kind {
    fn parse(&self, text: Option<&str>) -> Result<Parsed, Error> {
        match self {
            Kind::Object(parser) => parser.parse(text),
            Kind::Dict(parser) => parser.parse(text),
            Kind::Code(parser) => parser.parse(text),
            Kind::Tags(parser) => parser.parse(text),
            Kind::Regex(parser) => parser.parse(text),
        }
    }

    fn format_instruction(&self) -> Result<String, Error> {
        match self {
            Kind::Object(parser) => parser.format_instruction(),
            Kind::Dict(parser) => parser.format_instruction(),
            Kind::Code(parser) => parser.format_instruction(),
            Kind::Tags(parser) => parser.format_instruction(),
            Kind::Regex(parser) => parser.format_instruction(),
        }
    }
}

/// A form of text that a model is asked for; `tokenmold.agentscope` has the classes.
#[pyclass(frozen, module = "tokenmold._tokenmold")]
pub(crate) struct TextParser(Kind);

#[pymethods]
impl TextParser {
    #[new]
    fn new(description: &Bound<'_, PyAny>) -> PyResult<TextParser> {
        let described: Described = serde_json::from_value(value_of(description)?)
            .map_err(|error| of_kind("invalid", format!("the text parser: {error}")))?;
        described.made().map(TextParser).map_err(raised)
    }

    /// The value, and the text with its missing fences put in, where they were missing.
    fn parse(&self, py: Python<'_>, text: Option<&str>) -> PyResult<(Py<PyAny>, Option<String>)> {
        let parsed = detached(py, || self.0.parse(text).map_err(raised))?;
        Ok((tagged_to_python(py, &parsed.value)?, parsed.repaired))
    }

    /// Returns the instructions that the model is given.
    fn format_instruction(&self) -> PyResult<String> {
        self.0.format_instruction().map_err(raised)
    }
}

/// The exception, with what a model may be told and what its text was.
#[cold]
fn raised(error: Error) -> PyErr {
    let feedback = error.feedback();
    let raw = error.raw_response().map(str::to_owned);
    let repaired = error.repaired().map(str::to_owned);
    let missing = error.missing_tags().map(|tags| (tags.begin, tags.end));
    let message = error.message().to_owned();
    let raised = error.into_python();
    Python::attach(|py| {
        let value = raised.value(py);
        // An instance of a class that is written here takes any attribute.
        let _ = value.setattr("message", message);
        let _ = value.setattr("feedback", feedback);
        let _ = value.setattr("raw_response", raw);
        let _ = value.setattr("repaired", repaired);
        let _ = value.setattr("missing_tags", missing);
    });
    raised
}
