//! The record of a request: a line in the log, and its time in the metrics.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::extract::Request;
use http::{Method, StatusCode};

use crate::{problem::Problem, request::RequestContext};

/// The recorded status of a request whose client disconnected before the answer.
const ABORTED: u16 = 499;

/// A request that is being answered. Dropped before the answer, it records an aborted request: the connection was closed.
pub(super) struct Record {
    pub(super) service: &'static str,
    pub(super) id: Arc<str>,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) client: IpAddr,
    pub(super) context: RequestContext,
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
            context: RequestContext::default(),
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
        // Labels come from a fixed set: a route's pattern rather than its path, and no invented methods.
        let route = self.context.route().unwrap_or("none").to_owned();
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
        let (user, client_id) = (self.context.user(), self.context.client());
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

/// Whether monitoring calls this path every few seconds.
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
