//! Text parsers in the manner of AgentScope: a fenced JSON object or block of code, or text
//! between tags.
//!
//! Each parser knows how to ask for its form ([`TextParser::format_instruction`]), reads it
//! ([`TextParser::parse`]), fails with an error that can be sent back to the model
//! ([`Error::feedback`](crate::Error::feedback)), and says what a text of its form is made of
//! ([`TextParser::shape`]), so that the form can also be enforced while the text is
//! generated. Answers, instructions and messages are those of AgentScope 0.1.6.
//!
//! ```
//! use response_parser::agentscope::{JsonDict, TextParser};
//! use serde_json::json;
//!
//! let parser = JsonDict::new()
//!     .with_hint("{\"thought\": \"what you think\", \"speak\": \"what you say\"}")
//!     .with_required_keys(["thought", "speak"]);
//! let parsed = parser.parse("```json\n{\"thought\": \"Hm.\", \"speak\": \"Hello.\"}\n```")?;
//! assert_eq!(parsed.value, json!({"thought": "Hm.", "speak": "Hello."}));
//!
//! let error = parser.parse("```json\n{\"thought\": \"Hm.\"}\n```").unwrap_err();
//! assert_eq!(
//!     error.feedback(),
//!     "RequiredFieldNotFoundError: Missing required field speak in the JSON dictionary object."
//! );
//! # Ok::<(), response_parser::Error>(())
//! ```

mod markdown;
mod model;
mod python;
mod tags;

use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind};
use crate::schema::MAX_VALUE_DEPTH;

pub use crate::error::MissingTags;
use crate::value::{Beyond, Value, check_depth};

pub use markdown::{CodeBlock, Hint, JsonDict, JsonObject};
pub use model::DataModel;
pub use tags::{MultiTagged, RegexTagged, TaggedContent};

/// A form of text that a model is asked for.
pub trait TextParser {
    /// Reads a response. `None` stands for a response without text.
    ///
    /// Time is linear in the text, but for [`RegexTagged`], whose pattern may need a budget of
    /// steps.
    ///
    /// # Errors
    ///
    /// The kinds [`ErrorKind::TagNotFound`], [`ErrorKind::JsonParsing`],
    /// [`ErrorKind::JsonType`] and [`ErrorKind::RequiredFieldNotFound`] are the model's fault;
    /// [`Error::feedback`] is a text for it. [`ErrorKind::NoText`] where there is no text.
    fn parse<'t>(&self, text: impl Into<Option<&'t str>>) -> Result<Parsed, Error>
    where
        Self: Sized;

    /// Returns the instructions for the model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoInstruction`] for a parser that was given none.
    fn format_instruction(&self) -> Result<String, Error>;

    /// Returns the parts of a text of this form, in order; `None` if the parser's pattern does not
    /// say.
    fn shape(&self) -> Option<Vec<Part>>;
}

/// The result of parsing a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Parsed {
    /// The value: a dictionary, for the parsers that have keys.
    pub value: Json,
    /// The text with its missing fences put in, where they were missing.
    pub repaired: Option<String>,
}

/// A part of a text of some form.
///
/// ```
/// use response_parser::agentscope::{JsonObject, Part, TextParser};
///
/// let shape = JsonObject::new().shape().unwrap();
/// assert_eq!(shape[0], Part::Literal("```json\n".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// These characters.
    Literal(String),
    /// JSON that obeys this JSON Schema.
    ///
    /// A string value that holds the literal after it would end the part early; such a value
    /// does not survive the parser.
    Json(Json),
    /// Any text in which these characters do not occur.
    TextWithout(String),
}

/// Which keys of a dictionary to take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// The whole dictionary.
    All,
    /// Nothing: the result is null.
    Nothing,
    /// The value of one key.
    Value(String),
    /// A dictionary of these keys.
    Keys(Vec<String>),
}

/// The treatment of a key that [`Select::Keys`] names and the dictionary lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingKeys {
    /// An error.
    #[default]
    Refuse,
    /// Leave it out.
    Skip,
}

impl Select {
    /// Takes the keys out of `dictionary`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::KeyNotFound`] for a key that is not there: the key of [`Select::Value`]
    /// whatever `missing` says, keys of [`Select::Keys`] if it is [`MissingKeys::Refuse`];
    /// [`ErrorKind::DepthLimit`] for a dictionary that is nested deeper than 512.
    ///
    /// ```
    /// use response_parser::agentscope::{MissingKeys, Select};
    /// use serde_json::json;
    ///
    /// let said = json!({"thought": "Hm.", "speak": "Hello."});
    /// assert_eq!(Select::from("speak").apply(&said, MissingKeys::Refuse)?, "Hello.");
    /// assert_eq!(Select::from(["speak", "mood"]).apply(&said, MissingKeys::Skip)?, json!({"speak": "Hello."}));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn apply(&self, dictionary: &Json, missing: MissingKeys) -> Result<Json, Error> {
        check_depth("the dictionary is", dictionary, MAX_VALUE_DEPTH)?;
        match self {
            Select::All => Ok(dictionary.clone()),
            Select::Nothing => Ok(Json::Null),
            Select::Value(key) => match dictionary.get(key) {
                Some(value) => Ok(value.clone()),
                None => Err(Error::bare(ErrorKind::KeyNotFound, format!("'{key}'"))),
            },
            Select::Keys(keys) => {
                let mut taken = Map::new();
                for key in keys {
                    match (dictionary.get(key), missing) {
                        (Some(value), _) => {
                            taken.insert(key.clone(), value.clone());
                        }
                        (None, MissingKeys::Skip) => {}
                        (None, MissingKeys::Refuse) => {
                            let message = format!("Name {key} not found in the response.");
                            return Err(Error::bare(ErrorKind::KeyNotFound, message));
                        }
                    }
                }
                Ok(Json::Object(taken))
            }
        }
    }
}

impl From<&str> for Select {
    fn from(key: &str) -> Select {
        Select::Value(key.to_owned())
    }
}

impl<const N: usize> From<[&str; N]> for Select {
    fn from(keys: [&str; N]) -> Select {
        Select::Keys(keys.iter().map(|&key| key.to_owned()).collect())
    }
}

/// Reads AgentScope's way of writing it: true, false, a name, or a list of names.
impl TryFrom<&Json> for Select {
    type Error = Error;

    fn try_from(json: &Json) -> Result<Select, Error> {
        let names = |items: &[Json]| -> Option<Vec<String>> {
            let names = items.iter().map(|item| item.as_str().map(str::to_owned));
            names.collect()
        };
        match json {
            Json::Bool(true) => Ok(Select::All),
            Json::Bool(false) => Ok(Select::Nothing),
            Json::String(key) => Ok(Select::Value(key.clone())),
            Json::Array(items) if names(items).is_some() => {
                Ok(Select::Keys(names(items).unwrap_or_default()))
            }
            _ => {
                let message = "keys are true, false, a name or a list of names";
                Err(Error::bare(ErrorKind::PythonType, message))
            }
        }
    }
}

/// Which keys of a parsed dictionary go where: into the agent's memory, into the message's
/// content, into its metadata.
///
/// ```
/// use response_parser::agentscope::{Keys, MissingKeys};
/// use serde_json::json;
///
/// let keys = Keys::default().with_content("speak").with_metadata(["done"]);
/// let said = json!({"thought": "Hm.", "speak": "Hello.", "done": true});
/// assert_eq!(keys.to_content(&said, MissingKeys::Refuse)?, "Hello.");
/// assert_eq!(keys.to_metadata(&said, MissingKeys::Refuse)?, json!({"done": true}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Keys {
    /// For [`Keys::to_memory`]; all unless told.
    pub memory: Select,
    /// For [`Keys::to_content`]; all unless told.
    pub content: Select,
    /// For [`Keys::to_metadata`]; nothing unless told.
    pub metadata: Select,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            memory: Select::All,
            content: Select::All,
            metadata: Select::Nothing,
        }
    }
}

impl Keys {
    /// Sets what goes into memory.
    #[must_use]
    pub fn with_memory(mut self, select: impl Into<Select>) -> Keys {
        self.memory = select.into();
        self
    }

    /// Sets what goes into the content.
    #[must_use]
    pub fn with_content(mut self, select: impl Into<Select>) -> Keys {
        self.content = select.into();
        self
    }

    /// Sets what goes into the metadata.
    #[must_use]
    pub fn with_metadata(mut self, select: impl Into<Select>) -> Keys {
        self.metadata = select.into();
        self
    }

    /// Returns the part of a parsed dictionary that goes into memory.
    ///
    /// # Errors
    ///
    /// As [`Select::apply`].
    pub fn to_memory(&self, dictionary: &Json, missing: MissingKeys) -> Result<Json, Error> {
        self.memory.apply(dictionary, missing)
    }

    /// Returns the part of a parsed dictionary that goes into the content.
    ///
    /// # Errors
    ///
    /// As [`Select::apply`].
    pub fn to_content(&self, dictionary: &Json, missing: MissingKeys) -> Result<Json, Error> {
        self.content.apply(dictionary, missing)
    }

    /// Returns the part of a parsed dictionary that goes into the metadata.
    ///
    /// # Errors
    ///
    /// As [`Select::apply`].
    pub fn to_metadata(&self, dictionary: &Json, missing: MissingKeys) -> Result<Json, Error> {
        self.metadata.apply(dictionary, missing)
    }
}

fn no_text() -> Error {
    Error::bare(ErrorKind::NoText, "the response has no text")
}

fn to_json(value: Value<'_>, beyond: Beyond) -> Result<Json, Error> {
    value.into_json(beyond).map_err(|problem| problem.error())
}

/// The place of a block: where its body starts and ends.
type Body = (usize, usize);

/// The first block between `begin` and `end`, or which of the two is missing.
fn first_block(text: &str, begin: &str, end: &str) -> Result<Body, MissingTags> {
    let from = text.find(begin).map(|at| at + begin.len());
    let to = text[from.unwrap_or(0)..].find(end);
    match (from, to) {
        (Some(from), Some(length)) => Ok((from, from + length)),
        _ => Err(MissingTags {
            begin: from.is_none(),
            end: to.is_none(),
        }),
    }
}

impl MissingTags {
    fn error(self, text: &str, begin: &str, end: &str) -> Error {
        let message = match (self.begin, self.end) {
            (true, true) => format!("Missing tags {begin} and {end} in response: {text}"),
            (true, false) => format!("Missing tag {begin} in response: {text}"),
            _ => format!("Missing tag {end} in response: {text}"),
        };
        Error::bare(ErrorKind::TagNotFound, message)
            .with_raw(text)
            .with_missing(self)
    }
}
