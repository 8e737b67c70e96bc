//! The description of the webhook call in the OpenAPI document.

use utoipa::openapi::{
    Content, HttpMethod, Paths, PathsBuilder, Ref, Required, ResponseBuilder,
    path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem},
    request_body::RequestBodyBuilder,
    schema::{ObjectBuilder, Type},
    security::SecurityRequirement,
};

use crate::booking::NEW_BOOKING;

pub(crate) fn webhooks() -> Paths {
    let body = RequestBodyBuilder::new()
        .description(Some("The booking, as the response to its user had it."))
        .content("application/json", Content::new(Some(Ref::from_schema_name("Booking"))))
        .required(Some(Required::True));
    let told = ResponseBuilder::new().description("Any 2xx within 15 seconds: it has arrived.").build();
    let gone = ResponseBuilder::new().description("Nothing is sent to this subscription any more.").build();
    let again = ResponseBuilder::new()
        .description(
            "It has not arrived, and is sent again, up to nine times in three days or more. `Retry-After` is honoured.",
        )
        .build();
    let mut call = OperationBuilder::new()
        .tag("Webhooks")
        .operation_id(Some("new-booking"))
        .summary(Some("Be told of a new booking"))
        .description(Some(
            "Sent to `newBooking` below the address of each subscription of the user who made the booking, signed by Standard Webhooks, \
             and with a bearer token by this service's keys whose audience is the subscribed address.",
        ))
        .security(SecurityRequirement::new("OAuth2", ["read"]))
        .request_body(Some(body.build()))
        .response("2XX", told)
        .response("410", gone)
        .response("default", again);
    for (name, about, example) in HEADERS {
        call = call.parameter(header(name, about, example));
    }
    PathsBuilder::new().path(NEW_BOOKING, PathItem::new(HttpMethod::Post, call.build())).build()
}

const HEADERS: [(&str, &str, &str); 3] = [
    (
        "webhook-id",
        "The event's id, the same whenever it is sent again.",
        "msg_0192f3c4a5b67c8d9e0f1a2b3c4d5e6f",
    ),
    ("webhook-timestamp", "When this attempt was made, in seconds since 1970.", "1778666400"),
    (
        "webhook-signature",
        "One signature for each secret that signs, with blanks between: `v1,` and the base64 of an HMAC-SHA256 of id, timestamp and body, with dots between.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
];

fn header(name: &str, about: &str, example: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).examples([example])))
        .build()
}
