//! Sending: headers, retries, and a collector that is away.

use http::HeaderValue;
use testkit::{Address, receiver::reply};
use tokio::sync::oneshot;
use trace::{Kind, Settings, Traces};

use crate::support::{Harness, collecting, settings};

fn record(traces: &Traces, count: usize) {
    for _ in 0..count {
        drop(traces.span("museum", Kind::Server, "GET /", None));
    }
}

#[tokio::test]
async fn requests_have_the_headers_of_the_settings() {
    let (collector, _) = collecting().await;
    let mut with_key = settings(&collector.endpoint());
    with_key.headers.insert("x-api-key", HeaderValue::from_static("k3y"));
    let harness = Harness::start(with_key);
    record(&harness.traces, 1);
    harness.finish().await;
    let request = &collector.requests(1).await[0];
    assert_eq!((request.path.as_str(), request.header("x-api-key")), ("/v1/traces", "k3y"));
}

#[tokio::test]
async fn many_spans_are_sent_in_batches() {
    let (collector, harness) = collecting().await;
    record(&harness.traces, 100);
    assert_eq!(harness.finish().await, (100, 0));
    let (collector_of_many, harness) = collecting().await;
    record(&harness.traces, 1100);
    assert_eq!(harness.finish().await, (1100, 0));
    let sizes = |requests: Vec<_>| -> Vec<_> {
        requests.iter().map(|one| testkit::collector::spans(std::slice::from_ref(one)).len()).collect()
    };
    assert_eq!(sizes(collector.requests(1).await), [100]);
    assert_eq!(sizes(collector_of_many.requests(3).await), [512, 512, 76]);
}

#[tokio::test]
async fn spans_above_the_limit_are_dropped_and_counted_while_the_collector_is_away() {
    // Nothing listens there any more.
    let endpoint = Address::free().await.url();
    let harness = Harness::start(Settings { queue: 4, ..settings(&endpoint) });
    record(&harness.traces, 10);
    assert_eq!(harness.counts(), (0, 6));
    assert_eq!(harness.finish().await, (0, 10), "the rest is dropped when the program stops");
}

#[tokio::test]
async fn batch_is_sent_again_after_a_temporary_error() {
    let (collector, harness) = collecting().await;
    collector.script(&[reply(503)], reply(200));
    let (stop, stopped) = oneshot::channel::<()>();
    let Harness { traces, exporter, .. } = harness;
    let running = tokio::spawn(exporter.run(async { drop(stopped.await) }));
    record(&traces, 2);
    let requests = collector.requests(2).await;
    assert_eq!(requests[0].body, requests[1].body);
    stop.send(()).unwrap();
    running.await.unwrap();
    assert_eq!(collector.requests(2).await.len(), 2);
}

#[tokio::test]
async fn rejected_batch_is_dropped_and_counted() {
    let (collector, harness) = collecting().await;
    collector.script(&[reply(400)], reply(200));
    record(&harness.traces, 600);
    assert_eq!(harness.finish().await, (88, 512));
}

#[tokio::test]
async fn stop_does_not_wait_long_for_a_collector_that_does_not_answer() {
    let (collector, harness) = collecting().await;
    collector.script(&[], reply(200).hangs());
    record(&harness.traces, 600);
    assert_eq!(harness.finish().await, (0, 600));
    assert_eq!(collector.requests(1).await.len(), 1);
}
