//! The times of the requests to one operation in the metrics: a handle for each status, looked up once.

use std::{sync::OnceLock, time::Duration};

use metrics::Histogram;

/// The statuses that services answer with. Another one is looked up each time.
const STATUSES: [u16; 20] =
    [200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 421, 429, 499, 500, 503];

/// The recorded route of a request that matched none.
pub(crate) const NO_ROUTE: &str = "none";

/// Whether monitoring calls this path every few seconds.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// The labels of a request, also of its span. They come from a fixed set: a route's pattern rather than its path, and no invented methods.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    pub(crate) service: &'static str,
    pub(crate) method: &'static str,
    pub(crate) route: &'a str,
}

/// The handles of an operation.
#[derive(Default)]
pub(crate) struct Times([OnceLock<Histogram>; STATUSES.len()]);

impl Times {
    pub(crate) fn record(&self, labels: Labels<'_>, status: u16, took: Duration) {
        match STATUSES.iter().position(|known| *known == status).and_then(|at| self.0.get(at)) {
            Some(handle) => handle.get_or_init(|| histogram(labels, status)).record(took.as_secs_f64()),
            None => record(labels, status, took),
        }
    }
}

/// Records a request without a kept handle.
pub(crate) fn record(labels: Labels<'_>, status: u16, took: Duration) {
    histogram(labels, status).record(took.as_secs_f64());
}

fn histogram(labels: Labels<'_>, status: u16) -> Histogram {
    let Labels { service, method, route } = labels;
    metrics::histogram!(
        "triptych_http_request_seconds",
        "service" => service,
        "method" => method,
        "route" => route.to_owned(),
        "status" => status.to_string(),
    )
}
