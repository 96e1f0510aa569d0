//! Structural tags: free text, then something bound between two markers, then
//! free text again.
//!
//! A model that may call tools says what it likes until it opens a call; from
//! there to the end of the call every byte is bound. [`Tags`] describes such
//! texts, and [`Tags::compile`] makes an automaton of them for one vocabulary:
//! a [`Guide`](fsm_index::Guide) over it is a
//! constraint like any other.
//! [`ResponseFormat`] does the same for a whole answer in a model family's
//! format, such that what is generated is what the format's parser reads.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use fsm_index::{Fill, Guide, Index, IndexConfig, TokenId, VocabularyBuilder};
//! use structural_tags::{Content, Count, Tag, Tags};
//!
//! // A tokenizer's vocabulary; here each byte is a token.
//! let mut vocabulary = VocabularyBuilder::new();
//! for byte in 0..=255u8 {
//!     vocabulary.text(TokenId::new(byte.into()), [byte])?;
//! }
//! let vocabulary = vocabulary.build()?;
//!
//! let weather = Content::schema(&json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}},
//!     "required": ["city"],
//!     "additionalProperties": false
//! }))?;
//! let tags = Tags::new()
//!     .with_tag(Tag::new("<weather>", weather, "</weather>"))
//!     .with_count(Count::AT_LEAST_ONE)
//!     .compile(&vocabulary)?;
//! assert!(tags.is_match(br#"Let me see. <weather>{"city": "Ulm"}</weather> Wait."#));
//! assert!(!tags.is_match(br#"<weather>{"town": "Ulm"}</weather>"#));
//! assert!(!tags.is_match(b"It rains."));
//!
//! let lazy = IndexConfig { fill: Fill::Lazy, ..IndexConfig::default() };
//! let mut guide = Guide::new(Arc::new(Index::lazy(tags, &vocabulary, &lazy)?));
//! assert!(guide.mask()?.count() > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact
//!
//! - **Markers are symbols.** Where the vocabulary has a marker as a special
//!   (or otherwise added) token, that token is the marker, and the same
//!   characters spelt by text tokens are not: they are refused in free text and
//!   inside of bound text, where a parser of the text would take them for it.
//!   Otherwise the bytes are the marker.
//! - **Free text** is any UTF-8 in which no marker occurs, by the automaton of
//!   Aho and Corasick; a marker begins a bound part the moment it is complete.
//! - **JSON** between markers never has one inside of a string: the character
//!   that would complete it is spelt by its escape (`\u003e`) there, so every
//!   value can still be said. The end of a tag may be a text that JSON cannot do
//!   without, such as `}`: then the value itself tells where it ends.
//! - **Limits** of free and reasoning text are in characters (Unicode scalar
//!   values), the marker at its end not counted.
//! - Every state is alive: whatever was generated so far can be completed.
//!
//! # Cost
//!
//! Compiling is linear in the markers, tools and schemas. A mask in free text
//! or in JSON is remembered by the index as for any automaton; in free text it
//! is put together from the vocabulary cut by the characters that begin no
//! marker.
//!
//! # Limits
//!
//! | what | limit |
//! |---|---|
//! | parts of one automaton (about six for each tool and repetition) | [`MAX_PARTS`] |
//! | bytes of the markers of one place | 16,384 |
//! | states of a regular expression without the markers | [`MAX_QUIET_STATES`] |
//! | repetitions that are counted ([`Count`]) | [`MAX_COUNT`] |
//! | values, grammars and regular expressions that may begin at one place | 1,000, or 100 beside free text |
//!
//! # The JSON that servers exchange
//!
//! [`StructuralTag`] reads the `structural_tag` of XGrammar, as vLLM and SGLang send
//! it, and [`Preset`] makes one of a model's name and tools. There text formats see
//! special tokens by their names, and every parse counts; [`TagLimits`] bounds what one costs.

/// The README's example runs, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod anchors;
mod at_once;
mod build;
mod calls;
mod content;
mod covers;
mod ending;
mod error;
mod exchange;
mod free;
mod graph;
mod heads;
mod held;
mod hints;
mod json_parts;
mod kept_out;
mod known;
mod loose;
mod machine;
mod markers;
mod one_by_one;
mod orders;
mod parts;
mod patterns;
mod quiet;
mod response;
mod rows;
mod run;
mod scratch;
mod shapes;
mod specials;
mod spelled;
mod stack;
mod tags;
mod times;
mod walk;
mod ways;
mod whole;

pub use self::build::MAX_PARTS;
pub use self::content::Content;
pub use self::error::{Error, ErrorKind};
pub use self::exchange::{Preset, StructuralTag, TagLimits};
pub use self::held::State;
pub use self::machine::TagAutomaton;
pub use self::quiet::MAX_QUIET_STATES;
pub use self::response::{Beside, Opening, ResponseFormat};
pub use self::scratch::Scratch;
pub use self::tags::{Count, MAX_COUNT, Presence, Reasoning, Tag, Tags};

use self::content::{compile_if_any, compile_schema, escape};
use self::tags::reasoning_node;
