//! Pages for people: what they look like, and what keeps them from being misused.

use std::sync::LazyLock;

use askama::Template;
use axum::response::{IntoResponse, Response};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use url::{Host, Url};
use web::{Problem, Verbatim};

use super::{AuthorizationServer, Scope};
use crate::secret;

pub(super) const STYLE: &str = include_str!("../../templates/style.css");

/// The one style that pages may have, by its hash.
static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(STYLE))));

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignIn<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) client: &'a str,
    pub(super) query: &'a str,
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) fault: Option<Fault>,
    pub(super) sign_up: bool,
}

impl SignIn<'_> {
    fn blames_password(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.field == Some(Field::Password))
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
pub(super) struct Consent<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) client: &'a str,
    pub(super) query: &'a str,
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) scopes: &'a [&'static Scope],
    pub(super) returns_to: &'a str,
}

#[derive(Template)]
#[template(path = "sign_up.html")]
pub(super) struct SignUp<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) query: &'a str,
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) fault: Option<Fault>,
}

/// What is wrong with what was filled in, and where: there the person goes on.
pub(super) struct Fault {
    /// `None`: it is not what was filled in.
    pub(super) field: Option<Field>,
    pub(super) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Password,
}

impl SignUp<'_> {
    fn blames_name(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.field == Some(Field::Name))
    }

    fn blames_password(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.field == Some(Field::Password))
    }
}

#[derive(Template)]
#[template(path = "sign_out.html")]
pub(super) struct SignOut<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) token: &'a str,
    /// Who is signed in, if anybody is.
    pub(super) name: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct Message<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
}

/// An error for a client that registered itself. It is sent there only if the person follows the link.
#[derive(Template)]
#[template(path = "leave.html")]
pub(super) struct Leave<'a> {
    pub(super) style: &'static str,
    pub(super) service: &'a str,
    pub(super) title: &'a str,
    pub(super) client: &'a str,
    pub(super) text: &'a str,
    /// Where the client wants its answers, and that with the answer in it.
    pub(super) returns_to: &'a str,
    pub(super) address: &'a str,
}

/// A page, with everything that keeps it to itself. `leads_to` is where a form on it may end up.
pub(super) fn page(status: StatusCode, template: &impl Template, leads_to: Option<&str>) -> Response {
    let html = match template.render() {
        Ok(html) => html,
        Err(error) => return Problem::internal(error).into_response(),
    };
    // Browsers hold a form's redirect against form-action too.
    let elsewhere = leads_to.and_then(source).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src {}; form-action 'self'{elsewhere}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_SOURCE
    );
    let mut response = (status, html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Nobody else learns our addresses. Our own forms come with the origin `null` then.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    match HeaderValue::try_from(policy) {
        Ok(policy) => headers.insert(header::CONTENT_SECURITY_POLICY, policy),
        Err(error) => return Problem::internal(error).into_response(),
    };
    response.extensions_mut().insert(Verbatim);
    response
}

/// An address as a source of a content security policy, with a blank before it.
fn source(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    match url.host() {
        // The grammar knows no IPv6, and no host in an application's own scheme.
        Some(Host::Ipv4(_) | Host::Domain(_)) if matches!(url.scheme(), "http" | "https") => {
            Some(format!(" {}", url.origin().ascii_serialization()))
        }
        _ => Some(format!(" {}:", url.scheme())),
    }
}

/// Goes on with a GET, whatever this was (303).
pub(super) fn see_other(location: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    match HeaderValue::try_from(location) {
        Ok(location) => headers.insert(header::LOCATION, location),
        Err(error) => return Problem::internal(error).into_response(),
    };
    response
}

/// Cookies: who has signed in, which forms are this browser's own, and what to say about the one that it just sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    Session,
    Form,
    Notice,
}

impl AuthorizationServer {
    fn is_secure(&self) -> bool {
        self.0.settings.issuer.starts_with("https://")
    }

    /// Cookies are shared by all ports of a host, so their names tell the services apart.
    fn cookie_name(&self, cookie: Cookie) -> String {
        let prefix = if self.is_secure() { "__Host-" } else { "" };
        let service = self.0.settings.service.to_ascii_lowercase().replace(' ', "-");
        let what = match cookie {
            Cookie::Session => "session",
            Cookie::Form => "form",
            Cookie::Notice => "notice",
        };
        format!("{prefix}{service}-{what}")
    }

    pub(super) fn cookie(&self, headers: &HeaderMap, cookie: Cookie) -> Option<String> {
        let name = self.cookie_name(cookie);
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
    }

    /// Sets a cookie until the browser is closed, or for a minute if it is a notice, or takes it away.
    pub(super) fn set_cookie(&self, response: &mut Response, cookie: Cookie, value: Option<&str>) {
        let name = self.cookie_name(cookie);
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let age = match value {
            None => "; Max-Age=0",
            Some(_) if cookie == Cookie::Notice => "; Max-Age=60",
            Some(_) => "",
        };
        let text =
            format!("{name}={}; Path=/; HttpOnly; SameSite=Lax{secure}{age}", value.unwrap_or_default());
        if let Ok(text) = HeaderValue::try_from(text) {
            response.headers_mut().append(header::SET_COOKIE, text);
        }
    }

    /// What forms on a page carry, and the cookie it follows from, if that is new.
    pub(super) fn form_token(&self, headers: &HeaderMap) -> (String, Option<String>) {
        match self.cookie(headers, Cookie::Form) {
            Some(cookie) => (token_of(&cookie), None),
            None => {
                let cookie = secret::new(&self.0.chance);
                (token_of(&cookie), Some(cookie))
            }
        }
    }

    /// Whether a form was sent from one of our own pages, by the browser that got it.
    pub(super) fn is_own_form(&self, headers: &HeaderMap, token: Option<&str>) -> bool {
        let (Some(cookie), Some(token)) = (self.cookie(headers, Cookie::Form), token) else { return false };
        came_from_here(headers) && bool::from(token_of(&cookie).as_bytes().ct_eq(token.as_bytes()))
    }
}

fn token_of(cookie: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(format!("form:{cookie}")))
}

/// Whether the browser says nothing against a request's coming from our own pages. `Sec-Fetch-Site` says so wherever a
/// connection can be trusted. `Origin` is ours or, since our pages send no referrer, `null`; elsewhere the form's token has to do.
fn came_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    let site = text(http::HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin") {
        return false;
    }
    let host = text(header::HOST).unwrap_or_default();
    match text(header::ORIGIN) {
        None | Some("null") => true,
        Some(origin) => origin.split_once("://").is_some_and(|(_, authority)| authority == host),
    }
}
