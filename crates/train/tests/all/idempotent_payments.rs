//! `Idempotency-Key` on payments: a request that is sent twice pays once.

use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::Answer;
use tokio::task::JoinSet;

use crate::{
    fixture::{GOOD, Open, TRIP, card, number, payment, text},
    person::Person,
};

const KEY: &str = "pay-8e03978e";

/// Pays with a key.
async fn pay(person: &Person, key: &str, booking: &Value, body: &Value) -> Answer {
    person.post(&payment(booking)).header("idempotency-key", key).json(body).send().await
}

#[track_caller]
fn is_reused(answer: &Answer) {
    assert_eq!(
        answer.is_problem(422, "idempotency-key-reused"),
        "This Idempotency-Key was used with another body before; use a new key for another request."
    );
}

/// A card with another value for one member.
fn with(member: &str, value: Value) -> Value {
    let mut body = card(GOOD);
    body["source"][member] = value;
    body
}

testkit::on_both_engines! {
    async fn first_answer_is_repeated_without_a_charge(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let first = pay(&open.ada, KEY, &made, &card(GOOD)).await;
        let paid = first.has_status(200).json();
        let before = open.kept().await;
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &paid);
        assert_eq!(pay(&open.ada, KEY, &made, &card(GOOD)).await.text(), first.text(), "byte for byte");
        let xml = "<payment><source><object>card</object><name>A. Lovelace</name><number>4242424242424242</number>\
                   <cvc>987</cvc><exp_month>12</exp_month><exp_year>2031</exp_year>\
                   <address_country>GB</address_country></source></payment>";
        let call = open.ada.post(&payment(&made)).header("idempotency-key", KEY);
        let answer = call.header("accept", "application/xml").body("application/xml", xml).send().await;
        let expected = format!("<payment><id>{}</id><amount>89.00</amount>", text(&paid, "id"));
        assert!(answer.has_status(200).text().contains(&expected), "{}", answer.text());
        assert_eq!(open.kept().await, before);
        // Also after the booking was deleted.
        open.ada.cancel(&made).await.has_status(204);
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &paid);
        pay(&open.ada, "another", &made, &card(GOOD)).await.is_problem(404, "not-found");
    }

    async fn key_with_another_body_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut body = card("4000000000000002");
        body["amount"] = number("89.0");
        let failed = pay(&open.ada, KEY, &made, &body).await.has_status(200).json();
        assert_eq!(failed["status"], "failed");
        let before = open.kept().await;
        let mut other = body.clone();
        other["source"]["number"] = json!(GOOD);
        is_reused(&pay(&open.ada, KEY, &made, &other).await);
        for (member, value) in [
            ("cvc", json!("988")),
            ("name", json!("B. Lovelace")),
            ("exp_month", json!(11)),
            ("exp_year", json!(2032)),
            ("address_country", json!("fr")),
            ("address_line1", json!("x")),
            ("address_line2", json!("x")),
            ("address_city", json!("x")),
            ("address_post_code", json!("x")),
        ] {
            let mut other = body.clone();
            other["source"][member] = value;
            is_reused(&pay(&open.ada, KEY, &made, &other).await);
        }
        is_reused(&pay(&open.ada, KEY, &made, &card("4000000000000002")).await);
        body["currency"] = json!("eur");
        is_reused(&pay(&open.ada, KEY, &made, &body).await);
        body.as_object_mut().unwrap().remove("currency");
        body["amount"] = number("89.00");
        pay(&open.ada, KEY, &made, &body).await.is(200, &failed);
        assert_eq!(open.kept().await, before);
        // A new try is a new request.
        pay(&open.ada, "next", &made, &card(GOOD)).await.has_status(200);
        assert_eq!(open.ada.status(&made).await, "confirmed");
        pay(&open.ada, KEY, &made, &body).await.is(200, &failed);
    }

    async fn key_is_separate_for_each_booking_and_operation(open: Open) {
        let call = open.ada.post("/bookings").header("idempotency-key", KEY);
        let made = call.json(&crate::fixture::booking(TRIP)).send().await.has_status(201).json();
        let other = open.ada.hold(TRIP).await;
        let bens = open.ben.hold(TRIP).await;
        let first = pay(&open.ada, KEY, &made, &card(GOOD)).await.has_status(200).json();
        let second = pay(&open.ada, KEY, &other, &card(GOOD)).await.has_status(200).json();
        let third = pay(&open.ben, KEY, &bens, &card(GOOD)).await.has_status(200).json();
        assert!(first["id"] != second["id"] && second["id"] != third["id"]);
        // A caller that guesses another user's key learns nothing about its request.
        pay(&open.ben, KEY, &made, &card(GOOD)).await.is_problem(404, "not-found");
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &first);
        pay(&open.ada, KEY, &other, &card(GOOD)).await.is(200, &second);
        assert_eq!(open.rows("sandbox_charge").await.len(), 3);
    }

    async fn pending_payment_stays_the_first_answer(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let pending = pay(&open.ada, KEY, &made, &card("4000000000000077")).await.has_status(200).json();
        assert_eq!(pending["status"], "pending");
        pay(&open.ada, KEY, &made, &card("4000000000000077")).await.is(200, &pending);
        open.advance(SignedDuration::from_secs(5)).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "confirmed");
        pay(&open.ada, KEY, &made, &card("4000000000000077")).await.is(200, &pending);
        assert_eq!(open.rows("sandbox_charge").await.len(), 1);
    }

    async fn invalid_payment_does_not_use_its_key(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut wrong = card(GOOD);
        wrong["amount"] = json!(1);
        let due = "must be the price, 89.00 eur, or absent";
        pay(&open.ada, KEY, &made, &wrong).await.is_invalid(&[("#/amount", due)]);
        pay(&open.ada, KEY, &made, &card("4242424242424241")).await.is_problem(400, "invalid-request");
        pay(&open.ada, KEY, &made, &with("exp_year", json!(2025))).await.is_problem(400, "invalid-request");
        pay(&open.ada, KEY, &made, &json!({})).await.is_invalid(&[("#/source", "is required")]);
        assert!(open.rows("idempotency").await.is_empty());
        let paid = pay(&open.ada, KEY, &made, &card(GOOD)).await.has_status(200).json();
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &paid);
    }

    async fn rejection_is_repeated_for_its_key(open: Open) {
        let (paid, lost) = (open.ada.hold(TRIP).await, open.ada.hold(TRIP).await);
        open.ada.pay(&paid, &card(GOOD)).await.has_status(200);
        let said = pay(&open.ada, KEY, &paid, &card(GOOD)).await.is_problem(409, "already-paid");
        open.ada.cancel(&paid).await.has_status(204);
        assert_eq!(pay(&open.ada, KEY, &paid, &card(GOOD)).await.is_problem(409, "already-paid"), said);
        open.advance(SignedDuration::from_hours(1)).await;
        let said = pay(&open.ada, KEY, &lost, &card(GOOD)).await.is_problem(409, "booking-expired");
        open.ada.cancel(&lost).await.has_status(204);
        assert_eq!(pay(&open.ada, KEY, &lost, &card(GOOD)).await.is_problem(409, "booking-expired"), said);
    }

    async fn answer_is_kept_for_twenty_four_hours_after_the_card_expired(open: Open) {
        open.advance_to("2026-05-31T23:00:00Z").await;
        let made = open.ada.hold("2f87bac9-12fc-8000-80a8-ac01000050c4").await;
        let mut body = with("exp_year", json!(2026));
        body["source"]["exp_month"] = json!(5);
        let paid = pay(&open.ada, KEY, &made, &body).await.has_status(200).json();
        open.advance(SignedDuration::from_hours(24) - SignedDuration::from_micros(1)).await;
        pay(&open.ada, KEY, &made, &body).await.is(200, &paid);
        open.advance(SignedDuration::from_micros(1)).await;
        pay(&open.ada, KEY, &made, &body).await.is_problem(409, "already-paid");
    }

    async fn concurrent_requests_with_one_key_charge_once(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let (ada, made) = (open.ada.clone(), made.clone());
            calls.spawn(async move { pay(&ada, KEY, &made, &card(GOOD)).await });
        }
        let answers = calls.join_all().await;
        let paid = answers.iter().find(|answer| answer.status == 200).unwrap().json();
        for answer in &answers {
            match answer.status {
                200 => answer.is(200, &paid),
                _ => assert_eq!(
                    answer.is_problem(409, "idempotency-key-in-use"),
                    "The first request with this Idempotency-Key has not been answered yet."
                ),
            }
        }
        assert_eq!(open.rows("sandbox_charge").await.len(), 1);
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &paid);
    }

    async fn concurrent_requests_without_a_key_charge_once(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut calls = JoinSet::new();
        for _ in 0..30 {
            let (ada, made) = (open.ada.clone(), made.clone());
            calls.spawn(async move { ada.pay(&made, &card(GOOD)).await });
        }
        let mut paid = 0;
        for answer in calls.join_all().await {
            if answer.status == 200 {
                paid += 1;
                continue;
            }
            let kind = answer.has_status(409).json()["type"].clone();
            assert!(kind == "/problems/payment-under-way" || kind == "/problems/already-paid", "{kind}");
        }
        assert_eq!((paid, open.rows("sandbox_charge").await.len()), (1, 1));
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }

    /// As after a crash: the payment is written down and its key is taken, but there is no response.
    async fn key_of_an_undecided_payment_is_in_use(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let paid = pay(&open.ada, KEY, &made, &card(GOOD)).await.has_status(200).json();
        let crash = open.db.write(|tx| {
            tx.execute("UPDATE idempotency SET answer = NULL", &[])?;
            tx.execute("UPDATE booking SET status = 'held'", &[])?;
            let later: jiff::Timestamp = "2026-05-13T10:01:00Z".parse().unwrap();
            tx.execute("UPDATE payment SET status = 'processing', check_at = $1", &[later.into()])
        });
        assert_eq!(crash.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
        let answer = pay(&open.ada, KEY, &made, &card(GOOD)).await;
        answer.is_problem(409, "idempotency-key-in-use");
        assert_eq!(answer.json()["title"], "Idempotency-Key in use");
        is_reused(&pay(&open.ada, KEY, &made, &with("cvc", json!("000"))).await);
        open.advance(SignedDuration::from_secs(60)).await;
        open.do_due_work().await;
        pay(&open.ada, KEY, &made, &card(GOOD)).await.is(200, &paid);
        assert_eq!(open.rows("sandbox_charge").await.len(), 1);
    }

    async fn malformed_key_is_rejected_as_for_bookings(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let too_long = "k".repeat(256);
        for key in ["", "naïve", &too_long] {
            let said = ("Idempotency-Key", "must be 1 to 255 characters of ASCII, such as a UUID");
            pay(&open.ada, key, &made, &card(GOOD)).await.is_invalid(&[said]);
        }
        let call =
            open.ada.post(&payment(&made)).header("idempotency-key", "a").header("idempotency-key", "b");
        let answer = call.json(&card(GOOD)).send().await;
        answer.is_invalid(&[("Idempotency-Key", "must be sent once")]);
        assert_eq!(open.ada.status(&made).await, "held");
    }
}
