//! Fetches the metadata of an external issuer (RFC 8414, or OpenID Connect Discovery), then its keys.
//!
//! The keys decide which callers are accepted, so they are fetched directly: over TLS, without a proxy, without redirects,
//! with a limit on their size.

use std::{error::Error, time::Duration};

use reqwest::{Client, redirect};
use serde_json::Value;
use url::Url;

use super::jwk::{self, KeySet};
use crate::oauth::loopback::is_loopback;

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_SIZE: usize = 256 * 1024;

/// Why an issuer's keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// A later fetch may succeed.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    #[error("{0} answered {1}")]
    Status(String, u16),
    /// The answer contradicts the settings or is malformed: an operator must act.
    #[error("{0} is of no use: {1}")]
    Invalid(String, String),
}

/// The metadata of an issuer: the address of its keys, and its authorization and token endpoints, if it publishes them.
pub(super) struct Description {
    pub(super) keys: Url,
    pub(super) endpoints: Option<(String, String)>,
}

/// The client for one issuer.
#[derive(Clone)]
pub(super) struct Discovery {
    http: Client,
    issuer: String,
}

impl Discovery {
    pub(super) fn new(issuer: &str) -> Result<Self, reqwest::Error> {
        let http = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            // A small compressed body may be large when it is unpacked.
            .no_gzip()
            .timeout(TIMEOUT)
            .build()?;
        Ok(Discovery { http, issuer: issuer.to_owned() })
    }

    /// The metadata of the issuer.
    pub(super) async fn description(&self) -> Result<Description, FetchError> {
        let mut found = None;
        let addresses = well_known(&self.issuer);
        for address in &addresses {
            found = Some(self.document(address).await);
            // An issuer that has one document may answer anything at the address of the other.
            if matches!(found, Some(Ok(_) | Err(FetchError::Unreachable(..)))) {
                break;
            }
        }
        let nothing = || FetchError::Invalid(self.issuer.clone(), "it is not an address".into());
        let (address, document) = found.ok_or_else(nothing)??;
        let invalid = |why: String| FetchError::Invalid(address.clone(), why);
        // RFC 8414, 3.3: an exact match, or another server could answer for this issuer.
        match &document["issuer"] {
            Value::String(issuer) if *issuer == self.issuer => {}
            other => return Err(invalid(format!("its issuer is {other}, not \"{}\"", self.issuer))),
        }
        let keys = document["jwks_uri"].as_str().ok_or_else(|| invalid("it has no jwks_uri".into()))?;
        let keys = check_address(keys).map_err(|why| invalid(format!("its jwks_uri {keys:?} {why}")))?;
        let endpoint = |name: &str| Some(check_address(document[name].as_str()?).ok()?.to_string());
        let endpoints = endpoint("authorization_endpoint").zip(endpoint("token_endpoint"));
        Ok(Description { keys, endpoints })
    }

    pub(super) async fn keys(&self, address: &Url) -> Result<KeySet, FetchError> {
        let body = self.get(address.clone()).await?;
        jwk::read(&body).map_err(|error| FetchError::Invalid(address.to_string(), error.to_string()))
    }

    async fn document(&self, address: &Url) -> Result<(String, Value), FetchError> {
        let body = self.get(address.clone()).await?;
        match serde_json::from_slice(&body) {
            Ok(document @ Value::Object(_)) => Ok((address.to_string(), document)),
            Ok(_) => Err(FetchError::Invalid(address.to_string(), "it is not an object".into())),
            Err(error) => Err(FetchError::Invalid(address.to_string(), error.to_string())),
        }
    }

    async fn get(&self, address: Url) -> Result<Vec<u8>, FetchError> {
        let unreachable =
            |error: reqwest::Error| FetchError::Unreachable(address.to_string(), causes(&error));
        let request = self.http.get(address.clone()).header(http::header::ACCEPT, "application/json");
        let mut response = request.send().await.map_err(unreachable)?;
        if response.status() != http::StatusCode::OK {
            return Err(FetchError::Status(address.to_string(), response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_SIZE {
                let why = format!("it is longer than {MAX_SIZE} bytes");
                return Err(FetchError::Invalid(address.to_string(), why));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// The address of the metadata of an issuer that supports OpenID Connect.
pub(crate) fn openid_configuration(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

/// Where the metadata of an issuer may be. OAuth puts the well-known part before the issuer's path, OpenID Connect after it.
fn well_known(issuer: &str) -> Vec<Url> {
    let Ok(issuer) = Url::parse(issuer) else { return Vec::new() };
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut address = issuer.clone();
        address.set_path(&path);
        address
    };
    vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("{path}/.well-known/openid-configuration")),
    ]
}

/// An address at which only the issuer itself can answer: by TLS, or on this machine.
pub(super) fn check_address(address: &str) -> Result<Url, &'static str> {
    let url = Url::parse(address).map_err(|_| "is not a complete address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err("is not https, nor http on this machine"),
    }
}

/// The causes of an error: the message of reqwest leaves out the reason.
fn causes(error: &dyn Error) -> String {
    let first = error.source();
    let all: Vec<_> =
        std::iter::successors(first, |error| (*error).source()).map(ToString::to_string).collect();
    if all.is_empty() { error.to_string() } else { all.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_part_is_before_the_path_for_oauth_and_after_it_for_openid() {
        let addresses = |issuer| well_known(issuer).iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            addresses("https://id.example/tenant/1"),
            [
                "https://id.example/.well-known/oauth-authorization-server/tenant/1",
                "https://id.example/tenant/1/.well-known/openid-configuration",
            ]
        );
        for issuer in ["https://id.example", "https://id.example/"] {
            assert_eq!(
                addresses(issuer),
                [
                    "https://id.example/.well-known/oauth-authorization-server",
                    "https://id.example/.well-known/openid-configuration",
                ]
            );
        }
    }

    #[test]
    fn keys_are_fetched_over_tls_or_from_loopback() {
        for good in ["https://id.example/keys", "http://127.0.0.1:8080/keys", "http://[::1]/keys"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example/keys",
            "http://127.0.0.1.id.example/",
            "ftp://127.0.0.1/",
            "https://u@id.example/",
            "/keys",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }
}
