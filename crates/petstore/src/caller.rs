//! The callers: each kind of credential is an extractor, so that an operation cannot be reached without it.
//!
//! Users who logged in are in [`crate::user::logged_in`].

use axum::extract::FromRequestParts;
use http::{HeaderValue, header, request::Parts};
use identity::{
    oauth::bearer,
    quota,
    security::{Event, Origin, Outcome},
};
use uuid::Uuid;
use web::{
    Problem, RequestContext, Result, SignInMode,
    problem::{INVALID_REQUEST, UNAUTHORIZED},
};

use crate::Petstore;

/// Both scopes: the public description requires both for every operation that needs one.
const PETS: &[&str] = &["write:pets", "read:pets"];

/// The headers of an API key: the documented one, and one without an underscore, which some proxies drop.
pub(crate) const KEY_HEADERS: &[&str] = &["api_key", "x-api-key"];

/// A caller with an access token for pets.
pub(crate) struct PetsCaller;

impl FromRequestParts<Petstore> for PetsCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        match authorized(parts, store).await? {
            true => Ok(PetsCaller),
            false => Err(store.sign_in.verifier.missing()),
        }
    }
}

/// A caller with an API key, or with an access token for pets. One valid credential is enough, also if the other is not valid.
pub(crate) struct KeyOrPetsCaller;

impl FromRequestParts<Petstore> for KeyOrPetsCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        bearer::not_in_address(parts).map_err(|fault| fault.problem(&store.sign_in.verifier))?;
        let key = sent_key(parts, store).await?;
        if key == Key::Valid {
            return Ok(KeyOrPetsCaller);
        }
        let detail = match (authorized(parts, store).await, key) {
            (Ok(true), _) => return Ok(KeyOrPetsCaller),
            (Ok(false), Key::Unknown) => UNKNOWN_KEY,
            (Ok(false), _) => {
                "This operation needs an API key, in the header api_key or X-API-Key, or an access token, as a bearer token."
            }
            (Err(problem), Key::Unknown) => return Err(with_key_challenge(problem)),
            (Err(problem), _) => return Err(problem),
        };
        Err(with_key_challenge(store.sign_in.verifier.missing().with_detail(detail)))
    }
}

/// A caller with an API key.
pub(crate) struct KeyCaller;

impl FromRequestParts<Petstore> for KeyCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        bearer::not_in_address(parts).map_err(|fault| fault.problem(&store.sign_in.verifier))?;
        let detail = match sent_key(parts, store).await? {
            Key::Valid => return Ok(KeyCaller),
            Key::Unknown => UNKNOWN_KEY,
            Key::Absent => "This operation needs an API key, in the header api_key or X-API-Key.",
        };
        Err(with_key_challenge(Problem::new(&UNAUTHORIZED, detail)))
    }
}

/// Whether there is an access token for pets; an invalid token is rejected.
async fn authorized(parts: &Parts, store: &Petstore) -> Result<bool> {
    let claims = store.sign_in.verifier.caller(parts, PETS, store.sign_in_mode()).await?;
    let Some(claims) = claims else { return Ok(false) };
    store.spend(&claims.metered()).await?;
    Ok(true)
}

/// The API key of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Absent,
    Unknown,
    Valid,
}

/// Reads the API key of a request, and counts the call if it is valid. Of two keys, one in each header, one valid key is enough.
async fn sent_key(parts: &Parts, store: &Petstore) -> Result<Key> {
    let mode = store.sign_in_mode();
    if mode == SignInMode::Off {
        store.spend_for_demo_user(parts).await?;
        return Ok(Key::Valid);
    }
    let mut found = Key::Absent;
    for &name in KEY_HEADERS {
        let mut sent = parts.headers.get_all(name).iter();
        let Some(key) = sent.next() else { continue };
        if sent.next().is_some() {
            return Err(Problem::new(
                &INVALID_REQUEST,
                format!("There is more than one {name} header; send one."),
            ));
        }
        if mode == SignInMode::Any {
            store.spend_for_demo_user(parts).await?;
            return Ok(Key::Valid);
        }
        let name = match key.to_str() {
            Ok(key) => store.keys.name_of(key).await?,
            Err(_) => None,
        };
        if let Some(name) = name {
            RequestContext::set_client(&parts.extensions, &name);
            RequestContext::signed_in(&parts.extensions).await?;
            store.spend(&quota::api_key(&name)).await?;
            return Ok(Key::Valid);
        }
        found = Key::Unknown;
    }
    if found == Key::Unknown {
        Origin::of(parts).log(Event::ApiKey, Outcome::Wrong, None, None);
    }
    Ok(found)
}

impl Petstore {
    /// Counts a call whose credentials are not checked; returns the account that it acts as.
    pub(crate) async fn spend_for_demo_user(&self, parts: &Parts) -> Result<Uuid> {
        let account = self.accounts.demo_user().await?;
        RequestContext::set_user(&parts.extensions, identity::DEMO_USER);
        RequestContext::signed_in(&parts.extensions).await?;
        self.spend(&quota::user(account)).await?;
        Ok(account)
    }
}

const UNKNOWN_KEY: &str = "The API key is not valid.";

const KEY_CHALLENGE: HeaderValue = HeaderValue::from_static("ApiKey realm=\"Pet store\", header=\"api_key\"");

fn with_key_challenge(problem: Problem) -> Problem {
    problem.with_header(header::WWW_AUTHENTICATE, KEY_CHALLENGE)
}
