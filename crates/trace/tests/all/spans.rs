//! What is recorded, and what arrives at a collector.

use serde_json::json;
use trace::{Kind, Settings, child};

use crate::support::{Harness, collecting, context, settings};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn spans_arrive_with_their_parents_and_attributes() {
    let (collector, harness) = collecting().await;
    let mut span = harness.traces.span("museum", Kind::Server, "", None);
    span.rename("GET /tickets".into());
    span.set("http.response.status_code", 500_u16);
    let work = async {
        let mut inner = child(Kind::Client, "read").unwrap();
        inner.set("db.system.name", "sqlite");
    };
    span.scope(work).await;
    span.fail("500".to_owned());
    drop(span);
    assert!(child(Kind::Client, "read").is_none(), "the span has ended");
    drop(harness.traces.span(
        "train",
        Kind::Client,
        "POST newBooking",
        Some(&context(&format!("{PARENT} a=1"))),
    ));
    assert_eq!(harness.finish().await, (3, 0));

    let spans = collector.spans(3).await;
    let resource = |service: &str| json!({"service.name": service, "service.namespace": "triptych", "service.version": env!("CARGO_PKG_VERSION")});
    let [inner, outer, other] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&inner.resource, &outer.resource), (&resource("museum"), &resource("museum")));
    assert_eq!((inner.name.as_str(), inner.kind, inner.failed), ("read", 3, false));
    assert_eq!(inner.attributes, json!({"db.system.name": "sqlite"}));
    assert_eq!(
        (inner.trace_id.as_str(), inner.parent.as_str()),
        ("01".repeat(16).as_str(), "02".repeat(8).as_str())
    );
    assert_eq!((outer.name.as_str(), outer.kind, outer.failed), ("GET /tickets", 2, true));
    assert_eq!(outer.attributes, json!({"http.response.status_code": 500, "error.type": "500"}));
    assert_eq!(
        (outer.trace_id.as_str(), outer.id.as_str(), outer.parent.as_str()),
        (inner.trace_id.as_str(), "02".repeat(8).as_str(), "")
    );
    assert!(
        outer.time.0 <= inner.time.0 && inner.time.0 <= inner.time.1 && inner.time.1 <= outer.time.1,
        "{spans:?}"
    );
    assert_eq!((&other.resource, other.name.as_str()), (&resource("train"), "POST newBooking"));
    assert_eq!(
        (other.trace_id.as_str(), other.parent.as_str(), other.state.as_str()),
        ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "a=1")
    );
}

#[tokio::test]
async fn client_decides_whether_its_trace_is_recorded() {
    let (collector, harness) = collecting().await;
    let unsampled = context(&PARENT.replace("-01", "-00"));
    let span = harness.traces.span("museum", Kind::Server, "unsampled", Some(&unsampled));
    assert!(!span.is_recorded());
    assert_eq!(
        span.context().to_text(),
        format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-00", "01".repeat(8))
    );
    span.scope(async { assert!(child(Kind::Client, "read").is_none()) }).await;
    drop(span);
    let never = Harness::start(Settings { sample_ratio: 0.0, ..settings(&collector.endpoint()) });
    assert!(!never.traces.span("museum", Kind::Server, "new", None).is_recorded());
    drop(never.traces.span("museum", Kind::Server, "sampled", Some(&context(PARENT))));
    assert_eq!((harness.finish().await, never.finish().await), ((0, 0), (1, 0)));
    assert_eq!(collector.spans(1).await[0].name, "sampled");
}

#[tokio::test]
async fn part_of_the_traces_is_recorded_by_their_ids() {
    let (collector, _) = collecting().await;
    let harness = Harness::start(Settings { sample_ratio: 0.25, ..settings(&collector.endpoint()) });
    // The ids of the traces are 1, 3, 5 and so on in each byte: below 0x40 is a quarter of all.
    let recorded = (0..100).filter(|_| harness.traces.span("museum", Kind::Server, "", None).is_recorded());
    assert_eq!(recorded.count(), 32);
    assert_eq!(harness.finish().await, (32, 0));
}
