//! The structural-tag JSON that servers exchange, read into an automaton.
//!
//! The JSON is a tree of formats, one inside another. All matching is over all parses: a text
//! is admitted if some way of cutting it along the tree is. So the tree becomes a graph of
//! parts, which the machine of this crate runs with a thread for each way.

mod format;
mod lower;
mod presets;
mod schema;
mod xml;

use fsm_index::Vocabulary;
use json_tree::depth;
use regex_dialects::Dialect;
use serde_json::Value;

use self::format::Format;
use crate::machine::TagAutomaton;
use crate::{Error, ErrorKind};

pub use self::presets::Preset;

/// What a structural tag may cost.
///
/// ```
/// use structural_tags::{StructuralTag, TagLimits};
/// use serde_json::json;
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let twice = json!({"type": "structural_tag", "format": {
///     "type": "repeat", "min": 2, "max": 2, "content": {"type": "const_string", "value": "ab"}
/// }});
/// let tag = StructuralTag::from_value(&twice)?;
/// assert!(tag.compile(&vocabulary)?.is_match(b"abab"));
/// let once = TagLimits::default().with_max_repeat(1);
/// assert!(tag.with_limits(once).compile(&vocabulary).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagLimits {
    /// Most parts of the automaton (default: 50,000, and never more than 65,000): strings, free
    /// texts, values of a schema, each as often as it is repeated.
    pub max_parts: usize,
    /// Most times that a `repeat` counts (default: 10,000).
    pub max_repeat: u32,
    /// Most white space that `max_whitespace_cnt` counts, in characters (default: 1,000).
    pub max_whitespace: u32,
}

impl Default for TagLimits {
    fn default() -> TagLimits {
        TagLimits {
            max_parts: 50_000,
            max_repeat: 10_000,
            max_whitespace: 1_000,
        }
    }
}

impl TagLimits {
    /// Sets the most parts.
    #[must_use]
    pub fn with_max_parts(mut self, parts: usize) -> TagLimits {
        self.max_parts = parts;
        self
    }

    /// Sets the most times that a `repeat` counts.
    #[must_use]
    pub fn with_max_repeat(mut self, times: u32) -> TagLimits {
        self.max_repeat = times;
        self
    }

    /// Sets the most white space that is counted, in characters.
    #[must_use]
    pub fn with_max_whitespace(mut self, characters: u32) -> TagLimits {
        self.max_whitespace = characters;
        self
    }
}

/// A structural tag in the JSON that LLM servers exchange: XGrammar's `structural_tag`, as
/// vLLM and SGLang send it for strict tool calls and response formats.
///
/// Both forms are read: a tree of formats under `format`, and the older one of `structures`
/// and `triggers`.
///
/// ```
/// use fsm_index::{TokenId, VocabularyBuilder};
/// use structural_tags::StructuralTag;
///
/// // A tokenizer's vocabulary; here each byte is a token.
/// let mut vocabulary = VocabularyBuilder::new();
/// for byte in 0..=255u8 {
///     vocabulary.text(TokenId::new(byte.into()), [byte])?;
/// }
/// let vocabulary = vocabulary.build()?;
///
/// let tag = StructuralTag::from_json(r#"{
///     "type": "structural_tag",
///     "format": {
///         "type": "triggered_tags",
///         "triggers": ["<function="],
///         "tags": [{
///             "type": "tag",
///             "begin": "<function=weather>",
///             "content": {"type": "json_schema", "json_schema": {
///                 "type": "object",
///                 "properties": {"city": {"type": "string"}},
///                 "required": ["city"]
///             }},
///             "end": "</function>"
///         }]
///     }
/// }"#)?;
/// let automaton = tag.compile(&vocabulary)?;
/// assert!(automaton.is_match(br#"Sure. <function=weather>{"city": "Ulm"}</function>"#));
/// assert!(!automaton.is_match(br#"Sure. <function=weather>{"town": "Ulm"}</function>"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StructuralTag {
    format: Format,
    limits: TagLimits,
}

impl StructuralTag {
    /// Reads a tag from its JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the text is no JSON, or as [`StructuralTag::from_value`].
    pub fn from_json(text: &str) -> Result<StructuralTag, Error> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let message = format!("the structural tag is no JSON: {error}");
            Error::with_source(ErrorKind::Constraint, message, error)
        })?;
        StructuralTag::from_value(&value)
    }

    /// Reads a tag from a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: a field is missing or of a wrong type, or a format is not
    /// supported; the message has its JSON Pointer.
    pub fn from_value(tag: &Value) -> Result<StructuralTag, Error> {
        if !depth::is_within(tag) {
            return Err(malformed("", depth::refusal("the structural tag")));
        }
        let Value::Object(whole) = tag else {
            return Err(malformed("", "a structural tag is an object"));
        };
        if !matches!(whole.get("type"), None | Some(Value::String(_)))
            || whole
                .get("type")
                .is_some_and(|name| name != "structural_tag")
        {
            return Err(malformed("/type", "the type is \"structural_tag\""));
        }
        let format = match (whole.contains_key("structures"), whole.get("format")) {
            (true, _) => format::legacy(whole)?,
            (_, Some(given)) => format::format(given, "/format")?,
            (_, None) => return Err(malformed("", "\"format\" is missing")),
        };
        Ok(StructuralTag {
            format,
            limits: TagLimits::default(),
        })
    }

    /// The same within other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: TagLimits) -> StructuralTag {
        self.limits = limits;
        self
    }

    /// The automaton for a vocabulary. Special tokens may stand wherever their names may as
    /// text; token formats are met by the tokens alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: a schema or a regular expression is refused, a token is not
    /// in the vocabulary or no special token there, or a limit is exceeded.
    pub fn compile(&self, vocabulary: &Vocabulary) -> Result<TagAutomaton, Error> {
        lower::compile(&self.format, &self.limits, vocabulary)
    }
}

/// The tag does not say what it must.
#[cold]
fn malformed(at: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Constraint,
        format!("the structural tag at {at:?}: {what}"),
    )
}

/// A regular expression of a tag in the syntax of this project's automata, or why there is
/// none.
fn rewritten(pattern: &str) -> Result<String, String> {
    let rewritten = Dialect::TAGS.rewritten(pattern);
    rewritten.map_err(|error| format!("{} (byte {})", error.reason, error.offset))
}

/// The tag says what cannot be enforced.
#[cold]
fn refused(at: &str, what: impl std::fmt::Display) -> Error {
    malformed(at, what)
}

/// The same error, with the place in the tag that it comes from.
#[cold]
fn at(place: &str, error: Error) -> Error {
    let message = format!("the structural tag at {place:?}: {error}");
    Error::with_source(error.kind(), message, error)
}
