//! How long clients may cache an answer.

use axum::response::Response;
use http::{HeaderValue, header};

/// For answers that belong to one caller.
pub(crate) const NOT_CACHED: HeaderValue = HeaderValue::from_static("no-store");

/// The answer with its `Cache-Control`, unless it is a problem.
pub(crate) fn cached(mut response: Response, how: HeaderValue) -> Response {
    if response.status().is_success() {
        response.headers_mut().insert(header::CACHE_CONTROL, how);
    }
    response
}
