//! How soon subscribers hear of new bookings, while others among them misbehave: ten thousand bookings over the loopback interface
//! by fifty people who each have a subscriber, a thousand a second, and as fast as the service takes them.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::Path, extract::State, http::StatusCode, routing::post};
use db::{Db, Limits};
use jiff::{ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use service::Instance;
use testkit::{Engine, Store};
use tokio::{
    runtime::Runtime,
    sync::{mpsc, watch},
};
use train::{SERVICE, Settings, Train};
use web::{Clock, Random};

use crate::{
    load::{self, Load},
    median,
};

const ADDRESS: &str = "https://trains.example";
const BOOKINGS: usize = 10_000;
/// How many of them in a second.
const A_SECOND: f64 = 1000.0;
const PEOPLE: usize = 50;
/// Those before are slow, those before always fail, those before fail at first, the others are healthy.
const SLOW: usize = 4;
const FAILING: usize = 8;
const FAILING_AT_FIRST: usize = 16;
const HEALTHY: usize = BOOKINGS / PEOPLE * (PEOPLE - FAILING_AT_FIRST);

/// How late the healthy ones may hear of a booking, in the middle.
const TARGET: Duration = Duration::from_secs(2);

/// When the measurement ends, even if deliveries are missing.
const MOST: Duration = Duration::from_secs(120);

struct Webhooks {
    engine: Engine,
    /// How many bookings in a second; as many as the service takes if it does not say.
    rate: Option<f64>,
    /// How late each of the healthy ones heard of each booking, from when it was to be asked for, in order.
    delays: Vec<Duration>,
    booked: Duration,
    told: Duration,
}

/// Measures and prints; what was missed.
pub(crate) fn measure_all(runtime: &Runtime) -> Vec<String> {
    println!(
        "{BOOKINGS} bookings, {PEOPLE} subscribers, {FAILING_AT_FIRST} of them slow or failing: delay of the deliveries to the others"
    );
    let titles = ["booked in", "told in", "median", "99 %", "latest", "target"];
    println!("{:<22}{}", "", titles.map(|title| format!("{title:>10}")).concat());
    let mut missed = Vec::new();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        for rate in [Some(A_SECOND), None] {
            let measured = measure(runtime, engine, rate);
            measured.print();
            missed.extend(measured.missed());
        }
    }
    println!();
    missed
}

impl Webhooks {
    fn print(&self) {
        let at = |part: usize| self.delays.get(self.delays.len() * part / 100).copied().unwrap_or(MOST);
        let latest = self.delays.last().copied().unwrap_or(MOST);
        let figures = [self.booked, self.told, at(50), at(99), latest].map(|time| format!("{time:>10.2?}"));
        let pace = self.rate.map_or_else(|| "full speed".to_owned(), |rate| format!("{rate:.0}/s"));
        let target = self.rate.map_or_else(String::new, |_| format!("{TARGET:>10.2?}"));
        println!("{:<22}{}{target}", format!("{:?}, {pace}", self.engine), figures.concat());
    }

    /// At full speed bookings and deliveries share a machine that has no time left, and more bookings mean longer waits:
    /// the only target then is that all arrive.
    fn missed(&self) -> Option<String> {
        let told = self.delays.len();
        if told < HEALTHY {
            return Some(format!("{:?}: only {told} of {HEALTHY} bookings were told", self.engine));
        }
        let delay = median(self.delays.clone());
        (self.rate.is_some() && delay >= TARGET)
            .then(|| format!("{:?}: bookings are told after {delay:.2?}, not {TARGET:?}", self.engine))
    }
}

fn measure(runtime: &Runtime, engine: Engine, rate: Option<f64>) -> Webhooks {
    let store = Store::new(engine);
    let db = Db::open(store.location(), "train", train::MIGRATIONS, Limits::default()).unwrap();
    runtime.block_on(async {
        let (clock, random) = (Clock::system(), Random::system());
        let settings = Settings {
            calls_per_hour: u32::MAX,
            unpaid_holds: u32::MAX,
            webhook_networks: vec!["127.0.0.0/8".parse().unwrap()],
            ..Settings::default()
        };
        let instance = Instance::new(db.clone(), clock.clone(), random).at(ADDRESS);
        let train = Train::open(settings, instance.clone()).await.unwrap();
        let mut load = Load::connect(load::listen(train.router()).await).await;
        let working = tokio::spawn(train.run(std::future::pending()));
        let (tell, mut heard) = mpsc::unbounded_channel();
        let end = watch::Sender::new(false);
        let subscribers = Subscribers { tell, end: end.clone(), refused: Arc::default() };
        let router = Router::new().route("/{person}/newBooking", post(receive)).with_state(subscribers);
        let subscribers = load::listen(router).await;

        let accounts = SERVICE.accounts(&instance).unwrap();
        let server = SERVICE.authorization_server(&instance).await.unwrap();
        let mut tokens = Vec::new();
        for person in 0..PEOPLE {
            let account = accounts.add(&format!("person-{person}"), "correct horse".into()).await.unwrap();
            tokens.push(server.token_for(account, None).await.unwrap());
            let url = json!({"url": format!("http://{subscribers}/{person}")}).to_string();
            assert_eq!(load.status(&load::post("/webhooks", &tokens[person], &url)).await, "201");
        }
        let trips = trips(&mut load, &tokens[0], &clock).await;
        let requests: Vec<_> = (0..BOOKINGS)
            .map(|number| {
                let body =
                    json!({"trip_id": trips[number % trips.len()], "passenger_name": number.to_string()});
                load::post("/bookings", &tokens[number % PEOPLE], &body.to_string())
            })
            .collect();
        let began: &'static [OnceLock<Instant>] = vec![OnceLock::new(); BOOKINGS].leak();

        let start = Instant::now();
        load.each(requests.leak(), began, rate).await;
        let booked = start.elapsed();
        let mut delays = vec![None; BOOKINGS];
        let all = async {
            let mut missing = HEALTHY;
            while missing > 0 {
                let (number, at): (usize, Instant) = heard.recv().await.unwrap();
                // A repeated delivery does not count.
                if delays[number].is_none() {
                    delays[number] = Some(at - *began[number].get().unwrap());
                    missing -= 1;
                }
            }
        };
        let _ = tokio::time::timeout(MOST, all).await;
        let told = start.elapsed();
        end.send_replace(true);
        working.abort();
        let mut delays: Vec<_> = delays.into_iter().flatten().collect();
        delays.sort_unstable();
        Webhooks { engine, rate, delays, booked, told }
    })
}

/// The trips from Berlin to Paris of the next weeks: with more seats than are booked here.
async fn trips(load: &mut Load, token: &str, clock: &Clock) -> Vec<String> {
    let today = TimeZone::UTC.to_datetime(clock.now()).date();
    let mut trips = Vec::new();
    for days in 2..60 {
        let path = format!(
            "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d\
             &date={}",
            today + days.days()
        );
        let found: Value =
            serde_json::from_str(&load.body(&load::request(&path, Some(token))).await).unwrap();
        let ids =
            found["data"].as_array().unwrap().iter().map(|trip| trip["id"].as_str().unwrap().to_owned());
        trips.extend(ids);
    }
    trips
}

#[derive(Clone)]
struct Subscribers {
    tell: mpsc::UnboundedSender<(usize, Instant)>,
    end: watch::Sender<bool>,
    /// How often those that fail at first have failed.
    refused: Arc<std::sync::Mutex<[usize; FAILING_AT_FIRST]>>,
}

async fn receive(State(here): State<Subscribers>, Path(person): Path<usize>, body: Bytes) -> StatusCode {
    let now = Instant::now();
    if person < SLOW {
        let _ = here.end.subscribe().wait_for(|end| *end).await;
    } else if person < FAILING {
        return StatusCode::SERVICE_UNAVAILABLE;
    } else if person < FAILING_AT_FIRST {
        let refused = &mut here.refused.lock().unwrap()[person];
        *refused += 1;
        if *refused <= 20 {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
    } else {
        let booking: Value = serde_json::from_slice(&body).unwrap();
        let number = booking["passenger_name"].as_str().unwrap().parse().unwrap();
        let _ = here.tell.send((number, now));
    }
    StatusCode::NO_CONTENT
}
