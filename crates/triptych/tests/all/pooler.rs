//! All services at once behind a real PgBouncer in transaction mode, which gives each transaction another session.

use crate::common::{Workspace, museum};
use db::{Db, Limits};
use jiff::{ToSpan, tz::TimeZone};
use serde_json::json;
use testkit::{Client, Engine, Program, Store};
use tokio::task::JoinSet;
use web::Clock;

const CLIENTS: usize = 16;
const ROUNDS: usize = 6;

/// One client of all three services.
#[derive(Clone)]
struct Caller {
    petstore: Client,
    pets_token: String,
    train: Client,
    train_token: String,
    museum: Client,
    trips: String,
}

impl Caller {
    async fn round(&self) {
        let pet = json!({"name": "pooled", "photoUrls": [], "status": "pending"});
        let pet =
            self.petstore.post("/v3/pet").header("authorization", &self.pets_token).json(&pet).send().await;
        let pet = format!("/v3/pet/{}", pet.has_status(200).json()["id"]);
        self.petstore.get(&pet).header("authorization", &self.pets_token).send().await.has_status(200);
        self.petstore
            .get("/v3/store/inventory")
            .header("api_key", "special-key")
            .send()
            .await
            .has_status(200);
        for path in [&self.trips, "/bookings"] {
            self.train.get(path).header("authorization", &self.train_token).send().await.has_status(200);
        }
        let ticket = json!({"ticketType": "general", "ticketDate": "9990-05-05", "email": "a@example.com"});
        self.museum.post("/v1.1/tickets").json(&ticket).send().await.has_status(201);
        self.museum.get("/v1.1/special-events").send().await.has_status(200);
    }

    async fn book(&self) {
        let trips = self.train.get(&self.trips).header("authorization", &self.train_token).send().await;
        let trip = trips.has_status(200).json()["data"][0]["id"].clone();
        let booking = json!({"trip_id": trip, "passenger_name": "Ada"});
        let call = self.train.post("/bookings").header("authorization", &self.train_token);
        call.json(&booking).send().await.has_status(201);
    }
}

#[test]
fn concurrent_services_behind_a_pooler_use_their_own_schemas() {
    testkit::run(Engine::Postgres, async |_: Store| {
        for &most in testkit::max_prepared_statements() {
            keep_to_their_schemas(most).await;
        }
    });
}

async fn keep_to_their_schemas(max_prepared_statements: u32) {
    let store = Store::pooled(max_prepared_statements);
    let workspace = Workspace { store, folder: tempfile::tempdir().unwrap() };
    let program = Program::start(&mut workspace.serving());
    let day = TimeZone::UTC.to_datetime(Clock::system().now()).date() + 20.days();
    let caller = Caller {
        petstore: Client::new(program.address("petstore")),
        pets_token: workspace.token("petstore"),
        train: Client::new(program.address("train")),
        train_token: workspace.token("train"),
        museum: museum(&program),
        trips: String::new(),
    };
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS as i32 {
        // A train has few seats in a demo, so each client books another day.
        let trips = format!(
            "/trips?origin=b819f0ae-fb48-52a9-9626-82fbe00490df\
             &destination=3256f587-2dfd-5b5a-a8f8-2b063fd37f50&date={}",
            day + number.days()
        );
        let caller = Caller { trips, ..caller.clone() };
        clients.spawn(async move {
            caller.book().await;
            for _ in 0..ROUNDS {
                caller.round().await;
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let lost = program.logged().contains("a pooler in front of PostgreSQL loses prepared statements");
    assert_eq!(lost, max_prepared_statements == 0, "{}", program.logged());
    assert!(program.terminate().success());

    let db = Db::open(&workspace.store.direct(), "checker", &[], Limits::default()).unwrap();
    let count = async |sql: &'static str| {
        db.read(move |tx| tx.row(sql, &[], |row| row.get::<i64>(0))).await.unwrap().unwrap()
    };
    let rounds = (CLIENTS * ROUNDS) as i64;
    assert_eq!(count("SELECT count(*) FROM petstore.pet WHERE name = 'pooled'").await, rounds);
    assert_eq!(count("SELECT count(*) FROM museum.ticket").await, rounds);
    assert_eq!(count("SELECT count(*) FROM train.booking").await, CLIENTS as i64);
    // Tables that every service has, with other ids in each.
    let mixed =
        "SELECT count(*) FROM petstore.call_quota AS a JOIN train.call_quota AS b ON a.caller = b.caller";
    assert_eq!(count(mixed).await, 0);
    assert_ne!(count("SELECT count(*) FROM petstore.call_quota").await, 0);
    assert_ne!(count("SELECT count(*) FROM train.call_quota").await, 0);
    assert_eq!(count("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").await, 0);
}
