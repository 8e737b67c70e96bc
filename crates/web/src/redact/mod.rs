//! Removes secrets from captured requests and answers: in headers, addresses, forms, JSON and XML.
//!
//! The texts may be malformed or end in the middle, since clients send them and only their beginning is captured. So they are
//! scanned, not parsed: the value of a member, field, parameter or element with the name of a secret is replaced.

mod json;
mod names;
mod xml;

use std::borrow::Cow;

use http::{HeaderName, HeaderValue, Uri, header};
use percent_encoding::percent_decode_str;

pub use json::json;
pub use names::is_secret_name;
pub use xml::xml;

/// What replaces a secret.
pub const REDACTED: &str = "REDACTED";

/// Whether the value of a header is a secret: credentials, cookies, keys and tokens.
pub fn is_secret_header(name: &HeaderName) -> bool {
    const SECRET: [HeaderName; 4] =
        [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::SET_COOKIE];
    SECRET.contains(name) || is_secret_name(name.as_str())
}

/// The value of a header without secrets. Addresses keep all but the secrets in their queries.
pub fn header_value<'v>(name: &HeaderName, value: &'v HeaderValue) -> Cow<'v, str> {
    if is_secret_header(name) {
        return REDACTED.into();
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    let has_address =
        [header::LOCATION, header::CONTENT_LOCATION, header::REFERER, header::LINK, header::REFRESH];
    if !has_address.contains(name) {
        return text;
    }
    match address(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => redacted.into(),
    }
}

/// The target of a request, with its query, without secrets.
pub fn target(uri: &Uri) -> String {
    address(&uri.to_string()).into_owned()
}

/// An address without secrets in its query and its fragment, both of which OAuth uses for codes and tokens.
pub fn address(text: &str) -> Cow<'_, str> {
    let Some(at) = text.find(['?', '#']) else { return text.into() };
    let mut redacted = text[..at].to_owned();
    for part in text[at..].split_inclusive(['?', '#']) {
        let (pairs, end) = match part.strip_suffix(['?', '#']) {
            Some(pairs) => (pairs, &part[pairs.len()..]),
            None => (part, ""),
        };
        redacted.push_str(&form(pairs));
        redacted.push_str(end);
    }
    if redacted == text { text.into() } else { redacted.into() }
}

/// A form or a query without secrets: `name=ada&password=REDACTED`.
pub fn form(text: &str) -> Cow<'_, str> {
    let is_secret = |pair: &str| {
        let name = pair.split_once('=').map(|(name, _)| decoded(name));
        // As a parameter, `key` is an API key; in JSON it is often the key of a map.
        name.is_some_and(|name| is_secret_name(&name) || name.eq_ignore_ascii_case("key"))
    };
    if !text.split('&').any(is_secret) {
        return text.into();
    }
    let pairs = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(pair) => format!("{name}={REDACTED}").into(),
        _ => Cow::from(pair),
    });
    pairs.collect::<Vec<_>>().join("&").into()
}

/// The name of a field as a service reads it.
fn decoded(name: &str) -> String {
    percent_decode_str(&name.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A body without secrets. `content_type` is the value of that header; a body of another type is treated by its first character,
/// since clients also send wrong types.
pub fn body<'t>(content_type: Option<&str>, text: &'t str) -> Cow<'t, str> {
    let media_type = content_type.unwrap_or_default().to_ascii_lowercase();
    match text.trim_start().chars().next() {
        Some('{' | '[' | '"' | '\'') => json(text),
        Some('<') => xml(text),
        _ if media_type.contains("json") => json(text),
        _ if media_type.contains("xml") => xml(text),
        _ => form(text),
    }
}

#[cfg(test)]
mod tests;
