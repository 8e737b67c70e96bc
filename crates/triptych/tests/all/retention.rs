//! `triptych prune`, and the settings `retention`.

use serde_json::{Value, json};
use testkit::{Client, Program};

use crate::common::{Workspace, museum, output_of, refused};

/// The program on this day.
fn serve_on(workspace: &Workspace, day: &str) -> Program {
    Program::start(workspace.serving().args(["--today", day]))
}

/// A client of the train service, with the header of its user.
struct Traveller {
    http: Client,
    token: String,
}

impl Traveller {
    fn new(workspace: &Workspace, program: &Program) -> Self {
        Traveller { http: Client::new(program.address("train")), token: workspace.train_token() }
    }

    async fn post(&self, path: &str, body: &Value, status: u16) -> Value {
        let call = self.http.post(path).header("authorization", &self.token);
        call.json(body).send().await.has_status(status).json()
    }

    /// Books the trip of the example, and gives the path of the booking.
    async fn book(&self) -> String {
        let document = self.http.get("/openapi.json").send().await.json();
        let content = &document["paths"]["/bookings"]["post"]["requestBody"]["content"];
        let booking = self.post("/bookings", &content["application/json"]["example"], 201).await;
        format!("/bookings/{}", booking["id"].as_str().unwrap())
    }

    async fn pay(&self, booking: &str) {
        let source = json!({
            "object": "card", "name": "Ada", "number": "4242424242424242", "cvc": "123", "exp_month": 12, "exp_year": 2030,
            "address_country": "gb"
        });
        self.post(&format!("{booking}/payment"), &json!({"source": source}), 200).await;
    }

    async fn status(&self, path: &str) -> u16 {
        self.http.get(path).header("authorization", &self.token).send().await.status
    }
}

/// Buys a ticket for a day, and gives its path.
async fn buy(program: &Program, day: &str) -> String {
    let ticket = json!({"ticketType": "general", "ticketDate": day, "email": "ada@example.com"});
    let sold = museum(program).post("/v1.1/tickets").json(&ticket).send().await.has_status(201).json();
    format!("/v1.1/tickets/{}/qr", sold["ticketId"].as_str().unwrap())
}

fn pruned(workspace: &Workspace, arguments: &[&str]) -> Value {
    let mut command = workspace.command(&["prune", "--json"]);
    serde_json::from_str(&output_of(command.args(arguments))).unwrap()
}

testkit::on_both_engines! {
    async fn old_bookings_tickets_and_events_are_deleted(workspace: Workspace) {
        let program = serve_on(&workspace, "2026-01-10");
        let traveller = Traveller::new(&workspace, &program);
        let booking = traveller.book().await;
        let (old, new) = (buy(&program, "2026-01-14").await, buy(&program, "2026-03-04").await);
        let event = json!({
            "name": "Night of the masks", "location": "Hall 1", "eventDescription": "Masks.",
            "dates": ["2026-01-15", "2026-01-20"], "price": 10
        });
        museum(&program).post("/v1.1/special-events").json(&event).send().await.has_status(201);
        let dates = ["bookings", "--before", "2026-06-01"];
        let result = |deleted: bool, what: &str, count: i64| json!({"deleted": deleted, "pruned": [{"what": what, "count": count}]});

        // A held booking stays.
        assert_eq!(pruned(&workspace, &dates), result(true, "bookings", 0));
        assert_eq!(traveller.status(&booking).await, 200);
        traveller.pay(&booking).await;
        let mut dry = dates.to_vec();
        dry.push("--dry-run");
        assert_eq!(pruned(&workspace, &dry), result(false, "bookings", 1));
        assert_eq!(traveller.status(&booking).await, 200);
        assert_eq!(pruned(&workspace, &dates), result(true, "bookings", 1));
        assert_eq!(traveller.status(&booking).await, 404);
        assert_eq!(pruned(&workspace, &dates), result(true, "bookings", 0));

        assert_eq!(pruned(&workspace, &["tickets", "--before", "2026-01-15"]), result(true, "tickets", 1));
        museum(&program).get(&old).send().await.has_status(404);
        museum(&program).get(&new).send().await.has_status(200);
        let events = async || {
            let found = museum(&program).get("/v1.1/special-events?startDate=2026-01-15&endDate=2026-01-15").send().await;
            found.has_status(200).json().as_array().unwrap().iter().filter(|found| found["name"] == event["name"]).count()
        };
        // Its last day is not before this one.
        pruned(&workspace, &["events", "--before", "2026-01-20"]);
        assert_eq!(events().await, 1);
        pruned(&workspace, &["events", "--before", "2026-01-21"]);
        assert_eq!(events().await, 0);
        output_of(&mut workspace.command(&["check"]));
    }

    async fn retention_deletes_what_is_older(workspace: Workspace) {
        let program = serve_on(&workspace, "2026-01-10");
        let (old, new) = (buy(&program, "2026-01-14").await, buy(&program, "2026-01-28").await);
        drop(program);
        let mut command = workspace.serving();
        let program = Program::start(command.args(["--today", "2026-02-01"]).env("TRIPTYCH_RETENTION_TICKETS", "7"));
        testkit::until(async || museum(&program).get(&old).send().await.status == 404).await;
        museum(&program).get(&new).send().await.has_status(200);
    }
}

#[tokio::test]
async fn wrong_dates_and_settings_are_refused() {
    let workspace = <Workspace as testkit::Fixture>::start(testkit::Engine::Sqlite).await;
    let run = |arguments: &[&str]| workspace.command(arguments).output().unwrap();
    assert_eq!(
        refused(&run(&["prune", "--before", "9999-01-01"])),
        "triptych: --before 9999-01-01 is in the future: name today or a day before"
    );
    let missing = refused(&run(&["prune", "--before", "2026-01-01"]));
    assert!(missing.starts_with("triptych: there is no database of "), "{missing}");
    for wrong in
        [&["prune", "--before", "yesterday"][..], &["prune"], &["prune", "pets", "--before", "2026-01-01"]]
    {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    std::fs::write(workspace.folder.path().join("triptych.toml"), "[retention]\npets = 1\n").unwrap();
    let unknown = refused(&run(&["config"]));
    assert!(unknown.contains("retention.pets"), "{unknown}");
}
