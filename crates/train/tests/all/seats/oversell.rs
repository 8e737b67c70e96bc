//! 64 clients fight for the last seats of a few trips: they book, pay, cancel and look while the clock moves past holds and
//! payments. Everything they were told is written down, and checked when all is over.

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
    clients::{Client, Fight, id},
    dump::Dump,
    history::{self, Did, Record, Summary},
    process::{HOLD, Process, Users, delete, get, open_db, post},
};

const CLIENTS: usize = 64;
const USERS: usize = 3;
/// `make torture` has a hundred times as many.
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
        fight(&store, 1, operations).await;
    }
}

#[test]
fn no_seat_is_sold_twice_by_three_processes() {
    testkit::run(Engine::Postgres, async |store: Store| fight(&store, 3, OPERATIONS).await);
}

async fn fight(store: &Store, processes: usize, operations: u64) {
    let fight = fight_it_out(store, processes, parameter("TORTURE_OPERATIONS", operations));
    tokio::time::timeout(AT_MOST, fight).await.expect("it comes to an end");
}

async fn fight_it_out(store: &Store, number: usize, operations: u64) {
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
    let fight = Arc::new(Fight::new(processes, users, USERS, clock, trips));

    let began = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(Client::new(&fight, number).work(operations));
    }
    let history: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let took = began.elapsed();
    // As a crash would: whatever they were at is for others to bring to its end.
    background.shutdown().await;
    let db = &fight.processes[0].db;
    assert_eq!(deadlocks(store, db).await, 0, "two waited for each other");
    let mut history = history;
    history.push(fight.settle_everything().await);
    history.extend(fight.sell_every_seat().await);
    history.push(fight.settle_everything().await);
    let dump = Dump::of(db).await;
    let (told, began) = (history.len(), Instant::now());
    let (summary, faults) = history::check(history, &seats, &dump);
    println!(
        "{operations} operations in {took:.1?}, {told} records checked in {:.1?}: {summary:?}",
        began.elapsed()
    );
    assert!(faults.is_empty(), "{} faults, such as {:#?}", faults.len(), &faults[..faults.len().min(10)]);
    // They did fight, and came to every end there is.
    let Summary { sold_out, confirmed, cancelled, expired, refunded, full } = summary;
    assert!(sold_out > 0 && confirmed > 0 && cancelled > 0 && expired > 0 && refunded > 0, "{summary:?}");
    assert_eq!(full, seats.len(), "the last seat of a trip was never sold: {summary:?}");

    fight.cancel_everything(&dump).await;
    let dump = Dump::of(db).await;
    assert_eq!(dump.faults(), Vec::<String>::new());
    assert!(dump.taken.values().all(|taken| *taken == 0), "a seat was leaked: {:?}", dump.taken);
    assert!(!dump.charges.values().any(|charge| charge.is_kept()), "somebody's money was kept");
    for (trip, seats) in &seats {
        let answer = fight.processes[0].call(&fight.users.token(0), get(&format!("/trips/{trip}"))).await;
        assert_eq!(answer.body["seats_available"].as_i64(), Some(*seats));
    }
}

/// How often PostgreSQL had to end a transaction since two waited for each other. They are run again, but all others who want
/// the same wait for a second.
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

/// The trips to fight for, and how many seats they have.
async fn trips(process: &Process, users: &Users) -> HashMap<Uuid, i64> {
    let found = process.call(&users.token(0), get(FEW_SEATS)).await;
    let trips = found.body["data"].as_array().unwrap();
    let seats = |trip: &serde_json::Value| (id(&trip["id"]), trip["seats_available"].as_i64().unwrap());
    let seats: HashMap<_, _> = trips.iter().map(seats).collect();
    assert_eq!(seats.values().sum::<i64>(), 64, "{found:?}");
    seats
}

impl Fight {
    /// Lets every hold run out and every payment come to its end.
    async fn settle_everything(&self) -> Record {
        let start = self.tick();
        self.clock.advance(HOLD);
        let process = &self.processes[0];
        for _ in 0..10 {
            process.train.work_off().await.unwrap();
            if Dump::unsettled(&process.db).await == 0 {
                let did = Did::MovedClock { to: self.clock.now() };
                self.users.renew().await;
                return Record { start, end: self.tick(), did };
            }
            // Somebody who is gone had it for themselves.
            self.clock.advance(SignedDuration::from_secs(61));
        }
        panic!("payments do not come to their end");
    }

    /// Books what is left of each trip, seat by seat.
    async fn sell_every_seat(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for trip in &self.trips {
            let body = json!({"trip_id": trip, "passenger_name": "Ada"});
            loop {
                let start = self.tick();
                let answer =
                    self.processes[0].call(&self.users.token(0), post("/bookings", &body, None)).await;
                let did = match answer.status {
                    201 => Did::Booked {
                        trip: *trip,
                        booking: id(&answer.body["id"]),
                        expires_at: answer.body["expires_at"].as_str().unwrap().parse().unwrap(),
                    },
                    _ => {
                        assert_eq!((answer.status, answer.problem), (409, Some("sold-out")), "{answer:?}");
                        Did::FoundSoldOut { trip: *trip }
                    }
                };
                let sold_out = answer.status == 409;
                records.push(Record { start, end: self.tick(), did });
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
            // Whose it is nobody wrote down; everybody else is told that there is none.
            let mut found = Vec::new();
            for user in 0..USERS {
                let path = format!("/bookings/{booking}");
                found.push(process.call(&self.users.token(user), delete(&path)).await.status);
            }
            found.sort_unstable();
            assert_eq!(found, [204, 404, 404]);
        }
        process.train.work_off().await.unwrap();
    }
}
