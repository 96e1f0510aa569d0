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
mod build;
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
mod times;
mod walk;
mod ways;
mod whole;

use fsm_index::{ByteDfa, Vocabulary};
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, parse};
use serde_json::Value;

pub use self::build::MAX_PARTS;
pub use self::exchange::{Preset, StructuralTag, TagLimits};
pub use self::held::State;
pub use self::machine::TagAutomaton;
pub use self::quiet::MAX_QUIET_STATES;
pub use self::response::{Opening, ResponseFormat};
pub use self::scratch::Scratch;

use self::build::{Node, dfa};
pub use self::error::{Error, ErrorKind};
use self::quiet::Quiet;

/// The most repetitions that a [`Count`] may tell apart, because each has parts of its own.
pub const MAX_COUNT: usize = 64;

/// The content between two markers, or of the whole answer.
///
/// ```
/// use structural_tags::{Content, Tags};
/// use serde_json::json;
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let answer = Content::schema(&json!({"enum": ["yes", "no"]}))?;
/// let automaton = Tags::new().with_answer(answer).compile(&vocabulary)?;
/// assert!(automaton.is_match(b"\"yes\"") && !automaton.is_match(b"\"perhaps\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Content(Bound);

#[derive(Clone, Debug)]
enum Bound {
    Json(SchemaAutomaton),
    Dfa(Box<ByteDfa>),
    Text(Option<u32>),
}

impl Content {
    /// JSON of a schema, with the default [`Options`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the schema is refused, with the keyword and
    /// its place.
    pub fn schema(schema: &Value) -> Result<Content, Error> {
        Content::schema_with(schema, &Options::default())
    }

    /// JSON of a schema.
    ///
    /// # Errors
    ///
    /// As [`Content::schema`].
    pub fn schema_with(schema: &Value, options: &Options) -> Result<Content, Error> {
        compile_schema(schema, options).map(Content::from)
    }

    /// A text that matches a regular expression as a whole.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the expression is malformed, matches nothing
    /// or needs too much.
    ///
    /// ```
    /// use structural_tags::{Content, Tags};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let time = Tags::new().with_answer(Content::regex("[0-2][0-9]:[0-5][0-9]")?);
    /// assert!(time.compile(&vocabulary)?.is_match(b"09:30"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn regex(pattern: &str) -> Result<Content, Error> {
        dfa(pattern).map(|dfa| Content(Bound::Dfa(Box::new(dfa))))
    }

    /// One of these texts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: there are none.
    ///
    /// ```
    /// use structural_tags::{Content, Tags};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let side = Tags::new().with_answer(Content::choice(["left", "right"])?);
    /// let automaton = side.compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"left") && !automaton.is_match(b"up"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choice<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Content, Error> {
        let texts: Vec<String> = texts
            .into_iter()
            .map(|text| escape(text.as_ref()))
            .collect();
        if texts.is_empty() {
            return Err(Error::new(
                ErrorKind::Constraint,
                "a choice of no texts has none to choose; name at least one",
            ));
        }
        Content::regex(&format!("(?:{})", texts.join("|")))
    }

    /// Any text up to the closing marker, of at most so many characters if a
    /// limit is given.
    pub fn text(limit: Option<u32>) -> Content {
        Content(Bound::Text(limit))
    }

    /// The content of a tag, without its end and what is forbidden.
    fn inside(&self, forbidden: &[String], end: &str) -> Result<Node, Error> {
        let mut markers = forbidden.to_vec();
        let is_kept_out = match &self.0 {
            Bound::Json(automaton) => json_parts::is_kept_out(end, automaton)?,
            Bound::Dfa(_) | Bound::Text(_) => true,
        };
        if is_kept_out {
            markers.push(end.to_owned());
        }
        self.node(&markers)
    }

    /// The content without these markers.
    fn node(&self, markers: &[String]) -> Result<Node, Error> {
        Ok(match &self.0 {
            Bound::Json(automaton) => Node::Json(automaton.clone().into(), markers.to_vec()),
            Bound::Dfa(dfa) => Node::Quiet(Quiet::without(dfa, markers)?),
            Bound::Text(limit) => Node::Free(markers.to_vec(), *limit),
        })
    }
}

impl From<SchemaAutomaton> for Content {
    fn from(automaton: SchemaAutomaton) -> Content {
        Content(Bound::Json(automaton))
    }
}

impl From<ByteDfa> for Content {
    fn from(dfa: ByteDfa) -> Content {
        Content(Bound::Dfa(Box::new(dfa)))
    }
}

fn compile_schema(schema: &Value, options: &Options) -> Result<SchemaAutomaton, Error> {
    let compiled = parse(schema).and_then(|schema| SchemaAutomaton::compile(schema, options));
    compiled.map_err(of_schema)
}

/// The same; `None` where no value satisfies the schema.
fn compile_if_any(schema: &Value, options: &Options) -> Result<Option<SchemaAutomaton>, Error> {
    let compiled = parse(schema);
    let compiled = compiled.and_then(|schema| SchemaAutomaton::compile_if_any(schema, options));
    compiled.map_err(of_schema)
}

#[cold]
fn of_schema(error: schema_regex::Error) -> Error {
    Error::with_source(ErrorKind::Constraint, format!("the schema: {error}"), error)
}

/// A text as a regular expression that matches it alone.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A marker, what is bound behind it, and the marker that ends that.
///
/// ```
/// use structural_tags::{Content, Tag, Tags};
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let link = Tag::new("[[", Content::regex("[a-z]+")?, "]]");
/// let automaton = Tags::new().with_tag(link).compile(&vocabulary)?;
/// assert!(automaton.is_match(b"See [[there]] and [[here]].") && !automaton.is_match(b"See [[There]]."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tag {
    begin: String,
    content: Content,
    end: String,
}

impl Tag {
    /// A tag. Markers may hold the names of several special tokens and text
    /// between them: `<|channel|>final<|message|>`.
    pub fn new(begin: impl Into<String>, content: Content, end: impl Into<String>) -> Tag {
        Tag {
            begin: begin.into(),
            content,
            end: end.into(),
        }
    }
}

/// The number of times that something comes.
///
/// ```
/// use structural_tags::{Content, Count, Tag, Tags};
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let number = Tag::new("<", Content::regex("[0-9]")?, ">");
/// let one = Tags::new().with_tag(number).with_count(Count::ONE).compile(&vocabulary)?;
/// assert!(one.is_match(b"a<1>b") && !one.is_match(b"ab") && !one.is_match(b"<1><2>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    /// At least so often.
    pub least: usize,
    /// At most so often; as often as the model likes if none.
    pub most: Option<usize>,
}

impl Count {
    /// As often as the model likes, and perhaps not at all.
    pub const ANY: Count = Count {
        least: 0,
        most: None,
    };
    /// Once or more.
    pub const AT_LEAST_ONE: Count = Count {
        least: 1,
        most: None,
    };
    /// Exactly once.
    pub const ONE: Count = Count {
        least: 1,
        most: Some(1),
    };
    /// Not at all.
    pub const NONE: Count = Count {
        least: 0,
        most: Some(0),
    };

    fn check(self) -> Result<(), Error> {
        let most = self.most.unwrap_or(self.least);
        let wrong = match (self.least > most, self.least.max(most) > MAX_COUNT) {
            (true, _) => format!("at least {} times and at most {most} cannot be", self.least),
            (_, true) => format!("more than {MAX_COUNT} times is not counted"),
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::InvalidParameter, wrong))
    }
}

impl Default for Count {
    fn default() -> Count {
        Count::ANY
    }
}

/// True if a model reasons before it answers, and how long.
///
/// ```
/// use structural_tags::{Content, Reasoning, Tags};
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let answer = Content::choice(["yes", "no"])?;
/// let tags = Tags::new().with_reasoning("<think>", "</think>", Reasoning::limited(3)).with_answer(answer);
/// let automaton = tags.compile(&vocabulary)?;
/// assert!(automaton.is_match(b"<think>Hm.</think>yes") && automaton.is_match(b"yes"));
/// assert!(!automaton.is_match(b"<think>Hmm.</think>yes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reasoning {
    /// True if there is any.
    pub presence: Presence,
    /// Most characters (Unicode scalar values) of it, its markers not counted.
    pub limit: Option<u32>,
}

/// True if something is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It is not.
    Absent,
    /// As the model likes.
    #[default]
    Optional,
    /// It is.
    Required,
}

impl Reasoning {
    /// None.
    pub const ABSENT: Reasoning = Reasoning {
        presence: Presence::Absent,
        limit: None,
    };
    /// As the model likes.
    pub const FREE: Reasoning = Reasoning {
        presence: Presence::Optional,
        limit: None,
    };

    /// As the model likes, but of no more characters.
    pub fn limited(characters: u32) -> Reasoning {
        Reasoning {
            presence: Presence::Optional,
            limit: Some(characters),
        }
    }

    /// The same, in any case.
    #[must_use]
    pub fn required(self) -> Reasoning {
        Reasoning {
            presence: Presence::Required,
            ..self
        }
    }
}

/// Texts with tags in them.
///
/// Without further ado: free text with any number of tags.
///
/// ```
/// use structural_tags::{Content, Count, Tag, Tags};
/// use serde_json::json;
///
/// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let place = json!({"type": "object", "properties": {"city": {"enum": ["Ulm", "Oslo"]}}, "required": ["city"]});
/// let tags = Tags::new()
///     .with_tag(Tag::new("<weather>", Content::schema(&place)?, "</weather>"))
///     .with_count(Count::AT_LEAST_ONE);
/// let automaton = tags.compile(&vocabulary)?;
/// assert!(automaton.is_match(br#"Let me see. <weather>{"city": "Ulm"}</weather>"#));
/// assert!(!automaton.is_match(br#"<weather>{"city": "Rome"}</weather>"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tags {
    tags: Vec<Tag>,
    count: Count,
    reasoning: Option<(String, String, Reasoning)>,
    answer: Option<Content>,
    forbidden: Vec<String>,
    text_limit: Option<u32>,
    before: Around,
    behind: Around,
}

/// The text before the first tag, or behind the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Around {
    #[default]
    Text,
    Nothing,
}

impl Tags {
    /// Free text without tags.
    pub fn new() -> Tags {
        Tags::default()
    }

    /// The same with another tag.
    #[must_use]
    pub fn with_tag(mut self, tag: Tag) -> Tags {
        self.tags.push(tag);
        self
    }

    /// The same with another number of tags, whichever they are.
    #[must_use]
    pub fn with_count(mut self, count: Count) -> Tags {
        self.count = count;
        self
    }

    /// The same with reasoning between two markers before everything else.
    #[must_use]
    pub fn with_reasoning(
        mut self,
        begin: impl Into<String>,
        end: impl Into<String>,
        reasoning: Reasoning,
    ) -> Tags {
        self.reasoning = Some((begin.into(), end.into(), reasoning));
        self
    }

    /// The same with an answer that is bound as a whole, in place of free
    /// text. With tags it is the alternative to them: an answer, or tags one
    /// after another, white space between them.
    #[must_use]
    pub fn with_answer(mut self, answer: Content) -> Tags {
        self.answer = Some(answer);
        self
    }

    /// The same with a text that may not occur: not in free text, and not
    /// between markers.
    ///
    /// ```
    /// use structural_tags::Tags;
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let automaton = Tags::new().with_forbidden("<eos>").compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"a < b") && !automaton.is_match(b"a <eos> b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_forbidden(mut self, text: impl Into<String>) -> Tags {
        self.forbidden.push(text.into());
        self
    }

    /// The same with a limit for each stretch of free text, in characters
    /// (Unicode scalar values).
    #[must_use]
    pub fn with_text_limit(mut self, characters: u32) -> Tags {
        self.text_limit = Some(characters);
        self
    }

    /// The same without text before the first tag: the answer begins with it, where there is
    /// one. An answer that is [bound as a whole](Tags::with_answer) has no text around tags
    /// anyway.
    ///
    /// ```
    /// use structural_tags::{Content, Count, Tag, Tags};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let code = Tag::new("```\n", Content::text(None), "```");
    /// let tags = Tags::new().with_tag(code).with_count(Count::ONE).without_text_before().without_text_behind();
    /// let automaton = tags.compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"```\nx\n```") && !automaton.is_match(b"Sure. ```\nx\n```"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_text_before(mut self) -> Tags {
        self.before = Around::Nothing;
        self
    }

    /// The same without text behind the last tag: where as many tags have come as may, the
    /// text ends right there; behind one before, only text that leads to another may come.
    #[must_use]
    pub fn without_text_behind(mut self) -> Tags {
        self.behind = Around::Nothing;
        self
    }

    /// Free text with tags in it.
    fn text(&self, free: Node, tag: Node, Count { least, most }: Count) -> Node {
        let before = match self.before {
            Around::Text => free.clone(),
            Around::Nothing => Node::Seq(Vec::new()),
        };
        if self.behind == Around::Text || most == Some(0) {
            let more = Node::Seq(vec![tag, free]);
            return Node::Seq(vec![before, Node::Repeat(Box::new(more), least, most)]);
        }
        let more = Node::Seq(vec![free, tag.clone()]);
        let most = most.map(|most| most - 1);
        let tags = Node::Repeat(Box::new(more), least.saturating_sub(1), most);
        let tags = Node::Seq(vec![before.clone(), tag, tags]);
        match least {
            0 => Node::Alt(vec![before, tags]),
            _ => tags,
        }
    }

    /// The automaton of these texts for a vocabulary, whose special tokens the
    /// markers are where it has them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: a marker is empty, or cannot be kept out of
    /// JSON, or a limit is exceeded. [`ErrorKind::InvalidParameter`]: the count
    /// is contradictory or beyond [`MAX_COUNT`].
    pub fn compile(&self, vocabulary: &Vocabulary) -> Result<TagAutomaton, Error> {
        self.count.check()?;
        let reasoning = self.reasoning.iter().flat_map(|(b, e, _)| [b, e]);
        let begins = self.tags.iter().map(|tag| &tag.begin);
        let ends = self.tags.iter().map(|tag| &tag.end);
        if reasoning
            .clone()
            .chain(begins.clone())
            .chain(ends)
            .any(String::is_empty)
        {
            return Err(Error::new(
                ErrorKind::Constraint,
                "a marker is empty, so that it is not known where it begins; name it",
            ));
        }
        // The texts that free text may not spell, because a reader would take them for markers.
        let mut closed: Vec<String> = self.forbidden.clone();
        closed.extend(reasoning.chain(begins).cloned());
        let mut nodes = Vec::new();
        if let Some((begin, end, reasoning)) = &self.reasoning {
            nodes.extend(reasoning_node(begin, end, *reasoning, &self.forbidden));
        }
        let tags: Result<Vec<Node>, Error> = self
            .tags
            .iter()
            .map(|tag| {
                Ok(Node::Seq(vec![
                    Node::marker(&tag.begin),
                    tag.content.inside(&self.forbidden, &tag.end)?,
                    Node::marker(&tag.end),
                ]))
            })
            .collect();
        let tag = Node::Alt(tags?);
        let Count { least, most } = match self.tags.is_empty() {
            true => Count::NONE,
            false => self.count,
        };
        let body = match &self.answer {
            None => {
                let free = Node::Free(closed, self.text_limit);
                self.text(free, tag, Count { least, most })
            }
            Some(answer) => {
                let answer = answer.node(&closed)?;
                let space = Node::regex(r"[ \n]{0,2}")?;
                let more = Node::Seq(vec![space.clone(), tag.clone()]);
                let tags = Node::Seq(vec![
                    tag,
                    Node::Repeat(
                        Box::new(more),
                        least.saturating_sub(1),
                        most.map(|m| m.saturating_sub(1)),
                    ),
                ]);
                let body = match (least, most) {
                    (_, Some(0)) => answer,
                    (0, _) => Node::Alt(vec![answer, tags]),
                    _ => tags,
                };
                match nodes.is_empty() {
                    true => body,
                    false => Node::Seq(vec![space, body]),
                }
            }
        };
        nodes.push(body);
        build::build(&Node::Seq(nodes), vocabulary)
    }
}

/// Reasoning between its markers; `None` if there is none.
fn reasoning_node(
    begin: &str,
    end: &str,
    reasoning: Reasoning,
    forbidden: &[String],
) -> Option<Node> {
    let mut markers = forbidden.to_vec();
    markers.push(end.to_owned());
    let node = Node::Seq(vec![
        Node::marker(begin),
        Node::Free(markers, reasoning.limit),
        Node::marker(end),
    ]);
    match reasoning.presence {
        Presence::Absent => None,
        Presence::Optional => Some(Node::optional(node)),
        Presence::Required => Some(node),
    }
}
