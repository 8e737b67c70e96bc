//! The span of a request, with the attributes of OpenTelemetry's conventions for HTTP. Like the log, it has no query string, no
//! credential and no body.

use std::net::SocketAddr;

use axum::extract::Request;
use http::Uri;
use trace::{Kind, Span, TraceContext, Traces};

use super::site::Site;
use crate::times::{Labels, NO_ROUTE, is_probe};

/// Starts the spans of a listener.
pub(super) struct RequestTraces {
    traces: Traces,
    service: &'static str,
    scheme: &'static str,
    host: String,
    port: u16,
}

impl RequestTraces {
    /// `None` if no traces are recorded.
    pub(super) fn new(site: &Site, listening: SocketAddr) -> Option<Self> {
        let traces = site.traces.clone()?;
        let is_secure = site.tls.is_some() || site.is_secure();
        let (scheme, default_port) = if is_secure { ("https", 443) } else { ("http", 80) };
        let address: Option<Uri> = site.address.parse().ok();
        let (host, port) = match address.as_ref().and_then(Uri::host) {
            Some(host) => (host.to_owned(), address.as_ref().and_then(Uri::port_u16).unwrap_or(default_port)),
            None => (listening.ip().to_string(), listening.port()),
        };
        Some(RequestTraces { traces, service: site.name, scheme, host, port })
    }

    /// The span of a request. The questions of monitoring have none.
    pub(super) fn start(&self, request: &Request) -> Option<Span> {
        if is_probe(request.uri().path()) {
            return None;
        }
        let parent = TraceContext::from_headers(request.headers());
        let mut span = self.traces.span(self.service, Kind::Server, String::new(), parent.as_ref());
        if span.is_recorded() {
            span.set("url.scheme", self.scheme);
            span.set("server.address", self.host.clone());
            span.set("server.port", self.port);
        }
        Some(span)
    }
}

/// Ends the span of a request.
pub(super) fn finish(mut span: Span, labels: Labels<'_>, status: u16, client: &str) {
    if !span.is_recorded() {
        return;
    }
    let Labels { method, route, .. } = labels;
    // As the conventions name a method that they do not know.
    let (method, in_name) = if method == "other" { ("_OTHER", "HTTP") } else { (method, method) };
    span.set("http.request.method", method);
    match route {
        NO_ROUTE => span.rename(in_name.to_owned()),
        route => {
            span.rename(format!("{in_name} {route}"));
            span.set("http.route", route.to_owned());
        }
    }
    span.set("http.response.status_code", status);
    span.set("client.address", client.to_owned());
    if status >= 500 {
        span.fail(status.to_string());
    }
}
