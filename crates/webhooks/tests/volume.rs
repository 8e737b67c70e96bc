//! Ten thousand events for fifty subscribers, of whom some misbehave.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use common::{House, KIND, message, payload, reply};
use jiff::SignedDuration;
use web::Chance;

const OWNERS: usize = 50;
const EVENTS: usize = 10_000;

fn name(owner: usize) -> String {
    match owner {
        0..4 => format!("slow-{owner}"),
        4..8 => format!("always-{owner}"),
        8..16 => format!("at-first-{owner}"),
        _ => format!("healthy-{owner}"),
    }
}

testkit::on_both_engines! {
    async fn every_event_arrives_wherever_it_can(house: House) {
        for owner in 0..OWNERS {
            let name = name(owner);
            match name.split_once('-').unwrap().0 {
                "slow" => house.receiver.script(&name, &[], reply(204).hangs()),
                "always" => house.receiver.script(&name, &[], reply(503)),
                "at" => house.receiver.script(&name, &[reply(503), reply(503)], reply(200)),
                _ => {}
            }
            house.subscribe(&name, &name).await;
        }
        let start = Instant::now();
        let _running = house.run();
        // Written while they are sent, a hundred to a transaction.
        let mut expected: HashMap<_, HashSet<_>> = HashMap::new();
        for batch in 0..EVENTS / 100 {
            let now = house.clock.now();
            let events: Vec<_> = (0..100)
                .map(|n| (name((batch * 100 + n) % OWNERS), Chance::system().uuid(now)))
                .collect();
            for (owner, event) in &events {
                expected.entry(owner.clone()).or_default().insert(message(*event));
            }
            let webhooks = house.webhooks.clone();
            let write = move |tx: &mut db::WriteTx<'_>| {
                for (owner, event) in &events {
                    webhooks.write(tx, owner, *event, KIND, &payload(*event), now)?;
                }
                Ok::<_, db::Error>(())
            };
            house.db.write(write).await.unwrap();
            house.webhooks.wake();
        }
        let each = EVENTS / OWNERS;
        for owner in 16..OWNERS {
            house.receiver.wait_for_events(&name(owner), &expected[&name(owner)]).await;
        }
        let healthy = start.elapsed();
        // The slow ones are still at it, and nobody minded.
        assert!((0..4).all(|owner| house.receiver.count(&name(owner)) < each));
        house.receiver.release();
        for owner in 8..16 {
            house.receiver.wait_for_events(&name(owner), &expected[&name(owner)]).await;
        }
        // What was refused at first, or took too long.
        house.advance(SignedDuration::from_secs(6));
        for owner in (0..4).chain(8..OWNERS) {
            let got = house.receiver.wait_for_events(&name(owner), &expected[&name(owner)]).await;
            let got: HashSet<_> = got.iter().map(|got| got.id().to_owned()).collect();
            assert!(got == expected[&name(owner)], "{}", name(owner));
        }
        for owner in 8..16 {
            house.receiver.wait_for(&name(owner), each + 2).await;
        }
        // Whatever came more than once is the same event.
        let mut bodies = HashMap::new();
        for got in house.receiver.got("") {
            let body = bodies.entry(got.id().to_owned()).or_insert_with(|| got.body.clone());
            assert_eq!(*body, got.body);
        }
        println!("{:?}: healthy within {healthy:?}, all within {:?}", house.store.engine(), start.elapsed());
    }
}
