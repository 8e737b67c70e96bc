//! Bearer tokens: the caller of an operation and what it may do, checked before the operation starts (RFC 6750).

use std::{borrow::Cow, marker::PhantomData, sync::Arc};

use axum::extract::{FromRef, FromRequestParts};
use http::{HeaderValue, header, request::Parts};
use web::{
    Problem, RequestContext, SignInMode,
    problem::{FORBIDDEN, INVALID_REQUEST, UNAUTHORIZED},
};

use super::verifier::Verifier;
use crate::{
    authorization::{self, AuthorizationError},
    oauth::claims::{Claims, TokenError},
};

/// The scopes that an operation requires.
pub trait Scopes: Send + Sync + 'static {
    const NEEDED: &'static [&'static str];
}

/// A caller with an access token of the scopes `S`. An operation with this extractor rejects all other callers.
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
        let claims = verifier.caller(parts, S::NEEDED, verifier.sign_in_mode()).await?;
        let claims = claims.ok_or_else(|| verifier.missing())?;
        Ok(Authorized { claims, scopes: PhantomData })
    }
}

impl Verifier {
    /// The claims of the caller of an operation, if it has a bearer token of these scopes, or needs none in this mode; `None` if it
    /// has none.
    pub async fn caller(
        &self,
        parts: &Parts,
        needed: &'static [&'static str],
        mode: SignInMode,
    ) -> Result<Option<Arc<Claims>>, Problem> {
        let claims = if mode == SignInMode::Off {
            self.demo_user(needed).await?
        } else {
            let token = bearer_token(parts).map_err(|error| error.problem(self))?;
            let Some(token) = token else { return Ok(None) };
            match mode {
                SignInMode::Enforce => self.authorize(token, needed).await?,
                SignInMode::Any | SignInMode::Off => self.demo_user(needed).await?,
            }
        };
        claims.leave_for_log(&parts.extensions);
        RequestContext::signed_in(&parts.extensions).await?;
        Ok(Some(claims))
    }

    /// The claims of a token, if it is valid and has these scopes; otherwise the problem to answer with.
    pub async fn authorize(
        &self,
        token: &str,
        needed: &'static [&'static str],
    ) -> Result<Arc<Claims>, Problem> {
        let claims = self.check(token).await.map_err(|error| match error {
            TokenError::Invalid(why) => BearerError::Invalid(why).problem(self),
            other => other.into_problem(),
        })?;
        if needed.iter().all(|scope| claims.has(scope)) {
            Ok(claims)
        } else {
            Err(BearerError::Scope(needed).problem(self))
        }
    }

    /// The problem of a request without any credentials.
    pub fn missing(&self) -> Problem {
        BearerError::Missing.problem(self)
    }
}

/// Rejects a token in the address, whether or not the operation requires one: addresses are written to logs.
pub fn not_in_address(parts: &Parts) -> Result<(), BearerError> {
    let query = parts.uri.query().unwrap_or_default();
    if query.split('&').any(|pair| pair.split('=').next() == Some("access_token")) {
        return Err(BearerError::Request(
            "an access token must be in the Authorization header, not in the address",
        ));
    }
    Ok(())
}

/// The bearer token of a request, if it has one.
pub fn bearer_token(parts: &Parts) -> Result<Option<&str>, BearerError> {
    not_in_address(parts)?;
    authorization::bearer(&parts.headers).map_err(|error| {
        BearerError::Request(match error {
            AuthorizationError::Repeated => "there is more than one Authorization header",
            _ => "the Authorization header is not text",
        })
    })
}

/// What is wrong with the credentials of a request.
#[derive(Debug)]
pub enum BearerError {
    Missing,
    Request(&'static str),
    Invalid(Cow<'static, str>),
    Scope(&'static [&'static str]),
}

impl BearerError {
    /// The response, with its challenge (RFC 6750, 3).
    pub fn problem(self, verifier: &Verifier) -> Problem {
        let bare =
            format!("Bearer realm=\"{}\", resource_metadata=\"{}\"", verifier.realm(), verifier.metadata());
        let (problem, challenge) = match self {
            BearerError::Missing => (
                Problem::new(&UNAUTHORIZED, "This operation needs an access token, as a bearer token."),
                bare,
            ),
            BearerError::Request(why) => (
                Problem::new(&INVALID_REQUEST, format!("The credentials cannot be read: {why}.")),
                format!("{bare}, error=\"invalid_request\", error_description=\"{why}\""),
            ),
            BearerError::Invalid(why) => (
                Problem::new(&UNAUTHORIZED, format!("The access token {why}.")),
                format!("{bare}, error=\"invalid_token\", error_description=\"the access token {why}\""),
            ),
            BearerError::Scope(needed) => {
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
