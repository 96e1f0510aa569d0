//! The limits of structural tags: for example, of the times that a `repeat` counts.

/// Limits of what a structural tag may cost.
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
    /// The limits of each grammar.
    pub grammar: grammar::Config,
}

impl Default for TagLimits {
    fn default() -> TagLimits {
        TagLimits {
            max_parts: 50_000,
            max_repeat: 10_000,
            max_whitespace: 1_000,
            grammar: grammar::Config::default(),
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

    /// Sets the limits of each grammar.
    #[must_use]
    pub fn with_grammar(mut self, grammar: grammar::Config) -> TagLimits {
        self.grammar = grammar;
        self
    }

    /// Sets the most white space that is counted, in characters.
    #[must_use]
    pub fn with_max_whitespace(mut self, characters: u32) -> TagLimits {
        self.max_whitespace = characters;
        self
    }
}
