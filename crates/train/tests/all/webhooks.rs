//! Webhooks: subscriptions to new bookings, and their deliveries.

use axum::{
    Extension, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    routing::post,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde_json::{Value, json};
use testkit::{Engine, Fixture, Server, Store, receiver::TIMEOUT};
use tokio::{sync::mpsc, task::JoinHandle};
use uuid::Uuid;
use web::ConnectionLimits;

use crate::fixture::{ADDRESS, GOOD, NOTHING, Open, Setup, TRIP, booking, card, text};

/// A message as a subscriber gets it: its path, headers and body.
type Message = (String, HeaderMap, Bytes);

/// The service in a demo, which may send to this machine, and a subscriber.
struct Told {
    open: Open,
    url: String,
    messages: mpsc::UnboundedReceiver<Message>,
    running: JoinHandle<()>,
    _subscriber: Server,
}

impl Fixture for Told {
    async fn start(engine: Engine) -> Self {
        let open = Open::on(Store::new(engine), Setup { demo: true, ..Setup::default() }).await;
        let (sender, messages) = mpsc::unbounded_channel();
        let router = Router::new().route("/hooks/{*path}", post(receive)).with_state(sender);
        let subscriber = Server::start(ConnectionLimits::default(), |_| router).await;
        let url = format!("http://{}/hooks", subscriber.address());
        let running = tokio::spawn(open.train.clone().run(std::future::pending()));
        Told { open, url, messages, running, _subscriber: subscriber }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn receive(
    State(sender): State<mpsc::UnboundedSender<Message>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Extension<web::KeepBody>) {
    let path = uri.path().to_owned();
    let status = if path.starts_with("/hooks/gone/") { StatusCode::GONE } else { StatusCode::OK };
    let _ = sender.send((path, headers, body));
    (status, Extension(web::KeepBody))
}

impl Told {
    /// Subscribes a person; the answer has the secret.
    async fn subscribe(&self) -> Value {
        let body = json!({"url": self.url});
        self.open.ada.post("/webhooks").json(&body).send().await.has_status(201).json()
    }

    async fn next(&mut self) -> Message {
        tokio::time::timeout(TIMEOUT, self.messages.recv()).await.expect("something is told").unwrap()
    }

    /// The subscription when it has this number of deliveries: an attempt is recorded a moment after it was sent.
    async fn with_deliveries(&self, id: &str, count: usize) -> Value {
        for _ in 0..10_000 {
            let found = self.open.ada.get(&format!("/webhooks/{id}")).send().await.has_status(200).json();
            if found["deliveries"].as_array().unwrap().len() == count {
                return found;
            }
        }
        panic!("{count} deliveries are not written down");
    }
}

fn header<'m>(message: &'m Message, name: &str) -> &'m str {
    message.1.get(name).map_or("", |value| value.to_str().unwrap())
}

testkit::on_both_engines! {
    async fn new_booking_is_delivered_to_its_owner(told: Told) {
        let mut told = told;
        let subscribed = told.subscribe().await;
        let secret = webhooks::Secret::parse(text(&subscribed, "secret")).unwrap();
        let body = json!({"url": format!("{}/of-ben", told.url)});
        told.open.ben.post("/webhooks").json(&body).send().await.has_status(201);
        let made = told.open.ada.hold(TRIP).await;
        let message = told.next().await;
        assert_eq!(message.0, "/hooks/newBooking");
        assert_eq!(header(&message, "content-type"), "application/json");
        assert_eq!(serde_json::from_slice::<Value>(&message.2).unwrap(), made);
        let id = header(&message, "webhook-id").to_owned();
        let event: Uuid = id.strip_prefix("msg_").unwrap().parse().unwrap();
        assert_ne!(json!(event), made["id"], "the event has an id of its own");
        let (time, signature) = (header(&message, "webhook-timestamp"), header(&message, "webhook-signature"));
        secret.verify(&id, time, signature, &message.2, told.open.clock.now()).unwrap();

        // The token is for the subscriber and signed by a published key; the service itself rejects it.
        let token = header(&message, "authorization").strip_prefix("Bearer ").unwrap();
        let keys: JwkSet =
            serde_json::from_value(told.open.anyone.get("/oauth/jwks.json").send().await.json()).unwrap();
        let kid = jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
        let key = DecodingKey::from_jwk(keys.find(&kid).unwrap()).unwrap();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_audience(&[&told.url]);
        validation.set_issuer(&[ADDRESS]);
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<Value>(token, &key, &validation).unwrap().claims;
        assert_eq!(claims["sub"], told.open.ada.account.to_string());
        assert_eq!(claims["scope"], "read");
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 300);
        let call = told.open.anyone.get("/stations").header("authorization", &format!("Bearer {token}"));
        let refused = call.send().await.is_problem(401, "unauthorized");
        assert_eq!(refused, "The access token is for another audience.");

        let found = told.with_deliveries(text(&subscribed, "id"), 1).await;
        let delivery = &found["deliveries"][0];
        assert_eq!((&delivery["event_id"], &delivery["status"]), (&json!(event), &json!(200)));
        assert_eq!(delivery.get("error"), None);
        // The subscriptions of other users did not receive it; their next event is their own.
        told.open.ben.hold(TRIP).await;
        assert_eq!(told.next().await.0, "/hooks/of-ben/newBooking");
    }

    async fn failed_booking_sends_no_event(told: Told) {
        let mut told = told;
        told.subscribe().await;
        told.open.ada.book(&booking(NOTHING)).await.has_status(404);
        let key = |call: testkit::Call| call.header("idempotency-key", "once");
        for _ in 0..2 {
            key(told.open.ada.post("/bookings")).json(&booking(TRIP)).send().await.has_status(201);
        }
        let first = told.next().await;
        told.open.ada.hold(TRIP).await;
        let second = told.next().await;
        assert_ne!(header(&first, "webhook-id"), header(&second, "webhook-id"));
        let events = told.open.db.read(|tx| tx.row("SELECT count(*) FROM webhook_event", &[], |row| row.get(0)));
        assert_eq!(events.await.unwrap_or_else(|error: db::Error| panic!("{error}")), Some(2_i64));
    }

    async fn payment_and_cancellation_send_no_event(told: Told) {
        let mut told = told;
        told.subscribe().await;
        let (paid, cancelled) = (told.open.ada.hold(TRIP).await, told.open.ada.hold(TRIP).await);
        for _ in 0..2 {
            told.next().await;
        }
        told.open.ada.pay(&paid, &card("4000000000000002")).await.has_status(200);
        told.open.ada.pay(&paid, &card(GOOD)).await.has_status(200);
        for made in [&paid, &cancelled] {
            told.open.ada.cancel(made).await.has_status(204);
        }
        // The next event is the next booking's, and there is no other.
        let last = told.open.ada.hold(TRIP).await;
        let message = told.next().await;
        assert_eq!(serde_json::from_slice::<Value>(&message.2).unwrap(), last);
        assert_eq!(told.open.rows("webhook_event").await.len(), 3);
    }

    async fn subscription_is_visible_only_to_its_owner(told: Told) {
        let subscribed = told.subscribe().await;
        let id = text(&subscribed, "id").to_owned();
        let path = format!("/webhooks/{id}");
        let links = json!({"self": format!("{ADDRESS}{path}")});
        let shown = json!({"id": id, "url": told.url, "status": "active", "links": links});
        assert!(text(&subscribed, "secret").starts_with("whsec_"));
        let mut with_secret = shown.clone();
        with_secret["secret"] = subscribed["secret"].clone();
        assert_eq!(subscribed, with_secret);
        let (ada, ben) = (&told.open.ada, &told.open.ben);
        let list = json!({"data": [shown], "links": {"self": format!("{ADDRESS}/webhooks")}});
        ada.get("/webhooks").send().await.is(200, &list);
        let mut whole = shown.clone();
        whole["deliveries"] = json!([]);
        ada.get(&path).send().await.is(200, &whole);
        let xml = ada.get(&path).header("accept", "application/xml").send().await;
        assert_eq!(
            xml.has_status(200).text(),
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><webhook><id>{id}</id><url>{}</url><status>active</status>\
                 <deliveries></deliveries><links><self>{ADDRESS}{path}</self></links></webhook>",
                told.url
            )
        );

        let nothing = json!({"data": [], "links": {"self": format!("{ADDRESS}/webhooks")}});
        ben.get("/webhooks").send().await.is(200, &nothing);
        ben.get(&path).send().await.is_problem(404, "not-found");
        ben.delete(&path).send().await.is_problem(404, "not-found");
        for action in ["secret", "test"] {
            ben.post(&format!("{path}/{action}")).send().await.is_problem(404, "not-found");
        }
        let again = json!({"since": "2026-01-01T00:00:00Z"});
        ben.post(&format!("{path}/redeliver")).json(&again).send().await.is_problem(404, "not-found");
        ada.get(&path).send().await.is(200, &whole);
        ada.delete(&path).send().await.has_status(204);
        ada.get(&path).send().await.is_problem(404, "not-found");
    }

    async fn test_events_are_sent_and_events_redelivered(told: Told) {
        let mut told = told;
        let subscribed = told.subscribe().await;
        let path = format!("/webhooks/{}", text(&subscribed, "id"));
        told.open.ada.post(&format!("{path}/test")).send().await.has_status(202);
        let test = told.next().await;
        assert_eq!(test.0, "/hooks/newBooking");
        assert_eq!(serde_json::from_slice::<Value>(&test.2).unwrap()["passenger_name"], "Test Passenger");
        let made = told.open.ada.hold(TRIP).await;
        let first = told.next().await;
        told.with_deliveries(text(&subscribed, "id"), 2).await;
        let redeliver = format!("{path}/redeliver");
        let booking = json!({"event_id": made["id"]});
        told.open.ada.post(&redeliver).json(&booking).send().await.is_problem(404, "not-found");
        let event: Uuid = header(&first, "webhook-id").strip_prefix("msg_").unwrap().parse().unwrap();
        let again = json!({"event_id": event});
        told.open.ada.post(&redeliver).json(&again).send().await.is(200, &json!({"events": 1}));
        let second = told.next().await;
        assert_eq!(header(&second, "webhook-id"), header(&first, "webhook-id"));
        assert_eq!(second.2, first.2);
        // Nothing failed.
        let failed = json!({"since": "2026-01-01T00:00:00Z"});
        told.open.ada.post(&redeliver).json(&failed).send().await.is(200, &json!({"events": 0}));
        // As the subscriber has it, too.
        let again = json!({"event_id": header(&first, "webhook-id")});
        told.open.ada.post(&redeliver).json(&again).send().await.is(200, &json!({"events": 1}));
        assert_eq!(header(&told.next().await, "webhook-id"), header(&first, "webhook-id"));
        let nonsense = told.open.ada.post(&redeliver).json(&json!({"event_id": "msg_1"})).send().await;
        nonsense.is_invalid(&[("#/event_id", "must be the id of an event, as a delivery or the header webhook-id has it")]);
        let unknown = json!({"event_id": NOTHING});
        told.open.ada.post(&redeliver).json(&unknown).send().await.is_problem(404, "not-found");
        for body in [json!({}), json!({"event_id": NOTHING, "since": "2026-01-01T00:00:00Z"})] {
            let answer = told.open.ada.post(&redeliver).json(&body).send().await;
            answer.is_invalid(&[("#/event_id", "must be given, or else since; not both")]);
        }

        // A new secret signs, and for a day the old one too.
        let rotated = told.open.ada.post(&format!("{path}/secret")).send().await.has_status(200).json();
        assert_ne!(rotated["secret"], subscribed["secret"]);
        told.open.ada.hold(TRIP).await;
        let message = told.next().await;
        let (id, time) = (header(&message, "webhook-id"), header(&message, "webhook-timestamp"));
        for secret in [&subscribed["secret"], &rotated["secret"]] {
            let secret = webhooks::Secret::parse(secret.as_str().unwrap()).unwrap();
            let signature = header(&message, "webhook-signature");
            secret.verify(id, time, signature, &message.2, told.open.clock.now()).unwrap();
        }
        for _ in 1..10 {
            told.open.ada.post(&format!("{path}/secret")).send().await.has_status(200);
        }
        let refused = told.open.ada.post(&format!("{path}/secret")).send().await.is_problem(409, "conflict");
        assert_eq!(
            refused,
            "Wait before replacing it again: 10 secrets that were replaced within 24 hours still sign."
        );
    }

    async fn disabled_subscription_is_listed_as_disabled_and_enabled_by_a_test(told: Told) {
        let mut told = told;
        let body = json!({"url": format!("{}/gone", told.url)});
        let made = told.open.ada.post("/webhooks").json(&body).send().await.has_status(201).json();
        let path = format!("/webhooks/{}", text(&made, "id"));
        told.open.ada.hold(TRIP).await;
        told.next().await;
        let found = told.with_deliveries(text(&made, "id"), 1).await;
        assert_eq!((&found["status"], &found["disabled_because"]), (&json!("disabled"), &json!("gone")));
        let delivery = &found["deliveries"][0];
        assert_eq!(
            (&delivery["status"], &delivery["error"]),
            (&json!(410), &json!("answered 410: nothing is sent there any more"))
        );
        told.open.ada.post(&format!("{path}/test")).send().await.has_status(202);
        assert_eq!(told.next().await.0, "/hooks/gone/newBooking");
        told.with_deliveries(text(&made, "id"), 2).await;
    }
}

testkit::on_one_engine! {
    async fn destinations_that_are_not_public_are_rejected(open: Open) {
        const NOT_PUBLIC: &str = "must lead to a public address, not to a private, local or reserved one";
        const HTTPS: &str = "must begin with https://";
        const COMPLETE: &str = "must be a complete address like https://app.example.com/hooks";
        for (url, why) in [
            ("https://127.0.0.1/hooks", NOT_PUBLIC),
            ("https://2130706433/hooks", NOT_PUBLIC),
            ("https://[::1]/hooks", NOT_PUBLIC),
            ("https://[::ffff:10.0.0.1]/hooks", NOT_PUBLIC),
            ("https://169.254.169.254/latest/meta-data", NOT_PUBLIC),
            ("https://localhost/hooks", NOT_PUBLIC),
            ("http://app.example.com/hooks", HTTPS),
            ("ftp://app.example.com/hooks", HTTPS),
            ("https://me:secret@app.example.com/hooks", "must not have a user name or a password"),
            ("https://app.example.com/hooks?x=1", "must not have a query or a fragment"),
            ("app.example.com/hooks", COMPLETE),
            ("https://", COMPLETE),
            (
                &format!("https://app.example.com/{}", "ä".repeat(400)),
                "must be at most 2000 characters long when it is percent-encoded",
            ),
        ] {
            let answer = open.ada.post("/webhooks").json(&json!({"url": url})).send().await;
            answer.is_invalid(&[("#/url", why)]);
        }
        open.ada.post("/webhooks").json(&json!({})).send().await.is_invalid(&[("#/url", "is required")]);
        let xml = "<webhook><url>https://app.example.com/hooks</url></webhook>";
        let made = open.ada.post("/webhooks").body("application/xml", xml).send().await;
        assert_eq!(made.has_status(201).json()["url"], "https://app.example.com/hooks");
        assert_eq!(made.header("cache-control"), "no-store");
        assert_eq!(made.header("location"), format!("{ADDRESS}/webhooks/{}", text(&made.json(), "id")));
        for _ in 1..20 {
            let body = json!({"url": "https://app.example.com/hooks"});
            open.ada.post("/webhooks").json(&body).send().await.has_status(201);
        }
        let body = json!({"url": "https://app.example.com/hooks"});
        open.ada.post("/webhooks").json(&body).send().await.is_problem(409, "conflict");
    }
}
