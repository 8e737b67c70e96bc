//! The operations to log in and out.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, header, request::Parts};
use identity::{SignInError, security::Origin, session::Kind};
use jiff::SignedDuration;
use model::Parameters;
use secrecy::SecretString;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema, xml::XmlBuilder},
};
use web::{
    Problem, Query, Result, SignInMode,
    input::rules::text_object,
    negotiate,
    problem::{INVALID_REQUEST, TOO_MANY_REQUESTS, UNAVAILABLE},
    xml::{ToXml, Xml},
};

use super::{LONGEST_CREDENTIAL, logged_in};
use crate::Petstore;

/// The answer to a log-out in plain text.
const LOGGED_OUT: &str = "The session has ended.";

/// How long a session lasts.
const LENGTH: SignedDuration = SignedDuration::from_hours(1);

const JSON: &str = "application/json";
const XML: &str = "application/xml";
const TEXT: &str = "text/plain";

#[derive(Parameters)]
pub(crate) struct Login {
    /// The user's name.
    #[field(rule = text(1..=LONGEST_CREDENTIAL), example = "user1")]
    username: String,
    /// The user's password.
    #[field(rule = text(1..=LONGEST_CREDENTIAL).then(|_, text| Some(SecretString::from(text))))]
    #[field(example = "password")]
    password: SecretString,
}

/// Log in
///
/// The answer is the session: send it as a bearer token, or let the browser send its cookie. Calls by a page of another site, and
/// calls over plain HTTP from another machine, get no cookie.
#[utoipa::path(
    get, path = "/user/login", operation_id = "loginUser", tag = "user",
    params(Login),
    responses((
        status = 200, description = "The session, as a string.",
        content((String = "application/json"), (inline(Session) = "application/xml"), (String = "text/plain")),
        headers(
            ("X-Rate-Limit" = i32, description = "How many calls an hour this user may make."),
            ("X-Expires-After" = jiff::Timestamp, description = "When the session ends, in UTC."),
            ("Set-Cookie" = String, description = "The session, for browsers."),
        ),
    ), (
        status = 400, description = "Invalid username/password supplied",
    ), (
        status = 429, description = "There were too many wrong passwords.",
        headers(("Retry-After" = i64, description = "How many seconds to wait before trying again.")),
    )),
    security(()),
)]
pub(crate) async fn login(
    State(petstore): State<Petstore>,
    parts: Parts,
    origin: Origin,
    Query(Login { username, password }): Query<Login>,
) -> Result<Response> {
    let form = negotiate::choose(&parts.headers, &[JSON, XML, TEXT])?;
    let accepts_anyone =
        petstore.habits().login_accepts_anyone || petstore.controls.get().sign_in != SignInMode::Enforce;
    let session = if !accepts_anyone {
        let account = petstore.accounts.sign_in(&username, password, origin).await.map_err(refused)?;
        petstore.sessions.start(Kind::Api, account, LENGTH).await?
    } else {
        petstore.sessions.unchecked(LENGTH)
    };
    let body = match form {
        XML => Xml::document(&Session(session.secret.clone())).unwrap_or_default(),
        TEXT => session.secret.clone().into_bytes(),
        _ => format!("\"{}\"", session.secret).into_bytes(),
    };
    let secure = if petstore.address.starts_with("https://") { "; Secure" } else { "" };
    let cookie = format!(
        "{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
        logged_in::COOKIE,
        session.secret,
        petstore.path(""),
        session.length.as_secs(),
    );
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    headers.insert(HeaderName::from_static("x-rate-limit"), petstore.quota.limit().into());
    let expires = HeaderValue::try_from(format!("{:.0}", session.expires_at)).map_err(Problem::internal)?;
    headers.insert(HeaderName::from_static("x-expires-after"), expires);
    if logged_in::may_set_cookie(&parts, &petstore) {
        headers.insert(header::SET_COOKIE, HeaderValue::try_from(cookie).map_err(Problem::internal)?);
    }
    Ok(response)
}

/// A session as an element of XML.
pub(crate) struct Session(String);

impl ToXml for Session {
    const ROOT: &'static str = "string";

    fn content(&self, xml: &mut Xml) {
        xml.characters(&self.0);
    }
}

impl PartialSchema for Session {
    fn schema() -> RefOr<Schema> {
        let root = XmlBuilder::new().name(Some(Session::ROOT)).build();
        text_object().xml(Some(root)).into()
    }
}

impl ToSchema for Session {}

fn refused(error: SignInError) -> Problem {
    match error {
        SignInError::Wrong => Problem::new(&INVALID_REQUEST, "The username or the password is wrong."),
        SignInError::Wait(seconds) => {
            let detail = format!("There were too many wrong passwords. Try again in {seconds} seconds.");
            Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(seconds)
        }
        SignInError::Busy => {
            Problem::new(&UNAVAILABLE, "Too many passwords are being checked just now.").retry_after(1)
        }
        SignInError::Db(error) => error.into(),
        SignInError::Broken(cause) => Problem::internal(cause),
    }
}

/// Log out
///
/// Ends the session of the request, if there is one. A call by a page of another site can only end a session that is sent as a
/// bearer token.
#[utoipa::path(
    get, path = "/user/logout", operation_id = "logoutUser", tag = "user",
    responses(
        (status = 200, description = "The session has ended."),
        (status = 400, description = "A page of another site called it, with nothing but the session's cookie."),
    ),
    security(()),
)]
pub(crate) async fn logout(State(petstore): State<Petstore>, parts: Parts) -> Result<Response> {
    let (bearer, cookie) = (logged_in::bearer(&parts), logged_in::cookie(&parts));
    if let Some(secret) = bearer {
        petstore.sessions.end(Kind::Api, secret).await?;
    }
    if logged_in::is_from_another_site(&parts, &petstore) {
        return match (bearer, cookie) {
            (None, Some(_)) => Err(logged_in::cookie_from_another_site()),
            _ => Ok(petstore.habits().done(LOGGED_OUT)),
        };
    }
    if let Some(secret) = cookie {
        petstore.sessions.end(Kind::Api, secret).await?;
    }
    let gone =
        format!("{}=; Path={}; Max-Age=0; HttpOnly; SameSite=Lax", logged_in::COOKIE, petstore.path(""));
    let gone = HeaderValue::try_from(gone).map_err(Problem::internal)?;
    let mut response = petstore.habits().done(LOGGED_OUT);
    response.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(response)
}
