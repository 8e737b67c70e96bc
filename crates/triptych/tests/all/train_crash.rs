//! SIGKILL while clients compete for seats and pay: each acknowledged booking and payment is there afterwards, each card is
//! charged at most once, and each unfinished payment is settled.

#[path = "../../../train/tests/all/seats/dump.rs"]
mod dump;

use service::Instance;
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::common::Workspace;
use db::{Db, Limits};
use dump::Dump;
use jiff::{SignedDuration, ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use testkit::{Answer, Client, Engine, Program, parameter};
use tokio::{sync::mpsc, task::JoinSet};
use train::Train;
use uuid::Uuid;
use web::{Clock, Random};

/// How often the program is killed; `make long-test` has more.
const KILLS: usize = 4;
const CLIENTS: usize = 32;
/// How long the program may take for what it does at once: less than it waits for others.
const SOON: Duration = Duration::from_secs(30);

/// A request with an Idempotency-Key, and its answer, if there was one.
#[derive(Debug, Clone)]
struct Exchange {
    path: String,
    body: Value,
    key: String,
    answer: Option<(u16, Value)>,
}

/// What a client reports.
#[derive(Debug)]
enum Report {
    Exchange(Exchange),
    /// A booking that a client asked to cancel, and whether that was acknowledged.
    Cancel(Uuid, bool),
}

testkit::on_both_engines! {
    async fn acknowledged_requests_survive_kills_and_the_others_are_settled(workspace: Workspace) {
        let kills = parameter("TORTURE_KILLS", KILLS);
        let (mut exchanges, mut cancels) = (Vec::new(), Vec::new());
        let mut open = Vec::new();
        for number in 0..kills {
            let (program, train) = workspace.serve_train();
            for exchange in open.drain(..) {
                exchanges.push(train.take_up(exchange, workspace.store.engine()).await);
            }
            let answered = exchanges.iter().rev().filter(|exchange: &&Exchange| exchange.answer.is_some());
            for exchange in answered.take(25) {
                assert_eq!(train.send(exchange).await.as_ref(), exchange.answer.as_ref(), "{exchange:?}");
            }
            let (reports, mut received) = mpsc::unbounded_channel();
            let trips = Arc::new(train.trips(number).await);
            let begun = Arc::new(AtomicUsize::new(0));
            let mut clients = JoinSet::new();
            for client in 0..CLIENTS {
                let begun = begun.clone();
                clients.spawn(train.clone().work_until_it_breaks(number * CLIENTS + client, trips.clone(), begun, reports.clone()));
            }
            drop(reports);
            // Enough for every client to be in the middle of something, and never the same.
            let wanted = 40 + (number * 37) % 160;
            let mut keep = |report| match report {
                Report::Exchange(exchange) if exchange.answer.is_none() => open.push(exchange),
                Report::Exchange(exchange) => exchanges.push(exchange),
                Report::Cancel(booking, done) => cancels.push((booking, done)),
            };
            for _ in 0..wanted {
                keep(received.recv().await.expect("the service answers"));
            }
            program.kill();
            while let Some(report) = received.recv().await {
                keep(report);
            }
            while let Some(client) = clients.join_next().await {
                client.unwrap();
            }
        }
        exchanges.extend(open);
        let dump = workspace.settled().await;
        check(&exchanges, &cancels, &dump);
    }
}

impl Workspace {
    /// The train service alone, and a client of it.
    fn serve_train(&self) -> (Program, TrainClient) {
        let program = Program::start(&mut self.serving_train());
        let http = Client::new(program.address("train"));
        (program, TrainClient { http, token: self.train_token() })
    }

    /// The database after two more hours, when everything is settled.
    async fn settled(&self) -> Dump {
        let db = Db::open(self.store.location(), "train", train::MIGRATIONS, Limits::default()).unwrap();
        let clock = Clock::manual(Clock::system().now() + SignedDuration::from_hours(2));
        let instance = Instance::new(db.clone(), clock, Random::system()).at("http://127.0.0.1:1");
        let train = Train::open(train::Settings::default(), instance).await.unwrap();
        train.do_due_work().await.unwrap();
        assert_eq!(Dump::unsettled(&db).await, 0, "a payment is not settled");
        Dump::of(&db).await
    }
}

#[derive(Clone)]
pub(crate) struct TrainClient {
    pub(crate) http: Client,
    pub(crate) token: String,
}

impl TrainClient {
    async fn send(&self, exchange: &Exchange) -> Option<(u16, Value)> {
        let call = self.http.post(&exchange.path).header("authorization", &self.token);
        let answer =
            call.header("idempotency-key", &exchange.key).json(&exchange.body).try_send().await.ok()?;
        assert!(answer.status < 500, "{}", answer.text());
        Some((answer.status, without_instance(&answer)))
    }

    /// Sends a request again that was not answered before the crash. Only its answer may still be missing, where another
    /// process could be at it.
    async fn take_up(&self, mut exchange: Exchange, engine: Engine) -> Exchange {
        let deadline = Instant::now() + SOON;
        loop {
            let answer = self.send(&exchange).await.expect("the service answers");
            let in_use = answer.1["type"] == "/problems/idempotency-key-in-use";
            if in_use && engine == Engine::Postgres {
                return exchange;
            }
            assert!(Instant::now() < deadline, "a payment is not settled: {exchange:?}");
            if !in_use {
                exchange.answer = Some(answer);
                return exchange;
            }
        }
    }

    /// Trips with few seats, on other days each time, since sold seats stay sold.
    pub(crate) async fn trips(&self, time: usize) -> Vec<Uuid> {
        let mut trips = Vec::new();
        let today = TimeZone::UTC.to_datetime(Clock::system().now()).date();
        let first = 10 + i32::try_from(time).unwrap() * 3;
        for days in first..first + 3 {
            let path = format!(
                "/trips?origin=b819f0ae-fb48-52a9-9626-82fbe00490df\
                 &destination=3256f587-2dfd-5b5a-a8f8-2b063fd37f50&date={}",
                today + days.days()
            );
            let found = self.http.get(&path).header("authorization", &self.token).send().await;
            let found = found.has_status(200).json();
            trips.extend(found["data"].as_array().unwrap().iter().map(|trip| id(&trip["id"])));
        }
        assert!(!trips.is_empty(), "there are seats left");
        trips
    }

    /// Books, pays and cancels until the service is killed.
    async fn work_until_it_breaks(
        self,
        number: usize,
        trips: Arc<Vec<Uuid>>,
        begun: Arc<AtomicUsize>,
        reports: mpsc::UnboundedSender<Report>,
    ) {
        for round in 0.. {
            let turn = begun.fetch_add(1, Ordering::Relaxed);
            let exchange = |path: String, body| Exchange {
                path,
                body,
                key: format!("{number} {round} {turn}"),
                answer: None,
            };
            let body = json!({"trip_id": trips[turn % trips.len()], "passenger_name": "Ada"});
            let mut booked = exchange("/bookings".into(), body);
            booked.answer = self.send(&booked).await;
            let _ = reports.send(Report::Exchange(booked.clone()));
            let booking = match booked.answer {
                None => return,
                Some((201, booking)) => id(&booking["id"]),
                Some((409, _)) => continue,
                Some(other) => panic!("booking: {other:?}"),
            };
            let card = ["4242424242424242", "4000000000000077", "4000000000000002"][turn % 3];
            let source = json!({"object": "card", "name": "Ada", "number": card, "cvc": "123", "exp_month": 12,
                "exp_year": 2099, "address_country": "gb"});
            let mut paid = exchange(format!("/bookings/{booking}/payment"), json!({"source": source}));
            paid.answer = self.send(&paid).await;
            let gone = paid.answer.is_none();
            assert!(paid.answer.as_ref().is_none_or(|(status, _)| *status == 200), "{paid:?}");
            let _ = reports.send(Report::Exchange(paid));
            if gone {
                return;
            }
            if turn.is_multiple_of(2) {
                let path = format!("/bookings/{booking}");
                let answer = self.http.delete(&path).header("authorization", &self.token).try_send().await;
                let _ = reports.send(Report::Cancel(booking, answer.is_ok()));
                match answer {
                    Err(_) => return,
                    Ok(answer) => answer.has_status(204),
                };
            }
        }
    }
}

fn id(text: &Value) -> Uuid {
    text.as_str().unwrap().parse().unwrap()
}

/// The body, but for the number of the request in a problem, which is never the same.
fn without_instance(answer: &Answer) -> Value {
    let mut body = answer.json();
    if let Some(problem) = body.as_object_mut().filter(|_| answer.status >= 400) {
        problem.remove("instance");
    }
    body
}

fn check(exchanges: &[Exchange], cancels: &[(Uuid, bool)], dump: &Dump) {
    assert_eq!(dump.faults(), Vec::<String>::new());
    let asked_to_cancel: HashSet<_> = cancels.iter().map(|(booking, _)| *booking).collect();
    let status_of = |booking: Uuid| dump.bookings.get(&booking).map_or("lost", |(_, status)| status.as_str());
    for (booking, done) in cancels {
        assert!(!done || status_of(*booking) == "cancelled", "{booking} is {}", status_of(*booking));
    }
    let (mut booked, mut paid) = (0, 0);
    for exchange in exchanges {
        let Some((status, body)) = &exchange.answer else { continue };
        match (exchange.path.strip_suffix("/payment"), status) {
            (None, 201) => {
                booked += 1;
                let status = status_of(id(&body["id"]));
                assert_ne!(status, "lost", "{exchange:?}");
                let asked = asked_to_cancel.contains(&id(&body["id"]));
                assert!(status != "cancelled" || asked, "cancelled without a request: {exchange:?}");
            }
            (Some(_), 200) => {
                let (_, now) =
                    dump.payments.get(&id(&body["id"])).unwrap_or_else(|| panic!("lost: {exchange:?}"));
                let booking = exchange.path.split('/').nth(2).unwrap().parse().unwrap();
                let asked = asked_to_cancel.contains(&booking);
                match (body["status"].as_str().unwrap(), now.as_str(), status_of(booking)) {
                    ("succeeded", "succeeded", "confirmed") => paid += 1,
                    ("succeeded", "refunded", "cancelled") => assert!(asked, "{exchange:?}"),
                    ("failed", "failed", _) => {}
                    // It was decided while no process ran, in time or not.
                    ("pending", "succeeded", "confirmed") | ("pending", "refunded", _) => {}
                    other => panic!("{other:?} of {exchange:?}"),
                }
            }
            _ => {}
        }
    }
    let unanswered = exchanges.iter().filter(|exchange| exchange.answer.is_none()).count();
    println!(
        "{booked} bookings and {paid} payments were acknowledged and are there, {} cancelled, {unanswered} requests \
         were never answered",
        asked_to_cancel.len()
    );
    assert!(booked > 0 && paid > 0);
}
