//! Cookies, and the tokens that protect forms against requests from other sites.

use axum::response::Response;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use db::Word;
use http::{HeaderMap, HeaderValue, header};
use model::Words;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::state::AuthorizationServer;
use crate::secret;

/// The cookies: the session, the secret of the browser's forms, and the notice about the last form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(super) enum Cookie {
    Session,
    Form,
    Notice,
}

impl AuthorizationServer {
    fn is_secure(&self) -> bool {
        self.0.settings.issuer.starts_with("https://")
    }

    /// All ports of a host share their cookies, so the name has the service in it, and the path of the instance. A cookie for a
    /// path cannot have the prefix `__Host-`, which is for the root.
    fn cookie_name(&self, cookie: Cookie) -> String {
        let path = web::path_of(&self.0.settings.issuer);
        let prefix = match (self.is_secure(), path) {
            (true, "") => "__Host-",
            (true, _) => "__Secure-",
            (false, _) => "",
        };
        let service = self.0.settings.service.to_ascii_lowercase().replace(' ', "-");
        format!("{prefix}{service}{}-{}", path.replace('/', "-"), cookie.word())
    }

    pub(super) fn cookie(&self, headers: &HeaderMap, cookie: Cookie) -> Option<String> {
        let name = self.cookie_name(cookie);
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value.to_owned())
    }

    /// Sets a cookie until the browser is closed, a notice for a minute; without a value, deletes it.
    pub(super) fn set_cookie(&self, response: &mut Response, cookie: Cookie, value: Option<&str>) {
        let name = self.cookie_name(cookie);
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let age = match value {
            None => "; Max-Age=0",
            Some(_) if cookie == Cookie::Notice => "; Max-Age=60",
            Some(_) => "",
        };
        let path = match web::path_of(&self.0.settings.issuer) {
            "" => "/",
            path => path,
        };
        let text =
            format!("{name}={}; Path={path}; HttpOnly; SameSite=Lax{secure}{age}", value.unwrap_or_default());
        if let Ok(text) = HeaderValue::try_from(text) {
            response.headers_mut().append(header::SET_COOKIE, text);
        }
    }

    /// The token for the forms of a page, and the cookie that it is derived from, if that is new.
    pub(super) fn form_token(&self, headers: &HeaderMap) -> (String, Option<String>) {
        match self.cookie(headers, Cookie::Form) {
            Some(cookie) => (token_of(&cookie), None),
            None => {
                let cookie = secret::new(&self.0.random);
                (token_of(&cookie), Some(cookie))
            }
        }
    }

    /// Whether a form was sent from a page of this server, by the browser that loaded the page.
    pub(super) fn is_own_form(&self, headers: &HeaderMap, token: Option<&str>) -> bool {
        let (Some(cookie), Some(token)) = (self.cookie(headers, Cookie::Form), token) else { return false };
        is_same_origin(headers) && bool::from(token_of(&cookie).as_bytes().ct_eq(token.as_bytes()))
    }
}

fn token_of(cookie: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(format!("form:{cookie}")))
}

/// Whether no header says that a request comes from another origin. Browsers send `Sec-Fetch-Site` over TLS and on this
/// machine. `Origin` is the server's own or, since its pages send no referrer, `null`. Without both, only the token protects.
fn is_same_origin(headers: &HeaderMap) -> bool {
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
