//! The data is still there after the museum was closed and opened again.

use serde_json::json;

use crate::fixture::{Open, Setup, event, general, text, ticket_to};

testkit::on_both_engines! {
    async fn events_tickets_and_accounts_survive_a_restart(open: Open) {
        let ballet = event("Sasquatch Ballet 🩰", &["2026-05-22", "2026-05-20"]);
        let kept = open.create(&ballet).await;
        let changed = open.create(&event("Before", &["2026-05-21"])).await;
        let deleted = open.create(&event("Deleted", &["2026-05-21"])).await;
        let path = |event| format!("/v1.1/special-events/{}", text(event, "eventId"));
        let changes = json!({"name": "After", "dates": ["2026-05-19"]});
        let changed = open.ada.patch(&path(&changed)).json(&changes).send().await.has_status(200).json();
        open.ada.delete(&path(&deleted)).send().await.has_status(204);
        let mut tickets = Vec::new();
        for purchase in [general("2026-05-20"), ticket_to(&kept, "2026-05-22")] {
            tickets.push(open.buy(&purchase).await.has_status(201).json());
        }
        let ticket = |number: usize| text(&tickets[number], "ticketId");
        let list = open.events("").await.text();
        let event_text = open.event(text(&kept, "eventId")).await.text();
        let passes = [open.pass(ticket(0)).await.text(), open.pass(ticket(1)).await.text()];

        let open = open.reopen(Setup::default()).await;
        let answer = open.events("").await;
        answer.is(200, &json!([changed, kept]));
        assert_eq!(answer.text(), list);
        assert_eq!(open.event(text(&kept, "eventId")).await.text(), event_text);
        open.event(text(&deleted, "eventId")).await.is_problem(404, "not-found");
        for (number, pass) in passes.iter().enumerate() {
            assert_eq!(&open.pass(ticket(number)).await.text(), pass);
            let path = format!("/v1.1/tickets/{}/pkpass", ticket(number));
            open.ben.get(&path).send().await.is_problem(404, "not-found");
        }
        // The service still sells tickets.
        open.buy(&ticket_to(&kept, "2026-05-20")).await.has_status(201);
        open.create(&ballet).await;
    }
}
