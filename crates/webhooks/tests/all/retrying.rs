//! The schedule of retries, and subscriptions that are disabled.

use crate::common::{Harness, Reply, reply};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use webhooks::Disabled;

const MICROSECOND: SignedDuration = SignedDuration::from_micros(1);

const SCHEDULE: [SignedDuration; 9] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(5),
    SignedDuration::from_hours(10),
    SignedDuration::from_hours(14),
    SignedDuration::from_hours(20),
    SignedDuration::from_hours(24),
];

/// Sends an event to a subscriber with this reply, and gives the wait before the next attempt.
async fn wait_after(harness: &Harness, name: &str, reply: Reply) -> SignedDuration {
    let (id, _) = harness.subscribe(name, name).await;
    harness.receiver.script(name, &[], reply);
    let event = harness.write(name).await;
    harness.attempts(name, id, 1).await;
    due(harness, id, event).await.duration_since(harness.clock.now())
}

/// Whether an attempt is being made.
async fn sends(harness: &Harness) -> bool {
    let sql = "SELECT count(*) FROM webhook_delivery WHERE status = 'sending'";
    let count = harness.db.read(move |tx| tx.row(sql, &[], |row| row.get::<i64>(0)));
    count.await.unwrap() > Some(0)
}

async fn due(harness: &Harness, id: Uuid, event: Uuid) -> Timestamp {
    let (status, due_at) = harness.delivery(id, event).await.unwrap();
    assert_eq!(status, "waiting");
    due_at.unwrap()
}

testkit::on_both_engines! {
    async fn event_is_sent_at_most_ten_times(harness: Harness) {
        let (id, secret) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(503));
        let _running = harness.run();
        let first_at = harness.clock.now();
        let event = harness.write("ada").await;
        for (n, wait) in SCHEDULE.into_iter().enumerate() {
            harness.attempts("ada", id, n + 1).await;
            let at = harness.clock.now();
            let due_at = due(&harness, id, event).await;
            assert!(due_at >= at + wait && due_at <= at + wait + wait / 10, "{n}: {due_at} after {at}");
            harness.advance(wait - MICROSECOND);
            harness.wait_for_claims().await;
            assert_eq!((due(&harness, id, event).await, harness.receiver.count("a")), (due_at, n + 1));
            harness.advance(wait / 10 + SignedDuration::from_secs(1));
            harness.receiver.wait_for("a", n + 2).await;
            assert_eq!(harness.see("ada", id).await.0.failing_since, Some(first_at));
        }
        harness.attempts("ada", id, 10).await;
        assert_eq!(harness.delivery(id, event).await, Some(("failed".into(), None)));
        for _ in 0..3 {
            harness.hours(24 * 7);
            harness.wait_for_claims().await;
        }
        let got = harness.receiver.got("a");
        assert_eq!(got.len(), 10);
        // The same event with a new signature each time.
        let mut signatures: Vec<_> = got.iter().map(|got| got.header("webhook-signature")).collect();
        signatures.dedup();
        assert_eq!(signatures.len(), 10);
        for got in &got {
            assert_eq!((got.id(), &got.body), (crate::common::message(event).as_str(), &got.body));
            let timestamp = got.header("webhook-timestamp");
            let then = Timestamp::from_second(timestamp.parse().unwrap()).unwrap();
            assert_eq!(secret.verify(got.id(), timestamp, signatures_of(got), &got.body, then), Ok(()));
        }
        // It is failing, but not disabled: there were no attempts for five days.
        assert_eq!(harness.see("ada", id).await.0.disabled, None);
    }

    async fn retry_after_delays_the_next_attempt_up_to_a_day(harness: Harness) {
        let _running = harness.run();
        let busy = |wait: &str| reply(503).header("retry-after", wait);
        let date = |seconds| {
            let then = harness.clock.now() + SignedDuration::from_secs(seconds);
            jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&then).unwrap()
        };
        let (least, most) = (SCHEDULE[0], SCHEDULE[0] + SCHEDULE[0] / 10);
        let exactly = [
            ("minute", busy("60"), 60),
            ("spaces", busy(" 60 "), 60),
            ("slow-down", reply(429).header("retry-after", "120"), 120),
            ("day", busy("86400"), 86_400),
            ("more", busy("86401"), 86_400),
            ("most", busy("4294967296"), 86_400),
            ("far-more", busy("99999999999999999999999999"), 86_400),
        ];
        for (name, reply, seconds) in exactly {
            assert_eq!(wait_after(&harness, name, reply).await, SignedDuration::from_secs(seconds), "{name}");
        }
        let until = wait_after(&harness, "date", busy(&date(600))).await;
        assert!((599..=600).contains(&until.as_secs()), "{until}");
        let nonsense = ["", "0", "1", "-60", "60.5", "1e9", "soon", "+60", "60 s", "٦٠"];
        for (n, wait) in nonsense.into_iter().chain([date(-600).as_str()]).enumerate() {
            let waits = wait_after(&harness, &format!("nonsense-{n}"), busy(wait)).await;
            assert!(waits >= least && waits <= most, "{wait:?}: {waits}");
        }
        let far = wait_after(&harness, "date-far", busy(&date(864_000))).await;
        assert_eq!(far, SignedDuration::from_hours(24));
    }

    async fn answer_410_disables_the_subscription(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let (other, _) = harness.subscribe("ada", "b").await;
        harness.receiver.script("a", &[reply(500), reply(410)], reply(204));
        let _running = harness.run();
        let first = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        harness.advance(SignedDuration::from_millis(1));
        let second = harness.write("ada").await;
        let attempt = harness.attempts("ada", id, 2).await.remove(0);
        let error = Some("answered 410: nothing is sent there any more");
        assert_eq!((attempt.status, attempt.error.as_deref()), (Some(410), error));
        assert_eq!(harness.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        let third = harness.write("ada").await;
        harness.attempts("ada", other, 3).await;
        harness.hours(24);
        harness.wait_for_claims().await;
        for event in [first, second] {
            assert_eq!(harness.delivery(id, event).await, Some(("failed".into(), None)));
        }
        assert_eq!((harness.delivery(id, third).await, harness.receiver.count("a")), (None, 2));
        assert_eq!((harness.attempts("ada", other, 3).await.len(), harness.receiver.count("b")), (3, 3));
    }

    async fn attempts_in_flight_at_a_410_stay_failed_or_delivered(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(500).hangs(), reply(204).hangs(), reply(410)], reply(204));
        let _running = harness.run();
        let mut events = Vec::new();
        for n in 1..=3 {
            events.push(harness.write("ada").await);
            harness.receiver.wait_for("a", n).await;
        }
        harness.attempts("ada", id, 1).await;
        harness.receiver.release();
        harness.attempts("ada", id, 3).await;
        let expected = ["failed", "delivered", "failed"];
        for (event, expected) in events.into_iter().zip(expected) {
            assert_eq!(harness.delivery(id, event).await, Some((expected.into(), None)));
        }
        assert_eq!(harness.see("ada", id).await.0.disabled, Some(Disabled::Gone));
    }

    async fn five_days_of_failures_disable_the_subscription_until_a_request(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(500));
        let _running = harness.run();
        let since = harness.clock.now();
        let fail_again = async |by| {
            harness.advance(by);
            let event = harness.write("ada").await;
            let is_tried = async || harness.see("ada", id).await.1.iter().any(|attempt| attempt.event == event);
            testkit::until(is_tried).await;
            // An attempt at an earlier event that ends only after the clock moves on would count at that time.
            harness.wait_for_claims().await;
            testkit::until(async || !sends(&harness).await).await;
            (event, harness.see("ada", id).await.0)
        };
        fail_again(SignedDuration::ZERO).await;
        for _ in 0..4 {
            fail_again(SignedDuration::from_hours(24)).await;
        }
        let (_, found) = fail_again(SignedDuration::from_hours(24) - MICROSECOND).await;
        assert_eq!((found.failing_since, found.disabled), (Some(since), None));
        let (last, found) = fail_again(MICROSECOND).await;
        assert_eq!((found.failing_since, found.disabled), (Some(since), Some(Disabled::Failing)));
        let missed = harness.write("ada").await;
        harness.wait_for_claims().await;
        let count = harness.receiver.count("a");
        harness.hours(24);
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), count);

        harness.receiver.script("a", &[], reply(204));
        harness.webhooks.redeliver("ada", id, last).await.unwrap();
        testkit::until(async || harness.delivery(id, last).await.unwrap().0 == "delivered").await;
        let found = harness.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (None, None));
        // Events that were written meanwhile can be redelivered.
        assert_eq!(harness.delivery(id, missed).await.unwrap().0, "failed");
        assert!(harness.webhooks.redeliver_failed("ada", id, since).await.unwrap() > 1);
        harness.wait_for_claims().await;
        testkit::until(async || harness.delivery(id, missed).await.unwrap().0 == "delivered").await;
    }

    async fn days_without_an_attempt_do_not_count_as_failing(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(410));
        let running = harness.run();
        harness.receiver.script("a", &[reply(500)], reply(500));
        let event = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        running.kill().await;
        // The service was down, so it is unknown whether the subscriber failed.
        harness.hours(24 * 6);
        let _running = harness.run();
        harness.attempts("ada", id, 2).await;
        let found = harness.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (Some(harness.clock.now()), None));
        assert_eq!(harness.delivery(id, event).await.unwrap().0, "waiting");
    }

    /// This test takes as long as the timeout of an attempt.
    async fn hanging_response_is_cut_off_and_counts_by_its_status(harness: Harness) {
        harness.receiver.script("a", &[], reply(204).hangs());
        harness.receiver.script("b", &[], reply(200).unending());
        harness.receiver.script("c", &[], reply(503).header("retry-after", "60").unending());
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            ids.push(harness.subscribe("ada", name).await.0);
        }
        let _running = harness.run();
        let event = harness.write("ada").await;
        let mut found = Vec::new();
        // After the status, the sender reads the body for at most a second.
        for (id, at_least) in ids.iter().zip([15_000, 1000, 1000]) {
            let attempt = harness.attempts("ada", *id, 1).await.remove(0);
            assert!((at_least..60_000).contains(&attempt.duration_ms), "{attempt:?}");
            found.push((attempt.status, attempt.error));
        }
        let slow = Some("no answer within 15 seconds".to_owned());
        assert_eq!(found, [(None, slow), (Some(200), None), (Some(503), Some("answered 503".into()))]);
        assert_eq!(harness.delivery(ids[1], event).await.unwrap().0, "delivered");
        let asked = due(&harness, ids[2], event).await.duration_since(harness.clock.now());
        assert_eq!(asked, SignedDuration::from_secs(60));
    }

    async fn delivery_that_arrives_ends_failing(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(500), reply(204), reply(500)], reply(204));
        let _running = harness.run();
        let event = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        harness.write("ada").await;
        harness.attempts("ada", id, 2).await;
        assert_eq!(harness.see("ada", id).await.0.failing_since, None);
        harness.hours(1);
        harness.attempts("ada", id, 3).await;
        assert_eq!(harness.see("ada", id).await.0.failing_since, Some(harness.clock.now()));
        harness.hours(1);
        harness.attempts("ada", id, 4).await;
        assert_eq!(harness.delivery(id, event).await.unwrap().0, "delivered");
        assert_eq!(harness.see("ada", id).await.0.failing_since, None);
    }
}

fn signatures_of(got: &crate::common::Got) -> &str {
    got.header("webhook-signature")
}
