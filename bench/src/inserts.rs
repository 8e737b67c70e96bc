//! Durable inserts: many tasks at once, each waiting for its own, beside a commit for every insert.

use std::path::Path;

use tokio::runtime::Runtime;

use crate::{
    Comparison, Rate,
    table::{self, WORDS},
};

const TASKS: u64 = 64;
const INSERTS: u64 = 64_000;
const PLAIN_INSERTS: u64 = 2_000;
const ROUNDS: usize = 7;
const TARGET: f64 = 20.0;

pub(crate) fn compare(runtime: &Runtime, folder: &Path) -> Comparison {
    let db = table::ours(folder);
    let plain = table::plain(folder);

    let ours = || {
        let work = async {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let db = db.clone();
                    tokio::spawn(async move {
                        for number in 0..(INSERTS / TASKS) as i64 {
                            let insert = "INSERT INTO entry (words, number) VALUES ($1, $2)";
                            let done = db.write(move |tx| tx.execute(insert, &[WORDS.into(), number.into()]));
                            assert_eq!(done.await.unwrap(), 1);
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        };
        Rate::of(INSERTS, || runtime.block_on(work))
    };
    let rusqlite = || {
        Rate::of(PLAIN_INSERTS, || {
            for number in 0..PLAIN_INSERTS as i64 {
                let insert = plain.prepare_cached("INSERT INTO entry (words, number) VALUES (?1, ?2)");
                assert_eq!(insert.unwrap().execute((WORDS, number)).unwrap(), 1);
            }
        })
    };
    Comparison::measure("durable insert, 64 tasks", TARGET, ROUNDS, ours, rusqlite)
}
