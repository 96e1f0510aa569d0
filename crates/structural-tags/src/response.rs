//! A whole answer in a family's format as a constraint.
//!
//! For example, an answer in the format of Hermes is text with calls
//! `<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>`.

use families::{Calls, Content as Said, Spelling};
use fsm_index::Vocabulary;
use response_parser::{Family, ResponseTemplate, Turn};
use schema_regex::Options;
use serde_json::{Value, json};

use super::build::{self, Node};
use super::shapes::Shape;
use super::spelled::{ToolSpec, not_a_call, of_tool, spell};
use super::{Content, Count, Reasoning, TagAutomaton, reasoning_node};
use crate::{Error, ErrorKind};
use json_tree::depth;

/// The format in which a model family writes an answer, with tools and an answer's schema bound in
/// it: what is generated is what the format's parser reads.
///
/// Reasoning, content and calls come in the order and the spelling in which
/// the family's models write them; every call is of a tool on offer, and its
/// arguments obey the tool's schema.
///
/// The member `writes` of the family's data file says which: calls one after another with
/// marks around each, or in one list; a call as an object, or its name in the mark before the
/// arguments; these as JSON, one by one as text, or with bare keys. If the file says why masks are
/// refused, so does the error.
///
/// If arguments stand one by one as text, a tool's schema must be an object of `properties` with
/// `required` and nothing else, and further properties do not come. A value of which the schema
/// says that it is a string stands as it is,
/// whatever it looks like; another one is JSON. Arguments come in any order where there are
/// few, and in the order of the schema otherwise.
///
/// With bare keys (`gemma4`), objects, arrays and strings are spelt as the family spells them as
/// far as a schema lists what is in them by `properties`, `required`, `items`, their
/// counts, `anyOf` and references; further properties do not come there. An object or array of
/// which a schema says nothing is spelt so with whatever is in it, too. Other values stand as JSON,
/// in whose strings nothing like `,word:` comes: the parser would take it for a key.
///
/// ```
/// use fsm_index::{TokenId, VocabularyBuilder};
/// use response_parser::{Family, ResponseTemplate};
/// use serde_json::json;
/// use structural_tags::{Count, ResponseFormat};
///
/// let tools = [json!({"type": "function", "function": {
///     "name": "weather",
///     "parameters": {
///         "type": "object",
///         "properties": {"city": {"enum": ["Ulm", "Oslo"]}},
///         "required": ["city"],
///         "additionalProperties": false
///     }
/// }})];
/// // A tokenizer's vocabulary; here each byte is a token.
/// let mut vocabulary = VocabularyBuilder::new();
/// for byte in 0..=255u8 {
///     vocabulary.text(TokenId::new(byte.into()), [byte])?;
/// }
/// let vocabulary = vocabulary.build()?;
/// let format = ResponseFormat::named(Family::HERMES)?
///     .with_tools(&tools)?
///     .with_calls(Count::AT_LEAST_ONE)
///     .compile(&vocabulary)?;
/// let text = r#"Let me look.<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>"#;
/// assert!(format.is_match(text.as_bytes()));
/// assert!(!format.is_match(text.replace("Ulm", "Rome").as_bytes()));
/// let message = ResponseTemplate::of_family(Family::HERMES)?.parse(text)?;
/// assert_eq!(message["tool_calls"][0]["function"]["arguments"]["city"], "Ulm");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResponseFormat {
    pub(super) shape: Shape,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) calls: Count,
    reasoning: Reasoning,
    pub(super) answer: Option<Content>,
    pub(super) beside: Beside,
    pub(super) opening: Opening,
    pub(super) options: Options,
    /// The template that the shape was derived from; none for ready-made formats.
    template: Option<ResponseTemplate>,
}

/// Line feeds between the reasoning and what follows it, two at most because templates write so many.
const LINE_FEEDS: &str = "\n{0,2}";

/// The text that the prompt has begun already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Opening {
    /// Nothing.
    #[default]
    Nothing,
    /// The reasoning.
    Reasoning,
    /// The reasoning, and it has ended it.
    Answer,
    /// The content, where that stands between marks.
    Content,
}

/// The content of an answer with calls.
///
/// ```
/// use fsm_index::{TokenId, VocabularyBuilder};
/// use response_parser::Family;
/// use serde_json::json;
/// use structural_tags::{Beside, Count, ResponseFormat};
///
/// # let mut vocabulary = VocabularyBuilder::new();
/// # for byte in 0..=255u8 {
/// #     vocabulary.text(TokenId::new(byte.into()), [byte])?;
/// # }
/// # let vocabulary = vocabulary.build()?;
/// let required = ResponseFormat::named(Family::HERMES)?
///     .with_tools(&[json!({"name": "now"})])?
///     .with_calls(Count::AT_LEAST_ONE)
///     .with_beside(Beside::Nothing)
///     .compile(&vocabulary)?;
/// let call = r#"<tool_call>{"name": "now", "arguments": {}}</tool_call>"#;
/// assert!(required.is_match(call.as_bytes()));
/// assert!(!required.is_match(format!("Let me look.{call}").as_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Beside {
    /// Any, where the family's models write content beside calls.
    #[default]
    Text,
    /// None: calls are all of the answer, behind the reasoning. Up to two line feeds before them are no content, because
    /// the templates of some families write them (DeepSeek V3.2, GLM 4.5).
    Nothing,
}

impl ResponseFormat {
    /// A ready-made format, without tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the format cannot be a constraint.
    pub fn named(format: Family) -> Result<ResponseFormat, Error> {
        Ok(ResponseFormat::of(Shape::named(format)))
    }

    /// The format that a response template describes, without tools.
    ///
    /// A template with the fields of a ready-made format is that format. In others the anchors must
    /// be texts, or patterns that are texts with white space around them, alternatives, parts that
    /// may be missing and a group `name`; calls are JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the template has what cannot be turned into
    /// a constraint; the message says where, by JSON Pointer.
    ///
    /// ```
    /// use response_parser::ResponseTemplate;
    /// use serde_json::json;
    /// use structural_tags::{Count, ResponseFormat};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let template = ResponseTemplate::new(&json!({
    ///     "start_anchor": "<a>",
    ///     "defaults": {"role": "assistant"},
    ///     "fields": {"thinking": {"open": "[", "close": "]"}, "content": {}}
    /// }))?;
    /// let automaton = ResponseFormat::from_template(&template)?.with_calls(Count::NONE).compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"[Hm.]Hello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_template(template: &ResponseTemplate) -> Result<ResponseFormat, Error> {
        let json = template.json();
        if let Some(format) = Shape::is_ready_made(json) {
            return ResponseFormat::named(format);
        }
        let mut derived = ResponseFormat::of(Shape::of_template(json)?);
        derived.template = Some(template.clone());
        Ok(derived)
    }

    fn of(shape: Shape) -> ResponseFormat {
        ResponseFormat {
            shape,
            tools: Vec::new(),
            calls: Count::ANY,
            reasoning: Reasoning::FREE,
            answer: None,
            beside: Beside::Text,
            opening: Opening::Nothing,
            options: Options::default(),
            template: None,
        }
    }

    /// The same with tools, as chat templates take them: `{"function": {"name",
    /// "parameters"}}`, or the same without the wrapping.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Tool`]: one has no name, a name with other characters than
    /// ASCII letters, digits, `_`, `-` and `.`, or the name of another one.
    pub fn with_tools(mut self, tools: &[Value]) -> Result<ResponseFormat, Error> {
        self.tools = Vec::new();
        for tool in tools {
            if !depth::is_within(tool) {
                return Err(Error::new(ErrorKind::Tool, depth::refusal("a tool")));
            }
            let function = tool.get("function").unwrap_or(tool);
            let name = function
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            let wrong = if name.is_empty() || !name.chars().all(plain) {
                "its calls could not be told from markers; name it by ASCII letters, digits, `_`, `-` and `.`"
            } else if self.tools.iter().any(|known| known.name == name) {
                "there is another one of that name"
            } else {
                let parameters = match function.get("parameters") {
                    None | Some(Value::Null) => {
                        json!({"type": "object", "properties": {}, "additionalProperties": false})
                    }
                    Some(parameters) => parameters.clone(),
                };
                self.tools.push(ToolSpec {
                    name: name.to_owned(),
                    parameters,
                });
                continue;
            };
            return Err(Error::new(
                ErrorKind::Tool,
                format!("the tool {name:?} cannot be offered: {wrong}"),
            ));
        }
        Ok(self)
    }

    /// The same with another number of calls; any unless told.
    #[must_use]
    pub fn with_calls(mut self, calls: Count) -> ResponseFormat {
        self.calls = calls;
        self
    }

    /// The same with other reasoning; free unless told. Formats without
    /// reasoning have none in any case.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: Reasoning) -> ResponseFormat {
        self.reasoning = reasoning;
        self
    }

    /// The same with content that is bound as a whole. Calls come instead of it, if they may come.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate};
    /// use serde_json::json;
    /// use structural_tags::{Content, Reasoning, ResponseFormat};
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let answer = Content::schema(&json!({"type": "boolean"}))?;
    /// let format = ResponseFormat::named(Family::HERMES)?.with_answer(answer).with_reasoning(Reasoning::ABSENT);
    /// let automaton = format.compile(&vocabulary)?;
    /// assert!(automaton.is_match(b"true") && !automaton.is_match(b"Yes."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_answer(mut self, answer: Content) -> ResponseFormat {
        self.answer = Some(answer);
        self
    }

    /// The same with other content beside calls; any unless told. Content that is bound stands instead of calls in any case.
    #[must_use]
    pub fn with_beside(mut self, beside: Beside) -> ResponseFormat {
        self.beside = beside;
        self
    }

    /// The same with other options for the tools' schemas.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> ResponseFormat {
        self.options = options;
        self
    }

    /// The markers around the format's reasoning; none if it has no reasoning.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate};
    /// use structural_tags::ResponseFormat;
    ///
    /// let format = ResponseFormat::named(Family::HERMES)?;
    /// assert!(format.reasoning_markers().is_some_and(|(open, _)| open.contains("<think>")));
    /// # Ok::<(), structural_tags::Error>(())
    /// ```
    pub fn reasoning_markers(&self) -> Option<(&str, &str)> {
        let marks = self.shape.writes.reasoning.as_ref()?;
        Some((&marks.open, &marks.close))
    }

    /// The same where the prompt has begun the answer.
    #[must_use]
    pub fn with_opening(mut self, opening: Opening) -> ResponseFormat {
        self.opening = opening;
        self
    }

    /// Returns the part of the answer that the prompt has begun already.
    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// The same behind that prompt: some chat templates open the reasoning, or
    /// open and close it.
    ///
    /// ```
    /// use response_parser::{Family, ResponseTemplate};
    /// use structural_tags::ResponseFormat;
    ///
    /// # let mut vocabulary = fsm_index::VocabularyBuilder::new();
    /// # for byte in 0..=255u8 {
    /// #     vocabulary.text(fsm_index::TokenId::new(byte.into()), [byte])?;
    /// # }
    /// # let vocabulary = vocabulary.build()?;
    /// let format = ResponseFormat::named(Family::HERMES)?.with_prompt("<|im_start|>assistant\n<think>\n");
    /// assert!(format.compile(&vocabulary)?.is_match(b"Hm.\n</think>\n\nHello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_prompt(self, prompt: &str) -> ResponseFormat {
        let begun = match &self.template {
            // A prompt that cannot be searched has begun nothing that is known.
            Some(template) => template.behind_anchor(prompt).ok().flatten(),
            None => {
                let anchors = self.shape.anchors.iter();
                let ends = anchors.filter_map(|a| Some(prompt.rfind(a.as_str())? + a.len()));
                ends.max().map(|end| &prompt[end..])
            }
        };
        let begun = begun.unwrap_or_default();
        let last = |mark: &str| begun.rfind(mark);
        let reasoning = self.shape.writes.reasoning.as_ref();
        let marks = reasoning.map(|marks| (last(&marks.open), last(&marks.close)));
        let mut opening = match marks {
            Some((Some(open), Some(close))) if close > open => Opening::Answer,
            Some((None, Some(_))) => Opening::Answer,
            Some((Some(_), _)) => Opening::Reasoning,
            _ => Opening::Nothing,
        };
        if let Some(Said::Between(open, _)) = &self.shape.writes.content {
            let mut marks = open.beginnings().into_iter();
            if marks.any(|mark| begun.ends_with(&mark)) {
                opening = Opening::Content;
            }
        }
        self.with_opening(opening)
    }

    /// The automaton for a vocabulary: its special tokens are the markers where
    /// it has them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: there are tools and calls, and the format is
    /// one whose calls cannot be bound; a tool's schema is refused (the message
    /// names the tool, the keyword and its place); the format writes fewer
    /// calls in a turn than are asked for; a limit is exceeded.
    /// [`ErrorKind::Tool`]: calls are asked for, and there is no tool; a response
    /// template does not read a tool's name as one.
    /// [`ErrorKind::InvalidParameter`]: the count is contradictory.
    pub fn compile(&self, vocabulary: &Vocabulary) -> Result<TagAutomaton, Error> {
        self.calls.check()?;
        let (grammar, rules) = self.grammar()?;
        if let Some(template) = &self.template {
            self.check_names(template)?;
        }
        build::build_rules(&grammar, &rules, vocabulary)
    }

    /// Has the template read a shortest call of each tool: a pattern may take other
    /// names than a tool's for one.
    fn check_names(&self, template: &ResponseTemplate) -> Result<(), Error> {
        if self.calls.most == Some(0) {
            return Ok(());
        }
        for tool in &self.tools {
            let alone = ResponseFormat {
                tools: vec![tool.clone()],
                calls: Count::ONE,
                reasoning: Reasoning::ABSENT,
                answer: None,
                opening: Opening::Answer,
                ..self.clone()
            };
            let (grammar, rules) = alone.grammar()?;
            let text = build::shortest(&grammar, &rules)?;
            let text = String::from_utf8_lossy(&text);
            let read = template.parse_turn(&Turn::after(""), &text);
            let called = |call: &Value| call["function"]["name"] == tool.name;
            let calls = |value: &Value| match value.as_array() {
                Some(calls) => calls.iter().any(called),
                None => called(value),
            };
            let fields = read.as_ref().ok().and_then(Value::as_object);
            if !fields.is_some_and(|fields| fields.values().any(calls)) {
                let what = "the response template does not read this call of it as one";
                let error = Error::new(ErrorKind::Tool, format!("{what}: {text}"));
                return Err(of_tool(tool, error));
            }
        }
        Ok(())
    }

    #[cold]
    pub(super) fn refused(&self, what: impl std::fmt::Display) -> Error {
        Error::new(
            ErrorKind::Constraint,
            format!("the format {:?}: {what}", self.shape.name),
        )
    }

    /// The grammar of the answer, and the rules that it calls.
    fn grammar(&self) -> Result<(Node, Vec<Node>), Error> {
        let writes = &self.shape.writes;
        let mut nodes = Vec::new();
        if let Some(marks) = &writes.reasoning {
            let (open, close) = (&marks.open, &marks.close);
            let reasoning = match self.opening {
                Opening::Nothing => reasoning_node(open, close, self.reasoning, &[]),
                Opening::Reasoning => Some(Node::Seq(vec![
                    Node::Free(vec![close.clone()], self.reasoning.limit),
                    Node::marker(close),
                ])),
                Opening::Answer | Opening::Content => None,
            };
            let before = match self.opening {
                Opening::Nothing => spell(&marks.before, &[])?,
                _ => Node::text(""),
            };
            let between = spell(&writes.between, &[])?;
            nodes.extend(reasoning.map(|node| match node {
                Node::Optional(node) => Node::optional(Node::Seq(vec![before, *node, between])),
                other => Node::Seq(vec![before, other, between]),
            }));
        }
        let mut rules = Vec::new();
        nodes.push(self.body(&mut rules)?);
        Ok((Node::Seq(nodes), rules))
    }

    /// Content and calls.
    fn body(&self, rules: &mut Vec<Node>) -> Result<Node, Error> {
        let Count { least, most } = self.calls;
        let wanted = most != Some(0) && (!self.tools.is_empty() || least > 0);
        let closed = self.shape.closed();
        let alone = match &self.shape.writes.calls {
            Calls::Each(each) => each.alone.as_deref(),
            _ => None,
        };
        let is_bare = self.shape.writes.content == Some(Said::Bare);
        let calls = match wanted {
            true if is_bare && self.calls_alone() => {
                let before = Node::regex(LINE_FEEDS)?;
                Some(Node::Seq(vec![before, self.calls(&closed, rules)?]))
            }
            true => Some(self.calls(&closed, rules)?),
            false => None,
        };
        let content = self.content(&closed, alone)?;
        let Some(calls) = calls else {
            return content
                .ok_or_else(|| self.refused("it has no content, and there are no calls"));
        };
        // Free text may stand before calls; a bound answer stands instead of
        // them, as content in markers of its own does.
        let free =
            (!self.calls_alone() && is_bare && alone.is_none()).then(|| Node::Free(closed, None));
        Ok(match (free, content, least) {
            (Some(free), _, 0) => Node::Seq(vec![free, Node::optional(calls)]),
            (Some(free), _, _) => Node::Seq(vec![free, calls]),
            (None, Some(content), 0) => Node::Alt(vec![content, calls]),
            (None, _, _) => calls,
        })
    }

    /// Tells whether nothing stands beside calls.
    pub(super) fn calls_alone(&self) -> bool {
        self.answer.is_some() || self.beside == Beside::Nothing
    }

    /// Content without calls; `None` if the format has none.
    fn content(&self, closed: &[String], alone: Option<&str>) -> Result<Option<Node>, Error> {
        let Some(said) = &self.shape.writes.content else {
            return match self.answer {
                None => Ok(None),
                Some(_) => Err(self.refused("it has no content that an answer could be")),
            };
        };
        let text = match (&self.answer, alone) {
            (Some(answer), _) => {
                let answer = answer.node(closed)?;
                match said {
                    // Between reasoning and answer.
                    Said::Bare => Node::Seq(vec![Node::regex(LINE_FEEDS)?, answer]),
                    Said::Between(..) => answer,
                }
            }
            (None, Some(call)) => not_a_call(call, closed)?,
            (None, None) => Node::Free(closed.to_vec(), None),
        };
        Ok(Some(match said {
            Said::Bare => text,
            Said::Between(open, close) => self.message(open, text, close)?,
        }))
    }

    /// A text between marks, of which the prompt may have written the first.
    pub(super) fn message(
        &self,
        open: &Spelling,
        text: Node,
        close: &Spelling,
    ) -> Result<Node, Error> {
        let open = match self.opening {
            Opening::Content => Node::text(""),
            _ => spell(open, &[])?,
        };
        Ok(Node::Seq(vec![open, text, spell(close, &[])?]))
    }
}
