//! A schema as users hold it. For example, `{"type": "string"}` is read once, and printed,
//! compiled and asked about values many times.

use schema_normal::ParseOptions;
use schema_normal::options::{Draft, Options};
use schema_normal::{Error, Schema as Read};
use serde_json::Value;

/// A schema that was read and checked: the input of [`to_regex`](crate::to_regex).
///
/// It holds what can be reached from the root (and nothing of unused
/// definitions), with the JSON Pointer of each location.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The locations and patterns.
    pub(crate) read: Read,
}

/// Reads a schema with the default [`ParseOptions`].
///
/// The draft is that of `$schema`, 2020-12 where there is none. References
/// (`$ref` to JSON Pointers, `$id`s and anchors of the same document) are
/// followed as they are met, so that unused definitions cost nothing: time and
/// memory are proportional to what is reached.
///
/// # Errors
///
/// [`crate::ErrorKind::Invalid`] where the schema is not one, with the pointer of the
/// keyword; [`crate::ErrorKind::TooManyNodes`]. Keywords that cannot be enforced are
/// found later, by [`to_regex`](crate::to_regex).
pub fn parse(schema: &Value) -> Result<Schema, Error> {
    parse_with(schema, &ParseOptions::default())
}

/// Reads a schema; see [`parse`].
///
/// # Errors
///
/// As [`parse`].
pub fn parse_with(schema: &Value, options: &ParseOptions) -> Result<Schema, Error> {
    let read = schema_normal::parse_with(schema, options)?;
    Ok(Schema { read })
}

/// Reads a schema from its text with the default [`ParseOptions`]: as [`parse`], but
/// numbers have all the digits that were written, which a [`Value`] does not keep.
///
/// # Errors
///
/// As [`parse`], and [`crate::ErrorKind::Invalid`] where the text is no JSON.
pub fn parse_str(schema: &str) -> Result<Schema, Error> {
    parse_str_with(schema, &ParseOptions::default())
}

/// Reads a schema from its text; see [`parse_str`].
///
/// # Errors
///
/// As [`parse_str`].
pub fn parse_str_with(schema: &str, options: &ParseOptions) -> Result<Schema, Error> {
    let read = schema_normal::parse_str_with(schema, options)?;
    Ok(Schema { read })
}

impl Schema {
    /// Returns the draft whose rules were followed.
    pub fn draft(&self) -> Draft {
        self.read.draft()
    }

    /// Returns the options that hold for this schema: the given ones, with what it chooses by
    /// `x-tokenmold` where it was read with [`Settings::Follow`](crate::Settings::Follow).
    ///
    /// O(size of the options).
    ///
    /// ```
    /// use schema_regex::{Escapes, Options, ParseOptions, Settings, parse_with};
    /// use serde_json::json;
    ///
    /// let reading = ParseOptions::default().with_settings(Settings::Follow);
    /// let schema = parse_with(&json!({"x-tokenmold": {"escapes": "all"}}), &reading)?;
    /// assert_eq!(schema.options(&Options::default()).escapes, Escapes::All);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    #[must_use]
    pub fn options(&self, options: &Options) -> Options {
        self.read.options(options)
    }

    /// Returns the number of locations that the schema reaches.
    pub fn locations(&self) -> usize {
        self.read.locations()
    }

    /// Tells whether `value` satisfies the schema, `format` read as `options` say.
    ///
    /// This is a plain validator, keyword by keyword, made for checking and
    /// not for speed. Known formats are compared with the language that the
    /// automaton enforces. Caps are not looked at. Each location is asked of each value
    /// inside at most once, however many references lead to it, so that the time is at most
    /// the product of both.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Refused`] where a keyword that decides cannot be
    /// evaluated, [`crate::ErrorKind::TooDeep`] where references or the value nest
    /// more than 400 deep, [`crate::ErrorKind::TooManySteps`] where locations that lead to
    /// others are asked of more than 1,048,576 values, each location for itself.
    ///
    /// ```
    /// use schema_regex::{Options, parse};
    /// use serde_json::json;
    ///
    /// let schema = parse(&json!({"type": "integer", "multipleOf": 3}))?;
    /// assert!(schema.is_valid(&json!(9), &Options::default())?);
    /// assert!(!schema.is_valid(&json!(10), &Options::default())?);
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    pub fn is_valid(&self, value: &Value, options: &Options) -> Result<bool, Error> {
        self.read.is_valid(value, options)
    }
}
