//! What can still be done with a booking once its train has left.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{GOOD, Open, TRIP, card, payment, text};

/// When the trip leaves, and the moment before.
const DEPARTURE: &str = "2026-05-20T03:52:00Z";
const JUST_BEFORE: &str = "2026-05-20T03:51:59.999999Z";

/// A trip on the same day, by a train that is not in the timetable.
const WITHDRAWN: &str = "00000000-0000-8000-8000-000000005071";

impl Open {
    /// Moves bookings to a trip that is not in the timetable, as if an earlier one had had it.
    async fn withdraw_trip(&self, bookings: &[&Value]) {
        let (trip, withdrawn): (Uuid, Uuid) = (TRIP.parse().unwrap(), WITHDRAWN.parse().unwrap());
        let ids: Vec<Uuid> = bookings.iter().map(|booking| text(booking, "id").parse().unwrap()).collect();
        let moved = self.db.write(move |tx| {
            tx.execute(
                "INSERT INTO trip_seats (trip_id, origin, destination, date, taken)
                 SELECT $2, origin, destination, date, taken FROM trip_seats WHERE trip_id = $1",
                &[trip.into(), withdrawn.into()],
            )?;
            for id in &ids {
                tx.execute(
                    "UPDATE booking SET trip_id = $2 WHERE id = $1",
                    &[(*id).into(), withdrawn.into()],
                )?;
            }
            Ok(())
        });
        moved.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    }
}

testkit::on_both_engines! {
    async fn paid_booking_stays_confirmed_after_departure(open: Open) {
        open.advance_to(JUST_BEFORE).await;
        let (kept, cancelled) = (open.ada.hold(TRIP).await, open.ada.hold(TRIP).await);
        for made in [&kept, &cancelled] {
            open.ada.pay(made, &card(GOOD)).await.has_status(200);
        }
        open.ada.cancel(&cancelled).await.has_status(204);
        open.advance_to(DEPARTURE).await;
        let before = open.kept().await;
        let refused = open.ada.cancel(&kept).await;
        assert_eq!(
            refused.is_problem(409, "departed"),
            "The train has left, so what was paid does not go back. The booking stays confirmed."
        );
        assert_eq!(open.ada.status(&kept).await, "confirmed");
        assert_eq!(open.kept().await, before, "nothing was given back");
        // It gets 404 for other users, and after it was cancelled.
        open.ben.cancel(&kept).await.is_problem(404, "not-found");
        open.ada.cancel(&cancelled).await.is_problem(404, "not-found");
    }

    async fn payment_after_departure_is_rejected(open: Open) {
        open.advance_to("2026-05-20T03:00:00Z").await;
        let made = open.ada.hold(TRIP).await;
        // The hold ends with the departure, though its hour is not over.
        assert_eq!(made["expires_at"], json!(DEPARTURE));
        open.advance_to(DEPARTURE).await;
        for swept in [false, true] {
            if swept {
                open.do_due_work().await;
            }
            let before = open.rows("payment").await;
            let refused = open.ada.pay(&made, &card(GOOD)).await;
            assert_eq!(refused.is_problem(409, "departed"), "The trip departed at 2026-05-20T03:52:00Z.");
            assert_eq!(open.rows("payment").await, before);
        }
        assert!(open.rows("sandbox_charge").await.is_empty(), "nothing was charged");
        assert_eq!(open.ada.status(&made).await, "expired");
        open.ada.cancel(&made).await.has_status(204);
        open.ada.booking(text(&made, "id")).await.is_problem(404, "not-found");
    }

    async fn payment_decided_after_departure_is_refunded(open: Open) {
        open.advance_to(JUST_BEFORE).await;
        let made = open.ada.hold(TRIP).await;
        let pending = open.ada.pay(&made, &card("4000000000000077")).await;
        assert_eq!(pending.has_status(200).json()["status"], "pending");
        open.advance_to("2026-05-20T03:52:05Z").await;
        open.do_due_work().await;
        assert_eq!(open.ada.status(&made).await, "expired");
        let payments = open.rows("payment").await;
        assert!(payments.len() == 1 && payments[0].contains("refunded"), "{payments:?}");
    }

    async fn trip_that_no_longer_runs_cannot_be_paid_for(open: Open) {
        let (held, paid) = (open.ada.hold(TRIP).await, open.ada.hold(TRIP).await);
        open.ada.pay(&paid, &card(GOOD)).await.has_status(200);
        open.withdraw_trip(&[&held, &paid]).await;
        let before = open.rows("sandbox_charge").await;
        for _ in 0..2 {
            let call = open.ada.post(&payment(&held)).header("idempotency-key", "once").json(&card(GOOD));
            assert_eq!(
                call.send().await.is_problem(409, "no-longer-runs"),
                "The trip is not in the timetable any more. Nothing was charged; cancel the booking and find another trip."
            );
        }
        assert_eq!(open.rows("sandbox_charge").await, before, "nothing was charged");
        open.ada.pay(&paid, &card(GOOD)).await.is_problem(409, "already-paid");
        assert_eq!(open.ada.get("/problems/no-longer-runs").send().await.status, 200);
        // The payment is refunded.
        for made in [&held, &paid] {
            open.ada.cancel(made).await.has_status(204);
        }
        open.do_due_work().await;
        assert!(open.rows("payment").await[0].contains("refunded"));
    }

    async fn trip_that_no_longer_runs_has_departed_after_its_day(open: Open) {
        let (held, kept, cancelled) =
            (open.ada.hold(TRIP).await, open.ada.hold(TRIP).await, open.ada.hold(TRIP).await);
        for made in [&kept, &cancelled] {
            open.ada.pay(made, &card(GOOD)).await.has_status(200);
        }
        open.withdraw_trip(&[&held, &kept, &cancelled]).await;
        // The day ends last where the clocks are furthest behind, in Lisbon and London.
        open.advance_to("2026-05-20T22:59:59.999999Z").await;
        open.ada.pay(&held, &card(GOOD)).await.is_problem(409, "booking-expired");
        open.ada.cancel(&cancelled).await.has_status(204);
        open.advance_to("2026-05-20T23:00:00Z").await;
        assert_eq!(open.ada.pay(&held, &card(GOOD)).await.is_problem(409, "departed"), "The day of the trip is over.");
        open.ada.cancel(&kept).await.is_problem(409, "departed");
        assert_eq!(open.ada.status(&kept).await, "confirmed");
    }
}
