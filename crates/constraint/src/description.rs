//! Constraints as data: what a request, a file or another language says of one.
//!
//! For example, `{"kind": "choice", "texts": ["yes", "no"]}`.

use grammar::Grammar;
use response_parser::{Family, ResponseTemplate};
use schema_regex::parse_str_with;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use structural_tags::{Beside, Content, Count, Presence, Reasoning, ResponseFormat, StructuralTag};

use crate::automaton::Automaton;
use crate::error::Error;
use crate::options::{GrammarOptions, SchemaOptions, TagOptions, one_of};

/// A description of a constraint. As JSON it is an object with a `kind`.
///
/// ```
/// use constraint::Description;
///
/// let read: Description = serde_json::from_str(r#"{"kind": "regex", "pattern": "[a-z]+"}"#)?;
/// assert_eq!(read, Description::Regex { pattern: "[a-z]+".to_owned() });
/// assert!(read.compile().is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Description {
    /// A value of a JSON Schema.
    JsonSchema {
        /// The schema's JSON text, which has all digits of its numbers.
        schema: String,
        /// The options by name.
        #[serde(flatten)]
        options: SchemaOptions,
    },
    /// A text that a regular expression matches as a whole.
    Regex {
        /// The expression, in the syntax of Rust's `regex` crate.
        pattern: String,
    },
    /// One of some texts.
    Choice {
        /// The texts: one at least.
        texts: Vec<String>,
    },
    /// A text of a grammar.
    Grammar {
        /// The grammar.
        text: String,
        /// The name of its dialect, as [`grammar::Dialect`] spells it, or `regex`.
        dialect: String,
        /// The limits by name.
        #[serde(flatten)]
        options: GrammarOptions,
    },
    /// A text of a structural tag, as servers exchange it.
    StructuralTag {
        /// The tag's JSON text.
        tag: String,
        /// The limits by name.
        #[serde(flatten)]
        options: TagOptions,
    },
    /// An answer of a model: reasoning, content and calls of tools.
    ResponseFormat(Box<Response>),
}

/// A description of a model's answers.
///
/// ```
/// use constraint::Description;
/// use serde_json::json;
///
/// let asked = json!({"kind": "response_format", "format": "hermes", "calls": "none"});
/// let description: Description = serde_json::from_value(asked)?;
/// assert!(description.compile().is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Response {
    /// The name of a family's format, or a response template.
    pub format: Value,
    /// The tools, as chat templates take them.
    pub tools: Option<Vec<Value>>,
    /// The number of calls that come: `any`, `required`, `one`, `at_most_one` or `none`.
    pub calls: Option<String>,
    /// The content of an answer with calls: `text`, or `nothing` where calls are all of it.
    pub beside: Option<String>,
    /// True if reasoning comes: `absent`, `optional` or `required`.
    pub reasoning: Option<String>,
    /// The JSON text of the schema of an answer without calls.
    pub answer: Option<String>,
    /// The rendered prompt, which may have begun the reasoning.
    pub prompt: Option<String>,
    /// The options of all schemas by name.
    #[serde(flatten)]
    pub options: SchemaOptions,
}

/// The number of calls of a request without parallel calls, because such a request may have none.
const AT_MOST_ONE: Count = Count {
    least: 0,
    most: Some(1),
};

impl Description {
    /// Sets a limit of what a grammar or a structural tag may cost, where it has one of that name and leaves it
    /// open: for hosts that bound what their requests may cost.
    ///
    /// ```
    /// use constraint::Description;
    /// use serde_json::json;
    ///
    /// let asked = json!({"kind": "grammar", "dialect": "gbnf", "text": "root ::= \"too long\""});
    /// let mut description: Description = serde_json::from_value(asked)?;
    /// assert!(description.compile().is_ok());
    /// description.leave_limit("max_text_bytes", 10);
    /// assert!(description.compile().is_err());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn leave_limit(&mut self, name: &str, most: usize) {
        match self {
            Description::Grammar { options, .. } => options.leave_limit(name, most),
            Description::StructuralTag { options, .. } => options.leave_limit(name, most),
            _ => {}
        }
    }

    /// Compiles the description.
    ///
    /// # Errors
    ///
    /// The crate that it is for refuses it, an option has no such value, or the description
    /// lacks something.
    pub fn compile(&self) -> Result<Automaton, Error> {
        match self {
            Description::JsonSchema { schema, options } => {
                let compiling = options.options()?;
                let schema = parse_str_with(schema, &options.reading()?)?;
                Automaton::of_schema(schema, &compiling)
            }
            Description::Regex { pattern } => Ok(Automaton::Regex(pattern.clone())),
            Description::Choice { texts } if texts.is_empty() => Err(Error::Description(
                "a choice of no texts has none to choose; name at least one".to_owned(),
            )),
            Description::Choice { texts } => {
                let texts: Vec<String> = texts.iter().map(|t| regex_syntax::escape(t)).collect();
                Ok(Automaton::Regex(format!("(?:{})", texts.join("|"))))
            }
            Description::Grammar {
                text,
                dialect,
                options,
            } => Ok(Grammar::compile_named(text, dialect, &options.config()?)?.into()),
            Description::StructuralTag { tag, options } => {
                let tag = StructuralTag::from_json(tag)?;
                Ok(tag.with_limits(options.limits()?).into())
            }
            Description::ResponseFormat(response) => Ok(response.format()?.into()),
        }
    }
}

impl Response {
    fn format(&self) -> Result<ResponseFormat, Error> {
        let options = self.options.options()?;
        let mut format = match &self.format {
            Value::String(name) => {
                let known = Family::by_name(name).ok_or_else(|| {
                    let names: Vec<&str> = Family::all().map(|family| family.name()).collect();
                    let names = names.join(", ");
                    Error::Description(format!("{name:?} is none of the formats {names}"))
                })?;
                ResponseFormat::named(known)?
            }
            template => ResponseFormat::from_template(&ResponseTemplate::new(template)?)?,
        };
        format = format.with_options(options.clone());
        if let Some(tools) = &self.tools {
            format = format.with_tools(tools)?;
        }
        if let Some(calls) = &self.calls {
            let known = [
                ("any", Count::ANY),
                ("required", Count::AT_LEAST_ONE),
                ("one", Count::ONE),
                ("at_most_one", AT_MOST_ONE),
                ("none", Count::NONE),
            ];
            format = format.with_calls(one_of("calls", calls, &known)?);
        }
        if let Some(beside) = &self.beside {
            let known = [("text", Beside::Text), ("nothing", Beside::Nothing)];
            format = format.with_beside(one_of("beside", beside, &known)?);
        }
        if let Some(reasoning) = &self.reasoning {
            let known = [
                ("absent", Presence::Absent),
                ("optional", Presence::Optional),
                ("required", Presence::Required),
            ];
            let presence = one_of("reasoning", reasoning, &known)?;
            let limit = None;
            format = format.with_reasoning(Reasoning { presence, limit });
        }
        if let Some(answer) = &self.answer {
            let refused =
                |error| Error::Description(format!("the schema of the answer is no JSON: {error}"));
            let schema = serde_json::from_str(answer).map_err(refused)?;
            format = format.with_answer(Content::schema_with(&schema, &options)?);
        }
        if let Some(prompt) = &self.prompt {
            format = format.with_prompt(prompt);
        }
        Ok(format)
    }
}
