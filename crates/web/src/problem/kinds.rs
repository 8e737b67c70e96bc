//! The kinds of problem that every service has. A service adds its own kinds.

/// Declares kinds of problem as constants, and a list of all of them: the constant, its status, its name in `/problems/…`, the title
/// and the help for each.
#[macro_export]
macro_rules! problem_kinds {
    ($(#[$meta:meta])* $visible:vis $all:ident:
        $($constant:ident, $status:ident, $name:literal, $title:literal, $help:literal;)*) => {
        $($visible const $constant: $crate::problem::Kind = $crate::problem::Kind {
            name: $name, status: ::http::StatusCode::$status, title: $title, help: $help,
        };)*

        $(#[$meta])*
        $visible const $all: &[&$crate::problem::Kind] = &[$(&$constant),*];
    };
}

problem_kinds! {
    /// The kinds that every service has, in order of their status.
    pub STANDARD:
    INVALID_REQUEST, BAD_REQUEST, "invalid-request", "Invalid request",
        "Something in the request is malformed or breaks a rule. The errors member lists what to change, each with a pointer.";
    UNAUTHORIZED, UNAUTHORIZED, "unauthorized", "Sign-in needed",
        "This operation needs credentials, and the request had none that are valid. The WWW-Authenticate header says which kind to send.";
    FORBIDDEN, FORBIDDEN, "forbidden", "Not allowed",
        "The credentials are valid, but do not allow this operation.";
    NOT_FOUND, NOT_FOUND, "not-found", "Not found",
        "There is nothing at this address.";
    METHOD_NOT_ALLOWED, METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed",
        "This address exists, but does not support this method. The Allow header lists the supported methods.";
    NOT_ACCEPTABLE, NOT_ACCEPTABLE, "not-acceptable", "Not acceptable",
        "The Accept header excludes every media type in which this operation can answer.";
    TOO_SLOW, REQUEST_TIMEOUT, "request-timeout", "Request too slow",
        "The request's body did not arrive in time. Send it again.";
    CONFLICT, CONFLICT, "conflict", "Conflict",
        "The request conflicts with the current state of the resource.";
    TOO_LARGE, PAYLOAD_TOO_LARGE, "too-large", "Body too large",
        "The request's body is larger than this operation accepts.";
    ADDRESS_TOO_LONG, URI_TOO_LONG, "address-too-long", "Address too long",
        "The request's address is longer than this service accepts.";
    UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type",
        "The Content-Type header is missing, or names a media type that this operation does not accept.";
    MISDIRECTED, MISDIRECTED_REQUEST, "misdirected", "Misdirected request",
        "The request is for a host that this service does not answer for. A service that listens on loopback answers only for loopback and for the host of its address.";
    UNPROCESSABLE, UNPROCESSABLE_ENTITY, "unprocessable", "Unprocessable body",
        "The request's body is well formed, but breaks a rule. The errors member lists what to change, each with a pointer.";
    TOO_MANY_REQUESTS, TOO_MANY_REQUESTS, "too-many-requests", "Too many requests",
        "There were too many requests of this kind. The Retry-After header says how many seconds to wait.";
    HEADERS_TOO_LARGE, REQUEST_HEADER_FIELDS_TOO_LARGE, "headers-too-large", "Headers too large",
        "The request line and the headers are larger than this service accepts, or there are too many headers.";
    INTERNAL, INTERNAL_SERVER_ERROR, "internal", "Internal error",
        "The service failed. The instance member has the id of the request, under which the log has the cause.";
    UNAVAILABLE, SERVICE_UNAVAILABLE, "unavailable", "Unavailable",
        "The service cannot answer at the moment. The Retry-After header says how many seconds to wait.";
}
