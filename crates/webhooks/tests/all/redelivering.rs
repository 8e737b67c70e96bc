//! Redeliveries and test events.

use crate::common::{Harness, message, payload, reply, untraced};
use jiff::SignedDuration;
use uuid::Uuid;
use webhooks::{Disabled, SendError};

testkit::on_both_engines! {
    async fn event_is_redelivered_whether_it_arrived_or_failed(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let (other, _) = harness.subscribe("ada", "b").await;
        harness.receiver.script("a", &[reply(204), reply(410)], reply(204));
        let _running = harness.run();
        let delivered = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        let failed = harness.write("ada").await;
        harness.attempts("ada", id, 2).await;
        harness.attempts("ada", other, 2).await;
        for (n, event) in [(3, delivered), (4, failed)] {
            harness.webhooks.redeliver("ada", id, event).await.unwrap();
            harness.attempts("ada", id, n).await;
            let got = harness.receiver.got("a").pop().unwrap();
            assert_eq!((got.id(), got.body.as_slice()), (message(event).as_str(), payload(event).as_bytes()));
            assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        assert_eq!((harness.receiver.count("a"), harness.receiver.count("b")), (4, 2));
    }

    async fn redelivered_event_has_all_its_attempts_again(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(500));
        let _running = harness.run();
        let event = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        harness.seconds(6);
        harness.attempts("ada", id, 2).await;
        harness.webhooks.redeliver("ada", id, event).await.unwrap();
        harness.attempts("ada", id, 3).await;
        let due_at = harness.delivery(id, event).await.unwrap().1.unwrap();
        assert!(due_at <= harness.clock.now() + SignedDuration::from_secs(6), "{due_at}");
    }

    async fn unknown_event_or_subscription_is_rejected_and_changes_nothing(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let (other, _) = harness.subscribe("bob", "b").await;
        harness.receiver.script("a", &[], reply(410));
        let _running = harness.run();
        harness.write("ada").await;
        let foreign = harness.write("bob").await;
        harness.attempts("ada", id, 1).await;
        harness.attempts("bob", other, 1).await;
        let (webhooks, unknown, now) = (&harness.webhooks, Uuid::nil(), harness.clock.now());
        assert!(matches!(webhooks.redeliver("ada", id, unknown).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver("ada", id, foreign).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver("ada", unknown, foreign).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver_failed("ada", unknown, now).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.test("ada", unknown, "test", "{}", None).await, Err(SendError::Unknown)));
        assert_eq!(harness.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        harness.wait_for_claims().await;
        assert_eq!((harness.receiver.count("a"), harness.receiver.count("b")), (1, 1));
    }

    async fn events_that_failed_since_a_time_are_redelivered(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let mut running = harness.run();
        let arrived = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        running.kill().await;
        // Four events wait, a second apart, and fail together when the subscriber answers 410.
        let mut events = Vec::new();
        for _ in 0..4 {
            harness.seconds(1);
            events.push(harness.write("ada").await);
        }
        let since = harness.clock.now() - SignedDuration::from_secs(2);
        harness.receiver.script("a", &[], reply(410));
        running = harness.run();
        testkit::until(async || harness.see("ada", id).await.0.disabled.is_some()).await;
        harness.wait_for_claims().await;
        running.kill().await;
        let sent = harness.receiver.count("a");
        harness.receiver.script("a", &[], reply(204));
        let later = harness.clock.now() + SignedDuration::from_micros(1);
        assert_eq!(harness.webhooks.redeliver_failed("ada", id, later).await.unwrap(), 0);
        assert_eq!(harness.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 3);
        assert_eq!(harness.see("ada", id).await.0.disabled, None);
        let _running = harness.run();
        let got = harness.receiver.wait_for("a", sent + 3).await;
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), sent + 3);
        let mut ids: Vec<_> = got[sent..].iter().map(|got| got.id().to_owned()).collect();
        let mut expected: Vec<_> = events[1..].iter().map(|event| message(*event)).collect();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
        assert_eq!(harness.delivery(id, arrived).await.unwrap().0, "delivered");
        assert_eq!(harness.delivery(id, events[0]).await.unwrap().0, "failed");
    }

    async fn test_event_goes_to_one_subscription(harness: Harness) {
        let (id, secret) = harness.subscribe("ada", "a").await;
        harness.subscribe("ada", "b").await;
        let _running = harness.run();
        let event = harness.webhooks.test("ada", id, "test", r#"{"a":1}"#, None).await.unwrap();
        let attempt = harness.attempts("ada", id, 1).await.remove(0);
        assert_eq!((attempt.event, attempt.status), (event, Some(204)));
        let got = harness.receiver.got("a").remove(0);
        assert_eq!((got.path.as_str(), got.id()), ("/a/test", message(event).as_str()));
        assert_eq!(got.body, br#"{"a":1}"#);
        let (timestamp, signature) = (got.header("webhook-timestamp"), got.header("webhook-signature"));
        assert_eq!(secret.verify(got.id(), timestamp, signature, &got.body, harness.clock.now()), Ok(()));
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("b"), 0);
        // It can be redelivered like any other event.
        harness.webhooks.redeliver("ada", id, event).await.unwrap();
        harness.attempts("ada", id, 2).await;
    }

    async fn test_event_enables_a_disabled_subscription(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(410)], reply(204));
        let _running = harness.run();
        harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        harness.webhooks.test("ada", id, "test", "{}", None).await.unwrap();
        harness.attempts("ada", id, 2).await;
        let found = harness.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (None, None));
        harness.write("ada").await;
        harness.attempts("ada", id, 3).await;
    }

    async fn waiting_event_is_redelivered_with_the_failed_ones(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(500)], reply(204));
        let _running = harness.run();
        let since = harness.clock.now();
        let waiting = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 1);
        harness.attempts("ada", id, 2).await;
        assert_eq!(harness.delivery(id, waiting).await, Some(("delivered".into(), None)));
    }

    async fn event_in_flight_is_redelivered_after_its_attempt(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(500));
        let _running = harness.run();
        let since = harness.clock.now();
        let event = harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        harness.webhooks.redeliver("ada", id, event).await.unwrap();
        harness.webhooks.redeliver("ada", id, event).await.unwrap();
        assert_eq!(harness.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 0);
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), 1);
        harness.receiver.release();
        harness.attempts("ada", id, 2).await;
        harness.wait_for_claims().await;
        assert_eq!((harness.receiver.most_at_once(&message(event)), harness.receiver.count("a")), (1, 2));
        // It has all its attempts again.
        let (status, due_at) = harness.delivery(id, event).await.unwrap();
        assert_eq!(status, "waiting");
        assert!(due_at.unwrap() <= harness.clock.now() + SignedDuration::from_secs(6));
    }

    async fn redelivery_requested_before_the_sender_died_is_sent_once(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = harness.run();
        let event = harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        harness.webhooks.redeliver("ada", id, event).await.unwrap();
        dying.kill().await;
        harness.seconds(61);
        let _running = harness.run();
        harness.attempts("ada", id, 1).await;
        harness.wait_for_claims().await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        assert_eq!(harness.receiver.count("a"), 2);
    }

    async fn redelivery_of_many_events_uses_several_transactions(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(410)], reply(204));
        let (webhooks, now) = (harness.webhooks.clone(), harness.clock.now());
        let write = move |tx: &mut db::WriteTx<'_>| {
            for _ in 0..1201 {
                webhooks.write(tx, "ada", &untraced(web::Random::system().uuid(now)), "test", "{}", now)?;
            }
            Ok::<_, db::Error>(())
        };
        harness.db.write(write).await.unwrap();
        let running = harness.run();
        testkit::until(async || harness.see("ada", id).await.0.disabled.is_some()).await;
        // All ready deliveries fail, in batches.
        let failed = async || {
            let read = |tx: &mut db::Tx<'_>| {
                tx.row("SELECT count(*) FROM webhook_delivery WHERE status = 'failed'", &[], |row| row.get::<i64>(0))
            };
            harness.db.read::<_, db::Error, _>(read).await.unwrap().unwrap() as usize
        };
        let all = 1201 - (harness.receiver.count("a") - 1);
        testkit::until(async || failed().await >= all).await;
        running.kill().await;
        let failed = failed().await;
        assert_eq!(harness.webhooks.redeliver_failed("ada", id, now).await.unwrap(), failed);
        let _running = harness.run();
        harness.receiver.wait_for("a", harness.receiver.count("a") + failed).await;
    }
}
