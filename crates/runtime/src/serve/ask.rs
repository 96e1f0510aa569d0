//! A request for texts, whichever door it came through. For example, a chat with two tools becomes
//! a prompt, a constraint, and the way in which the answer is read.

use std::sync::Arc;

use constraint::{Constraint, Description};
use response_parser::{Family, Names, Pieces, ResponseTemplate};
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::pool::Job;
use super::reply::{AnswerForm, ContentRule, FamilyForm};
use super::server::ServerState;
use super::tool::{CallChoice, OfferedTool, ToolKind};
use crate::chat::{Chat, chatml, with_own_system};
use crate::generate::{Explanations, ForcedTokens, LogProbabilities, Prompt, Request};
use crate::sampling::SamplingConfig;
use crate::tags::{Beside, Count, Reasoning, ResponseFormat};
use crate::tokenizer::Surround;

/// The text that a model continues.
#[derive(Clone, Debug)]
pub(super) enum AskedPrompt {
    /// Messages, as chat templates take them.
    Chat(Vec<Value>),
    Text(String),
    Tokens(Vec<u32>),
}

/// The rule for an answer that is no call.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// The rule.
    pub(super) description: Description,
    /// The member of the request that holds it.
    pub(super) param: &'static str,
}

/// The settings of the sampling, and the numbers of texts and tokens.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) sampling: SamplingConfig,
    pub(super) texts: usize,
    pub(super) max_tokens: Option<usize>,
    pub(super) min_tokens: usize,
    pub(super) stop: Vec<String>,
    pub(super) logit_bias: Vec<(u32, f32)>,
    /// The number of alternatives for each token, if probabilities are asked for.
    pub(super) log_probabilities: Option<usize>,
    /// True for the page, which shows each step.
    pub(super) steps: bool,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) asked: AskedPrompt,
    pub(super) tools: Vec<OfferedTool>,
    pub(super) choice: CallChoice,
    pub(super) parallel: bool,
    /// False for a model that shall not reason.
    pub(super) reasons: bool,
    pub(super) bound: Option<Bound>,
    /// Variables of the chat template.
    pub(super) variables: Map<String, Value>,
    pub(super) settings: Settings,
}

/// Texts that can be queued, and the way in which they are read.
pub(super) struct Prepared {
    pub(super) jobs: Vec<Job>,
    pub(super) reading: Arc<AnswerForm>,
}

/// The number of alternatives that the page shows for each token: as many as fit beside the text.
const SHOWN: usize = 8;

impl Ask {
    /// Writes the prompt and compiles the constraint. It may take long, and sleeps if another
    /// request compiles the same.
    pub(super) fn prepare(&self, server: &ServerState) -> Result<Prepared, ApiError> {
        let (prompt, written) = self.prompt(server)?;
        let context = server.context;
        if prompt.len() >= context {
            let message = format!(
                "the prompt has {} tokens, and the model's context {context}, in which the answer must fit too",
                prompt.len()
            );
            return Err(ApiError::too_long(self.asked.param(), message));
        }
        let (constraint, reading) = self.bind(server, &written)?;
        let settings = &self.settings;
        let room = context - prompt.len();
        let most = settings.max_tokens.unwrap_or(server.config.max_tokens);
        let mut request = Request::new(Prompt::Tokens(prompt))
            .with_max_tokens(most.min(room))
            .with_min_tokens(settings.min_tokens)
            .with_stop_strings(settings.stop.iter().cloned())
            .with_logit_bias(settings.logit_bias.clone());
        if let Some(listed) = settings.log_probabilities {
            // The model has not been asked about tokens that are appended.
            request = request
                .with_log_probabilities(LogProbabilities::Compute)
                .with_forced(ForcedTokens::Draw)
                .with_show_probabilities(listed);
        }
        if settings.steps {
            request = request
                .with_log_probabilities(LogProbabilities::Compute)
                .with_explanations(Explanations::Give)
                .with_show_probabilities(SHOWN);
        }
        let jobs = (0..settings.texts as u64).map(|at| {
            let mut sampling = settings.sampling.clone();
            sampling.seed = sampling.seed.wrapping_add(at);
            Job::Generate {
                request: Box::new(request.clone().with_sampling(sampling)),
                constraint: constraint.clone(),
            }
        });
        Ok(Prepared {
            jobs: jobs.collect(),
            reading: Arc::new(reading),
        })
    }

    /// The prompt's tokens, and its text.
    fn prompt(&self, server: &ServerState) -> Result<(Vec<u32>, String), ApiError> {
        let encode = |text: &str, surround| {
            let tokens = server.tokenizer.encode(text, surround);
            tokens.map_err(|error| ApiError::invalid(self.asked.param(), error.to_string()))
        };
        let messages = match &self.asked {
            AskedPrompt::Tokens(tokens) => return Ok((tokens.clone(), String::new())),
            AskedPrompt::Text(text) => return Ok((encode(text, Surround::Add)?, text.clone())),
            AskedPrompt::Chat(messages) => messages,
        };
        if server.chat.is_empty() {
            return Err(ApiError::invalid(
                "messages",
                "the model has no chat template, so it is not known how to write a conversation for it; \
                 /v1/completions takes a text",
            ));
        }
        let schema = self.bound.as_ref().and_then(Bound::schema);
        let schema = schema.filter(|_| server.config.schema_in_prompt);
        let plain = self.chat(server, messages, None)?;
        if let Some(schema) = schema {
            let written = self.chat(server, messages, Some(&chatml::schema_system(&schema)))?;
            let tokens = encode(&written, Surround::Omit)?;
            let most = self.settings.max_tokens.unwrap_or(0);
            // A schema that leaves no room for the answer binds it without being shown.
            if tokens.len().saturating_add(most.max(server.context / 4)) <= server.context {
                return Ok((tokens, written));
            }
        }
        Ok((encode(&plain, Surround::Omit)?, plain))
    }

    fn chat(
        &self,
        server: &ServerState,
        messages: &[Value],
        system: Option<&str>,
    ) -> Result<String, ApiError> {
        let (system, messages) = with_own_system(system.map(str::to_owned), messages);
        let tools: Vec<Value> = self.tools.iter().map(OfferedTool::shown).collect();
        let written =
            server
                .chat
                .prompt_with_variables(system.as_deref(), &tools, messages, &self.variables);
        written.map_err(|error| ApiError::of_generation(&error))
    }

    /// The constraint, and the way in which the answer is read.
    fn bind(
        &self,
        server: &ServerState,
        prompt: &str,
    ) -> Result<(Option<Constraint>, AnswerForm), ApiError> {
        let plain = || Ok((self.whole(server)?, AnswerForm::Plain(self.rule())));
        let AskedPrompt::Chat(messages) = &self.asked else {
            return plain();
        };
        if let Some((tool, description)) = self.forced_input() {
            let refused =
                |error: Arc<constraint::Error>| ApiError::invalid("tools", error.to_string());
            let constraint = server.constraint(&description).map_err(refused)?;
            return Ok((Some(constraint), AnswerForm::Input(tool)));
        }
        let speaks = !self.tools.is_empty() || server.chat.reasons(messages);
        if !speaks {
            return plain();
        }
        let mut chat = Chat::new(messages);
        let shown: Vec<Value> = self.tools.iter().map(OfferedTool::shown).collect();
        if !shown.is_empty() {
            chat = chat.with_tools(&shown);
        }
        let source = server.chat.source_for(&chat);
        let source = source.map_err(|error| ApiError::of_generation(&error))?;
        let family = match Family::of_chat_template(source) {
            Ok(family) => family,
            Err(_) if self.tools.is_empty() => {
                return plain();
            }
            Err(unknown) => return Err(ApiError::invalid("tools", unknown.to_string())),
        };
        let (format, bound) = self.format(server, family, prompt)?;
        let template = ResponseTemplate::builder()
            .with_names(Names::Offered)
            .with_pieces(Pieces::Arguments)
            .family(family);
        let template = template.map_err(|error| ApiError::server(error.to_string()))?;
        let reading = AnswerForm::Spoken(Box::new(FamilyForm {
            template,
            prompt: prompt.to_owned(),
            offered: Value::from(bound),
            specials: server.specials.clone(),
            rule: self.rule(),
            custom: self
                .tools
                .iter()
                .filter(|tool| tool.is_custom())
                .map(|tool| tool.name.clone())
                .collect(),
        }));
        let key = json!({
            "family": family.name(),
            "tools": reading.offered(),
            "calls": format!("{:?}", self.calls()),
            "reasons": self.reasons,
            "opening": format!("{:?}", format.opening()),
            "answer": self.bound.as_ref().map(|bound| &bound.description),
        });
        let param = match (&self.bound, self.tools.is_empty()) {
            (Some(bound), true) => bound.param,
            _ => "tools",
        };
        let compile = move || {
            let format = match &self.bound {
                None => format,
                Some(bound) => {
                    let automaton = server.compile(&bound.description)?;
                    let content = automaton.content()?.ok_or_else(|| {
                        constraint::Error::Description(format!(
                            "{} binds a whole text and no message with reasoning or calls; leave out \
                             `tools`, or give a schema, a regular expression or a choice",
                            bound.param
                        ))
                    })?;
                    format.with_answer(content)
                }
            };
            Ok(format.into())
        };
        let vocabulary = server.tokenizer.vocabulary();
        let constraint = server.cache.get(&key.to_string(), vocabulary, compile);
        let constraint = constraint.map_err(|error| ApiError::invalid(param, error.to_string()))?;
        Ok((Some(constraint), reading))
    }

    /// The rule for an answer without calls.
    fn rule(&self) -> ContentRule {
        match self.bound {
            _ if self.must_call() => ContentRule::Absent,
            Some(_) => ContentRule::Bound,
            None => ContentRule::None,
        }
    }

    /// Tells whether the answer must be a call.
    fn must_call(&self) -> bool {
        matches!(self.choice, CallChoice::Required | CallChoice::Named(_))
    }

    /// The number of calls in the answer.
    fn calls(&self) -> Count {
        let most = (!self.parallel).then_some(1);
        match &self.choice {
            CallChoice::None => Count::NONE,
            CallChoice::Named(_) => Count::ONE,
            CallChoice::Required => Count { least: 1, most },
            CallChoice::Auto => Count { least: 0, most },
        }
    }

    /// The format of an answer with calls, and the tools that it may call.
    fn format(
        &self,
        server: &ServerState,
        family: Family,
        prompt: &str,
    ) -> Result<(ResponseFormat, Vec<Value>), ApiError> {
        let refused = |error: crate::tags::Error| ApiError::invalid("tools", error.to_string());
        let offered: Vec<Value> = self
            .tools
            .iter()
            .filter(|tool| match &self.choice {
                CallChoice::None => false,
                CallChoice::Named(name) => *name == tool.name,
                CallChoice::Auto | CallChoice::Required => true,
            })
            .map(OfferedTool::bound)
            .collect::<Result<_, ApiError>>()?;
        let format = ResponseFormat::named(family).map_err(refused)?;
        let reasoning = match self.reasons {
            true => Reasoning::FREE,
            false => Reasoning::ABSENT,
        };
        let calls = match offered.is_empty() {
            true => Count::NONE,
            false => self.calls(),
        };
        let format = format
            .with_tools(&offered)
            .map_err(refused)?
            .with_calls(calls)
            .with_reasoning(reasoning)
            .with_options(server.config.options.clone())
            .with_prompt(prompt);
        // Text before a call that must come, which many models go on with, would leave the call the last few tokens.
        let beside = match self.must_call() {
            true => Beside::Nothing,
            false => Beside::Text,
        };
        Ok((format.with_beside(beside), offered))
    }

    /// The constraint of an answer that is nothing else.
    fn whole(&self, server: &ServerState) -> Result<Option<Constraint>, ApiError> {
        let Some(bound) = &self.bound else {
            return Ok(None);
        };
        let constraint = server.constraint(&bound.description);
        let constraint =
            constraint.map_err(|error| ApiError::invalid(bound.param, error.to_string()))?;
        Ok(Some(constraint))
    }

    /// The tool with a text as its input that the answer must be, and the rule for the text.
    fn forced_input(&self) -> Option<(String, Description)> {
        let tool = match (&self.choice, self.tools.as_slice()) {
            (CallChoice::Named(name), tools) => tools.iter().find(|tool| tool.name == *name)?,
            (CallChoice::Required, [only]) => only,
            _ => return None,
        };
        match &tool.kind {
            ToolKind::Custom(Some(description)) => Some((tool.name.clone(), description.clone())),
            _ => None,
        }
    }
}

impl AskedPrompt {
    /// The member of the request that holds it.
    pub(super) fn param(&self) -> &'static str {
        match self {
            AskedPrompt::Chat(_) => "messages",
            AskedPrompt::Text(_) | AskedPrompt::Tokens(_) => "prompt",
        }
    }
}

impl Bound {
    /// The schema, if it is one that says more than that there is an object.
    fn schema(&self) -> Option<Value> {
        match &self.description {
            Description::JsonSchema { schema, .. }
                if self.param != "response_format" || schema.len() > 20 =>
            {
                serde_json::from_str(schema).ok()
            }
            _ => None,
        }
    }
}

/// A call's arguments as chat templates take them: as an object, if their text is one.
pub(super) fn arguments(text: &str) -> Value {
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(object) => Value::Object(object),
        Err(_) => Value::from(text),
    }
}
