//! Events are sent to whoever subscribed, once they are committed, and until they arrive.

use std::sync::Arc;

use crate::common::{House, KIND, Running, message, payload, reply, settings};
use jiff::SignedDuration;
use testkit::Address;
use uuid::Uuid;
use web::Random;
use webhooks::{Attempt, RotateError, SendError, Settings, SubscribeError, TokenFor};

testkit::on_both_engines! {
    async fn an_event_is_sent_with_its_transaction_or_not_at_all(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let _running = house.run();
        let (webhooks, now) = (house.webhooks.clone(), house.clock.now());
        let lost = Random::system().uuid(now);
        let write = move |tx: &mut db::WriteTx<'_>| {
            webhooks.write(tx, "ada", lost, KIND, "{}", now)?;
            Err::<(), _>(db::Error::Fault("the booking failed".into()))
        };
        house.db.write(write).await.unwrap_err();
        house.webhooks.wake();
        let event = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        house.settle().await;
        let got = house.receiver.got("a");
        assert_eq!(got.iter().map(|got| got.id().to_owned()).collect::<Vec<_>>(), [message(event)]);
        assert_eq!(house.delivery(id, lost).await, None);
    }

    async fn an_event_goes_to_each_subscription_of_its_owner_once_and_to_nobody_else(house: House) {
        let (a, _) = house.subscribe("ada", "a").await;
        let (b, _) = house.subscribe("ada", "b").await;
        house.subscribe("bob", "c").await;
        house.receiver.script("a", &[], reply(200).length(10 * 1024 * 1024));
        house.receiver.script("b", &[], reply(299));
        let _running = house.run();
        let event = house.write("ada").await;
        let at = house.clock.now();
        for (id, status) in [(a, 200), (b, 299)] {
            let attempt = house.attempts("ada", id, 1).await.remove(0);
            assert!((0..15_000).contains(&attempt.duration_ms), "{attempt:?}");
            let duration_ms = attempt.duration_ms;
            assert_eq!(attempt, Attempt { event, at, duration_ms, status: Some(status), error: None });
            assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        // Not again, however long it takes; and whoever comes later does not get it.
        house.subscribe("ada", "late").await;
        for _ in 0..3 {
            house.hours(24);
            house.settle().await;
        }
        let counts = ["a", "b", "c", "late"].map(|name| house.receiver.count(name));
        assert_eq!(counts, [1, 1, 0, 0]);
    }

    async fn an_answer_that_never_ends_counts_by_its_status(house: House) {
        let address = Address::free().await;
        let url = format!("{}/a", address.url()).parse().unwrap();
        let (endless, sent) = (std::sync::Arc::new(tokio::sync::Semaphore::new(0)), Random::system());
        let taken = endless.clone();
        let router = axum::Router::new().fallback(async move || {
            let pieces = futures_util::stream::unfold((), move |()| {
                let (taken, sent) = (taken.clone(), sent.clone());
                async move {
                    taken.add_permits(1);
                    Some((Ok::<_, std::io::Error>(sent.bytes::<1024>().to_vec()), ()))
                }
            });
            axum::body::Body::from_stream(pieces)
        });
        let _server = address.serve(web::ConnectionLimits::default(), router);
        let (subscription, _) = house.webhooks.subscribe("ada", &url).await.unwrap();
        let _running = house.run();
        house.write("ada").await;
        let attempt = house.attempts("ada", subscription.id, 1).await.remove(0);
        assert_eq!((attempt.status, attempt.error), (Some(200), None));
        // What is read is 64 KiB; what is on its way besides is a matter of the sockets' room.
        assert!(endless.available_permits() < 16 * 1024, "{}", endless.available_permits());
    }

    async fn a_redirect_is_a_failure_and_is_not_followed(house: House) {
        let target = house.receiver.url("target/newBooking").to_string();
        for (name, status) in [("a", 301), ("b", 302), ("c", 307), ("d", 308)] {
            let (id, _) = house.subscribe(name, name).await;
            house.receiver.script(name, &[], reply(status).header("location", target.clone()));
            let running = house.run();
            house.write(name).await;
            let attempt = house.attempts(name, id, 1).await.remove(0);
            let error = format!("answered {status}: redirects are not followed");
            assert_eq!((attempt.status, attempt.error), (Some(status), Some(error)));
            running.kill().await;
        }
        assert_eq!(house.receiver.count("target"), 0);
    }

    async fn the_log_has_the_last_fifty_attempts_and_says_why_they_failed(house: House) {
        let (id, secret) = house.subscribe("ada", "a").await;
        let statuses = [200, 500, 404, 304];
        let replies: Vec<_> = (0..60).map(|n| reply(statuses[n % 4])).collect();
        house.receiver.script("a", &replies, reply(204));
        let mut expected = Vec::new();
        let mut running = house.run();
        for n in 0..55_usize {
            house.advance(SignedDuration::from_millis(1));
            let (event, status) = (house.write("ada").await, statuses[n % 4]);
            let error = match status {
                200 => None,
                304 => Some("answered 304: redirects are not followed".to_owned()),
                status => Some(format!("answered {status}")),
            };
            expected.insert(0, (event, house.clock.now(), Some(status), error));
            house.newest("ada", id, event).await;
        }
        let newest = house.see("ada", id).await.1;
        let fields = |attempt: Attempt| (attempt.event, attempt.at, attempt.status, attempt.error);
        expected.truncate(50);
        assert_eq!(newest.into_iter().map(fields).collect::<Vec<_>>(), expected);
        // Nobody listens any more: neither the address nor the secret is in the log.
        running.kill().await;
        let (free, _) = (Address::free().await, secret);
        let url = format!("{}/hidden-in-the-path", free.url()).parse().unwrap();
        let (gone, secret) = house.webhooks.subscribe("bob", &url).await.unwrap();
        drop(free);
        running = house.run();
        house.write("bob").await;
        let attempt = house.attempts("bob", gone.id, 1).await.remove(0);
        assert_eq!((attempt.status, attempt.error.as_deref()), (None, Some("could not connect")));
        assert!(!format!("{attempt:?}").contains(&secret.shown()));
        running.kill().await;
    }

    async fn a_subscription_that_ends_while_something_is_on_its_way_leaves_nothing(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(500).hangs());
        let _running = house.run();
        for _ in 0..6 {
            house.write("ada").await;
        }
        house.receiver.wait_for("a", 4).await;
        assert!(!house.webhooks.unsubscribe("bob", id).await.unwrap());
        assert!(house.webhooks.unsubscribe("ada", id).await.unwrap());
        assert!(!house.webhooks.unsubscribe("ada", id).await.unwrap());
        house.receiver.release();
        house.settle().await;
        house.seconds(61);
        house.settle().await;
        assert_eq!((house.rows_of(id).await, house.receiver.count("a")), (0, 4));
    }

    async fn there_are_twenty_subscriptions_at_the_most_and_each_is_its_owners_alone(house: House) {
        let mut ids = Vec::new();
        for n in 0..20 {
            ids.push(house.subscribe("ada", &n.to_string()).await.0);
        }
        let url = house.receiver.url("more");
        let refused = house.webhooks.subscribe("ada", &url).await.unwrap_err();
        assert!(matches!(refused, SubscribeError::TooMany));
        assert_eq!(refused.to_string(), "there can be 20 subscriptions at the most");
        house.subscribe("bob", "b").await;
        let listed: Vec<_> = house.webhooks.subscriptions("ada").await.unwrap();
        ids.sort();
        assert_eq!(listed.iter().map(|listed| listed.id).collect::<Vec<_>>(), ids);
        assert!(listed.iter().all(|listed| listed.failing_since.is_none() && listed.disabled.is_none()));

        let (webhooks, id, now) = (&house.webhooks, ids[0], house.clock.now());
        let event = house.write("ada").await;
        let bob = "bob";
        assert!(webhooks.subscription(bob, id).await.unwrap().is_none());
        assert!(matches!(webhooks.rotate(bob, id).await, Err(RotateError::Unknown)));
        assert!(matches!(webhooks.test(bob, id, "test", "{}").await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver(bob, id, event).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver_failed(bob, id, now).await, Err(SendError::Unknown)));
        assert!(!webhooks.unsubscribe(bob, id).await.unwrap());
        assert!(webhooks.subscription("ada", Uuid::nil()).await.unwrap().is_none());
        assert!(webhooks.unsubscribe("ada", id).await.unwrap());
        webhooks.subscribe("ada", &url).await.unwrap();
    }

    async fn as_many_as_come_at_once_there_are_twenty(house: House) {
        let others = [house.another(), house.another()];
        let calls = (0..60).map(|n| {
            let (webhooks, url) = (others[n % 2].clone(), house.receiver.url(&n.to_string()));
            tokio::spawn(async move { webhooks.subscribe("ada", &url).await.map(|(subscription, _)| subscription.id) })
        });
        let mut made = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            match call.await.unwrap() {
                Ok(id) => made.push(id),
                Err(refused) => assert!(matches!(refused, SubscribeError::TooMany), "{refused}"),
            }
        }
        assert_eq!((made.len(), house.webhooks.subscriptions("ada").await.unwrap().len()), (20, 20));
        for id in made {
            assert!(house.webhooks.unsubscribe("ada", id).await.unwrap());
        }
        house.subscribe("ada", "again").await;
    }

    async fn old_events_go_but_not_before_they_were_sent(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        let (slow, _) = house.subscribe("bob", "b").await;
        let running = house.run();
        let sent = house.write("ada").await;
        house.attempts("ada", id, 1).await;
        running.kill().await;
        let waiting = house.write("bob").await;
        house.hours(24 * 30);
        let running = house.run();
        house.settle().await;
        assert!(house.delivery(id, sent).await.is_some());
        // It arrives though the service was down for a month.
        house.attempts("bob", slow, 1).await;
        assert_eq!(house.receiver.got("b")[0].body, payload(waiting).as_bytes());
        running.kill().await;
        let old = house.write("ada").await;
        house.hours(24 * 30);
        house.receiver.script("a", &[], reply(500).header("retry-after", "600"));
        let _running = house.run();
        house.attempts("ada", id, 2).await;
        house.seconds(6);
        house.settle().await;
        assert_eq!(house.delivery(id, sent).await, None);
        assert_eq!(house.delivery(slow, waiting).await, None);
        assert!(matches!(house.webhooks.redeliver("ada", id, sent).await, Err(SendError::Unknown)));
        // One that is still to be sent is not too old.
        assert_eq!(house.delivery(id, old).await.unwrap().0, "waiting");
    }

    async fn what_is_under_way_when_it_is_to_stop_is_brought_to_its_end(house: House) {
        let (id, _) = house.subscribe("ada", "a").await;
        house.receiver.script("a", &[], reply(204).hangs());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(house.webhooks.clone().run(async { stopped.await.unwrap() }));
        let mut events = Vec::new();
        for _ in 0..4 {
            events.push(house.write("ada").await);
        }
        house.receiver.wait_for("a", 4).await;
        // There is no place for this one, and when there is, nothing more is begun.
        let late = house.write("ada").await;
        stop.send(()).unwrap();
        house.receiver.release();
        running.await.unwrap();
        for event in events {
            assert_eq!(house.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        assert_eq!((house.delivery(id, late).await.unwrap().0.as_str(), house.receiver.count("a")), ("ready", 4));
    }

    async fn no_token_and_no_secret_is_ever_in_the_log(house: House) {
        let token_for: TokenFor = Arc::new(|_, _| Box::pin(async { Some("a-token-nobody-may-see".into()) }));
        let webhooks = house.with(Settings { token_for: Some(token_for), ..settings() });
        let replies = [reply(204), reply(500), reply(302).header("location", "/a-token-nobody-may-see"), reply(410)];
        let closed = Address::free().await;
        let nobody = format!("{}/a", closed.url()).parse().unwrap();
        let mut secrets = vec![webhooks.subscribe("nobody", &nobody).await.unwrap().1];
        drop(closed);
        let _running = Running::new(&webhooks);
        house.write("nobody").await;
        for (n, reply) in replies.into_iter().enumerate() {
            let name = format!("owner-{n}");
            house.receiver.script(&name, &[], reply);
            let (id, secret) = house.subscribe(&name, &name).await;
            secrets.extend([secret, webhooks.rotate(&name, id).await.unwrap()]);
            house.write(&name).await;
            webhooks.wake();
            house.attempts(&name, id, 1).await;
            assert_eq!(house.receiver.got(&name)[0].header("authorization"), "Bearer a-token-nobody-may-see");
        }
        let listed = webhooks.subscriptions("nobody").await.unwrap();
        house.attempts("nobody", listed[0].id, 1).await;
        let log = house.db.read(|tx| {
            tx.rows("SELECT error FROM webhook_attempt", &[], |row| row.get::<Option<String>>(0))
        });
        let log: Result<Vec<_>, db::Error> = log.await;
        let log = log.unwrap();
        assert_eq!(log.len(), 5);
        let log = format!("{log:?}");
        assert!(!log.contains("a-token") && !log.contains("Bearer"), "{log}");
        assert!(secrets.iter().all(|secret| !log.contains(&secret.shown()["whsec_".len()..])), "{log}");
    }
}
