//! Subscribers ask for events again, or for one to try out.

use crate::common::{House, message, payload, reply};
use jiff::SignedDuration;
use uuid::Uuid;
use webhooks::{Disabled, SendError};

testkit::on_both_engines! {
    async fn an_event_is_sent_again_whether_it_arrived_or_not(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let (other, _) = house.subscribe("ada", "b").await;
        house.receiver.script("a", &[reply(204), reply(410)], reply(204));
        let _running = house.run();
        let delivered = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        let failed = house.write("ada").await;
        house.attempts("ada", id, 2).await;
        house.attempts("ada", other, 2).await;
        for (n, event) in [(3, delivered), (4, failed)] {
            house.webhooks.redeliver("ada", id, event).await.unwrap();
            house.attempts("ada", id, n).await;
            let got = house.receiver.got("a").pop().unwrap();
            assert_eq!((got.id(), got.body.as_slice()), (message(event).as_str(), payload(event).as_bytes()));
            assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        assert_eq!((house.receiver.count("a"), house.receiver.count("b")), (4, 2));
    }

    async fn an_event_that_is_sent_again_has_all_its_attempts_again(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(500));
        let _running = house.run();
        let event = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        house.seconds(6);
        house.attempts("ada", id, 2).await;
        house.webhooks.redeliver("ada", id, event).await.unwrap();
        house.attempts("ada", id, 3).await;
        let due_at = house.delivery(id, event).await.unwrap().1.unwrap();
        assert!(due_at <= house.clock.now() + SignedDuration::from_secs(6), "{due_at}");
    }

    async fn what_is_not_known_is_not_sent_and_changes_nothing(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let (other, _) = house.subscribe("bob", "b").await;
        house.receiver.script("a", &[], reply(410));
        let _running = house.run();
        house.write("ada").await;
        let foreign = house.write("bob").await;
        house.attempts("ada", id, 1).await;
        house.attempts("bob", other, 1).await;
        let (webhooks, unknown, now) = (&house.webhooks, Uuid::nil(), house.clock.now());
        assert!(matches!(webhooks.redeliver("ada", id, unknown).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver("ada", id, foreign).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver("ada", unknown, foreign).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver_failed("ada", unknown, now).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.test("ada", unknown, "test", "{}").await, Err(SendError::Unknown)));
        assert_eq!(house.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        house.settle().await;
        assert_eq!((house.receiver.count("a"), house.receiver.count("b")), (1, 1));
    }

    async fn what_failed_since_a_time_is_sent_again(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let mut running = house.run();
        let arrived = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        running.kill().await;
        // Four wait, a second apart, and fail together when the subscriber says that it is gone.
        let mut events = Vec::new();
        for _ in 0..4 {
            house.seconds(1);
            events.push(house.write("ada").await);
        }
        let since = house.clock.now() - SignedDuration::from_secs(2);
        house.receiver.script("a", &[], reply(410));
        running = house.run();
        while house.see("ada", id).await.0.disabled.is_none() {
            tokio::task::yield_now().await;
        }
        house.settle().await;
        running.kill().await;
        let sent = house.receiver.count("a");
        house.receiver.script("a", &[], reply(204));
        let later = house.clock.now() + SignedDuration::from_micros(1);
        assert_eq!(house.webhooks.redeliver_failed("ada", id, later).await.unwrap(), 0);
        assert_eq!(house.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 3);
        assert_eq!(house.see("ada", id).await.0.disabled, None);
        let _running = house.run();
        let got = house.receiver.wait_for("a", sent + 3).await;
        house.settle().await;
        assert_eq!(house.receiver.count("a"), sent + 3);
        let mut ids: Vec<_> = got[sent..].iter().map(|got| got.id().to_owned()).collect();
        let mut expected: Vec<_> = events[1..].iter().map(|event| message(*event)).collect();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
        assert_eq!(house.delivery(id, arrived).await.unwrap().0, "delivered");
        assert_eq!(house.delivery(id, events[0]).await.unwrap().0, "failed");
    }

    async fn an_event_to_try_out_goes_to_one_subscription(house: House) {
        let (id, secret) = house.subscribe("ada", "a").await;
        house.subscribe("ada", "b").await;
        let _running = house.run();
        let event = house.webhooks.test("ada", id, "test", r#"{"a":1}"#).await.unwrap();
        let attempt = house.attempts("ada", id, 1).await.remove(0);
        assert_eq!((attempt.event, attempt.status), (event, Some(204)));
        let got = house.receiver.got("a").remove(0);
        assert_eq!((got.path.as_str(), got.id()), ("/a/test", message(event).as_str()));
        assert_eq!(got.body, br#"{"a":1}"#);
        let (timestamp, signature) = (got.header("webhook-timestamp"), got.header("webhook-signature"));
        assert_eq!(secret.verify(got.id(), timestamp, signature, &got.body, house.clock.now()), Ok(()));
        house.settle().await;
        assert_eq!(house.receiver.count("b"), 0);
        // It can be asked for again, as any other.
        house.webhooks.redeliver("ada", id, event).await.unwrap();
        house.attempts("ada", id, 2).await;
    }

    async fn an_event_to_try_out_enables_a_subscription_again(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(410)], reply(204));
        let _running = house.run();
        house.write("ada").await;
        house.attempts("ada", id, 1).await;
        assert_eq!(house.see("ada", id).await.0.disabled, Some(Disabled::Gone));
        house.webhooks.test("ada", id, "test", "{}").await.unwrap();
        house.attempts("ada", id, 2).await;
        let found = house.see("ada", id).await.0;
        assert_eq!((found.failing_since, found.disabled), (None, None));
        house.write("ada").await;
        house.attempts("ada", id, 3).await;
    }

    async fn what_waits_for_its_next_attempt_did_not_arrive_either(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(500)], reply(204));
        let _running = house.run();
        let since = house.clock.now();
        let waiting = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        assert_eq!(house.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 1);
        house.attempts("ada", id, 2).await;
        assert_eq!(house.delivery(id, waiting).await, Some(("delivered".into(), None)));
    }

    async fn what_is_being_sent_just_now_is_sent_again_after_that(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(204).hangs()], reply(500));
        let _running = house.run();
        let since = house.clock.now();
        let event = house.write("ada").await;
        house.receiver.wait_for("a", 1).await;
        house.webhooks.redeliver("ada", id, event).await.unwrap();
        house.webhooks.redeliver("ada", id, event).await.unwrap();
        assert_eq!(house.webhooks.redeliver_failed("ada", id, since).await.unwrap(), 0);
        house.settle().await;
        assert_eq!(house.receiver.count("a"), 1);
        house.receiver.release();
        house.attempts("ada", id, 2).await;
        house.settle().await;
        assert_eq!((house.receiver.most_at_once(&message(event)), house.receiver.count("a")), (1, 2));
        // It has all its attempts.
        let (status, due_at) = house.delivery(id, event).await.unwrap();
        assert_eq!(status, "waiting");
        assert!(due_at.unwrap() <= house.clock.now() + SignedDuration::from_secs(6));
    }

    async fn what_was_asked_for_while_its_sender_died_is_sent_once_more(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = house.run();
        let event = house.write("ada").await;
        house.receiver.wait_for("a", 1).await;
        house.webhooks.redeliver("ada", id, event).await.unwrap();
        dying.kill().await;
        house.seconds(61);
        let _running = house.run();
        house.attempts("ada", id, 1).await;
        house.settle().await;
        assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        assert_eq!(house.receiver.count("a"), 2);
    }

    async fn more_can_be_asked_for_than_goes_into_one_transaction(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(410)], reply(204));
        let (webhooks, now) = (house.webhooks.clone(), house.clock.now());
        let write = move |tx: &mut db::WriteTx<'_>| {
            for _ in 0..1201 {
                webhooks.write(tx, "ada", web::Random::system().uuid(now), "test", "{}", now)?;
            }
            Ok::<_, db::Error>(())
        };
        house.db.write(write).await.unwrap();
        let running = house.run();
        while house.see("ada", id).await.0.disabled.is_none() {
            tokio::task::yield_now().await;
        }
        // All that was ready is given up, some at a time.
        let failed = async || {
            let read = |tx: &mut db::Tx<'_>| {
                tx.row("SELECT count(*) FROM webhook_delivery WHERE status = 'failed'", &[], |row| row.get::<i64>(0))
            };
            house.db.read::<_, db::Error, _>(read).await.unwrap().unwrap() as usize
        };
        let all = 1201 - (house.receiver.count("a") - 1);
        while failed().await < all {
            tokio::task::yield_now().await;
        }
        running.kill().await;
        let failed = failed().await;
        assert_eq!(house.webhooks.redeliver_failed("ada", id, now).await.unwrap(), failed);
        let _running = house.run();
        house.receiver.wait_for("a", house.receiver.count("a") + failed).await;
    }
}
