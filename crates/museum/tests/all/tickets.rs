//! `POST /tickets`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{Answer, Store};
use tokio::task::JoinSet;

use crate::fixture::{Open, Setup, event, general, text, ticket_to};

/// A purchase with one member more, or another one.
fn but(mut purchase: Value, member: &str, value: impl Into<Value>) -> Value {
    purchase[member] = value.into();
    purchase
}

/// Asserts that the code is like `ticket-event-a98c8f-7eb12`.
#[track_caller]
fn is_code(code: &str, kind: &str) {
    let parts: Vec<_> = code.split('-').collect();
    let [word, found, first, second] = parts[..] else { panic!("{code}") };
    assert_eq!((word, found, first.len(), second.len()), ("ticket", kind, 6, 5), "{code}");
    assert!(
        (first.bytes().chain(second.bytes())).all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()),
        "{code}"
    );
}

/// Asserts that a ticket was sold, and returns the answer.
#[track_caller]
fn is_sold(answer: &Answer) -> Value {
    let ticket = answer.has_status(201).json();
    assert_eq!(answer.header("location"), format!("/v1.1/tickets/{}/pkpass", text(&ticket, "ticketId")));
    ticket
}

testkit::on_both_engines! {
    async fn general_ticket_is_confirmed(open: Open) {
        let answer = open.buy(&general("2026-05-20")).await;
        let ticket = is_sold(&answer);
        is_code(text(&ticket, "confirmationCode"), "general");
        answer.is(
            201,
            &json!({
                "message": "Your general admission ticket for 2026-05-20 is confirmed",
                "ticketId": ticket["ticketId"],
                "ticketType": "general",
                "ticketDate": "2026-05-20",
                "confirmationCode": ticket["confirmationCode"],
            }),
        );
        let pass = open.ada.get(answer.header("location")).send().await.has_status(200).json();
        assert_eq!(pass["ticketId"], ticket["ticketId"]);
        // Unknown members are ignored, also one that the answer has.
        let sent = but(but(general("2026-05-20"), "seats", 4), "ticketId", "mine");
        let another = is_sold(&open.buy(&sent).await);
        assert_ne!(another["ticketId"], ticket["ticketId"]);
        assert_ne!(another["confirmationCode"], ticket["confirmationCode"]);
    }

    async fn event_ticket_names_its_event(open: Open) {
        let created = open.create(&event("Sasquatch \"Ballet\" 🩰", &["2026-05-20", "2026-05-22"])).await;
        let answer = open.buy(&ticket_to(&created, "2026-05-22")).await;
        let ticket = is_sold(&answer);
        is_code(text(&ticket, "confirmationCode"), "event");
        answer.is(
            201,
            &json!({
                "message": "Your ticket for Sasquatch \"Ballet\" 🩰 on 2026-05-22 is confirmed",
                "eventName": "Sasquatch \"Ballet\" 🩰",
                "ticketId": ticket["ticketId"],
                "ticketType": "event",
                "ticketDate": "2026-05-22",
                "eventId": created["eventId"],
                "confirmationCode": ticket["confirmationCode"],
            }),
        );
        open.ada.get(answer.header("location")).send().await.has_status(200);
        // Each account may buy any number.
        for _ in 0..3 {
            is_sold(&open.ben.post("/v1.1/tickets").json(&ticket_to(&created, "2026-05-20")).send().await);
        }
    }

    async fn all_missing_or_malformed_members_are_listed_in_one_answer(open: Open) {
        open.buy(&json!({})).await.is_invalid(&[
            ("#/ticketType", "is required"),
            ("#/ticketDate", "is required"),
            ("#/email", "is required"),
        ]);
        open.buy(&json!({"ticketType": "vip", "ticketDate": "soon", "email": "ada", "eventId": "ballet"}))
            .await
            .is_invalid(&[
                ("#/ticketType", "must be one of: general, event"),
                ("#/ticketDate", "must be a calendar date like 2026-05-17"),
                ("#/email", "must be an email address like visitor@example.com"),
                ("#/eventId", "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54"),
            ]);
        open.buy(&json!({"ticketType": null, "ticketDate": null, "email": null, "eventId": null}))
            .await
            .is_invalid(&[
                ("#/ticketType", "must not be null"),
                ("#/ticketDate", "must not be null"),
                ("#/email", "must not be null"),
                ("#/eventId", "must not be null"),
            ]);
        open.buy(&json!({"ticketType": 1, "ticketDate": 20260520, "email": ["a@b.de"], "eventId": {}}))
            .await
            .is_invalid(&[
                ("#/ticketType", "must be text"),
                ("#/ticketDate", "must be a calendar date like 2026-05-17"),
                ("#/email", "must be an email address like visitor@example.com"),
                ("#/eventId", "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54"),
            ]);
        for word in ["", "General", "general ", "events"] {
            let answer = open.buy(&but(general("2026-05-20"), "ticketType", word)).await;
            answer.is_invalid(&[("#/ticketType", "must be one of: general, event")]);
        }
        let answer = open.buy(&general("2026-06-31")).await;
        let said = "must be a calendar date like 2026-05-17; there is no 2026-06-31";
        answer.is_invalid(&[("#/ticketDate", said)]);
    }

    async fn event_id_is_required_only_for_event_tickets(open: Open) {
        let created = open.create(&event("Ballet", &["2026-05-20"])).await;
        let missing = json!({"ticketType": "event", "ticketDate": "2026-05-20", "email": "ada@example.com"});
        open.buy(&missing).await.is_invalid(&[("#/eventId", "is required when ticketType is event")]);
        let general_to = but(ticket_to(&created, "2026-05-20"), "ticketType", "general");
        open.buy(&general_to)
            .await
            .is_invalid(&[("#/eventId", "must be left out when ticketType is general")]);
        // Together with what else is wrong.
        open.buy(&json!({"ticketType": "event", "ticketDate": "x"})).await.is_invalid(&[
            ("#/ticketDate", "must be a calendar date like 2026-05-17"),
            ("#/email", "is required"),
            ("#/eventId", "is required when ticketType is event"),
        ]);
        let unknown = json!({"eventId": "019e0000-0000-7000-8000-000000000000"});
        let detail = open.buy(&ticket_to(&unknown, "2026-05-20")).await.is_problem(404, "not-found");
        assert_eq!(detail, "There is no special event with this id.");
    }

    async fn ticket_date_must_be_a_date_of_the_event(open: Open) {
        let created =
            open.create(&event("Ballet", &["2026-05-22", "2026-05-12", "2026-05-20", "2026-12-25"])).await;
        let said = "must be a date of this event: 2026-05-12, 2026-05-20, 2026-05-22, 2026-12-25";
        for date in ["2026-05-13", "2026-05-21", "2027-05-20"] {
            open.buy(&ticket_to(&created, date)).await.is_invalid(&[("#/ticketDate", said)]);
        }
        // A date that the event has, but on which the museum cannot be visited.
        let answer = open.buy(&ticket_to(&created, "2026-05-12")).await;
        answer.is_invalid(&[("#/ticketDate", "must not be in the past; today is 2026-05-13")]);
        let said = "must be a day on which the museum is open; on 2026-12-25 it is closed";
        open.buy(&ticket_to(&created, "2026-12-25")).await.is_invalid(&[("#/ticketDate", said)]);
        // The dates count as they are when the ticket is bought.
        let path = format!("/v1.1/special-events/{}", text(&created, "eventId"));
        open.ada.patch(&path).json(&json!({"dates": ["2026-05-21"]})).send().await.has_status(200);
        is_sold(&open.buy(&ticket_to(&created, "2026-05-21")).await);
        let answer = open.buy(&ticket_to(&created, "2026-05-20")).await;
        answer.is_invalid(&[("#/ticketDate", "must be a date of this event: 2026-05-21")]);
    }

    async fn day_ends_at_midnight_in_the_zone_of_the_museum(open: Open) {
        let created = open.create(&event("Ballet", &["2026-05-13"])).await;
        let yesterday = [("#/ticketDate", "must not be in the past; today is 2026-05-13")];
        open.buy(&general("2026-05-12")).await.is_invalid(&yesterday);
        open.buy(&general("0001-01-01")).await.is_invalid(&yesterday);
        is_sold(&open.buy(&general("2026-05-13")).await);
        // Amsterdam is two hours ahead.
        open.advance_to("2026-05-13T21:59:59.999999Z");
        is_sold(&open.buy(&general("2026-05-13")).await);
        is_sold(&open.buy(&ticket_to(&created, "2026-05-13")).await);
        open.advance_to("2026-05-13T22:00:00Z");
        let yesterday = [("#/ticketDate", "must not be in the past; today is 2026-05-14")];
        open.buy(&general("2026-05-13")).await.is_invalid(&yesterday);
        open.buy(&ticket_to(&created, "2026-05-13")).await.is_invalid(&yesterday);
        is_sold(&open.buy(&general("2026-05-14")).await);
    }

    async fn ticket_for_a_closed_day_is_rejected(open: Open) {
        for day in ["2026-12-25", "2027-01-01", "2030-12-25"] {
            let said = format!("must be a day on which the museum is open; on {day} it is closed");
            open.buy(&general(day)).await.is_invalid(&[("#/ticketDate", &said)]);
        }
        is_sold(&open.buy(&general("2026-12-24")).await);
        is_sold(&open.buy(&general("9999-12-30")).await);
    }

    async fn ticket_for_a_configured_closure_is_rejected(store: Store) {
        let mut setup = Setup::default();
        setup.settings.hours.thursday = "closed".into();
        setup.settings.closed_on = vec!["2026-05-20".into()];
        let open = Open::on(store, setup).await;
        for day in ["2026-05-14", "2026-05-20"] {
            let said = format!("must be a day on which the museum is open; on {day} it is closed");
            open.buy(&general(day)).await.is_invalid(&[("#/ticketDate", &said)]);
        }
        // The 20th only once, and no day that the operator did not name.
        is_sold(&open.buy(&general("2028-05-20")).await);
        is_sold(&open.buy(&general("2026-12-25")).await);
    }

    async fn malformed_email_address_is_rejected(open: Open) {
        for good in ["todd@example.com", "o'neil+tag@mail.example.org", "zoë@exämple.de", "a@b.co"] {
            is_sold(&open.buy(&but(general("2026-05-20"), "email", good)).await);
        }
        let long = format!("{}@example.com", "a".repeat(65));
        for bad in [
            "",
            "ada",
            "@",
            "ada@",
            "@example.com",
            "ada@example",
            "ada@@example.com",
            "ada@b@example.com",
            "a da@example.com",
            "ada@exam ple.com",
            " ada@example.com",
            "ada@example.com ",
            "ada@example.com\n",
            "ada@example..com",
            ".ada@example.com",
            "ada@-example.com",
            "ada@example.com.",
            "<ada@example.com>",
            "ada\0@example.com",
            "ada,ben@example.com",
            &long,
        ] {
            let answer = open.buy(&but(general("2026-05-20"), "email", bad)).await;
            answer.is_invalid(&[("#/email", "must be an email address like visitor@example.com")]);
        }
    }

    async fn codes_and_ids_of_two_hundred_tickets_are_unique(open: Open) {
        // The first one alone, so that the password is checked once.
        is_sold(&open.buy(&general("2026-05-20")).await);
        let mut sales = JoinSet::new();
        for _ in 0..200 {
            let ada = open.ada.clone();
            sales.spawn(async move { ada.post("/v1.1/tickets").json(&general("2026-05-20")).send().await });
        }
        let tickets: Vec<_> = sales.join_all().await.iter().map(is_sold).collect();
        for member in ["confirmationCode", "ticketId"] {
            let different: BTreeSet<_> = tickets.iter().map(|ticket| text(ticket, member)).collect();
            assert_eq!(different.len(), 200, "{member}");
        }
    }
}
