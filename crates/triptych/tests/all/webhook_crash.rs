//! Kills the train service while it delivers bookings to a subscriber. At each kill some bookings are not sent, and some are sent
//! without a stored result. In the end each booking is delivered, by one event, and nothing else is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::common::Workspace;
use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::{ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use testkit::{Client, Engine, Program, parameter};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinSet,
};

/// How often a process is killed; `make long-test` has more.
const KILLS: usize = 3;
/// How many book at the same time, and how many bookings are made before each kill at the least: more than
/// three processes can be sending at once, at four each.
const CLERKS: usize = 8;
const BOOKINGS: usize = 16;
/// Another process repeats the deliveries of a killed one when their lease expires. A subscriber can take a quarter of it to answer.
const LEASE_SECONDS: &str = "20";
/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(180);

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("it takes too long: {what}"))
}

/// One sending of an event.
#[derive(Debug, Clone, PartialEq)]
struct Delivery {
    event: String,
    booking: String,
    body: Bytes,
    /// The address of the process that sent it, which its token names.
    sender: String,
}

impl Delivery {
    fn read(headers: &HeaderMap, body: Bytes) -> Self {
        let header = |name: &str| headers[name].to_str().unwrap();
        let claims = header("authorization").split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        let booking = text(&serde_json::from_slice(&body).unwrap(), "id");
        Delivery { event: header("webhook-id").to_owned(), booking, body, sender: text(&claims, "iss") }
    }
}

/// What the subscriber has seen.
#[derive(Default)]
struct Seen {
    received: Vec<Delivery>,
    /// Those whose sender waits for an answer.
    unanswered: Vec<Delivery>,
    /// The bookings whose events were answered.
    delivered: BTreeSet<String>,
    /// Events that came while they were being answered already.
    twice_at_once: Vec<String>,
}

impl Seen {
    fn unanswered_of(&self, sender: &str) -> Vec<String> {
        let of_sender = self.unanswered.iter().filter(|delivery| delivery.sender == sender);
        of_sender.map(|delivery| delivery.event.clone()).collect()
    }

    fn bookings_received(&self) -> BTreeSet<String> {
        self.received.iter().map(|delivery| delivery.booking.clone()).collect()
    }
}

/// A subscriber that answers while it is open, and delays all deliveries until then.
struct Subscriber {
    open: watch::Sender<bool>,
    seen: watch::Sender<Seen>,
}

impl Subscriber {
    fn take_in(&self, delivery: Delivery) -> Unanswered<'_> {
        self.seen.send_modify(|seen| {
            if seen.unanswered.iter().any(|other| other.event == delivery.event) {
                seen.twice_at_once.push(delivery.event.clone());
            }
            seen.received.push(delivery.clone());
            seen.unanswered.push(delivery.clone());
        });
        Unanswered(self, delivery)
    }

    async fn wait_until(&self, what: &str, enough: impl FnMut(&Seen) -> bool) {
        in_time(what, self.seen.subscribe().wait_for(enough)).await.unwrap();
    }
}

/// A delivery that waits for its answer, until this is dropped: after the answer, or when the sender disconnects.
struct Unanswered<'s>(&'s Subscriber, Delivery);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.seen.send_modify(|seen| {
            let at = seen.unanswered.iter().position(|delivery| *delivery == self.1);
            seen.unanswered.swap_remove(at.unwrap());
        });
    }
}

async fn receive(State(subscriber): State<Arc<Subscriber>>, headers: HeaderMap, body: Bytes) {
    let delivery = subscriber.take_in(Delivery::read(&headers, body));
    subscriber.open.subscribe().wait_for(|open| *open).await.unwrap();
    subscriber.seen.send_modify(|seen| _ = seen.delivered.insert(delivery.1.booking.clone()));
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

/// The demo's user at one of the processes.
#[derive(Clone)]
struct Clerk {
    train: Client,
    token: String,
}

/// Starts a process. Each has another address, and accepts only tokens for it.
fn start(workspace: &Workspace) -> (Program, Clerk) {
    let mut serving = workspace.serving_train();
    let program = Program::start(serving.env("TRIPTYCH_TRAIN_WEBHOOK_LEASE_SECONDS", LEASE_SECONDS));
    let clerk = Clerk { train: Client::new(program.address("train")), token: workspace.train_token() };
    (program, clerk)
}

impl Clerk {
    async fn get(&self, path: &str) -> Value {
        self.train.get(path).header("authorization", &self.token).send().await.has_status(200).json()
    }

    /// A trip from Berlin to Paris in this number of days.
    async fn trip(&self, days: usize) -> String {
        let today = TimeZone::UTC.to_datetime(web::Clock::system().now()).date();
        let day = today + i64::try_from(days).unwrap().days();
        let path = format!(
            "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e\
             &destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date={day}"
        );
        text(&self.get(&path).await["data"][0], "id")
    }

    /// Books one seat after another until the service is killed.
    async fn book_until_it_breaks(self, trip: String, acknowledged: mpsc::UnboundedSender<Value>) {
        let booking = json!({"trip_id": trip, "passenger_name": "Ada"});
        let book = || self.train.post("/bookings").header("authorization", &self.token).json(&booking);
        while let Ok(answer) = book().try_send().await {
            acknowledged.send(answer.has_status(201).json()).unwrap();
        }
    }

    /// Every booking that there is.
    async fn bookings(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for page in 1.. {
            let page = self.get(&format!("/bookings?limit=100&page={page}")).await;
            found.extend(page["data"].as_array().unwrap().iter().map(|booking| text(booking, "id")));
            if page["links"].get("next").is_none() {
                break;
            }
        }
        found
    }
}

testkit::on_both_engines! {
    async fn every_booking_is_delivered_by_one_event_despite_kills(workspace: Workspace) {
        let (open, seen) = (watch::Sender::new(true), watch::Sender::default());
        let subscriber = Arc::new(Subscriber { open, seen });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let body = json!({"url": format!("http://{}", listener.local_addr().unwrap())});
        let router = Router::new().route("/newBooking", post(receive)).with_state(subscriber.clone());
        tokio::spawn(async { axum::serve(listener, router).await });

        // Several processes share a PostgreSQL; another process repeats what a killed one left.
        let count = if workspace.store.engine() == Engine::Postgres { 3 } else { 1 };
        let mut processes: Vec<_> = (0..count).map(|_| start(&workspace)).collect();
        let (_, Clerk { train, token }) = &processes[0];
        train.post("/webhooks").header("authorization", token).json(&body).send().await.has_status(201);

        let (mut acknowledged, mut cut_off) = (Vec::new(), Vec::new());
        for kill in 0..parameter("TORTURE_KILLS", KILLS) {
            subscriber.open.send_replace(false);
            let (program, clerk) = processes.remove(0);
            let address = format!("http://{}", clerk.train.address());
            let trip = clerk.trip(7 + kill).await;
            let (sender, mut made) = mpsc::unbounded_channel();
            let mut clerks = JoinSet::new();
            for _ in 0..CLERKS {
                clerks.spawn(clerk.clone().book_until_it_breaks(trip.clone(), sender.clone()));
            }
            drop(sender);
            let mut new = Vec::new();
            while new.len() < BOOKINGS {
                new.push(in_time("they book", made.recv()).await.unwrap());
            }
            subscriber.wait_until("it delivers", |seen| !seen.unanswered_of(&address).is_empty()).await;
            // Some are sent and not written down, and more are made than can be on their way.
            let sent = subscriber.seen.borrow().unanswered_of(&address);
            program.kill();
            in_time("the clerks notice", clerks.join_all()).await;
            while let Some(booking) = made.recv().await {
                new.push(booking);
            }
            // The killed process cannot store a response any more.
            subscriber.wait_until("it hangs up", |seen| seen.unanswered_of(&address).is_empty()).await;
            let received = subscriber.seen.borrow().bookings_received();
            assert!(new.iter().any(|booking| !received.contains(&text(booking, "id"))), "some are not sent");
            cut_off.extend(sent);
            acknowledged.extend(new);
            subscriber.open.send_replace(true);
            processes.push(start(&workspace));
        }

        let listed = processes[0].1.bookings().await;
        subscriber.wait_until("every booking is delivered", |seen| listed.is_subset(&seen.delivered)).await;
        let seen = subscriber.seen.borrow();
        assert_eq!(seen.bookings_received(), listed);
        assert_eq!(seen.twice_at_once, Vec::<String>::new());
        let (mut delivered, mut times) = (BTreeMap::new(), BTreeMap::new());
        for Delivery { event, booking, body, .. } in &seen.received {
            let first = *delivered.entry(booking).or_insert((event, body));
            assert_eq!(first, (event, body), "it is the same each time");
            *times.entry(event).or_insert(0) += 1;
        }
        assert_eq!(times.len(), listed.len(), "each booking has an event of its own");
        for booking in &acknowledged {
            let (_, body) = delivered.get(&text(booking, "id")).expect("what was acknowledged is there");
            assert_eq!(serde_json::from_slice::<Value>(body).unwrap(), *booking);
        }
        for event in &cut_off {
            assert!(times[event] > 1, "{event} was sent by a killed process, and was not repeated");
        }
    }
}
