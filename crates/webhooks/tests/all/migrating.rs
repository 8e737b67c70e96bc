//! Databases of older versions are upgraded with their rows.

use crate::common::{Harness, KIND, payload};
use db::Migrations;
use testkit::{Engine, Fixture, Store};
use uuid::Uuid;
use web::Random;
use webhooks::{MIGRATIONS, MOST_SUBSCRIPTIONS, SubscribeError};

const FIRST: Migrations = MIGRATIONS.up_to(1);

/// An empty store, which the test opens at an older version.
struct Old(Store);

impl Fixture for Old {
    async fn start(engine: Engine) -> Self {
        Old(Store::new(engine))
    }
}

testkit::on_both_engines! {
    async fn pending_delivery_of_version_1_arrives_with_both_signatures(old: Old) {
        let harness = Harness::on(old.0, &[FIRST]).await;
        let (now, url) = (harness.clock.now(), harness.receiver.url("a").to_string());
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
        harness.db.write::<_, db::Error, _>(write).await.unwrap();
        let webhooks = harness.another();
        let _running = crate::common::Running::new(&webhooks);
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        assert_eq!((got.id(), got.body.as_slice()), (crate::common::message(event).as_str(), payload(event).as_bytes()));
        assert_eq!(got.header("webhook-signature").split(' ').count(), 2);
        // Subscriptions of the old version count.
        webhooks.subscribe("bob", &harness.receiver.url("b")).await.unwrap();
        let refused = webhooks.subscribe("bob", &harness.receiver.url("c")).await.unwrap_err();
        assert!(matches!(refused, SubscribeError::TooMany));
    }

    async fn redelivery_requested_before_the_upgrade_is_sent_after_it(old: Old) {
        let harness = Harness::on(old.0, &[MIGRATIONS.up_to(5)]).await;
        let (now, url) = (harness.clock.now(), harness.receiver.url("a").to_string());
        let (subscription, event) = (Uuid::from_u128(7), Random::system().uuid(now));
        let write = move |tx: &mut db::WriteTx<'_>| {
            tx.execute(
                "INSERT INTO webhook_subscription (id, owner, url, secret) VALUES ($1, 'ada', $2, $3)",
                &[subscription.into(), url.as_str().into(), [1_u8; 32].as_slice().into()],
            )?;
            tx.execute(
                "INSERT INTO webhook_event (id, owner, kind, payload, created_at) VALUES ($1, 'ada', $2, '{}', $3)",
                &[event.into(), KIND.into(), now.into()],
            )?;
            // Before version 6, a requested redelivery of a delivery in flight had -1 attempts.
            tx.execute(
                "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
                 VALUES ($1, $2, 'sending', -1, $3)",
                &[subscription.into(), event.into(), (now + jiff::SignedDuration::from_secs(30)).into()],
            )
        };
        harness.db.write::<_, db::Error, _>(write).await.unwrap();
        let webhooks = harness.another();
        let stored = |tx: &mut db::Tx<'_>| {
            tx.row("SELECT status, attempts, redeliver FROM webhook_delivery", &[], |row| {
                Ok((row.get::<String>(0)?, row.get::<i64>(1)?, row.get::<bool>(2)?))
            })
        };
        let delivery = async || harness.store.open("test", &[MIGRATIONS]).read::<_, db::Error, _>(stored).await;
        assert_eq!(delivery().await.unwrap(), Some(("sending".into(), 0, true)));
        let _running = crate::common::Running::new(&webhooks);
        harness.seconds(31);
        harness.attempts("ada", subscription, 1).await;
        assert_eq!(harness.receiver.count("a"), 1);
        assert_eq!(delivery().await.unwrap(), Some(("delivered".into(), 1, false)));
    }
}
