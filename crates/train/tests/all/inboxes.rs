//! Inboxes: they receive webhooks and show them to their owner, within limits.

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::{Answer, Engine, Fixture, Store};
use tokio::task::JoinHandle;

use crate::fixture::{ADDRESS, NOTHING, Open, Setup, TRIP, text};

const GONE: &str = "There is no inbox with this id, or it has expired.";

impl Open {
    async fn inbox(&self) -> Value {
        self.ada.post("/inboxes").send().await.has_status(201).json()
    }

    /// Sends a message over HTTP, as any sender does.
    async fn message(&self, inbox: &Value, body: impl Into<String>) -> Answer {
        let call = self.anyone.post(&format!("{}/newBooking", path(inbox))).header("webhook-id", "msg_1");
        call.header("authorization", "Bearer secret")
            .header("cookie", "a=b")
            .body("text/plain", body.into())
            .send()
            .await
    }

    /// The messages of an inbox, when there are so many.
    async fn messages(&self, inbox: &Value, count: usize) -> Vec<Value> {
        for _ in 0..10_000 {
            let found = self.ada.get(&path(inbox)).send().await.has_status(200).json();
            let messages = found["messages"].as_array().unwrap();
            if messages.len() == count {
                return messages.clone();
            }
        }
        panic!("{count} messages did not arrive");
    }
}

fn path(inbox: &Value) -> String {
    format!("/inboxes/{}", text(inbox, "id"))
}

/// The service outside of a demo, which sends webhooks.
struct Sending {
    open: Open,
    running: JoinHandle<()>,
}

impl Fixture for Sending {
    async fn start(engine: Engine) -> Self {
        let open = Open::on(Store::new(engine), Setup::default()).await;
        let running = tokio::spawn(open.train.clone().run(std::future::pending()));
        Sending { open, running }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.running.abort();
    }
}

testkit::on_both_engines! {
    async fn event_arrives_at_an_inbox_with_its_signature(sending: Sending) {
        let open = &sending.open;
        let inbox = open.inbox().await;
        let webhook = open.ada.post("/webhooks").json(&json!({"url": inbox["url"]})).send().await;
        let webhook = webhook.has_status(201).json();
        let booked = open.ada.hold(TRIP).await;
        let message = &open.messages(&inbox, 1).await[0];
        assert_eq!(message["number"], 1);
        let body = text(message, "body");
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), booked);
        let header = |name: &str| {
            let headers = message["headers"].as_array().unwrap();
            let found = headers.iter().find(|header| header["name"] == name);
            text(found.unwrap_or_else(|| panic!("no {name}: {message}")), "value").to_owned()
        };
        assert_eq!(header("authorization"), "Bearer …");
        let secret = webhooks::Secret::parse(text(&webhook, "secret")).unwrap();
        let (id, time, signature) =
            (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
        secret.verify(&id, &time, &signature, body.as_bytes(), open.clock.now()).unwrap();

        // An inbox that was deleted answers 410, which disables the subscription.
        open.ada.delete(&path(&inbox)).send().await.has_status(204);
        open.ada.hold(TRIP).await;
        let webhook = format!("/webhooks/{}", text(&webhook, "id"));
        for _ in 0..10_000 {
            let found = open.ada.get(&webhook).send().await.has_status(200).json();
            if found["status"] == "disabled" {
                assert_eq!(found["disabled_because"], "gone");
                return;
            }
        }
        panic!("the subscription is not disabled");
    }

    async fn only_inboxes_of_the_service_are_exempt_from_the_check_of_destinations(open: Open) {
        for url in [
            "http://trains.example/inboxes/019e0000-0000-7000-8000-000000000000",
            "https://localhost/inboxes/019e0000-0000-7000-8000-000000000000",
        ] {
            let answer = open.ada.post("/webhooks").json(&json!({"url": url})).send().await;
            assert_eq!(answer.status, 400, "{url}");
        }
    }

    async fn inbox_is_visible_only_to_its_owner(open: Open) {
        let answer = open.ada.post("/inboxes").send().await;
        let inbox = answer.has_status(201).json();
        let url = format!("{ADDRESS}{}", path(&inbox));
        assert_eq!(answer.header("location"), url);
        let mut expected = json!({
            "id": inbox["id"], "url": url, "expires_at": "2026-05-13T11:00:00Z", "links": {"self": url},
        });
        assert_eq!(inbox, expected);
        let list = json!({"data": [expected], "links": {"self": format!("{ADDRESS}/inboxes")}});
        open.ada.get("/inboxes").send().await.is(200, &list);
        expected["messages"] = json!([]);
        open.ada.get(&path(&inbox)).send().await.is(200, &expected);
        let nothing = json!({"data": [], "links": {"self": format!("{ADDRESS}/inboxes")}});
        open.ben.get("/inboxes").send().await.is(200, &nothing);
        for method in [Method::GET, Method::DELETE] {
            let answer = open.ben.call(method, &path(&inbox)).send().await;
            assert_eq!(answer.is_problem(404, "not-found"), GONE);
        }
    }

    async fn inbox_keeps_the_last_messages_and_no_secrets(open: Open) {
        let inbox = open.inbox().await;
        for number in 1..=22 {
            open.message(&inbox, format!("message {number}\0")).await.has_status(204);
        }
        let messages = open.messages(&inbox, 20).await;
        assert_eq!((&messages[0]["number"], &messages[19]["number"]), (&json!(22), &json!(3)));
        assert_eq!(
            messages[0],
            json!({
                "number": 22, "received_at": "2026-05-13T10:00:00Z", "body": "message 22\u{fffd}",
                "headers": [
                    {"name": "content-type", "value": "text/plain"},
                    {"name": "authorization", "value": "Bearer …"},
                    {"name": "webhook-id", "value": "msg_1"},
                ],
            })
        );
        open.message(&inbox, "x".repeat(32 * 1024)).await.has_status(204);
        let refused = open.message(&inbox, "x".repeat(32 * 1024 + 1)).await;
        assert_eq!(refused.is_problem(413, "too-large"), "The body must be at most 32768 bytes long.");
        let full = open.db.write(|tx| tx.execute("UPDATE inbox SET received = 1000", &[]));
        full.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        let refused = open.message(&inbox, "x").await;
        assert_eq!(
            refused.is_problem(429, "too-many-requests"),
            "The inbox has received 1000 messages, the maximum."
        );
        assert_eq!(refused.header("retry-after"), "3600");
    }

    async fn message_needs_an_inbox_and_the_method_post(open: Open) {
        let unknown = open.anyone.post(&format!("/inboxes/{NOTHING}/newBooking")).body("text/plain", "x");
        assert_eq!(unknown.send().await.is_problem(410, "inbox-gone"), GONE);
        open.anyone.post("/inboxes/1/newBooking").body("text/plain", "x").send().await.is_problem(400, "invalid-request");
        let inbox = open.inbox().await;
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = open.anyone.call(method, &format!("{}/newBooking", path(&inbox))).send().await;
            answer.is_problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), "POST");
        }
        open.anyone.post(&format!("{}/other", path(&inbox))).send().await.is_problem(404, "not-found");
        assert_eq!(open.messages(&inbox, 0).await, Vec::<Value>::new());
    }

    async fn inbox_expires_after_an_hour_with_its_messages(open: Open) {
        let inbox = open.inbox().await;
        open.message(&inbox, "x").await.has_status(204);
        open.advance(SignedDuration::from_mins(60)).await;
        assert_eq!(open.message(&inbox, "x").await.is_problem(410, "inbox-gone"), GONE);
        open.ada.get(&path(&inbox)).send().await.is_problem(404, "not-found");
        assert_eq!((open.rows("inbox").await.len(), open.rows("inbox_message").await.len()), (1, 1));
        open.do_due_work().await;
        assert_eq!((open.rows("inbox").await.len(), open.rows("inbox_message").await.len()), (0, 0));
    }

    async fn caller_has_a_limited_number_of_inboxes(open: Open) {
        for _ in 0..20 {
            open.inbox().await;
        }
        let refused = open.ada.post("/inboxes").send().await.is_problem(409, "conflict");
        assert_eq!(
            refused,
            "The caller has 20 inboxes, the maximum. Delete one, or wait until one expires."
        );
        open.ben.post("/inboxes").send().await.has_status(201);
        open.advance(SignedDuration::from_mins(60)).await;
        open.inbox().await;
    }
}
