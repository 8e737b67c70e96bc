//! HTTP Basic (RFC 7617): authenticates the caller before an operation starts.

use axum::extract::{FromRef, FromRequestParts};
use http::{HeaderMap, HeaderValue, header, request::Parts};
use secrecy::SecretString;
use uuid::Uuid;
use web::{
    Problem, RequestContext, SignInMode,
    problem::{TOO_MANY_REQUESTS, UNAUTHORIZED, UNAVAILABLE},
};

use crate::{
    accounts::{Accounts, DEMO_USER},
    authorization::{self, AuthorizationError},
    error::SignInError,
    security::Origin,
};

/// The caller of an operation. An operation with this extractor rejects requests without valid credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The account of the credentials.
    pub account: Uuid,
}

/// A 401 with the challenge that asks for HTTP Basic.
pub fn unauthorized(accounts: &Accounts, detail: &'static str) -> Problem {
    let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", accounts.realm());
    let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Basic"));
    Problem::new(&UNAUTHORIZED, detail).with_header(header::WWW_AUTHENTICATE, challenge)
}

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Accounts: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let accounts = Accounts::from_ref(state);
        let challenge = |detail: &'static str| unauthorized(&accounts, detail);
        let mode = accounts.sign_in_mode();
        if mode == SignInMode::Off {
            return Caller::demo_user(parts, &accounts).await;
        }
        let (name, password) = credentials(&parts.headers).map_err(challenge)?;
        if mode == SignInMode::Any {
            return Caller::demo_user(parts, &accounts).await;
        }
        let signed_in = accounts.sign_in(&name, password, Origin::of(parts)).await;
        if signed_in.is_ok() {
            RequestContext::set_user(&parts.extensions, name);
            RequestContext::signed_in(&parts.extensions).await?;
        }
        signed_in.map(|account| Caller { account }).map_err(|error| match error {
            SignInError::Wrong => challenge("The name or the password is wrong."),
            SignInError::Wait(seconds) => Problem::new(
                &TOO_MANY_REQUESTS,
                format!("There were too many wrong passwords. Try again in {seconds} seconds."),
            )
            .retry_after(seconds),
            SignInError::Busy => {
                Problem::new(&UNAVAILABLE, "Too many passwords are being checked. Try again in a moment.")
                    .retry_after(1)
            }
            SignInError::Db(error) => error.into(),
            SignInError::Broken(cause) => Problem::internal(cause),
        })
    }
}

impl Caller {
    async fn demo_user(parts: &Parts, accounts: &Accounts) -> Result<Self, Problem> {
        let account = accounts.demo_user().await?;
        RequestContext::set_user(&parts.extensions, DEMO_USER);
        RequestContext::signed_in(&parts.extensions).await?;
        Ok(Caller { account })
    }
}

fn credentials(headers: &HeaderMap) -> Result<(String, SecretString), &'static str> {
    match authorization::basic(headers) {
        Ok(Some((name, password))) => Ok((name, password.into())),
        Ok(None) => Err("This operation needs HTTP Basic credentials."),
        Err(AuthorizationError::Repeated) => Err("There is more than one Authorization header."),
        Err(AuthorizationError::NotUtf8) => Err("The name and the password must be UTF-8."),
        Err(AuthorizationError::NotText | AuthorizationError::NotBasic) => Err(
            "The Authorization header is not HTTP Basic: it must be the word Basic and the Base64 form of name:password.",
        ),
    }
}
