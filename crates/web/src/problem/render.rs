//! Writes a problem as a document.

use askama::Template;
use bytes::Bytes;
use serde::Serialize;

use super::{Invalid, Problem};
use crate::page::Frame;
use crate::xml::{DECLARATION, Xml};

/// The media type of a problem in JSON.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// The media type of a problem in XML.
pub(crate) const PROBLEM_XML: &str = "application/problem+xml";

/// The members of a problem document, as the OpenAPI documents describe them.
#[derive(Serialize, Template, utoipa::ToSchema)]
#[schema(as = Problem)]
#[template(path = "problem.html")]
pub(crate) struct ProblemDocument<'a> {
    /// The kind of problem: an address on this service with a page about it.
    #[serde(rename = "type")]
    #[schema(value_type = String, format = "uri-reference", examples("/problems/invalid-request"))]
    kind: String,
    #[serde(skip)]
    #[schema(ignore)]
    frame: Frame<'a>,
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
    /// All validation errors of the request, each with its pointer.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<Invalid>, required = false)]
    errors: &'a [Invalid],
}

/// The format in which a client gets a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Xml,
    /// A page, since browsers show neither of the others.
    Html,
}

/// The document, and its media type.
pub(crate) fn document(
    problem: &Problem,
    request_id: &str,
    frame: Frame<'_>,
    format: Format,
) -> (&'static str, Bytes) {
    let problem = &problem.0;
    let document = ProblemDocument {
        kind: format!("{}/problems/{}", frame.path, problem.kind.name),
        frame,
        title: problem.kind.title,
        status: problem.kind.status.as_u16(),
        detail: &problem.detail,
        instance: request_id,
        errors: &problem.errors,
    };
    match format {
        // Strings and numbers always serialise.
        Format::Json => (PROBLEM_JSON, serde_json::to_vec(&document).unwrap_or_default().into()),
        Format::Xml => (PROBLEM_XML, xml(&document).into()),
        Format::Html => ("text/html; charset=utf-8", document.render().unwrap_or_default().into()),
    }
}

/// The namespace that RFC 7807 gave its XML, and RFC 9457 kept.
pub(crate) const NAMESPACE: &str = "urn:ietf:rfc:7807";

fn xml(document: &ProblemDocument<'_>) -> Vec<u8> {
    let mut xml = Xml::after(format!(r#"{DECLARATION}<problem xmlns="{NAMESPACE}">"#).into());
    xml.text("type", &document.kind);
    xml.text("title", document.title);
    xml.value("status", document.status);
    xml.text("detail", document.detail);
    xml.text("instance", document.instance);
    if !document.errors.is_empty() {
        xml.each("errors", "error", document.errors, |xml, error| {
            xml.text("pointer", &error.pointer);
            xml.text("detail", &error.detail);
        });
    }
    xml.close("problem");
    // The detail may repeat text of the request, which may have any characters.
    xml.finish_replaced()
}
