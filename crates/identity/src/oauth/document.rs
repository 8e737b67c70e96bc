//! Public JSON documents: cacheable, and readable from every origin.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, header};
use serde_json::Value;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// CORS for endpoints that programs in a browser call from other origins.
pub(super) fn any_origin() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::any())
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
}

pub(super) fn cached_for_an_hour(document: &Value) -> Response {
    json(document, "public, max-age=3600")
}

/// Short, so that a new key is known long before it signs.
pub(super) fn cached_for_five_minutes(document: &Value) -> Response {
    json(document, "public, max-age=300")
}

fn json(document: &Value, cache_control: &'static str) -> Response {
    let json = HeaderValue::from_static("application/json");
    let cache_control = HeaderValue::from_static(cache_control);
    ([(header::CONTENT_TYPE, json), (header::CACHE_CONTROL, cache_control)], document.to_string())
        .into_response()
}
