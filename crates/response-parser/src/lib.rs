//! Reads a chat model's raw output back into a message, whole or while it streams.
//!
//! - [`Family`]: the families of models whose texts are read without a template of one's own, by name or by the
//!   chat template.
//! - [`ResponseTemplate`]: regions between delimiters, with [`TemplateStream`] for text that
//!   arrives in pieces; the form of Hugging Face transformers 5.23 and 5.24, see [`TemplateRelease`].
//! - [`ResponseSchema`]: the older form, of transformers 5.0 to 5.12.
//! - [`agentscope`]: fenced JSON and code, text between tags.
//! - [`PartialJson`]: the value so far of JSON that is still being written.
//!
//! A *response schema* is a JSON Schema whose nodes also say how their value is found in the
//! text: `x-regex-substitutions`, `x-regex`, `x-regex-iterator`, `x-regex-key-value`, `x-parser`,
//! `x-mapping` and `x-mapping-regex`. It is the form that Hugging Face transformers 5.0 to 5.12
//! reads (in Python), and this crate gives its answers; [`Release`] says which.
//!
//! ```
//! use response_parser::ResponseSchema;
//! use serde_json::json;
//!
//! let schema = ResponseSchema::new(&json!({
//!     "type": "object",
//!     "properties": {
//!         "role": {"const": "assistant"},
//!         "thinking": {"type": "string", "x-regex": r"<think>(.*?)</think>"},
//!         "tool_calls": {
//!             "x-regex-iterator": r"<tool_call>(.*?)</tool_call>",
//!             "type": "array",
//!             "items": {"x-parser": "json"}
//!         }
//!     }
//! }))?;
//! let message = schema.parse(
//!     r#"<think>Look it up.</think><tool_call>{"name": "find", "arguments": {"q": 1}}</tool_call>"#,
//! )?;
//! assert_eq!(message, json!({
//!     "role": "assistant",
//!     "thinking": "Look it up.",
//!     "tool_calls": [{"name": "find", "arguments": {"q": 1}}]
//! }));
//! # Ok::<(), response_parser::Error>(())
//! ```
//!
//! # Limits
//!
//! Each has its own error; none depends on the clock.
//!
//! | what | limit | kind |
//! |---|---|---|
//! | steps of the backtracking machine for one keyword | 16,777,216 + 64 for each byte of the text | `regex_budget` |
//! | choices it may leave open | 8,388,608 (16 bytes each) | `regex_budget` |
//! | nesting of groups in a pattern, groups in a pattern | 200, 4,096 | `regex_unsupported` |
//! | length of a pattern, in bytes | 32,768 | `regex_unsupported` |
//! | nesting of schemas and templates | 128 | `depth_limit` |
//! | in a stream, steps of the machines for one delimiter | 16,777,216 + 64 for each byte of the text | `regex_budget` |
//! | in a whole text read by a template, bytes that its searches look at | 1 GiB + 64 for each byte of the text | `regex_budget` |
//! | in a text of a family, calls that turn out to be none and are read again as something else | 16 | (the rest is read as it stands) |
//! | what a mark of a family's names, and white space within a mark, in bytes | 256, 64 | (it is no mark) |
//! | nesting of a value without quotes around its keys | 128 | `call_invalid` |
//! | parts of an argument's schema that are looked into for its types | 256 | (types found so far count) |
//! | zero-width opening and closing of a region at one place | one | `no_progress` |
//! | nesting that [`PartialJson`] follows | 128 | (what lies deeper is left out) |
//! | a file of a model's folder | 64 MiB | `model_file` |
//! | nesting of JSON in the text, of constants, of a parsed value, of a dictionary | 512 | `depth_limit` |
//! | nesting of a schema's JSON as a whole | 768 | `depth_limit` |
//! | nesting of a JMESPath expression | 200 | `depth_limit` |
//! | values that one JMESPath evaluation copies | 10,000,000 | `size_limit` |
//! | text after `x-regex-substitutions`, `x-mapping-regex` or JMESPath `join` | 64 MiB | `size_limit` |

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod agentscope;
mod error;
mod jmes;
mod json;
mod model_dir;
mod object;
mod partial;
mod pyre;
mod run;
mod scalar;
mod schema;
mod template;
mod text;
mod validate;
mod value;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

pub use error::{Error, ErrorKind};
pub use families::{Family, UnknownFamily, Unrecognised};
pub use model_dir::family_of_model_dir;
pub use partial::{PartialJson, Unfinished};
pub use schema::{Mode, Release};
pub use template::{
    Broken, End, Event, Finished, Language, Names, PartialValue, Piece, Pieces, ResponseTemplate,
    ResponseTemplateBuilder, TemplateRelease, TemplateStream, Turn,
};

use schema::{MAX_VALUE_DEPTH, Schema};
use value::{Beyond, Value, check_depth};

/// Longest text, in bytes, that a step may make of a shorter one.
pub(crate) const MAX_TEXT: usize = 64 << 20;

/// Most levels of the JSON of a schema: schemas in schemas take two each, and constants
/// stand in the innermost.
const MAX_SCHEMA_LEVELS: usize = 2 * 128 + MAX_VALUE_DEPTH;

/// A compiled response schema. Immutable, shared freely between threads, cheap to clone.
///
/// ```
/// use response_parser::ResponseSchema;
/// use serde_json::json;
///
/// let schema = ResponseSchema::new(&json!({
///     "type": "object",
///     "properties": {
///         "role": {"const": "assistant"},
///         "content": {"type": "string", "x-regex": "^(.*?)(?:<end>)?$"}
///     }
/// }))?;
/// assert_eq!(schema.parse("It rains.<end>")?, json!({"role": "assistant", "content": "It rains."}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone)]
pub struct ResponseSchema {
    root: Arc<Schema>,
    json: Arc<Json>,
    mode: Mode,
    release: Release,
    unrepresentable: Unrepresentable,
}

/// What [`ResponseSchema::parse`] makes of values that JSON cannot hold: NaN, infinities,
/// integers of more than 64 bits, strings with lone surrogates.
///
/// ```
/// use response_parser::{ResponseSchema, Unrepresentable};
/// use serde_json::json;
///
/// let schema = json!({"x-parser": "json"});
/// assert!(ResponseSchema::new(&schema)?.parse("[NaN]").is_err());
/// let builder = ResponseSchema::builder().with_unrepresentable(Unrepresentable::Replace);
/// assert_eq!(builder.build(&schema)?.parse("[NaN]")?, json!([null]));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unrepresentable {
    /// An error of kind [`ErrorKind::NotJson`] that says which and where.
    #[default]
    Refuse,
    /// The nearest thing that JSON has: null for NaN and infinities, the digits as a string
    /// for an integer, U+FFFD for each lone surrogate.
    Replace,
    /// An object that says what it is: `{"$float": "NaN" | "Infinity" | "-Infinity"}`,
    /// `{"$bigint": "<digits>"}` or `{"$utf16": [<code units>]}`.
    Tag,
}

impl Unrepresentable {
    fn beyond(self) -> Beyond {
        match self {
            Unrepresentable::Refuse => Beyond::Refuse,
            Unrepresentable::Replace => Beyond::Replace,
            Unrepresentable::Tag => Beyond::Tag,
        }
    }
}

/// Options of a [`ResponseSchema`], from [`ResponseSchema::builder`].
#[derive(Clone, Debug, Default)]
pub struct ResponseSchemaBuilder {
    mode: Mode,
    release: Release,
    unrepresentable: Unrepresentable,
}

impl ResponseSchemaBuilder {
    /// How faithful to be where the reference implementation fails; [`Mode::Lenient`] unless
    /// told.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The release of the reference whose language it is; [`Release::V5_12`] unless told.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// What to make of values that JSON cannot hold; [`Unrepresentable::Refuse`] unless told.
    #[must_use]
    pub fn with_unrepresentable(mut self, unrepresentable: Unrepresentable) -> Self {
        self.unrepresentable = unrepresentable;
        self
    }

    /// Compiles `schema`: time and memory linear in its size.
    ///
    /// # Errors
    ///
    /// In the lenient mode, for a schema that no text could be read with: a broken pattern or
    /// expression, an unknown parser or type, a keyword of the wrong kind. In both modes for
    /// one that is nested too deeply.
    pub fn build(&self, schema: &Json) -> Result<ResponseSchema, Error> {
        check_depth("the schema is", schema, MAX_SCHEMA_LEVELS)?;
        let root = schema::compile(schema, self.mode, self.release)?;
        Ok(ResponseSchema {
            root: Arc::new(root),
            json: Arc::new(schema.clone()),
            mode: self.mode,
            release: self.release,
            unrepresentable: self.unrepresentable,
        })
    }
}

impl ResponseSchema {
    /// Compiles `schema` in the lenient mode.
    ///
    /// # Errors
    ///
    /// See [`ResponseSchemaBuilder::build`].
    pub fn new(schema: &Json) -> Result<ResponseSchema, Error> {
        ResponseSchema::builder().build(schema)
    }

    /// Options for compiling a schema.
    #[must_use]
    pub fn builder() -> ResponseSchemaBuilder {
        ResponseSchemaBuilder::default()
    }

    /// Reads `text`.
    ///
    /// Time is linear in the text for each keyword whose pattern needs no backtracking, and
    /// within the stated budget for the others.
    ///
    /// # Errors
    ///
    /// Where a step does not take what the step before left, a budget is used up, or (unless
    /// [`Unrepresentable::Replace`] was asked for) the result holds what JSON cannot.
    pub fn parse(&self, text: &str) -> Result<Json, Error> {
        self.read(Value::text(text), text, self.plain())
    }

    /// Reads a value that is no text, or not only: what a server has decoded already.
    ///
    /// # Errors
    ///
    /// As [`ResponseSchema::parse`].
    ///
    /// ```
    /// use response_parser::ResponseSchema;
    /// use serde_json::json;
    ///
    /// let schema = ResponseSchema::new(&json!({
    ///     "type": "object", "properties": {"n": {"type": "integer"}}
    /// }))?;
    /// assert_eq!(schema.parse_value(&json!({"n": "7", "other": 1}))?["n"], 7);
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn parse_value(&self, value: &Json) -> Result<Json, Error> {
        self.read_value(value, self.plain())
    }

    /// Reads a value like [`ResponseSchema::parse_value`], without losing what JSON cannot
    /// hold: such leaves become `{"$float": "NaN" | "Infinity" | "-Infinity"}`,
    /// `{"$bigint": "<digits>"}` or `{"$utf16": [<code units>]}`. A lone surrogate in a key
    /// becomes U+FFFD.
    ///
    /// # Errors
    ///
    /// As [`ResponseSchema::parse`], but never [`ErrorKind::NotJson`].
    ///
    /// ```
    /// use response_parser::ResponseSchema;
    /// use serde_json::json;
    ///
    /// let schema = ResponseSchema::new(&json!({"x-parser": "json"}))?;
    /// assert_eq!(schema.parse_tagged(&json!("[NaN]"))?, json!([{"$float": "NaN"}]));
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn parse_tagged(&self, value: &Json) -> Result<Json, Error> {
        self.read_value(value, Beyond::Tag)
    }

    /// Reads `text` and makes sure that the message keeps to what the schema says about
    /// values: `type`, `enum`, `const`, `required`, bounds, lengths, `pattern` (in Python's
    /// syntax), `properties`, `items` and their kin, `allOf`, `anyOf`, `oneOf`, `not`.
    /// `format` is an annotation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] with the keyword's place in the schema, and in its message the
    /// value's place; [`ErrorKind::SchemaInvalid`] for a keyword that cannot be enforced
    /// (`$ref`, `if` and others); otherwise as [`ResponseSchema::parse`].
    ///
    /// ```
    /// use response_parser::{ErrorKind, ResponseSchema};
    /// use serde_json::json;
    ///
    /// let schema = ResponseSchema::new(&json!({"type": "string", "x-regex": "^(\\w+)", "maxLength": 3}))?;
    /// assert_eq!(schema.parse_validated("yes!")?, "yes");
    /// assert_eq!(schema.parse_validated("maybe").unwrap_err().kind(), ErrorKind::Invalid);
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn parse_validated(&self, text: &str) -> Result<Json, Error> {
        validate::check(&self.json)?;
        let message = self.parse(text)?;
        validate::validate(&self.json, &message)?;
        Ok(message)
    }

    /// Reads `text` into a type of the caller's.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Deserialize`] where the message does not fit the type; otherwise as
    /// [`ResponseSchema::parse`].
    ///
    /// ```
    /// use response_parser::ResponseSchema;
    /// use serde_json::json;
    ///
    /// let schema = ResponseSchema::new(&json!({"type": "integer", "x-regex": "(\\d+)"}))?;
    /// assert_eq!(schema.parse_as::<u8>("about 12 miles")?, 12);
    /// assert!(schema.parse_as::<u8>("about 999 miles").is_err());
    /// # Ok::<(), response_parser::Error>(())
    /// ```
    pub fn parse_as<T: DeserializeOwned>(&self, text: &str) -> Result<T, Error> {
        into_type(self.parse(text)?)
    }

    /// The schema as it was given.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.json
    }

    fn plain(&self) -> Beyond {
        self.unrepresentable.beyond()
    }

    fn read_value(&self, value: &Json, beyond: Beyond) -> Result<Json, Error> {
        check_depth("the value is", value, MAX_VALUE_DEPTH)?;
        self.read(
            Value::from_json(value),
            value.as_str().unwrap_or_default(),
            beyond,
        )
    }

    fn read<'t>(&self, content: Value<'t>, input: &'t str, beyond: Beyond) -> Result<Json, Error> {
        let run = run::Run {
            mode: self.mode,
            release: self.release,
            input,
        };
        let value = run.parse(&self.root, content)?;
        value.into_json(beyond).map_err(|problem| problem.error())
    }
}

/// The message as a type of the caller's.
fn into_type<T: DeserializeOwned>(message: Json) -> Result<T, Error> {
    T::deserialize(message).map_err(|error| {
        let message = format!("the message does not fit the type: {error}");
        Error::bare(ErrorKind::Deserialize, message)
    })
}

impl std::fmt::Debug for ResponseSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseSchema")
            .field("mode", &self.mode)
            .field("release", &self.release)
            .field("unrepresentable", &self.unrepresentable)
            .finish_non_exhaustive()
    }
}
