//! The headers of a page for people.

use http::{HeaderMap, HeaderValue, header};

/// Adds the headers of every page: no scripts, nothing from other origins, not in a frame.
pub(crate) fn add_page_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
