//! The pages for users, and the headers that protect them.

use std::sync::LazyLock;

use askama::Template;
use axum::response::{IntoResponse, Response};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};
use url::{Host, Url};
use web::{KeepBody, Problem};

use super::state::Settings;
use crate::oauth::scope::Scope;

static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{}{}", web::page::TOKENS, include_str!("../../../templates/style.css")));

/// The hash of the only style that the content security policy allows.
static STYLE_HASH: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(&*STYLE))));

/// What all pages of a server share.
pub(super) struct Frame<'a> {
    style: &'static str,
    /// The service's name, which selects its colours, and its name in words.
    name: &'static str,
    service: &'static str,
    /// The path in front of all paths of the service.
    path: &'a str,
}

impl Settings {
    pub(super) fn frame(&self) -> Frame<'_> {
        Frame { style: &STYLE, name: self.name, service: self.service, path: web::path_of(&self.issuer) }
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignIn<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) client: &'a str,
    pub(super) query: &'a str,
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) error: Option<FormError>,
    pub(super) sign_up: bool,
    /// Whether to name the user of the demo.
    pub(super) demo: bool,
}

impl SignIn<'_> {
    fn is_password_invalid(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.field == Some(Field::Password))
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
pub(super) struct Consent<'a> {
    pub(super) frame: Frame<'a>,
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
    pub(super) frame: Frame<'a>,
    pub(super) query: &'a str,
    pub(super) token: &'a str,
    pub(super) name: &'a str,
    pub(super) error: Option<FormError>,
}

/// Why a form was rejected, and the field that gets the focus.
pub(super) struct FormError {
    /// `None`: no field is invalid.
    pub(super) field: Option<Field>,
    pub(super) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Password,
}

impl SignUp<'_> {
    fn is_name_invalid(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.field == Some(Field::Name))
    }

    fn is_password_invalid(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.field == Some(Field::Password))
    }
}

#[derive(Template)]
#[template(path = "sign_out.html")]
pub(super) struct SignOut<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) token: &'a str,
    /// The user of the session, if there is one.
    pub(super) name: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct Message<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
}

/// An error for a client that registered itself. It is sent to the client only if the user follows the link.
#[derive(Template)]
#[template(path = "leave.html")]
pub(super) struct Leave<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) title: &'a str,
    pub(super) client: &'a str,
    pub(super) text: &'a str,
    /// The redirect address, without and with the parameters of the error.
    pub(super) returns_to: &'a str,
    pub(super) address: &'a str,
}

/// A page, with the headers that protect it. `leads_to` is the address to which a form on it may redirect.
pub(super) fn page(status: StatusCode, template: &impl Template, leads_to: Option<&str>) -> Response {
    let html = match template.render() {
        Ok(html) => html,
        Err(error) => return Problem::internal(error).into_response(),
    };
    // Browsers apply form-action to the redirect after a form too.
    let redirect = leads_to.and_then(csp_source).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src {}; img-src 'self'; form-action 'self'{redirect}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_HASH
    );
    let mut response = (status, html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Addresses of pages are not sent to other sites. With this, a browser sends our own forms with the origin `null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    match HeaderValue::try_from(policy) {
        Ok(policy) => headers.insert(header::CONTENT_SECURITY_POLICY, policy),
        Err(error) => return Problem::internal(error).into_response(),
    };
    response.extensions_mut().insert(KeepBody);
    response
}

/// An address as a source of a content security policy, after a blank.
fn csp_source(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    match url.host() {
        // The grammar has no IPv6 address, and no host in a private-use scheme.
        Some(Host::Ipv4(_) | Host::Domain(_)) if matches!(url.scheme(), "http" | "https") => {
            Some(format!(" {}", url.origin().ascii_serialization()))
        }
        _ => Some(format!(" {}:", url.scheme())),
    }
}

/// A redirect to be followed by GET.
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
