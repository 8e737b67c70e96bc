//! The targets: each parser of outside bytes, with the operations that use it.
//!
//! The first byte of an input selects the operation, where there is more than one: `0` the first, and so on in the order of ASCII.

use http::header;
use web::{Compat, ControlState, SignInMode};

use crate::{
    answer::Answer,
    harness::{Harness, Target},
    requests::{Call, Operation, first_line, selected},
    services::Service::{Museum, Petstore, Train},
    webhook_url,
};

/// No operation needs credentials.
const OPEN: ControlState = controls(SignInMode::Off, Compat::Strict);
const SIGN_IN: ControlState = controls(SignInMode::Enforce, Compat::Strict);
/// Images can be sent as forms with parts only in this mode.
const PUBLIC_PETSTORE: ControlState = controls(SignInMode::Off, Compat::PublicPetstore);

const fn controls(sign_in: SignInMode, compat: Compat) -> ControlState {
    ControlState {
        sign_in,
        compat,
        access_token_seconds: None,
        refresh_token_seconds: None,
        session_seconds: None,
        tokens_not_before: None,
        calls_per_hour: None,
        key_rotations: 0,
    }
}

pub const TARGETS: [Target; 10] = [
    target("json", OPEN, |_, input| {
        let (operation, body) = selected(JSON, input)?;
        operation.with_body(b"application/json", "application/json", body)
    }),
    target("xml", OPEN, |_, input| {
        let (operation, body) = selected(XML, input)?;
        operation.with_body(b"application/xml", "application/xml", body)
    }),
    target("form", OPEN, |_, input| {
        let (operation, body) = selected(FORMS, input)?;
        operation.with_body(b"application/x-www-form-urlencoded", "*/*", body)
    }),
    target("query", OPEN, |_, input| {
        let (operation, query) = selected(QUERIES, input)?;
        operation.with_address_part(query)
    }),
    // The first line is the media type, which has the boundary.
    target("multipart", PUBLIC_PETSTORE, |_, input| {
        let (content_type, body) = first_line(input)?;
        UPLOAD.with_body(content_type, "*/*", body)
    }),
    target("accept", OPEN, |_, input| {
        let (operation, value) = selected(NEGOTIATED, input)?;
        operation.with_header(header::ACCEPT, value)
    }),
    target("dates", OPEN, |_, input| {
        let (operation, text) = selected(DATES, input)?;
        operation.with_text(text)
    }),
    target("ids", OPEN, |_, input| {
        let (operation, id) = selected(IDS, input)?;
        operation.with_address_part(id)
    }),
    Target { name: "jwt", controls: SIGN_IN, call: with_token, violation: is_let_in },
    Target {
        name: "webhook_url",
        controls: OPEN,
        call: |_, input| WEBHOOKS.with_text(input),
        violation: webhook_url::violation,
    },
];

const fn target(
    name: &'static str,
    controls: ControlState,
    call: fn(&mut Harness, &[u8]) -> Option<Call>,
) -> Target {
    Target { name, controls, call, violation: |_, _| None }
}

const JSON: &[Operation] = &[
    Operation::post(Petstore, "/v3/pet"),
    Operation::new(Petstore, "PUT", "/v3/pet"),
    Operation::post(Petstore, "/v3/store/order"),
    Operation::post(Petstore, "/v3/user"),
    Operation::post(Petstore, "/v3/user/createWithList"),
    Operation::post(Train, "/bookings"),
    Operation::post(Train, "/bookings/019e0000-0000-7000-8000-000000000000/payment"),
    Operation::post(Train, "/webhooks/019e0000-0000-7000-8000-000000000000/redeliver"),
    Operation::post(Museum, "/v1.1/special-events"),
    Operation::new(Museum, "PATCH", "/v1.1/special-events/dad4bce8-f5cb-4078-a211-995864315e39"),
    Operation::post(Museum, "/v1.1/tickets"),
    Operation::post(Train, "/oauth/register"),
];

const XML: &[Operation] = &[
    Operation::post(Petstore, "/v3/pet"),
    Operation::new(Petstore, "PUT", "/v3/pet"),
    Operation::post(Petstore, "/v3/store/order"),
    Operation::post(Petstore, "/v3/user"),
    Operation::post(Train, "/bookings"),
    Operation::post(Train, "/bookings/019e0000-0000-7000-8000-000000000000/payment"),
    Operation::post(Train, "/webhooks/019e0000-0000-7000-8000-000000000000/redeliver"),
];

const FORMS: &[Operation] = &[
    Operation::post(Petstore, "/v3/pet"),
    Operation::new(Petstore, "PUT", "/v3/pet"),
    Operation::post(Petstore, "/v3/store/order"),
    Operation::post(Petstore, "/v3/user"),
    Operation::post(Train, "/oauth/token"),
    Operation::post(Train, "/oauth/revoke"),
    Operation::post(Train, "/oauth/introspect"),
    Operation::post(Train, "/oauth/authorize"),
];

const QUERIES: &[Operation] = &[
    Operation::get(Petstore, "/v3/pet/findByStatus?{}"),
    Operation::get(Petstore, "/v3/pet/findByTags?{}"),
    Operation::post(Petstore, "/v3/pet/10?{}"),
    Operation::get(Train, "/trips?{}"),
    Operation::get(Train, "/stations?{}"),
    Operation::get(Train, "/bookings?{}"),
    Operation::get(Museum, "/v1.1/museum-hours?{}"),
    Operation::get(Museum, "/v1.1/special-events?{}"),
    Operation::get(Train, "/oauth/authorize?{}"),
];

/// A pet has at most 20 images; that it has more is found out after the form is read.
const UPLOAD: Operation = Operation::post(Petstore, "/v3/pet/10/uploadImage");

const NEGOTIATED: &[Operation] = &[
    Operation::get(Petstore, "/v3/pet/1"),
    Operation::get(Petstore, "/v3/pet/999999"),
    Operation::get(Train, "/stations?limit=1"),
    Operation::get(Train, "/nothing"),
    Operation::get(Museum, "/v1.1/special-events/019e0000-0000-7000-8000-000000000000"),
    Operation::get(Museum, "/"),
];

const DATES: &[Operation] = &[
    Operation::get(
        Train,
        "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date={}",
    ),
    Operation::get(Museum, "/v1.1/museum-hours?startDate={}"),
    Operation::get(Museum, "/v1.1/special-events?startDate={}&endDate=2026-06-01"),
    Operation::get(Museum, "/v1.1/special-events?startDate=2026-01-01&endDate={}"),
    Operation::post(Petstore, "/v3/store/order").with(r#"{"petId": 1, "shipDate": {}}"#),
    Operation::post(Museum, "/v1.1/tickets")
        .with(r#"{"ticketType": "general", "ticketDate": {}, "email": "todd@example.com"}"#),
    Operation::new(Museum, "PATCH", "/v1.1/special-events/dad4bce8-f5cb-4078-a211-995864315e39")
        .with(r#"{"dates": ["2026-05-15", {}]}"#),
    Operation::post(Train, "/webhooks/019e0000-0000-7000-8000-000000000000/redeliver")
        .with(r#"{"since": {}}"#),
];

const IDS: &[Operation] = &[
    Operation::get(Petstore, "/v3/pet/{}"),
    Operation::get(Petstore, "/v3/store/order/{}"),
    Operation::get(Petstore, "/v3/user/{}"),
    Operation::get(Petstore, "/v3/images/{}"),
    Operation::get(Train, "/stations/{}"),
    Operation::get(Train, "/trips/{}"),
    Operation::get(Train, "/bookings/{}"),
    Operation::get(Train, "/bookings/{}/qr"),
    Operation::get(Museum, "/v1.1/special-events/{}"),
    Operation::get(Museum, "/v1.1/tickets/{}/qr"),
];

/// An operation that needs an access token.
const SIGNED_IN: Operation = Operation::get(Petstore, "/v3/pet/1");

const WEBHOOKS: Operation = Operation::post(Train, "/webhooks").with(r#"{"url": {}}"#);

/// The first byte says what the rest is: `0` the value of `Authorization`, `1` a token, `2` the header and the claims of a token, which
/// is signed with the key of the service: otherwise no input would get past the signature.
fn with_token(harness: &mut Harness, input: &[u8]) -> Option<Call> {
    let (first, rest) = input.split_first()?;
    let value = match first {
        b'0' => rest.to_owned(),
        b'1' => [b"Bearer ", rest].concat(),
        _ => {
            let (token_header, claims) = first_line(rest)?;
            format!("Bearer {}", harness.signed_token(token_header, claims)).into_bytes()
        }
    };
    SIGNED_IN.with_header(header::AUTHORIZATION, &value)
}

/// Only the service's own key can make a token that it accepts.
fn is_let_in(input: &[u8], answer: &Answer) -> Option<String> {
    let is_signed = input.first().is_some_and(|first| !matches!(first, b'0' | b'1'));
    (answer.status.is_success() && !is_signed).then(|| "let in without a token of the service".to_owned())
}
