//! The release of the reference implementation that is meant, and how closely it is followed.
//!
//! For example, `"type": "any"` is known to release 5.12, and to the lenient mode.

/// The fidelity to the reference implementation at the places at which that fails.
///
/// ```
/// use response_parser::{Mode, ResponseSchema};
/// use serde_json::json;
///
/// // The reference fails at `true` as a schema.
/// let schema = json!({"type": "object", "properties": {"a": true}});
/// assert!(ResponseSchema::builder().with_mode(Mode::Lenient).build(&schema).is_ok());
/// let reference = ResponseSchema::builder().with_mode(Mode::Reference).build(&schema)?;
/// assert!(reference.parse_value(&json!({"a": 1})).is_err());
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Accept what the reference fails on where the meaning is plain, and refuse at once a schema
    /// that can only fail later. If the reference has an answer, this is it, but for mappings,
    /// which are read in all releases.
    ///
    /// Accepted beyond the reference: `"type": "any"`, `"null"` and lists of types (tried in
    /// order); `true` as a schema and `"additionalProperties": false` (others are dropped);
    /// numbers and booleans that the JSON parser already made; an array without `items`
    /// that already is one.
    #[default]
    Lenient,
    /// The answers of Hugging Face transformers, of the [`Release`] at hand, its failures included:
    /// a broken part of the schema fails when, and only if, its step runs. Keywords that a release
    /// does not know are not looked at.
    Reference,
}

/// The release of transformers whose language of response schemas is meant.
///
/// ```
/// use response_parser::{Release, ResponseSchema};
/// use serde_json::json;
///
/// let schema = json!({"x-parser": "json", "type": "object", "properties": {"a": {}}});
/// let text = r#"{"a": "1", "b": 2}"#;
/// let read = |release| ResponseSchema::builder().with_release(release).build(&schema)?.parse(text);
/// assert_eq!(read(Release::V5_0)?, json!({"a": "1"}));
/// assert_eq!(read(Release::V5_12)?, json!({"a": "1", "b": 2}));
/// # Ok::<(), response_parser::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The first one, 5.0: with `x-mapping` and `x-mapping-regex`; keys that no property
    /// names are dropped from objects; numbers and booleans are read from strings alone.
    V5_0,
    /// 5.12, the last that has the language (5.5 has the same): with `x-regex-substitutions`, `required`,
    /// the type `any` and the parser `gemma4-tool-call`, and without mappings; keys that no
    /// property names are kept unless `additionalProperties` is false.
    ///
    /// The lenient mode reads mappings too: a schema that has one wants it.
    #[default]
    V5_12,
}
