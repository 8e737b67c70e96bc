//! What every operation has in common, written into the document once for all of them.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Content, Header, OpenApi, Ref, RefOr, Response, ResponseBuilder, ResponsesBuilder,
        path::{Operation, PathItem},
        schema::{ObjectBuilder, Type},
    },
};

use crate::problem::{
    INVALID_REQUEST, Invalid, Kind, NOT_ACCEPTABLE, PROBLEM_JSON, ProblemDocument, TOO_LARGE,
    TOO_MANY_REQUESTS, TOO_SLOW, UNAUTHORIZED, UNAVAILABLE, UNSUPPORTED_MEDIA_TYPE,
};

/// Adds to each operation the refusals that all of its kind share, the problem document to every refusal, and the
/// headers that are on every answer.
pub fn complete(mut document: OpenApi) -> OpenApi {
    let public = document.security.is_none();
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            complete_operation(operation, public);
        }
    }
    let components = document.components.get_or_insert_default();
    components.schemas.insert(Invalid::name().into(), Invalid::schema());
    components.schemas.insert(ProblemDocument::name().into(), ProblemDocument::schema());
    for kind in SHARED {
        let response = problem_response(kind.help);
        components.responses.insert(component_name(kind), with_headers(response, kind).into());
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

fn complete_operation(operation: &mut Operation, public: bool) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if status.starts_with(['4', '5']) && response.content.is_empty() {
            response.content = problem_response("").content;
        }
        response.headers.insert("X-Request-Id".into(), request_id().into());
    }
    // A list of one empty requirement says that nobody needs to sign in.
    let open =
        operation.security.as_ref().map_or(public, |all| all.iter().all(|one| *one == Default::default()));
    let mut refusals = vec![&NOT_ACCEPTABLE, &UNAVAILABLE];
    if !open {
        refusals.extend([&UNAUTHORIZED, &TOO_MANY_REQUESTS]);
    }
    if operation.parameters.as_ref().is_some_and(|all| !all.is_empty()) || operation.request_body.is_some() {
        refusals.push(&INVALID_REQUEST);
    }
    if operation.request_body.is_some() {
        refusals.extend([&TOO_SLOW, &TOO_LARGE, &UNSUPPORTED_MEDIA_TYPE]);
    }
    let mut shared = ResponsesBuilder::new();
    for kind in refusals {
        let name = component_name(kind);
        shared = shared.response(kind.status.as_str(), RefOr::Ref(Ref::from_response_name(name)));
    }
    for (status, response) in shared.build().responses {
        operation.responses.responses.entry(status).or_insert(response);
    }
}

fn problem_response(description: &str) -> Response {
    let schema = Ref::from_schema_name(ProblemDocument::name());
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, Content::new(Some(schema))).build()
}

fn with_headers(mut response: Response, kind: &Kind) -> Response {
    response.headers.insert("X-Request-Id".into(), request_id().into());
    if kind == &UNAUTHORIZED {
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
