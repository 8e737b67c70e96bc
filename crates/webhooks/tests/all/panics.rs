//! A panic in an attempt is logged, counted and recorded as a failed attempt. In a file of its own: the log is one per test
//! program.

use std::sync::Arc;

use crate::common::{Harness, Running, settings};
use jiff::SignedDuration;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use testkit::{Engine, Fixture, Log};
use webhooks::{Disabled, Settings, TokenFor};

#[tokio::test]
async fn attempt_that_panics_is_logged_counted_and_retried_until_its_subscription_is_disabled() {
    let log = Log::start();
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).unwrap();
    for (engine, panics_before) in [(Engine::Sqlite, 0), (Engine::Postgres, 7)] {
        let harness = Harness::start(engine).await;
        let token_for: TokenFor = Arc::new(|_, _| Box::pin(async { panic!("no token for {}", "ada") }));
        let webhooks = harness.with(Settings { token_for: Some(token_for), ..settings() });
        let (id, _) = harness.subscribe("ada", "a").await;
        let running = Running::new(&webhooks);
        let since = harness.clock.now();
        let event = harness.write("ada").await;
        webhooks.wake();
        let attempt = harness.attempts("ada", id, 1).await.remove(0);
        assert_eq!((attempt.event, attempt.at, attempt.status), (event, since, None));
        assert_eq!(attempt.error.as_deref(), Some("an internal error"));
        let (status, due_at) = harness.delivery(id, event).await.unwrap();
        let wait = due_at.unwrap().duration_since(since);
        assert_eq!(status, "waiting");
        let (least, most) = (SignedDuration::from_secs(5), SignedDuration::from_millis(5500));
        assert!(wait >= least && wait <= most, "{wait}");

        // The second attempt waits longer than the first.
        harness.seconds(6);
        harness.attempts("ada", id, 2).await;
        let (_, due_at) = harness.delivery(id, event).await.unwrap();
        assert!(due_at.unwrap().duration_since(harness.clock.now()) >= SignedDuration::from_mins(5));

        // Five days of attempts of which none arrives disable the subscription.
        for attempts in 3..=7 {
            assert_eq!(harness.see("ada", id).await.0.disabled, None);
            harness.hours(24);
            harness.attempts("ada", id, attempts).await;
        }
        assert_eq!(harness.see("ada", id).await.0.disabled, Some(Disabled::Failing));
        running.kill().await;

        let line = format!("triptych_webhook_panics_total {}", panics_before + 7);
        let found = metrics.render();
        assert!(found.lines().any(|found| found == line), "{found}");
        // Other tests of this program count here, too.
        assert!(found.contains("\ntriptych_webhook_attempt_seconds_count{outcome=\"retried\"} "), "{found}");
        let text = log.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let expected = json!({
            "message": "an attempt to deliver a webhook panicked", "subscription": id.to_string(),
            "event": event.to_string(), "cause": "no token for ada",
        });
        let about = lines.filter(|line| line["fields"] == expected && line["level"] == "ERROR").count();
        assert_eq!(about, 7, "{text}");
    }
}
