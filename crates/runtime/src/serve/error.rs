//! Errors as OpenAI's clients read them. For example, `{"error": {"message": "..", "type":
//! "invalid_request_error", "param": "messages", "code": null}}` with the status 400.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::pool::Refused;
use crate::ErrorKind;

/// An error of a request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct ApiError {
    #[serde(skip)]
    #[schema(ignore)]
    pub(super) status: StatusCode,
    /// The mistake, and the way out.
    message: String,
    /// The kind: `invalid_request_error`, `rate_limit_error`, `server_error` ..
    #[serde(rename = "type")]
    kind: &'static str,
    /// The member of the request that is wrong, if one is.
    param: Option<String>,
    /// A word for programs, if there is one.
    code: Option<&'static str>,
}

/// The body of an answer that is an error.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ApiError,
}

impl ApiError {
    #[cold]
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            message: message.into(),
            kind,
            param: None,
            code: None,
        }
    }

    /// The request is wrong at `param`.
    pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> ApiError {
        let error = ApiError::new(StatusCode::BAD_REQUEST, "invalid_request_error", message);
        ApiError {
            param: Some(param.into()),
            ..error
        }
    }

    /// The prompt leaves no room for an answer.
    pub(super) fn too_long(param: &str, message: String) -> ApiError {
        ApiError {
            code: Some("context_length_exceeded"),
            ..ApiError::invalid(param, message)
        }
    }

    /// The same at another member of the request.
    pub(super) fn at(self, param: impl Into<String>) -> ApiError {
        ApiError {
            param: Some(param.into()),
            ..self
        }
    }

    /// The request names a thing that is not here.
    pub(super) fn not_found(message: impl Into<String>, code: &'static str) -> ApiError {
        let error = ApiError::new(StatusCode::NOT_FOUND, "invalid_request_error", message);
        ApiError {
            code: Some(code),
            ..error
        }
    }

    /// The server failed.
    pub(super) fn server(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    /// The request took too long.
    pub(super) fn late(seconds: f64) -> ApiError {
        let message = format!(
            "the request was not answered within {seconds} s, the server's limit; ask for fewer tokens, \
             or start the server with a longer --timeout"
        );
        let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message);
        ApiError {
            code: Some("timeout"),
            ..error
        }
    }

    /// The key is missing or wrong.
    pub(super) fn unauthorised() -> ApiError {
        let message = "the header `Authorization: Bearer KEY` is missing, or its key is wrong";
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "authentication_error", message);
        ApiError {
            code: Some("invalid_api_key"),
            ..error
        }
    }

    /// The path or its method is not one of the server's.
    pub(super) fn unknown_path(status: StatusCode, message: String) -> ApiError {
        ApiError::new(status, "invalid_request_error", message)
    }

    pub(super) fn refused(refused: Refused) -> ApiError {
        match refused {
            Refused::Full => ApiError {
                code: Some("queue_full"),
                ..ApiError::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "rate_limit_error",
                    "the queue is full; try again later",
                )
            },
            Refused::Closing => ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "server_error",
                "the server is about to end",
            ),
        }
    }

    /// An error of a generation.
    pub(super) fn of_generation(error: &crate::Error) -> ApiError {
        let message = error.to_string();
        match error.kind() {
            ErrorKind::TokenBudget => ApiError {
                code: Some("token_budget"),
                ..ApiError::invalid("max_completion_tokens", message)
            },
            ErrorKind::ContextLength => ApiError::too_long("messages", message),
            ErrorKind::Chat
            | ErrorKind::TemplateRaised
            | ErrorKind::TemplateFailed
            | ErrorKind::TemplateLimit => ApiError::invalid("messages", message),
            ErrorKind::Tool => ApiError::invalid("tools", message),
            ErrorKind::InvalidParameter | ErrorKind::Constraint => {
                ApiError::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
            }
            _ => ApiError::server(message),
        }
    }

    /// The mistake, and the way out.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The body, for an event of a stream.
    pub(super) fn json(&self) -> Value {
        json!({ "error": self })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(ErrorBody { error: self })).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let second = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, second);
        }
        response
    }
}
