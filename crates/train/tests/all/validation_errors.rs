//! All validation errors that need no booking are listed in one answer.

use serde_json::json;

use crate::fixture::{BERLIN, GOOD, NOTHING, Open, PARIS, TRIP, card, payment};

const NO_STATION: &str = "must be the id of a station; see /stations";
const NO_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
const NO_PAGE: &str = "must be a whole number, 1 or more";
const NO_LIMIT: &str = "must be a whole number from 1 to 100";

testkit::on_both_engines! {
    async fn repeated_payment_is_answered_after_its_card_expired(open: Open) {
        // The last time at which it is May in some zone.
        open.advance_to("2026-06-01T11:59:59Z").await;
        let made = open.ada.hold("2f87bac9-12fc-8000-80a8-ac01000050c4").await;
        let mut body = card(GOOD);
        body["source"]["exp_year"] = json!(2026);
        body["source"]["exp_month"] = json!(5);
        let pay = || open.ada.post(&payment(&made)).header("idempotency-key", "once").json(&body).send();
        let paid = pay().await.has_status(200).json();
        open.advance_to("2026-06-01T12:00:00Z").await;
        pay().await.is(200, &paid);
    }
}

testkit::on_one_engine! {
    async fn unknown_stations_and_past_days_are_listed_with_the_other_validation_errors(open: Open) {
        let other = "019e0000-0000-7000-8000-000000000001";
        let past = "must not be in the past; where the origin is, today is 2026-05-13";
        for (query, errors) in [
            (
                format!("origin={NOTHING}&destination={other}&date=x&page=0&limit=101&dogs=maybe"),
                vec![
                    ("?origin", NO_STATION),
                    ("?destination", NO_STATION),
                    ("?date", "must be a day like 2026-05-17, or a day and time like 2026-05-17T09:00:00"),
                    ("?dogs", "must be true or false"),
                    ("?page", NO_PAGE),
                    ("?limit", NO_LIMIT),
                ],
            ),
            (
                format!("origin={BERLIN}&destination={NOTHING}&date=2026-05-12&page=0"),
                vec![("?destination", NO_STATION), ("?page", NO_PAGE), ("?date", past)],
            ),
            (
                format!("origin={BERLIN}&destination={BERLIN}&date=2026-05-12&limit=0"),
                vec![
                    ("?limit", NO_LIMIT),
                    ("?destination", "must be another station than origin"),
                    ("?date", past),
                ],
            ),
            (format!("origin={BERLIN}&destination={PARIS}&date=2026-05-12"), vec![("?date", past)]),
        ] {
            open.ada.get(&format!("/trips?{query}")).send().await.is_invalid(&errors);
        }
    }

    async fn expired_card_is_listed_with_the_other_validation_errors(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut body = card(GOOD);
        body["source"]["cvc"] = json!("12");
        body["source"]["exp_year"] = json!(2025);
        let expired = ("#/source/exp_year", "must be a card that has not expired");
        let cvc = ("#/source/cvc", "must be 3 to 4 digits, as text");
        open.ada.pay(&made, &body).await.is_invalid(&[cvc, expired]);
        body["amount"] = json!("x");
        open.ada.pay(&made, &body).await.is_invalid(&[("#/amount", "must be a number"), cvc, expired]);
        let call = open.ada.post("/bookings/1/payment").json(&body);
        let id = ("{bookingId}", NO_UUID);
        call.send().await.is_invalid(&[id, ("#/amount", "must be a number"), cvc, expired]);
    }

    async fn redelivery_lists_validation_errors_of_path_and_body(open: Open) {
        let call = open.ada.post("/webhooks/1/redeliver").json(&json!({"since": 5}));
        call.send().await.is_invalid(&[
            ("{webhookId}", NO_UUID),
            ("#/since", "must be a date and time with an offset, like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00"),
        ]);
    }

    async fn invalid_idempotency_key_is_listed_with_errors_of_path_query_and_body(open: Open) {
        let key = ("Idempotency-Key", "must be 1 to 255 characters of ASCII, such as a UUID");
        let unknown = ("?bogus", "is not a parameter of this operation, which takes none");
        let call = open.ada.post("/bookings?bogus=1").header("idempotency-key", "").json(&json!({"trip_id": 1}));
        call.send().await.is_invalid(&[
            key,
            ("#/trip_id", NO_UUID),
            ("#/passenger_name", "is required"),
            unknown,
        ]);
        let call = open.ada.post("/bookings/1/payment?bogus=1").header("idempotency-key", "").json(&json!({}));
        call.send().await.is_invalid(&[("{bookingId}", NO_UUID), key, ("#/source", "is required"), unknown]);
    }
}
