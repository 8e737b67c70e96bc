//! What is SQLite's own: its file, its journal, and what can be wrong with where they are.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use db::{Db, Limits, Location, Migrations, Script};
use testkit::{Engine, Store};

const SCHEMA: &[Migrations] = &[Migrations {
    component: "shelf",
    steps: &[Script {
        name: "0001_books",
        sqlite: "CREATE TABLE book (id INTEGER PRIMARY KEY) STRICT",
        postgres: "",
    }],
}];

fn refusal(folder: &Path) -> String {
    let opened = Db::open(&Location::Sqlite(folder.to_owned()), "shelf", SCHEMA, Limits::default());
    let text = opened.err().expect("it is refused").to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

#[test]
fn the_journal_is_a_wal_and_is_folded_back_on_closing() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        for id in 0..100_i64 {
            db.write(move |tx| tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])).await.unwrap();
        }
        let count = db.read(|tx| tx.row("SELECT count(*) FROM book", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(count.unwrap(), Some(100));
        let folder = store.folder().unwrap();
        let (file, wal) = (folder.join("shelf.db"), folder.join("shelf.db-wal"));
        assert!(wal.metadata().unwrap().len() > 0);
        {
            let outside = rusqlite::Connection::open(&file).unwrap();
            let mode: String = outside.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
        drop(db);
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["shelf.db"]);
        let outside = rusqlite::Connection::open(&file).unwrap();
        let count: i64 = outside.query_row("SELECT count(*) FROM book", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 100);
    });
}

#[test]
fn readers_of_many_threads_are_closed_too() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        let reads = (0..8).map(|_| {
            let db = db.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(db.ping()).unwrap();
            })
        });
        for read in reads.collect::<Vec<_>>() {
            read.join().unwrap();
        }
        drop(db);
        assert!(!store.folder().unwrap().join("shelf.db-wal").exists());
    });
}

#[test]
fn the_folder_is_made_with_its_parents() {
    let folder = tempfile::tempdir().unwrap();
    let nested = folder.path().join("one/two/three");
    drop(Db::open(&Location::Sqlite(nested.clone()), "shelf", SCHEMA, Limits::default()).unwrap());
    assert!(nested.join("shelf.db").is_file());
}

#[test]
fn a_data_folder_that_is_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let at = |path: &Path| format!("cannot use the data folder {}: it is not a folder", path.display());
    assert_eq!(refusal(&file), at(&file));
    let below = file.join("below");
    assert_eq!(refusal(&below), at(&below));
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shelf.db");
    let text = "this is a letter, and not a database at all\n".repeat(100);
    fs::write(&file, &text).unwrap();
    let expected =
        format!("cannot open {}: the database is unavailable: file is not a database", file.display());
    assert_eq!(refusal(folder.path()), expected);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_database_file_that_is_a_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shelf.db");
    fs::create_dir(&file).unwrap();
    let text = refusal(folder.path());
    assert!(text.starts_with(&format!("cannot open {}: ", file.display())), "{text}");
}
