//! Who can use the console.
//!
//! The admin listener has no sign-in, and may be open to other machines for the sake of Prometheus. So the console needs the
//! operator's token, with one exception: in a demo, a client on the same machine needs none. A web page of another site must not
//! pass as such a client, although its calls come from this machine, too.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::{HeaderName, HeaderValue, header, request::Parts, uri::Authority};
use web::{
    Problem, RequestContext, Result,
    problem::{FORBIDDEN, UNAUTHORIZED},
};

use super::{Console, Running};

/// Headers that a proxy adds. With one of them the client is on the other side of the proxy.
const FORWARDED: [HeaderName; 6] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-real-ip"),
];

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A caller that can use the console: by the operator's token, or as a client of a demo on this machine.
pub(super) struct Operator(pub(super) Arc<Running>);

impl FromRequestParts<Console> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self> {
        let running = console.running()?;
        if parts.headers.contains_key(header::AUTHORIZATION) {
            let is_operator = running
                .sandboxes
                .as_ref()
                .is_some_and(|(sandboxes, _)| sandboxes.is_operator(&parts.headers));
            return if is_operator { Ok(Operator(running)) } else { Err(wrong_token(&running)) };
        }
        if is_from_another_page(parts) {
            let detail = "A page of another site cannot use the console.";
            return Err(Problem::new(&FORBIDDEN, detail));
        }
        match missing(parts, &running) {
            None => Ok(Operator(running)),
            Some(why) => Err(no_token(&running, why)),
        }
    }
}

/// Why a request without a token is refused, if it is.
fn missing(parts: &Parts, running: &Running) -> Option<&'static str> {
    let is_here = RequestContext::of(&parts.extensions)
        .is_some_and(|context| context.client_ip().to_canonical().is_loopback());
    match () {
        () if !running.demo => Some("This is not a demo."),
        () if !is_here => Some("The request comes from another machine."),
        () if FORWARDED.iter().any(|name| parts.headers.contains_key(name)) => {
            Some("The request comes through a proxy.")
        }
        () if !is_for_this_machine(parts) => Some("The request is not for localhost."),
        () => None,
    }
}

/// Whether a browser reports that a page of another origin sends the request.
fn is_from_another_page(parts: &Parts) -> bool {
    let site = parts.headers.get(SEC_FETCH_SITE);
    // "none" is a person who typed the address. Old browsers do not send the header.
    let is_own = site.is_none_or(|site| site == "same-origin" || site == "none");
    !is_own || web::is_from_another_origin(parts, [])
}

/// Whether the request names this machine by a loopback name. Against DNS rebinding: a page whose own name leads to 127.0.0.1 has
/// the same origin as its calls, but the name is still that of the page.
fn is_for_this_machine(parts: &Parts) -> bool {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        (None, _) => parts.uri.authority().map(Authority::as_str),
        _ => None,
    };
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| web::is_loopback_host(host.host()))
}

/// What the operator does to get the token.
fn remedy(running: &Running) -> &'static str {
    match running.sandboxes {
        Some(_) => {
            "Send the operator's token as a bearer token: triptych sandbox token prints it on the server's machine."
        }
        None => {
            "Sandboxes are off, so that there is no operator's token. Use the console of a demo on the server's machine."
        }
    }
}

fn no_token(running: &Running, why: &str) -> Problem {
    unauthorized(format!("{why} {}", remedy(running)))
}

fn wrong_token(running: &Running) -> Problem {
    unauthorized(format!("This is not the operator's token. {}", remedy(running)))
}

fn unauthorized(detail: String) -> Problem {
    Problem::new(&UNAUTHORIZED, detail)
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"Console\""))
}
