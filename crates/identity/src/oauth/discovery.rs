//! Asks an issuer elsewhere for its keys: where they are (RFC 8414, or OpenID Connect Discovery), then what they are.
//!
//! What it answers is trusted with deciding who gets in, so it is asked directly: over TLS, without a proxy, following no
//! redirect, reading no more than a set of keys can have.

use std::{error::Error, time::Duration};

use reqwest::{Client, redirect};
use serde_json::Value;
use url::Url;

use super::{
    client::is_loopback,
    jwk::{self, KeySet},
};

const TIME: Duration = Duration::from_secs(5);
const LARGEST: usize = 256 * 1024;

/// Why an issuer's keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// It may be back later.
    #[error("{0} cannot be reached: {1}")]
    Away(String, String),
    #[error("{0} answered {1}")]
    Status(String, u16),
    /// It is there, but is not what the settings say, or is broken: somebody has to look at it.
    #[error("{0} is of no use: {1}")]
    Unfit(String, String),
}

/// Where an issuer's keys are, and where clients get its tokens, if it says so: its authorization and its token endpoint.
pub(super) struct Description {
    pub(super) keys: Url,
    pub(super) endpoints: Option<(String, String)>,
}

/// What asks. It knows the issuer, nothing else.
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
            // What is small on the way may be large when it is unpacked.
            .no_gzip()
            .timeout(TIME)
            .build()?;
        Ok(Discovery { http, issuer: issuer.to_owned() })
    }

    /// What the issuer says of itself.
    pub(super) async fn description(&self) -> Result<Description, FetchError> {
        let mut found = None;
        let addresses = well_known(&self.issuer);
        for address in &addresses {
            found = Some(self.document(address).await);
            // An issuer that has one document may answer anything at the address of the other.
            if matches!(found, Some(Ok(_) | Err(FetchError::Away(..)))) {
                break;
            }
        }
        let nothing = || FetchError::Unfit(self.issuer.clone(), "it is not an address".into());
        let (address, document) = found.ok_or_else(nothing)??;
        let unfit = |why: String| FetchError::Unfit(address.clone(), why);
        // RFC 8414, 3.3: to the letter, or somebody else could speak for this issuer.
        match &document["issuer"] {
            Value::String(issuer) if *issuer == self.issuer => {}
            other => return Err(unfit(format!("its issuer is {other}, not \"{}\"", self.issuer))),
        }
        let keys = document["jwks_uri"].as_str().ok_or_else(|| unfit("it has no jwks_uri".into()))?;
        let keys = check_address(keys).map_err(|why| unfit(format!("its jwks_uri {keys:?} {why}")))?;
        let endpoint = |name: &str| Some(check_address(document[name].as_str()?).ok()?.to_string());
        let endpoints = endpoint("authorization_endpoint").zip(endpoint("token_endpoint"));
        Ok(Description { keys, endpoints })
    }

    pub(super) async fn keys(&self, address: &Url) -> Result<KeySet, FetchError> {
        let body = self.get(address.clone()).await?;
        jwk::read(&body).map_err(|error| FetchError::Unfit(address.to_string(), error.to_string()))
    }

    async fn document(&self, address: &Url) -> Result<(String, Value), FetchError> {
        let body = self.get(address.clone()).await?;
        match serde_json::from_slice(&body) {
            Ok(document @ Value::Object(_)) => Ok((address.to_string(), document)),
            Ok(_) => Err(FetchError::Unfit(address.to_string(), "it is not an object".into())),
            Err(error) => Err(FetchError::Unfit(address.to_string(), error.to_string())),
        }
    }

    async fn get(&self, address: Url) -> Result<Vec<u8>, FetchError> {
        let away = |error: reqwest::Error| FetchError::Away(address.to_string(), causes(&error));
        let request = self.http.get(address.clone()).header(http::header::ACCEPT, "application/json");
        let mut response = request.send().await.map_err(away)?;
        if response.status() != http::StatusCode::OK {
            return Err(FetchError::Status(address.to_string(), response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(away)? {
            if body.len() + chunk.len() > LARGEST {
                let why = format!("it is longer than {LARGEST} bytes");
                return Err(FetchError::Unfit(address.to_string(), why));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Where an issuer that speaks OpenID Connect describes itself.
pub(super) fn openid_configuration(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

/// Where an issuer may describe itself. OAuth puts the well-known part before the issuer's path, OpenID Connect after it.
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

/// An address that nobody on the way can answer for.
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

/// An error with what caused it: reqwest's own words end before the reason.
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
    fn the_well_known_part_goes_before_the_path_for_oauth_and_after_it_for_openid() {
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
    fn keys_are_fetched_over_tls_or_from_this_machine() {
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
