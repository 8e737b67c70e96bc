//! Limits the calls an hour from one address without valid credentials: calls of operations that need none, calls of the
//! sign-in at `/oauth/`, and calls with credentials that are rejected.
//!
//! Each process counts its own calls, in memory: calls of unknown callers must not cause writes to the database.

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
    openapi::needs_no_credentials,
    problem::{Problem, Result, TOO_MANY_REQUESTS},
    request::ClientIp,
};

/// How many addresses are counted; calls from any other address are not limited.
const MOST_ADDRESSES: usize = 100_000;

const HOUR: i64 = 3600;

/// The limit on a service's calls without valid credentials. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Anonymous(Arc<Inner>);

struct Inner {
    limit: u32,
    clock: Clock,
    /// The methods of operations without credentials, by route.
    open: HashMap<String, Vec<Method>>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// The hour of these counts, in hours since 1970.
    hour: i64,
    calls: HashMap<IpAddr, u32>,
}

impl Anonymous {
    /// The limit for the operations of a document that can be called without credentials.
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
                let open =
                    operation.as_ref().is_some_and(|operation| needs_no_credentials(operation, document));
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

    /// Counts a call from an address. Calls from loopback are not counted.
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
        if counts.calls.len() >= MOST_ADDRESSES && !counts.calls.contains_key(&address) {
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

/// Counts each call of an operation that needs no credentials (also if the call has some), each call of the sign-in, and each
/// call with rejected credentials. Past the limit, calls with valid credentials still pass: several clients may share the
/// address.
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

/// Whether a request is for the authorization server. A preflight request of a browser is not counted.
fn is_sign_in(request: &Request) -> bool {
    request.uri().path().starts_with("/oauth/") && request.method() != Method::OPTIONS
}
