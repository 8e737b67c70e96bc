//! `/oauth/token`: which client is calling, and what it asks for.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;
use serde::Serialize;
use subtle::ConstantTimeEq;
use web::{Form, Problem};

use super::{
    AuthorizationServer,
    client::{Client, GrantType},
    error::Refusal,
    redeem::ByCode,
    request::Parameters,
};
use crate::{
    secret,
    security::{Event, Origin, Outcome},
};

pub(super) const CODE_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

pub(super) async fn redeem(
    State(server): State<AuthorizationServer>,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<Response, Refusal> {
    let parameters = Parameters::of_form(form)?;
    let get = |name| parameters.get(name).map_err(Refusal::invalid_request);
    let required = |name| get(name)?.ok_or_else(|| Refusal::invalid_request(format!("{name} is required")));
    let grant_type = required("grant_type")?;
    let client = server.authenticate(&headers, &parameters, &origin).await?;
    let grant_type = GrantType::from_word(grant_type).ok_or_else(|| {
        Refusal::new(
            "unsupported_grant_type",
            "grant_type must be authorization_code, refresh_token or client_credentials",
        )
    })?;
    if !client.may(grant_type) {
        let why = format!("the client is not registered for {}", grant_type.word());
        return Err(Refusal::new("unauthorized_client", why));
    }
    let resource = parameters.resource().map_err(|why| Refusal::new("invalid_target", why))?;
    let answer = match grant_type {
        GrantType::AuthorizationCode => {
            let (code, verifier) = (required("code")?, required("code_verifier")?);
            let by = ByCode { code, redirect_uri: get("redirect_uri")?, verifier, resource };
            server.redeem_code(&client, by, &origin).await?
        }
        GrantType::RefreshToken => {
            let token = required("refresh_token")?;
            server.refresh(&client, token, get("scope")?, resource, &origin).await?
        }
        GrantType::ClientCredentials => server.client_credentials(&client, get("scope")?, resource).await?,
    };
    Ok(json_no_store(&answer))
}

pub(super) fn json_no_store(body: &impl Serialize) -> Response {
    // What we answer are strings and numbers, which always serialise.
    let mut response = serde_json::to_vec(body).unwrap_or_default().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    not_cached(headers);
    response
}

/// RFC 6749, 5.1 wants both, for caches that only know HTTP/1.0.
pub(super) fn not_cached(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
}

impl AuthorizationServer {
    /// Which client is calling: by HTTP Basic, by parameters, or, if it is public, by its id alone.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        parameters: &Parameters<'_>,
        origin: &Origin,
    ) -> Result<Client, Refusal> {
        let get = |name| parameters.get(name).map_err(Refusal::invalid_request);
        let (id, secret) = (get("client_id")?, get("client_secret")?);
        let (id, secret) = match basic(headers)? {
            Some(_) if secret.is_some() => {
                return Err(Refusal::invalid_request("the client authenticates in more than one way"));
            }
            Some((basic, _)) if id.is_some_and(|id| id != basic) => {
                return Err(Refusal::invalid_request(
                    "client_id differs from the one in the Authorization header",
                ));
            }
            Some((id, secret)) => (id, Some(secret)),
            None => {
                let id = id.ok_or_else(|| Refusal::invalid_client("the client does not say who it is"))?;
                (id.to_owned(), secret.map(str::to_owned))
            }
        };
        // An unknown id is not logged: it may be a secret in the wrong parameter.
        let wrong = |known: Option<&str>| {
            origin.log(Event::ClientAuthentication, Outcome::Wrong, None, known);
            Refusal::invalid_client("the client is unknown, or its secret is wrong")
        };
        let client = self.client(&id).await.map_err(Refusal::Problem)?.ok_or_else(|| wrong(None))?;
        let right = match (&client.secret_hash, secret) {
            (Some(stored), Some(secret)) => bool::from(stored.ct_eq(&secret::hash(&secret))),
            (None, None) => true,
            _ => false,
        };
        if right { Ok(client) } else { Err(wrong(Some(&client.id))) }
    }
}

/// A client's id and secret from the Authorization header, each form-encoded (RFC 6749, 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    let malformed = || Refusal::invalid_client("the Authorization header is not HTTP Basic");
    if sent.next().is_some() {
        return Err(malformed());
    }
    let (scheme, encoded) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return Err(malformed());
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let decoded = decoded.ok_or_else(malformed)?;
    let (id, secret) = decoded.split_once(':').ok_or_else(malformed)?;
    let decode =
        |text: &str| web::input::form_decode(text).map(|text| text.into_owned()).map_err(|_| malformed());
    Ok(Some((decode(id)?, decode(secret)?)))
}
