//! Metrics in the format of Prometheus, on the admin listener.

use std::time::Duration;

use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use db::Db;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use service::Description;
use web::{Background, Clock};

use crate::{Failure, process_metrics, settings::Settings};

/// From half a millisecond to ten seconds.
const SECONDS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const UNITS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// How often the figures of databases are read.
const GAUGES_EVERY: Duration = Duration::from_secs(15);

/// Starts to record. Before anything else: a part that keeps a handle records nowhere if it gets the handle earlier.
pub(crate) fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_units".into()), UNITS)?;
    let handle = recorder.install_recorder()?;
    describe();
    process_metrics::describe();
    gauge!("triptych_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
    Ok(handle)
}

/// The help text of each metric. Those of a service are in its description.
fn describe() {
    describe_gauge!("triptych_build_info", "The version of the program, as a label.");
    describe_histogram!(
        "triptych_http_request_seconds",
        Unit::Seconds,
        "Time from a request to the end of its response, for each operation and status."
    );
    describe_counter!(
        "triptych_connections_refused_total",
        "Connections that were closed at once, because there were too many."
    );
    describe_counter!(
        "triptych_requests_refused_total",
        "Requests that got 503 at once, because there were too many."
    );
    describe_counter!("triptych_security_events_total", "Events of the security log, such as sign-ins.");
    describe_counter!("triptych_password_checks_total", "Passwords that were hashed to be checked.");
    describe_histogram!(
        "triptych_db_batch_units",
        Unit::Count,
        "Units of work that share one commit of the embedded database."
    );
    describe_histogram!(
        "triptych_db_wait_seconds",
        Unit::Seconds,
        "Time that work waits in the queue: for its commit on the embedded database, for a connection on PostgreSQL."
    );
    describe_gauge!(
        "triptych_db_connections",
        "Connections to PostgreSQL for writes and transactions: open, and busy."
    );
    describe_counter!(
        "triptych_db_stale_reads_total",
        "Reads that may be stale: on the replica, or on the primary where the replica did not answer."
    );
    describe_histogram!(
        "triptych_webhook_attempt_seconds",
        Unit::Seconds,
        "Time of each attempt to deliver a webhook, by its outcome."
    );
    describe_counter!("triptych_webhook_panics_total", "Attempts to deliver a webhook that panicked.");
    describe_counter!("triptych_background_restarts_total", "Restarts of a background task that failed.");
    describe_counter!("triptych_trace_spans_total", "Spans of traces: sent to the collector, or dropped.");
    describe_gauge!("triptych_sandboxes_open", "Sandboxes that this process has open.");
    for service in Settings::defaults().services() {
        for gauge in service.description().gauges {
            describe_gauge!(gauge.name, gauge.help);
        }
    }
}

/// Folds the measurements into the histograms from time to time, so that memory stays flat between scrapes.
pub(crate) async fn keep_up(handle: PrometheusHandle) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        handle.run_upkeep();
    }
}

/// Reads the figures of a service from time to time. They are not read at each scrape: anyone who reaches the admin listener could
/// then keep the database busy.
pub(crate) async fn keep_gauges(service: &'static Description, db: Db, clock: Clock) {
    let mut every = tokio::time::interval(GAUGES_EVERY);
    loop {
        every.tick().await;
        for figure in service.gauges {
            match figure.read(&db, clock.now()).await {
                Ok(value) => gauge!(figure.name).set(value),
                // `/readyz` says so, too.
                Err(error) => tracing::debug!(%error, name = figure.name, "a figure could not be read"),
            }
        }
    }
}

pub(crate) fn router(handle: PrometheusHandle, upkeep: Background) -> Router {
    let ready = async move || upkeep.check().map(|()| "ready\n");
    Router::new()
        .route("/metrics", get(render))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(handle)
}

async fn render(State(handle): State<PrometheusHandle>) -> impl IntoResponse {
    process_metrics::collect();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render())
}
