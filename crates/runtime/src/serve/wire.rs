//! The requests of `/v1/chat/completions` and `/v1/completions` as they are sent. For example,
//! `{"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 64}`.
//!
//! Members that change nothing here (`user`, `metadata`) are taken and passed over by name; those
//! that would change the answer and cannot be followed are refused.

use std::collections::HashMap;

use constraint::{Description, GrammarOptions, TagOptions};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ask::{Bound, Settings};
use super::error::ApiError;
use super::server::ServerState;
use super::shapes;
use crate::grammar::Dialect;
use crate::sampling::SamplingConfig;

/// The request of a chat's next message.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ChatRequest {
    /// The model's name, as `/v1/models` lists it.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The messages: objects with `role` and `content`.
    #[schema(value_type = Vec<shapes::ChatMessage>, min_items = 1)]
    pub(super) messages: Vec<Value>,
    /// Tools of the types `function` and `custom`.
    #[serde(default)]
    #[schema(value_type = Option<Vec<shapes::ChatTool>>)]
    pub(super) tools: Option<Vec<Value>>,
    /// `auto`, `none`, `required`, or an object that names a tool or lists `allowed_tools`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::Choice>)]
    pub(super) tool_choice: Option<Value>,
    /// False for at most one call.
    #[serde(default)]
    pub(super) parallel_tool_calls: Option<bool>,
    /// `{"type": "text"}`, `json_object`, `json_schema` or `structural_tag`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::AnswerFormat>)]
    pub(super) response_format: Option<Box<RawValue>>,
    /// vLLM's: one of `json`, `regex`, `choice`, `grammar`, `structural_tag`, `json_object`.
    #[serde(default)]
    pub(super) structured_outputs: Option<StructuredOutputs>,
    /// The most tokens of the answer: it is whole within them if it is bound by a constraint.
    #[serde(default)]
    pub(super) max_completion_tokens: Option<usize>,
    /// The same by its old name.
    #[serde(default)]
    pub(super) max_tokens: Option<usize>,
    /// True for the probabilities of the answer's tokens.
    #[serde(default)]
    pub(super) logprobs: Option<bool>,
    /// The number of alternatives to each token, at most 20.
    #[serde(default)]
    pub(super) top_logprobs: Option<usize>,
    /// `none` for an answer without reasoning; another word changes nothing.
    #[serde(default)]
    pub(super) reasoning_effort: Option<String>,
    /// Variables of the model's chat template, such as `enable_thinking`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(super) chat_template_kwargs: Option<Map<String, Value>>,
}

/// The request of a text's continuation.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct TextRequest {
    /// The model's name, as `/v1/models` lists it.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// A text, a list of texts, a list of tokens or a list of such lists.
    #[schema(value_type = shapes::PromptTexts)]
    pub(super) prompt: Prompts,
    /// `json_schema` and the others, as of `/v1/chat/completions`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::AnswerFormat>)]
    pub(super) response_format: Option<Box<RawValue>>,
    /// vLLM's: one of `json`, `regex`, `choice`, `grammar`, `structural_tag`, `json_object`.
    #[serde(default)]
    pub(super) structured_outputs: Option<StructuredOutputs>,
    /// The most tokens of the text; 16 unless told.
    #[serde(default)]
    pub(super) max_tokens: Option<usize>,
    /// The number of alternatives whose probabilities are told, at most 20.
    #[serde(default)]
    pub(super) logprobs: Option<usize>,
    /// True if the prompt stands before the text.
    #[serde(default)]
    pub(super) echo: Option<bool>,
}

/// One prompt or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Prompts {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    Lists(Vec<Vec<u32>>),
}

/// The members of requests of both kinds.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(super) struct Common {
    /// The number of answers.
    #[serde(default)]
    pub(super) n: Option<usize>,
    /// The same seed gives the same answer.
    #[serde(default)]
    pub(super) seed: Option<i64>,
    /// A text or several that end the answer where they begin.
    #[serde(default)]
    #[schema(value_type = Option<shapes::Texts>)]
    pub(super) stop: Option<Stop>,
    /// The least tokens of the answer.
    #[serde(default)]
    pub(super) min_tokens: Option<usize>,
    /// Summands of the logits of tokens, by the token's number, from -100 to 100.
    #[serde(default)]
    pub(super) logit_bias: Option<HashMap<String, f32>>,
    /// 0 for the likeliest token; 1 unless told.
    #[serde(default)]
    pub(super) temperature: Option<f32>,
    /// Tokens that together have this probability.
    #[serde(default)]
    pub(super) top_p: Option<f32>,
    /// The number of likeliest tokens that are drawn from.
    #[serde(default)]
    pub(super) top_k: Option<i64>,
    /// Tokens at least so many times as probable as the likeliest.
    #[serde(default)]
    pub(super) min_p: Option<f32>,
    /// Above 1: tokens that were said before become less probable.
    #[serde(default)]
    pub(super) repetition_penalty: Option<f32>,
    /// Subtracted from a token's logit for each time that it was said in the answer; from -2 to 2.
    #[serde(default)]
    pub(super) frequency_penalty: Option<f32>,
    /// Subtracted from a token's logit if it was said in the answer; from -2 to 2.
    #[serde(default)]
    pub(super) presence_penalty: Option<f32>,
    /// True for an answer in pieces, as server-sent events.
    #[serde(default)]
    pub(super) stream: Option<bool>,
    /// `include_usage` adds the numbers of tokens at the end of a stream.
    #[serde(default)]
    pub(super) stream_options: Option<StreamOptions>,
}

/// The options of a stream.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(super) struct StreamOptions {
    /// True for a last piece with the numbers of tokens.
    #[serde(default)]
    pub(super) include_usage: Option<bool>,
}

/// True if a stream ends with the numbers of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamUsage {
    /// It does not.
    Omit,
    /// It does.
    Tell,
}

/// A number that may be left out, and the member of the request that holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) value: Option<usize>,
    pub(super) param: &'static str,
}

impl Number {
    pub(super) fn new(param: &'static str, value: Option<usize>) -> Number {
        Number { value, param }
    }
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Stop {
    One(String),
    Several(Vec<String>),
}

/// A constraint as vLLM's requests name it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StructuredOutputs {
    /// A JSON Schema, or its text.
    #[serde(default)]
    #[schema(value_type = Option<shapes::JsonOrText>)]
    json: Option<Box<RawValue>>,
    /// A regular expression for the whole answer.
    #[serde(default)]
    regex: Option<String>,
    /// Texts of which the answer is one.
    #[serde(default)]
    choice: Option<Vec<String>>,
    /// A grammar: GBNF, EBNF or Lark, whichever it looks like.
    #[serde(default)]
    grammar: Option<String>,
    /// True for any object.
    #[serde(default)]
    json_object: Option<bool>,
    /// A structural tag, or its text.
    #[serde(default)]
    #[schema(value_type = Option<shapes::JsonOrText>)]
    structural_tag: Option<Box<RawValue>>,
}

/// The body of `/v1/chat/completions`, for its description alone: `body::read` reads the two parts.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described")]
pub(super) struct ChatBody {
    #[schema(inline)]
    #[serde(flatten)]
    chat: ChatRequest,
    #[schema(inline)]
    #[serde(flatten)]
    common: Common,
}

/// The body of `/v1/completions`, for its description alone.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described")]
pub(super) struct TextBody {
    #[schema(inline)]
    #[serde(flatten)]
    text: TextRequest,
    #[schema(inline)]
    #[serde(flatten)]
    common: Common,
}

/// The constraint of a request, from either of the members that hold one.
pub(super) fn bound(
    format: Option<&RawValue>,
    structured: Option<&StructuredOutputs>,
) -> Result<Option<Bound>, ApiError> {
    let of_format = match format {
        Some(format) => response_format(format)?,
        None => None,
    };
    let of_structured = match structured {
        Some(structured) => Some(structured.bound()?),
        None => None,
    };
    match (of_format, of_structured) {
        (Some(_), Some(_)) => Err(ApiError::invalid(
            "structured_outputs",
            "`response_format` and `structured_outputs` both bind the answer; give one of them",
        )),
        (one, other) => Ok(one.or(other)),
    }
}

#[derive(Deserialize)]
struct FormatType {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Wrapped {
    json_schema: SchemaFormat,
}

#[derive(Deserialize)]
struct SchemaFormat {
    schema: Option<Box<RawValue>>,
}

/// The schema of any object, because `json_object` promises no more.
const OBJECT: &str = r#"{"type": "object"}"#;

/// A schema, by its text.
fn schema(text: impl Into<String>) -> Description {
    Description::JsonSchema {
        schema: text.into(),
        options: constraint::SchemaOptions::default(),
    }
}

/// Reads `response_format`, or the `format` of a text of `/v1/responses`, which has no wrapping.
pub(super) fn response_format(format: &RawValue) -> Result<Option<Bound>, ApiError> {
    /// It is named twice because most kinds have no member of their own.
    const PARAM: &str = "response_format";
    let wrong = |error: serde_json::Error| ApiError::invalid(PARAM, error.to_string());
    if format.get() == "null" {
        return Ok(None);
    }
    let FormatType { kind } = serde_json::from_str(format.get()).map_err(wrong)?;
    let (param, description) = match kind.as_str() {
        "text" => return Ok(None),
        "json_object" => (PARAM, schema(OBJECT)),
        "json_schema" => {
            let wrapped: Result<Wrapped, _> = serde_json::from_str(format.get());
            let bare = || serde_json::from_str(format.get());
            let inner: SchemaFormat = match wrapped {
                Ok(wrapped) => wrapped.json_schema,
                Err(_) => bare().map_err(wrong)?,
            };
            let Some(text) = inner.schema else {
                let message = "there is no `schema` in `json_schema`";
                return Err(ApiError::invalid("response_format.json_schema", message));
            };
            ("response_format.json_schema.schema", schema(text.get()))
        }
        "structural_tag" => {
            let tag = format.get().to_owned();
            let options = TagOptions::default();
            (PARAM, Description::StructuralTag { tag, options })
        }
        other => {
            let message = format!(
                "the type {other:?} is none of \"text\", \"json_object\", \"json_schema\", \"structural_tag\""
            );
            return Err(ApiError::invalid("response_format.type", message));
        }
    };
    Ok(Some(Bound { description, param }))
}

/// A JSON value, or the text of one.
fn json_or_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

impl StructuredOutputs {
    pub(super) fn bound(&self) -> Result<Bound, ApiError> {
        let mut all = Vec::new();
        if let Some(json) = &self.json {
            all.push(("structured_outputs.json", schema(json_or_text(json))));
        }
        if let Some(pattern) = &self.regex {
            let pattern = pattern.clone();
            all.push(("structured_outputs.regex", Description::Regex { pattern }));
        }
        if let Some(texts) = &self.choice {
            let texts = texts.clone();
            all.push(("structured_outputs.choice", Description::Choice { texts }));
        }
        if let Some(text) = &self.grammar {
            let dialect = Dialect::guess(text).name().to_owned();
            let text = text.clone();
            all.push((
                "structured_outputs.grammar",
                Description::Grammar {
                    text,
                    dialect,
                    options: GrammarOptions::default(),
                },
            ));
        }
        if self.json_object == Some(true) {
            all.push(("structured_outputs.json_object", schema(OBJECT)));
        }
        if let Some(tag) = &self.structural_tag {
            let tag = json_or_text(tag);
            let options = TagOptions::default();
            all.push((
                "structured_outputs.structural_tag",
                Description::StructuralTag { tag, options },
            ));
        }
        match all.len() {
            1 => {
                let (param, description) = all.remove(0);
                Ok(Bound { description, param })
            }
            count => Err(ApiError::invalid(
                "structured_outputs",
                format!(
                    "it has {count} constraints; give one of `json`, `regex`, `choice`, `grammar`, \
                     `structural_tag`, `json_object`"
                ),
            )),
        }
    }
}

/// The most texts of one request, because each takes a place in the queue.
const MAX_TEXTS: usize = 128;

/// The most alternatives to a token, as OpenAI's API has it.
const MAX_ALTERNATIVES: usize = 20;

/// The most stop strings of a request, because each is looked for behind every token.
const MAX_STOP: usize = 64;

impl Common {
    /// Reads the settings.
    pub(super) fn settings(
        &self,
        max_tokens: Number,
        alternatives: Number,
        server: &ServerState,
    ) -> Result<Settings, ApiError> {
        let texts = self.n.unwrap_or(1);
        if !(1..=MAX_TEXTS).contains(&texts) {
            let message = format!("it is {texts}, and must be from 1 to {MAX_TEXTS}");
            return Err(ApiError::invalid("n", message));
        }
        let Number {
            value: max_tokens,
            param,
        } = max_tokens;
        if max_tokens == Some(0) {
            return Err(ApiError::invalid(
                param,
                "it is 0; an answer has a token at least",
            ));
        }
        let Number {
            value: listed,
            param,
        } = alternatives;
        if let Some(listed) = listed.filter(|listed| *listed > MAX_ALTERNATIVES) {
            let message = format!("it is {listed}, and must be at most {MAX_ALTERNATIVES}");
            return Err(ApiError::invalid(param, message));
        }
        let stop = match &self.stop {
            None => Vec::new(),
            Some(Stop::One(text)) => vec![text.clone()],
            Some(Stop::Several(texts)) => texts.clone(),
        };
        if stop.len() > MAX_STOP {
            let message = format!("there are {}, and at most {MAX_STOP} are taken", stop.len());
            return Err(ApiError::invalid("stop", message));
        }
        Ok(Settings {
            sampling: self.sampling()?,
            texts,
            max_tokens,
            min_tokens: self.min_tokens.unwrap_or(0),
            stop,
            logit_bias: self.bias(server)?,
            log_probabilities: listed,
            steps: false,
        })
    }

    /// Returns the numbers that a stream ends with; none if the answer is no stream.
    pub(super) fn stream_usage(&self) -> Option<StreamUsage> {
        let usage = self
            .stream_options
            .as_ref()
            .and_then(|options| options.include_usage);
        self.stream.unwrap_or_default().then_some(match usage {
            Some(true) => StreamUsage::Tell,
            _ => StreamUsage::Omit,
        })
    }

    fn sampling(&self) -> Result<SamplingConfig, ApiError> {
        let seed = self.seed.map_or_else(rand::random, |seed| seed as u64);
        let mut config = SamplingConfig::with_temperature(self.temperature.unwrap_or(1.0), seed);
        if let Some(most) = self.top_k {
            // vLLM writes -1 for all of them.
            config = config.with_top_k(usize::try_from(most).unwrap_or(0));
        }
        if let Some(share) = self.top_p {
            config = config.with_top_p(share);
        }
        if let Some(share) = self.min_p {
            config = config.with_min_p(share);
        }
        if let Some(penalty) = self.repetition_penalty {
            config = config.with_repetition_penalty(penalty, 0);
        }
        config = config.with_penalties(
            self.frequency_penalty.unwrap_or(0.0),
            self.presence_penalty.unwrap_or(0.0),
        );
        match crate::sampling::Sampler::new(config.clone()) {
            Ok(_) => Ok(config),
            Err(error) => {
                let message = error.to_string();
                let names = [
                    "temperature",
                    "top_p",
                    "min_p",
                    "repetition_penalty",
                    "frequency_penalty",
                    "presence_penalty",
                ];
                let name = names.iter().find(|name| message.contains(**name));
                Err(ApiError::invalid(*name.unwrap_or(&"temperature"), message))
            }
        }
    }

    fn bias(&self, server: &ServerState) -> Result<Vec<(u32, f32)>, ApiError> {
        let wrong = |message: String| ApiError::invalid("logit_bias", message);
        let mut bias = Vec::new();
        for (token, value) in self.logit_bias.iter().flatten() {
            let number: u32 = token
                .parse()
                .map_err(|_| wrong(format!("{token:?} is not the number of a token")))?;
            if number as usize >= server.width {
                let width = server.width;
                return Err(wrong(format!(
                    "the model has {width} tokens, and none of the number {number}"
                )));
            }
            if !(-100.0..=100.0).contains(value) {
                return Err(wrong(format!(
                    "the bias of token {token} is {value}; it must be from -100 to 100"
                )));
            }
            // By OpenAI's API -100 bans a token.
            let value = match *value {
                -100.0 => f32::NEG_INFINITY,
                value => value,
            };
            bias.push((number, value));
        }
        bias.sort_unstable_by_key(|(token, _)| *token);
        Ok(bias)
    }
}
