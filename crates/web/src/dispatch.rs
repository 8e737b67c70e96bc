//! Answers the requests to one instance of a service: one step after the other, the same for every operation.
//!
//! Counts and checks come first, then the handler, then the headers of the answer. A layer for each of these steps would cost
//! an allocation and a copy of the layers below it for every request.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use tower::{ServiceExt, service_fn};

use crate::{
    anonymous::Anonymous,
    compression,
    cors::Cors,
    operations::{Operation, Operations},
    problem::Result,
    request::{InstanceContext, RequestContext, RequestRoute},
};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

pub(crate) struct Dispatch {
    pub(crate) context: Arc<InstanceContext>,
    /// Where the API's paths begin; empty if they begin at the root.
    pub(crate) prefix: &'static str,
    pub(crate) operations: Operations,
    /// The operations; everything else is its fallback: pages, documents, the sign-in. Those mark their answers with [`Page`].
    pub(crate) router: Router,
    pub(crate) anonymous: Anonymous,
    pub(crate) cors: Cors,
    /// The headers that an API key may be in, if the service has keys.
    pub(crate) key_headers: Option<HeaderValue>,
}

/// Marks the answer of a route that is not part of the API.
#[derive(Clone, Copy)]
pub(crate) struct Page;

impl Dispatch {
    pub(crate) fn into_router(self) -> Router {
        let dispatch = Arc::new(self);
        Router::new().fallback_service(service_fn(move |request: Request| {
            let dispatch = dispatch.clone();
            async move { Ok::<_, Infallible>(dispatch.answer(request).await) }
        }))
    }

    async fn answer(&self, mut request: Request) -> Response {
        let context = context(&mut request);
        context.set_instance(self.context.clone());
        let path = request.uri().path();
        let route = self.operations.at(path);
        let in_api = route.is_some() || self.is_in_api(path);
        let preflight = in_api && request.method() == Method::OPTIONS;
        if let Some(route) = route {
            context.set_route(RequestRoute::Operation(route.clone()));
            if preflight {
                let mut response = Cors::preflight(request.headers());
                response.headers_mut().insert(header::ALLOW, route.allow.clone());
                return response;
            }
        }
        let operation = route.and_then(|route| route.operation(request.method()));
        let asked = preflight.then(|| request.headers().clone());
        let accepted = request.headers().get_all(header::ACCEPT_ENCODING).iter().cloned().collect();
        let answer = self.call(operation, request, &context).await;
        let mut response = answer.unwrap_or_else(IntoResponse::into_response);
        if response.extensions_mut().remove::<Page>().is_some() || !in_api {
            return response;
        }
        if let Some(asked) = asked {
            return Cors::preflight(&asked);
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
        operation: Option<&Operation>,
        mut request: Request,
        context: &RequestContext,
    ) -> Result<Response> {
        let spend = || self.anonymous.spend(context.client_ip());
        let is_counted = operation.map_or_else(|| is_sign_in(&request), |operation| operation.is_open);
        if is_counted {
            spend()?;
        }
        if let Some(operation) = operation {
            operation.check(&mut request)?;
        }
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if !is_counted && response.status() == StatusCode::UNAUTHORIZED {
            spend()?;
        }
        Ok(response)
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

/// Whether a request is for the authorization server. The request that a browser sends before a call is not the call.
fn is_sign_in(request: &Request) -> bool {
    request.uri().path().starts_with("/oauth/") && request.method() != Method::OPTIONS
}

/// A layer for the routes that are not part of the API.
pub(crate) async fn mark_page(mut response: Response) -> Response {
    response.extensions_mut().insert(Page);
    response
}
