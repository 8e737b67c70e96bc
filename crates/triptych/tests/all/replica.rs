//! A replica of PostgreSQL that answers reads which may be stale, and falls behind or fails.

use std::{collections::BTreeMap, process::Command};

use serde_json::{Value, json};
use testkit::{Client, Program, ReplicatedPostgres};

use crate::common::{FREE_PORTS, bare, museum, output_of, refused};

/// From Luzern to Interlaken, some weeks after the day on which the program starts.
const TRIPS: &str = "/trips?origin=b819f0ae-fb48-52a9-9626-82fbe00490df\
                     &destination=3256f587-2dfd-5b5a-a8f8-2b063fd37f50&date=2026-06-10";

/// A program with a replica, and what calls it.
struct Replicated {
    program: Program,
    pets: (Client, String),
    train: (Client, String),
}

impl Replicated {
    fn start(command: impl Fn(&[&str]) -> Command) -> Self {
        let mut serve = command(&["serve"]);
        // On a machine with other load, a slow answer of the replica is no failure.
        serve.args(FREE_PORTS).env("TRIPTYCH_LIMITS_DATABASE_SECONDS", "60");
        let program = Program::start(&mut serve);
        let token = |service: &str| format!("Bearer {}", output_of(&mut command(&["token", service])));
        let client = |service: &str| (Client::new(program.address(service)), token(service));
        Replicated { pets: client("petstore"), train: client("train"), program }
    }

    async fn get((client, token): &(Client, String), path: &str) -> Value {
        client.get(path).header("authorization", token).send().await.has_status(200).json()
    }

    async fn post((client, token): &(Client, String), path: &str, body: &Value) -> Value {
        let answer = client.post(path).header("authorization", token).json(body).send().await;
        assert!((200..300).contains(&answer.status), "{}", answer.text());
        answer.json()
    }

    /// What the reads that may be stale say about the pets, the trip and the special events.
    async fn stale(&self, trip: &str) -> (Value, usize, Value, Value, usize) {
        let inventory = self.pets.0.get("/v3/store/inventory").header("api_key", "special-key").send().await;
        let found = Self::get(&self.pets, "/v3/pet/findByStatus?status=pending").await;
        let in_list = Self::get(&self.train, TRIPS).await;
        let in_list = in_list["data"].as_array().unwrap().iter().find(|found| found["id"] == trip).cloned();
        let trip = Self::get(&self.train, &format!("/trips/{trip}")).await;
        let events =
            museum(&self.program).get("/v1.1/special-events?startDate=2027-03-01&endDate=2027-03-02");
        (
            inventory.has_status(200).json()["pending"].clone(),
            found.as_array().unwrap().len(),
            in_list.unwrap()["seats_available"].clone(),
            trip["seats_available"].clone(),
            events.send().await.has_status(200).json().as_array().unwrap().len(),
        )
    }

    /// Adds a pet, a booking and a special event, each of which its client can read at once.
    async fn write(&self, trip: &str) {
        let pet = json!({"name": "Rex", "photoUrls": [], "status": "pending"});
        let pet = Self::post(&self.pets, "/v3/pet", &pet).await;
        assert_eq!(Self::get(&self.pets, &format!("/v3/pet/{}", pet["id"])).await, pet);
        let booking =
            Self::post(&self.train, "/bookings", &json!({"trip_id": trip, "passenger_name": "Ada"})).await;
        let path = format!("/bookings/{}", booking["id"].as_str().unwrap());
        assert_eq!(Self::get(&self.train, &path).await, booking);
        assert_eq!(Self::get(&self.train, "/bookings").await["data"][0], booking);
        let event = json!({
            "name": "Night of the masks", "location": "Hall 1", "eventDescription": "Masks.", "dates": ["2027-03-01"], "price": 10
        });
        let museum = museum(&self.program);
        let event = museum.post("/v1.1/special-events").json(&event).send().await.has_status(201).json();
        let path = format!("/v1.1/special-events/{}", event["eventId"].as_str().unwrap());
        museum.get(&path).send().await.is(200, &event);
    }

    /// How many reads that may be stale each server answered.
    async fn counts(&self) -> BTreeMap<String, u64> {
        let metrics = Client::new(self.program.address("admin")).get("/metrics").send().await.text();
        let lines =
            metrics.lines().filter_map(|line| line.strip_prefix("triptych_db_stale_reads_total{server=\""));
        let counts = lines.map(|line| line.split_once("\"} ").unwrap());
        counts.map(|(server, count)| (server.to_owned(), count.parse().unwrap())).collect()
    }
}

fn plus(before: &(Value, usize, Value, Value, usize)) -> (Value, usize, Value, Value, usize) {
    let (inventory, found, in_list, trip, events) = before;
    let less = |seats: &Value| json!(seats.as_i64().unwrap() - 1);
    (json!(inventory.as_i64().unwrap() + 1), found + 1, less(in_list), less(trip), events + 1)
}

fn counts(replica: u64, primary: u64) -> BTreeMap<String, u64> {
    [("replica".to_owned(), replica), ("primary".to_owned(), primary)].into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_reads_come_from_the_replica_and_go_on_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = ReplicatedPostgres::start(folder.path()).unwrap();
    let (primary, replica) = (postgres.primary_url(), postgres.replica_url());
    let command = |arguments: &[&str]| -> Command {
        let mut command = bare(folder.path(), arguments);
        command.args(["--database", &primary, "--database-replica", &replica, "--today", "2026-05-20"]);
        command
    };
    let running = Replicated::start(command);
    postgres.replay_all();
    let trips = Replicated::get(&running.train, TRIPS).await;
    let trip = trips["data"][0]["id"].as_str().unwrap().to_owned();
    let before = running.stale(&trip).await;
    let answered = running.counts().await;
    assert_eq!(answered["primary"], 0, "{}", running.program.logged());

    postgres.pause_replica();
    running.write(&trip).await;
    assert_eq!(running.stale(&trip).await, before);
    assert_eq!(running.counts().await, counts(answered["replica"] + 5, 0));
    postgres.resume_replica();
    postgres.replay_all();
    let once = plus(&before);
    assert_eq!(running.stale(&trip).await, once);

    postgres.kill_replica();
    assert_eq!(running.stale(&trip).await, once);
    running.write(&trip).await;
    assert_eq!(running.stale(&trip).await, plus(&once));
    // A session of the replica may answer once more before it notices the end of its server.
    let all = running.counts().await;
    assert_eq!(all.values().sum::<u64>(), answered["replica"] + 20);
    assert!(all["primary"] >= 5, "{all:?}");
    let log = running.program.whole_log();
    assert!(log.contains("reads go to the primary, not to the replica at 127.0.0.1:"), "{log}");
}

#[test]
fn settings_of_the_replica_and_the_workers_are_checked_and_no_password_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let of_folder =
        bare(folder.path(), &["serve", "--database-replica", "postgres://host/base"]).output().unwrap();
    assert_eq!(
        refused(&of_folder),
        "triptych: database_replica is the replica of a PostgreSQL database: set database too, or leave it empty"
    );
    let workers_of_folder =
        bare(folder.path(), &["serve"]).env("TRIPTYCH_DATABASE_WORKERS", "true").output().unwrap();
    assert_eq!(
        refused(&workers_of_folder),
        "triptych: database_workers is for a PostgreSQL database with Citus: set database too, or database_workers = \
         false"
    );
    let config = |replica: &str| {
        let mut command = bare(folder.path(), &["config", "--database", "postgres://me:hush@host/base"]);
        command.env("TRIPTYCH_DATABASE_REPLICA", replica);
        command
    };
    assert_eq!(
        refused(&config("replica.example.com").output().unwrap()),
        "triptych: database_replica must be a URL like postgres://user:password@host/database"
    );
    let printed = output_of(&mut config("postgres://me:hush@replica/base"));
    assert!(printed.contains("\ndatabase_replica = \"postgres://me@replica/base\"\n"), "{printed}");
    assert!(!printed.contains("hush"), "{printed}");
}
