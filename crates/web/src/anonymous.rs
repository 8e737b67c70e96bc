//! How many calls an hour may come from an address without valid credentials: to operations that need none, to the sign-in
//! at `/oauth/`, and with credentials that are refused.
//!
//! Each process counts for itself, in memory: a caller that is not known must not cause a write to the database with its calls.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use http::{Method, StatusCode};
use utoipa::openapi::{OpenApi, path::PathItem};

use crate::{
    clock::Clock,
    network::network,
    openapi::needs_nothing,
    problem::{Problem, Result, TOO_MANY_REQUESTS},
    request::ClientIp,
};

/// How many addresses are remembered; a call from a further one is not counted.
const REMEMBERED: usize = 100_000;

const HOUR: i64 = 3600;

/// The limit on a service's calls without valid credentials. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Anonymous(Arc<Inner>);

struct Inner {
    limit: u32,
    clock: Clock,
    /// The methods of these operations, by their routes.
    open: HashMap<String, Vec<Method>>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Since 1970.
    hour: i64,
    calls: HashMap<IpAddr, u32>,
}

impl Anonymous {
    /// For the operations of a document that can be called without credentials.
    pub(crate) fn new(document: &OpenApi, prefix: &str, limit: u32, clock: Clock) -> Self {
        let open = document.paths.paths.iter().map(|(path, item)| {
            let PathItem { get, put, post, delete, patch, .. } = item;
            let all = [
                (Method::GET, get),
                (Method::HEAD, get),
                (Method::PUT, put),
                (Method::POST, post),
                (Method::DELETE, delete),
                (Method::PATCH, patch),
            ];
            let open = all.into_iter().filter_map(|(method, operation)| {
                let open = operation.as_ref().is_some_and(|operation| needs_nothing(operation, document));
                open.then_some(method)
            });
            (format!("{prefix}{path}"), open.collect())
        });
        Anonymous(Arc::new(Inner { limit, clock, open: open.collect(), counts: Mutex::default() }))
    }

    fn is_open(&self, request: &Request) -> bool {
        let route = request.extensions().get::<MatchedPath>();
        let methods = route.and_then(|route| self.0.open.get(route.as_str()));
        methods.is_some_and(|methods| methods.contains(request.method()))
    }

    /// Counts a call from an address; from this machine they are not counted.
    fn spend(&self, address: IpAddr) -> Result<()> {
        if address.to_canonical().is_loopback() {
            return Ok(());
        }
        let now = self.0.clock.now().as_second();
        let (hour, reset) = (now.div_euclid(HOUR), HOUR - now.rem_euclid(HOUR));
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.hour != hour {
            *counts = Counts { hour, calls: HashMap::new() };
        }
        let address = network(address);
        if counts.calls.len() >= REMEMBERED && !counts.calls.contains_key(&address) {
            return Ok(());
        }
        let calls = counts.calls.entry(address).or_default();
        let limit = self.0.limit;
        if *calls >= limit {
            let detail = format!(
                "This address may make {limit} calls an hour without valid credentials or to operations that need none, and \
                 has. The next hour starts in {reset} seconds."
            );
            return Err(Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(reset.unsigned_abs()));
        }
        *calls += 1;
        Ok(())
    }
}

/// Counts each call of an operation that needs no credentials, whatever credentials it has, each call to the sign-in, and each
/// answer that refuses the credentials. Past the limit, valid credentials still count: others may share the address.
pub(crate) async fn meter(
    State(anonymous): State<Anonymous>,
    request: Request,
    next: Next,
) -> Result<Response> {
    let Some(ClientIp(address)) = request.extensions().get().copied() else {
        return Ok(next.run(request).await);
    };
    let counted = anonymous.is_open(&request) || is_sign_in(&request);
    if counted {
        anonymous.spend(address)?;
    }
    let response = next.run(request).await;
    if !counted && response.status() == StatusCode::UNAUTHORIZED {
        anonymous.spend(address)?;
    }
    Ok(response)
}

/// Whether a request is for the authorization server. What a browser asks before a call of a page is not the call.
fn is_sign_in(request: &Request) -> bool {
    request.uri().path().starts_with("/oauth/") && request.method() != Method::OPTIONS
}
