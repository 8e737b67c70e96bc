//! The table both sides use: a key, some 200 bytes of text, a number.

use std::path::Path;

use db::{Db, Limits, Location, Migrations};

const CREATE: &str =
    "CREATE TABLE entry (id INTEGER PRIMARY KEY, words TEXT NOT NULL, number INTEGER NOT NULL) STRICT";

pub(crate) const WORDS: &str = "Two hundred bytes of text, about as much as a short description has: enough to fill a page \
     of the database with some twenty rows, and little enough that none of them needs a page of its own. Here it ends.";

/// Fills it with [`ROWS`] rows.
pub(crate) const FILL: &str =
    "WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 100000)
    INSERT INTO entry (id, words, number) SELECT id, $1, id * 7 FROM ids";
pub(crate) const ROWS: i64 = 100_000;

/// A database with this table, and what else is asked for.
pub(crate) fn ours(folder: &Path, others: &[Migrations]) -> Db {
    let own = Migrations::new("bench", &[("0001_entry", CREATE, "")]);
    let migrations: Vec<_> = [own].into_iter().chain(others.iter().copied()).collect();
    let location = Location::Sqlite(folder.join("ours"));
    Db::open(&location, "bench", &migrations, Limits::default()).unwrap()
}

pub(crate) fn plain(folder: &Path) -> rusqlite::Connection {
    std::fs::create_dir_all(folder).unwrap();
    let connection = rusqlite::Connection::open(folder.join("plain.db")).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").unwrap();
    connection.execute_batch(CREATE).unwrap();
    connection
}
