//! What stays of a request: a line in the log, and its time in the metrics.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use http::{Extensions, Method, StatusCode};

use crate::problem::Problem;

/// What is learnt about a request on its way, for its line in the log; carried in the request.
#[derive(Clone, Debug, Default)]
pub struct Learnt(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    user: OnceLock<String>,
    client_id: OnceLock<String>,
    route: OnceLock<MatchedPath>,
}

impl Learnt {
    /// The user that a valid credential names: an account's name, or a token's subject.
    pub fn user(extensions: &Extensions, user: impl Into<String>) {
        if let Some(Learnt(parts)) = extensions.get() {
            let _ = parts.user.set(user.into());
        }
    }

    /// The OAuth client that a valid token was given to, or the name of a valid API key.
    pub fn client(extensions: &Extensions, client: impl Into<String>) {
        if let Some(Learnt(parts)) = extensions.get() {
            let _ = parts.client_id.set(client.into());
        }
    }
}

/// Notes the route that matched, which only the router knows.
pub(super) async fn learn_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(Learnt(parts)), Some(route)) = (extensions.get(), extensions.get::<MatchedPath>()) {
        let _ = parts.route.set(route.clone());
    }
    next.run(request).await
}

/// The status under which a request is recorded whose client went away before its answer.
const ABORTED: u16 = 499;

/// A request on its way. If this is dropped before there is an answer, the client has gone, or was let go.
pub(super) struct Record {
    pub(super) service: &'static str,
    pub(super) id: Arc<str>,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) client: IpAddr,
    pub(super) learnt: Learnt,
    start: Instant,
    answered: bool,
}

impl Record {
    pub(super) fn new(service: &'static str, request: &Request, id: Arc<str>, client: IpAddr) -> Self {
        Record {
            service,
            id,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            client,
            learnt: Learnt::default(),
            start: Instant::now(),
            answered: false,
        }
    }

    /// Records the answer.
    pub(super) fn answered(mut self, status: StatusCode, problem: Option<&Problem>) {
        self.answered = true;
        self.record(status.as_u16(), "request", problem);
    }

    fn record(&self, status: u16, message: &str, problem: Option<&Problem>) {
        let took = self.start.elapsed();
        let Learnt(learnt) = &self.learnt;
        // Labels come from a fixed set: a route's pattern rather than its path, and no invented methods.
        let route = learnt.route.get().map_or("none", MatchedPath::as_str).to_owned();
        metrics::histogram!(
            "triptych_http_request_seconds",
            "service" => self.service,
            "method" => known(&self.method),
            "route" => route,
            "status" => status.to_string(),
        )
        .record(took.as_secs_f64());
        let Record { service, id, method, path, client, .. } = self;
        let ms = took.as_micros() as f64 / 1000.0;
        let (user, client_id) = (learnt.user.get(), learnt.client_id.get());
        let (user, client_id) = (user.map(String::as_str), client_id.map(String::as_str));
        let cause = problem.and_then(Problem::cause).map(tracing::field::display);
        let problem = problem.map(|problem| problem.kind().name);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    service, %method, path, status, ms, %client, user, client_id, id = &**id, problem, cause, "{message}"
                )
            };
        }
        if cause.is_some() {
            line!(error);
        } else if is_probe(path) && status < 400 {
            line!(debug);
        } else {
            line!(info);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.answered {
            self.record(ABORTED, "request aborted", None);
        }
    }
}

/// What is asked for every few seconds, by machines.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
