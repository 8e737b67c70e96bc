//! What does not arrive is sent again: when, how often, and until when.

use crate::common::{House, Reply, reply};
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

/// Sends an event to somebody who answers like this, and gives how long it then waits.
async fn wait_after(house: &House, name: &str, reply: Reply) -> SignedDuration {
    let (id, _) = house.subscribe(name, name).await;
    house.receiver.script(name, &[], reply);
    let event = house.write(name).await;
    house.attempts(name, id, 1).await;
    due(house, id, event).await.duration_since(house.clock.now())
}

async fn due(house: &House, id: Uuid, event: Uuid) -> Timestamp {
    let (status, due_at) = house.delivery(id, event).await.unwrap();
    assert_eq!(status, "waiting");
    due_at.unwrap()
}

testkit::on_both_engines! {
    async fn an_event_is_sent_ten_times_and_never_again(house: House) {
        let (id, secret) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(503));
        let _running = house.run();
        let first_at = house.clock.now();
        let event = house.write("ada").await;
        for (n, wait) in SCHEDULE.into_iter().enumerate() {
            house.attempts("ada", id, n + 1).await;
            let at = house.clock.now();
            let due_at = due(&house, id, event).await;
            assert!(due_at >= at + wait && due_at <= at + wait + wait / 10, "{n}: {due_at} after {at}");
            house.advance(wait - MICROSECOND);
            house.settle().await;
            assert_eq!((due(&house, id, event).await, house.receiver.count("a")), (due_at, n + 1));
            house.advance(wait / 10 + SignedDuration::from_secs(1));
            house.receiver.wait_for("a", n + 2).await;
            assert_eq!(house.see("ada", id).await.0.failing_since, Some(first_at));
        }
        house.attempts("ada", id, 10).await;
        assert_eq!(house.delivery(id, event).await, Some(("failed".into(), None)));
        for _ in 0..3 {
            house.hours(24 * 7);
            house.settle().await;
        }
        let got = house.receiver.got("a");
        assert_eq!(got.len(), 10);
        // The same event, said anew each time.
        let mut signatures: Vec<_> = got.iter().map(|got| got.header("webhook-signature")).collect();
        signatures.dedup();
        assert_eq!(signatures.len(), 10);
        for got in &got {
            assert_eq!((got.id(), &got.body), (crate::common::message(event).as_str(), &got.body));
            let timestamp = got.header("webhook-timestamp");
            let then = Timestamp::from_second(timestamp.parse().unwrap()).unwrap();
            assert_eq!(secret.verify(got.id(), timestamp, signatures_of(got), &got.body, then), Ok(()));
        }
        // It is failing, but nobody gives it up for that: it was not tried for five days.
        assert_eq!(house.see("ada", id).await.0.disabled, None);
    }

    async fn whoever_asks_for_time_gets_it_up_to_a_day(house: House) {
        let _running = house.run();
        let busy = |wait: &str| reply(503).header("retry-after", wait);
        let date = |seconds| {
            let then = house.clock.now() + SignedDuration::from_secs(seconds);
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
            assert_eq!(wait_after(&house, name, reply).await, SignedDuration::from_secs(seconds), "{name}");
        }
        let until = wait_after(&house, "date", busy(&date(600))).await;
        assert!((599..=600).contains(&until.as_secs()), "{until}");
        let nonsense = ["", "0", "1", "-60", "60.5", "1e9", "soon", "+60", "60 s", "٦٠"];
        for (n, wait) in nonsense.into_iter().chain([date(-600).as_str()]).enumerate() {
            let waits = wait_after(&house, &format!("nonsense-{n}"), busy(wait)).await;
            assert!(waits >= least && waits <= most, "{wait:?}: {waits}");
        }
        let far = wait_after(&house, "date-far", busy(&date(864_000))).await;
        assert_eq!(far, SignedDuration::from_hours(24));
    }

    async fn whoever_is_gone_gets_nothing_any_more(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let (other, _) = house.subscribe("ada", "b").await;
        house.receiver.script("a", &[reply(500), reply(410)], reply(204));
        let _running = house.run();
        let first = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        house.advance(SignedDuration::from_millis(1));
        let second = house.write("ada").await;
        let attempt = house.attempts("ada", id, 2).await.remove(0);
        let error = Some("answered 410: nothing is sent there any more");
        assert_eq!((attempt.status, attempt.error.as_deref()), (Some(410), error));
        assert_eq!(house.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        let third = house.write("ada").await;
        house.attempts("ada", other, 3).await;
        house.hours(24);
        house.settle().await;
        for event in [first, second] {
            assert_eq!(house.delivery(id, event).await, Some(("failed".into(), None)));
        }
        assert_eq!((house.delivery(id, third).await, house.receiver.count("a")), (None, 2));
        assert_eq!((house.attempts("ada", other, 3).await.len(), house.receiver.count("b")), (3, 3));
    }

    async fn what_was_on_its_way_when_another_was_told_gone_stays_failed_or_arrived(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(500).hangs(), reply(204).hangs(), reply(410)], reply(204));
        let _running = house.run();
        let mut events = Vec::new();
        for n in 1..=3 {
            events.push(house.write("ada").await);
            house.receiver.wait_for("a", n).await;
        }
        house.attempts("ada", id, 1).await;
        house.receiver.release();
        house.attempts("ada", id, 3).await;
        let expected = ["failed", "delivered", "failed"];
        for (event, expected) in events.into_iter().zip(expected) {
            assert_eq!(house.delivery(id, event).await, Some((expected.into(), None)));
        }
        assert_eq!(house.see("ada", id).await.0.disabled, Some(Disabled::Gone));
    }

    async fn whoever_fails_for_five_days_gets_nothing_until_they_ask(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(500));
        let _running = house.run();
        let since = house.clock.now();
        let fail_again = async |by| {
            house.advance(by);
            let event = house.write("ada").await;
            while !house.see("ada", id).await.1.iter().any(|attempt| attempt.event == event) {
                tokio::task::yield_now().await;
            }
            (event, house.see("ada", id).await.0)
        };
        fail_again(SignedDuration::ZERO).await;
        for _ in 0..4 {
            fail_again(SignedDuration::from_hours(24)).await;
        }
        let (_, found) = fail_again(SignedDuration::from_hours(24) - MICROSECOND).await;
        assert_eq!((found.failing_since, found.disabled), (Some(since), None));
        let (last, found) = fail_again(MICROSECOND).await;
        assert_eq!((found.failing_since, found.disabled), (Some(since), Some(Disabled::Failing)));
        let missed = house.write("ada").await;
        house.settle().await;
        let count = house.receiver.count("a");
        house.hours(24);
        house.settle().await;
        assert_eq!(house.receiver.count("a"), count);

        house.receiver.script("a", &[], reply(204));
        house.webhooks.redeliver("ada", id, last).await.unwrap();
        while house.delivery(id, last).await.unwrap().0 != "delivered" {
            tokio::task::yield_now().await;
        }
        let found = house.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (None, None));
        // What was made meanwhile waits for whoever asks for it.
        assert_eq!(house.delivery(id, missed).await.unwrap().0, "failed");
        assert!(house.webhooks.redeliver_failed("ada", id, since).await.unwrap() > 1);
        house.settle().await;
        while house.delivery(id, missed).await.unwrap().0 != "delivered" {
            tokio::task::yield_now().await;
        }
    }

    async fn whoever_was_not_tried_for_days_was_not_failing_all_the_time(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(410));
        let running = house.run();
        house.receiver.script("a", &[reply(500)], reply(500));
        let event = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        running.kill().await;
        // The service was away, and so nobody knows.
        house.hours(24 * 6);
        let _running = house.run();
        house.attempts("ada", id, 2).await;
        let found = house.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (Some(house.clock.now()), None));
        assert_eq!(house.delivery(id, event).await.unwrap().0, "waiting");
    }

    /// This one takes as long as a subscriber may.
    async fn whoever_hangs_is_cut_off_and_counts_by_what_they_said(house: House) {
        house.receiver.script("a", &[], reply(204).hangs());
        house.receiver.script("b", &[], reply(200).unending());
        house.receiver.script("c", &[], reply(503).header("retry-after", "60").unending());
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            ids.push(house.subscribe("ada", name).await.0);
        }
        let _running = house.run();
        let event = house.write("ada").await;
        let mut found = Vec::new();
        // Whoever has answered is not waited for: a second for the rest, in case that it comes.
        for (id, at_least) in ids.iter().zip([15_000, 1000, 1000]) {
            let attempt = house.attempts("ada", *id, 1).await.remove(0);
            assert!((at_least..60_000).contains(&attempt.duration_ms), "{attempt:?}");
            found.push((attempt.status, attempt.error));
        }
        let slow = Some("no answer within 15 seconds".to_owned());
        assert_eq!(found, [(None, slow), (Some(200), None), (Some(503), Some("answered 503".into()))]);
        assert_eq!(house.delivery(ids[1], event).await.unwrap().0, "delivered");
        let asked = due(&house, ids[2], event).await.duration_since(house.clock.now());
        assert_eq!(asked, SignedDuration::from_secs(60));
    }

    async fn whoever_gets_something_is_not_failing(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(500), reply(204), reply(500)], reply(204));
        let _running = house.run();
        let event = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        house.write("ada").await;
        house.attempts("ada", id, 2).await;
        assert_eq!(house.see("ada", id).await.0.failing_since, None);
        house.hours(1);
        house.attempts("ada", id, 3).await;
        assert_eq!(house.see("ada", id).await.0.failing_since, Some(house.clock.now()));
        house.hours(1);
        house.attempts("ada", id, 4).await;
        assert_eq!(house.delivery(id, event).await.unwrap().0, "delivered");
        assert_eq!(house.see("ada", id).await.0.failing_since, None);
    }
}

fn signatures_of(got: &crate::common::Got) -> &str {
    got.header("webhook-signature")
}
