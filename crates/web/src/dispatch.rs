//! Answers the requests to one instance of a service: one step after the other, the same for every operation.
//!
//! Counts and checks come first, then the handler, then the headers of the answer. A layer for each of these steps would cost
//! an allocation and a copy of the layers below it for every request.

use std::{net::Ipv4Addr, sync::Arc};

use axum::{
    Router,
    body::{Body, HttpBody},
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use tower::ServiceExt;

use crate::{
    adapter::Adapter,
    anonymous::Anonymous,
    compression,
    cors::Cors,
    operations::{Operation, Operations, Route},
    problem::Result,
    request::{InstanceContext, RequestContext, RequestRoute},
};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

pub(crate) struct Dispatch {
    pub(crate) context: Arc<InstanceContext>,
    /// Where the API's paths begin; empty if they begin at the root.
    pub(crate) prefix: &'static str,
    pub(crate) operations: Operations,
    /// Everything else: pages, documents, the sign-in. Those mark their answers with [`Page`].
    pub(crate) other: Router,
    pub(crate) anonymous: Anonymous,
    pub(crate) cors: Cors,
    /// The headers that an API key may be in, if the service has keys.
    pub(crate) key_headers: Option<HeaderValue>,
    pub(crate) adapter: Option<Arc<dyn Adapter>>,
}

/// Marks the answer of a route that is not part of the API.
#[derive(Clone, Copy)]
pub(crate) struct Page;

impl Dispatch {
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let context = context(&mut request);
        context.set_instance(self.context.clone());
        if let Some(adapter) = &self.adapter {
            adapter.request(&mut request);
        }
        let path = request.uri().path();
        let found = self.operations.at(path);
        let in_api = found.is_some() || self.is_in_api(path);
        let preflight = in_api && request.method() == Method::OPTIONS;
        if let Some((route, parameter)) = found {
            context.set_route(RequestRoute::Operation(route.clone(), parameter.map(Box::from)));
            if preflight {
                let mut response = Cors::preflight(request.headers());
                response.headers_mut().insert(header::ALLOW, route.allow.clone());
                return response;
            }
        }
        let route = found.map(|(route, _)| &**route);
        let operation = route.and_then(|route| route.operation(request.method()));
        let is_head = request.method() == Method::HEAD;
        let asked = preflight.then(|| request.headers().clone());
        let accepted = request.headers().get_all(header::ACCEPT_ENCODING).iter().cloned().collect();
        let let_in = match context.gate() {
            Some(gate) => gate.before(operation.and_then(|operation| operation.id.as_deref())).await,
            None => Ok(()),
        };
        let answer = match let_in {
            Ok(()) => self.call(route, operation, request, &context).await,
            Err(problem) => Err(problem),
        };
        let mut response = answer.unwrap_or_else(IntoResponse::into_response);
        if context.gate().is_some() {
            self.complete(&mut response, route, operation);
        }
        if response.extensions_mut().remove::<Page>().is_some() || !in_api {
            return response;
        }
        if let Some(asked) = asked {
            return Cors::preflight(&asked);
        }
        if let Some(adapter) = &self.adapter {
            adapter.response(&mut response);
            if is_head {
                response = without_body(response);
            }
        }
        let headers = response.headers_mut();
        if operation.is_some_and(|operation| operation.varies_by_key)
            && let Some(key_headers) = &self.key_headers
        {
            headers.append(header::VARY, key_headers.clone());
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(value) = context.rate_limit() {
            headers.insert(RATE_LIMIT, value.clone());
        }
        self.cors.add_headers(headers);
        compression::compress(response, accepted).await
    }

    /// Calls the handler. Counts a call of an operation that needs no credentials (also if the call has some), a call of the
    /// sign-in, and a call with rejected credentials. Past the limit, calls with valid credentials still pass: several clients
    /// may share the address.
    async fn call(
        &self,
        route: Option<&Route>,
        operation: Option<&Operation>,
        mut request: Request,
        context: &RequestContext,
    ) -> Result<Response> {
        let spend = || self.anonymous.spend(context.client_ip());
        let is_counted = operation.map_or_else(|| is_sign_in(&request), |operation| operation.is_open);
        if is_counted {
            spend()?;
        }
        let response = match (operation, route) {
            (Some(operation), _) => {
                operation.check(&mut request)?;
                let is_head = request.method() == Method::HEAD;
                let response = operation.call(request).await;
                if is_head { without_body(response) } else { response }
            }
            (None, Some(route)) => {
                (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, route.allow.clone())]).into_response()
            }
            (None, None) => match self.other.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        };
        if !is_counted && response.status() == StatusCode::UNAUTHORIZED {
            spend()?;
        }
        Ok(response)
    }

    /// Adds the header that an error status needs (RFC 9110, 15.5) to an answer that a gate gave. The answers of services have it.
    fn complete(&self, response: &mut Response, route: Option<&Route>, operation: Option<&Operation>) {
        let status = response.status();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED && !headers.contains_key(header::WWW_AUTHENTICATE) {
            for challenge in self.operations.challenges(operation) {
                headers.append(header::WWW_AUTHENTICATE, challenge.clone());
            }
        }
        if status == StatusCode::METHOD_NOT_ALLOWED && !headers.contains_key(header::ALLOW) {
            // Most pages and documents can only be read.
            let allow = route.map_or(HeaderValue::from_static("GET,HEAD"), |route| route.allow.clone());
            headers.insert(header::ALLOW, allow);
        }
    }

    fn is_in_api(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The context of a request. The edge sets it; a router that is called without one has a request of this machine.
fn context(request: &mut Request) -> RequestContext {
    if let Some(context) = RequestContext::of(request.extensions()) {
        return context.clone();
    }
    let context = RequestContext::new("".into(), Ipv4Addr::LOCALHOST.into(), "");
    request.extensions_mut().insert(context.clone());
    context
}

/// The answer to `HEAD`: the headers of the answer to `GET`.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    Response::from_parts(parts, Body::empty())
}

/// Whether a request is for the authorization server. The request that a browser sends before a call is not the call.
fn is_sign_in(request: &Request) -> bool {
    request.uri().path().starts_with("/oauth/") && request.method() != Method::OPTIONS
}

/// A layer for the routes that are not part of the API.
pub(crate) async fn mark_page(mut response: Response) -> Response {
    response.extensions_mut().insert(Page);
    response
}
