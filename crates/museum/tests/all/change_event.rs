//! `GET`, `PATCH` and `DELETE` on one special event.

use serde_json::{Value, json};
use testkit::Answer;

use crate::fixture::{Open, event, text, ticket_to};

const UNKNOWN: &str = "/v1.1/special-events/019e0000-0000-7000-8000-000000000000";

#[track_caller]
fn is_unknown(answer: &Answer) {
    assert_eq!(answer.is_problem(404, "not-found"), "There is no special event with this id.");
}

testkit::on_both_engines! {
    async fn change_affects_only_the_sent_members(open: Open) {
        let mut expected = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let other = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let id = text(&expected, "eventId").to_owned();
        for (member, value) in [
            ("name", json!("Yeti Ballet")),
            ("location", json!("Mountain top")),
            ("eventDescription", json!("Dress warm.")),
            ("dates", json!(["2026-06-02"])),
            ("price", json!(17)),
        ] {
            let mut changes = json!({});
            changes[member] = value.clone();
            expected[member] = value;
            open.patch(&id, &changes).await.is(200, &expected);
            open.event(&id).await.is(200, &expected);
        }
        open.patch(&id, &json!({})).await.is(200, &expected);
        open.event(&id).await.is(200, &expected);
        let several =
            json!({"name": "Both", "dates": ["2026-06-09", "2026-06-08", "2026-06-09"], "price": 0});
        expected["name"] = "Both".into();
        expected["dates"] = json!(["2026-06-08", "2026-06-09"]);
        expected["price"] = 0.into();
        open.patch(&id, &several).await.is(200, &expected);
        open.event(&id).await.is(200, &expected);
        open.event(text(&other, "eventId")).await.is(200, &other);
    }

    async fn invalid_change_changes_nothing(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let id = text(&created, "eventId");
        for (member, said) in [
            ("name", "must not be null"),
            ("location", "must not be null"),
            ("eventDescription", "must not be null"),
            ("dates", "must be a list"),
            ("price", "must be a number"),
        ] {
            let mut changes = json!({"name": "Changed", "location": "Changed"});
            changes[member] = Value::Null;
            open.patch(id, &changes).await.is_invalid(&[(&format!("#/{member}"), said)]);
        }
        let all = json!({
            "name": " ", "location": "\0", "eventDescription": "x".repeat(5001), "dates": [], "price": -1,
        });
        open.patch(id, &all).await.is_invalid(&[
            ("#/name", "must not be empty"),
            ("#/location", "must not contain the control character U+0000"),
            ("#/eventDescription", "must be at most 5000 characters long, not 5001"),
            ("#/dates", "must have at least one item"),
            ("#/price", "must be a number, 0 or more"),
        ]);
        open.event(id).await.is(200, &created);
    }

    async fn concurrent_changes_are_all_applied(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let id = text(&created, "eventId");
        for round in 0..10 {
            let name = json!({"name": format!("Name {round}")});
            let location = json!({"location": format!("Room {round}")});
            let price = json!({"price": round});
            let (first, second, third) =
                tokio::join!(open.patch(id, &name), open.patch(id, &location), open.patch(id, &price));
            first.has_status(200);
            second.has_status(200);
            third.has_status(200);
            let mut expected = created.clone();
            expected["name"] = name["name"].clone();
            expected["location"] = location["location"].clone();
            expected["price"] = price["price"].clone();
            open.event(id).await.is(200, &expected);
        }
    }

    async fn unknown_event_gets_404_and_invalid_uuid_400(open: Open) {
        is_unknown(&open.ada.get(UNKNOWN).send().await);
        is_unknown(&open.ada.patch(UNKNOWN).json(&json!({"name": "Yeti"})).send().await);
        is_unknown(&open.ada.patch(UNKNOWN).json(&json!({})).send().await);
        is_unknown(&open.ada.delete(UNKNOWN).send().await);
        is_unknown(&open.event("00000000-0000-0000-0000-000000000000").await);
        for id in [
            "1",
            "pirates",
            "dad4bce8f5cb4078a211995864315e39",
            "dad4bce8-f5cb-4078-a211-995864315e3",
            "dad4bce8-f5cb-4078-a211-995864315e3g",
            "dad4bce8-f5cb-4078-a211-995864315e399",
            "%7Bdad4bce8-f5cb-4078-a211-995864315e39%7D",
            "urn:uuid:dad4bce8-f5cb-4078-a211-995864315e39",
            "%F0%9F%A6%95",
            "%00",
            "..%2F..",
        ] {
            let path = format!("/v1.1/special-events/{id}");
            let said = [("{eventId}", "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54")];
            open.ada.get(&path).send().await.is_invalid(&said);
            open.ada.patch(&path).json(&json!({})).send().await.is_invalid(&said);
            open.ada.delete(&path).send().await.is_invalid(&said);
        }
    }

    async fn deleted_event_gets_404_and_its_tickets_stay(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &["2026-05-20"])).await;
        let other = open.create(&event("Yeti Ballet", &["2026-05-20"])).await;
        let ticket = open.buy(&ticket_to(&created, "2026-05-20")).await.has_status(201).json();
        let before = open.pass(text(&ticket, "ticketId")).await;
        before.has_status(200);
        let path = format!("/v1.1/special-events/{}", text(&created, "eventId"));

        let answer = open.ada.delete(&path).send().await;
        assert_eq!((answer.status, answer.text().as_str(), answer.header("content-type")), (204, "", ""));
        is_unknown(&open.ada.delete(&path).send().await);
        is_unknown(&open.ada.get(&path).send().await);
        is_unknown(&open.ada.patch(&path).json(&json!({"name": "Back"})).send().await);
        open.events("").await.is(200, &json!([other]));
        is_unknown(&open.buy(&ticket_to(&created, "2026-05-20")).await);
        assert_eq!(open.pass(text(&ticket, "ticketId")).await.text(), before.text());
    }
}
