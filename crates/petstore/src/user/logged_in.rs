//! A user who logged in: a session, sent as a bearer token or as a cookie. An access token is not accepted: it allows a client
//! to work with pets, not to change the user's account.

use axum::extract::FromRequestParts;
use http::{HeaderValue, header, request::Parts, uri::Authority};
use identity::{oauth::bearer, quota, session::Kind};
use uuid::Uuid;
use web::{
    Problem, RequestContext, Result, SignInMode, is_loopback_host,
    problem::{INVALID_REQUEST, UNAUTHORIZED},
};

use super::store::Creator;
use crate::{Petstore, SignUp};

pub(crate) struct LoggedIn {
    pub(crate) account: Uuid,
    /// The secret of the session; `None` if sessions are not checked.
    pub(crate) session: Option<String>,
}

impl FromRequestParts<Petstore> for LoggedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        let mode = store.sign_in_mode();
        if mode == SignInMode::Off {
            return LoggedIn::demo_user(parts, store).await;
        }
        let token = bearer::bearer_token(parts).map_err(|fault| fault.problem(&store.sign_in.verifier))?;
        let secret = match token {
            Some(token) if mode == SignInMode::Enforce && is_access_token(token) => {
                return Err(refused(
                    "An access token is not a session, and operations on users take sessions only.",
                ));
            }
            Some(secret) => secret,
            None => {
                let secret =
                    cookie(parts).ok_or_else(|| refused("This operation needs a user who has logged in."))?;
                if is_from_another_site(parts, store) {
                    return Err(cookie_from_another_site());
                }
                secret
            }
        };
        if mode == SignInMode::Any {
            return LoggedIn::demo_user(parts, store).await;
        }
        let found = store.sessions.find(Kind::Api, secret).await?;
        let (account, name) = found.ok_or_else(has_ended)?;
        RequestContext::set_user(&parts.extensions, name);
        RequestContext::signed_in(&parts.extensions).await?;
        store.spend(&quota::user(account)).await?;
        Ok(LoggedIn { account, session: Some(secret.to_owned()) })
    }
}

impl LoggedIn {
    async fn demo_user(parts: &Parts, store: &Petstore) -> Result<Self> {
        let account = store.spend_for_demo_user(parts).await?;
        Ok(LoggedIn { account, session: None })
    }

    /// This user as the creator of another one.
    pub(crate) fn creator(&self) -> Creator {
        match self.session {
            Some(_) => Creator::User(self.account),
            // Sessions are not checked in demo mode only.
            None => Creator::Demo,
        }
    }
}

/// A caller who may create users by the list: a user who has logged in, or any caller if that is open.
pub(crate) struct ListCreator(pub(crate) Creator);

impl FromRequestParts<Petstore> for ListCreator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, store: &Petstore) -> Result<Self> {
        let has_session = bearer(parts).is_some() || cookie(parts).is_some();
        Ok(ListCreator(match store.sign_up {
            SignUp::Demo => Creator::Demo,
            SignUp::Open if !has_session => Creator::Operator,
            SignUp::Open | SignUp::Closed => LoggedIn::from_request_parts(parts, store).await?.creator(),
        }))
    }
}

/// The session that a request has as its bearer token, valid or not.
pub(crate) fn bearer(parts: &Parts) -> Option<&str> {
    bearer::bearer_token(parts).ok().flatten().filter(|token| !is_access_token(token))
}

/// The name of the cookie that holds a session.
pub(crate) const COOKIE: &str = "petstore_session";

/// The session that a request has as its cookie, valid or not.
pub(crate) fn cookie(parts: &Parts) -> Option<&str> {
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, secret)| secret)
}

/// Whether a browser reports that a page of another site caused this request. Such requests also have the cookie, without the
/// intent of the user. Other programs do not report a site, and send cookies only on purpose.
pub(crate) fn is_from_another_site(parts: &Parts, store: &Petstore) -> bool {
    let text = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    match text("sec-fetch-site") {
        Some(site) => !matches!(site, "same-origin" | "none"),
        // Browsers send Sec-Fetch-Site only over HTTPS and on loopback.
        None => text("origin").is_some_and(|origin| {
            let host = host(parts);
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            origin != web::origin_of(&store.address) && (host.is_none() || authority != host)
        }),
    }
}

/// The host that a request was sent to, with its port.
fn host(parts: &Parts) -> Option<&str> {
    let sent = parts.headers.get(header::HOST).map(|value| value.to_str().unwrap_or("unreadable"));
    sent.or(parts.uri.authority().map(Authority::as_str))
}

/// Whether the answer to a request may set the cookie of a session. A browser with the cookie must report the site that causes
/// a request, or else a page of another site could log it in or out. Browsers report it only over HTTPS and on loopback.
pub(crate) fn may_set_cookie(parts: &Parts, store: &Petstore) -> bool {
    let is_loopback = |authority: &str| {
        authority.parse::<Authority>().is_ok_and(|authority| is_loopback_host(authority.host()))
    };
    let names_sites = match web::origin_of(&store.address).split_once("://") {
        Some(("https", _)) => true,
        Some((_, own)) => is_loopback(own) && host(parts).is_none_or(is_loopback),
        None => false,
    };
    (names_sites || parts.headers.contains_key("sec-fetch-site")) && !is_from_another_site(parts, store)
}

pub(crate) fn cookie_from_another_site() -> Problem {
    Problem::new(
        &INVALID_REQUEST,
        "A session's cookie counts only for the store's own pages; send the session as a bearer token.",
    )
}

/// Whether a bearer token is an access token: these have three parts separated by dots; secrets of sessions have no dots.
fn is_access_token(token: &str) -> bool {
    token.contains('.')
}

pub(crate) fn has_ended() -> Problem {
    refused("The session has ended.")
}

fn refused(why: &str) -> Problem {
    let challenge = HeaderValue::from_static("Bearer realm=\"Pet store\"");
    let detail =
        format!("{why} Log in at /v3/user/login, and send the session as a bearer token or as its cookie.");
    Problem::new(&UNAUTHORIZED, detail).with_header(header::WWW_AUTHENTICATE, challenge)
}
