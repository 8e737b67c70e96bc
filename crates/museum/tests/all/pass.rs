//! `GET /tickets/{ticketId}/pkpass`.

use serde_json::{Value, json};
use testkit::{Answer, Store};

use crate::fixture::{Open, Setup, event, general, text, ticket_to};

impl Open {
    /// Buys a ticket; gives its id.
    async fn ticket(&self, purchase: &Value) -> String {
        text(&self.buy(purchase).await.has_status(201).json(), "ticketId").to_owned()
    }
}

#[track_caller]
fn is_unknown(answer: &Answer) {
    assert_eq!(answer.is_problem(404, "not-found"), "This account bought no ticket with this id.");
}

testkit::on_one_engine! {
    async fn pass_has_the_event_and_the_opening_time_of_its_day(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-22"])).await;
        let ticket = open.ticket(&ticket_to(&created, "2026-05-22")).await;
        // A Friday, on which the museum opens at ten.
        let expected = json!({
            "eventName": "Sasquatch Ballet", "ticketDate": "2026-05-22T08:00:00Z", "ticketId": ticket,
        });
        open.pass(&ticket).await.is(200, &expected);
        open.pass(&ticket.to_uppercase()).await.is(200, &expected);
        let ticket = open.ticket(&general("2026-05-20")).await;
        open.pass(&ticket).await.is(
            200,
            &json!({
                "eventName": "General admission", "ticketDate": "2026-05-20T07:00:00Z", "ticketId": ticket,
            }),
        );
    }

    async fn opening_time_follows_daylight_saving_time(open: Open) {
        for (date, opens_at) in [
            ("2026-10-24", "2026-10-24T07:00:00Z"), // the last day of summer time
            ("2026-10-25", "2026-10-25T08:00:00Z"),
            ("2027-03-27", "2027-03-27T08:00:00Z"),
            ("2027-03-28", "2027-03-28T07:00:00Z"), // the first one
            ("2027-03-26", "2027-03-26T09:00:00Z"), // a Friday
        ] {
            let ticket = open.ticket(&general(date)).await;
            open.pass(&ticket).await.is(
                200,
                &json!({
                    "eventName": "General admission", "ticketDate": opens_at, "ticketId": ticket,
                }),
            );
        }
    }

    async fn opening_time_is_in_the_configured_zone(store: Store) {
        let mut setup = Setup::default();
        setup.settings.timezone = "Australia/Lord_Howe".into();
        setup.settings.hours.wednesday = "00:15-12:00".into();
        let open = Open::on(store, setup).await;
        // Ten and a half hours ahead: the day starts on the day before in UTC.
        let ticket = open.ticket(&general("2026-05-20")).await;
        open.pass(&ticket).await.is(
            200,
            &json!({
                "eventName": "General admission", "ticketDate": "2026-05-19T13:45:00Z", "ticketId": ticket,
            }),
        );
    }

    async fn pass_is_not_changed_after_the_sale(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let ticket = open.ticket(&ticket_to(&created, "2026-05-20")).await;
        let sold = json!({
            "eventName": "Sasquatch Ballet", "ticketDate": "2026-05-20T07:00:00Z", "ticketId": ticket,
        });
        open.pass(&ticket).await.is(200, &sold);
        let path = format!("/v1.1/special-events/{}", text(&created, "eventId"));
        let changes = json!({"name": "Yeti Ballet", "dates": ["2026-06-20"]});
        open.ada.patch(&path).json(&changes).send().await.has_status(200);
        open.pass(&ticket).await.is(200, &sold);
        open.ada.delete(&path).send().await.has_status(204);
        open.pass(&ticket).await.is(200, &sold);
        // The day has passed.
        open.advance_to("2026-07-01T00:00:00Z");
        open.pass(&ticket).await.is(200, &sold);
        // The operator has changed the hours.
        let mut setup = Setup::default();
        setup.settings.hours.wednesday = "closed".into();
        let open = open.reopen(setup).await;
        open.pass(&ticket).await.is(200, &sold);
    }

    async fn ticket_is_visible_only_to_its_buyer(open: Open) {
        let ticket = open.ticket(&general("2026-05-20")).await;
        let path = format!("/v1.1/tickets/{ticket}/pkpass");
        open.ada.get(&path).send().await.has_status(200);
        is_unknown(&open.ben.get(&path).send().await);
        open.anyone.get(&path).send().await.is_problem(401, "unauthorized");
        // An account of the same name is another account.
        open.museum.accounts().remove("ada").await.unwrap();
        open.museum.accounts().add("ada", "swordfish-1".into()).await.unwrap();
        is_unknown(&open.ada.get(&path).send().await);
    }

    async fn unknown_ticket_gets_404_and_invalid_uuid_400(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let ticket = open.buy(&ticket_to(&created, "2026-05-20")).await.has_status(201).json();
        is_unknown(&open.pass("019e0000-0000-7000-8000-000000000000").await);
        is_unknown(&open.pass(text(&created, "eventId")).await);
        for id in [
            "1",
            text(&ticket, "confirmationCode"),
            &text(&ticket, "ticketId").replace('-', ""),
            "dad4bce8-f5cb-4078-a211-995864315e3g",
            "%00",
        ] {
            let said = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
            open.pass(id).await.is_invalid(&[("{ticketId}", said)]);
        }
    }
}
