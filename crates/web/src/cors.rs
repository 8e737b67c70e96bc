//! CORS: a page of any origin may call the API and read the headers of its answers; no cookie goes along.
//!
//! The headers of an answer never change, so they are made once.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

/// Headers of answers that pages may read in every service.
const ALWAYS_EXPOSED: [&str; 4] = ["location", "retry-after", "www-authenticate", "x-request-id"];

const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const VARY: HeaderValue = HeaderValue::from_static("access-control-request-headers");
const METHODS: HeaderValue = HeaderValue::from_static("GET,HEAD,POST,PUT,PATCH,DELETE");
const AN_HOUR: HeaderValue = HeaderValue::from_static("3600");

pub(crate) struct Cors {
    exposed: HeaderValue,
}

impl Cors {
    /// For a service whose answers have these further headers.
    pub(crate) fn new(exposed: &[&str]) -> Self {
        let exposed = [&ALWAYS_EXPOSED, exposed].concat().join(",").to_ascii_lowercase();
        Cors { exposed: HeaderValue::try_from(exposed).unwrap_or(HeaderValue::from_static("location")) }
    }

    /// The answer to the request that a browser sends before a call.
    pub(crate) fn preflight(request: &HeaderMap) -> Response {
        let mut response = Response::default();
        let headers = response.headers_mut();
        headers.insert(header::VARY, VARY);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        // Not `*`: that does not cover Authorization.
        if let Some(asked) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, AN_HOUR);
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
        response
    }

    /// Adds the headers to the answer to a call.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        headers.append(header::VARY, VARY);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, self.exposed.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    }
}
