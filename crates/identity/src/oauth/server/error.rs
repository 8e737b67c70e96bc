//! Error responses: an error code and a description for a developer (RFC 6749, 5.2).

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use web::{KeepBody, Problem};

use super::{keys::KeyError, response::no_store};

const BASIC: &str = "Basic realm=\"OAuth\", charset=\"UTF-8\"";

/// An error of a client, or a failure of the server.
#[derive(Debug)]
pub(super) enum ErrorResponse {
    OAuth {
        status: StatusCode,
        error: &'static str,
        description: Cow<'static, str>,
        /// The `WWW-Authenticate` header of a 401.
        challenge: Option<&'static str>,
        /// After how many seconds the client may retry.
        retry_after: Option<u64>,
    },
    /// A failure of the server, or an error of HTTP rather than of OAuth.
    Problem(Problem),
}

/// A text with the characters that a description may have: no quotation mark, no backslash, ASCII only (RFC 6749, 5.2).
pub(super) fn described(text: &str) -> String {
    let allowed = |c: char| matches!(c, ' '..='~') && c != '\\';
    text.replace('"', "'").chars().map(|c| if allowed(c) { c } else { '?' }).collect()
}

impl ErrorResponse {
    pub(super) fn new(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        ErrorResponse::OAuth {
            status: StatusCode::BAD_REQUEST,
            error,
            description: description.into(),
            challenge: None,
            retry_after: None,
        }
    }

    /// A body that could not be read, as this error. Errors with a status of their own in HTTP stay problems.
    pub(super) fn of_body(problem: Problem, error: &'static str) -> Self {
        match problem.status() {
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                ErrorResponse::new(error, problem.detail().to_owned())
            }
            _ => ErrorResponse::Problem(problem),
        }
    }

    pub(super) fn invalid_request(description: impl Into<Cow<'static, str>>) -> Self {
        ErrorResponse::new("invalid_request", description)
    }

    pub(super) fn invalid_grant(description: &'static str) -> Self {
        ErrorResponse::new("invalid_grant", description)
    }

    /// A client that failed to authenticate.
    pub(super) fn invalid_client(description: &'static str) -> Self {
        ErrorResponse::OAuth {
            status: StatusCode::UNAUTHORIZED,
            error: "invalid_client",
            description: description.into(),
            challenge: Some(BASIC),
            retry_after: None,
        }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        match self {
            ErrorResponse::Problem(problem) => problem.into_response(),
            ErrorResponse::OAuth { status, error, description, challenge, retry_after } => {
                let body = json!({"error": error, "error_description": described(&description)});
                let mut response = (status, body.to_string()).into_response();
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                no_store(headers);
                if let Some(challenge) = challenge {
                    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
                }
                if let Some(seconds) = retry_after {
                    headers.insert(header::RETRY_AFTER, seconds.into());
                }
                response.extensions_mut().insert(KeepBody);
                response
            }
        }
    }
}

impl From<db::Error> for ErrorResponse {
    fn from(error: db::Error) -> Self {
        ErrorResponse::Problem(error.into())
    }
}

impl From<KeyError> for ErrorResponse {
    fn from(error: KeyError) -> Self {
        ErrorResponse::Problem(match error {
            KeyError::Db(error) => error.into(),
            KeyError::Key(cause) => Problem::internal(cause),
        })
    }
}
