//! Bearer tokens: the caller of an operation and what it may do, checked before the operation starts (RFC 6750).

use std::{borrow::Cow, marker::PhantomData, sync::Arc};

use axum::extract::{FromRef, FromRequestParts};
use http::{HeaderValue, header, request::Parts};
use web::{
    Problem,
    problem::{FORBIDDEN, INVALID_REQUEST, UNAUTHORIZED, UNAVAILABLE},
};

use super::{Claims, TokenError, Verifier};

/// What an operation needs its caller to be allowed.
pub trait Scopes: Send + Sync + 'static {
    const NEEDED: &'static [&'static str];
}

/// A caller that holds an access token with the scopes `S`. An operation that takes one in its signature cannot be
/// reached without.
pub struct Authorized<S> {
    pub claims: Arc<Claims>,
    scopes: PhantomData<S>,
}

impl<S, T> FromRequestParts<T> for Authorized<S>
where
    S: Scopes,
    T: Send + Sync,
    Verifier: FromRef<T>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &T) -> Result<Self, Problem> {
        let verifier = Verifier::from_ref(state);
        let token = bearer_token(parts).map_err(|fault| fault.problem(&verifier))?;
        let Some(token) = token else { return Err(Fault::Missing.problem(&verifier)) };
        let claims = verifier.authorize(token, S::NEEDED).await?;
        claims.leave_for_log(&parts.extensions);
        Ok(Authorized { claims, scopes: PhantomData })
    }
}

impl Verifier {
    /// What a token says, if it is valid and has these scopes; else the problem to answer with.
    pub async fn authorize(
        &self,
        token: &str,
        needed: &'static [&'static str],
    ) -> Result<Arc<Claims>, Problem> {
        let claims = self.check(token).await.map_err(|error| match error {
            TokenError::Invalid(why) => Fault::Invalid(why).problem(self),
            other => other.into_problem(),
        })?;
        if needed.iter().all(|scope| claims.has(scope)) {
            Ok(claims)
        } else {
            Err(Fault::Scope(needed).problem(self))
        }
    }

    /// The problem of a request without any credentials.
    pub fn missing(&self) -> Problem {
        Fault::Missing.problem(self)
    }
}

impl TokenError {
    /// The answer when it is not the token that is at fault.
    pub(super) fn into_problem(self) -> Problem {
        match self {
            TokenError::Db(error) => error.into(),
            TokenError::Away(seconds) => Problem::new(
                &UNAVAILABLE,
                "The service cannot check access tokens just now: it does not know the keys of their issuer yet.",
            )
            .retry_after(seconds),
            TokenError::Invalid(_) | TokenError::Broken(_) => Problem::internal(self),
        }
    }
}

/// Refuses a token in the address, whether or not the operation takes one: addresses end up in logs.
pub fn not_in_address(parts: &Parts) -> Result<(), Fault> {
    let query = parts.uri.query().unwrap_or_default();
    if query.split('&').any(|pair| pair.split('=').next() == Some("access_token")) {
        return Err(Fault::Request(
            "an access token must be in the Authorization header, not in the address",
        ));
    }
    Ok(())
}

/// The bearer token of a request, if it has one.
pub fn bearer_token(parts: &Parts) -> Result<Option<&str>, Fault> {
    not_in_address(parts)?;
    let mut sent = parts.headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    if sent.next().is_some() {
        return Err(Fault::Request("there is more than one Authorization header"));
    }
    let value = value.to_str().map_err(|_| Fault::Request("the Authorization header is not text"))?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("Bearer") => Ok(Some(token.trim())),
        _ => Ok(None),
    }
}

/// What is wrong with a request's credentials.
#[derive(Debug)]
pub enum Fault {
    Missing,
    Request(&'static str),
    Invalid(Cow<'static, str>),
    Scope(&'static [&'static str]),
}

impl Fault {
    /// The answer, with the challenge that goes with it.
    pub fn problem(self, verifier: &Verifier) -> Problem {
        let bare =
            format!("Bearer realm=\"{}\", resource_metadata=\"{}\"", verifier.realm(), verifier.metadata());
        let (problem, challenge) = match self {
            Fault::Missing => (
                Problem::new(&UNAUTHORIZED, "This operation needs an access token, as a bearer token."),
                bare,
            ),
            Fault::Request(why) => (
                Problem::new(&INVALID_REQUEST, format!("The credentials cannot be read: {why}.")),
                format!("{bare}, error=\"invalid_request\", error_description=\"{why}\""),
            ),
            Fault::Invalid(why) => (
                Problem::new(&UNAUTHORIZED, format!("The access token {why}.")),
                format!("{bare}, error=\"invalid_token\", error_description=\"the access token {why}\""),
            ),
            Fault::Scope(needed) => {
                let scope = needed.join(" ");
                (
                    Problem::new(&FORBIDDEN, format!("The access token needs the scopes {scope}.")),
                    format!("{bare}, error=\"insufficient_scope\", scope=\"{scope}\""),
                )
            }
        };
        let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        problem.with_header(header::WWW_AUTHENTICATE, challenge)
    }
}
