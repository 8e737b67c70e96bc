//! Events are sent to subscriptions after their transaction commits, until they arrive.

use std::sync::Arc;

use crate::common::{Harness, KIND, Running, message, payload, reply, settings, untraced};
use jiff::SignedDuration;
use testkit::Address;
use uuid::Uuid;
use web::Random;
use webhooks::{Attempt, RotateError, SendError, Settings, SubscribeError, TokenFor};

testkit::on_both_engines! {
    async fn event_is_sent_only_if_its_transaction_commits(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let _running = harness.run();
        let (webhooks, now) = (harness.webhooks.clone(), harness.clock.now());
        let lost = Random::system().uuid(now);
        let write = move |tx: &mut db::WriteTx<'_>| {
            webhooks.write(tx, "ada", &untraced(lost), KIND, "{}", now)?;
            Err::<(), _>(db::Error::Fault("the booking failed".into()))
        };
        harness.db.write(write).await.unwrap_err();
        harness.webhooks.wake();
        let event = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        harness.wait_for_claims().await;
        let got = harness.receiver.got("a");
        assert_eq!(got.iter().map(|got| got.id().to_owned()).collect::<Vec<_>>(), [message(event)]);
        assert_eq!(harness.delivery(id, lost).await, None);
    }

    async fn event_goes_once_to_each_subscription_of_its_owner_only(harness: Harness) {
        let (a, _) = harness.subscribe("ada", "a").await;
        let (b, _) = harness.subscribe("ada", "b").await;
        harness.subscribe("bob", "c").await;
        harness.receiver.script("a", &[], reply(200).length(10 * 1024 * 1024));
        harness.receiver.script("b", &[], reply(299));
        let _running = harness.run();
        let event = harness.write("ada").await;
        let at = harness.clock.now();
        for (id, status) in [(a, 200), (b, 299)] {
            let attempt = harness.attempts("ada", id, 1).await.remove(0);
            assert!((0..15_000).contains(&attempt.duration_ms), "{attempt:?}");
            let duration_ms = attempt.duration_ms;
            assert_eq!(attempt, Attempt { event, at, duration_ms, status: Some(status), error: None });
            assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        // It is not sent again, and a later subscription does not get it.
        harness.subscribe("ada", "late").await;
        for _ in 0..3 {
            harness.hours(24);
            harness.wait_for_claims().await;
        }
        let counts = ["a", "b", "c", "late"].map(|name| harness.receiver.count(name));
        assert_eq!(counts, [1, 1, 0, 0]);
    }

    async fn endless_response_counts_by_its_status(harness: Harness) {
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
        let (subscription, _) = harness.webhooks.subscribe("ada", &url).await.unwrap();
        let _running = harness.run();
        harness.write("ada").await;
        let attempt = harness.attempts("ada", subscription.id, 1).await.remove(0);
        assert_eq!((attempt.status, attempt.error), (Some(200), None));
        // The sender reads 64 KiB; the buffers of the sockets hold some more.
        assert!(endless.available_permits() < 16 * 1024, "{}", endless.available_permits());
    }

    async fn redirect_is_a_failure_and_is_not_followed(harness: Harness) {
        let target = harness.receiver.url("target/newBooking").to_string();
        for (name, status) in [("a", 301), ("b", 302), ("c", 307), ("d", 308)] {
            let (id, _) = harness.subscribe(name, name).await;
            harness.receiver.script(name, &[], reply(status).header("location", target.clone()));
            let running = harness.run();
            harness.write(name).await;
            let attempt = harness.attempts(name, id, 1).await.remove(0);
            let error = format!("answered {status}: redirects are not followed");
            assert_eq!((attempt.status, attempt.error), (Some(status), Some(error)));
            running.kill().await;
        }
        assert_eq!(harness.receiver.count("target"), 0);
    }

    async fn last_fifty_attempts_are_listed_with_their_errors(harness: Harness) {
        let (id, secret) = harness.subscribe("ada", "a").await;
        let statuses = [200, 500, 404, 304];
        let replies: Vec<_> = (0..60).map(|n| reply(statuses[n % 4])).collect();
        harness.receiver.script("a", &replies, reply(204));
        let mut expected = Vec::new();
        let mut running = harness.run();
        for n in 0..55_usize {
            harness.advance(SignedDuration::from_millis(1));
            let (event, status) = (harness.write("ada").await, statuses[n % 4]);
            let error = match status {
                200 => None,
                304 => Some("answered 304: redirects are not followed".to_owned()),
                status => Some(format!("answered {status}")),
            };
            expected.insert(0, (event, harness.clock.now(), Some(status), error));
            harness.newest("ada", id, event).await;
        }
        let newest = harness.see("ada", id).await.1;
        let fields = |attempt: Attempt| (attempt.event, attempt.at, attempt.status, attempt.error);
        expected.truncate(50);
        assert_eq!(newest.into_iter().map(fields).collect::<Vec<_>>(), expected);
        // The receiver is closed: the error contains neither the address nor the secret.
        running.kill().await;
        let (free, _) = (Address::free().await, secret);
        let url = format!("{}/hidden-in-the-path", free.url()).parse().unwrap();
        let (gone, secret) = harness.webhooks.subscribe("bob", &url).await.unwrap();
        drop(free);
        running = harness.run();
        harness.write("bob").await;
        let attempt = harness.attempts("bob", gone.id, 1).await.remove(0);
        assert_eq!((attempt.status, attempt.error.as_deref()), (None, Some("could not connect")));
        assert!(!format!("{attempt:?}").contains(&secret.shown()));
        running.kill().await;
    }

    async fn subscription_deleted_during_an_attempt_leaves_no_rows(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(500).hangs());
        let _running = harness.run();
        for _ in 0..6 {
            harness.write("ada").await;
        }
        harness.receiver.wait_for("a", 4).await;
        assert!(!harness.webhooks.unsubscribe("bob", id).await.unwrap());
        assert!(harness.webhooks.unsubscribe("ada", id).await.unwrap());
        assert!(!harness.webhooks.unsubscribe("ada", id).await.unwrap());
        harness.receiver.release();
        harness.wait_for_claims().await;
        harness.seconds(61);
        harness.wait_for_claims().await;
        assert_eq!((harness.rows_of(id).await, harness.receiver.count("a")), (0, 4));
    }

    async fn owner_has_at_most_twenty_subscriptions_and_sees_only_those(harness: Harness) {
        let mut ids = Vec::new();
        for n in 0..20 {
            ids.push(harness.subscribe("ada", &n.to_string()).await.0);
        }
        let url = harness.receiver.url("more");
        let refused = harness.webhooks.subscribe("ada", &url).await.unwrap_err();
        assert!(matches!(refused, SubscribeError::TooMany));
        assert_eq!(refused.to_string(), "there can be 20 subscriptions at the most");
        harness.subscribe("bob", "b").await;
        let listed: Vec<_> = harness.webhooks.subscriptions("ada").await.unwrap();
        ids.sort();
        assert_eq!(listed.iter().map(|listed| listed.id).collect::<Vec<_>>(), ids);
        assert!(listed.iter().all(|listed| listed.failing_since.is_none() && listed.disabled.is_none()));

        let (webhooks, id, now) = (&harness.webhooks, ids[0], harness.clock.now());
        let event = harness.write("ada").await;
        let bob = "bob";
        assert!(webhooks.subscription(bob, id).await.unwrap().is_none());
        assert!(matches!(webhooks.rotate(bob, id).await, Err(RotateError::Unknown)));
        assert!(matches!(webhooks.test(bob, id, "test", "{}", None).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver(bob, id, event).await, Err(SendError::Unknown)));
        assert!(matches!(webhooks.redeliver_failed(bob, id, now).await, Err(SendError::Unknown)));
        assert!(!webhooks.unsubscribe(bob, id).await.unwrap());
        assert!(webhooks.subscription("ada", Uuid::nil()).await.unwrap().is_none());
        assert!(webhooks.unsubscribe("ada", id).await.unwrap());
        webhooks.subscribe("ada", &url).await.unwrap();
    }

    async fn concurrent_requests_make_at_most_twenty_subscriptions(harness: Harness) {
        let others = [harness.another(), harness.another()];
        let calls = (0..60).map(|n| {
            let (webhooks, url) = (others[n % 2].clone(), harness.receiver.url(&n.to_string()));
            tokio::spawn(async move { webhooks.subscribe("ada", &url).await.map(|(subscription, _)| subscription.id) })
        });
        let mut made = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            match call.await.unwrap() {
                Ok(id) => made.push(id),
                Err(refused) => assert!(matches!(refused, SubscribeError::TooMany), "{refused}"),
            }
        }
        assert_eq!((made.len(), harness.webhooks.subscriptions("ada").await.unwrap().len()), (20, 20));
        for id in made {
            assert!(harness.webhooks.unsubscribe("ada", id).await.unwrap());
        }
        harness.subscribe("ada", "again").await;
    }

    async fn old_events_are_deleted_but_not_before_they_were_sent(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let (slow, _) = harness.subscribe("bob", "b").await;
        let running = harness.run();
        let sent = harness.write("ada").await;
        harness.attempts("ada", id, 1).await;
        running.kill().await;
        let waiting = harness.write("bob").await;
        harness.hours(24 * 30);
        let running = harness.run();
        harness.wait_for_claims().await;
        assert!(harness.delivery(id, sent).await.is_some());
        // It arrives although the service was down for a month.
        harness.attempts("bob", slow, 1).await;
        assert_eq!(harness.receiver.got("b")[0].body, payload(waiting).as_bytes());
        running.kill().await;
        let old = harness.write("ada").await;
        harness.hours(24 * 30);
        harness.receiver.script("a", &[], reply(500).header("retry-after", "600"));
        let _running = harness.run();
        harness.attempts("ada", id, 2).await;
        harness.seconds(6);
        harness.wait_for_claims().await;
        assert_eq!(harness.delivery(id, sent).await, None);
        assert_eq!(harness.delivery(slow, waiting).await, None);
        assert!(matches!(harness.webhooks.redeliver("ada", id, sent).await, Err(SendError::Unknown)));
        // An event that is not sent yet is not deleted.
        assert_eq!(harness.delivery(id, old).await.unwrap().0, "waiting");
    }

    async fn stop_waits_for_attempts_in_flight_and_starts_no_more(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        harness.receiver.script("a", &[], reply(204).hangs());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(harness.webhooks.clone().run(async { stopped.await.unwrap() }));
        let mut events = Vec::new();
        for _ in 0..4 {
            events.push(harness.write("ada").await);
        }
        harness.receiver.wait_for("a", 4).await;
        // There is no permit for this event, and none is granted after the stop.
        let late = harness.write("ada").await;
        stop.send(()).unwrap();
        harness.receiver.release();
        running.await.unwrap();
        for event in events {
            assert_eq!(harness.delivery(id, event).await, Some(("delivered".into(), None)));
        }
        assert_eq!((harness.delivery(id, late).await.unwrap().0.as_str(), harness.receiver.count("a")), ("ready", 4));
    }

    async fn tokens_and_secrets_are_not_logged(harness: Harness) {
        let token_for: TokenFor = Arc::new(|_, _| Box::pin(async { Some("a-secret-token".into()) }));
        let webhooks = harness.with(Settings { token_for: Some(token_for), ..settings() });
        let replies = [reply(204), reply(500), reply(302).header("location", "/a-secret-token"), reply(410)];
        let closed = Address::free().await;
        let unreachable = format!("{}/a", closed.url()).parse().unwrap();
        let mut secrets = vec![webhooks.subscribe("bob", &unreachable).await.unwrap().1];
        drop(closed);
        let _running = Running::new(&webhooks);
        harness.write("bob").await;
        for (n, reply) in replies.into_iter().enumerate() {
            let name = format!("owner-{n}");
            harness.receiver.script(&name, &[], reply);
            let (id, secret) = harness.subscribe(&name, &name).await;
            secrets.extend([secret, webhooks.rotate(&name, id).await.unwrap()]);
            harness.write(&name).await;
            webhooks.wake();
            harness.attempts(&name, id, 1).await;
            assert_eq!(harness.receiver.got(&name)[0].header("authorization"), "Bearer a-secret-token");
        }
        let listed = webhooks.subscriptions("bob").await.unwrap();
        harness.attempts("bob", listed[0].id, 1).await;
        let log = harness.db.read(|tx| {
            tx.rows("SELECT error FROM webhook_attempt", &[], |row| row.get::<Option<String>>(0))
        });
        let log: Result<Vec<_>, db::Error> = log.await;
        let log = log.unwrap();
        assert_eq!(log.len(), 5);
        let log = format!("{log:?}");
        assert!(!log.contains("a-secret-token") && !log.contains("Bearer"), "{log}");
        assert!(secrets.iter().all(|secret| !log.contains(&secret.shown()["whsec_".len()..])), "{log}");
    }
}
