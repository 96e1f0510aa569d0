//! The structural-tag JSON that servers exchange, read into an automaton.
//!
//! The JSON is a tree of formats, one inside another. All matching is over all parses: a text
//! is admitted if some way of cutting it along the tree is. So the tree becomes a graph of
//! parts, which the machine of this crate runs with a thread for each way.
//!
//! For example, `{"format": {"type": "const_string", "value": "ab"}, ..}` admits `ab` alone.

mod format;
mod lower;
mod presets;
mod xml;

use fsm_index::Vocabulary;
use json_tree::depth;
use serde_json::Value;

use self::format::{Format, malformed};
use crate::machine::TagAutomaton;
use crate::{Error, ErrorKind};

pub use self::format::limits::TagLimits;
pub use self::presets::Preset;

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

    /// Returns the same within other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: TagLimits) -> StructuralTag {
        self.limits = limits;
        self
    }

    /// Makes the automaton for a vocabulary. Special tokens may stand wherever their names may as
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
