//! `Idempotency-Key` on bookings: a request that is sent twice books once.

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::{Answer, Store};
use tokio::task::JoinSet;

use crate::{
    fixture::{ADDRESS, NOTHING, Open, SMALL, TRIP, booking, each, is_xml, text},
    person::Person,
};

const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

/// Books with a key.
async fn book(person: &Person, key: &str, body: &Value) -> Answer {
    person.post("/bookings").header("idempotency-key", key).json(body).send().await
}

#[track_caller]
fn is_reused(answer: &Answer) {
    assert_eq!(
        answer.is_problem(422, "idempotency-key-reused"),
        "This Idempotency-Key was used with another body before; use a new key for another request."
    );
    assert_eq!(answer.json()["title"], "Idempotency-Key reused");
}

testkit::on_both_engines! {
    async fn first_answer_is_repeated_in_both_formats(open: Open) {
        let first = book(&open.ada, KEY, &booking(TRIP)).await;
        let made = first.has_status(201).json();
        let id = text(&made, "id");
        open.clock.advance(SignedDuration::from_mins(5));
        // Other members in another order, a default that is written out, and an unknown member.
        let same = json!({"x": 1, "has_dog": false, "passenger_name": "Ada Lovelace", "trip_id": TRIP.to_uppercase()});
        for body in [booking(TRIP), same] {
            let again = book(&open.ada, KEY, &body).await;
            again.is(201, &made);
            assert_eq!(again.header("location"), format!("{ADDRESS}/bookings/{id}"));
            assert_eq!(again.header("cache-control"), "no-store");
        }
        let xml = format!(
            "<booking><trip_id>{TRIP}</trip_id><passenger_name>Ada Lovelace</passenger_name></booking>"
        );
        let call =
            open.ada.post("/bookings").header("idempotency-key", KEY).header("accept", "application/xml");
        let again = call.body("application/xml", xml).send().await;
        let expected = format!(
            "<booking><id>{id}</id><trip_id>{TRIP}</trip_id><passenger_name>Ada Lovelace</passenger_name>\
             <has_bicycle>false</has_bicycle><has_dog>false</has_dog><status>held</status>\
             <expires_at>2026-05-13T11:00:00Z</expires_at><links><self>{ADDRESS}/bookings/{id}</self>\
             <trip>{ADDRESS}/trips/{TRIP}</trip></links></booking>"
        );
        is_xml(&again, 201, &expected);
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [id]);
        assert_eq!(open.seats(TRIP).await, 339);
        // The first answer is repeated for any later status of the booking.
        open.ada.cancel(&made).await.has_status(204);
        book(&open.ada, KEY, &booking(TRIP)).await.is(201, &made);
        assert_eq!(open.seats(TRIP).await, 340);
        // Without a key, or with another, it is another request.
        open.ada.hold(TRIP).await;
        book(&open.ada, "another", &booking(TRIP)).await.has_status(201);
        assert_eq!(open.seats(TRIP).await, 338);
    }

    async fn key_with_another_body_is_rejected(open: Open) {
        book(&open.ada, KEY, &booking(TRIP)).await.has_status(201);
        let before = open.kept().await;
        for (member, value) in [
            ("trip_id", json!(SMALL)),
            ("trip_id", json!(NOTHING)),
            ("passenger_name", json!("Ada Lovelace ")),
            ("passenger_name", json!("ada lovelace")),
            ("has_bicycle", json!(true)),
            ("has_dog", json!(true)),
        ] {
            let mut other = booking(TRIP);
            other[member] = value;
            is_reused(&book(&open.ada, KEY, &other).await);
        }
        assert_eq!(open.kept().await, before);
        book(&open.ada, KEY, &booking(TRIP)).await.has_status(201);
    }

    async fn key_is_separate_for_each_caller(open: Open) {
        let adas = book(&open.ada, KEY, &booking(TRIP)).await.has_status(201).json();
        let bens = book(&open.ben, KEY, &booking(TRIP)).await.has_status(201).json();
        assert_ne!(adas["id"], bens["id"]);
        let other = book(&open.ben, "ben's", &booking(SMALL)).await.has_status(201).json();
        assert_eq!(book(&open.ada, "ben's", &booking(TRIP)).await.has_status(201).json()["trip_id"], TRIP);
        book(&open.ada, KEY, &booking(TRIP)).await.is(201, &adas);
        book(&open.ben, KEY, &booking(TRIP)).await.is(201, &bens);
        book(&open.ben, "ben's", &booking(SMALL)).await.is(201, &other);
    }

    async fn answer_is_kept_for_twenty_four_hours(open: Open) {
        let made = book(&open.ada, KEY, &booking(TRIP)).await.has_status(201).json();
        open.advance(SignedDuration::from_hours(24) - SignedDuration::from_micros(1)).await;
        book(&open.ada, KEY, &booking(TRIP)).await.is(201, &made);
        is_reused(&book(&open.ada, KEY, &booking(SMALL)).await);
        open.advance(SignedDuration::from_micros(1)).await;
        let new = book(&open.ada, KEY, &booking(SMALL)).await.has_status(201).json();
        assert_ne!(new["id"], made["id"]);
        book(&open.ada, KEY, &booking(SMALL)).await.is(201, &new);
        is_reused(&book(&open.ada, KEY, &booking(TRIP)).await);
        assert_eq!(open.rows("idempotency").await.len(), 1, "what is old is gone");
    }

    async fn old_answers_are_deleted(store: Store) {
        let open = Open::for_many_holds(store).await;
        for number in 0..25 {
            book(&open.ada, &format!("key {number}"), &booking(TRIP)).await.has_status(201);
        }
        open.advance(SignedDuration::from_hours(24)).await;
        for (number, left) in [(0, 16), (1, 7), (2, 3), (3, 4)] {
            book(&open.ada, &format!("new key {number}"), &booking(TRIP)).await.has_status(201);
            assert_eq!(open.rows("idempotency").await.len(), left);
        }
    }

    async fn concurrent_requests_reuse_expired_keys(store: Store) {
        let open = Open::for_many_holds(store).await;
        for number in 0..40 {
            book(&open.ada, &format!("key {number}"), &booking(TRIP)).await.has_status(201);
        }
        open.advance(SignedDuration::from_hours(24)).await;
        let mut calls = JoinSet::new();
        for number in 0..40 {
            let ada = open.ada.clone();
            // The same keys, whose old answers others are about to throw away.
            calls.spawn(async move { book(&ada, &format!("key {number}"), &booking(TRIP)).await });
        }
        for answer in calls.join_all().await {
            answer.has_status(201);
        }
        assert_eq!(open.rows("idempotency").await.len(), 40);
        assert_eq!(open.seats(TRIP).await, 300, "what was held a day ago has run out");
    }

    async fn rejection_is_repeated_for_its_key(open: Open) {
        let last = open.ben.hold(SMALL).await;
        for _ in 0..11 {
            open.ben.hold(SMALL).await;
        }
        let first = book(&open.ada, KEY, &booking(SMALL)).await;
        let said = first.is_problem(409, "sold-out");
        open.ben.cancel(&last).await.has_status(204);
        assert_eq!(open.seats(SMALL).await, 1);
        let again = book(&open.ada, KEY, &booking(SMALL)).await;
        assert_eq!(again.is_problem(409, "sold-out"), said);
        assert_ne!(again.header("x-request-id"), first.header("x-request-id"), "each its own");
        assert_eq!(open.seats(SMALL).await, 1);
        book(&open.ada, "a new key", &booking(SMALL)).await.has_status(201);
        is_reused(&book(&open.ada, KEY, &booking(TRIP)).await);

        let unknown = "2f87bac9-12fc-8000-80a8-ac01000050c5";
        let said = book(&open.ada, "unknown", &booking(unknown)).await.is_problem(404, "not-found");
        let departed = "2f87bac9-12fc-8000-80a8-ac010000506a";
        let left = book(&open.ada, "departed", &booking(departed)).await.is_problem(409, "departed");
        // It would be there now.
        open.advance_to("2026-05-14T00:00:00Z").await;
        open.ada.get(&format!("/trips/{unknown}")).send().await.has_status(200);
        assert_eq!(book(&open.ada, "unknown", &booking(unknown)).await.is_problem(404, "not-found"), said);
        assert_eq!(book(&open.ada, "departed", &booking(departed)).await.is_problem(409, "departed"), left);
        let call = open.ada.post("/bookings").header("idempotency-key", "departed");
        let again = call.header("accept", "application/xml").json(&booking(departed)).send().await;
        assert_eq!((again.status, again.header("content-type")), (409, "application/problem+xml"));
    }

    async fn invalid_request_does_not_use_its_key(open: Open) {
        let path = "/bookings";
        let call = |content: &str, body: &str| {
            open.ada.post(path).header("idempotency-key", KEY).body(content, body.to_owned())
        };
        book(&open.ada, KEY, &json!({"trip_id": TRIP}))
            .await
            .is_invalid(&[("#/passenger_name", "is required")]);
        call("application/json", "{").send().await.is_problem(400, "invalid-request");
        call("text/plain", "x").send().await.is_problem(415, "unsupported-media-type");
        let good = booking(TRIP).to_string();
        let call = call("application/json", &good).header("accept", "text/plain");
        call.send().await.is_problem(406, "not-acceptable");
        let reader = open.with_scope(&open.ada, "read").await;
        book(&reader, KEY, &booking(TRIP)).await.is_problem(403, "forbidden");
        assert!(open.rows("idempotency").await.is_empty());
        book(&open.ada, KEY, &booking(TRIP)).await.has_status(201);
    }

    async fn malformed_key_is_rejected(open: Open) {
        let longest = "k".repeat(255);
        for key in ["k", "a b", "\"quoted\"", "a,b", "{}", &longest] {
            let made = book(&open.ada, key, &booking(TRIP)).await.has_status(201).json();
            book(&open.ada, key, &booking(TRIP)).await.is(201, &made);
        }
        let before = open.kept().await;
        let said = ("Idempotency-Key", "must be 1 to 255 characters of ASCII, such as a UUID");
        let too_long = "k".repeat(256);
        for key in ["", "naïve", "🔑", &too_long] {
            book(&open.ada, key, &booking(TRIP)).await.is_invalid(&[said]);
        }
        for (first, second) in [("a", "b"), ("a", "a"), ("", "a")] {
            let call = open.ada.post("/bookings").header("idempotency-key", first);
            let answer = call.header("idempotency-key", second).json(&booking(TRIP)).send().await;
            answer.is_invalid(&[("Idempotency-Key", "must be sent once")]);
        }
        assert_eq!(open.kept().await, before);
        // An operation that repeats safely ignores the header.
        for method in [Method::GET, Method::HEAD] {
            let call = open.ada.call(method, "/bookings").header("idempotency-key", &too_long);
            call.send().await.has_status(200);
        }
    }

    async fn fifty_concurrent_requests_with_one_key_book_once(open: Open) {
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let ada = open.ada.clone();
            calls.spawn(async move { book(&ada, KEY, &booking(SMALL)).await });
        }
        let answers = calls.join_all().await;
        let made = answers[0].json();
        for answer in &answers {
            answer.is(201, &made);
            assert_eq!(answer.header("location"), format!("{ADDRESS}/bookings/{}", text(&made, "id")));
        }
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [text(&made, "id")]);
        assert_eq!(open.seats(SMALL).await, 11);
    }

    async fn fifty_concurrent_requests_with_two_bodies_book_once(open: Open) {
        let mut calls = JoinSet::new();
        for number in 0..50 {
            let ada = open.ada.clone();
            let body = booking(if number % 2 == 0 { SMALL } else { TRIP });
            calls.spawn(async move { (number % 2, book(&ada, KEY, &body).await) });
        }
        let answers = calls.join_all().await;
        let won = answers.iter().find(|(_, answer)| answer.status == 201).unwrap();
        let made = won.1.json();
        for (body, answer) in &answers {
            if body == &won.0 {
                answer.is(201, &made);
            } else {
                is_reused(answer);
            }
        }
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [text(&made, "id")]);
    }
}
