//! What can still be done with a booking once its train has left.

use serde_json::json;

use crate::fixture::{GOOD, Open, TRIP, card, text};

/// When the trip leaves, and the moment before.
const DEPARTURE: &str = "2026-05-20T03:52:00Z";
const JUST_BEFORE: &str = "2026-05-20T03:51:59.999999Z";

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
        // To others it does not exist, and what is cancelled is gone.
        open.ben.cancel(&kept).await.is_problem(404, "not-found");
        open.ada.cancel(&cancelled).await.is_problem(404, "not-found");
    }

    async fn payment_after_departure_is_refused(open: Open) {
        open.advance_to("2026-05-20T03:00:00Z").await;
        let made = open.ada.hold(TRIP).await;
        // The hold ends with the departure, though its hour is not over.
        assert_eq!(made["expires_at"], json!(DEPARTURE));
        open.advance_to(DEPARTURE).await;
        let before = open.kept().await;
        let refused = open.ada.pay(&made, &card(GOOD)).await;
        assert_eq!(refused.is_problem(409, "departed"), "The trip departed at 2026-05-20T03:52:00Z.");
        assert_eq!(open.kept().await, before, "nothing was charged");
        assert_eq!(open.ada.status(&made).await, "expired");
        open.ada.cancel(&made).await.has_status(204);
        open.ada.booking(text(&made, "id")).await.is_problem(404, "not-found");
    }

    async fn payment_decided_after_departure_is_given_back(open: Open) {
        open.advance_to(JUST_BEFORE).await;
        let made = open.ada.hold(TRIP).await;
        let pending = open.ada.pay(&made, &card("4000000000000077")).await;
        assert_eq!(pending.has_status(200).json()["status"], "pending");
        open.advance_to("2026-05-20T03:52:05Z").await;
        open.work_off().await;
        assert_eq!(open.ada.status(&made).await, "expired");
        let payments = open.rows("payment").await;
        assert!(payments.len() == 1 && payments[0].contains("refunded"), "{payments:?}");
    }
}
