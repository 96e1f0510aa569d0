//! The page to play with, and the steps of an answer that it asks for. For example, `/play/steps` says of a token that
//! nothing else could come.

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

use async_stream::stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::answers::{Answers, answer};
use super::body;
use super::chat;
use super::error::ApiError;
use super::pool::{Token, Update};
use super::reply::{AnswerReader, Delta, Ending};
use super::server::{ServerState, Shared};
use super::wire::{ChatRequest, Common};
use crate::generate::TokenProbability;
use crate::page::filled;
use crate::sampling::Probability;

/// The page, put together once because every visitor gets the same.
static PAGE: LazyLock<String> = LazyLock::new(|| filled(include_str!("page.html")));

/// Shows the page.
pub(super) async fn page() -> impl IntoResponse {
    let kind = "text/html; charset=utf-8";
    // It runs what it brings, and asks this server alone.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE.as_str())
}

/// Answers a chat as `/v1/chat/completions` does, and tells of each step.
pub(super) async fn steps(State(server): Shared, body: Bytes) -> Result<Response, ApiError> {
    let (request, common): (ChatRequest, Common) = body::read(&body)?;
    server.check_model(request.model.as_deref())?;
    let mut ask = chat::ask(request, &common, &server)?;
    ask.settings.texts = 1;
    ask.settings.steps = true;
    ask.settings.log_probabilities = None;
    let (answers, reading) = answer(&server, ask).await?;
    let reader = AnswerReader::new(&reading, &server.tokenizer);
    let told = told(server, answers, reader);
    Ok(Sse::new(told)
        .keep_alive(KeepAlive::default())
        .into_response())
}

/// The events of the steps.
fn told(
    server: Arc<ServerState>,
    mut answers: Answers,
    mut reader: AnswerReader,
) -> impl futures_core::Stream<Item = Result<Event, Infallible>> {
    stream! {
        let event = |name: &str, data: Value| Ok(Event::default().event(name).data(data.to_string()));
        loop {
            let update = match answers.next().await {
                Ok(Some((_, update))) => update,
                Ok(None) => break,
                Err(error) => {
                    yield event("error", error.json());
                    return;
                }
            };
            let deltas = match update {
                Update::Token(token) => {
                    yield event("step", step(&token, &server));
                    reader.token(&token)
                }
                Update::Rest(text) => reader.text(&text, response_parser::Piece::Text),
                Update::Done(Ok(generation)) => {
                    let cut = reader.ending(&generation) == Ending::Cut;
                    let deltas = reader.finish(&generation);
                    for delta in deltas {
                        yield event("message", message(delta));
                    }
                    yield event("end", json!({
                        "finish": format!("{:?}", generation.finish),
                        "complete": generation.complete,
                        "cut": cut,
                        "prompt_tokens": generation.prompt_tokens,
                        "tokens": generation.tokens.len(),
                        "forced": generation.forced.iter().filter(|forced| **forced).count(),
                        "steps": generation.steps,
                        "seconds": generation.timings.total.as_secs_f64(),
                        "mask_seconds": generation.timings.mask.as_secs_f64(),
                    }));
                    continue;
                }
                Update::Done(Err(error)) => {
                    yield event("error", ApiError::of_generation(&error).json());
                    return;
                }
                Update::Decided(_) | Update::AllDecided => Vec::new(),
            };
            for delta in deltas {
                yield event("message", message(delta));
            }
        }
    }
}

fn message(delta: Delta) -> Value {
    match delta {
        Delta::Content(text) => json!({"kind": "content", "text": text}),
        Delta::Reasoning(text) => json!({"kind": "reasoning", "text": text}),
        Delta::Call { name, .. } => json!({"kind": "call", "text": name}),
        Delta::Arguments { text, .. } => json!({"kind": "arguments", "text": text}),
    }
}

/// A step as the page shows it.
fn step(token: &Token, server: &ServerState) -> Value {
    let listed = |all: &[Probability]| -> Vec<Value> {
        let one = |one: &Probability| {
            let text = server.tokenizer.describe(one.token);
            json!({"token": one.token, "text": text, "probability": one.probability})
        };
        all.iter().map(one).collect()
    };
    let mut step = json!({
        "token": token.token,
        "text": server.tokenizer.describe(token.token),
        "forced": token.forced,
    });
    if let Some(probabilities) = &token.probabilities {
        step["before"] = listed(&probabilities.before).into();
        step["after"] = listed(&probabilities.after).into();
    }
    if let Some(share) = token.own.and_then(TokenProbability::allowed_share) {
        step["mass"] = share.into();
    }
    if let Some(explanation) = &token.explanation {
        step["allowed"] = json!(explanation.allowed);
        step["width"] = json!(explanation.width);
        step["kinds"] = json!(explanation.kinds);
        step["likeliest"] = server
            .tokenizer
            .describe(explanation.likeliest.token)
            .into();
        step["refused"] = json!(explanation.refused);
        let completion = explanation.completion.as_deref();
        step["completion"] = json!(completion.map(String::from_utf8_lossy));
    }
    if let Some(place) = &token.place {
        step["at"] = json!(place.locations);
        step["reading"] = place.state.as_str().into();
    }
    step
}
