//! Response schemas, as the transformers package reads them.
//!
//! For example, `{"type": "object", "x-regex": "(?P<content>.*)", ..}` makes an object of a text.

mod compile;
mod gemma4;
mod messages;
mod release;
mod run;
mod validate;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use self::compile::Schema;
use crate::error::{Error, into_type};
use crate::value::{Beyond, Unrepresentable, Value, check_depth};

pub(crate) use self::compile::{MAX_VALUE_DEPTH, is_truthy};
pub(crate) use self::messages::{exhausted, shorten};
pub use self::release::{Mode, Release};
pub(crate) use self::validate::KnownKeywords;

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

/// Options of a [`ResponseSchema`], from [`ResponseSchema::builder`].
#[derive(Clone, Debug, Default)]
pub struct ResponseSchemaBuilder {
    mode: Mode,
    release: Release,
    unrepresentable: Unrepresentable,
}

impl ResponseSchemaBuilder {
    /// Says how faithful to be where the reference implementation fails; [`Mode::Lenient`] unless
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

    /// Says what to make of values that JSON cannot hold; [`Unrepresentable::Refuse`] unless told.
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
        let root = compile::compile(schema, self.mode, self.release)?;
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
    /// A step does not take the value that the step before left, a budget is used up, or (unless
    /// [`Unrepresentable::Replace`] was asked for) the result holds a value that JSON cannot.
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
    /// As [`ResponseSchema::parse`], but never [`ErrorKind::NotJson`](crate::ErrorKind::NotJson).
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
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the keyword's place in the schema, and in its message the
    /// value's place; [`ErrorKind::SchemaInvalid`](crate::ErrorKind::SchemaInvalid) for a keyword that cannot be enforced
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
    /// [`ErrorKind::Deserialize`](crate::ErrorKind::Deserialize) where the message does not fit the type; otherwise as
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

impl std::fmt::Debug for ResponseSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseSchema")
            .field("mode", &self.mode)
            .field("release", &self.release)
            .field("unrepresentable", &self.unrepresentable)
            .finish_non_exhaustive()
    }
}
