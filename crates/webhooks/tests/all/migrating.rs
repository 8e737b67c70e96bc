//! A database of the first version is brought up to date with what is in it.

use crate::common::{House, KIND, payload};
use db::Migrations;
use testkit::{Engine, Fixture, Store};
use uuid::Uuid;
use web::Random;
use webhooks::{MIGRATIONS, MOST_SUBSCRIPTIONS, SubscribeError};

const FIRST: Migrations = MIGRATIONS.up_to(1);

/// A store that only the first version has opened.
struct Old(Store);

impl Fixture for Old {
    async fn start(engine: Engine) -> Self {
        Old(Store::new(engine))
    }
}

testkit::on_both_engines! {
    async fn what_was_on_its_way_arrives_with_both_signatures(old: Old) {
        let house = House::on(old.0, &[FIRST]).await;
        let (now, url) = (house.clock.now(), house.receiver.url("a").to_string());
        let (subscription, event) = (Uuid::from_u128(7), Random::system().uuid(now));
        let write = move |tx: &mut db::WriteTx<'_>| {
            for n in 0..MOST_SUBSCRIPTIONS {
                let (id, owner) = if n == 0 { (subscription, "ada") } else { (Uuid::from_u128(100 + n as u128), "bob") };
                tx.execute(
                    "INSERT INTO webhook_subscription (id, owner, url, secret, old_secret, old_secret_until)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                    &[id.into(), owner.into(), url.as_str().into(), [1_u8; 32].as_slice().into(),
                      [2_u8; 32].as_slice().into(), (now + jiff::SignedDuration::from_hours(1)).into()],
                )?;
            }
            tx.execute(
                "INSERT INTO webhook_event (id, kind, payload, created_at) VALUES ($1, $2, $3, $4)",
                &[event.into(), KIND.into(), payload(event).as_str().into(), now.into()],
            )?;
            tx.execute(
                "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
                 VALUES ($1, $2, 'pending', 0, $3)",
                &[subscription.into(), event.into(), now.into()],
            )
        };
        house.db.write::<_, db::Error, _>(write).await.unwrap();
        let webhooks = house.another();
        let _running = crate::common::Running::new(&webhooks);
        let got = house.receiver.wait_for("a", 1).await.remove(0);
        assert_eq!((got.id(), got.body.as_slice()), (crate::common::message(event).as_str(), payload(event).as_bytes()));
        assert_eq!(got.header("webhook-signature").split(' ').count(), 2);
        // Whoever had subscriptions before has them counted.
        webhooks.subscribe("bob", &house.receiver.url("b")).await.unwrap();
        let refused = webhooks.subscribe("bob", &house.receiver.url("c")).await.unwrap_err();
        assert!(matches!(refused, SubscribeError::TooMany));
    }
}
