//! The paths of the server, and what all of them have in common. For example, `GET /health` is
//! answered without a key, and `GET /v1/models` lists the one model.

use std::any::Any;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use utoipa::{OpenApi, ToSchema};

use super::error::ApiError;
use super::server::{ServerState, Shared};
use super::{body, chat, completions, decisions, explain, play, responses, shapes};
use crate::tokenizer::Surround;

/// The description of the server for programs.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tokenmold",
        description = "Structured generation in the ways of OpenAI's API."
    ),
    paths(
        chat::complete,
        completions::complete,
        responses::respond,
        decisions::decide,
        models,
        model,
        tokenize,
        detokenize,
        health,
        metrics,
        description,
        explain::explain,
    )
)]
struct Description;

pub(super) fn router(server: &Arc<ServerState>) -> Router {
    let keyed = Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/completions", post(completions::complete))
        .route("/v1/responses", post(responses::respond))
        .route("/v1/decisions", post(decisions::decide))
        .route("/play/steps", post(play::steps))
        .route("/play/explain", post(explain::explain))
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(model))
        .route("/tokenize", post(tokenize))
        .route("/detokenize", post(detokenize))
        .route_layer(middleware::from_fn_with_state(server.clone(), check_key));
    let mut router = Router::new()
        .route("/", get(play::page))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(description))
        .merge(keyed)
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(failed))
        .layer(DefaultBodyLimit::max(server.config.max_body))
        .layer(middleware::from_fn_with_state(server.clone(), count));
    if server.config.cors {
        router = router.layer(CorsLayer::permissive());
    }
    router.with_state(server.clone())
}

/// The answer to a request whose handler panicked.
fn failed(_: Box<dyn Any + Send>) -> Response {
    let message = "this request failed inside the server; this is a mistake of the server";
    ApiError::server(message).into_response()
}

/// Refuses requests without the key, if there is one.
async fn check_key(State(server): Shared, request: Request, next: Next) -> Response {
    if let Some(key) = &server.config.api_key {
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|given| given.as_bytes().strip_prefix(b"Bearer "));
        if !given.is_some_and(|given| is_same(given, key.as_bytes())) {
            return ApiError::unauthorised().into_response();
        }
    }
    next.run(request).await
}

/// Compares two keys in a time that does not tell how much of them is alike.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// Counts requests, and gives errors of the framework the form of all others.
async fn count(
    State(server): Shared,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    // Paths that nobody has are counted as one: there are any number of them.
    let path = matched.as_ref().map_or("other", MatchedPath::as_str);
    let status = response.status();
    server.metrics.answered(path, status.as_u16());
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let most = server.config.max_body;
        let message = format!("the body has more than {most} bytes, the server's limit");
        return ApiError::unknown_path(status, message).into_response();
    }
    response
}

async fn unknown(uri: Uri) -> ApiError {
    let message = format!(
        "there is no path {}; /openapi.json lists those that there are",
        uri.path()
    );
    ApiError::unknown_path(StatusCode::NOT_FOUND, message)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!(
        "{} is not asked by {method}; /openapi.json says how",
        uri.path()
    );
    ApiError::unknown_path(StatusCode::METHOD_NOT_ALLOWED, message)
}

fn described(server: &ServerState) -> Value {
    json!({
        "id": server.config.model_name,
        "object": "model",
        "created": server.began,
        "owned_by": "tokenmold",
        "max_model_len": server.context,
    })
}

/// Lists the model.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, description = "The one model")))]
async fn models(State(server): Shared) -> Json<Value> {
    Json(json!({"object": "list", "data": [described(&server)]}))
}

/// Describes a model.
#[utoipa::path(get, path = "/v1/models/{name}", params(("name" = String, Path, description = "The model's name")), responses(
    (status = 200, description = "The model"),
    (status = 404, description = "There is no such model", body = super::error::ErrorBody),
))]
async fn model(
    State(server): Shared,
    axum::extract::Path(name): axum::extract::Path<String>,
) -> Result<Json<Value>, ApiError> {
    server.check_model(Some(&name))?;
    Ok(Json(described(&server)))
}

/// A text or a chat to cut into tokens.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only described: `tokenize` reads it")]
enum Tokenize {
    Text(TokenizeText),
    Chat(TokenizeChat),
}

/// A text to cut into tokens.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenizeText {
    /// The model's name.
    #[serde(default)]
    model: Option<String>,
    /// The text.
    prompt: String,
    /// False for the tokens of the text alone, without those that the tokenizer puts around one.
    #[serde(default)]
    add_special_tokens: Option<bool>,
}

/// A chat to cut into tokens.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenizeChat {
    /// The model's name.
    #[serde(default)]
    model: Option<String>,
    /// The messages, which the model's template writes out.
    #[schema(value_type = Vec<shapes::ChatMessage>, min_items = 1)]
    messages: Vec<Value>,
    /// True for the tokens that the tokenizer puts around a text as well: most templates write them.
    #[serde(default)]
    add_special_tokens: Option<bool>,
}

/// The members that tell a text from a chat.
#[derive(Deserialize)]
struct TextOrChat {
    #[serde(default)]
    prompt: Option<IgnoredAny>,
    #[serde(default)]
    messages: Option<IgnoredAny>,
}

/// Cuts a text into tokens.
#[utoipa::path(post, path = "/tokenize", request_body = Tokenize, responses(
    (status = 200, description = "The numbers of the tokens"),
    (status = 400, description = "The request is wrong", body = super::error::ErrorBody),
))]
async fn tokenize(State(server): Shared, body: Bytes) -> Result<Json<Value>, ApiError> {
    let given: TextOrChat = body::read_alone(&body)?;
    let (model, text, add) = match (given.prompt, given.messages) {
        (Some(_), None) => {
            let asked: TokenizeText = body::read_alone(&body)?;
            let add = asked.add_special_tokens.unwrap_or(true);
            (asked.model, asked.prompt, add)
        }
        (None, Some(_)) => {
            let asked: TokenizeChat = body::read_alone(&body)?;
            let messages = chat::messages(asked.messages)?;
            let written = server.chat.prompt(None, &[], &messages);
            let written = written.map_err(|error| ApiError::of_generation(&error))?;
            let add = asked.add_special_tokens.unwrap_or(false);
            (asked.model, written, add)
        }
        _ => {
            return Err(ApiError::invalid(
                "prompt",
                "give `prompt` or `messages`, one of them",
            ));
        }
    };
    server.check_model(model.as_deref())?;
    let surround = match add {
        true => Surround::Add,
        false => Surround::Omit,
    };
    let tokens = server.tokenizer.encode(&text, surround);
    let tokens = tokens.map_err(|error| ApiError::invalid("prompt", error.to_string()))?;
    let texts: Vec<String> = tokens
        .iter()
        .map(|token| server.tokenizer.describe(*token))
        .collect();
    let count = tokens.len();
    Ok(Json(
        json!({"count": count, "max_model_len": server.context, "tokens": tokens, "token_strs": texts}),
    ))
}

/// Tokens to write out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Detokenize {
    /// The model's name.
    #[serde(default)]
    model: Option<String>,
    /// The numbers of the tokens.
    tokens: Vec<u32>,
}

/// Writes tokens out.
#[utoipa::path(post, path = "/detokenize", request_body = Detokenize, responses(
    (status = 200, description = "The text, with the names of tokens that are structure"),
    (status = 400, description = "The request is wrong", body = super::error::ErrorBody),
))]
async fn detokenize(State(server): Shared, body: Bytes) -> Result<Json<Value>, ApiError> {
    let asked: Detokenize = body::read_alone(&body)?;
    server.check_model(asked.model.as_deref())?;
    let unknown = asked
        .tokens
        .iter()
        .position(|token| *token as usize >= server.width);
    if let Some(at) = unknown {
        let message = format!(
            "the model has {} tokens, and none of the number {}",
            server.width, asked.tokens[at]
        );
        return Err(ApiError::invalid(format!("tokens[{at}]"), message));
    }
    Ok(Json(
        json!({"prompt": server.tokenizer.decode_with_structure(&asked.tokens)}),
    ))
}

/// Says that the server answers, and how much it has to do.
#[utoipa::path(get, path = "/health", responses((status = 200, description = "The numbers of texts that wait and run")))]
async fn health(State(server): Shared) -> Json<Value> {
    let (waiting, running) = server.pool.load();
    Json(
        json!({"status": "ok", "model": server.config.model_name, "waiting": waiting, "running": running}),
    )
}

/// Tells the server's figures to Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Figures in Prometheus' text format", content_type = "text/plain")))]
async fn metrics(State(server): Shared) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], server.metrics.text())
}

/// Describes the server's paths.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, description = "The description, as OpenAPI has it")))]
async fn description(State(server): Shared) -> Result<Json<Value>, ApiError> {
    let described = serde_json::to_value(Description::openapi());
    let mut described = described.map_err(|error| ApiError::server(error.to_string()))?;
    let schemas = described.pointer_mut("/components/schemas");
    for schema in schemas
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(Map::values_mut)
    {
        // A body of two types has the members of both.
        for place in ["/properties/model", "/allOf/0/properties/model"] {
            if let Some(model) = schema.pointer_mut(place) {
                model["enum"] = json!([server.config.model_name, null]);
            }
        }
    }
    Ok(Json(described))
}
