//! `/v1/completions`. For example, the prompt `One, two,` with 4 tokens is answered by `{"choices":
//! [{"text": " three, four", ..}]}`.

use std::convert::Infallible;
use std::sync::Arc;

use async_stream::stream;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::answers::{Answers, answer_all, finite, identifier, now};
use super::ask::{Ask, AskedPrompt};
use super::body;
use super::chat::finish_reason;
use super::error::ApiError;
use super::pool::{Token, Update};
use super::reply::AnswerReader;
use super::server::{ServerState, Shared};
use super::tool::CallChoice;
use super::wire::{self, Common, Number, Prompts, StreamUsage, TextRequest};

/// The most tokens of a text whose request does not say, as OpenAI's API has it.
const MAX_TOKENS: usize = 16;

/// The most prompts of a request, because each takes a place in the queue.
const MAX_PROMPTS: usize = 128;

/// Continues texts.
#[utoipa::path(post, path = "/v1/completions", request_body = super::wire::TextBody, responses(
    (status = 200, description = "The texts, or a stream of their pieces"),
    (status = 400, description = "The request is wrong, or its constraint cannot be enforced", body = super::error::ErrorBody),
    (status = 429, description = "The queue is full", body = super::error::ErrorBody),
))]
pub(super) async fn complete(State(server): Shared, body: Bytes) -> Result<Response, ApiError> {
    let (request, common): (TextRequest, Common) = body::read(&body)?;
    server.check_model(request.model.as_deref())?;
    let prompts = prompts(request.prompt, &server)?;
    let bound = wire::bound(
        request.response_format.as_deref(),
        request.structured_outputs.as_ref(),
    )?;
    let most = request.max_tokens.or(Some(MAX_TOKENS));
    let settings = common.settings(
        Number::new("max_tokens", most),
        Number::new("logprobs", request.logprobs),
        &server,
    )?;
    let echo = request.echo == Some(true);
    let each = settings.texts;
    let mut beginnings = Vec::new();
    let mut asks = Vec::new();
    for asked in prompts {
        let beginning = match (&asked, echo) {
            (_, false) => String::new(),
            (AskedPrompt::Tokens(tokens), true) => server.tokenizer.decode(tokens),
            (AskedPrompt::Text(text), true) => text.clone(),
            (AskedPrompt::Chat(_), true) => String::new(),
        };
        beginnings.extend(std::iter::repeat_n(beginning, each));
        asks.push(Ask {
            asked,
            tools: Vec::new(),
            choice: CallChoice::None,
            parallel: true,
            reasons: false,
            bound: bound.clone(),
            variables: serde_json::Map::new(),
            settings: settings.clone(),
        });
    }
    let (mut answers, reading) = answer_all(&server, asks).await?;
    let mut texts: Vec<Continuation> = beginnings
        .into_iter()
        .map(|text| Continuation {
            reader: AnswerReader::new(&reading, &server.tokenizer),
            text,
            told: settings.log_probabilities.map(|_| TokenTable::default()),
            finish: None,
        })
        .collect();
    let head = json!({
        "id": identifier("cmpl-"),
        "object": "text_completion",
        "created": now(),
        "model": server.config.model_name,
    });
    if let Some(usage) = common.stream_usage() {
        let pieces = pieces(server, answers, texts, head, usage);
        return Ok(Sse::new(pieces)
            .keep_alive(KeepAlive::default())
            .into_response());
    }
    while let Some((at, update)) = answers.next().await? {
        texts[at].take(update, &server)?;
    }
    let mut body = head;
    body["choices"] = texts
        .iter_mut()
        .enumerate()
        .map(|(at, text)| text.choice(at))
        .collect();
    body["usage"] = answers.usage().json();
    Ok(Json(body).into_response())
}

/// The prompts of a request.
fn prompts(given: Prompts, server: &ServerState) -> Result<Vec<AskedPrompt>, ApiError> {
    let prompts: Vec<AskedPrompt> = match given {
        Prompts::Text(text) => vec![AskedPrompt::Text(text)],
        Prompts::Texts(texts) => texts.into_iter().map(AskedPrompt::Text).collect(),
        Prompts::Tokens(tokens) => vec![AskedPrompt::Tokens(tokens)],
        Prompts::Lists(lists) => lists.into_iter().map(AskedPrompt::Tokens).collect(),
    };
    if prompts.is_empty() || prompts.len() > MAX_PROMPTS {
        let message = format!(
            "there are {} prompts; 1 to {MAX_PROMPTS} are taken",
            prompts.len()
        );
        return Err(ApiError::invalid("prompt", message));
    }
    for prompt in &prompts {
        if let AskedPrompt::Tokens(tokens) = prompt {
            if tokens.is_empty() {
                return Err(ApiError::invalid("prompt", "a prompt has no tokens"));
            }
            if let Some(token) = tokens.iter().find(|token| **token as usize >= server.width) {
                let message = format!(
                    "the model has {} tokens, and none of the number {token}",
                    server.width
                );
                return Err(ApiError::invalid("prompt", message));
            }
        }
    }
    Ok(prompts)
}

/// One of a request's texts, as far as it has come.
struct Continuation {
    reader: AnswerReader,
    text: String,
    told: Option<TokenTable>,
    finish: Option<&'static str>,
}

/// The probabilities of a text's tokens, as this API lists them.
#[derive(Default)]
struct TokenTable {
    tokens: Vec<Value>,
    own: Vec<Value>,
    alternatives: Vec<Value>,
    offsets: Vec<usize>,
    length: usize,
}

impl Continuation {
    fn take(&mut self, update: Update, server: &ServerState) -> Result<(), ApiError> {
        match update {
            Update::Token(token) => {
                self.text.push_str(&token.text);
                if let Some(told) = &mut self.told {
                    told.push(&token, server);
                }
            }
            Update::Rest(text) => self.text.push_str(&text),
            Update::Done(Err(error)) => return Err(ApiError::of_generation(&error)),
            Update::Decided(_) | Update::AllDecided => {
                return Err(ApiError::server("no text was generated"));
            }
            Update::Done(Ok(generation)) => {
                self.finish = Some(finish_reason(self.reader.ending(&generation)));
            }
        }
        Ok(())
    }

    /// Takes out the text that has come since the last time.
    fn choice(&mut self, at: usize) -> Value {
        let text = std::mem::take(&mut self.text);
        let told = self.told.as_mut().map(TokenTable::json);
        json!({"index": at, "text": text, "logprobs": told, "finish_reason": self.finish})
    }
}

impl TokenTable {
    fn push(&mut self, token: &Token, server: &ServerState) {
        let name = server.tokenizer.describe(token.token);
        let own = token.own.and_then(|own| own.free).unwrap_or(0.0);
        let mut alternatives = Map::new();
        for one in token.probabilities.iter().flat_map(|all| &all.before) {
            let name = server.tokenizer.describe(one.token);
            alternatives.insert(name, finite(one.probability.ln()).into());
        }
        self.offsets.push(self.length);
        self.length += name.chars().count();
        self.tokens.push(name.into());
        self.own.push(finite(own).into());
        self.alternatives.push(alternatives.into());
    }

    fn json(&mut self) -> Value {
        let TokenTable {
            tokens,
            own,
            alternatives,
            offsets,
            ..
        } = self;
        json!({
            "tokens": std::mem::take(tokens),
            "token_logprobs": std::mem::take(own),
            "top_logprobs": std::mem::take(alternatives),
            "text_offset": std::mem::take(offsets),
        })
    }
}

/// The pieces of a stream.
fn pieces(
    server: Arc<ServerState>,
    mut answers: Answers,
    mut texts: Vec<Continuation>,
    head: Value,
    usage: StreamUsage,
) -> impl futures_core::Stream<Item = Result<Event, Infallible>> {
    stream! {
        loop {
            let taken = match answers.next().await {
                Ok(Some((at, update))) => texts[at].take(update, &server).map(|()| at),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            let at = match taken {
                Ok(at) => at,
                Err(error) => {
                    yield Ok(Event::default().data(error.json().to_string()));
                    return;
                }
            };
            let text = &mut texts[at];
            if text.text.is_empty() && text.finish.is_none() {
                continue;
            }
            let mut piece = head.clone();
            piece["choices"] = json!([text.choice(at)]);
            yield Ok(Event::default().data(piece.to_string()));
        }
        if usage == StreamUsage::Tell {
            let mut last = head.clone();
            last["choices"] = json!([]);
            last["usage"] = answers.usage().json();
            yield Ok(Event::default().data(last.to_string()));
        }
        yield Ok(Event::default().data("[DONE]"));
    }
}
