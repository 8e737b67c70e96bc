//! What one user may do before others are hurt: unpaid holds, declined payments, test events.

use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::{Answer, Store};
use train::Settings;
use uuid::Uuid;

use crate::{
    fixture::{GOOD, NOTHING, Open, SMALL, Setup, TRIP, booking, card, payment, text},
    person::Person,
};

const DECLINED: &str = "4000000000000002";

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

fn with(settings: Settings) -> Setup {
    Setup { settings, demo: true, ..Setup::default() }
}

/// A new subscription to an address without a listener.
fn hook() -> Value {
    json!({"url": "http://127.0.0.1:9/hooks"})
}

testkit::on_both_engines! {
    async fn forty_concurrent_bookings_make_at_most_twenty_unpaid_holds(open: Open) {
        let body = booking(TRIP);
        let answers = join_all((0..40).map(|_| open.ada.book(&body))).await;
        assert_eq!((count(&answers, 201), count(&answers, 409)), (20, 20));
        let refused = answers.iter().find(|answer| answer.status == 409).unwrap();
        assert_eq!(
            refused.is_problem(409, "too-many-holds"),
            "There can be 20 bookings that are not paid for; pay for one or cancel it."
        );
        assert_eq!(refused.header("retry-after"), "3600");
        assert_eq!(open.seats(TRIP).await, 320);
        // Another user is not affected.
        open.ben.hold(TRIP).await;
        assert_eq!(open.ada.get("/problems/too-many-holds").send().await.status, 200);
    }

    async fn paid_cancelled_or_expired_hold_frees_the_limit(store: Store) {
        let settings = Settings { unpaid_holds: 2, ..Settings::default() };
        let open = Open::on(store, with(settings)).await;
        let first = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_millis(90_500)).await;
        let second = open.ada.hold(SMALL).await;
        let refused = open.ada.book(&booking(TRIP)).await;
        refused.is_problem(409, "too-many-holds");
        // The first one expires in an hour less what has passed, rounded up.
        assert_eq!(refused.header("retry-after"), "3510");
        open.ada.pay(&first, &card(GOOD)).await.has_status(200);
        let third = open.ada.hold(TRIP).await;
        open.ada.book(&booking(TRIP)).await.is_problem(409, "too-many-holds");
        open.ada.cancel(&third).await.has_status(204);
        open.ada.hold(TRIP).await;
        let refused = open.ada.book(&booking(TRIP)).await;
        refused.is_problem(409, "too-many-holds");
        assert_eq!(refused.header("retry-after"), "3600");
        open.advance(SignedDuration::from_hours(1)).await;
        assert_eq!(open.ada.status(&second).await, "expired");
        open.ada.hold(TRIP).await;
    }

    async fn rejection_by_a_limit_is_not_stored_for_the_idempotency_key(store: Store) {
        let settings = Settings { unpaid_holds: 1, declined_payments_per_hour: 1, ..Settings::default() };
        let open = Open::on(store, with(settings)).await;
        let first = open.ada.hold(TRIP).await;
        let book = || open.ada.post("/bookings").header("idempotency-key", "a").json(&booking(TRIP)).send();
        book().await.is_problem(409, "too-many-holds");
        open.ada.pay(&first, &card(DECLINED)).await.has_status(200);
        let pay = || open.ada.post(&payment(&first)).header("idempotency-key", "b").json(&card(GOOD)).send();
        pay().await.is_problem(429, "too-many-requests");
        open.advance(SignedDuration::from_hours(1)).await;
        let made = book().await.has_status(201).json();
        book().await.is(201, &made);
        pay().await.is_problem(409, "booking-expired");
    }

    async fn booking_has_at_most_ten_declined_payments_an_hour(store: Store) {
        let open = Open::on(store, with(Settings { hold_seconds: 3 * 3600, ..Settings::default() })).await;
        let made = open.ada.hold(TRIP).await;
        let declined = card(DECLINED);
        for minute in 0..10 {
            let answer = open.ada.pay(&made, &declined).await;
            assert_eq!(answer.has_status(200).json()["failure"], "card_declined", "{minute}");
            open.advance(SignedDuration::from_mins(1)).await;
        }
        let refused = open.ada.pay(&made, &card(GOOD)).await;
        assert_eq!(
            refused.is_problem(429, "too-many-requests"),
            "10 payments for this booking failed within an hour. Wait, or book again."
        );
        assert_eq!(refused.header("retry-after"), "3000");
        // Another booking of the user's is not affected.
        let other = open.ada.hold(TRIP).await;
        open.ada.pay(&other, &declined).await.has_status(200);
        open.advance(SignedDuration::from_secs(2999)).await;
        assert_eq!(open.ada.pay(&made, &card(GOOD)).await.has_status(429).header("retry-after"), "1");
        open.advance(SignedDuration::from_secs(1)).await;
        open.ada.pay(&made, &declined).await.has_status(200);
        // The second of the first ten still counts.
        assert_eq!(open.ada.pay(&made, &card(GOOD)).await.has_status(429).header("retry-after"), "60");
        open.advance(SignedDuration::from_mins(1)).await;
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }

    async fn concurrent_payments_do_not_exceed_the_limit_of_declined_ones(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let declined = card(DECLINED);
        let mut failed = 0;
        // In each round some are rejected because another payment is pending.
        for _ in 0..100 {
            let answers = join_all((0..16).map(|_| open.ada.pay(&made, &declined))).await;
            failed += count(&answers, 200);
            if answers.iter().all(|answer| answer.status == 429) {
                break;
            }
        }
        assert_eq!(failed, 10);
        open.ada.pay(&made, &card(GOOD)).await.is_problem(429, "too-many-requests");
    }

    async fn eighty_concurrent_requests_make_at_most_sixty_test_events(store: Store) {
        let open = Open::on(store, with(Settings::default())).await;
        let made = open.ada.post("/webhooks").json(&hook()).send().await.has_status(201).json();
        let other = open.ada.post("/webhooks").json(&hook()).send().await.has_status(201).json();
        let test = |id: &str| open.ada.post(&format!("/webhooks/{id}/test")).send();
        let (id, other) = (text(&made, "id"), text(&other, "id"));
        let answers = join_all((0..80).map(|_| test(id))).await;
        assert_eq!((count(&answers, 202), count(&answers, 429)), (60, 20));
        let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
        assert_eq!(
            refused.is_problem(429, "too-many-requests"),
            "60 test events and redeliveries were requested for this subscription within an hour."
        );
        assert_eq!(refused.header("retry-after"), "3600");
        assert_eq!(open.rows("webhook_event").await.len(), 60);
        test(other).await.has_status(202);
        open.advance(SignedDuration::from_secs(3599)).await;
        assert_eq!(test(id).await.has_status(429).header("retry-after"), "1");
        open.advance(SignedDuration::from_secs(1)).await;
        test(id).await.has_status(202);
    }

    async fn redeliveries_count_with_test_events(store: Store) {
        let settings = Settings { test_events_per_hour: 3, ..Settings::default() };
        let open = Open::on(store, with(settings)).await;
        let made = open.ada.post("/webhooks").json(&hook()).send().await.has_status(201).json();
        let path = format!("/webhooks/{}", text(&made, "id"));
        let redeliver = |body: Value| open.ada.post(&format!("{path}/redeliver")).json(&body).send();
        let since = json!({"since": "2026-01-01T00:00:00Z"});
        let test = || open.ada.post(&format!("{path}/test")).send();
        test().await.has_status(202);
        let event = open.db.read(|tx| tx.row("SELECT id FROM webhook_event", &[], |row| row.get::<Uuid>(0)));
        let event = event.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        let event = json!({"event_id": event.unwrap()});
        redeliver(since.clone()).await.is(200, &json!({"events": 0}));
        // Requests with 404 do not count.
        redeliver(json!({"event_id": NOTHING})).await.is_problem(404, "not-found");
        redeliver(event.clone()).await.is(200, &json!({"events": 1}));
        for refused in [redeliver(since).await, redeliver(event).await, test().await] {
            assert_eq!(
                refused.is_problem(429, "too-many-requests"),
                "3 test events and redeliveries were requested for this subscription within an hour."
            );
            assert_eq!(refused.header("retry-after"), "3600");
        }
        redeliver(json!({"event_id": NOTHING})).await.is_problem(404, "not-found");
    }

    async fn deleted_subscriptions_do_not_reset_the_count_of_their_owner(store: Store) {
        let settings = Settings { test_events_per_hour: 1, ..Settings::default() };
        let open = Open::on(store, with(settings)).await;
        let test_and_delete = async |person: &Person| {
            let made = person.post("/webhooks").json(&hook()).send().await.has_status(201).json();
            let path = format!("/webhooks/{}", text(&made, "id"));
            let answer = person.post(&format!("{path}/test")).send().await;
            person.delete(&path).send().await.has_status(204);
            answer
        };
        for _ in 0..20 {
            test_and_delete(&open.ada).await.has_status(202);
        }
        let refused = test_and_delete(&open.ada).await;
        assert_eq!(
            refused.is_problem(429, "too-many-requests"),
            "20 test events and redeliveries were requested for the caller's subscriptions within an hour."
        );
        assert_eq!(refused.header("retry-after"), "3600");
        test_and_delete(&open.ben).await.has_status(202);
        open.advance(SignedDuration::from_hours(1)).await;
        test_and_delete(&open.ada).await.has_status(202);
    }

    async fn declined_payments_of_a_user_are_limited_over_all_bookings(store: Store) {
        let settings = Settings { declined_payments_per_user_per_hour: 3, ..Settings::default() };
        let open = Open::on(store, with(Settings { hold_seconds: 3 * 3600, ..settings })).await;
        let mut bookings = Vec::new();
        for _ in 0..4 {
            bookings.push(open.ada.hold(TRIP).await);
        }
        for made in &bookings[..3] {
            open.ada.pay(made, &card(DECLINED)).await.has_status(200);
            open.advance(SignedDuration::from_mins(1)).await;
        }
        for made in &bookings {
            let refused = open.ada.pay(made, &card(GOOD)).await;
            assert_eq!(
                refused.is_problem(429, "too-many-requests"),
                "3 payments of this user failed within an hour or are not decided yet. Wait before you pay again."
            );
            assert_eq!(refused.header("retry-after"), "3420");
        }
        let other = open.ben.hold(TRIP).await;
        open.ben.pay(&other, &card(DECLINED)).await.has_status(200);
        open.advance(SignedDuration::from_mins(57)).await;
        assert_eq!(open.ada.pay(&bookings[3], &card(GOOD)).await.has_status(200).json()["status"], "succeeded");
        // One that succeeded does not count.
        open.ada.pay(&bookings[0], &card(DECLINED)).await.has_status(200);
        open.ada.pay(&bookings[1], &card(GOOD)).await.is_problem(429, "too-many-requests");
    }

    async fn concurrent_payments_do_not_exceed_the_limit_of_a_users_declined_ones(store: Store) {
        let settings = Settings { declined_payments_per_user_per_hour: 5, ..Settings::default() };
        let open = Open::on(store, with(settings)).await;
        let bookings = join_all((0..16).map(|_| open.ada.hold(TRIP))).await;
        let declined = card(DECLINED);
        let answers = join_all(bookings.iter().map(|made| open.ada.pay(made, &declined))).await;
        assert_eq!((count(&answers, 200), count(&answers, 429)), (5, 11));
    }
}
