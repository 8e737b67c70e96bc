//! A clock that stands still, jumps or is set back: due times follow it, leases and permits follow the machine.

use jiff::{SignedDuration, Timestamp};
use standardwebhooks::Webhook;
use web::{Clock, ClockState, Random};
use webhooks::{Settings, Webhooks};

use crate::common::{Harness, Running, reply, settings};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Short, since a lease is counted by the machine.
const LEASE: SignedDuration = SignedDuration::from_secs(2);

/// The harness with a frozen clock that can be moved.
fn frozen(harness: Harness) -> Harness {
    let clock = Clock::adjustable(ClockState::default().freeze(harness.clock.now()));
    let webhooks = open(&harness, &clock);
    Harness { clock, webhooks, ..harness }
}

fn open(harness: &Harness, clock: &Clock) -> Webhooks {
    let db = harness.store.open("test", &[webhooks::MIGRATIONS]);
    Webhooks::open(Settings { lease: LEASE, ..settings() }, db, clock.clone(), Random::system()).unwrap()
}

fn advance(clock: &Clock, by: SignedDuration) {
    clock.set_state(clock.state().advance(Clock::machine_time(), by).unwrap()).unwrap();
}

testkit::on_both_engines! {
    async fn lease_of_a_dead_process_expires_on_a_frozen_clock(harness: Harness) {
        let harness = frozen(harness);
        harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = harness.run();
        harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        dying.kill().await;
        let _another = Running::new(&open(&harness, &harness.clock));
        harness.receiver.wait_for("a", 2).await;
    }

    async fn lease_of_a_dead_process_expires_after_the_clock_was_set_back(harness: Harness) {
        let harness = frozen(harness);
        harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let dying = harness.run();
        harness.write("ada").await;
        harness.receiver.wait_for("a", 1).await;
        dying.kill().await;
        advance(&harness.clock, -DAY);
        let _another = Running::new(&open(&harness, &harness.clock));
        harness.receiver.wait_for("a", 2).await;
    }

    async fn attempt_in_flight_is_not_sent_again_when_the_clock_is_advanced(harness: Harness) {
        let long = Settings { lease: SignedDuration::from_mins(10), ..settings() };
        let harness = frozen(harness);
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(204).hangs()], reply(204));
        let first = Webhooks::open(long, harness.db.clone(), harness.clock.clone(), Random::system()).unwrap();
        let _first = Running::new(&first);
        let event = harness.write("ada").await;
        first.wake();
        harness.receiver.wait_for("a", 1).await;
        advance(&harness.clock, DAY);
        let another = open(&harness, &harness.clock);
        let _another = Running::new(&another);
        harness.wait_for_claims_of(&another).await;
        assert_eq!(harness.receiver.count("a"), 1);
        harness.receiver.release();
        harness.attempts("ada", id, 1).await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
    }

    async fn retry_is_sent_when_the_frozen_clock_is_advanced(harness: Harness) {
        let harness = frozen(harness);
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[reply(500)], reply(204));
        let _running = harness.run();
        let event = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), 1);
        advance(&harness.clock, SignedDuration::from_secs(4));
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("a"), 1);
        advance(&harness.clock, SignedDuration::from_secs(2));
        harness.receiver.wait_for("a", 2).await;
        harness.attempts("ada", id, 2).await;
        assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
    }

    async fn long_attempts_release_their_permits_on_a_frozen_clock(harness: Harness) {
        let harness = frozen(harness);
        let mut hanging = Vec::new();
        for n in 0..16 {
            let name = format!("hanging-{n}");
            harness.receiver.script(&name, &[], reply(204).hangs());
            hanging.push((harness.subscribe(&name, &name).await.0, name));
        }
        harness.subscribe("ada", "a").await;
        let sender = Webhooks::open(settings(), harness.db.clone(), harness.clock.clone(), Random::system());
        let sender = sender.unwrap();
        let _running = Running::new(&sender);
        for n in 0..64 {
            harness.write(&format!("hanging-{}", n / 4)).await;
            sender.wake();
        }
        harness.receiver.wait_for("", 64).await;
        harness.write("ada").await;
        sender.wake();
        harness.receiver.wait_for("a", 1).await;
        // Before any of the others ended.
        for (id, name) in hanging {
            assert!(harness.see(&name, id).await.1.is_empty());
        }
    }

    async fn timestamp_of_a_delivery_is_the_time_of_the_machine(harness: Harness) {
        let harness = frozen(harness);
        harness.clock.set_state(ClockState::default().freeze("2031-01-01T00:00:00Z".parse().unwrap())).unwrap();
        let (id, secret) = harness.subscribe("ada", "a").await;
        let _running = harness.run();
        harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        // An independent receiver compares it with its own clock.
        Webhook::new(&secret.shown()).unwrap().verify(&got.body, &got.headers).unwrap();
        let at: Timestamp = "2031-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(harness.attempts("ada", id, 1).await[0].at, at);
    }
}
