//! A model of this crate that answers an agent. For example, it writes the chat by the model's own
//! template, reads `<tool_call>` blocks back as calls, and hands the message to the agent.

use std::fmt;
use std::sync::Arc;

use fsm_index::{Fill, Guide, Index, IndexConfig};
use response_parser::{Family, ResponseTemplate};
use schema_regex::Options;
use serde_json::Value;

use super::{ChatModel, ModelRequest, ToolChoice};
use crate::chat::{Chat, ChatTemplates};
use crate::generate::{Flow, Prompt, Request, Session};
use crate::model::{LoadedModel, Model, Transformer};
use crate::tags::{Beside, Count, Reasoning, ResponseFormat};
use crate::tokenizer::Tokenizer;
use crate::tools::read_response;
use crate::{Error, ErrorKind};

/// A model with its tokenizer and chat templates as an agent's [`ChatModel`]:
/// messages and tools become a prompt, reasoning is free, calls are bound by the
/// tools' schemas, and what is generated is read back into a message.
///
/// Answers are complete within the tokens of the request: its budget is
/// [`TokenBudget::Complete`](crate::generate::TokenBudget::Complete) unless told.
///
/// A chat template that writes no tools is told of them in the system's turn, or, if
/// it knows none, before the first request; and shown the calls as the content of
/// the message.
///
/// ```
/// use serde_json::{Value, json};
/// use tokenmold::agent::{Agent, LocalModel};
/// use tokenmold::embedded;
/// use tokenmold::tools::{Tool, Tools};
///
/// let mut loaded = embedded::load()?;
/// let parameters = json!({
///     "type": "object", "properties": {"city": {"enum": ["Ulm", "Oslo"]}}, "required": ["city"],
///     "additionalProperties": false,
/// });
/// let weather = Tool::from_schema("weather", "Tells the weather.", parameters, |arguments: Value| {
///     Ok::<_, std::convert::Infallible>(json!(format!("{}: rain", arguments["city"])))
/// });
/// let model = LocalModel::new(&mut loaded)?;
/// let mut agent = Agent::new(model, Tools::from_iter([weather])).with_max_steps(2);
/// let reply = agent.reply(json!({"role": "user", "content": "Weather in Oslo?"}))?;
/// // Whatever the model said, each call obeyed its tool's schema.
/// assert!(agent.memory().iter().all(|message| !message["content"].to_string().contains("Error")));
/// # let _ = reply;
/// # Ok::<(), tokenmold::Error>(())
/// ```
pub struct LocalModel<'m, M: Model = Transformer> {
    session: Session<'m, M>,
    tokenizer: &'m Tokenizer,
    chat: &'m ChatTemplates,
    format: Family,
    template: ResponseTemplate,
    reasoning: Reasoning,
    options: Options,
    request: Request,
}

/// The most tokens of an answer, unless the caller says otherwise: a page of text, because a model
/// without an end would answer until its context is full.
const MAX_TOKENS: usize = 512;

impl<'m> LocalModel<'m> {
    /// A loaded model that writes as the markers in its chat template tell.
    ///
    /// # Errors
    ///
    /// There is no chat template (as [`ChatTemplates::source_for`]), or
    /// [`ErrorKind::Constraint`]: it has the markers of no ready-made format;
    /// [`LocalModel::of_parts`] takes one by name.
    pub fn new(loaded: &'m mut LoadedModel) -> Result<Self, Error> {
        let source = loaded.chat.source_for(&Chat::new(&[]))?;
        let format = Family::of_chat_template(source)
            .map_err(|unknown| Error::new(ErrorKind::Constraint, unknown.to_string()))?;
        Self::of_parts(&mut loaded.model, &loaded.tokenizer, &loaded.chat, format)
    }
}

impl<'m, M: Model> LocalModel<'m, M> {
    /// Any model, with what belongs to it and the format in which it writes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`]: the format cannot be read.
    pub fn of_parts(
        model: &'m mut M,
        tokenizer: &'m Tokenizer,
        chat: &'m ChatTemplates,
        format: Family,
    ) -> Result<Self, Error> {
        let request = Request::new(Prompt::Tokens(Vec::new())).with_max_tokens(MAX_TOKENS);
        Ok(Self {
            session: Session::new(model, tokenizer),
            tokenizer,
            chat,
            format,
            template: ResponseTemplate::of_family(format).map_err(unreadable)?,
            reasoning: Reasoning::FREE,
            options: Options::for_generation(),
            request,
        })
    }

    /// The same with other reasoning; free unless told.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// The same with other options for the tools' schemas; [`Options::for_generation`] unless
    /// told.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The same with another request, whose prompt does not matter: how many
    /// tokens, how they are chosen.
    #[must_use]
    pub fn with_request(mut self, request: Request) -> Self {
        self.request = request;
        self
    }
}

impl<M: Model> ChatModel for LocalModel<'_, M> {
    /// # Errors
    ///
    /// The template fails, a tool's schema is refused (the message names the tool,
    /// the keyword and its place), the tokens do not suffice for a shortest answer,
    /// or the model fails.
    fn answer(&mut self, request: &ModelRequest<'_>) -> Result<Value, Error> {
        let prompt = self
            .chat
            .prompt_with_tools(None, request.tools, request.messages)?;
        let named = |tool: &Value, name: &str| {
            let function = tool.get("function").unwrap_or(tool);
            function["name"] == name
        };
        let (bound, calls, beside): (Vec<Value>, Count, Beside) = match request.tool_choice {
            ToolChoice::Free => (request.tools.to_vec(), Count::ANY, Beside::Text),
            ToolChoice::None => (Vec::new(), Count::NONE, Beside::Text),
            ToolChoice::Named(name) => {
                let tools = request.tools.iter().filter(|tool| named(tool, name));
                (tools.cloned().collect(), Count::ONE, Beside::Nothing)
            }
        };
        let vocabulary = self.tokenizer.vocabulary();
        let automaton = ResponseFormat::named(self.format)?
            .with_tools(&bound)?
            .with_calls(calls)
            .with_beside(beside)
            .with_reasoning(self.reasoning)
            .with_options(self.options.clone())
            .with_prompt(&prompt)
            .compile(vocabulary)?;
        let lazy = IndexConfig {
            fill: Fill::Lazy,
            ..IndexConfig::default()
        };
        let index = Index::lazy(automaton, vocabulary, &lazy)?;
        let mut guide = Guide::new(Arc::new(index));
        let mut asked = self.request.clone();
        asked.prompt = Prompt::Chat(prompt.clone());
        let said = self
            .session
            .generate(&asked, Some(&mut guide), &mut |_| Flow::Continue)?;
        let text = self.tokenizer.decode_with_structure(&said.tokens);
        let read = read_response(&self.template, &prompt, &bound, &text);
        let mut message = read.map_err(unreadable)?;
        let tools = request.tools;
        if !tools.is_empty() && !self.chat.shows_tools(tools, request.messages)? {
            // The template writes nothing but content.
            message["content"] = text.into();
        }
        Ok(message)
    }
}

#[cold]
fn unreadable(error: response_parser::Error) -> Error {
    let message = format!("the answer cannot be read: {error}");
    Error::with_source(ErrorKind::Constraint, message, error)
}

impl<M: Model> fmt::Debug for LocalModel<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalModel")
            .field("format", &self.format)
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}
