//! The calls of half an hour, again and again.

use std::collections::VecDeque;

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use testkit::{Call, Client, receiver::Receiver, sign_in};

use super::{STEP, live::Live};
use crate::{
    installation::{Installation, Service, basic},
    load::{MANY_SEATS, card, text},
};

/// There is a new sandbox every two hours: on PostgreSQL it takes longer than all other calls of a step.
const STEPS_PER_SANDBOX: usize = 4;
/// How many sandboxes are there at a time. Their names are used again: the registry keeps those of deleted sandboxes for two days
/// by the clock of the machine.
const SANDBOXES: usize = 2;
const FORM: &str = "application/x-www-form-urlencoded";

pub(super) struct Steady {
    clients: [Client; 3],
    operator: String,
    receiver: Receiver,
    /// The subscription that stays.
    subscription: String,
    random: StdRng,
    number: usize,
    /// The names and control tokens of the sandboxes that are there.
    open: VecDeque<(String, String)>,
    /// How many sandboxes were created.
    pub(super) sandboxes: usize,
    pub(super) live: Live,
}

/// Tokens of the demo user.
struct Tokens {
    authorization: String,
    access: String,
    refresh: String,
}

impl Steady {
    pub(super) async fn start(installation: &Installation, random: StdRng) -> Self {
        let clients = installation.clients();
        let operator = format!("Bearer {}", installation.printed(&["sandbox", "token"]).trim_end());
        let receiver = Receiver::start().await;
        let mut steady = Steady {
            clients,
            operator,
            receiver,
            subscription: String::new(),
            random,
            number: 0,
            open: VecDeque::new(),
            sandboxes: 0,
            live: Live::default(),
        };
        let tokens = steady.sign_in(Service::Train, "read+write").await;
        let url = steady.receiver.url("day").to_string();
        let subscribe = steady.client(Service::Train).post("/webhooks").json(&json!({"url": url}));
        let subscribed = tokens.on(subscribe).send().await.has_status(201).json();
        steady.subscription = text(&subscribed["id"]);
        for service in ["petstore", "train"] {
            steady.live.add(service, "signing_key", 2);
        }
        steady
    }

    pub(super) async fn step(&mut self) {
        self.pets_and_orders().await;
        self.users().await;
        self.bookings().await;
        self.museum().await;
        if self.number.is_multiple_of(STEPS_PER_SANDBOX) {
            self.sandbox().await;
        }
        self.number += 1;
        self.advance(STEP.into()).await;
    }

    /// Moves the clock of the services.
    pub(super) async fn advance(&mut self, minutes: i64) {
        let clock =
            self.client(Service::Petstore).patch("/_control/clock").header("authorization", &self.operator);
        clock.json(&json!({"advance": format!("{minutes}m")})).send().await.has_status(200);
        self.live.now += minutes;
    }

    fn client(&self, service: Service) -> &Client {
        &self.clients[service as usize]
    }

    /// Signs in on the pages, as a browser does, and gets tokens that can be refreshed.
    async fn sign_in(&mut self, service: Service, scope: &str) -> Tokens {
        let tokens = sign_in::tokens(self.client(service), "", scope, "demo", "demo").await;
        for table in ["session", "oauth_grant", "oauth_code", "oauth_refresh_token"] {
            self.live.add(service.name(), table, 1);
        }
        Tokens::read(&tokens)
    }

    /// Uses the refresh token, and revokes the access token.
    async fn sign_out(&mut self, service: Service, tokens: &Tokens) {
        let client = self.client(service);
        let form = format!("grant_type=refresh_token&client_id=demo&refresh_token={}", tokens.refresh);
        let refreshed = client.post("/oauth/token").body(FORM, form).send().await.has_status(200).json();
        for token in [&tokens.access, &Tokens::read(&refreshed).access] {
            let form = format!("client_id=demo&token={token}");
            client.post("/oauth/revoke").body(FORM, form).send().await.has_status(200);
        }
        self.live.add(service.name(), "oauth_revoked_token", 2);
    }

    async fn pets_and_orders(&mut self) {
        let tokens = self.sign_in(Service::Petstore, "read%3Apets+write%3Apets").await;
        let petstore = self.client(Service::Petstore);
        for number in 0..4 {
            let pet = json!({"name": format!("Pet {number}"), "photoUrls": [], "status": "available",
                "tags": [{"id": 1, "name": "daily"}]});
            let pet = tokens.on(petstore.post("/v3/pet")).json(&pet).send().await.has_status(200).json();
            let path = format!("/v3/pet/{}", pet["id"]);
            let image = tokens.on(petstore.post(&format!("{path}/uploadImage")));
            image.body("application/octet-stream", vec![7; 2000]).send().await.has_status(200);
            tokens.on(petstore.post(&format!("{path}?status=sold"))).send().await.has_status(200);
            let order = petstore.post("/v3/store/order").json(&json!({"petId": pet["id"], "quantity": 1}));
            let order = order.send().await.has_status(200).json();
            let path_of_order = format!("/v3/store/order/{}", order["id"]);
            tokens.on(petstore.delete(&path_of_order)).send().await.has_status(200);
            tokens.on(petstore.delete(&path)).send().await.has_status(200);
        }
        self.sign_out(Service::Petstore, &tokens).await;
    }

    /// A user who is deleted, and two sessions of one who stays. One of these ends by itself.
    async fn users(&mut self) {
        let name = format!("daily-{}", self.number);
        let petstore = self.client(Service::Petstore);
        let user = json!([{"username": name, "firstName": "Ada", "password": "12345"}]);
        petstore.post("/v3/user/createWithList").json(&user).send().await.has_status(200);
        let log_in = async |name: &str, password: &str| {
            let path = format!("/v3/user/login?username={name}&password={password}");
            let session = petstore.get(&path).send().await.has_status(200).json();
            format!("Bearer {}", session.as_str().unwrap_or_default())
        };
        let session = log_in(&name, "12345").await;
        let deleted = petstore.delete(&format!("/v3/user/{name}")).header("authorization", &session);
        deleted.send().await.has_status(200);
        log_in("demo", "demo").await;
        let session = log_in("demo", "demo").await;
        petstore.get("/v3/user/logout").header("authorization", &session).send().await.has_status(200);
        self.live.add("petstore", "session", 1);
        // The address of the new user, and the meters of a try.
        self.live.add("petstore", "sign_in_throttle", 1);
        self.live.add("petstore", "call_quota", 1);
    }

    /// Bookings that are paid, declined, pending, cancelled and left to expire, and their webhooks.
    async fn bookings(&mut self) {
        let tokens = self.sign_in(Service::Train, "read+write").await;
        let train = self.client(Service::Train).clone();
        let inbox = tokens.on(train.post("/inboxes")).send().await.has_status(201).json();
        let subscribe = tokens.on(train.post("/webhooks")).json(&json!({"url": inbox["url"]}));
        let subscription = text(&subscribe.send().await.has_status(201).json()["id"]);
        let trip = self.trip(&tokens).await;
        let arrived = self.receiver.count("day");
        for (which, number) in
            ["4242424242424242", "4000000000000002", "4000000000000077", ""].iter().enumerate()
        {
            let key = format!("{}-{which}", self.number);
            let body = json!({"trip_id": trip, "passenger_name": format!("Passenger {key}")});
            let book = tokens.on(train.post("/bookings")).header("idempotency-key", &format!("book {key}"));
            let booking = book.json(&body).send().await.has_status(201).json();
            let path = format!("/bookings/{}", text(&booking["id"]));
            self.live.add("train", "booking", 1);
            self.live.add("train", "idempotency", 1);
            if number.is_empty() {
                continue;
            }
            let pay = tokens
                .on(train.post(&format!("{path}/payment")))
                .header("idempotency-key", &format!("pay {key}"));
            pay.json(&json!({"source": card(number)})).send().await.has_status(200);
            for table in ["payment", "sandbox_charge", "idempotency"] {
                self.live.add("train", table, 1);
            }
            if which == 1 {
                tokens.on(train.delete(&path)).send().await.has_status(204);
            }
        }
        self.live.add("train", "trip_seats", 1);
        let test = format!("/webhooks/{}/test", self.subscription);
        tokens.on(train.post(&test)).send().await.has_status(202);
        self.receiver.wait_for("day", arrived + 5).await;
        // The subscription to the inbox may be deleted before all its events have arrived.
        self.live.add("train", "inbox", 1);
        self.live.add("train", "inbox_message", 4);
        self.live.add("train", "webhook_event", 5);
        self.live.add("train", "webhook_attempt", 5);
        self.live.add("train", "webhook_delivery", 9);
        if self.number.is_multiple_of(12) {
            let path = format!("/webhooks/{}/secret", self.subscription);
            tokens.on(train.post(&path)).send().await.has_status(200);
            self.live.add("train", "webhook_old_secret", 1);
        }
        tokens.on(train.delete(&format!("/webhooks/{subscription}"))).send().await.has_status(204);
        self.sign_out(Service::Train, &tokens).await;
    }

    /// A trip with free seats in the weeks to come.
    async fn trip(&mut self, tokens: &Tokens) -> String {
        let train = self.client(Service::Train).clone();
        let clock = train.get("/_control/clock").header("authorization", &self.operator).send().await;
        let now: Timestamp = text(&clock.has_status(200).json()["time"]).parse().expect("a time");
        let date = now.to_zoned(TimeZone::UTC).date() + self.random.random_range(10..60).days();
        let (origin, destination) = MANY_SEATS[0];
        let path = format!("/trips?origin={origin}&destination={destination}&date={date}&limit=100");
        let found = tokens.on(train.get(&path)).send().await.has_status(200).json();
        let trips = found["data"].as_array().cloned().unwrap_or_default();
        text(&trips[self.random.random_range(0..trips.len())]["id"])
    }

    async fn museum(&mut self) {
        let museum = self.client(Service::Museum);
        let demo = basic("demo", "demo");
        let on = |call: Call| call.header("authorization", &demo);
        let event = json!({"name": "Daily", "location": "Print room", "eventDescription": "Before.",
            "dates": ["2099-06-05"], "price": 1});
        let event = on(museum.post("/v1.1/special-events")).json(&event).send().await.has_status(201).json();
        let path = format!("/v1.1/special-events/{}", text(&event["eventId"]));
        let changed = on(museum.patch(&path)).json(&json!({"dates": ["2099-06-12", "2099-06-19"]}));
        changed.send().await.has_status(200);
        let ticket = json!({"ticketType": "general", "ticketDate": "2099-07-15", "email": "ada@example.com"});
        let ticket = on(museum.post("/v1.1/tickets")).json(&ticket).send().await.has_status(201).json();
        let path_of_ticket = format!("/v1.1/tickets/{}", text(&ticket["ticketId"]));
        on(museum.get(&format!("{path_of_ticket}/qr"))).send().await.has_status(200);
        on(museum.get(&format!("{path_of_ticket}/pkpass"))).send().await.has_status(200);
        on(museum.delete(&path)).send().await.has_status(204);
        self.live.add("museum", "ticket", 1);
    }

    /// A new sandbox, which is used, saved, reset, and deleted some steps later.
    async fn sandbox(&mut self) {
        if self.open.len() == SANDBOXES {
            self.delete_sandbox().await;
        }
        let name = format!("day-{}", self.sandboxes % (SANDBOXES + 1));
        let petstore = self.client(Service::Petstore);
        let created = petstore.post("/sandboxes").json(&json!({"name": name})).send().await;
        let token = format!("Bearer {}", text(&created.has_status(201).json()["control_token"]));
        let prefix = format!("/sandbox/{name}");
        let control = |call: Call| call.header("authorization", &token);
        let at = |path: &str| format!("{prefix}/_control/{path}");
        control(petstore.put(&at("sign-in"))).json(&json!({"mode": "off"})).send().await.has_status(200);
        let pet = json!({"name": "Pet", "photoUrls": []});
        petstore.post(&format!("{prefix}/v3/pet")).json(&pet).send().await.has_status(200);
        let hours = format!("{prefix}/v1.1/museum-hours");
        self.client(Service::Museum).get(&hours).send().await.has_status(200);
        let stations = format!("{prefix}/stations");
        self.client(Service::Train).get(&stations).send().await.has_status(200);
        let saved = control(petstore.post(&at("snapshots"))).json(&json!({"name": "saved"}));
        saved.send().await.has_status(201);
        control(petstore.patch(&at("clock"))).json(&json!({"advance": "2h"})).send().await.has_status(200);
        control(petstore.post(&at("reset"))).send().await.has_status(204);
        self.open.push_back((prefix, token));
        if self.sandboxes <= SANDBOXES {
            // A name for the first time.
            self.live.add("sandbox", "sandbox", 1);
        }
        self.sandboxes += 1;
    }

    async fn delete_sandbox(&mut self) {
        let Some((prefix, token)) = self.open.pop_front() else { return };
        let delete = self.client(Service::Petstore).delete(&format!("{prefix}/_control"));
        delete.header("authorization", &token).send().await.has_status(204);
    }

    pub(super) async fn delete_sandboxes(&mut self) {
        while !self.open.is_empty() {
            self.delete_sandbox().await;
        }
    }
}

impl Tokens {
    fn read(answer: &Value) -> Self {
        let (access, refresh) = (text(&answer["access_token"]), text(&answer["refresh_token"]));
        Tokens { authorization: format!("Bearer {access}"), access, refresh }
    }

    fn on(&self, call: Call) -> Call {
        call.header("authorization", &self.authorization)
    }
}
