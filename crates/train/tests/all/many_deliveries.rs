//! Many bookings by fifty users with a subscriber each; some of the subscribers fail.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::{SignedDuration, ToSpan, civil::date};
use serde_json::{Value, json};
use testkit::{
    Engine, Fixture, Store, parameter,
    receiver::{Got, Receiver, reply},
};
use tokio::task::{JoinHandle, JoinSet};

use crate::{
    fixture::{BERLIN, Open, PARIS, START, Setup, booking, text},
    person::Person,
};

/// `make long-test` has ten thousand.
const BOOKINGS: usize = 1_000;
const PEOPLE: usize = 50;

/// How many book at the same time.
const AT_ONCE: usize = 32;

/// The service in a demo, which may send to this machine, with its travellers and their subscribers.
struct Travellers {
    open: Open,
    people: Vec<Person>,
    bookings: usize,
    trips: Vec<String>,
    receiver: Receiver,
    running: JoinHandle<()>,
}

/// The name of a person, which says how their subscriber behaves.
fn name(person: usize) -> String {
    match person {
        0..4 => format!("slow-{person}"),
        4..8 => format!("always-{person}"),
        8..16 => format!("first-{person}"),
        _ => format!("healthy-{person}"),
    }
}

/// Each books more than a user may hold without paying.
fn setup() -> Setup {
    let settings = train::Settings { unpaid_holds: u32::MAX, ..train::Settings::default() };
    Setup { demo: true, settings, ..Setup::default() }
}

impl Fixture for Travellers {
    async fn start(engine: Engine) -> Self {
        let open = Open::on(Store::new(engine), setup()).await;
        let receiver = Receiver::start().await;
        let mut people = Vec::new();
        for number in 0..PEOPLE {
            let name = name(number);
            match name.split_once('-').unwrap().0 {
                "slow" => receiver.script(&name, &[], reply(204).hangs()),
                "always" => receiver.script(&name, &[], reply(503)),
                "first" => receiver.script(&name, &[reply(503), reply(503)], reply(200)),
                _ => {}
            }
            let person = Person::new(&name, &open.anyone, &open.db, &open.clock).await;
            *person.token.lock().unwrap() = open.token(&person, "read write").await;
            let body = json!({"url": receiver.url(&name).as_str()});
            person.post("/webhooks").json(&body).send().await.has_status(201);
            people.push(person);
        }
        let trips = trips(&open).await;
        let running = tokio::spawn(open.train.clone().run(std::future::pending()));
        let bookings = parameter("TORTURE_BOOKINGS", BOOKINGS);
        Travellers { open, people, bookings, trips, receiver, running }
    }
}

impl Drop for Travellers {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Trips with more seats than all bookings need.
async fn trips(open: &Open) -> Vec<String> {
    let mut trips = Vec::new();
    for days in 0..60 {
        let day = date(2026, 5, 20) + days.days();
        let path = format!("/trips?origin={BERLIN}&destination={PARIS}&date={day}&limit=100");
        let found = open.ada.get(&path).send().await.has_status(200).json();
        trips.extend(found["data"].as_array().unwrap().iter().map(|trip| text(trip, "id").to_owned()));
    }
    trips
}

impl Travellers {
    /// Makes all bookings, several at a time, and returns the bookings of each user, by id.
    async fn book(&self) -> Vec<HashMap<String, Value>> {
        let (people, trips, bookings) =
            (Arc::new(self.people.clone()), Arc::new(self.trips.clone()), self.bookings);
        let mut booking_away = JoinSet::new();
        for first in 0..AT_ONCE {
            let (people, trips) = (people.clone(), trips.clone());
            booking_away.spawn(async move {
                let mut made = Vec::new();
                for number in (first..bookings).step_by(AT_ONCE) {
                    let person = number % PEOPLE;
                    let answer = people[person].book(&booking(&trips[number % trips.len()])).await;
                    made.push((person, answer.has_status(201).json()));
                }
                made
            });
        }
        let mut made = vec![HashMap::new(); PEOPLE];
        for (person, booking) in booking_away.join_all().await.into_iter().flatten() {
            made[person].insert(text(&booking, "id").to_owned(), booking);
        }
        made
    }

    /// Waits until a user's subscriber has received each booking of the user, equal to its answer, and nothing else.
    async fn receives_its_bookings(&self, person: usize, made: &[HashMap<String, Value>]) {
        let made = &made[person];
        let ids = made.keys().cloned().collect();
        let got = self.receiver.wait_for_events(&name(person), &ids).await;
        // Each booking has one event; repeated deliveries have the same id.
        let mut events = HashMap::new();
        for Got { headers, body, .. } in &got {
            let event = headers["webhook-id"].to_str().unwrap();
            let booking: Value = serde_json::from_slice(body).unwrap();
            let id = text(&booking, "id").to_owned();
            assert_eq!(booking, made[&id]);
            assert_eq!(events.entry(id).or_insert(event), &event);
        }
        assert_eq!(events.keys().cloned().collect::<HashSet<_>>(), ids, "{}", name(person));
        assert_eq!(events.values().collect::<HashSet<_>>().len(), ids.len(), "{}", name(person));
    }
}

testkit::on_both_engines! {
    async fn bookings_are_delivered_to_all_subscribers_that_answer(travellers: Travellers) {
        let (made, each) = (travellers.book().await, travellers.bookings / PEOPLE);
        assert!(made.iter().all(|made| made.len() == each));
        for person in 16..PEOPLE {
            travellers.receives_its_bookings(person, &made).await;
        }
        // The slow subscribers have not answered yet, and did not delay the others.
        assert!((0..4).all(|person| travellers.receiver.count(&name(person)) < each));
        travellers.receiver.release();
        // Deliveries that failed at first, or timed out.
        for person in 8..16 {
            travellers.receiver.wait_for(&name(person), each).await;
        }
        travellers.open.advance(SignedDuration::from_secs(6)).await;
        for person in (0..4).chain(8..16) {
            travellers.receives_its_bookings(person, &made).await;
        }
        for person in 8..16 {
            travellers.receiver.wait_for(&name(person), each + 2).await;
        }
        // Subscribers that always fail are listed as failing.
        for person in &travellers.people[4..8] {
            let shown = person.clone();
            *shown.token.lock().unwrap() = travellers.open.token(person, "read").await;
            let listed = shown.get("/webhooks").send().await.has_status(200).json();
            assert_eq!(listed["data"][0]["failing_since"], START);
        }
    }
}
