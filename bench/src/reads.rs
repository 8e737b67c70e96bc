//! One row by its key, one after the other on one thread.

use std::{hint::black_box, path::Path};

use tokio::runtime::Runtime;

use crate::{
    Comparison, Rate,
    table::{self, FILL, ROWS, WORDS},
};

const READS: u64 = 100_000;
const TARGET: f64 = 0.8;

pub(crate) fn compare(runtime: &Runtime, folder: &Path) -> Comparison {
    let db = table::ours(folder, &[]);
    let filled = runtime.block_on(db.write(|tx| tx.execute(FILL, &[WORDS.into()]))).unwrap();
    let plain = table::plain(folder);
    plain.execute(FILL, [WORDS]).unwrap();
    assert_eq!(filled, ROWS as u64);

    let ours = || {
        let db = db.clone();
        let task = async move {
            for id in keys() {
                let select = "SELECT words, number FROM entry WHERE id = $1";
                let row = db.read(move |tx| {
                    tx.row(select, &[id.into()], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))
                });
                let row = row.await.unwrap().unwrap();
                assert_eq!(black_box(row).1, id * 7);
            }
        };
        Rate::of(|_| {
            runtime.block_on(runtime.spawn(task)).unwrap();
            READS
        })
    };
    let rusqlite = || {
        Rate::of(|_| {
            for id in keys() {
                let mut select =
                    plain.prepare_cached("SELECT words, number FROM entry WHERE id = ?1").unwrap();
                let row = select.query_row([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
                assert_eq!(black_box(row.unwrap()).1, id * 7);
            }
            READS
        })
    };
    Comparison::measure("read one row by its key", Some(TARGET), ours, rusqlite)
}

/// The same keys for both sides, all over the table.
fn keys() -> impl Iterator<Item = i64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..READS).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % ROWS as u64) as i64 + 1
    })
}
