//! `POST` and `GET /tickets/{ticketId}/admissions`.

use futures_util::future::join_all;
use museum::SERVICE;
use serde_json::{Value, json};
use testkit::{Answer, Client, Engine, Store};

use crate::{
    fixture::{Open, Setup, event, general, text, ticket_to},
    qr::link_of,
};

/// The day on which the tests begin.
const TODAY: &str = "2026-05-13";

const UNKNOWN: &str =
    "There is no ticket with this id, or this account did not buy it and sent no valid code.";

fn admissions_of(ticket: &Value) -> String {
    format!("/v1.1/tickets/{}/admissions", text(ticket, "ticketId"))
}

impl Open {
    /// Has Ada buy a ticket for a day.
    async fn ticket_for(&self, day: &str) -> Value {
        self.buy(&general(day)).await.has_status(201).json()
    }

    /// Has Ada admit her ticket.
    async fn admit(&self, ticket: &Value) -> Answer {
        self.ada.post(&admissions_of(ticket)).send().await
    }
}

#[track_caller]
fn is_unknown(answer: &Answer) {
    assert_eq!(answer.is_problem(404, "not-found"), UNKNOWN);
}

#[track_caller]
fn is_used(answer: &Answer, admitted_at: &str) {
    let detail = answer.is_problem(409, "already-used");
    assert_eq!(detail, format!("This ticket was already used: it was admitted at {admitted_at}."));
}

testkit::on_both_engines! {
    async fn ticket_is_admitted_once(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        let path = admissions_of(&ticket);
        let nothing = json!({
            "ticketId": ticket["ticketId"], "eventName": "General admission", "ticketDate": TODAY, "admissions": [],
        });
        open.ada.get(&path).send().await.is(200, &nothing);
        let answer = open.admit(&ticket).await;
        let admission = answer.has_status(201).json();
        let expected = json!({
            "admissionId": admission["admissionId"], "ticketId": ticket["ticketId"],
            "admittedAt": "2026-05-13T10:00:00Z",
        });
        answer.is(201, &expected);
        assert_ne!(admission["admissionId"], ticket["ticketId"]);
        assert_eq!(answer.header("location"), path);
        open.advance_to("2026-05-13T11:00:00Z");
        is_used(&open.admit(&ticket).await, "2026-05-13T10:00:00Z");
        let listed = open.ada.get(&path).send().await;
        let used = json!({
            "ticketId": ticket["ticketId"], "eventName": "General admission", "ticketDate": TODAY,
            "admissions": [admission],
        });
        listed.is(200, &used);
        assert_eq!(listed.header("cache-control"), "no-store");
        // Also after its day, and after a restart.
        open.advance_to("2026-05-14T10:00:00Z");
        is_used(&open.admit(&ticket).await, "2026-05-13T10:00:00Z");
        let open = open.reopen(Setup::default()).await;
        is_used(&open.admit(&ticket).await, "2026-05-13T10:00:00Z");
        open.ada.get(&path).send().await.is(200, &used);
    }

    async fn time_of_the_admission_is_the_same_in_all_answers(open: Open) {
        open.advance_to("2026-05-13T10:00:00.123456789Z");
        let ticket = open.ticket_for(TODAY).await;
        let admission = open.admit(&ticket).await.has_status(201).json();
        assert_eq!(admission["admittedAt"], "2026-05-13T10:00:00.123456Z");
        let listed = open.ada.get(&admissions_of(&ticket)).send().await.has_status(200).json();
        assert_eq!(listed["admissions"], json!([admission]));
        is_used(&open.admit(&ticket).await, "2026-05-13T10:00:00.123456Z");
    }

    async fn one_of_many_concurrent_admissions_succeeds(open: Open) {
        let (ticket, other) = (open.ticket_for(TODAY).await, open.ticket_for(TODAY).await);
        let answers = join_all((0..20).map(|_| open.admit(&ticket))).await;
        has_one_admission(&answers);
        open.admit(&other).await.has_status(201);
    }

    async fn ticket_is_admitted_on_its_day_in_the_zone_of_the_museum(open: Open) {
        let ticket = open.ticket_for("2026-05-20").await;
        let refused = async |today: &str, said: &str| {
            open.advance_to(today);
            assert_eq!(open.admit(&ticket).await.is_problem(409, "not-today"), said);
        };
        let early = |today| format!("This ticket is for 2026-05-20, and today is {today}. It is admitted on its day.");
        refused("2026-05-13T10:00:00Z", &early("2026-05-13")).await;
        // Amsterdam is two hours ahead.
        refused("2026-05-19T21:59:59.999999Z", &early("2026-05-19")).await;
        let late = open.ticket_for("2026-05-20").await;
        let last = open.ticket_for("2026-05-20").await;
        open.advance_to("2026-05-19T22:00:00Z");
        open.admit(&late).await.has_status(201);
        open.advance_to("2026-05-20T21:59:59.999999Z");
        open.admit(&last).await.has_status(201);
        refused(
            "2026-05-20T22:00:00Z",
            "This ticket was for 2026-05-20, and today is 2026-05-21. It can no longer be used.",
        )
        .await;
    }

    async fn event_ticket_is_admitted_after_its_event_was_deleted(open: Open) {
        let created = open.create(&event("Sasquatch Ballet", &[TODAY])).await;
        let ticket = open.buy(&ticket_to(&created, TODAY)).await.has_status(201).json();
        let path = format!("/v1.1/special-events/{}", text(&created, "eventId"));
        open.ada.delete(&path).send().await.has_status(204);
        open.admit(&ticket).await.has_status(201);
        let listed = open.ada.get(&admissions_of(&ticket)).send().await.has_status(200).json();
        assert_eq!(listed["eventName"], "Sasquatch Ballet");
    }

    async fn other_account_needs_the_code_of_the_ticket(open: Open) {
        let (ticket, other) = (open.ticket_for(TODAY).await, open.ticket_for(TODAY).await);
        let path = admissions_of(&ticket);
        let wrong = format!("{path}?code={}", text(&other, "confirmationCode"));
        for path in [&path, &wrong, &path.replace("0", "1")] {
            is_unknown(&open.ben.post(path).send().await);
            is_unknown(&open.ben.get(path).send().await);
        }
        let link = link_of(&ticket);
        open.anyone.post(&link).send().await.is_problem(401, "unauthorized");
        open.anyone.get(&link).send().await.is_problem(401, "unauthorized");
        let read = open.ben.get(&link).send().await.has_status(200).json();
        assert_eq!(read["admissions"], json!([]));
        open.ben.post(&link).send().await.has_status(201);
        is_used(&open.ada.post(&path).send().await, "2026-05-13T10:00:00Z");
        // The buyer may send a wrong code.
        is_used(&open.ada.post(&wrong).send().await, "2026-05-13T10:00:00Z");
    }

    async fn page_of_another_origin_needs_the_code_of_the_ticket(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        let from = |origin: &str, path: &str| open.ada.post(path).header("origin", origin).send();
        for origin in ["https://tickets.example", "null", ""] {
            is_unknown(&from(origin, &admissions_of(&ticket)).await);
        }
        from("https://tickets.example", &link_of(&ticket)).await.has_status(201);
        let ticket = open.ticket_for(TODAY).await;
        let own = format!("http://{}", open.anyone.address());
        from(&own, &admissions_of(&ticket)).await.has_status(201);
    }

    async fn bad_input_gets_400_and_a_body_is_ignored(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        let path = admissions_of(&ticket);
        let uuid = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
        for call in [open.ada.post("/v1.1/tickets/1/admissions?code="), open.ada.get("/v1.1/tickets/1/admissions?code=")] {
            call.send().await.is_invalid(&[("{ticketId}", uuid), ("?code", "must not be empty")]);
        }
        let long = format!("{path}?code={}", "x".repeat(101));
        open.ada.post(&long).send().await.is_invalid(&[("?code", "must be at most 100 characters long, not 101")]);
        open.ada.post(&format!("{path}?code=%00")).send().await.is_problem(400, "invalid-request");
        is_unknown(&open.ada.post("/v1.1/tickets/019e0000-0000-7000-8000-000000000000/admissions").send().await);
        open.ada.post(&path).body("text/plain", "anything").send().await.has_status(201);
    }

    async fn restored_data_has_no_later_admissions(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        open.db.save_copy("before", SERVICE.data_tables).await.unwrap();
        open.admit(&ticket).await.has_status(201);
        open.db.save_copy("after", SERVICE.data_tables).await.unwrap();
        assert!(open.db.restore_copy("before", SERVICE.data_tables).await.unwrap());
        open.advance_to("2026-05-13T11:00:00Z");
        open.admit(&ticket).await.has_status(201);
        assert!(open.db.restore_copy("after", SERVICE.data_tables).await.unwrap());
        is_used(&open.admit(&ticket).await, "2026-05-13T10:00:00Z");
    }

    async fn removed_buyer_leaves_a_ticket_that_its_code_admits(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        open.remove_user("ada").await.unwrap();
        open.ben.post(&link_of(&ticket)).send().await.has_status(201);
    }
}

/// Asserts that one of these answers is an admission, and the others name its time.
#[track_caller]
fn has_one_admission(answers: &[Answer]) {
    let (admitted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(admitted.len(), 1);
    for answer in refused {
        is_used(answer, "2026-05-13T10:00:00Z");
    }
}

#[test]
fn one_of_many_admissions_over_two_processes_succeeds() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let open = Open::on(store, Setup::default()).await;
        let other = open.another_process().await;
        let there = other.client.signed_in("ada", "swordfish-1");
        for _ in 0..5 {
            let ticket = open.ticket_for(TODAY).await;
            let path = admissions_of(&ticket);
            let clients: Vec<&Client> = (0..5).flat_map(|_| [&open.ada, &there]).collect();
            let answers = join_all(clients.into_iter().map(|client| client.post(&path).send())).await;
            has_one_admission(&answers);
        }
    });
}

testkit::on_one_engine! {
    async fn browser_that_opens_the_link_gets_the_page_of_the_door(open: Open) {
        let ticket = open.ticket_for(TODAY).await;
        let (id, code) = (text(&ticket, "ticketId"), text(&ticket, "confirmationCode"));
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let answer = open.anyone.get(&link_of(&ticket)).header("accept", browser).send().await;
        let page = format!("/app/check?id={id}&code={code}");
        assert_eq!((answer.status, answer.header("location")), (303, page.as_str()));
        open.anyone.get(&page).header("accept", browser).send().await.has_status(200);
        let hostile = format!("{}?code=%26id%3D1%0D%0A", admissions_of(&ticket));
        let answer = open.anyone.get(&hostile).header("accept", browser).send().await;
        assert_eq!(answer.header("location"), format!("/app/check?id={id}&code=%26id%3D1%0D%0A"));
        // A program gets what it got before.
        open.anyone.get(&link_of(&ticket)).send().await.is_problem(401, "unauthorized");
        open.anyone.get(&link_of(&ticket)).header("accept", "*/*").send().await.is_problem(401, "unauthorized");
    }
}
