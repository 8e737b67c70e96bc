//! 64 clients compete for the last seats of a few trips: they book, pay, cancel and read while the clock moves past holds and
//! payments. Each response is recorded, and the records are checked at the end.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use serde_json::json;
use testkit::{Engine, Store, parameter};
use tokio::task::JoinSet;
use train::Timetable;
use uuid::Uuid;
use web::Clock;

use super::{
    clients::{Client, Load, id},
    dump::Dump,
    history::{self, Event, Record, Summary},
    process::{HOLD, Process, Users, delete, get, open_db, post},
};

const CLIENTS: usize = 64;
const USERS: usize = 3;
/// `make long-test` has a hundred times as many.
const OPERATIONS: u64 = 10_000;
/// For one process on PostgreSQL: three processes do the same and more.
const FEWER_OPERATIONS: u64 = 2_000;
/// A run that takes longer has got stuck.
const AT_MOST: Duration = Duration::from_secs(30 * 60);

/// From Luzern to Interlaken: two trains a day with 12 seats, one with 16, one with 24.
const FEW_SEATS: &str = "/trips?origin=b819f0ae-fb48-52a9-9626-82fbe00490df\
                         &destination=3256f587-2dfd-5b5a-a8f8-2b063fd37f50&date=2026-05-27";

testkit::on_both_engines! {
    async fn no_seat_is_sold_twice(store: Store) {
        let operations = if store.engine() == Engine::Sqlite { OPERATIONS } else { FEWER_OPERATIONS };
        compete(&store, 1, operations).await;
    }
}

#[test]
fn no_seat_is_sold_twice_by_three_processes() {
    testkit::run(Engine::Postgres, async |store: Store| compete(&store, 3, OPERATIONS).await);
}

async fn compete(store: &Store, processes: usize, operations: u64) {
    let load = run_load(store, processes, parameter("TORTURE_OPERATIONS", operations));
    tokio::time::timeout(AT_MOST, load).await.expect("the run finishes in time");
}

async fn run_load(store: &Store, number: usize, operations: u64) {
    let clock = Clock::manual("2026-03-02T12:00:00Z".parse().unwrap());
    let mut processes = Vec::new();
    for _ in 0..number {
        processes.push(Process::start(open_db(store), &clock, Timetable::built_in().unwrap()).await);
    }
    let users = Users::new(&processes[0].db, &clock, USERS).await;
    let seats = trips(&processes[0], &users).await;
    let mut background = JoinSet::new();
    for process in &processes {
        background.spawn(process.train.clone().run(std::future::pending()));
    }
    let trips = seats.keys().copied().collect();
    let load = Arc::new(Load::new(processes, users, USERS, clock, trips));

    let began = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(Client::new(&load, number).work(operations));
    }
    let history: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let took = began.elapsed();
    // As in a crash: unfinished background work is left for another process.
    background.shutdown().await;
    let db = &load.processes[0].db;
    assert_eq!(deadlocks(store, db).await, 0, "two transactions waited for each other");
    let mut history = history;
    history.push(load.settle_everything().await);
    history.extend(load.sell_every_seat().await);
    history.push(load.settle_everything().await);
    let dump = Dump::of(db).await;
    let (told, began) = (history.len(), Instant::now());
    let (summary, faults) = history::check(history, &seats, &dump);
    println!(
        "{operations} operations in {took:.1?}, {told} records checked in {:.1?}: {summary:?}",
        began.elapsed()
    );
    assert!(faults.is_empty(), "{} faults, such as {:#?}", faults.len(), &faults[..faults.len().min(10)]);
    // The clients competed, and every outcome occurred.
    let Summary { sold_out, confirmed, cancelled, expired, refunded, full } = summary;
    assert!(sold_out > 0 && confirmed > 0 && cancelled > 0 && expired > 0 && refunded > 0, "{summary:?}");
    assert_eq!(full, seats.len(), "the last seat of a trip was never sold: {summary:?}");

    load.cancel_everything(&dump).await;
    let dump = Dump::of(db).await;
    assert_eq!(dump.faults(), Vec::<String>::new());
    assert!(dump.taken.values().all(|taken| *taken == 0), "a seat was leaked: {:?}", dump.taken);
    assert!(!dump.charges.values().any(|charge| charge.is_kept()), "a charge was not refunded");
    for (trip, seats) in &seats {
        let answer = load.processes[0].call(&load.users.token(0), get(&format!("/trips/{trip}"))).await;
        assert_eq!(answer.body["seats_available"].as_i64(), Some(*seats));
    }
}

/// How many deadlocks PostgreSQL has resolved. The transactions are run again, but all others that need the same rows wait for a
/// second.
async fn deadlocks(store: &Store, db: &db::Db) -> i64 {
    if store.engine() == Engine::Sqlite {
        return 0;
    }
    let read = db.read(|tx| {
        let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        tx.row(deadlocks, &[], |row| row.get(0))
    });
    let found: Result<Option<i64>, db::Error> = read.await;
    found.unwrap().unwrap()
}

/// The trips that clients compete for, and their seats.
async fn trips(process: &Process, users: &Users) -> HashMap<Uuid, i64> {
    let found = process.call(&users.token(0), get(FEW_SEATS)).await;
    let trips = found.body["data"].as_array().unwrap();
    let seats = |trip: &serde_json::Value| (id(&trip["id"]), trip["seats_available"].as_i64().unwrap());
    let seats: HashMap<_, _> = trips.iter().map(seats).collect();
    assert_eq!(seats.values().sum::<i64>(), 64, "{found:?}");
    seats
}

impl Load {
    /// Lets every hold expire, and settles every payment.
    async fn settle_everything(&self) -> Record {
        let start = self.tick();
        self.clock.advance(HOLD);
        let process = &self.processes[0];
        for _ in 0..10 {
            process.train.do_due_work().await.unwrap();
            if Dump::unsettled(&process.db).await == 0 {
                let event = Event::MovedClock { to: self.clock.now() };
                self.users.renew().await;
                return Record { start, end: self.tick(), event };
            }
            // A stopped process still has the lease.
            self.clock.advance(SignedDuration::from_secs(61));
        }
        panic!("payments are not settled");
    }

    /// Books the remaining seats of each trip, one by one.
    async fn sell_every_seat(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for trip in &self.trips {
            let body = json!({"trip_id": trip, "passenger_name": "Ada"});
            loop {
                let start = self.tick();
                let answer =
                    self.processes[0].call(&self.users.token(0), post("/bookings", &body, None)).await;
                let event = match answer.status {
                    201 => Event::Booked {
                        trip: *trip,
                        booking: id(&answer.body["id"]),
                        expires_at: answer.body["expires_at"].as_str().unwrap().parse().unwrap(),
                    },
                    _ => {
                        assert_eq!((answer.status, answer.problem), (409, Some("sold-out")), "{answer:?}");
                        Event::FoundSoldOut { trip: *trip }
                    }
                };
                let sold_out = answer.status == 409;
                records.push(Record { start, end: self.tick(), event });
                if sold_out {
                    break;
                }
            }
        }
        records
    }

    async fn cancel_everything(&self, dump: &Dump) {
        let process = &self.processes[0];
        for (booking, _) in dump.bookings.iter().filter(|(_, (_, status))| status == "confirmed") {
            // The dump has no owners; for all users but the owner the booking does not exist.
            let mut found = Vec::new();
            for user in 0..USERS {
                let path = format!("/bookings/{booking}");
                found.push(process.call(&self.users.token(user), delete(&path)).await.status);
            }
            found.sort_unstable();
            assert_eq!(found, [204, 404, 404]);
        }
        process.train.do_due_work().await.unwrap();
    }
}
