//! The headers of a page for people.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

use super::TOKENS;

/// The style of pages of text, which is part of them: such a page is also shown where no file can be.
static DOCUMENT_STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{TOKENS}{}", include_str!("../../assets/document.css")));

pub(crate) fn document_style() -> &'static str {
    &DOCUMENT_STYLE
}

static DOCUMENT_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(&*DOCUMENT_STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// Scripts, styles, images and calls of this service only. Images may also be answers that a script shows.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'",
);

/// Adds the headers of a page of text: no scripts, nothing from other origins, not in a frame.
pub(crate) fn add_document_headers(headers: &mut HeaderMap) {
    add(headers, DOCUMENT_POLICY.clone());
}

/// Adds the headers of a page with scripts.
pub fn add_page_headers(headers: &mut HeaderMap) {
    add(headers, PAGE_POLICY);
}

fn add(headers: &mut HeaderMap, policy: HeaderValue) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
