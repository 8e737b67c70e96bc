//! Durable inserts: many tasks at once, each waiting for its own, beside a commit for every insert.

use std::{path::Path, time::Instant};

use db::Db;
use tokio::runtime::Runtime;

use crate::{
    Comparison, Rate,
    table::{self, WORDS},
};

const TASKS: u64 = 64;
const INSERTS: u64 = 64_000;
const PLAIN_INSERTS: u64 = 2_000;
const TARGET: f64 = 20.0;

pub(crate) fn compare(runtime: &Runtime, folder: &Path) -> Comparison {
    let db = table::ours(folder);
    let plain = table::plain(folder);

    let ours = || {
        Rate::of(|deadline| {
            let tasks: Vec<_> = (0..TASKS).map(|_| runtime.spawn(insert(db.clone(), deadline))).collect();
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum()
        })
    };
    let rusqlite = || {
        Rate::of(|deadline| {
            let mut done = 0;
            while done < PLAIN_INSERTS && Instant::now() < deadline {
                let insert = plain.prepare_cached("INSERT INTO entry (words, number) VALUES (?1, ?2)");
                assert_eq!(insert.unwrap().execute((WORDS, done as i64)).unwrap(), 1);
                done += 1;
            }
            done
        })
    };
    Comparison::measure("durable insert, 64 tasks", TARGET, ours, rusqlite)
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
