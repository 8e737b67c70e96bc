//! The Authorization header. One reader for all schemes, so that all are equally strict.
//!
//! A repeated header is an error, Base64 needs its padding, and Basic credentials are UTF-8.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, header};

/// Why the header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorizationError {
    Repeated,
    NotText,
    NotBasic,
    NotUtf8,
}

/// The scheme and the credentials of the header, if there is one. A header without a blank has an empty scheme.
fn credentials(headers: &HeaderMap) -> Result<Option<(&str, &str)>, AuthorizationError> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    if sent.next().is_some() {
        return Err(AuthorizationError::Repeated);
    }
    let value = value.to_str().map_err(|_| AuthorizationError::NotText)?;
    let (scheme, credentials) = value.split_once(' ').unwrap_or(("", value));
    Ok(Some((scheme, credentials.trim())))
}

/// The bearer token (RFC 6750); `None` without a header, or with another scheme.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, AuthorizationError> {
    let sent = credentials(headers)?;
    Ok(sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token))
}

/// The name and the password of HTTP Basic (RFC 7617); `None` without a header. Another scheme is an error.
pub(crate) fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, AuthorizationError> {
    let Some((scheme, encoded)) = credentials(headers)? else { return Ok(None) };
    if !scheme.eq_ignore_ascii_case("Basic") {
        return Err(AuthorizationError::NotBasic);
    }
    let decoded = BASE64_STANDARD.decode(encoded).map_err(|_| AuthorizationError::NotBasic)?;
    let decoded = String::from_utf8(decoded).map_err(|_| AuthorizationError::NotUtf8)?;
    let (name, password) = decoded.split_once(':').ok_or(AuthorizationError::NotBasic)?;
    Ok(Some((name.to_owned(), password.to_owned())))
}
