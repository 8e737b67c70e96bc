//! Who is calling: each rule of the store's is an extractor, so that an operation cannot be reached past it.

use axum::extract::FromRequestParts;
use http::{HeaderValue, header, request::Parts};
use identity::{
    oauth::bearer::{self, Fault},
    session::Kind,
};
use uuid::Uuid;
use web::{
    Problem, Result,
    problem::{INVALID_REQUEST, UNAUTHORIZED},
};

use crate::Petstore;

/// Both scopes: the store's document asks for the two wherever it asks for one.
const PETS: &[&str] = &["write:pets", "read:pets"];

const API_KEY: &str = "api_key";

/// A caller with an access token for pets.
pub(crate) struct PetsCaller;

impl FromRequestParts<Petstore> for PetsCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        match authorized(parts, store).await? {
            true => Ok(PetsCaller),
            false => Err(store.verifier.missing()),
        }
    }
}

/// The same, who may have sent an API key too; if so, it must be a valid one.
pub(crate) struct PetsCallerWithKey;

impl FromRequestParts<Petstore> for PetsCallerWithKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        PetsCaller::from_request_parts(parts, store).await?;
        key_is_valid(parts, store).await?;
        Ok(PetsCallerWithKey)
    }
}

/// A caller with an API key, or with an access token for pets.
pub(crate) struct KeyOrPetsCaller;

impl FromRequestParts<Petstore> for KeyOrPetsCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        let by_key = key_is_valid(parts, store).await?;
        // Both are looked at where both were sent: a wrong credential is never passed over.
        let by_token = authorized(parts, store).await?;
        if by_key || by_token {
            return Ok(KeyOrPetsCaller);
        }
        Err(store.verifier.missing().with_header(header::WWW_AUTHENTICATE, KEY_CHALLENGE))
    }
}

/// A caller with an API key.
pub(crate) struct KeyCaller;

impl FromRequestParts<Petstore> for KeyCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        match key_is_valid(parts, store).await? {
            true => Ok(KeyCaller),
            false => Err(key_refused("This operation needs an API key, in the header api_key.")),
        }
    }
}

/// A user who logged in: by a session, as its cookie or as a bearer token, or by an access token of that user's.
pub(crate) struct LoggedIn {
    pub(crate) account: Uuid,
}

impl FromRequestParts<Petstore> for LoggedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        let token = bearer::bearer_token(parts).map_err(|fault| fault.problem(&store.verifier))?;
        let account = match token {
            Some(token) if is_access_token(token) => {
                let claims = store.verifier.authorize(token, &[]).await?;
                let account = claims.account();
                account.ok_or_else(|| {
                    Fault::Invalid("speaks for no user of this store".into()).problem(&store.verifier)
                })?
            }
            Some(secret) => {
                let found = store.sessions.find(Kind::Api, secret).await?;
                found.ok_or_else(|| session_refused("The session has ended."))?.0
            }
            None => {
                let Some(secret) = session_cookie(parts) else {
                    return Err(session_refused("This operation needs a user who has logged in."));
                };
                not_from_another_site(parts)?;
                let found = store.sessions.find(Kind::Api, secret).await?;
                found.ok_or_else(|| session_refused("The session has ended."))?.0
            }
        };
        store.spend(account).await?;
        Ok(LoggedIn { account })
    }
}

/// The secrets of the sessions that a request was sent with, valid or not: as a bearer token, as the cookie, or both.
pub(crate) fn session_secrets(parts: &Parts) -> impl Iterator<Item = &str> {
    let bearer = bearer::bearer_token(parts).ok().flatten().filter(|token| !is_access_token(token));
    bearer.into_iter().chain(session_cookie(parts))
}

/// The name of the cookie that holds a session.
pub(crate) const COOKIE: &str = "petstore_session";

fn session_cookie(parts: &Parts) -> Option<&str> {
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, secret)| secret)
}

/// A cookie goes along with whatever a page elsewhere sends; a page elsewhere is not the user.
fn not_from_another_site(parts: &Parts) -> Result<()> {
    let site = parts.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(Problem::new(
            &INVALID_REQUEST,
            "A session's cookie counts only for the store's own pages; send the session as a bearer token.",
        )),
    }
}

/// Access tokens are three parts with dots between them; the secrets of sessions have none.
fn is_access_token(token: &str) -> bool {
    token.contains('.')
}

/// Whether there is an access token for pets; one that is not valid is refused.
async fn authorized(parts: &Parts, store: &Petstore) -> Result<bool> {
    let token = bearer::bearer_token(parts).map_err(|fault| fault.problem(&store.verifier))?;
    let Some(token) = token else { return Ok(false) };
    let claims = store.verifier.authorize(token, PETS).await?;
    if let Some(account) = claims.account() {
        store.spend(account).await?;
    }
    Ok(true)
}

/// Whether there is an API key; one that is not valid is refused.
async fn key_is_valid(parts: &Parts, store: &Petstore) -> Result<bool> {
    let mut sent = parts.headers.get_all(API_KEY).iter();
    let Some(key) = sent.next() else { return Ok(false) };
    if sent.next().is_some() {
        return Err(Problem::new(&INVALID_REQUEST, "There is more than one api_key header; send one."));
    }
    match key.to_str() {
        Ok(key) if store.keys.is_valid(key).await? => Ok(true),
        _ => Err(key_refused("The API key is not valid.")),
    }
}

const KEY_CHALLENGE: HeaderValue = HeaderValue::from_static("ApiKey realm=\"Pet store\", header=\"api_key\"");

fn key_refused(detail: &'static str) -> Problem {
    Problem::new(&UNAUTHORIZED, detail).with_header(header::WWW_AUTHENTICATE, KEY_CHALLENGE)
}

fn session_refused(why: &str) -> Problem {
    let challenge = HeaderValue::from_static("Bearer realm=\"Pet store\"");
    let detail =
        format!("{why} Log in at /v3/user/login, and send the session as a bearer token or as its cookie.");
    Problem::new(&UNAUTHORIZED, detail).with_header(header::WWW_AUTHENTICATE, challenge)
}
