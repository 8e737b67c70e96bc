//! The kinds of work that are measured, with the requests of each.

use std::net::SocketAddr;

use jiff::{ToSpan, Zoned, civil::Date};
use serde_json::{Value, json};

use crate::{
    data::{self, FIRST_PET},
    program::Program,
    wrk::Requests,
};

/// What the work is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// R1: a bare axum handler that answers the same bytes.
    Constant,
    /// R2: a bare axum handler that reads the same body as JSON and writes it again.
    Echo,
}

/// One row of the table.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) server: SocketAddr,
    pub(crate) requests: Requests,
    pub(crate) reference: Reference,
    /// The share of the reference's rate that must be reached, and that we aim for.
    pub(crate) must: f64,
    pub(crate) aim: f64,
    /// The OpenAPI document by which Prism answers the same request.
    pub(crate) document: &'static str,
    /// Whether the bookings are deleted before each round.
    pub(crate) deletes_bookings: bool,
}

/// The bench books the trips of this number of days.
pub(crate) const BOOKED_DAYS: i64 = 78;

/// How many different requests a script has.
const VARIETY: i64 = 5000;

/// The pets that the requests read, spread over all of a data set.
pub(crate) fn pet_paths(pets: i64) -> Vec<String> {
    // A step without a common factor with the number of pets: neighbouring requests read distant rows.
    (0..VARIETY).map(|number| format!("/v3/pet/{}", FIRST_PET + number * 7919 % pets)).collect()
}

pub(crate) fn api_key() -> Vec<(&'static str, String)> {
    vec![("api_key", "special-key".into())]
}

pub(crate) fn bearer(token: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {token}"))
}

/// New pets, as many as a client of the API would send: without an id, with a category, a photo and a tag.
pub(crate) fn new_pets() -> Vec<String> {
    let pet = |number: i64| {
        json!({
            "name": format!("Pet number {number}"), "status": "available",
            "category": {"id": 1, "name": "Dogs"}, "photoUrls": ["https://example.com/a.jpg"],
            "tags": [{"id": 1, "name": format!("tag{}", number % 100)}],
        })
        .to_string()
    };
    (0..VARIETY).map(pet).collect()
}

/// All work on the embedded engine. The bookings are for the trips of this number of days.
pub(crate) async fn all(program: &Program, pets: i64, travellers: usize, days: i64) -> Vec<Work> {
    let basic = ("authorization", "Basic ZGVtbzpkZW1v".to_owned());
    let (petstore, train) = (program.token("petstore"), program.token("train"));
    let travellers = (0..travellers)
        .map(|number| bearer(&program.token_of("train", Some(&data::traveller(number)))).1)
        .collect();
    let event = first_event(program, &basic).await;
    let trips = trips(program, &train, days).await;
    let work = |name, server, requests, reference, (must, aim), document| Work {
        name,
        server,
        requests,
        reference,
        must,
        aim,
        document,
        deletes_bookings: false,
    };
    let mut xml = api_key();
    xml.push(("accept", "application/xml".into()));
    let (today, pair) = (today(), PAIRS[0]);
    let page = |days: i64| {
        format!("/trips?origin={}&destination={}&date={}&limit=10", pair.0, pair.1, today + days.days())
    };
    let searches =
        ["berlin", "paris", "munich", "wien", "roma", "london", "amsterdam", "zürich", "praha", "milano"];
    let searches = searches.map(|word| format!("/stations?search={}", word.replace('ü', "%C3%BC"))).to_vec();
    let ticket = json!({"ticketType": "general", "ticketDate": open_day(program, &basic).await, "email": "ada@example.com"});
    let booking = |number: usize| {
        json!({"trip_id": trips[number % trips.len()], "passenger_name": format!("Passenger {number}")})
            .to_string()
    };
    vec![
        work(
            "GET /v3/pet/{id}, API key, JSON",
            program.petstore,
            Requests::get(pet_paths(pets), api_key()),
            Reference::Constant,
            (0.50, 0.70),
            "petstore",
        ),
        work(
            "GET /v3/pet/{id}, API key, XML",
            program.petstore,
            Requests::get(pet_paths(pets), xml),
            Reference::Constant,
            (0.45, 0.65),
            "petstore",
        ),
        work(
            "GET /v1.1/special-events/{id}, Basic",
            program.museum,
            Requests::get(vec![event], vec![basic.clone()]),
            Reference::Constant,
            (0.50, 0.70),
            "museum",
        ),
        work(
            "GET /v1.1/museum-hours",
            program.museum,
            Requests::get(vec!["/v1.1/museum-hours".into()], vec![]),
            Reference::Constant,
            (0.65, 0.80),
            "museum",
        ),
        work(
            "GET /stations?search=, bearer",
            program.train,
            Requests::get(searches, vec![bearer(&train)]),
            Reference::Constant,
            (0.35, 0.55),
            "train",
        ),
        work(
            "GET /trips, a page of 10, bearer",
            program.train,
            Requests::get((2..60).map(page).collect(), vec![bearer(&train)]),
            Reference::Constant,
            (0.35, 0.55),
            "train",
        ),
        work(
            "POST /v3/pet, bearer, durable",
            program.petstore,
            Requests::post("/v3/pet", vec![bearer(&petstore)], new_pets()),
            Reference::Echo,
            (0.40, 0.60),
            "petstore",
        ),
        work(
            "POST /v1.1/tickets, Basic, durable",
            program.museum,
            Requests::post("/v1.1/tickets", vec![basic], vec![ticket.to_string()]),
            Reference::Echo,
            (0.40, 0.60),
            "museum",
        ),
        Work {
            deletes_bookings: true,
            ..work(
                "POST /bookings with its event, bearer, durable",
                program.train,
                Requests {
                    authorizations: travellers,
                    ..Requests::post("/bookings", vec![], (0..VARIETY as usize).map(booking).collect())
                },
                Reference::Echo,
                (0.30, 0.50),
                "train",
            )
        },
    ]
}

#[expect(clippy::disallowed_methods, reason = "the program under test has the clock of the machine")]
fn today() -> Date {
    Zoned::now().date()
}

/// Pairs of stations with many seats between them: Wien and Budapest, Roma and Milano, in both directions.
const PAIRS: [(&str, &str); 4] = [
    ("4f23b22c-ad1d-5079-a6d0-2e616bd33078", "872adfeb-d6fc-52aa-b3a0-60cb16920c7d"),
    ("872adfeb-d6fc-52aa-b3a0-60cb16920c7d", "4f23b22c-ad1d-5079-a6d0-2e616bd33078"),
    ("d06074b1-9927-57ad-8b84-f3d431e09440", "98fc43f4-922c-5b9a-bdfa-9b64b6d2bc3e"),
    ("98fc43f4-922c-5b9a-bdfa-9b64b6d2bc3e", "d06074b1-9927-57ad-8b84-f3d431e09440"),
];

async fn get(server: SocketAddr, path: &str, header: &(&'static str, String)) -> Value {
    let answer =
        reqwest::Client::new().get(format!("http://{server}{path}")).header(header.0, &header.1).send().await;
    let answer = answer.expect("an answer");
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.json().await.expect("JSON")
}

async fn first_event(program: &Program, basic: &(&'static str, String)) -> String {
    let events = get(program.museum, "/v1.1/special-events", basic).await;
    let id = events[0]["eventId"].as_str().expect("an event of the demo");
    format!("/v1.1/special-events/{id}")
}

/// A day on which the museum is open.
async fn open_day(program: &Program, basic: &(&'static str, String)) -> String {
    let hours = get(program.museum, "/v1.1/museum-hours?limit=5", basic).await;
    hours[1]["date"].as_str().expect("a day").to_owned()
}

/// The trips of this number of days between [`PAIRS`]. Those of [`BOOKED_DAYS`] have more seats than a run of the bench books.
async fn trips(program: &Program, token: &str, days: i64) -> Vec<String> {
    let today = today();
    let mut trips = Vec::new();
    for days in 2..2 + days {
        for (origin, destination) in PAIRS {
            let date = today + days.days();
            let path = format!("/trips?origin={origin}&destination={destination}&date={date}&limit=100");
            let found = get(program.train, &path, &bearer(token)).await;
            let found = found["data"].as_array().expect("trips");
            trips.extend(found.iter().map(|trip| trip["id"].as_str().expect("an id").to_owned()));
        }
    }
    trips
}
