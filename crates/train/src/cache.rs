//! How long clients may cache an answer, and the time at which it was made.

use axum::response::Response;
use http::{HeaderValue, header};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};

/// For answers that belong to one caller.
pub(crate) const NOT_CACHED: HeaderValue = HeaderValue::from_static("no-store");

/// The answer with its `Cache-Control`, unless it is a problem.
pub(crate) fn cached(mut response: Response, how: HeaderValue) -> Response {
    if response.status().is_success() {
        response.headers_mut().insert(header::CACHE_CONTROL, how);
    }
    response
}

/// The answer with the service's own time in `Date`, for answers with a time at which something expires. Without it the header
/// has the time of the machine, from which a moved clock differs.
pub(crate) fn dated(mut response: Response, now: Timestamp) -> Response {
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    if let Some(Ok(date)) = date.ok().map(HeaderValue::try_from) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}
