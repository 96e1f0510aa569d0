//! The choices of who reads a schema.
//!
//! For example, [`ParseOptions::with_draft`] says how a schema without `$schema` is read.

use crate::options::{Draft, setters};
use crate::read::documents::Documents;
use crate::read::json_text::MAX_NESTING;

/// Choices of [`crate::parse_with`].
///
/// ```
/// use schema_regex::{Draft, ParseOptions, parse_with};
/// use serde_json::json;
///
/// // In draft 4 `exclusiveMinimum` is a switch.
/// let old = ParseOptions::default().with_draft(Draft::Draft4);
/// let schema = json!({"minimum": 0, "exclusiveMinimum": true});
/// assert_eq!(parse_with(&schema, &old)?.draft(), Draft::Draft4);
/// # Ok::<(), schema_regex::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct ParseOptions {
    pub(super) draft: Draft,
    pub(super) max_nodes: usize,
    pub(super) documents: Documents,
    pub(super) base_uri: Option<String>,
    pub(super) settings: Settings,
    pub(super) max_nesting: usize,
    pub(super) rounded: Rounded,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            draft: Draft::Draft202012,
            max_nodes: 200_000,
            documents: Documents::default(),
            base_uri: None,
            settings: Settings::default(),
            max_nesting: MAX_NESTING,
            rounded: Rounded::default(),
        }
    }
}

setters! {
    ParseOptions;
    /// Sets the draft of a schema that has no `$schema` (default: 2020-12).
    with_draft(draft: Draft),
    /// Sets the other documents that references may lead to, by absolute URI (default: none). Nothing is
    /// ever fetched.
    with_documents(documents: Documents),
    /// Sets the most subschemas that are read, counted once each, references followed (default: 200,000).
    with_max_nodes(max_nodes: usize),
    /// Sets whether the schema may choose options by itself (default: it may not).
    with_settings(settings: Settings),
    /// Sets the deepest nesting of arrays and objects in the schema, in levels (default: 512). It comes
    /// before everything else, so that no stack overflows.
    with_max_nesting(max_nesting: usize),
    /// Sets what numbers mean that a `Value` may have rounded (default: they are refused).
    with_rounded(rounded: Rounded),
}

impl ParseOptions {
    /// Adds a document that references may lead to.
    ///
    /// ```
    /// use schema_regex::{Options, ParseOptions, parse_with, to_regex};
    /// use serde_json::json;
    ///
    /// let reading = ParseOptions::default()
    ///     .with_document("https://example.com/unit", json!({"enum": ["metres", "miles"]}));
    /// let schema = parse_with(&json!({"$ref": "https://example.com/unit"}), &reading)?;
    /// assert_eq!(to_regex(&schema, &Options::default())?, "\"(?:metres|miles)\"");
    /// # Ok::<(), schema_regex::Error>(())
    /// ```
    #[must_use]
    pub fn with_document(mut self, uri: impl Into<String>, document: serde_json::Value) -> Self {
        self.documents.insert(uri, document);
        self
    }

    /// Sets the URI at which the schema itself was found (default: none): its relative references begin
    /// there, as far as its `$id` does not say otherwise.
    ///
    /// ```
    /// use schema_regex::{ParseOptions, parse_with};
    /// use serde_json::json;
    ///
    /// let reading = ParseOptions::default()
    ///     .with_base_uri("https://example.com/schemas/order.json")
    ///     .with_document("https://example.com/schemas/unit.json", json!({"type": "string"}));
    /// assert!(parse_with(&json!({"$ref": "unit.json"}), &reading).is_ok());
    /// ```
    #[must_use]
    pub fn with_base_uri(mut self, uri: impl Into<String>) -> Self {
        self.base_uri = Some(uri.into());
        self
    }
}

/// The meaning of a number that a [`serde_json::Value`] may have rounded: it keeps whole numbers of
/// 64 bits as they were written, and of all others the nearest `f64`. [`crate::parse_str_with`] reads
/// the digits themselves, so that this does not matter there.
///
/// ```
/// use schema_regex::{ParseOptions, Rounded, parse, parse_with};
/// use serde_json::json;
///
/// let schema = json!({"maximum": 1e300});
/// assert!(parse(&schema).is_err());
/// assert!(parse_with(&schema, &ParseOptions::default().with_rounded(Rounded::Keep)).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Rounded {
    /// A bound, a divisor or a listed value is refused, by keyword and JSON Pointer, if
    /// other digits may well have been written: an `f64` that is whole and 2^53 or more
    /// (for divisors: of which the shortest decimal has more than 15 digits), and one of
    /// which the shortest decimal has 17 digits. All others are taken as that decimal.
    #[default]
    Refuse,
    /// All are taken as their shortest decimal: for values that were made in code, or of
    /// which it is known that nothing was rounded.
    Keep,
}

/// The effect of an object `x-tokenmold` at the root of the schema.
///
/// Its members override [`Options`](crate::options::Options); the ones that there are, each optional:
///
/// | member | values | option |
/// |---|---|---|
/// | `whitespace` | `"compact"`, `"single"`, `"spaced"`, `"flexible"`, `"any:N"`, `{"pattern": R}` | [`crate::options::Options::whitespace`] |
/// | `escapes` | `"shortest"`, `"standard"`, `"all"`, `"all-in-values"` | [`crate::options::Options::escapes`] |
/// | `integers` | `"plain"`, `"zero-fraction"` | [`crate::options::Options::integers`] |
/// | `propertyOrder` | `"schema"`, `"any"` | [`crate::options::Options::property_order`] |
/// | `additionalMembers` | `"open"`, `"closed"` | [`crate::options::Options::additional_members`] |
/// | `formats` | `"assert"`, `"annotate"`, `"strict"` | [`crate::options::Options::formats`] |
/// | `oneOf` | `"exclusive"`, `"any"` | [`crate::options::Options::one_of`] |
/// | `nesting` | 0 to 1,000 | [`crate::options::Options::max_nesting`] |
/// | `recursion` | `"refuse"` or levels, 0 to 16 | [`crate::options::Options::recursion`] |
/// | `anyValue` | `"refuse"` or levels, 0 to 16 | [`crate::options::Options::any_value`] |
/// | `caps` | an object with `length`, `items`, `depth`, `digits`, `members`, `nameLength`: a number, or `null` for none | [`crate::options::Options::caps`] |
///
/// Any other member, and any other value, is an error with its JSON Pointer.
/// Limits on the work of a compilation are the host's and cannot be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Settings {
    /// It overrides the options: for schemas of one's own.
    Follow,
    /// It is an annotation.
    #[default]
    Ignore,
}
