//! Signatures prove origin, integrity and time of a delivery.

use std::sync::{Arc, Mutex};

use crate::common::{Got, Harness, Running, message, payload, settings};
use axum::http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use standardwebhooks::Webhook;
use webhooks::{RotateError, Secret, Settings};

/// The result of an independent implementation.
fn theirs(secret: &Secret, headers: &HeaderMap, body: &[u8]) -> bool {
    Webhook::new(&secret.shown()).unwrap().verify(body, headers).is_ok()
}

fn ours(secret: &Secret, got: &Got, now: Timestamp) -> Result<(), &'static str> {
    let header = |name| got.header(name);
    secret.verify(
        header("webhook-id"),
        header("webhook-timestamp"),
        header("webhook-signature"),
        &got.body,
        now,
    )
}

const NOT_OURS: Result<(), &str> = Err("no signature fits the secret");
const NOT_NOW: Result<(), &str> = Err("the timestamp is more than five minutes off");

testkit::on_both_engines! {
    async fn replaced_secret_also_signs_for_a_day(harness: Harness) {
        let (id, old) = harness.subscribe("ada", "a").await;
        assert!(matches!(harness.webhooks.rotate("bob", id).await, Err(RotateError::Unknown)));
        harness.hours(-48);
        let new = harness.webhooks.rotate("ada", id).await.unwrap();
        assert_ne!(old.shown(), new.shown());
        let _running = harness.run();
        harness.advance(SignedDuration::from_hours(24) - SignedDuration::from_micros(1));
        harness.write("ada").await;
        let both = harness.receiver.wait_for("a", 1).await.remove(0);
        assert_eq!(both.header("webhook-signature").split(' ').count(), 2);
        for secret in [&old, &new] {
            assert_eq!(ours(secret, &both, harness.clock.now()), Ok(()));
        }
        harness.advance(SignedDuration::from_micros(1));
        harness.write("ada").await;
        let one = harness.receiver.wait_for("a", 2).await.remove(1);
        assert_eq!(one.header("webhook-signature").split(' ').count(), 1);
        assert_eq!(ours(&new, &one, harness.clock.now()), Ok(()));
        assert_eq!(ours(&old, &one, harness.clock.now()), NOT_OURS);

        // Recorded before the clock passes the lease: otherwise it would be sent again.
        harness.attempts("ada", id, 2).await;
        // At the time of the machine: both secrets sign again, and the oldest one does not.
        harness.hours(24);
        let newer = harness.webhooks.rotate("ada", id).await.unwrap();
        harness.write("ada").await;
        let both = harness.receiver.wait_for("a", 3).await.remove(2);
        let verified = [&old, &new, &newer].map(|secret| theirs(secret, &both.headers, &both.body));
        assert_eq!(verified, [false, true, true]);
    }

    async fn each_replaced_secret_also_signs_for_its_day(harness: Harness) {
        let (id, first) = harness.subscribe("ada", "a").await;
        let mut secrets = vec![first];
        for _ in 0..10 {
            secrets.push(harness.webhooks.rotate("ada", id).await.unwrap());
            harness.seconds(60);
        }
        let refused = harness.webhooks.rotate("ada", id).await.unwrap_err();
        assert_eq!(refused.to_string(), "10 secrets that were replaced within 24 hours still sign");
        let running = harness.run();
        harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        assert_eq!(got.header("webhook-signature").split(' ').count(), 11);
        assert!(secrets.iter().all(|secret| ours(secret, &got, harness.clock.now()).is_ok()));
        harness.attempts("ada", id, 1).await;
        running.kill().await;
        // A day after its replacement the first secret does not sign, and a new rotation is allowed.
        harness.advance(SignedDuration::from_hours(24) - SignedDuration::from_secs(600));
        secrets.push(harness.webhooks.rotate("ada", id).await.unwrap());
        let _running = harness.run();
        harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 2).await.remove(1);
        let verified: Vec<_> = secrets.iter().map(|secret| ours(secret, &got, harness.clock.now())).collect();
        assert_eq!(verified[0], NOT_OURS);
        assert_eq!(verified[1..], [Ok(()); 11]);
    }

    async fn concurrent_rotations_each_give_a_secret_that_signs(harness: Harness) {
        let (id, _) = harness.subscribe("ada", "a").await;
        let others = [harness.another(), harness.another()];
        let calls = (0..8).map(|n| {
            let webhooks = others[n % 2].clone();
            tokio::spawn(async move { webhooks.rotate("ada", id).await.unwrap() })
        });
        let mut secrets = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            secrets.push(call.await.unwrap());
        }
        let _running = harness.run();
        harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        assert!(secrets.iter().all(|secret| ours(secret, &got, harness.clock.now()).is_ok()));
    }
}

#[test]
fn secret_is_parsed_from_its_text_and_never_printed() {
    for text in ["", "whsec_", "whsec_###", "whsec_é", "aGVsbG8=", "whsec_whsec_aGVsbG8="] {
        assert!(Secret::parse(text).is_err(), "{text}");
    }
    let secret = Secret::parse(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    assert_eq!(secret.shown(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    assert_eq!(format!("{secret:?}"), "Secret");
}

testkit::on_one_engine! {
    async fn delivery_is_complete_and_its_signature_verifies(harness: Harness) {
        let (_, secret) = harness.subscribe("ada", "a").await;
        let _running = harness.run();
        let event = harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        let now = harness.clock.now();
        assert_eq!(got.path, "/a/newBooking");
        assert_eq!(got.body, payload(event).as_bytes());
        let names = ["webhook-id", "webhook-timestamp", "content-type", "user-agent", "authorization"];
        let headers = names.map(|name| got.header(name).to_owned());
        let agent = format!("triptych/{}", env!("CARGO_PKG_VERSION"));
        let seconds = now.as_second().to_string();
        assert_eq!(headers, [message(event), seconds, "application/json".into(), agent, String::new()]);
        assert!(!got.header("webhook-signature").contains(' '));
        assert!(theirs(&secret, &got.headers, &got.body));
        assert_eq!(ours(&secret, &got, now), Ok(()));
        // The secret in the form that the subscriber stores.
        assert_eq!(ours(&Secret::parse(&secret.shown()).unwrap(), &got, now), Ok(()));
    }

    async fn changed_delivery_does_not_verify(harness: Harness) {
        let (_, secret) = harness.subscribe("ada", "a").await;
        let (_, another) = harness.subscribe("ada", "b").await;
        let _running = harness.run();
        harness.write("ada").await;
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        let now = harness.clock.now();
        assert!(!theirs(&another, &got.headers, &got.body));
        assert_eq!(ours(&another, &got, now), NOT_OURS);

        let mut body = got.clone();
        body.body.push(b' ');
        let mut id = got.clone();
        id.headers.insert("webhook-id", "msg_0".parse().unwrap());
        let mut later = got.clone();
        later.headers.insert("webhook-timestamp", (now.as_second() + 1).into());
        let mut cut = got.clone();
        let signature = got.header("webhook-signature");
        cut.headers.insert("webhook-signature", signature[..signature.len() - 1].parse().unwrap());
        let mut version = got.clone();
        version.headers.insert("webhook-signature", signature.replace("v1,", "v2,").parse().unwrap());
        for changed in [body, id, later, cut, version] {
            assert!(!theirs(&secret, &changed.headers, &changed.body), "{changed:?}");
            assert_eq!(ours(&secret, &changed, now), NOT_OURS, "{changed:?}");
        }
        let mut none = got.clone();
        none.headers.insert("webhook-timestamp", "soon".parse().unwrap());
        assert_eq!(ours(&secret, &none, now), Err("the timestamp is no number"));
        assert!(!theirs(&secret, &none.headers, &none.body));
    }

    async fn old_delivery_does_not_verify(harness: Harness) {
        // Signed correctly, with a clock that is ten minutes late.
        harness.seconds(-600);
        let (_, secret) = harness.subscribe("ada", "a").await;
        let _running = harness.run();
        harness.write("ada").await;
        let old = harness.receiver.wait_for("a", 1).await.remove(0);
        assert!(!theirs(&secret, &old.headers, &old.body));
        let sent = Timestamp::from_second(harness.clock.now().as_second()).unwrap();
        for (off, expected) in [(0, Ok(())), (300, Ok(())), (301, NOT_NOW), (-300, Ok(())), (-301, NOT_NOW)] {
            assert_eq!(ours(&secret, &old, sent + SignedDuration::from_secs(off)), expected, "{off}");
        }
        for far in [i64::MIN, i64::MAX, 0, -1] {
            let mut far_off = old.clone();
            far_off.headers.insert("webhook-timestamp", far.into());
            assert_eq!(ours(&secret, &far_off, sent), NOT_NOW, "{far}");
        }
    }

    async fn timestamp_is_not_before_the_token_is_made(harness: Harness) {
        let token_for: webhooks::TokenFor = Arc::new({
            let clock = harness.clock.clone();
            move |_, _| {
                clock.advance(SignedDuration::from_secs(1));
                let token = clock.now().as_second().to_string();
                Box::pin(async { Some(token) })
            }
        });
        let webhooks = harness.with(Settings { token_for: Some(token_for), ..settings() });
        harness.subscribe("ada", "a").await;
        harness.write("ada").await;
        let _running = Running::new(&webhooks);
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        let made_at = got.header("authorization").strip_prefix("Bearer ").unwrap();
        assert_eq!(got.header("webhook-timestamp"), made_at);
    }

    async fn token_is_made_for_the_owner_and_the_url(harness: Harness) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let token_for: webhooks::TokenFor = Arc::new({
            let asked = asked.clone();
            move |owner, url| {
                let token = (owner == "ada").then(|| format!("for-{owner}"));
                asked.lock().unwrap().push((owner, url));
                Box::pin(async { token })
            }
        });
        let webhooks = harness.with(Settings { token_for: Some(token_for), ..settings() });
        // A slash at the end makes no difference.
        let url = format!("{}/", harness.receiver.url("a")).parse().unwrap();
        let (subscription, _) = webhooks.subscribe("ada", &url).await.unwrap();
        harness.subscribe("bob", "b").await;
        harness.write("ada").await;
        harness.write("bob").await;
        let _running = Running::new(&webhooks);
        let got = harness.receiver.wait_for("a", 1).await.remove(0);
        assert_eq!((got.path.as_str(), got.header("authorization")), ("/a/newBooking", "Bearer for-ada"));
        assert_eq!(harness.receiver.wait_for("b", 1).await[0].header("authorization"), "");
        let mut asked = asked.lock().unwrap().clone();
        asked.sort();
        let b = harness.receiver.url("b").to_string();
        assert_eq!(asked, [("ada".to_owned(), subscription.url), ("bob".to_owned(), b)]);
    }
}
