//! `/v1/responses`. For example, `{"input": "Hi"}` is answered by `{"object": "response", "output":
//! [{"type": "message", "content": [{"type": "output_text", "text": ".."}]}]}`.
//!
//! Nothing is stored: a conversation is sent as a whole each time.

use std::convert::Infallible;

use async_stream::stream;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use response_parser::Piece;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answers::{Answers, Usage, answer, identifier, now};
use super::ask::{Ask, AskedPrompt};
use super::body;
use super::chat::messages;
use super::error::ApiError;
use super::items::read_items;
use super::pool::Update;
use super::reply::{AnswerReader, Delta, Ending};
use super::server::{ServerState, Shared};
use super::shapes;
use super::tool::{OfferedTool, read_choice};
use super::wire::{self, Common, Number};

/// A request for a response.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ResponseRequest {
    /// The model's name, as `/v1/models` lists it.
    #[serde(default)]
    model: Option<String>,
    /// A text, or a list of messages, calls and their results.
    #[schema(value_type = shapes::Input)]
    input: Value,
    /// A text that the model reads before the input.
    #[serde(default)]
    instructions: Option<String>,
    /// Tools of the types `function` and `custom`.
    #[serde(default)]
    #[schema(value_type = Option<Vec<shapes::BareTool>>)]
    tools: Option<Vec<Value>>,
    /// `auto`, `none`, `required`, or an object that names a tool or lists `allowed_tools`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::BareChoice>)]
    tool_choice: Option<Value>,
    /// False for at most one call.
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    /// `format`: `{"type": "text"}`, `json_object` or `json_schema`.
    #[serde(default)]
    text: Option<TextOptions>,
    /// The most tokens of the response: it is whole within them if it is bound by a constraint.
    #[serde(default)]
    max_output_tokens: Option<usize>,
    /// `effort`: `none` for a response without reasoning.
    #[serde(default)]
    reasoning: Option<Effort>,
    /// Refused: nothing is stored here.
    #[serde(default)]
    previous_response_id: Option<String>,
    /// Refused: nothing is stored here.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    conversation: Option<Value>,
    /// Refused if true: nothing is stored here.
    #[serde(default)]
    background: Option<bool>,
    /// `disabled`: a conversation that is too long is refused.
    #[serde(default)]
    truncation: Option<String>,
    /// Changes nothing here.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    include: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct TextOptions {
    #[serde(default)]
    #[schema(value_type = Option<shapes::BareFormat>)]
    format: Option<Box<RawValue>>,
    #[serde(default)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    verbosity: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct Effort {
    #[serde(default)]
    effort: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "taken, and of no effect")]
    summary: Option<String>,
}

/// The body of `/v1/responses`, for its description alone.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described")]
pub(super) struct ResponseBody {
    #[schema(inline)]
    #[serde(flatten)]
    response: ResponseRequest,
    #[schema(inline)]
    #[serde(flatten)]
    common: Common,
}

/// Answers a conversation.
#[utoipa::path(post, path = "/v1/responses", request_body = ResponseBody, responses(
    (status = 200, description = "The response, or a stream of its events"),
    (status = 400, description = "The request is wrong, or its constraint cannot be enforced", body = super::error::ErrorBody),
    (status = 429, description = "The queue is full", body = super::error::ErrorBody),
))]
pub(super) async fn respond(State(server): Shared, body: Bytes) -> Result<Response, ApiError> {
    let (request, common): (ResponseRequest, Common) = body::read(&body)?;
    server.check_model(request.model.as_deref())?;
    let frame = frame(&request, &common, &server);
    let ask = ask(request, &common, &server)?;
    let (mut answers, reading) = answer(&server, ask).await?;
    let mut output = ResponseOutput {
        reader: AnswerReader::new(&reading, &server.tokenizer),
        items: Vec::new(),
        open: None,
        cut: false,
    };
    if common.stream_usage().is_some() {
        let events = events(answers, output, frame);
        return Ok(Sse::new(events)
            .keep_alive(KeepAlive::default())
            .into_response());
    }
    while let Some((_, update)) = answers.next().await? {
        output.take(update)?;
    }
    Ok(Json(output.whole(frame, answers.usage())).into_response())
}

/// The members in which a response repeats its request.
fn frame(request: &ResponseRequest, common: &Common, server: &ServerState) -> Value {
    let format = request
        .text
        .as_ref()
        .and_then(|text| text.format.as_deref());
    let format = format.and_then(|format| serde_json::from_str(format.get()).ok());
    json!({
        "id": identifier("resp_"),
        "object": "response",
        "created_at": now(),
        "status": "in_progress",
        "error": null,
        "incomplete_details": null,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "metadata": {},
        "model": server.config.model_name,
        "output": [],
        "parallel_tool_calls": request.parallel_tool_calls.unwrap_or(true),
        "previous_response_id": null,
        "reasoning": {"effort": request.reasoning.as_ref().and_then(|r| r.effort.clone()), "summary": null},
        "store": false,
        "temperature": common.temperature.unwrap_or(1.0),
        "text": {"format": format.unwrap_or_else(|| json!({"type": "text"}))},
        "tool_choice": request.tool_choice.clone().unwrap_or_else(|| "auto".into()),
        "tools": request.tools.clone().unwrap_or_default(),
        "top_p": common.top_p.unwrap_or(1.0),
        "truncation": "disabled",
        "usage": null,
    })
}

/// Reads a request.
fn ask(request: ResponseRequest, common: &Common, server: &ServerState) -> Result<Ask, ApiError> {
    let stored = [
        (
            "previous_response_id",
            request.previous_response_id.is_some(),
        ),
        (
            "conversation",
            request.conversation.is_some_and(|given| !given.is_null()),
        ),
        ("background", request.background == Some(true)),
    ];
    if let Some((name, _)) = stored.iter().find(|(_, is_asked)| *is_asked) {
        let message = "this server stores nothing; send the whole conversation as `input`";
        return Err(ApiError::invalid(*name, message));
    }
    if request
        .truncation
        .as_deref()
        .is_some_and(|word| word != "disabled")
    {
        let message =
            "a conversation that is too long is refused here, not cut; \"disabled\" says so";
        return Err(ApiError::invalid("truncation", message));
    }
    if common.n.is_some_and(|texts| texts != 1) {
        return Err(ApiError::invalid("n", "a response has one answer"));
    }
    let mut tools = OfferedTool::read(request.tools.unwrap_or_default())?;
    let choice = read_choice(request.tool_choice, &mut tools)?;
    let format = request.text.and_then(|text| text.format);
    let bound = match &format {
        Some(format) => wire::response_format(format)?,
        None => None,
    };
    let mut given = match request.input {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        input => read_items(input, "input")?,
    };
    if let Some(instructions) = request.instructions {
        given.insert(0, json!({"role": "system", "content": instructions}));
    }
    let most = Number::new("max_output_tokens", request.max_output_tokens);
    let effort = request.reasoning.and_then(|reasoning| reasoning.effort);
    Ok(Ask {
        asked: AskedPrompt::Chat(messages(given)?),
        tools,
        choice,
        parallel: request.parallel_tool_calls.unwrap_or(true),
        reasons: effort.as_deref() != Some("none"),
        bound,
        variables: Map::new(),
        settings: common.settings(most, Number::new("top_logprobs", None), server)?,
    })
}

/// The output of a response, as far as it has come.
struct ResponseOutput {
    reader: AnswerReader,
    items: Vec<OutputItem>,
    /// The item that goes on.
    open: Option<usize>,
    cut: bool,
}

/// A part of the output.
struct OutputItem {
    id: String,
    call_id: String,
    kind: ItemKind,
    text: String,
    done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ItemKind {
    Reasoning,
    Message,
    Function(String),
    Custom(String),
}

impl ItemKind {
    /// The beginning of the events about the item's text, and the member of the end's event that
    /// has all of it.
    fn events(&self) -> (&'static str, &'static str) {
        match self {
            ItemKind::Reasoning => ("response.reasoning_text", "text"),
            ItemKind::Message => ("response.output_text", "text"),
            ItemKind::Function(_) => ("response.function_call_arguments", "arguments"),
            ItemKind::Custom(_) => ("response.custom_tool_call_input", "input"),
        }
    }

    /// Tells whether the item's text is a part of it among others.
    fn has_parts(&self) -> bool {
        matches!(self, ItemKind::Reasoning | ItemKind::Message)
    }
}

impl OutputItem {
    fn part(&self) -> Value {
        match self.kind {
            ItemKind::Reasoning => json!({"type": "reasoning_text", "text": self.text}),
            _ => {
                json!({"type": "output_text", "text": self.text, "annotations": [], "logprobs": []})
            }
        }
    }

    fn json(&self) -> Value {
        let OutputItem {
            id,
            call_id,
            kind,
            text,
            done,
        } = self;
        let status = match done {
            true => "completed",
            false => "in_progress",
        };
        let parts = match text.is_empty() && !done {
            true => json!([]),
            false => json!([self.part()]),
        };
        match kind {
            ItemKind::Reasoning => {
                json!({"id": id, "type": "reasoning", "summary": [], "content": parts, "status": status})
            }
            ItemKind::Message => {
                json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": parts})
            }
            ItemKind::Function(name) => {
                json!({"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": text, "status": status})
            }
            ItemKind::Custom(name) => {
                json!({"id": id, "type": "custom_tool_call", "call_id": call_id, "name": name, "input": text, "status": status})
            }
        }
    }
}

impl ResponseOutput {
    /// Takes the next news, and returns the events that it gives.
    fn take(&mut self, update: Update) -> Result<Vec<Value>, ApiError> {
        let mut events = Vec::new();
        let deltas = match update {
            Update::Token(token) => self.reader.token(&token),
            Update::Rest(text) => self.reader.text(&text, Piece::Text),
            Update::Done(Err(error)) => return Err(ApiError::of_generation(&error)),
            Update::Decided(_) | Update::AllDecided => {
                return Err(ApiError::server("no text was generated"));
            }
            Update::Done(Ok(generation)) => {
                self.cut = self.reader.ending(&generation) == Ending::Cut;
                self.reader.finish(&generation)
            }
        };
        for delta in deltas {
            match delta {
                Delta::Content(text) => self.add(ItemKind::Message, &text, &mut events),
                Delta::Reasoning(text) => self.add(ItemKind::Reasoning, &text, &mut events),
                Delta::Call { name, custom, .. } => {
                    let kind = match custom {
                        true => ItemKind::Custom(name),
                        false => ItemKind::Function(name),
                    };
                    self.close(&mut events);
                    self.begin(kind, &mut events);
                }
                Delta::Arguments { text, .. } => self.grow(&text, &mut events),
            }
        }
        Ok(events)
    }

    /// Adds text to the open item, or to a new one if that is of another kind.
    fn add(&mut self, kind: ItemKind, text: &str, events: &mut Vec<Value>) {
        if !self.open.is_some_and(|at| self.items[at].kind == kind) {
            self.close(events);
            self.begin(kind, events);
        }
        self.grow(text, events);
    }

    fn begin(&mut self, kind: ItemKind, events: &mut Vec<Value>) {
        let beginning = match kind {
            ItemKind::Reasoning => "rs_",
            ItemKind::Message => "msg_",
            ItemKind::Function(_) => "fc_",
            ItemKind::Custom(_) => "ctc_",
        };
        let at = self.items.len();
        let item = OutputItem {
            id: identifier(beginning),
            call_id: identifier("call_"),
            kind,
            text: String::new(),
            done: false,
        };
        events.push(
            json!({"type": "response.output_item.added", "output_index": at, "item": item.json()}),
        );
        if item.kind.has_parts() {
            events.push(json!({
                "type": "response.content_part.added", "item_id": item.id, "output_index": at,
                "content_index": 0, "part": item.part(),
            }));
        }
        self.items.push(item);
        self.open = Some(at);
    }

    fn grow(&mut self, text: &str, events: &mut Vec<Value>) {
        let Some(at) = self.open else { return };
        let item = &mut self.items[at];
        item.text.push_str(text);
        let (name, _) = item.kind.events();
        let mut event = json!({
            "type": format!("{name}.delta"), "item_id": item.id, "output_index": at, "delta": text,
        });
        if item.kind.has_parts() {
            event["content_index"] = 0.into();
        }
        if item.kind == ItemKind::Message {
            event["logprobs"] = json!([]);
        }
        events.push(event);
    }

    /// Ends the open item.
    fn close(&mut self, events: &mut Vec<Value>) {
        let Some(at) = self.open.take() else { return };
        let item = &mut self.items[at];
        item.done = true;
        let (name, member) = item.kind.events();
        let mut event =
            json!({"type": format!("{name}.done"), "item_id": item.id, "output_index": at});
        event[member] = item.text.as_str().into();
        if let ItemKind::Function(name) = &item.kind {
            event["name"] = name.as_str().into();
        }
        if item.kind == ItemKind::Message {
            event["logprobs"] = json!([]);
        }
        if item.kind.has_parts() {
            event["content_index"] = 0.into();
        }
        events.push(event);
        if item.kind.has_parts() {
            events.push(json!({
                "type": "response.content_part.done", "item_id": item.id, "output_index": at,
                "content_index": 0, "part": item.part(),
            }));
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": at, "item": item.json()}),
        );
    }

    /// The response at its end.
    fn whole(&mut self, mut frame: Value, usage: Usage) -> Value {
        self.close(&mut Vec::new());
        frame["status"] = match self.cut {
            true => "incomplete".into(),
            false => "completed".into(),
        };
        if self.cut {
            frame["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        frame["output"] = self.items.iter().map(OutputItem::json).collect();
        let Usage {
            prompt,
            cached,
            answers,
        } = usage;
        frame["usage"] = json!({
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": answers,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + answers,
        });
        frame
    }
}

/// The events of a stream.
fn events(
    mut answers: Answers,
    mut output: ResponseOutput,
    frame: Value,
) -> impl futures_core::Stream<Item = Result<Event, Infallible>> {
    stream! {
        let mut number = 0u64;
        let mut numbered = move |mut event: Value| {
            event["sequence_number"] = number.into();
            number += 1;
            let name = event["type"].as_str().unwrap_or_default().to_owned();
            Ok(Event::default().event(name).data(event.to_string()))
        };
        yield numbered(json!({"type": "response.created", "response": frame}));
        yield numbered(json!({"type": "response.in_progress", "response": frame}));
        loop {
            let taken = match answers.next().await {
                Ok(Some((_, update))) => output.take(update),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match taken {
                Ok(events) => {
                    for event in events {
                        yield numbered(event);
                    }
                }
                Err(error) => {
                    let mut failed = frame.clone();
                    failed["status"] = "failed".into();
                    failed["error"] = json!({"code": "server_error", "message": error.json()["error"]["message"]});
                    yield numbered(json!({"type": "response.failed", "response": failed}));
                    return;
                }
            }
        }
        let mut events = Vec::new();
        output.close(&mut events);
        for event in events {
            yield numbered(event);
        }
        let kind = match output.cut {
            true => "response.incomplete",
            false => "response.completed",
        };
        let whole = output.whole(frame, answers.usage());
        yield numbered(json!({"type": kind, "response": whole}));
    }
}
