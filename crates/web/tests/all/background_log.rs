//! The log and the metrics of failed background tasks.

use std::{
    future::pending,
    pin::pin,
    task::{Context, Waker},
};

use jiff::SignedDuration;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use testkit::Log;
use web::{Background, Clock};

/// A name that no other test has: all of them write to one log.
const SERVICE: &str = "logged-restarts";

#[test]
fn restarts_are_counted_and_logged_with_their_cause() {
    let (clock, log) = (Clock::manual("2026-05-13T10:00:00Z".parse().unwrap()), Log::start_with_everything());
    // No timer wakes the task in this test.
    let mut context = Context::from_waker(Waker::noop());
    let recorder = PrometheusBuilder::new().build_recorder();
    let series = |restarts: u64| {
        let line = format!(
            "triptych_background_restarts_total{{service=\"{SERVICE}\",task=\"sweeper\"}} {restarts}"
        );
        let found = recorder.handle().render();
        assert!(found.lines().any(|found| found == line), "{found}");
    };
    metrics::with_local_recorder(&recorder, || {
        let background = Background::new(SERVICE, clock.clone());
        let work = |_| async { panic!("the seats do not add up: {}", 7) };
        let mut kept = pin!(background.keep("sweeper", pending(), work));
        assert!(kept.as_mut().poll(&mut context).is_pending());
        series(0);
        for (seconds, restarts) in [(1, 1), (2, 2)] {
            clock.advance(SignedDuration::from_secs(seconds));
            assert!(kept.as_mut().poll(&mut context).is_pending());
            series(restarts);
        }
    });
    let logged = log.text();
    let lines = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines.filter(|line| line["fields"]["service"] == SERVICE).collect();
    assert_eq!(lines.len(), 3, "{logged}");
    for (line, seconds) in lines.iter().zip([1, 2, 4]) {
        let message = "a background task is down; it is started again after these seconds";
        let expected = json!({
            "service": SERVICE, "task": "sweeper", "cause": "the seats do not add up: 7", "seconds": seconds,
            "message": message,
        });
        assert_eq!((&line["level"], &line["fields"]), (&json!("ERROR"), &expected));
    }
}
