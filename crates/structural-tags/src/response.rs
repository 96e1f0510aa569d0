//! A whole answer in a family's format as a constraint.

use fsm_index::Vocabulary;
use response_parser::{Family, ResponseTemplate, Turn};
use schema_regex::Options;
use serde_json::{Value, json};

use super::build::{self, Node, dfa};
use super::loose::Loose;
use super::parts::Quiet;
use super::shapes::{CallBody, CallObject, Calls, Each, Shape};
use super::whole::Whole;
use super::{Content, Count, Reasoning, TagAutomaton, compile_schema, escape, reasoning_node};
use crate::{Error, ErrorKind};
use python_compat::depth;

/// How a model family writes an answer, with tools and an answer's schema
/// bound in it: what is generated is what the format's parser reads.
///
/// Reasoning, content and calls come in the order and the spelling in which
/// the family's models write them; every call is of a tool on offer, and its
/// arguments obey the tool's schema.
///
/// | format | calls |
/// |---|---|
/// | `hermes`, `smollm3`, `deepseek-v3`, `deepseek-v3.1`, `kimi-k2`, `mistral-v11` | any number, after content |
/// | `mistral`, `cohere`, `phi4-mini` | any number, in one list |
/// | `qwen3-coder`, `glm4`, `minimax-m2` | any number; arguments one by one, see below |
/// | `llama3`, `harmony` | one in a turn |
/// | `gemma4` | any number, after content; keys without quotes, strings between `<\|"\|>` |
/// | `gemma` | refused: the family has no form for calls |
///
/// Where arguments stand one by one as text, a tool's schema must be an object
/// of `properties` with `required` and nothing else, and further properties do
/// not come. A value is JSON; of the type string it may also stand without
/// quotes, if no parser would take it for other JSON.
///
/// In `gemma4`, objects, arrays and strings are spelt as the family spells them as
/// far as a schema lists what is in them by `properties`, `required`, `items`, their
/// counts, `anyOf` and references; further properties do not come there. What it
/// says otherwise stands as JSON, in whose strings nothing like `,word:` comes: the
/// parser would take it for a key.
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
    tools: Vec<ToolSpec>,
    calls: Count,
    reasoning: Reasoning,
    answer: Option<Content>,
    opening: Opening,
    pub(super) options: Options,
    /// What the shape was derived from; none for ready-made formats.
    template: Option<ResponseTemplate>,
}

/// What the prompt has begun already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Opening {
    /// Nothing.
    #[default]
    Nothing,
    /// The reasoning.
    Reasoning,
    /// The reasoning, and it has ended it.
    Answer,
}

#[derive(Clone, Debug)]
pub(super) struct ToolSpec {
    pub(super) name: String,
    pub(super) parameters: Value,
}

impl ResponseFormat {
    /// A ready-made format, without tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the format cannot be a constraint.
    pub fn named(format: Family) -> Result<ResponseFormat, Error> {
        Shape::named(format).map(ResponseFormat::of)
    }

    /// The format that a response template describes, without tools.
    ///
    /// A template with the fields of a ready-made format is that format. Of
    /// others the anchors must be texts, or patterns that are texts with white
    /// space around them, alternatives, parts that may be missing and a group
    /// `name`; calls are JSON.
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

    /// The same with content that is bound as a whole. Where calls may come
    /// they come instead of it.
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
        let (open, close) = self.shape.reasoning.as_ref()?;
        Some((open, close))
    }

    /// The same where the prompt has begun the answer.
    #[must_use]
    pub fn with_opening(mut self, opening: Opening) -> ResponseFormat {
        self.opening = opening;
        self
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
        let Some((open, close)) = &self.shape.reasoning else {
            return self;
        };
        let begun = match &self.template {
            // What cannot be searched has begun nothing that is known.
            Some(template) => template.behind_anchor(prompt).ok().flatten(),
            None => {
                let anchors = self.shape.anchors.iter();
                let ends = anchors.filter_map(|a| Some(prompt.rfind(a.as_str())? + a.len()));
                ends.max().map(|end| &prompt[end..])
            }
        };
        let begun = begun.unwrap_or_default();
        let opening = match (begun.rfind(open.as_str()), begun.rfind(close.as_str())) {
            (Some(open), Some(close)) if close > open => Opening::Answer,
            (None, Some(_)) => Opening::Answer,
            (Some(_), _) => Opening::Reasoning,
            (None, None) => Opening::Nothing,
        };
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
        let grammar = self.grammar()?;
        if let Some(template) = &self.template {
            self.check_names(template)?;
        }
        build::build(&grammar, vocabulary)
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
            let text = build::shortest(&alone.grammar()?)?;
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
    fn refused(&self, what: impl std::fmt::Display) -> Error {
        Error::new(
            ErrorKind::Constraint,
            format!("the format {:?}: {what}", self.shape.name),
        )
    }

    fn grammar(&self) -> Result<Node, Error> {
        let shape = &self.shape;
        let mut nodes = Vec::new();
        if let Some((open, close)) = &shape.reasoning {
            let reasoning = match self.opening {
                Opening::Nothing => reasoning_node(open, close, self.reasoning, &[]),
                Opening::Reasoning => Some(Node::Seq(vec![
                    Node::Free(vec![close.clone()], self.reasoning.limit),
                    Node::marker(close),
                ])),
                Opening::Answer => None,
            };
            let between = Node::marker(&shape.between);
            nodes.extend(reasoning.map(|node| match node {
                Node::Optional(node) => Node::optional(Node::Seq(vec![*node, between])),
                other => Node::Seq(vec![other, between]),
            }));
        }
        nodes.push(self.body()?);
        Ok(Node::Seq(nodes))
    }

    /// Content and calls.
    fn body(&self) -> Result<Node, Error> {
        let Count { least, most } = self.calls;
        let wanted = most != Some(0) && (!self.tools.is_empty() || least > 0);
        let mut closed = self.shape.closed.clone();
        closed.push(self.shape.section_open().trim_end().to_owned());
        let mut alone = None;
        match &self.shape.calls {
            Calls::Each(each) => {
                alone = each.alone;
                let open = each.open.split("{name}").next().unwrap_or_default();
                closed.push(open.trim_end().to_owned());
            }
            Calls::List { open, .. } => closed.push(open.clone()),
            Calls::Refused(_) => {}
        }
        closed.retain(|marker| !marker.is_empty());
        closed.sort();
        closed.dedup();
        let calls = match wanted {
            true => Some(self.calls()?),
            false => None,
        };
        let content = self.content(&closed, alone)?;
        let Some(calls) = calls else {
            return content
                .ok_or_else(|| self.refused("it has no content, and there are no calls"));
        };
        // Free text may stand before calls; a bound answer stands instead of
        // them, as content in markers of its own does.
        let free = match (&self.answer, &self.shape.content, alone) {
            (None, None, None) if self.shape.has_content => Some(Node::Free(closed, None)),
            _ => None,
        };
        Ok(match (free, content, least) {
            (Some(free), _, 0) => Node::Seq(vec![free, Node::optional(calls)]),
            (Some(free), _, _) => Node::Seq(vec![free, calls]),
            (None, Some(content), 0) => Node::Alt(vec![content, calls]),
            (None, _, _) => calls,
        })
    }

    /// Content without calls; `None` if the format has none.
    fn content(
        &self,
        closed: &[String],
        alone: Option<&'static str>,
    ) -> Result<Option<Node>, Error> {
        if !self.shape.has_content {
            return match self.answer {
                None => Ok(None),
                Some(_) => Err(self.refused("it has no content that an answer could be")),
            };
        }
        let text = match (&self.answer, alone) {
            (Some(answer), _) => {
                let answer = answer.node(closed)?;
                match self.shape.content {
                    // Between reasoning and answer.
                    None => Node::Seq(vec![Node::regex("\n{0,2}")?, answer]),
                    Some(_) => answer,
                }
            }
            (None, Some(call)) => {
                Node::Quiet(Quiet::except(&dfa(&format!("{call}(?s:.)*"))?, closed)?)
            }
            (None, None) => Node::Free(closed.to_vec(), None),
        };
        Ok(Some(match &self.shape.content {
            None => text,
            Some((open, close)) => Node::Seq(vec![Node::marker(open), text, Node::marker(close)]),
        }))
    }

    /// All calls of a turn.
    fn calls(&self) -> Result<Node, Error> {
        if self.tools.is_empty() {
            return Err(Error::new(
                ErrorKind::Tool,
                "calls are asked for, and there is no tool to call",
            ));
        }
        let Count { least, most } = self.calls;
        let (least, most) = (least.max(1), most);
        match &self.shape.calls {
            Calls::Refused(why) => Err(self.refused(format!("its calls cannot be bound: {why}"))),
            Calls::Each(each) => {
                let most = match (each.most, most) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                if most.is_some_and(|most| least > most) {
                    return Err(self.refused(format!(
                        "it has one call in a turn, and {least} are asked for"
                    )));
                }
                let call = self.alternatives(|tool| self.call(each, tool))?;
                let more = Node::Seq(vec![Node::text(&each.separator), call.clone()]);
                let more = Node::Repeat(Box::new(more), least - 1, most.map(|most| most - 1));
                let (open, close) = &each.section;
                Ok(Node::Seq(vec![
                    Node::marker(open),
                    call,
                    more,
                    Node::marker(close),
                ]))
            }
            Calls::List { open, close, call } => {
                let mut markers = vec![close.clone()];
                if close.is_empty() {
                    markers = self.shape.closed.clone();
                }
                markers.retain(|marker| !marker.is_empty());
                let one = self.alternatives(|tool| self.object(call, tool, &markers))?;
                let more = Node::Seq(vec![Node::regex(", ?")?, one.clone()]);
                Ok(Node::Seq(vec![
                    Node::marker(open),
                    Node::regex("[ \n]?\\[")?,
                    one,
                    Node::Repeat(Box::new(more), least - 1, most.map(|most| most - 1)),
                    Node::regex("\\][ \n]?")?,
                    Node::marker(close),
                ]))
            }
        }
    }

    fn alternatives(&self, one: impl Fn(&ToolSpec) -> Result<Node, Error>) -> Result<Node, Error> {
        self.tools
            .iter()
            .map(one)
            .collect::<Result<_, _>>()
            .map(Node::Alt)
    }

    /// One call of a tool.
    fn call(&self, each: &Each, tool: &ToolSpec) -> Result<Node, Error> {
        let mut nodes = Vec::new();
        let open = each.open.replace("{name}", &tool.name);
        for (at, piece) in open.split("{index}").enumerate() {
            if at > 0 {
                nodes.push(Node::regex("[0-9]{1,3}")?);
            }
            nodes.push(Node::marker(piece));
        }
        match &each.body {
            CallBody::Object(object) => {
                let line = || Node::optional(Node::text("\n"));
                let has_line = !each.open.is_empty();
                if has_line {
                    nodes.push(line());
                }
                nodes.push(self.object(object, tool, &each.closes)?);
                if has_line {
                    nodes.push(line());
                }
            }
            CallBody::Arguments => nodes.push(self.arguments(tool, &each.closes)?),
            CallBody::Loose { quotes } => {
                let whole = Whole {
                    schema: &tool.parameters,
                    options: &self.options,
                };
                let arguments = Loose::new(quotes, &each.closes, whole).arguments();
                nodes.push(arguments.map_err(|error| of_tool(tool, error))?);
            }
            CallBody::Each {
                open,
                close,
                marker,
            } => {
                let mut markers = each.closes.clone();
                markers.push((*marker).to_owned());
                nodes.extend(self.properties(tool, open, close, &markers)?);
            }
        }
        nodes.push(Node::marker(&each.close));
        Ok(Node::Seq(nodes))
    }

    /// A call as an object of JSON.
    fn object(
        &self,
        keys: &CallObject,
        tool: &ToolSpec,
        markers: &[String],
    ) -> Result<Node, Error> {
        let mut head = "\\{".to_owned();
        if let Some(id) = keys.id {
            head.push_str(&format!("{}: ?\"[0-9]{{1,4}}\", ?", quoted(id)));
        }
        let (name, value) = (quoted(&keys.name), quoted(&tool.name));
        head.push_str(&format!(
            "{name}: ?{value}, ?{}: ?",
            quoted(&keys.arguments)
        ));
        Ok(Node::Seq(vec![
            Node::regex(&head)?,
            self.arguments(tool, markers)?,
            Node::text("}"),
        ]))
    }

    fn arguments(&self, tool: &ToolSpec, markers: &[String]) -> Result<Node, Error> {
        let automaton = compile_schema(&tool.parameters, &self.options)
            .map_err(|error| of_tool(tool, error))?;
        Ok(Node::Json(automaton, markers.to_vec()))
    }
}

/// A string of JSON as a regular expression.
fn quoted(text: &str) -> String {
    escape(&Value::from(text).to_string())
}

/// The error, of a tool.
#[cold]
pub(super) fn of_tool(tool: &ToolSpec, error: Error) -> Error {
    Error::with_source(
        error.kind(),
        format!("the tool {:?}: {error}", tool.name),
        error,
    )
}
