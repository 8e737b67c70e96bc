//! The error of all operations: a problem document by RFC 9457.
//!
//! A [`Problem`] has two halves. The public one (kind, detail, errors) is what the client reads; the cause is
//! for the log. Nothing can print the cause: only the edge takes it out, once, to log it.

mod kinds;
mod render;

use std::{borrow::Cow, error::Error, sync::Arc};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

pub use kinds::*;
pub(crate) use render::{Format, NAMESPACE, PROBLEM_JSON, PROBLEM_XML, ProblemDocument, document};

/// The kind of a problem: a stable name with a page at `/problems/{name}`.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    /// The text of the page about this problem.
    pub help: &'static str,
}

/// A validation error: what is wrong with one part of a request, with its pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Invalid {
    /// Where it is: `#/dates/0` in the body, `?limit` in the query, `{eventId}` in the path, or a header's name.
    #[schema(examples("#/dates/0"))]
    pub pointer: String,
    /// What to change.
    #[schema(value_type = String, examples("must be a calendar date like 2026-05-17"))]
    pub detail: Cow<'static, str>,
}

/// An error answer to a client.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: &'static Kind,
    detail: Cow<'static, str>,
    errors: Vec<Invalid>,
    headers: HeaderMap,
    cause: Option<Cause>,
}

type Cause = Box<dyn Error + Send + Sync>;

/// The result of a handler.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    pub fn new(kind: &'static Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        Problem(Box::new(Parts {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            headers: HeaderMap::new(),
            cause: None,
        }))
    }

    /// A request with these validation errors.
    pub fn invalid(errors: Vec<Invalid>) -> Self {
        Problem::broken(&INVALID_REQUEST, errors)
    }

    /// The same as another kind, for services that distinguish malformed bodies from those that break a rule.
    pub fn broken(kind: &'static Kind, errors: Vec<Invalid>) -> Self {
        let detail = match errors.as_slice() {
            [one] => {
                let end = if one.detail.ends_with('?') { "" } else { "." };
                format!("{} {}{end}", one.pointer, one.detail)
            }
            many => format!("{} things are wrong with this request; see errors.", many.len()),
        };
        let mut problem = Problem::new(kind, detail);
        problem.0.errors = errors;
        problem
    }

    /// The same with the validation errors of another problem, if both have validation errors.
    #[must_use]
    pub(crate) fn with_errors_of(self, other: Problem) -> Self {
        if self.0.errors.is_empty() || other.0.errors.is_empty() {
            return self;
        }
        let kind = self.0.kind;
        Problem::broken(kind, [self.0.errors, other.0.errors].concat())
    }

    /// The same with more validation errors, if it has any.
    pub(crate) fn and_invalid(mut self, more: Vec<Invalid>) -> Self {
        if self.0.errors.is_empty() {
            return self;
        }
        let mut errors = std::mem::take(&mut self.0.errors);
        errors.extend(more);
        Problem::invalid(errors)
    }

    /// A request with one validation error.
    pub fn invalid_at(pointer: impl Into<String>, detail: impl Into<Cow<'static, str>>) -> Self {
        Problem::invalid(vec![Invalid { pointer: pointer.into(), detail: detail.into() }])
    }

    /// An internal error. The answer says that the client is not at fault; the cause is only logged.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Problem::new(
            &INTERNAL,
            "The service failed to answer this request. It is not your fault; trying again may help.",
        )
        .because(cause)
    }

    /// Adds the cause, for the log only.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Replaces the detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = detail.into();
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.append(name, value);
        self
    }

    /// Adds a `Retry-After` header.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, seconds.into())
    }

    pub fn status(&self) -> StatusCode {
        self.0.kind.status
    }

    pub fn kind(&self) -> &'static Kind {
        self.0.kind
    }

    /// The detail that the client gets.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The validation errors of the request.
    pub fn errors(&self) -> &[Invalid] {
        &self.0.errors
    }

    pub(crate) fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// The problem for the bare error status of a library.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        let kind = STANDARD.iter().copied().find(|kind| kind.status == status);
        let fallback = if status.is_server_error() { &INTERNAL } else { &INVALID_REQUEST };
        let kind = kind.unwrap_or(fallback);
        Problem::new(kind, kind.help)
    }
}

impl IntoResponse for Problem {
    /// Only the status and headers: the edge writes the document, since it knows the request's id and the client's `Accept`
    /// header.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.headers_mut().extend(self.0.headers.clone());
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl From<db::Error> for Problem {
    fn from(error: db::Error) -> Self {
        match error {
            db::Error::Busy => Problem::new(&UNAVAILABLE, "The service is busy. Try again in a moment.")
                .retry_after(1),
            db::Error::Unavailable(_) => Problem::new(
                &UNAVAILABLE,
                "The service cannot reach its storage just now. Nothing of this request is known to have happened; \
                 try again in a moment.",
            )
            .retry_after(5)
            .because(error),
            error => Problem::internal(error),
        }
    }
}
