//! Subscribers that misbehave delay nobody else.

use std::collections::HashMap;

use crate::common::{House, reply};

/// Writes so many events of an owner's in one transaction.
async fn write_many(house: &House, owner: &str, count: usize) {
    let (webhooks, owner, now) = (house.webhooks.clone(), owner.to_owned(), house.clock.now());
    let write = move |tx: &mut db::WriteTx<'_>| {
        for _ in 0..count {
            let event = web::Random::system().uuid(now);
            webhooks.write(tx, &owner, event, crate::common::KIND, "{}", now)?;
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

    async fn slow_ones_have_half_of_the_places_and_turns_among_themselves(house: House) {
        // Forty that fail once, and then take their time; somebody healthy is busy all along.
        let _running = house.run();
        let mut ids = Vec::new();
        for n in 0..40 {
            let name = format!("slow-{n}");
            house.receiver.script(&name, &[reply(500)], reply(204).hangs());
            let (id, _) = house.subscribe(&name, &name).await;
            house.write(&name).await;
            house.attempts(&name, id, 1).await;
            ids.push(id);
        }
        house.subscribe("ada", "healthy").await;
        for n in 0..40 {
            write_many(&house, &format!("slow-{n}"), 3).await;
        }
        house.webhooks.wake();
        // 32 have a place.
        let began = || (0..40).filter(|n| house.receiver.count(&format!("slow-{n}")) == 2).count();
        house.receiver.wait_for("", 40 + 32).await;
        for round in 1..20 {
            write_many(&house, "ada", 10).await;
            house.webhooks.wake();
            house.receiver.wait_for("healthy", round * 10).await;
        }
        assert_eq!(began(), 32);
        // As soon as they let go, those who have not had their turn have it before anybody has another one.
        house.receiver.release();
        house.receiver.wait_for("", 40 + 190 + 40 * 3).await;
        let mut counts = HashMap::new();
        for got in house.receiver.got("").iter().filter(|got| got.name.starts_with("slow")).skip(40) {
            *counts.entry(got.name.clone()).or_insert(0) += 1;
            if counts.len() == 40 {
                break;
            }
        }
        assert_eq!(counts.len(), 40);
        // Those who were quick again are among the others by then, where they have four places each.
        assert!(counts.values().all(|count| *count <= 3), "{counts:?}");
    }

    async fn everybody_who_has_something_begins_as_long_as_there_are_places(house: House) {
        for n in 0..40 {
            let name = format!("hanging-{n}");
            house.receiver.script(&name, &[], reply(204).hangs());
            house.subscribe(&name, &name).await;
            write_many(&house, &name, 1).await;
        }
        // Nothing ends and nothing wakes it while they begin.
        let _running = house.run();
        house.receiver.wait_for("", 40).await;
        house.subscribe("ada", "healthy").await;
        house.write("ada").await;
        house.receiver.wait_for("healthy", 1).await;
    }

    async fn one_owner_has_a_quarter_of_the_places(house: House) {
        for n in 0..20 {
            let name = format!("hanging-{n}");
            house.receiver.script(&name, &[], reply(204).hangs());
            house.subscribe("eve", &name).await;
        }
        write_many(&house, "eve", 5).await;
        house.subscribe("ada", "healthy").await;
        write_many(&house, "ada", 100).await;
        let _running = house.run();
        house.receiver.wait_for("healthy", 100).await;
        house.settle().await;
        assert_eq!(house.receiver.count("") - house.receiver.count("healthy") - house.receiver.count("marker"), 16);
        house.receiver.release();
        for n in 0..20 {
            house.receiver.wait_for(&format!("hanging-{n}"), 5).await;
        }
    }

    async fn whoever_takes_long_gives_their_place_to_others_up_to_a_point(house: House) {
        for n in 0..80 {
            let name = format!("hanging-{n}");
            house.receiver.script(&name, &[], reply(204).hangs());
            house.subscribe(&name, &name).await;
            write_many(&house, &name, 5).await;
        }
        house.subscribe("ada", "healthy").await;
        let _running = house.run();
        // Each second another 64 begin, since the others take so long, until there are 256.
        for at_once in [64, 128, 192, 256] {
            house.receiver.wait_for("", at_once).await;
            assert_eq!(house.receiver.most_at_once(""), at_once);
            house.seconds(1);
        }
        house.write("ada").await;
        house.receiver.release();
        house.receiver.wait_for("", 80 * 5 + 1).await;
        assert_eq!(house.receiver.most_at_once(""), 256);
        assert!((0..80).all(|n| house.receiver.most_at_once(&format!("hanging-{n}")) <= 4));
    }

    async fn many_slow_ones_ahead_hide_nobody(house: House) {
        // As many as would fill a lane, each with something ready, and all before the healthy one in every order.
        let write = move |tx: &mut db::WriteTx<'_>| {
            for n in 0..2500_u128 {
                let id = uuid::Uuid::from_u128(n + 1);
                tx.execute(
                    "INSERT INTO webhook_subscription (id, owner, url, secret, slow) VALUES ($1, $2, $3, $4, $5)",
                    &[id.into(), format!("slow-{n}").as_str().into(), "http://127.0.0.1:9/x".into(),
                      [0_u8; 32].as_slice().into(), true.into()],
                )?;
            }
            Ok::<_, db::Error>(())
        };
        house.db.write(write).await.unwrap();
        let (webhooks, now) = (house.webhooks.clone(), house.clock.now());
        let write = move |tx: &mut db::WriteTx<'_>| {
            for n in 0..5000 {
                let event = web::Random::system().uuid(now);
                webhooks.write(tx, &format!("slow-{}", n / 2), event, crate::common::KIND, "{}", now)?;
            }
            Ok::<_, db::Error>(())
        };
        house.db.write(write).await.unwrap();
        house.subscribe("ada", "healthy").await;
        write_many(&house, "ada", 20).await;
        let _running = house.run();
        house.receiver.wait_for("healthy", 20).await;
        // And each of them has its turn, before others have had many.
        let tried = |tx: &mut db::Tx<'_>| {
            let count = "SELECT count(DISTINCT subscription_id), count(*) FROM webhook_attempt";
            tx.row(count, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))
        };
        let in_all = loop {
            let (everybody, in_all) = house.db.read::<_, db::Error, _>(tried).await.unwrap().unwrap();
            if everybody == 2501 {
                break in_all;
            }
        };
        assert!(in_all < 3500, "{in_all}");
    }
}
