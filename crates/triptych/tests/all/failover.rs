//! A primary PostgreSQL that fails under load, and a replica that takes its place.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{Client, Program, ReplicatedPostgres};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use crate::{
    common::{bare, output_of},
    train_crash::TrainClient,
};

const CLIENTS: usize = 8;

/// How many bookings are acknowledged before the failure, and after it.
const BOOKINGS: usize = 50;

/// How long the service may take to serve again.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_booking_is_lost_when_the_replica_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = Arc::new(ReplicatedPostgres::start(folder.path()).unwrap());
    let url = postgres.url();
    let command = |arguments: &[&str]| -> Command {
        let mut command = bare(folder.path(), arguments);
        command.args(["--database", &url, "--train-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"]);
        command.env("TRIPTYCH_TRAIN_UNPAID_HOLDS", "1000000");
        command
    };
    let program = Program::start(&mut command(&["serve", "train"]));
    let train = TrainClient {
        http: Client::new(program.address("train")),
        token: format!("Bearer {}", output_of(&mut command(&["token", "train"])).trim()),
    };
    let mut trips = Vec::new();
    for time in 0..20 {
        trips.extend(train.trips(time).await);
    }
    let trips = Arc::new(trips);
    let (promoted, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (report, mut reports) = mpsc::unbounded_channel();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (train, trips, report) = (train.clone(), trips.clone(), report.clone());
        let (promoted, ended) = (promoted.clone(), ended.clone());
        clients.spawn(async move {
            for number in 0.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let is_after = promoted.load(Ordering::Relaxed);
                let trip = trips[(client + number * CLIENTS) % trips.len()];
                let call = train.http.post("/bookings").header("authorization", &train.token);
                let answer = call.json(&json!({"trip_id": trip, "passenger_name": "Ada"})).send().await;
                match answer.status {
                    201 => report.send((answer.json()["id"].as_str().unwrap().to_owned(), is_after)).unwrap(),
                    503 => assert!(!answer.header("retry-after").is_empty()),
                    // The trip has no seats left.
                    409 => {}
                    _ => panic!("{}", answer.text()),
                }
            }
        });
    }
    let mut acknowledged = Vec::new();
    let mut book = async |is_after: bool| {
        let mut count = 0;
        while count < BOOKINGS {
            let (booking, began_after) = timeout(SOON, reports.recv())
                .await
                .unwrap_or_else(|_| {
                    panic!("the service does not serve (after: {is_after}):\n{}", program.logged())
                })
                .expect("a report");
            acknowledged.push(booking);
            count += usize::from(began_after == is_after);
        }
    };
    book(false).await;
    let failover = {
        let (postgres, promoted) = (postgres.clone(), promoted.clone());
        tokio::task::spawn_blocking(move || {
            postgres.kill_primary();
            postgres.promote_replica();
            promoted.store(true, Ordering::Relaxed);
            Instant::now()
        })
    };
    let since = failover.await.unwrap();
    book(true).await;
    println!("{BOOKINGS} bookings in {:?} after the replica was promoted", since.elapsed());
    ended.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    while let Ok((booking, _)) = reports.try_recv() {
        acknowledged.push(booking);
    }
    for booking in &acknowledged {
        let call = train.http.get(&format!("/bookings/{booking}")).header("authorization", &train.token);
        call.send().await.has_status(200);
    }
    output_of(&mut command(&["check", "train"]));
}
