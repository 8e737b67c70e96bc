//! Several processes send from one database: no delivery is sent twice at once, or lost with a process.

use std::{collections::HashSet, sync::Arc};

use crate::common::{Harness, Running, message, reply, settings};
use jiff::SignedDuration;
use tokio::sync::Notify;
use webhooks::{Settings, TokenFor, Webhooks};

/// Webhooks that hang between the claim and the request: the function that makes a token never returns.
fn stuck_before_sending(harness: &Harness, reached: &Arc<Notify>) -> Webhooks {
    let reached = reached.clone();
    let token_for: TokenFor = Arc::new(move |_, _| {
        reached.notify_one();
        Box::pin(std::future::pending())
    });
    harness.with(Settings { token_for: Some(token_for), ..settings() })
}

testkit::on_both_engines! {
    async fn three_processes_send_each_event_once(harness: Harness) {
        for n in 0..10 {
            harness.subscribe(&n.to_string(), &n.to_string()).await;
        }
        let others = [harness.another(), harness.another()];
        let mut running = vec![harness.run()];
        running.extend(others.iter().map(Running::new));
        let mut events = HashSet::new();
        for n in 0..500 {
            events.insert(message(harness.write(&(n % 10).to_string()).await));
            others[n % 2].wake();
        }
        let got = harness.receiver.wait_for("", 500).await;
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("") - harness.receiver.count("marker"), 500);
        assert_eq!(got.iter().map(|got| got.id().to_owned()).collect::<HashSet<_>>(), events);
        assert!(events.iter().all(|event| harness.receiver.most_at_once(event) == 1));
    }

    async fn hanging_attempt_of_one_process_is_not_sent_by_another(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(204).hangs());
        let _one = harness.run();
        let event = harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        let another = harness.another();
        let _another = Running::new(&another);
        for _ in 0..3 {
            harness.seconds(15);
            another.wake();
            harness.wait_for_claims().await;
        }
        assert_eq!(harness.receiver.count("a"), 1);
        harness.receiver.release();
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.delivery(id, event).await.unwrap().0, "delivered");
    }

    async fn claimed_delivery_of_a_dead_process_is_sent_by_another(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let reached = Arc::new(Notify::new());
        let mut events = HashSet::new();
        for _ in 0..5 {
            let dying = Running::new(&stuck_before_sending(&harness, &reached));
            events.insert(message(harness.write("ada").await));
            harness.webhooks.wake();
            let another = stuck_before_sending(&harness, &reached);
            let also_dying = Running::new(&another);
            reached.notified().await;
            dying.kill().await;
            also_dying.kill().await;
        }
        assert_eq!(harness.receiver.count("a"), 0);
        let _running = harness.run();
        harness.seconds(59);
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), 0);
        harness.seconds(2);
        harness.receiver.wait_for("a", 5).await;
        harness.attempts("ada", id, 5).await;
        let got: HashSet<_> = harness.receiver.got("a").iter().map(|got| got.id().to_owned()).collect();
        assert_eq!(got, events);
    }

    async fn lease_of_the_settings_decides_when_another_process_sends(harness: Harness) {
        harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let lease = SignedDuration::from_secs(20);
        let dying = Running::new(&harness.with(Settings { lease, ..settings() }));
        harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        dying.kill().await;
        harness.receiver.release();
        let _running = harness.run();
        harness.seconds(19);
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), 1);
        harness.seconds(2);
        harness.receiver.wait_for("a", 2).await;
    }

    async fn sent_but_unrecorded_delivery_of_a_dead_process_is_sent_again(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = harness.run();
        let event = harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        dying.kill().await;
        // It arrived, but the result was not recorded.
        harness.receiver.release();
        let another = harness.another();
        let _running = Running::new(&another);
        harness.seconds(61);
        let got = harness.receiver.wait_for("a", 2).await;
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        assert_eq!((got[0].id(), &got[0].body), (got[1].id(), &got[1].body));
        harness.hours(24);
        another.wake();
        harness.wait_for_claims_of(&another).await;
        assert_eq!(harness.receiver.count("a"), 2);
    }

    async fn result_after_the_lease_does_not_undo_the_result_of_another_process(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(500).hangs()], reply(204));
        let _slow = harness.run();
        let event = harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        // The lease expires during the attempt.
        let another = harness.another();
        let _another = Running::new(&another);
        harness.seconds(61);
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        harness.receiver.release();
        harness.attempts("ada", id, 2).await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
    }

    async fn events_written_while_subscriptions_are_deleted_leave_no_rows(harness: Harness) {
        let _running = harness.run();
        let harness = Arc::new(harness);
        for round in 0..20 {
            let mut ids = Vec::new();
            for n in 0..8 {
                ids.push(harness.subscribe("ada", &format!("{round}-{n}")).await.0);
            }
            let writing = (0..8).map(|_| tokio::spawn({
                let harness = harness.clone();
                async move { harness.write("ada").await }
            }));
            let writing: Vec<_> = writing.collect();
            for id in &ids {
                assert!(harness.webhooks.unsubscribe("ada", *id).await.unwrap());
            }
            for written in writing {
                written.await.unwrap();
            }
            harness.wait_for_claims().await;
            harness.wait_for_claims().await;
            for id in ids {
                testkit::until(async || harness.rows_of(id).await == 0).await;
            }
        }
    }
}
