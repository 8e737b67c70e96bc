//! SIGKILL while tickets are being sold: acknowledged tickets are not lost.

use crate::common::{Workspace, museum};
use serde_json::{Value, json};
use testkit::{Client, parameter};
use tokio::{sync::mpsc, task::JoinSet};

const CLIENTS: usize = 64;
/// How often the program is killed; `make long-test` has more.
const KILLS: usize = 3;
/// How many tickets are acknowledged before the next kill: enough for every client to be in the middle of one.
const BETWEEN_KILLS: usize = 200;

testkit::on_both_engines! {
    async fn every_acknowledged_ticket_survives_kills(workspace: Workspace) {
        let kills = parameter("TORTURE_KILLS", KILLS);
        let mut acknowledged = Vec::new();
        for _ in 0..kills {
            let program = workspace.serve();
            // Signed in once before the rush, so that the rush is about tickets.
            museum(&program).get("/v1.1/special-events").send().await.has_status(200);
            let (sold, mut sales) = mpsc::unbounded_channel();
            let mut clients = JoinSet::new();
            for number in 0..CLIENTS {
                clients.spawn(buy_until_it_breaks(museum(&program), number, sold.clone()));
            }
            drop(sold);
            for _ in 0..BETWEEN_KILLS {
                acknowledged.push(sales.recv().await.expect("tickets are sold"));
            }
            program.kill();
            while let Some(ticket) = sales.recv().await {
                acknowledged.push(ticket);
            }
            while let Some(client) = clients.join_next().await {
                client.unwrap();
            }
        }
        assert!(acknowledged.len() >= kills * BETWEEN_KILLS);

        let program = workspace.serve();
        let museum = museum(&program);
        for ticket in &acknowledged {
            let id = ticket["ticketId"].as_str().unwrap();
            let pass = museum.get(&format!("/v1.1/tickets/{id}/pkpass")).send().await;
            let date = ticket["ticketDate"].as_str().unwrap();
            let opening = format!("{date}T07:00:00Z");
            pass.is(200, &json!({"eventName": "General admission", "ticketDate": opening, "ticketId": id}));
        }
        let mut codes: Vec<_> = acknowledged.iter().map(|ticket| ticket["confirmationCode"].as_str().unwrap()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), acknowledged.len(), "no code was given twice");
    }
}

/// Buys one ticket after the other until the service is killed. Every answer must be a ticket.
async fn buy_until_it_breaks(museum: Client, number: usize, sold: mpsc::UnboundedSender<Value>) {
    // A date in summer and no Friday, whose opening is at 07:00 UTC.
    let date = format!("2099-07-{:02}", 11 + number % 6);
    let order = json!({"ticketType": "general", "ticketDate": date, "email": "visitor@example.com"});
    while let Ok(answer) = museum.post("/v1.1/tickets").json(&order).try_send().await {
        let ticket = answer.has_status(201).json();
        assert_eq!(ticket["ticketDate"], order["ticketDate"]);
        if sold.send(ticket).is_err() {
            return;
        }
    }
}
