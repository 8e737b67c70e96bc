//! A problem as the document that a client reads.

use bytes::Bytes;
use serde::Serialize;

use super::{Invalid, Problem};

/// The media type of a problem in JSON.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// The members of a problem document, as the OpenAPI documents describe them.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument<'a> {
    /// The kind of problem: an address on this service with a page about it.
    #[serde(rename = "type")]
    #[schema(value_type = String, format = "uri-reference", examples("/problems/invalid-request"))]
    kind: String,
    /// The kind in words.
    #[schema(value_type = String, examples("Invalid request"))]
    title: &'a str,
    /// The status code of the answer.
    #[schema(examples(400))]
    status: u16,
    /// What happened this time, and what to change.
    #[schema(value_type = String)]
    detail: &'a str,
    /// The id of the request, as in `X-Request-Id`.
    #[schema(value_type = String)]
    instance: &'a str,
    /// Everything that is wrong with the request, each with its place.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Option<Vec<Invalid>>)]
    errors: &'a [Invalid],
}

pub(crate) fn document(problem: &Problem, request_id: &str) -> (&'static str, Bytes) {
    let problem = &problem.0;
    let document = ProblemDocument {
        kind: format!("/problems/{}", problem.kind.name),
        title: problem.kind.title,
        status: problem.kind.status.as_u16(),
        detail: &problem.detail,
        instance: request_id,
        errors: &problem.errors,
    };
    // Strings and numbers always serialise.
    let body = serde_json::to_vec(&document).unwrap_or_default();
    (PROBLEM_JSON, body.into())
}
