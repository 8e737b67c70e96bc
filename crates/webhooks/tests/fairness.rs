//! Subscribers that misbehave delay nobody else.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::{House, reply};

/// Writes so many events of an owner's in one transaction.
async fn write_many(house: &House, owner: &str, count: usize) {
    let (webhooks, owner, now) = (house.webhooks.clone(), owner.to_owned(), house.clock.now());
    let write = move |tx: &mut db::WriteTx<'_>| {
        for _ in 0..count {
            let event = web::Chance::system().uuid(now);
            webhooks.write(tx, &owner, event, common::KIND, "{}", now)?;
        }
        Ok::<_, db::Error>(())
    };
    house.db.write(write).await.unwrap();
}

testkit::on_both_engines! {
    async fn one_that_hangs_keeps_four_places_and_the_others_get_everything(house: House) {
        house.receiver.script("hanging", &[], reply(204).hangs());
        let (hanging, _) = house.subscribe("hanging", "hanging").await;
        write_many(&house, "hanging", 500).await;
        for n in 0..20 {
            house.subscribe(&format!("owner-{n}"), &format!("healthy-{n}")).await;
            write_many(&house, &format!("owner-{n}"), 10).await;
        }
        let _running = house.run();
        for n in 0..20 {
            house.receiver.wait_for(&format!("healthy-{n}"), 10).await;
        }
        house.receiver.wait_for("hanging", 4).await;
        house.settle().await;
        assert_eq!((house.receiver.count("hanging"), house.receiver.most_at_once("hanging")), (4, 4));
        assert!(house.see("hanging", hanging).await.1.is_empty());
        assert!((0..20).all(|n| house.receiver.most_at_once(&format!("healthy-{n}")) <= 4));
        assert!(house.receiver.most_at_once("") <= 64);
        house.receiver.release();
        house.receiver.wait_for("hanging", 500).await;
        assert_eq!(house.receiver.most_at_once("hanging"), 4);
    }

    async fn sixty_four_are_sent_at_once_and_no_more(house: House) {
        for n in 0..20 {
            let name = format!("hanging-{n}");
            house.receiver.script(&name, &[], reply(204).hangs());
            house.subscribe(&name, &name).await;
            write_many(&house, &name, 5).await;
        }
        let _running = house.run();
        house.receiver.wait_for("", 64).await;
        house.receiver.release();
        house.receiver.wait_for("", 100).await;
        house.settle().await;
        assert!((0..20).all(|n| house.receiver.count(&format!("hanging-{n}")) == 5));
        assert_eq!(house.receiver.most_at_once(""), 64);
    }

    async fn many_that_fail_leave_half_of_the_places_to_the_others(house: House) {
        let _running = house.run();
        for n in 0..40 {
            let name = format!("failing-{n}");
            house.receiver.script(&name, &[reply(500)], reply(204).hangs());
            let (id, _) = house.subscribe(&name, &name).await;
            house.write(&name).await;
            house.attempts(&name, id, 1).await;
            write_many(&house, &name, 8).await;
        }
        house.subscribe("ada", "healthy").await;
        write_many(&house, "ada", 100).await;
        house.webhooks.wake();
        house.receiver.wait_for("healthy", 100).await;
        house.receiver.wait_for("", 40 + 32 + 100).await;
        house.settle().await;
        let count = |n: &usize| house.receiver.count(&format!("failing-{n}"));
        assert_eq!((0..40).filter(|n| count(n) == 2).count(), 32);
        assert!((0..40).all(|n| house.receiver.most_at_once(&format!("failing-{n}")) == 1));
        write_many(&house, "ada", 100).await;
        house.webhooks.wake();
        house.receiver.wait_for("healthy", 200).await;
        // Whoever is well again gets everything.
        house.receiver.release();
        for n in 0..40 {
            house.receiver.wait_for(&format!("failing-{n}"), 9).await;
        }
    }

    async fn everybody_has_their_turn(house: House) {
        for n in 0..30 {
            house.subscribe(&n.to_string(), &n.to_string()).await;
            write_many(&house, &n.to_string(), 40).await;
        }
        let _running = house.run();
        house.receiver.wait_for("", 1200).await;
        let mut counts = HashMap::new();
        for got in house.receiver.got("") {
            *counts.entry(got.name).or_insert(0) += 1;
            if counts.len() == 30 {
                break;
            }
        }
        // By the time that the last one got its first event, none had got much more than its share.
        assert!(counts.values().all(|count| *count <= 20), "{counts:?}");
    }
}
