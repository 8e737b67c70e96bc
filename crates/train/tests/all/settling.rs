//! Payments that are decided later, and refunds.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fixture::{GOOD, Open, TRIP, card, each, text};

/// A card whose payments are decided five seconds later.
const PENDING: &str = "4000000000000077";

const SECOND: SignedDuration = SignedDuration::from_secs(1);

impl Open {
    /// The charges of the sandbox, as outcome and whether the money went back.
    async fn charges(&self) -> Vec<(String, bool)> {
        let rows = self.db.read(|tx| {
            tx.rows("SELECT outcome, refunded_at FROM sandbox_charge ORDER BY payment_id", &[], |row| {
                Ok((row.get(0)?, row.get::<Option<jiff::Timestamp>>(1)?.is_some()))
            })
        });
        rows.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    /// The stored stages of the payments.
    async fn stages(&self) -> Vec<String> {
        let rows =
            self.db.read(|tx| tx.rows("SELECT status FROM payment ORDER BY id", &[], |row| row.get(0)));
        rows.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    async fn pay_pending(&self, booking: &Value) {
        let body = self.ada.pay(booking, &card(PENDING)).await.has_status(200).json();
        assert_eq!((text(&body, "status"), body.get("failure")), ("pending", None));
        assert_eq!(body["source"]["number"], "************0077");
    }
}

fn once(outcome: &str, refunded: bool) -> Vec<(String, bool)> {
    vec![(outcome.to_owned(), refunded)]
}

testkit::on_both_engines! {
    async fn decided_payment_confirms_the_booking(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.pay_pending(&made).await;
        open.ada.booking(text(&made, "id")).await.is(200, &made);
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "held");
        open.advance(SECOND * 5 - SignedDuration::from_micros(1)).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "held");
        open.advance(SignedDuration::from_micros(1)).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "confirmed");
        assert_eq!(
            (open.charges().await, open.stages().await),
            (once("succeeded", false), vec!["succeeded".into()])
        );
        assert_eq!(open.seats(TRIP).await, 339);
        open.ada.pay(&made, &card(GOOD)).await.is_problem(409, "already-paid");
    }

    async fn pending_payment_blocks_another(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.pay_pending(&made).await;
        let before = open.kept().await;
        for number in [GOOD, PENDING, "4000000000000002"] {
            let answer = open.ada.pay(&made, &card(number)).await;
            assert_eq!(
                answer.is_problem(409, "payment-under-way"),
                "Another payment for this booking has not been decided yet."
            );
            assert_eq!(answer.json()["title"], "Payment under way");
        }
        assert_eq!(open.kept().await, before);
        // Another booking is not affected.
        let other = open.ada.hold(TRIP).await;
        open.ada.pay(&other, &card(GOOD)).await.has_status(200);
    }

    async fn background_task_settles_payments(open: Open) {
        let task = tokio::spawn(open.train.clone().run(std::future::pending()));
        let made = open.ada.hold(TRIP).await;
        let unpaid = open.ada.hold(TRIP).await;
        open.pay_pending(&made).await;
        open.advance(SECOND * 5).await;
        testkit::until(async || open.ada.status(&made).await != "held").await;
        assert_eq!(open.ada.status(&made).await, "confirmed");
        open.advance(SignedDuration::from_hours(1)).await;
        testkit::until(async || open.rows("booking").await.iter().any(|row| row.contains("expired"))).await;
        assert_eq!(open.ada.status(&unpaid).await, "expired");
        open.ada.cancel(&made).await.has_status(204);
        testkit::until(async || open.charges().await == once("succeeded", true)).await;
        assert!(!task.is_finished());
        task.abort();
    }

    async fn payment_decided_after_the_hold_is_refunded(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_hours(1) - SECOND * 3).await;
        open.pay_pending(&made).await;
        open.advance(SECOND * 3).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "expired");
        assert_eq!(
            (open.charges().await, open.stages().await),
            (once("succeeded", false), vec!["pending".into()])
        );
        open.ada.pay(&made, &card(GOOD)).await.is_problem(409, "booking-expired");
        open.advance(SECOND * 2).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "expired");
        assert_eq!(
            (open.charges().await, open.stages().await),
            (once("succeeded", true), vec!["refunded".into()])
        );
        assert_eq!(open.seats(TRIP).await, 340);
        let settled = open.kept().await;
        open.advance(SECOND * 3600).await;
        open.do_due_work().await;
        assert_eq!(open.kept().await, settled, "and that is the end of it");
    }

    async fn payment_decided_when_the_hold_expires_is_refunded(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_hours(1) - SECOND * 5).await;
        open.pay_pending(&made).await;
        open.advance(SECOND * 5).await;
        // Whether or not the hold is swept first.
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "expired");
        assert_eq!(open.charges().await, once("succeeded", true));
    }

    async fn pending_payment_of_a_cancelled_booking_is_refunded(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.pay_pending(&made).await;
        open.ada.cancel(&made).await.has_status(204);
        assert_eq!(open.seats(TRIP).await, 340);
        open.do_due_work().await;
        open.ada.booking(text(&made, "id")).await.is_problem(404, "not-found");
        open.advance(SECOND * 5).await;
        open.do_due_work().await;
        assert_eq!(
            (open.charges().await, open.stages().await),
            (once("succeeded", true), vec!["refunded".into()])
        );
        assert_eq!(open.seats(TRIP).await, 340);
        open.ada.booking(text(&made, "id")).await.is_problem(404, "not-found");
    }

    async fn cancelled_confirmed_booking_is_refunded_once(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.ada.pay(&made, &card("4000000000000002")).await.has_status(200);
        open.clock.advance(SECOND);
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        open.ada.cancel(&made).await.has_status(204);
        assert_eq!(open.seats(TRIP).await, 340);
        assert_eq!(open.stages().await, ["failed", "refunding"]);
        open.do_due_work().await;
        let expected = vec![("card_declined".to_owned(), false), ("succeeded".to_owned(), true)];
        assert_eq!(
            (open.charges().await, open.stages().await),
            (expected, vec!["failed".into(), "refunded".into()])
        );
        let settled = open.kept().await;
        open.advance(SignedDuration::from_hours(24)).await;
        open.do_due_work().await;
        assert_eq!(open.kept().await, settled);
        assert!(each(&open.ada.get("/bookings").send().await, "id").is_empty());
    }

    async fn cancelled_unpaid_booking_is_not_refunded(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.ada.pay(&made, &card("4000000000009995")).await.has_status(200);
        open.ada.cancel(&made).await.has_status(204);
        open.do_due_work().await;
        assert_eq!(open.charges().await, once("insufficient_funds", false));
        assert_eq!(open.stages().await, ["failed"]);
    }

    /// What a crash between the two leaves behind: written down, and the processor never heard of it.
    async fn payment_without_a_charge_request_fails_and_another_is_possible(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        let crash = open.db.write(|tx| {
            tx.execute("DELETE FROM sandbox_charge", &[])?;
            tx.execute("UPDATE booking SET status = 'held'", &[])?;
            let later: jiff::Timestamp = "2026-05-13T10:01:00Z".parse().unwrap();
            tx.execute("UPDATE payment SET status = 'processing', check_at = $1", &[later.into()])
        });
        assert_eq!(crash.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
        open.ada.pay(&made, &card(GOOD)).await.is_problem(409, "payment-under-way");
        open.do_due_work().await;
        open.ada.pay(&made, &card(GOOD)).await.is_problem(409, "payment-under-way");
        open.advance(SECOND * 60).await;
        open.do_due_work().await;
        assert_eq!((open.charges().await, open.stages().await), (once("void", false), vec!["failed".into()]));
        assert_eq!(open.ada.status(&made).await, "held");
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        assert_eq!(open.ada.status(&made).await, "confirmed");
        assert_eq!(open.stages().await, ["failed", "succeeded"]);
    }

    /// The other crash: the processor charged, and the result was not stored.
    async fn unrecorded_charge_is_found(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let body = open.ada.pay(&made, &card(GOOD)).await.has_status(200).json();
        let crash = open.db.write(|tx| {
            tx.execute("UPDATE booking SET status = 'held'", &[])?;
            let later: jiff::Timestamp = "2026-05-13T10:01:00Z".parse().unwrap();
            tx.execute("UPDATE payment SET status = 'processing', check_at = $1", &[later.into()])
        });
        assert_eq!(crash.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
        assert_eq!(open.ada.status(&made).await, "held");
        open.advance(SECOND * 60).await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "confirmed");
        assert_eq!(
            (open.charges().await, open.stages().await),
            (once("succeeded", false), vec!["succeeded".into()])
        );
        assert_eq!(body["status"], json!("succeeded"));
    }
}
