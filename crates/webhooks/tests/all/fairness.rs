//! Subscriptions that hang, fail or are slow do not delay others.

use std::collections::{HashMap, HashSet};

use testkit::parameter;

use crate::common::{Harness, reply, untraced};

/// More than a process reads or sends at a time; `make long-test` has five times as many.
const SLOW: usize = 500;

/// Writes `count` events of an owner in one transaction.
async fn write_many(harness: &Harness, owner: &str, count: usize) {
    let (webhooks, owner, now) = (harness.webhooks.clone(), owner.to_owned(), harness.clock.now());
    let write = move |tx: &mut db::WriteTx<'_>| {
        for _ in 0..count {
            let event = untraced(web::Random::system().uuid(now));
            webhooks.write(tx, &owner, &event, crate::common::KIND, "{}", now)?;
        }
        Ok::<_, db::Error>(())
    };
    harness.db.write(write).await.unwrap();
}

testkit::on_both_engines! {
    async fn hanging_subscription_keeps_four_permits_and_others_are_delivered(harness: Harness) {
        harness.receiver.script("hanging", &[], reply(204).hangs());
        let (hanging, _) = harness.subscribe("hanging", "hanging").await;
        write_many(&harness, "hanging", 500).await;
        for n in 0..20 {
            harness.subscribe(&format!("owner-{n}"), &format!("healthy-{n}")).await;
            write_many(&harness, &format!("owner-{n}"), 10).await;
        }
        let _running = harness.run();
        for n in 0..20 {
            harness.receiver.wait_for(&format!("healthy-{n}"), 10).await;
        }
        harness.receiver.wait_for("hanging", 4).await;
        harness.wait_for_claims().await;
        assert_eq!((harness.receiver.count("hanging"), harness.receiver.most_at_once("hanging")), (4, 4));
        assert!(harness.see("hanging", hanging).await.1.is_empty());
        assert!((0..20).all(|n| harness.receiver.most_at_once(&format!("healthy-{n}")) <= 4));
        assert!(harness.receiver.most_at_once("") <= 64);
        harness.receiver.release();
        harness.receiver.wait_for("hanging", 500).await;
        assert_eq!(harness.receiver.most_at_once("hanging"), 4);
    }

    async fn at_most_sixty_four_attempts_run_at_once(harness: Harness) {
        for n in 0..20 {
            let name = format!("hanging-{n}");
            harness.receiver.script(&name, &[], reply(204).hangs());
            harness.subscribe(&name, &name).await;
            write_many(&harness, &name, 5).await;
        }
        let _running = harness.run();
        harness.receiver.wait_for("", 64).await;
        harness.receiver.release();
        harness.receiver.wait_for("", 100).await;
        harness.wait_for_claims().await;
        assert!((0..20).all(|n| harness.receiver.count(&format!("hanging-{n}")) == 5));
        assert_eq!(harness.receiver.most_at_once(""), 64);
    }

    async fn failing_subscriptions_leave_half_of_the_permits_to_others(harness: Harness) {
        let _running = harness.run();
        for n in 0..40 {
            let name = format!("failing-{n}");
            harness.receiver.script(&name, &[reply(500)], reply(204).hangs());
            let (id, _) = harness.subscribe(&name, &name).await;
            harness.write(&name).await;
            harness.attempts(&name, id, 1).await;
            write_many(&harness, &name, 8).await;
        }
        harness.subscribe("ada", "healthy").await;
        write_many(&harness, "ada", 100).await;
        harness.webhooks.wake();
        harness.receiver.wait_for("healthy", 100).await;
        harness.receiver.wait_for("", 40 + 32 + 100).await;
        harness.wait_for_claims().await;
        let count = |n: &usize| harness.receiver.count(&format!("failing-{n}"));
        assert_eq!((0..40).filter(|n| count(n) == 2).count(), 32);
        assert!((0..40).all(|n| harness.receiver.most_at_once(&format!("failing-{n}")) == 1));
        write_many(&harness, "ada", 100).await;
        harness.webhooks.wake();
        harness.receiver.wait_for("healthy", 200).await;
        // After they recover, all their events arrive.
        harness.receiver.release();
        for n in 0..40 {
            harness.receiver.wait_for(&format!("failing-{n}"), 9).await;
        }
    }

    async fn subscriptions_are_served_round_robin(harness: Harness) {
        for n in 0..30 {
            harness.subscribe(&n.to_string(), &n.to_string()).await;
            write_many(&harness, &n.to_string(), 40).await;
        }
        let _running = harness.run();
        harness.receiver.wait_for("", 1200).await;
        let mut counts = HashMap::new();
        for got in harness.receiver.got("") {
            *counts.entry(got.name).or_insert(0) += 1;
            if counts.len() == 30 {
                break;
            }
        }
        // When the last subscription got its first event, none had got much more than its share.
        assert!(counts.values().all(|count| *count <= 20), "{counts:?}");
    }

    async fn slow_subscriptions_share_half_of_the_permits_round_robin(harness: Harness) {
        // Forty subscriptions fail once and then hang. A healthy one gets events all the time.
        let _running = harness.run();
        let mut ids = Vec::new();
        for n in 0..40 {
            let name = format!("slow-{n}");
            harness.receiver.script(&name, &[reply(500)], reply(204).hangs());
            let (id, _) = harness.subscribe(&name, &name).await;
            harness.write(&name).await;
            harness.attempts(&name, id, 1).await;
            ids.push(id);
        }
        harness.subscribe("ada", "healthy").await;
        for n in 0..40 {
            write_many(&harness, &format!("slow-{n}"), 3).await;
        }
        harness.webhooks.wake();
        // 32 have a permit.
        let began = || (0..40).filter(|n| harness.receiver.count(&format!("slow-{n}")) == 2).count();
        harness.receiver.wait_for("", 40 + 32).await;
        for round in 1..20 {
            write_many(&harness, "ada", 10).await;
            harness.webhooks.wake();
            harness.receiver.wait_for("healthy", round * 10).await;
        }
        assert_eq!(began(), 32);
        // After the release, the others are served before any is served again.
        harness.receiver.release();
        harness.receiver.wait_for("", 40 + 190 + 40 * 3).await;
        let mut counts = HashMap::new();
        for got in harness.receiver.got("").iter().filter(|got| got.name.starts_with("slow")).skip(40) {
            *counts.entry(got.name.clone()).or_insert(0) += 1;
            if counts.len() == 40 {
                break;
            }
        }
        assert_eq!(counts.len(), 40);
        // Subscriptions that answered fast are not slow any more, and have four permits each.
        assert!(counts.values().all(|count| *count <= 3), "{counts:?}");
    }

    async fn every_ready_subscription_starts_while_permits_are_free(harness: Harness) {
        for n in 0..40 {
            let name = format!("hanging-{n}");
            harness.receiver.script(&name, &[], reply(204).hangs());
            harness.subscribe(&name, &name).await;
            write_many(&harness, &name, 1).await;
        }
        // No attempt ends and nothing wakes the sender while they start.
        let _running = harness.run();
        harness.receiver.wait_for("", 40).await;
        harness.subscribe("ada", "healthy").await;
        harness.write("ada").await;
        harness.receiver.wait_for("healthy", 1).await;
    }

    async fn owner_has_a_quarter_of_the_permits(harness: Harness) {
        for n in 0..20 {
            let name = format!("hanging-{n}");
            harness.receiver.script(&name, &[], reply(204).hangs());
            harness.subscribe("eve", &name).await;
        }
        write_many(&harness, "eve", 5).await;
        harness.subscribe("ada", "healthy").await;
        write_many(&harness, "ada", 100).await;
        let _running = harness.run();
        harness.receiver.wait_for("healthy", 100).await;
        harness.wait_for_claims().await;
        assert_eq!(harness.receiver.count("") - harness.receiver.count("healthy") - harness.receiver.count("marker"), 16);
        harness.receiver.release();
        for n in 0..20 {
            harness.receiver.wait_for(&format!("hanging-{n}"), 5).await;
        }
    }

    async fn long_attempts_release_their_permits_up_to_256_in_flight(harness: Harness) {
        for n in 0..80 {
            let name = format!("hanging-{n}");
            harness.receiver.script(&name, &[], reply(204).hangs());
            harness.subscribe(&name, &name).await;
            write_many(&harness, &name, 5).await;
        }
        harness.subscribe("ada", "healthy").await;
        let _running = harness.run();
        // Each second, long attempts release their permits and 64 more start, until 256 are in flight.
        for at_once in [64, 128, 192, 256] {
            harness.receiver.wait_for("", at_once).await;
            assert_eq!(harness.receiver.most_at_once(""), at_once);
            harness.seconds(1);
        }
        harness.write("ada").await;
        harness.receiver.release();
        harness.receiver.wait_for("", 80 * 5 + 1).await;
        assert_eq!(harness.receiver.most_at_once(""), 256);
        assert!((0..80).all(|n| harness.receiver.most_at_once(&format!("hanging-{n}")) <= 4));
    }

    async fn many_slow_subscriptions_do_not_delay_others(harness: Harness) {
        // Many slow subscriptions with two ready deliveries each, with ids before that of the healthy one.
        let slow = parameter("TORTURE_SUBSCRIPTIONS", SLOW);
        let urls: Vec<_> = (0..slow).map(|n| harness.receiver.url(&format!("slow-{n}"))).collect();
        for n in 0..slow {
            harness.receiver.script(&format!("slow-{n}"), &[], reply(500));
        }
        let (webhooks, now) = (harness.webhooks.clone(), harness.clock.now());
        let write = move |tx: &mut db::WriteTx<'_>| {
            for (n, url) in (1..).zip(&urls) {
                let (id, owner) = (uuid::Uuid::from_u128(n), format!("slow-{n}"));
                tx.execute(
                    "INSERT INTO webhook_subscription (id, owner, url, secret, slow) VALUES ($1, $2, $3, $4, $5)",
                    &[id.into(), owner.as_str().into(), url.as_str().into(), [0_u8; 32].as_slice().into(), true.into()],
                )?;
                for _ in 0..2 {
                    let event = untraced(web::Random::system().uuid(now));
                    webhooks.write(tx, &owner, &event, crate::common::KIND, "{}", now)?;
                }
            }
            Ok::<_, db::Error>(())
        };
        harness.db.write(write).await.unwrap();
        harness.subscribe("ada", "healthy").await;
        write_many(&harness, "ada", 20).await;
        let _running = harness.run();
        let got = harness.receiver.wait_for("", 2 * slow + 20).await;
        assert_eq!(harness.receiver.count("healthy"), 20);
        // Each slow subscription is served before others are served often.
        let mut served = HashSet::new();
        let last = got.iter().position(|got| served.insert(&got.name) && served.len() == slow + 1).unwrap();
        assert!(last < slow + slow * 2 / 5, "{last}");
        // The healthy one is among the first.
        let healthy = got.iter().rposition(|got| got.name == "healthy").unwrap();
        assert!(healthy < slow, "{healthy}");
    }
}
