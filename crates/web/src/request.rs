//! What the server knows about a request; carried in the request's extensions.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use http::Extensions;

/// The id of a request: the client's own if it sent one that is well formed, else a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

/// The client's address: the other end of the connection, or the address that a trusted proxy forwards.
#[derive(Clone, Copy, Debug)]
pub struct ClientIp(pub IpAddr);

/// The name of the service in logs and metrics.
#[derive(Clone, Copy, Debug)]
pub struct ServiceName(pub &'static str);

/// What the layers of a service add about a request. The edge keeps a clone, and reads it after the answer or a panic.
#[derive(Clone, Debug, Default)]
pub struct RequestContext(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    user: OnceLock<String>,
    client: OnceLock<String>,
    route: OnceLock<MatchedPath>,
    supports_xml: OnceLock<()>,
    path_prefix: OnceLock<Arc<str>>,
}

impl RequestContext {
    /// Sets the user that a valid credential names: an account's name, or a token's subject.
    pub fn set_user(extensions: &Extensions, user: impl Into<String>) {
        if let Some(RequestContext(parts)) = extensions.get() {
            let _ = parts.user.set(user.into());
        }
    }

    /// Sets the OAuth client that a valid token was issued to, or the name of a valid API key.
    pub fn set_client(extensions: &Extensions, client: impl Into<String>) {
        if let Some(RequestContext(parts)) = extensions.get() {
            let _ = parts.client.set(client.into());
        }
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.0.user.get().map(String::as_str)
    }

    pub(crate) fn client(&self) -> Option<&str> {
        self.0.client.get().map(String::as_str)
    }

    pub(crate) fn route(&self) -> Option<&str> {
        self.0.route.get().map(MatchedPath::as_str)
    }

    /// The path prefix of the service instance that got the request; empty at the root.
    pub(crate) fn path_prefix(&self) -> &str {
        self.0.path_prefix.get().map_or("", |prefix| prefix)
    }

    /// Whether the service that got the request answers in XML as well as in JSON.
    pub(crate) fn supports_xml(&self) -> bool {
        self.0.supports_xml.get().is_some()
    }
}

/// A layer around a service instance under a path prefix, so that problems name their kinds below it.
pub(crate) async fn set_path_prefix(
    State(prefix): State<Arc<str>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(RequestContext(parts)) = request.extensions().get() {
        let _ = parts.path_prefix.set(prefix);
    }
    next.run(request).await
}

/// A layer that sets the route that matched, which only the router knows.
pub(crate) async fn set_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(RequestContext(parts)), Some(route)) = (extensions.get(), extensions.get::<MatchedPath>()) {
        let _ = parts.route.set(route.clone());
    }
    next.run(request).await
}

/// A layer around a service with XML, so that the edge may write its problems in XML.
pub(crate) async fn set_supports_xml(request: Request, next: Next) -> Response {
    if let Some(RequestContext(parts)) = request.extensions().get() {
        let _ = parts.supports_xml.set(());
    }
    next.run(request).await
}
