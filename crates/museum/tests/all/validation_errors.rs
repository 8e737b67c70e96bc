//! All validation errors that need no database are listed in one answer.

use serde_json::json;

use crate::fixture::{Open, general};

const PAGE: (&str, &str) = ("?page", "must be a whole number, 1 or more");
const LIMIT: (&str, &str) = ("?limit", "must be a whole number from 1 to 30");

testkit::on_one_engine! {
    async fn invalid_day_of_a_purchase_is_listed_with_the_other_validation_errors(open: Open) {
        let email = ("#/email", "must be an email address like visitor@example.com");
        let mut purchase = general("2026-05-12");
        purchase["email"] = json!("nobody");
        let past = ("#/ticketDate", "must not be in the past; today is 2026-05-13");
        open.buy(&purchase).await.is_invalid(&[past, email]);
        purchase["eventId"] = json!("x");
        let id = ("#/eventId", "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54");
        open.buy(&purchase).await.is_invalid(&[past, email, id]);
        let mut purchase = general("2026-12-25");
        purchase["email"] = json!("nobody");
        purchase["ticketType"] = json!("event");
        let closed = "must be a day on which the museum is open; on 2026-12-25 it is closed";
        open.buy(&purchase).await.is_invalid(&[
            ("#/ticketDate", closed),
            email,
            ("#/eventId", "is required when ticketType is event"),
        ]);
    }

    async fn reversed_range_of_events_is_listed_with_the_other_validation_errors(open: Open) {
        let end = |start: &'static str| ("?endDate", start);
        let answer = open.events("?startDate=2026-05-20&endDate=2026-05-19&limit=99&page=0").await;
        answer.is_invalid(&[PAGE, LIMIT, end("must not be before startDate, which is 2026-05-20")]);
        // Without a start, the range starts today.
        let answer = open.events("?endDate=2026-05-12&limit=99").await;
        answer.is_invalid(&[LIMIT, end("must not be before startDate, which is 2026-05-13")]);
        let answer = open.events("?startDate=x&endDate=2026-05-12&limit=99").await;
        answer.is_invalid(&[("?startDate", "must be a calendar date like 2026-05-17"), LIMIT]);
    }

    async fn change_of_an_event_lists_validation_errors_of_path_and_body(open: Open) {
        open.patch("1", &json!({"name": "", "price": -1})).await.is_invalid(&[
            ("{eventId}", "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54"),
            ("#/name", "must not be empty"),
            ("#/price", "must be a number, 0 or more"),
        ]);
    }
}
