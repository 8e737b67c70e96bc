//! The trace of an event goes on in its deliveries.

use serde_json::json;
use testkit::Collector;
use trace::{TraceContext, Traces};
use uuid::Uuid;
use web::Random;
use webhooks::{NewEvent, Settings, Webhooks};

use crate::common::{Harness, KIND, Running, reply, settings};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn sampled() -> Option<TraceContext> {
    TraceContext::from_text(&format!("00-{TRACE}-{SPAN}-01 a=1"))
}

async fn write(harness: &Harness, webhooks: &Webhooks, trace: Option<TraceContext>) -> Uuid {
    let now = harness.clock.now();
    let event = NewEvent { id: Random::system().uuid(now), trace };
    let (id, writer) = (event.id, webhooks.clone());
    let write = move |tx: &mut db::WriteTx<'_>| writer.write(tx, "ada", &event, KIND, "{}", now);
    harness.db.write(write).await.unwrap();
    webhooks.wake();
    id
}

testkit::on_both_engines! {
    async fn trace_is_passed_on_where_nothing_is_recorded(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let _running = harness.run();
        write(&harness, &harness.webhooks, sampled()).await;
        write(&harness, &harness.webhooks, None).await;
        let mut got = harness.receiver.wait_for("a", 2).await;
        got.sort_by_key(|got| got.header("traceparent").to_owned());
        assert_eq!((got[0].headers.get("traceparent"), got[0].headers.get("tracestate")), (None, None));
        let parent = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!((got[1].header("traceparent"), got[1].header("tracestate")), (parent.as_str(), "a=1"));
        let test = harness.webhooks.test("ada", id, KIND, "{}", sampled()).await.unwrap();
        let got = harness.receiver.wait_for("a", 3).await.remove(2);
        assert_eq!((got.id(), got.header("traceparent")), (crate::common::message(test).as_str(), parent.as_str()));
    }

    async fn each_attempt_is_a_span_of_the_trace(harness: Harness) {
        let collector = Collector::start().await;
        let address = format!("{}/v1/traces", collector.endpoint()).parse().unwrap();
        let to = trace::Settings { address, headers: http::HeaderMap::new(), sample_ratio: 0.0, queue: 100 };
        let (traces, exporter) = Traces::start(to, |bytes| Random::system().fill(bytes)).unwrap();
        let webhooks = harness.with(Settings { traces: Some((traces, "train")), ..settings() });
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(503)], reply(204));
        let running = Running::new(&webhooks);
        let event = write(&harness, &webhooks, sampled()).await;
        harness.attempts("ada", id, 1).await;
        harness.seconds(6);
        harness.attempts("ada", id, 2).await;
        // A trace that is not recorded, here because it starts with the delivery, is passed on as well.
        write(&harness, &webhooks, None).await;
        harness.attempts("ada", id, 3).await;
        running.kill().await;
        exporter.run(std::future::ready(())).await;

        let (got, port) = (harness.receiver.got("a"), harness.receiver.url("a").port().unwrap());
        let spans = collector.spans(2).await;
        let common = json!({"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": port});
        let with = |more: serde_json::Value| {
            let mut all = common.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        for (span, got) in spans.iter().zip(&got) {
            assert_eq!((span.name.as_str(), span.kind), (format!("POST {KIND}").as_str(), 3));
            assert_eq!((span.trace_id.as_str(), span.parent.as_str(), span.state.as_str()), (TRACE, SPAN, "a=1"));
            assert_eq!(span.resource["service.name"], "train");
            assert_eq!((got.id(), got.header("tracestate")), (crate::common::message(event).as_str(), "a=1"));
            assert_eq!(got.header("traceparent"), format!("00-{TRACE}-{}-01", span.id));
        }
        assert_eq!(spans[0].attributes, with(json!({"http.response.status_code": 503, "error.type": "503"})));
        assert_eq!(spans[1].attributes, with(json!({"http.response.status_code": 204, "http.request.resend_count": 1})));
        assert_eq!((spans[0].failed, spans[1].failed), (true, false));
        let untraced = got[2].header("traceparent");
        assert!(untraced.ends_with("-00") && !untraced.contains(TRACE), "{untraced}");
    }
}
