//! The demo's data: there at the first start, kept fresh, and never in the way of what people do.

use std::future::ready;

use jiff::{Span, civil::Date};
use serde_json::{Value, json};
use testkit::{Client, Engine, Fixture, Store};
use tokio::task::JoinHandle;

use crate::fixture::{Open, Setup, each, text, ticket_to};

/// The event that the public description uses in its examples.
const MERMAIDS: &str = "dad4bce8-f5cb-4078-a211-995864315e39";
const BALLET: &str = "f3e0e76e-e4a8-466e-ab9c-ae36c15b8e97";
const CORN: &str = "b92d46b7-4c5d-422b-87a5-287767e26f29";

/// The museum with demo data, and a client that is signed in with the demo's account.
struct Demo {
    open: Open,
    visitor: Client,
}

fn with_demo() -> Setup {
    Setup { demo: true, ..Setup::default() }
}

impl Fixture for Demo {
    async fn start(engine: Engine) -> Self {
        Demo::of(Open::on(Store::new(engine), with_demo()).await)
    }
}

impl Demo {
    fn of(open: Open) -> Self {
        let visitor = open.anyone.signed_in("demo", "demo");
        Demo { open, visitor }
    }

    async fn event(&self, id: &str) -> Value {
        self.visitor.get(&format!("/v1.1/special-events/{id}")).send().await.has_status(200).json()
    }

    async fn patch(&self, id: &str, changes: &Value) {
        let call = self.visitor.patch(&format!("/v1.1/special-events/{id}")).json(changes);
        call.send().await.has_status(200);
    }

    /// The events of the month that begins a week before a day.
    async fn around(&self, day: &str) -> Vec<Value> {
        let from = day.parse::<Date>().unwrap() - Span::new().days(7);
        let until = from + Span::new().days(29);
        let path = format!("/v1.1/special-events?startDate={from}&endDate={until}&limit=30");
        let list = self.visitor.get(&path).send().await.has_status(200).json();
        list.as_array().unwrap().clone()
    }

    /// Starts the background work, until its first wait for the clock.
    async fn run(&self) -> JoinHandle<()> {
        let mut run = Box::pin(self.open.museum.clone().run(std::future::pending()));
        tokio::select! {
            biased;
            () = &mut run => panic!("it is to go on"),
            () = ready(()) => {}
        }
        tokio::spawn(run)
    }

    /// Asks for an event until it has other dates than it had.
    async fn event_with_other_dates(&self, before: &Value) -> Value {
        let mut event = Value::Null;
        testkit::until(async || {
            event = self.event(text(before, "eventId")).await;
            event["dates"] != before["dates"]
        })
        .await;
        event
    }
}

fn dates(event: &Value) -> Vec<Date> {
    event["dates"].as_array().unwrap().iter().map(|date| date.as_str().unwrap().parse().unwrap()).collect()
}

testkit::on_both_engines! {
    async fn new_demo_has_events_around_today(demo: Demo) {
        let events = demo.around("2026-05-13").await;
        assert!(events.len() >= 8, "{events:?}");
        let today: Date = "2026-05-13".parse().unwrap();
        for event in &events {
            let dates = dates(event);
            assert!(dates.iter().all(|date| (*date - today).get_days().abs() <= 30), "{event}");
            assert!(dates.iter().any(|date| *date >= today), "{event}");
        }
        assert!(events.iter().any(|event| dates(event)[0] < today));
        assert!(events.iter().any(|event| dates(event).contains(&today)));
        assert_eq!(
            demo.event(MERMAIDS).await,
            json!({
                "eventId": MERMAIDS,
                "name": "Mermaid Treasure Identification and Analysis",
                "location": "Room Sea-12",
                "eventDescription":
                    "Sort a chest of things that fell off ships, and learn which of them mermaids keep and why.",
                "dates": ["2026-05-15", "2026-05-18", "2026-05-22"],
                "price": 30,
            })
        );
        assert!(
            demo.visitor
                .get(&format!("/v1.1/special-events/{CORN}"))
                .send()
                .await
                .text()
                .ends_with("\"price\":5.50}")
        );
        // The list that a newcomer asks for first has something in it.
        assert!(each(&demo.visitor.get("/v1.1/special-events").send().await, "name").len() >= 8);
    }

    async fn tickets_are_sold_for_all_future_dates_of_the_demo(store: Store) {
        // Just before Christmas, when the museum closes for a day, and again a week later.
        let setup = Setup { start: "2026-12-23T10:00:00Z", ..with_demo() };
        let demo = Demo::of(Open::on(store, setup).await);
        let today: Date = "2026-12-23".parse().unwrap();
        let mut bought = 0;
        for event in demo.around("2026-12-23").await {
            for date in dates(&event).into_iter().filter(|date| *date >= today) {
                let purchase = ticket_to(&event, &date.to_string());
                let ticket = demo.visitor.post("/v1.1/tickets").json(&purchase).send().await;
                let ticket = ticket.has_status(201).json();
                let path = format!("/v1.1/tickets/{}/pkpass", text(&ticket, "ticketId"));
                let pass = demo.visitor.get(&path).send().await.has_status(200).json();
                assert_eq!(pass["eventName"], event["name"]);
                bought += 1;
            }
        }
        assert!(bought >= 16, "{bought}");
        assert_eq!(demo.event(MERMAIDS).await["dates"], json!(["2026-12-26", "2026-12-28", "2027-01-02"]));
    }

    async fn second_start_adds_no_duplicates_and_restores_nothing(demo: Demo) {
        let before = demo.around("2026-05-13").await;
        demo.visitor.delete(&format!("/v1.1/special-events/{BALLET}")).send().await.has_status(204);
        demo.patch(CORN, &json!({"name": "Eat more corn", "price": 6})).await;
        let mut expected: Vec<_> = before.into_iter().filter(|event| event["eventId"] != BALLET).collect();
        let corn = expected.iter_mut().find(|event| event["eventId"] == CORN).unwrap();
        corn["name"] = "Eat more corn".into();
        corn["price"] = 6.into();
        assert_eq!(demo.around("2026-05-13").await, expected);
        let open = demo.open.reopen(with_demo()).await;
        let demo = Demo::of(open);
        assert_eq!(demo.around("2026-05-13").await, expected);
        demo.open.event(BALLET).await.is_problem(404, "not-found");
    }

    async fn past_events_get_new_dates_at_midnight(demo: Demo) {
        let running = demo.run().await;
        let mermaids = demo.event(MERMAIDS).await;
        // Two events that a user has changed: one has new dates, the other only a new name.
        demo.patch(BALLET, &json!({"dates": ["2026-05-20"]})).await;
        demo.patch(CORN, &json!({"name": "Eat more corn"})).await;
        let (ballet, corn) = (demo.event(BALLET).await, demo.event(CORN).await);
        let deleted = "/v1.1/special-events/2f14374a-9c65-4ee5-94b7-fba66d893483";
        demo.visitor.delete(deleted).send().await.has_status(204);
        let own = demo.open.create(&crate::fixture::event("Our own", &["2026-05-20"])).await;

        demo.open.advance_to("2026-07-12T10:00:00Z");
        let moved = demo.event_with_other_dates(&mermaids).await;
        assert_eq!(moved["dates"], json!(["2026-07-14", "2026-07-17", "2026-07-21"]));
        assert_eq!(moved["name"], mermaids["name"]);
        // All in one transaction, so the others are done as well.
        assert_eq!(demo.event(BALLET).await, ballet);
        let fresh = demo.event(CORN).await;
        assert_eq!(
            (&fresh["name"], &fresh["dates"]),
            (&corn["name"], &json!(["2026-07-13", "2026-07-20", "2026-07-27"]))
        );
        demo.visitor.get(deleted).send().await.is_problem(404, "not-found");
        assert_eq!(demo.event(text(&own, "eventId")).await, own);
        let events = demo.around("2026-07-12").await.len();
        assert_eq!(events, 8, "ten, without the one that was deleted and the one with dates of its own");
        // And once more, since it repeats every day.
        demo.open.advance_to("2026-09-10T10:00:00Z");
        let again = demo.event_with_other_dates(&moved).await;
        assert_eq!(again["dates"], json!(["2026-09-12", "2026-09-15", "2026-09-19"]));
        running.abort();
    }

    async fn past_events_get_new_dates_at_the_start(demo: Demo) {
        demo.open.advance_to("2026-05-22T10:00:00Z");
        let demo = Demo::of(demo.open.reopen(with_demo()).await);
        // Its last date is today: not passed yet.
        let mermaids = json!(["2026-05-15", "2026-05-18", "2026-05-22"]);
        assert_eq!(demo.event(MERMAIDS).await["dates"], mermaids);
        demo.open.advance_to("2026-05-22T22:00:00Z");
        let demo = Demo::of(demo.open.reopen(with_demo()).await);
        assert_eq!(demo.event(MERMAIDS).await["dates"], json!(["2026-05-25", "2026-05-28", "2026-06-01"]));
    }

    async fn demo_password_is_rejected_without_the_demo(demo: Demo) {
        demo.visitor.get("/v1.1/special-events").send().await.has_status(200);
        let events = demo.around("2026-05-13").await;
        demo.open.advance_to("2026-08-01T10:00:00Z");
        let demo = Demo::of(demo.open.reopen(Setup::default()).await);
        let answer = demo.visitor.get("/v1.1/special-events").send().await;
        assert_eq!(answer.is_problem(401, "unauthorized"), "The name or the password is wrong.");
        // The events stay, as they were.
        let ada = Demo { visitor: demo.open.ada.clone(), open: demo.open };
        assert_eq!(ada.around("2026-05-13").await, events);
        // With a new password, the account is an ordinary one.
        ada.open.museum.accounts().set_password("demo", "not well known".into()).await.unwrap();
        let visitor = ada.open.anyone.signed_in("demo", "not well known");
        visitor.get("/v1.1/special-events").send().await.has_status(200);
        let demo = Demo::of(ada.open.reopen(with_demo()).await);
        demo.visitor.get("/v1.1/special-events").send().await.is_problem(401, "unauthorized");
    }

    async fn service_without_demo_has_no_demo_data(open: Open) {
        open.events("").await.is(200, &json!([]));
        open.event(MERMAIDS).await.is_problem(404, "not-found");
        let visitor = open.anyone.signed_in("demo", "demo");
        visitor.get("/v1.1/special-events").send().await.is_problem(401, "unauthorized");
        // Nor later: there is no background work.
        tokio::select! {
            biased;
            () = open.museum.clone().run(std::future::pending()) => {}
            () = ready(()) => panic!("it waits for a midnight to bring demo data"),
        }
    }
}
