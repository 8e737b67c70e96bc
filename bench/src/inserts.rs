//! Durable inserts: many tasks at once, each waiting for its own, beside a commit for every insert.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use db::Db;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::{
    Comparison, Rate,
    table::{self, WORDS},
};

const TASKS: u64 = 64;
const INSERTS: u64 = 64_000;
const PLAIN_INSERTS: u64 = 2_000;
const TARGET: f64 = 20.0;

/// Beside plain rusqlite doing the same: as many tasks, which share a connection, and a commit for every insert. And beside
/// a single caller of plain rusqlite alone, for the cost of the hand-over between threads: no target there,
/// as it depends on how cheap the disk's fsync is.
pub(crate) fn compare(runtime: &Runtime, folder: &Path) -> [Comparison; 2] {
    let db = table::ours(folder, &[]);
    let plain = Arc::new(Mutex::new(table::plain(folder)));
    let ours = || {
        Rate::of(|deadline| {
            let tasks: Vec<_> = (0..TASKS).map(|_| runtime.spawn(insert(db.clone(), deadline))).collect();
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum()
        })
    };
    let same = || {
        Rate::of(|deadline| {
            let task = || runtime.spawn(insert_plain(plain.clone(), PLAIN_INSERTS / TASKS, deadline));
            let tasks: Vec<_> = (0..TASKS).map(|_| task()).collect();
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum()
        })
    };
    let alone = || {
        Rate::of(|deadline| {
            let connection = plain.lock().unwrap();
            let mut done = 0;
            while done < PLAIN_INSERTS && Instant::now() < deadline {
                insert_one(&connection, done);
                done += 1;
            }
            done
        })
    };
    [
        Comparison::measure("durable insert, 64 tasks", Some(TARGET), ours, same),
        Comparison::measure("… beside one undisturbed caller", None, ours, alone),
    ]
}

/// What one task does on plain rusqlite. It blocks, so it has to leave the threads that serve.
async fn insert_plain(connection: Arc<Mutex<Connection>>, inserts: u64, deadline: Instant) -> u64 {
    let mut done = 0;
    while done < inserts && Instant::now() < deadline {
        let connection = connection.clone();
        tokio::task::spawn_blocking(move || insert_one(&connection.lock().unwrap(), done)).await.unwrap();
        done += 1;
    }
    done
}

fn insert_one(connection: &Connection, number: u64) {
    let insert = connection.prepare_cached("INSERT INTO entry (words, number) VALUES (?1, ?2)");
    assert_eq!(insert.unwrap().execute((WORDS, number as i64)).unwrap(), 1);
}

/// What one task does: its share, one after the other.
async fn insert(db: Db, deadline: Instant) -> u64 {
    let mut done = 0;
    while done < INSERTS / TASKS && Instant::now() < deadline {
        let number = done as i64;
        let insert = "INSERT INTO entry (words, number) VALUES ($1, $2)";
        let changed = db.write(move |tx| tx.execute(insert, &[WORDS.into(), number.into()]));
        assert_eq!(changed.await.unwrap(), 1);
        done += 1;
    }
    done
}
