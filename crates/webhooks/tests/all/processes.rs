//! Several processes send from one database: nothing twice at once, and nothing lost with whoever dies.

use std::{collections::HashSet, sync::Arc};

use crate::common::{House, Running, message, reply, settings};
use tokio::sync::Notify;
use webhooks::{Settings, TokenFor, Webhooks};

/// Webhooks that stand still between taking an event on and sending it: what asks for a token waits for ever.
fn stuck_before_sending(house: &House, reached: &Arc<Notify>) -> Webhooks {
    let reached = reached.clone();
    let token_for: TokenFor = Arc::new(move |_, _| {
        reached.notify_one();
        Box::pin(std::future::pending())
    });
    house.with(Settings { token_for: Some(token_for), ..settings() })
}

testkit::on_both_engines! {
    async fn three_processes_send_each_event_once(house: House) {
        for n in 0..10 {
            house.subscribe(&n.to_string(), &n.to_string()).await;
        }
        let others = [house.another(), house.another()];
        let mut running = vec![house.run()];
        running.extend(others.iter().map(Running::new));
        let mut events = HashSet::new();
        for n in 0..500 {
            events.insert(message(house.write(&(n % 10).to_string()).await));
            others[n % 2].wake();
        }
        let got = house.receiver.wait_for("", 500).await;
        house.settle().await;
        assert_eq!(house.receiver.count("") - house.receiver.count("marker"), 500);
        assert_eq!(got.iter().map(|got| got.id().to_owned()).collect::<HashSet<_>>(), events);
        assert!(events.iter().all(|event| house.receiver.most_at_once(event) == 1));
    }

    async fn what_hangs_at_one_process_is_not_sent_by_another(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(204).hangs());
        let _one = house.run();
        let event = house.write("ada").await;
        house.receiver.wait_for("a", 1).await;
        let another = house.another();
        let _another = Running::new(&another);
        for _ in 0..3 {
            house.seconds(15);
            another.wake();
            house.settle().await;
        }
        assert_eq!(house.receiver.count("a"), 1);
        house.receiver.release();
        house.attempts("ada", id, 1).await;
        assert_eq!(house.delivery(id, event).await.unwrap().0, "delivered");
    }

    async fn what_a_process_had_taken_on_when_it_died_is_sent_by_another(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let reached = Arc::new(Notify::new());
        let mut events = HashSet::new();
        for _ in 0..5 {
            let dying = Running::new(&stuck_before_sending(&house, &reached));
            events.insert(message(house.write("ada").await));
            house.webhooks.wake();
            let another = stuck_before_sending(&house, &reached);
            let also_dying = Running::new(&another);
            reached.notified().await;
            dying.kill().await;
            also_dying.kill().await;
        }
        assert_eq!(house.receiver.count("a"), 0);
        let _running = house.run();
        house.seconds(59);
        house.settle().await;
        assert_eq!(house.receiver.count("a"), 0);
        house.seconds(2);
        house.receiver.wait_for("a", 5).await;
        house.attempts("ada", id, 5).await;
        let got: HashSet<_> = house.receiver.got("a").iter().map(|got| got.id().to_owned()).collect();
        assert_eq!(got, events);
    }

    async fn what_a_process_had_sent_when_it_died_is_sent_again(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = house.run();
        let event = house.write("ada").await;
        house.receiver.wait_for("a", 1).await;
        dying.kill().await;
        // It arrived, and nobody wrote that down.
        house.receiver.release();
        let another = house.another();
        let _running = Running::new(&another);
        house.seconds(61);
        let got = house.receiver.wait_for("a", 2).await;
        house.attempts("ada", id, 1).await;
        assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        assert_eq!((got[0].id(), &got[0].body), (got[1].id(), &got[1].body));
        house.hours(24);
        another.wake();
        house.settle_by(&another).await;
        assert_eq!(house.receiver.count("a"), 2);
    }

    async fn whoever_is_too_late_does_not_undo_what_another_did(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[reply(500).hangs()], reply(204));
        let _slow = house.run();
        let event = house.write("ada").await;
        house.receiver.wait_for("a", 1).await;
        // Its lease is over, though it is still at it.
        let another = house.another();
        let _another = Running::new(&another);
        house.seconds(61);
        house.attempts("ada", id, 1).await;
        assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        house.receiver.release();
        house.attempts("ada", id, 2).await;
        assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
    }

    async fn events_are_written_while_their_subscriptions_go(house: House) {
        let _running = house.run();
        let house = Arc::new(house);
        for round in 0..20 {
            let mut ids = Vec::new();
            for n in 0..8 {
                ids.push(house.subscribe("ada", &format!("{round}-{n}")).await.0);
            }
            let writing = (0..8).map(|_| tokio::spawn({
                let house = house.clone();
                async move { house.write("ada").await }
            }));
            let writing: Vec<_> = writing.collect();
            for id in &ids {
                assert!(house.webhooks.unsubscribe("ada", *id).await.unwrap());
            }
            for written in writing {
                written.await.unwrap();
            }
            house.settle().await;
            house.settle().await;
            for id in ids {
                while house.rows_of(id).await > 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}
