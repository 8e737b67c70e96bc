//! Examples in the OpenAPI document that work when they are sent to a service: a trip of one of the next days.

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use uuid::{Uuid, uuid};
use web::openapi::{body_example, body_examples, parameter_example};

use crate::timetable::{Run, Timetable};

/// From Berlin Hauptbahnhof to Paris Gare du Nord.
const ORIGIN: Uuid = uuid!("efdbb9d1-02c2-4bc3-afb7-6788d8782b1e");
const DESTINATION: Uuid = uuid!("b2e783e1-c824-4d63-b37a-d8d698862f1d");

/// The document with examples for this time.
pub(crate) fn with_examples(mut document: OpenApi, timetable: &Timetable, now: Timestamp) -> OpenApi {
    let today = now.to_zoned(TimeZone::UTC).date();
    parameter_example(&mut document, "stationId", ORIGIN.to_string());
    if let Some(trip) = next_trip(timetable, now) {
        let service = trip.service;
        parameter_example(&mut document, "date", trip.date.to_string());
        parameter_example(&mut document, "tripId", trip.id.to_string());
        let booking = json!({
            "trip_id": trip.id,
            "passenger_name": "John Doe",
            "has_bicycle": service.bicycles,
            "has_dog": service.dogs,
        });
        body_example(&mut document, "create-booking", booking);
        // With the same digits as in answers.
        let price = serde_json::from_str(&service.price.to_string()).unwrap_or(Value::Null);
        let payment =
            |source: Value| json!({"amount": price, "currency": service.currency, "source": source});
        let card = json!({
            "object": "card",
            "name": "J. Doe",
            "number": "4242424242424242",
            "cvc": "123",
            "exp_month": 12,
            "exp_year": today.year() + 4,
            "address_line1": "123 Fake Street",
            "address_city": "London",
            "address_country": "gb",
            "address_post_code": "N12 9XX",
        });
        let account = json!({
            "object": "bank_account",
            "name": "J. Doe",
            "number": "00012345",
            "sort_code": "000123",
            "account_type": "individual",
            "bank_name": "Starling Bank",
            "country": "gb",
        });
        let payments = [("card", payment(card)), ("bank_account", payment(account))];
        body_examples(&mut document, "create-booking-payment", payments);
    }
    body_example(&mut document, "create-webhook", json!({"url": "https://app.example.com/hooks"}));
    body_example(&mut document, "redeliver-webhook", json!({"since": format!("{today}T00:00:00Z")}));
    document
}

/// The first trip between the two from tomorrow on.
fn next_trip(timetable: &Timetable, now: Timestamp) -> Option<Run<'_>> {
    let (origin, destination) = (timetable.station_at(ORIGIN)?, timetable.station_at(DESTINATION)?);
    let (today, _) = Timetable::days(&timetable.stations[origin].zone, now);
    let days = (1..=7_i32).map(|days| today.saturating_add(days.days()));
    days.flat_map(|day| timetable.on(origin, destination, day)).next()
}
