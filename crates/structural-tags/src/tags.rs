//! Texts with tags in them, how often these come, and the reasoning before them. For example, with
//! `Count::ONE` and the tag `<n>` .. `</n>` the text `So <n>12</n>.` may come, and `So.` may not.

use fsm_index::Vocabulary;

use crate::build::{Node, build};
use crate::content::Content;
use crate::error::{Error, ErrorKind};
use crate::machine::TagAutomaton;

/// The most repetitions that a [`Count`] may tell apart, because each has parts of its own.
pub const MAX_COUNT: usize = 64;

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

    pub(crate) fn check(self) -> Result<(), Error> {
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
        build(&Node::Seq(nodes), vocabulary)
    }
}

/// Reasoning between its markers; `None` if there is none.
pub(crate) fn reasoning_node(
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
