//! JSON responses with tokens or secrets, which must not be cached.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

pub(super) fn json_no_store(body: &impl Serialize) -> Response {
    // The bodies consist of strings and numbers, which always serialise.
    let mut response = serde_json::to_vec(body).unwrap_or_default().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    no_store(headers);
    response
}

/// RFC 6749, 5.1 requires both; `Pragma` is for caches that only know HTTP/1.0.
pub(super) fn no_store(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
}
