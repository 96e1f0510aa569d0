//! `/play/explain`: what becomes of a constraint, of a tool's parameters, and of a text. For example, it says that the
//! text `{"a": tru}` breaks off at byte 9, and that of a tool's schema OpenAI's strict mode refuses `/0/function/parameters/minProperties`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use constraint::{Constraint, Description, SchemaOptions};
use fsm_index::TokenId;
use schema_regex::automaton::SchemaAutomaton;
use schema_regex::{Options, parse_str_with};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::ask::{Ask, AskedPrompt};
use super::body;
use super::error::ApiError;
use super::server::{ServerState, Shared};
use super::shapes;
use super::tool::{CallChoice, OfferedTool, ToolKind, read_choice};
use super::wire::{Common, Number, StructuredOutputs};
use crate::follow::{follow, tokens_of};
use crate::providers::reports;
use crate::tokenizer::Surround;

/// A constraint or tools to explain.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `explain` reads it")]
enum Explain {
    Rule(ExplainRule),
    Tools(ExplainTools),
}

/// A constraint to explain, and a text to follow under it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExplainRule {
    /// The constraint, as of `/v1/chat/completions`.
    structured_outputs: StructuredOutputs,
    /// A text that is followed.
    #[serde(default)]
    text: Option<String>,
}

/// Tools to explain, and a text to follow as the input of one of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExplainTools {
    /// The tools, as of `/v1/chat/completions` or `/v1/responses`.
    #[schema(value_type = Vec<shapes::AnyTool>)]
    tools: Vec<Value>,
    /// The calls, as of `/v1/chat/completions`.
    #[serde(default)]
    #[schema(value_type = Option<shapes::Choice>)]
    tool_choice: Option<Value>,
    /// A text that is followed.
    #[serde(default)]
    text: Option<String>,
    /// The name of the tool whose input the text is; the first unless told.
    #[serde(default)]
    tool: Option<String>,
}

/// The member that tells tools from a constraint.
#[derive(Deserialize)]
struct RuleOrTools {
    #[serde(default)]
    tools: Option<IgnoredAny>,
}

/// Says what becomes of each keyword of a schema or of the parameters of tools, and where a text is refused.
#[utoipa::path(post, path = "/play/explain", request_body = Explain, responses(
    (status = 200, description = "`accepted`, `error`, `ledger`, `providers`, and `text` for a text that was followed; the places of tools begin with a tool's number in the list"),
    (status = 400, description = "The request is wrong", body = super::error::ErrorBody),
))]
pub(super) async fn explain(State(server): Shared, body: Bytes) -> Result<Json<Value>, ApiError> {
    let until = Instant::now() + server.config.timeout;
    let kind: RuleOrTools = body::read_alone(&body)?;
    let explained = match kind.tools {
        None => {
            let request: ExplainRule = body::read_alone(&body)?;
            let description = request.structured_outputs.bound()?.description;
            let explain =
                move |server: &ServerState| rule(server, &description, request.text.as_deref());
            server.prepare(until, explain).await?
        }
        Some(_) => {
            let request: ExplainTools = body::read_alone(&body)?;
            let explain = move |server: &ServerState| tools(server, request);
            server.prepare(until, explain).await?
        }
    };
    Ok(Json(explained.json()))
}

/// The answer.
#[derive(Default)]
struct Explained {
    error: Option<String>,
    /// The place of the error in a schema, if it is in one.
    pointer: Option<String>,
    ledger: Vec<Value>,
    /// A report for each provider.
    providers: Vec<Value>,
    /// The text as it was followed.
    text: Option<Value>,
}

impl Explained {
    /// Adds what becomes of the keywords of a schema that stands at `place`.
    fn add_schema(&mut self, server: &ServerState, schema: &str, place: &str) {
        let below = |entry: &mut Value| {
            if let Some(pointer) = entry["pointer"].as_str() {
                entry["pointer"] = format!("{place}{pointer}").into();
            }
        };
        // The ledger speaks of the letter of JSON Schema, as `tokenmold explain` does.
        if let Ok(schema) = parse_str_with(schema, &server.config.reading) {
            let (_, entries) = SchemaAutomaton::explain(schema, &Options::default());
            let mut entries: Vec<Value> = entries.iter().map(|entry| json!(entry)).collect();
            entries.iter_mut().for_each(below);
            self.ledger.append(&mut entries);
        }
        let Ok(schema) = serde_json::from_str(schema) else {
            return;
        };
        for (at, report) in reports(&schema).iter().enumerate() {
            let mut report = json!(report);
            let found = report["findings"].as_array_mut();
            found.into_iter().flatten().for_each(below);
            let known = self.providers.get_mut(at);
            match known.and_then(|known| known["findings"].as_array_mut()) {
                None => self.providers.push(report),
                Some(all) => {
                    all.extend(report["findings"].as_array().into_iter().flatten().cloned());
                }
            }
        }
    }

    fn json(self) -> Value {
        let mut told = json!({
            "accepted": self.error.is_none(),
            "error": self.error,
            "ledger": self.ledger,
            "providers": self.providers,
        });
        if let Some(pointer) = self.pointer {
            told["pointer"] = pointer.into();
        }
        if let Some(text) = self.text {
            told["text"] = text;
        }
        told
    }
}

/// Explains a constraint.
fn rule(
    server: &ServerState,
    description: &Description,
    text: Option<&str>,
) -> Result<Explained, ApiError> {
    let mut told = Explained::default();
    if let Description::JsonSchema { schema, .. } = description {
        told.add_schema(server, schema, "");
    }
    match server.constraint(description) {
        Ok(constraint) => {
            told.text = text
                .map(|text| followed(server, &constraint, text))
                .transpose()?;
        }
        Err(error) => {
            told.error = Some(error.to_string());
            if let constraint::Error::Schema(error) = &*error {
                told.pointer = Some(error.pointer().to_owned());
            }
        }
    }
    Ok(told)
}

/// Explains tools: each by itself, and all of them in the form of the model's family.
fn tools(server: &ServerState, request: ExplainTools) -> Result<Explained, ApiError> {
    let ExplainTools {
        tools: written,
        tool_choice,
        text,
        tool: named,
    } = request;
    let mut told = Explained::default();
    let places: Vec<String> = written
        .iter()
        .enumerate()
        .map(|(at, tool)| parameters_at(at, tool))
        .collect();
    let mut offered = OfferedTool::read(written)?;
    for (tool, place) in offered.iter().zip(&places) {
        if let ToolKind::Function(schema) = &tool.kind {
            told.add_schema(server, &schema.to_string(), place);
        }
    }
    let about = match &named {
        Some(name) => offered.iter().find(|tool| tool.name == *name),
        None => offered.first(),
    };
    if let (None, Some(name)) = (about, &named) {
        return Err(ApiError::invalid(
            "tool",
            format!("there is no tool {name:?}"),
        ));
    }
    let rule = about.and_then(|tool| match &tool.kind {
        ToolKind::Function(schema) => Some(Description::JsonSchema {
            schema: schema.to_string(),
            options: SchemaOptions::default(),
        }),
        ToolKind::Custom(rule) => rule.clone(),
    });
    if let (Some(rule), Some(text)) = (rule, &text)
        && let Ok(constraint) = server.constraint(&rule)
    {
        told.text = Some(followed(server, &constraint, text)?);
    }
    let choice = read_choice(tool_choice, &mut offered)?;
    told.error = refusal(server, offered, choice)?;
    Ok(told)
}

/// The place of a tool's parameters in the list of tools.
fn parameters_at(at: usize, tool: &Value) -> String {
    let wrapped = tool.get("function").is_some_and(Value::is_object);
    match wrapped {
        true => format!("/{at}/function/parameters"),
        false => format!("/{at}/parameters"),
    }
}

/// Returns why an answer with these tools cannot be bound, if it cannot.
fn refusal(
    server: &ServerState,
    tools: Vec<OfferedTool>,
    choice: CallChoice,
) -> Result<Option<String>, ApiError> {
    if tools.is_empty() {
        return Ok(None);
    }
    let unsaid = |param| Number::new(param, None);
    let ask = Ask {
        asked: AskedPrompt::Chat(vec![json!({"role": "user", "content": ""})]),
        tools,
        choice,
        parallel: true,
        reasons: true,
        bound: None,
        variables: Map::new(),
        settings: Common::default().settings(unsaid("max_tokens"), unsaid("logprobs"), server)?,
    };
    Ok(ask
        .prepare(server)
        .err()
        .map(|error| error.message().to_owned()))
}

/// Follows a text under a constraint.
fn followed(server: &ServerState, constraint: &Constraint, text: &str) -> Result<Value, ApiError> {
    let vocabulary = server.tokenizer.vocabulary();
    let cut = server.tokenizer.encode(text, Surround::Omit);
    let cut = cut.map_err(|error| ApiError::invalid("text", error.to_string()))?;
    let cut: Vec<TokenId> = cut.into_iter().map(TokenId::new).collect();
    let tokens = tokens_of(vocabulary, Some(&cut), text.as_bytes());
    let tokens = tokens.map_err(|byte| {
        ApiError::invalid(
            "text",
            format!("the vocabulary has no token for the byte {byte:#04x}"),
        )
    })?;
    let mut steps = Vec::new();
    let mut guide = constraint.guide();
    let end = follow(&mut *guide, text.as_bytes(), &tokens, &mut |step| {
        steps.push(json!(step));
    });
    let mut told = match end {
        Ok(()) => json!({"accepted": true}),
        Err(refusal) => {
            let mut told = json!(refusal);
            told["accepted"] = false.into();
            told
        }
    };
    told["steps"] = steps.into();
    Ok(told)
}
