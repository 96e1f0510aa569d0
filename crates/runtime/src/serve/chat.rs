//! `/v1/chat/completions`. For example, a request with a schema is answered by `{"choices":
//! [{"message": {"role": "assistant", "content": "{..}"}, "finish_reason": "stop"}]}`.

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::answers::{Answers, answer, finite, identifier, now};
use super::ask::{Ask, AskedPrompt, arguments};
use super::body;
use super::error::ApiError;
use super::pool::{Token, Update};
use super::reply::{AnswerReader, Delta, Ending, Message};
use super::server::{ServerState, Shared};
use super::tool::{OfferedTool, read_choice};
use super::wire::{self, ChatRequest, Common, Number, StreamUsage};

/// Answers a chat.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = super::wire::ChatBody, responses(
    (status = 200, description = "The answer, or a stream of its pieces"),
    (status = 400, description = "The request is wrong, or its constraint cannot be enforced", body = super::error::ErrorBody),
    (status = 429, description = "The queue is full", body = super::error::ErrorBody),
))]
pub(super) async fn complete(State(server): Shared, body: Bytes) -> Result<Response, ApiError> {
    let (request, common): (ChatRequest, Common) = body::read(&body)?;
    server.check_model(request.model.as_deref())?;
    let ask = ask(request, &common, &server)?;
    let listed = ask.settings.log_probabilities;
    let texts = ask.settings.texts;
    let (mut answers, reading) = answer(&server, ask).await?;
    let replies = (0..texts).map(|_| ChatReply {
        reader: AnswerReader::new(&reading, &server.tokenizer),
        message: Message::default(),
        log_probabilities: listed.map(|_| Vec::new()),
        finish: "stop",
    });
    let mut replies: Vec<ChatReply> = replies.collect();
    let head = Head {
        id: identifier("chatcmpl-"),
        created: now(),
        model: server.config.model_name.clone(),
    };
    if let Some(usage) = common.stream_usage() {
        let pieces = pieces(server, answers, replies, head, usage);
        let pieces = Sse::new(pieces).keep_alive(KeepAlive::default());
        return Ok(pieces.into_response());
    }
    while let Some((at, update)) = answers.next().await? {
        replies[at].take(update, &server)?;
    }
    let choices: Vec<Value> = replies
        .iter()
        .enumerate()
        .map(|(at, reply)| reply.choice(at))
        .collect();
    let mut body = head.json("chat.completion");
    body["choices"] = Value::from(choices);
    body["usage"] = answers.usage().json();
    Ok(Json(body).into_response())
}

/// The members with which all pieces of an answer begin.
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn json(&self, object: &str) -> Value {
        let Head { id, created, model } = self;
        json!({"id": id, "object": object, "created": created, "model": model})
    }
}

/// One of a request's answers, as far as it has come.
struct ChatReply {
    reader: AnswerReader,
    message: Message,
    /// The probabilities that are to be told; none if none are asked for.
    log_probabilities: Option<Vec<Value>>,
    finish: &'static str,
}

impl ChatReply {
    /// Takes the next news, and returns what is new in the message.
    fn take(&mut self, update: Update, server: &ServerState) -> Result<Vec<Delta>, ApiError> {
        let deltas = match update {
            Update::Token(token) => {
                if let Some(told) = &mut self.log_probabilities {
                    told.push(log_probability(&token, server));
                }
                self.reader.token(&token)
            }
            Update::Rest(text) => self.reader.text(&text, response_parser::Piece::Text),
            Update::Done(Err(error)) => return Err(ApiError::of_generation(&error)),
            Update::Decided(_) | Update::AllDecided => {
                return Err(ApiError::server("no text was generated"));
            }
            Update::Done(Ok(generation)) => {
                let ending = self.reader.ending(&generation);
                let deltas = self.reader.finish(&generation);
                self.finish = finish_reason(ending);
                let is_call = |delta: &Delta| matches!(delta, Delta::Call { .. });
                let calls = !self.message.calls.is_empty() || deltas.iter().any(is_call);
                if calls && ending == Ending::Whole {
                    self.finish = "tool_calls";
                }
                deltas
            }
        };
        for delta in &deltas {
            self.message.add(delta.clone());
        }
        Ok(deltas)
    }

    fn choice(&self, at: usize) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        let Message {
            content,
            reasoning,
            calls,
        } = &self.message;
        let said = match content.is_empty() && !calls.is_empty() {
            true => Value::Null,
            false => content.as_str().into(),
        };
        message.insert("content".to_owned(), said);
        message.insert("refusal".to_owned(), Value::Null);
        if !reasoning.is_empty() {
            message.insert("reasoning_content".to_owned(), reasoning.as_str().into());
        }
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| match call.custom {
                true => json!({"id": identifier("call_"), "type": "custom", "custom": {"name": call.name, "input": call.text}}),
                false => json!({"id": identifier("call_"), "type": "function", "function": {"name": call.name, "arguments": call.text}}),
            });
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        let told = self.log_probabilities.as_ref();
        let told = told.map(|told| json!({"content": told, "refusal": null}));
        json!({"index": at, "message": message, "logprobs": told, "finish_reason": self.finish})
    }
}

/// Returns why an answer without calls ended, as OpenAI's API says it.
pub(super) fn finish_reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Cut => "length",
        Ending::Whole => "stop",
    }
}

/// A token with its probability and those of its alternatives.
fn log_probability(token: &Token, server: &ServerState) -> Value {
    let told = |number: u32, probability: f32| {
        let bytes = server.token_bytes(number);
        json!({"token": server.tokenizer.describe(number), "logprob": finite(probability), "bytes": bytes})
    };
    let own = token.own.and_then(|own| own.free).unwrap_or(0.0);
    let mut told_token = told(token.token, own);
    let alternatives = token.probabilities.iter().flat_map(|all| &all.before);
    let alternatives = alternatives.map(|one| told(one.token, one.probability.ln()));
    told_token["top_logprobs"] = alternatives.collect();
    told_token
}

/// The pieces of a stream.
fn pieces(
    server: Arc<ServerState>,
    mut answers: Answers,
    mut replies: Vec<ChatReply>,
    head: Head,
    usage: StreamUsage,
) -> impl futures_core::Stream<Item = Result<Event, Infallible>> {
    stream! {
        let piece = |at: usize, delta: Value, told: Option<Value>, finish: Option<&str>| {
            let mut piece = head.json("chat.completion.chunk");
            piece["choices"] = json!([{"index": at, "delta": delta, "logprobs": told, "finish_reason": finish}]);
            if usage == StreamUsage::Tell {
                piece["usage"] = Value::Null;
            }
            Ok(Event::default().data(piece.to_string()))
        };
        for at in 0..replies.len() {
            yield piece(at, json!({"role": "assistant", "content": ""}), None, None);
        }
        loop {
            let (at, update) = match answers.next().await {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error) => {
                    yield Ok(Event::default().data(error.json().to_string()));
                    return;
                }
            };
            let ends = matches!(update, Update::Done(_));
            let reply = &mut replies[at];
            let deltas = match reply.take(update, &server) {
                Ok(deltas) => deltas,
                Err(error) => {
                    yield Ok(Event::default().data(error.json().to_string()));
                    return;
                }
            };
            for delta in deltas {
                let told = reply.log_probabilities.as_mut().map(std::mem::take);
                let told = told.filter(|told| !told.is_empty());
                let told = told.map(|told| json!({"content": told, "refusal": null}));
                yield piece(at, delta_json(delta), told, None);
            }
            if ends {
                yield piece(at, json!({}), None, Some(reply.finish));
            }
        }
        if usage == StreamUsage::Tell {
            let mut last = head.json("chat.completion.chunk");
            last["choices"] = json!([]);
            last["usage"] = answers.usage().json();
            yield Ok(Event::default().data(last.to_string()));
        }
        yield Ok(Event::default().data("[DONE]"));
    }
}

fn delta_json(delta: Delta) -> Value {
    match delta {
        Delta::Content(text) => json!({ "content": text }),
        Delta::Reasoning(text) => json!({ "reasoning_content": text }),
        Delta::Call { call, name, custom } => {
            let (kind, inside) = match custom {
                true => ("custom", json!({"name": name, "input": ""})),
                false => ("function", json!({"name": name, "arguments": ""})),
            };
            json!({"tool_calls": [{"index": call, "id": identifier("call_"), "type": kind, kind: inside}]})
        }
        Delta::Arguments { call, text, custom } => match custom {
            true => json!({"tool_calls": [{"index": call, "custom": {"input": text}}]}),
            false => json!({"tool_calls": [{"index": call, "function": {"arguments": text}}]}),
        },
    }
}

/// Reads a request.
pub(super) fn ask(
    request: ChatRequest,
    common: &Common,
    server: &ServerState,
) -> Result<Ask, ApiError> {
    let mut tools = OfferedTool::read(request.tools.unwrap_or_default())?;
    let choice = read_choice(request.tool_choice, &mut tools)?;
    let bound = wire::bound(
        request.response_format.as_deref(),
        request.structured_outputs.as_ref(),
    )?;
    let max_tokens = match (request.max_completion_tokens, request.max_tokens) {
        (Some(most), _) => Number::new("max_completion_tokens", Some(most)),
        (None, most) => Number::new("max_tokens", most),
    };
    let listed = match (request.logprobs, request.top_logprobs) {
        (Some(true), listed) => Some(listed.unwrap_or(0)),
        (_, Some(_)) => {
            let message = "the probabilities of alternatives need `logprobs: true`";
            return Err(ApiError::invalid("top_logprobs", message));
        }
        _ => None,
    };
    Ok(Ask {
        asked: AskedPrompt::Chat(messages(request.messages)?),
        tools,
        choice,
        parallel: request.parallel_tool_calls.unwrap_or(true),
        reasons: request.reasoning_effort.as_deref() != Some("none"),
        bound,
        variables: variables(request.chat_template_kwargs.unwrap_or_default())?,
        settings: common.settings(max_tokens, Number::new("top_logprobs", listed), server)?,
    })
}

/// The variables of a chat template that a request may not set, because the server sets them from other members.
const OWN_VARIABLES: [&str; 7] = [
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template",
    "tokenize",
];

/// Variables that the request chooses.
fn variables(given: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    match given
        .keys()
        .find(|name| OWN_VARIABLES.contains(&name.as_str()))
    {
        None => Ok(given),
        Some(name) => Err(ApiError::invalid(
            format!("chat_template_kwargs.{name}"),
            "the server sets this variable itself",
        )),
    }
}

/// Messages as chat templates take them: contents as texts, arguments of calls as objects.
pub(super) fn messages(given: Vec<Value>) -> Result<Vec<Value>, ApiError> {
    if given.is_empty() {
        return Err(ApiError::invalid("messages", "there are no messages"));
    }
    let mut read = Vec::new();
    for (at, message) in given.into_iter().enumerate() {
        let place = format!("messages[{at}]");
        let Value::Object(mut message) = message else {
            return Err(ApiError::invalid(place, "a message is an object"));
        };
        match message.get("role").and_then(Value::as_str) {
            Some("developer") => {
                message.insert("role".to_owned(), "system".into());
            }
            Some("system" | "user" | "assistant" | "tool") => {}
            _ => {
                let message = "the role is one of \"system\", \"developer\", \"user\", \"assistant\", \"tool\"";
                return Err(ApiError::invalid(format!("{place}.role"), message));
            }
        }
        let content = message.remove("content").unwrap_or_default();
        let content = text_of(content, &format!("{place}.content"))?;
        message.insert("content".to_owned(), content.into());
        match message.get_mut("tool_calls") {
            None => {}
            Some(Value::Array(calls)) => calls.iter_mut().for_each(read_call),
            Some(Value::Null) => drop(message.remove("tool_calls")),
            Some(_) => {
                let message = "the calls are a list";
                return Err(ApiError::invalid(format!("{place}.tool_calls"), message));
            }
        }
        read.push(Value::Object(message));
    }
    Ok(read)
}

/// The text of a message's content.
pub(super) fn text_of(content: Value, place: &str) -> Result<String, ApiError> {
    let parts = match content {
        Value::Null => return Ok(String::new()),
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        _ => {
            let message = "the content is a text, or a list of parts";
            return Err(ApiError::invalid(place, message));
        }
    };
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("text" | "input_text" | "output_text"), Some(part)) => text.push_str(part),
            (Some("input_json"), _) if !part["data"].is_null() => {
                text.push_str(&part["data"].to_string());
            }
            (Some("refusal"), _) => text.push_str(part["refusal"].as_str().unwrap_or_default()),
            (kind, _) => {
                let kind = kind.unwrap_or("none");
                let message = format!("a part of the type {kind:?}; the model reads text alone");
                return Err(ApiError::invalid(format!("{place}[{at}]"), message));
            }
        }
    }
    Ok(text)
}

/// A call of an earlier message: its arguments become an object, its input an argument.
fn read_call(call: &mut Value) {
    if let Some(custom) = call.get_mut("custom").map(Value::take) {
        let input = custom["input"].clone();
        call["type"] = "function".into();
        call["function"] =
            json!({"name": custom["name"], "arguments": {super::tool::INPUT: input}});
        if let Value::Object(call) = call {
            call.remove("custom");
        }
        return;
    }
    let written = call.pointer_mut("/function/arguments");
    if let Some(written) = written
        && let Some(text) = written.as_str()
    {
        *written = arguments(text);
    }
}
