//! The parts of the OpenAPI document that are not operations.

use jiff::SignedDuration;
use utoipa::{
    OpenApi,
    openapi::{
        Header, RefOr, Response,
        path::{Operation, PathItem},
        schema::{ObjectBuilder, Type},
        security::{AuthorizationCode, Flow, OAuth2, Scopes, SecurityScheme},
    },
};

use crate::{
    service::{OAUTH, SCOPES},
    webhook,
};

/// The document without its operations, of a service at this address.
pub(crate) fn empty(address: &str) -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let scopes = Scopes::from_iter(SCOPES.iter().map(|scope| (scope.name, scope.words)));
    let (authorize, token) = (format!("{address}/oauth/authorize"), format!("{address}/oauth/token"));
    let flow = AuthorizationCode::with_refresh_url(authorize, token.clone(), scopes, token);
    let scheme = SecurityScheme::OAuth2(OAuth2::new([Flow::AuthorizationCode(flow)]));
    document.components.get_or_insert_default().add_security_scheme(OAUTH, scheme);
    document
}

/// The document with what all operations of this service have in common.
pub(crate) fn complete(document: utoipa::openapi::OpenApi, hold: SignedDuration) -> utoipa::openapi::OpenApi {
    let mut document = web::openapi::complete(document, web::openapi::ProblemFormats::JsonAndXml);
    for item in document.paths.paths.values_mut() {
        let PathItem { get, post, delete, .. } = item;
        for operation in [get, post, delete].into_iter().filter_map(Option::as_mut) {
            complete_operation(operation);
            if operation.operation_id.as_deref() == Some("create-booking") {
                let hold = in_words(hold);
                let about = format!(
                    "It holds a seat for {hold}, or until the train leaves if that is sooner; paying for it confirms it."
                );
                operation.description = Some(about);
            }
        }
    }
    let responses = &mut document.components.get_or_insert_default().responses;
    for (name, response) in responses {
        // Calls without a valid token, or without the scope, are not counted.
        if let RefOr::T(response) = response
            && !["Unauthorized", "Forbidden"].contains(&name.as_str())
        {
            describe_rate_limit(response);
        }
    }
    document.webhooks = Some(webhook::document::webhooks());
    document
}

/// A duration in words: "an hour", "90 seconds".
fn in_words(time: SignedDuration) -> String {
    let (number, unit) = match time.as_secs() {
        seconds if seconds % 3600 == 0 => (seconds / 3600, "hour"),
        seconds if seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    match (number, unit) {
        (1, "hour") => "an hour".into(),
        (1, unit) => format!("a {unit}"),
        (number, unit) => format!("{number} {unit}s"),
    }
}

fn complete_operation(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        describe_rate_limit(response);
        if status.starts_with('2') {
            let example = match operation.tags.iter().flatten().next().map(String::as_str) {
                Some("Stations") => "private, max-age=3600",
                Some("Trips") => "private, max-age=5",
                _ => "no-store",
            };
            let about = "How long it may be kept, and by whom.";
            response.headers.insert("Cache-Control".into(), header(about, example));
        }
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        // A header can be left out, and is never null.
        if parameter.name == "Idempotency-Key" {
            let text = ObjectBuilder::new().schema_type(Type::String).max_length(Some(255));
            // Visible ASCII, with blanks only between characters: HTTP removes them at the ends.
            parameter.schema = Some(text.pattern(Some("^[!-~]([ -~]*[!-~])?$")).into());
        }
    }
}

fn describe_rate_limit(response: &mut Response) {
    let about = "How many calls the caller may make an hour, how many are left, and in how many seconds the next hour starts.";
    response.headers.insert("RateLimit".into(), header(about, "limit=100000, remaining=99999, reset=3600"));
}

fn header(about: &str, example: &str) -> RefOr<Header> {
    let mut header = Header::new(ObjectBuilder::new().schema_type(Type::String).examples([example]));
    header.description = Some(about.into());
    header.into()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Train travel",
        version = "1.0.0",
        description = "Stations, trips, bookings and payments of imaginary trains between real stations in Europe.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/", description = "This service")),
    tags(
        (name = "Stations", description = "Where trains start from and go to."),
        (name = "Trips", description = "Trains on a day, with what is left of their seats."),
        (name = "Bookings", description = "Seats that are held, and confirmed once they are paid for."),
        (name = "Payments", description = "Paying for a booking by card or from a bank account."),
        (name = "Webhooks", description = "Being told of new bookings, and of nothing else."),
    ),
)]
struct Document;
