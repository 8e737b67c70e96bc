//! Kills the train service while it tells a subscriber of bookings: every booking that was acknowledged is told all the same.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{HashMap, HashSet};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use common::House;
use serde_json::{Value, json};
use testkit::{Client, Engine, Program, Server};
use tokio::sync::mpsc;
use web::ConnectionLimits;

/// How often the program is killed, and how many bookings are made before each time.
const KILLS: usize = 8;
const BOOKINGS: usize = 12;

/// An event as the subscriber gets it: its id and the booking's.
type Event = (String, String);

async fn receive(State(events): State<mpsc::UnboundedSender<Event>>, headers: HeaderMap, body: Bytes) {
    let booking: Value = serde_json::from_slice(&body).unwrap();
    let id = headers["webhook-id"].to_str().unwrap().to_owned();
    let _ = events.send((id, booking["id"].as_str().unwrap().to_owned()));
}

/// A trip from Berlin to Paris next week.
async fn trip(train: &Client, token: &str) -> String {
    let today = jiff::tz::TimeZone::UTC.to_datetime(web::Clock::system().now()).date();
    let day = today.checked_add(jiff::Span::new().days(7)).unwrap();
    let path = format!(
        "/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date={day}"
    );
    let trips = train.get(&path).header("authorization", token).send().await.has_status(200).json();
    trips["data"][0]["id"].as_str().unwrap().to_owned()
}

testkit::on_both_engines! {
    async fn every_acknowledged_booking_is_told(house: House) {
        let (sender, mut events) = mpsc::unbounded_channel();
        let router = Router::new().route("/newBooking", post(receive)).with_state(sender);
        let subscriber = Server::start(ConnectionLimits::default(), |_| router).await;
        // Several processes share a PostgreSQL; what one leaves, another takes on.
        let processes = if house.store.engine() == Engine::Postgres { 3 } else { 1 };
        let mut programs: Vec<Program> = (0..processes).map(|_| house.serve()).collect();
        let token = || {
            let printed = house.command(&["token", "train"]).output().unwrap().stdout;
            format!("Bearer {}", String::from_utf8(printed).unwrap().trim_end())
        };
        // Each process has an address of its own here, and takes the tokens of the last one that was started.
        let train = |programs: &[Program]| Client::new(programs.last().unwrap().address("train"));
        let body = json!({"url": format!("http://{}", subscriber.address())});
        let call = train(&programs).post("/webhooks").header("authorization", &token());
        call.json(&body).send().await.has_status(201);
        let trip = trip(&train(&programs), &token()).await;

        let mut acknowledged = HashSet::new();
        for kill in 0..KILLS {
            let (train, token) = (train(&programs), token());
            for number in 0..BOOKINGS {
                let booking = json!({"trip_id": trip, "passenger_name": format!("Passenger {kill}.{number}")});
                let call = train.post("/bookings").header("authorization", &token).json(&booking);
                let made = call.send().await.has_status(201).json();
                acknowledged.insert(made["id"].as_str().unwrap().to_owned());
            }
            // At once after the last commit: some of its events are not sent, some are sent and not written down.
            programs.remove(kill % processes).kill();
            programs.push(house.serve());
        }
        let mut told: HashMap<String, String> = HashMap::new();
        while !acknowledged.iter().all(|booking| told.contains_key(booking)) {
            let (event, booking) = events.recv().await.unwrap();
            let first = told.entry(booking.clone()).or_insert_with(|| event.clone());
            assert_eq!(*first, event, "an event that comes twice has one id");
            assert!(acknowledged.contains(&booking), "{booking} was told and never made");
        }
        assert_eq!(told.len(), KILLS * BOOKINGS);
    }
}
