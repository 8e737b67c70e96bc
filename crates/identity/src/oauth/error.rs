//! Refusals as OAuth has them: an error code and words for a developer (RFC 6749, 5.2).

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use web::{Problem, Verbatim};

use super::{OpenError, token::not_cached};

const BASIC: &str = "Basic realm=\"OAuth\", charset=\"UTF-8\"";

/// What a client did wrong, or what failed on our side.
#[derive(Debug)]
pub(super) enum Refusal {
    OAuth {
        status: StatusCode,
        error: &'static str,
        description: Cow<'static, str>,
        /// What to send instead, with a 401.
        challenge: Option<&'static str>,
        /// When trying again makes sense, in seconds.
        retry_after: Option<u64>,
    },
    /// A failure of ours, or of HTTP rather than of OAuth.
    Problem(Problem),
}

/// Words as an error's description may have them: no quotation mark, no backslash, ASCII only (RFC 6749, 5.2).
pub(super) fn described(words: &str) -> String {
    let allowed = |c: char| matches!(c, ' '..='~') && c != '\\';
    words.replace('"', "'").chars().map(|c| if allowed(c) { c } else { '?' }).collect()
}

impl Refusal {
    pub(super) fn new(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Refusal::OAuth {
            status: StatusCode::BAD_REQUEST,
            error,
            description: description.into(),
            challenge: None,
            retry_after: None,
        }
    }

    /// What is wrong with a body that could not be read, as this error. What HTTP has words of its own for stays a problem.
    pub(super) fn of_body(problem: Problem, error: &'static str) -> Self {
        match problem.status() {
            StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Refusal::new(error, problem.detail().to_owned())
            }
            _ => Refusal::Problem(problem),
        }
    }

    pub(super) fn invalid_request(description: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new("invalid_request", description)
    }

    pub(super) fn invalid_grant(description: &'static str) -> Self {
        Refusal::new("invalid_grant", description)
    }

    /// A client that is not who it says it is.
    pub(super) fn invalid_client(description: &'static str) -> Self {
        Refusal::OAuth {
            status: StatusCode::UNAUTHORIZED,
            error: "invalid_client",
            description: description.into(),
            challenge: Some(BASIC),
            retry_after: None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Problem(problem) => problem.into_response(),
            Refusal::OAuth { status, error, description, challenge, retry_after } => {
                let body = json!({"error": error, "error_description": described(&description)});
                let mut response = (status, body.to_string()).into_response();
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                not_cached(headers);
                if let Some(challenge) = challenge {
                    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
                }
                if let Some(seconds) = retry_after {
                    headers.insert(header::RETRY_AFTER, seconds.into());
                }
                response.extensions_mut().insert(Verbatim);
                response
            }
        }
    }
}

impl From<db::Error> for Refusal {
    fn from(error: db::Error) -> Self {
        Refusal::Problem(error.into())
    }
}

impl From<OpenError> for Refusal {
    fn from(error: OpenError) -> Self {
        Refusal::Problem(match error {
            OpenError::Db(error) => error.into(),
            OpenError::Key(cause) => Problem::internal(cause),
        })
    }
}
