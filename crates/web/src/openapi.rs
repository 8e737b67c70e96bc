//! Completes the OpenAPI document with what all operations have in common.

mod data;
mod examples;
mod formats;
mod routes;

pub use data::text_pattern;
pub use examples::{body_example, body_examples, parameter_example};
pub use formats::{accepted_formats, answer_in_xml, listed};
pub use routes::{Answer, ApiOperation, ApiRoutes, Handlers, describe};
pub(crate) use routes::{Call, methods};
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Content, Header, OpenApi, Ref, RefOr, Response, ResponseBuilder, ResponsesBuilder,
        path::{Operation, PathItem},
        schema::{ObjectBuilder, Schema, Type},
        security::SecurityRequirement,
        xml::XmlBuilder,
    },
};

use crate::negotiate::JSON;
use crate::problem::{
    FORBIDDEN, INVALID_REQUEST, Invalid, Kind, NAMESPACE, NOT_ACCEPTABLE, PROBLEM_JSON, PROBLEM_XML,
    ProblemDocument, TOO_LARGE, TOO_MANY_REQUESTS, TOO_SLOW, UNAUTHORIZED, UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
};

/// The formats in which a service sends problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemFormats {
    Json,
    JsonAndXml,
}

/// Adds to each operation the formats of its body, the problems that operations of its kind share, and the headers of every
/// answer. Adds the problem document to every problem, and the general rules for text and numbers to the schemas.
pub fn complete(mut document: OpenApi, problem_formats: ProblemFormats) -> OpenApi {
    formats::describe_bodies(&mut document);
    let public = document.security.is_none();
    let mut some_need_scopes = false;
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            some_need_scopes |= needs_scopes(operation);
            complete_operation(operation, public, problem_formats);
        }
    }
    data::describe(&mut document);
    let components = document.components.get_or_insert_default();
    let (mut invalid, mut problem) = (Invalid::schema(), ProblemDocument::schema());
    if problem_formats == ProblemFormats::JsonAndXml {
        name_elements(&mut invalid, &mut problem);
    }
    components.schemas.insert(Invalid::name().into(), invalid);
    components.schemas.insert(ProblemDocument::name().into(), problem);
    for kind in SHARED {
        let response = problem_response(kind.help, problem_formats);
        components.responses.insert(component_name(kind), with_headers(response, kind).into());
    }
    if some_need_scopes {
        let response =
            problem_response("The access token lacks the scope that the operation needs.", problem_formats);
        components.responses.insert(component_name(&FORBIDDEN), with_headers(response, &FORBIDDEN).into());
    }
    document
}

/// The document with the public address of its service, for readers outside of the service. Without an address it is unchanged.
pub fn at_address(mut document: OpenApi, address: &str) -> OpenApi {
    if address.is_empty() {
        return document;
    }
    for server in document.servers.iter_mut().flatten().filter(|server| server.url.starts_with('/')) {
        server.url = format!("{address}{}", server.url.trim_end_matches('/'));
    }
    document
}

const SHARED: &[&Kind] = &[
    &INVALID_REQUEST,
    &UNAUTHORIZED,
    &NOT_ACCEPTABLE,
    &TOO_SLOW,
    &TOO_LARGE,
    &UNSUPPORTED_MEDIA_TYPE,
    &TOO_MANY_REQUESTS,
    &UNAVAILABLE,
];

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().filter_map(Option::as_mut)
}

fn complete_operation(operation: &mut Operation, public: bool, problem_formats: ProblemFormats) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if status.starts_with(['4', '5']) && response.content.is_empty() {
            response.content = problem_response("", problem_formats).content;
        }
        response.headers.insert("X-Request-Id".into(), request_id().into());
    }
    // A list of one empty requirement means that no credentials are needed.
    let open =
        operation.security.as_ref().map_or(public, |all| all.iter().all(|one| *one == Default::default()));
    // Unknown query parameters get 400, also from an operation without parameters.
    let mut problems = vec![&INVALID_REQUEST, &TOO_MANY_REQUESTS, &UNAVAILABLE];
    if has_response_body(operation) {
        problems.push(&NOT_ACCEPTABLE);
    }
    if !open {
        problems.push(&UNAUTHORIZED);
    }
    if needs_scopes(operation) {
        problems.push(&FORBIDDEN);
    }
    if operation.request_body.is_some() {
        problems.extend([&TOO_SLOW, &TOO_LARGE, &UNSUPPORTED_MEDIA_TYPE]);
    }
    let mut shared = ResponsesBuilder::new();
    for kind in problems {
        let name = component_name(kind);
        shared = shared.response(kind.status.as_str(), RefOr::Ref(Ref::from_response_name(name)));
    }
    for (status, response) in shared.build().responses {
        operation.responses.responses.entry(status).or_insert(response);
    }
}

fn needs_scopes(operation: &Operation) -> bool {
    operation.security.iter().flatten().any(has_scopes)
}

fn has_scopes(requirement: &SecurityRequirement) -> bool {
    let scopes = serde_json::to_value(requirement).unwrap_or_default();
    scopes.as_object().into_iter().flatten().any(|(_, scopes)| scopes != &json!([]))
}

/// Whether an operation can be called without credentials.
pub(crate) fn needs_no_credentials(operation: &Operation, document: &OpenApi) -> bool {
    let security = operation.security.as_ref().or(document.security.as_ref());
    security.is_none_or(|all| all.is_empty() || all.contains(&SecurityRequirement::default()))
}

/// Whether a successful answer of an operation has a body.
fn has_response_body(operation: &Operation) -> bool {
    operation.responses.responses.iter().any(|(status, response)| match response {
        RefOr::T(response) => status.starts_with('2') && !response.content.is_empty(),
        RefOr::Ref(_) => status.starts_with('2'),
    })
}

/// Whether a successful answer of an operation has a body, and every one that has is in JSON. An operation with another media
/// type chooses it by the `Accept` header itself.
pub(crate) fn answers_only_in_json(operation: &Operation) -> bool {
    has_response_body(operation)
        && operation.responses.responses.iter().all(|(status, response)| match response {
            RefOr::T(response) => !status.starts_with('2') || response.content.keys().all(|one| one == JSON),
            RefOr::Ref(_) => true,
        })
}

fn problem_response(description: &str, problem_formats: ProblemFormats) -> Response {
    let content = || Content::new(Some(Ref::from_schema_name(ProblemDocument::name())));
    let response = ResponseBuilder::new().description(description).content(PROBLEM_JSON, content());
    match problem_formats {
        ProblemFormats::Json => response,
        ProblemFormats::JsonAndXml => response.content(PROBLEM_XML, content()),
    }
    .build()
}

/// Describes the XML elements of a problem whose names differ from its members.
fn name_elements(invalid: &mut RefOr<Schema>, problem: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(invalid)) = invalid {
        invalid.xml = Some(XmlBuilder::new().name(Some("error")).build());
    }
    let RefOr::T(Schema::Object(problem)) = problem else { return };
    problem.xml = Some(XmlBuilder::new().name(Some("problem")).namespace(Some(NAMESPACE)).build());
    if let Some(RefOr::T(Schema::Array(errors))) = problem.properties.get_mut("errors") {
        errors.xml = Some(XmlBuilder::new().wrapped(Some(true)).build());
    }
}

fn with_headers(mut response: Response, kind: &Kind) -> Response {
    response.headers.insert("X-Request-Id".into(), request_id().into());
    if kind == &UNAUTHORIZED || kind == &FORBIDDEN {
        response.headers.insert("WWW-Authenticate".into(), text_header("Which credentials to send.").into());
    }
    if kind == &TOO_MANY_REQUESTS || kind == &UNAVAILABLE {
        let mut header = Header::new(ObjectBuilder::new().schema_type(Type::Integer));
        header.description = Some("How many seconds to wait before trying again.".into());
        response.headers.insert("Retry-After".into(), header.into());
    }
    response
}

fn request_id() -> Header {
    text_header("The id of the request, as it stands in the service's log.")
}

fn text_header(description: &str) -> Header {
    let mut header = Header::new(ObjectBuilder::new().schema_type(Type::String));
    header.description = Some(description.into());
    header
}

/// `not-found` as `NotFound`.
fn component_name(kind: &Kind) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    kind.name.split('-').map(capital).collect()
}
