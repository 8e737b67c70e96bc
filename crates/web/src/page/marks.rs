//! The marks of the services, which are their icons too.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

/// The mark of a service; that of the program for other names.
pub fn mark(service: &str) -> Response {
    let image = match service {
        "petstore" => include_str!("../../assets/marks/petstore.svg"),
        "train" => include_str!("../../assets/marks/train.svg"),
        "museum" => include_str!("../../assets/marks/museum.svg"),
        _ => include_str!("../../assets/marks/triptych.svg"),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
    ];
    (headers, image).into_response()
}
