//! Traces that are sent to a collector of the test.

use std::sync::atomic::{AtomicU8, Ordering};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use testkit::Collector;
use trace::{Exporter, Settings, TraceContext, Traces};

/// Traces, what sends them, and their metrics.
pub(crate) struct Harness {
    pub(crate) traces: Traces,
    pub(crate) exporter: Exporter,
    metrics: PrometheusHandle,
}

impl Harness {
    /// The bytes of each id are the next number, from 1.
    pub(crate) fn start(settings: Settings) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let next = AtomicU8::new(1);
        let random = move |bytes: &mut [u8]| bytes.fill(next.fetch_add(1, Ordering::Relaxed));
        let started = metrics::with_local_recorder(&recorder, || Traces::start(settings, random));
        let (traces, exporter) = started.unwrap();
        Harness { traces, exporter, metrics: recorder.handle() }
    }

    /// Sends what is recorded, and gives the metrics: how many spans were sent, and how many were dropped.
    pub(crate) async fn finish(self) -> (u64, u64) {
        let Harness { traces, exporter, metrics } = self;
        drop(traces);
        exporter.run(std::future::ready(())).await;
        counts(&metrics)
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        counts(&self.metrics)
    }
}

fn counts(metrics: &PrometheusHandle) -> (u64, u64) {
    let text = metrics.render();
    let count = |outcome: &str| {
        let name = format!("triptych_trace_spans_total{{outcome=\"{outcome}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    };
    (count("sent"), count("dropped"))
}

/// Settings for an address, which record all traces.
pub(crate) fn settings(endpoint: &str) -> Settings {
    let address = format!("{endpoint}/v1/traces").parse().unwrap();
    Settings { address, headers: http::HeaderMap::new(), sample_ratio: 1.0, queue: 8192 }
}

pub(crate) async fn collecting() -> (Collector, Harness) {
    let collector = Collector::start().await;
    let harness = Harness::start(settings(&collector.endpoint()));
    (collector, harness)
}

/// What a client sent as `traceparent` and `tracestate`.
pub(crate) fn context(text: &str) -> TraceContext {
    TraceContext::from_text(text).unwrap()
}
