//! Databases with names that are made at run time, in groups.

use std::fs;

use db::{Databases, Db, Migrations};
use testkit::{Engine, Store};

pub(crate) const SCHEMA: &[Migrations] = &[Migrations::new(
    "shelf",
    &[(
        "0001_books",
        "CREATE TABLE book (id INTEGER PRIMARY KEY) STRICT",
        "CREATE TABLE book (id BIGINT PRIMARY KEY)",
    )],
)];

pub(crate) async fn add(db: &Db, id: i64) {
    let insert = "INSERT INTO book (id) VALUES ($1)";
    assert_eq!(db.write(move |tx| tx.execute(insert, &[id.into()])).await.unwrap(), 1);
}

pub(crate) async fn books(db: &Db) -> Vec<i64> {
    db.read(|tx| tx.rows("SELECT id FROM book ORDER BY id", &[], |row| row.get(0))).await.unwrap()
}

/// The schemas of the database that this program made.
pub(crate) async fn schemas(databases: &Databases) -> Vec<String> {
    let db = databases.open("witness", &[]).unwrap();
    let found = db.read(|tx| {
        let all = "SELECT CAST(nspname AS TEXT) FROM pg_namespace
            WHERE nspname NOT LIKE 'pg\\_%' AND nspname NOT IN ('public', 'information_schema', 'witness')
            ORDER BY nspname";
        tx.rows(all, &[], |row| row.get(0))
    });
    found.await.unwrap()
}

testkit::on_both_engines! {
    async fn groups_do_not_share_their_tables(store: Store) {
        let root = store.connect();
        let names = ["ada".to_owned(), "test-run-7".to_owned()];
        let dbs: Vec<_> = names.iter().map(|name| root.group(name).unwrap().open("shelf", SCHEMA).unwrap()).collect();
        let shelf = root.open("shelf", SCHEMA).unwrap();
        for (db, id) in dbs.iter().chain([&shelf]).zip(1..) {
            add(db, id).await;
            db.ping().await.unwrap();
        }
        for (db, id) in dbs.iter().chain([&shelf]).zip(1..) {
            assert_eq!(books(db).await, [id]);
        }
    }

    async fn database_of_a_group_has_its_own_file_or_schema(store: Store) {
        let root = store.connect();
        let group = root.group("test-run-7").unwrap();
        for name in ["shelf", "desk"] {
            drop(group.open(name, SCHEMA).unwrap());
        }
        match store.engine() {
            Engine::Sqlite => {
                let folder = store.folder().unwrap().join("sandboxes/test-run-7");
                let mut files: Vec<_> =
                    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                files.sort();
                assert_eq!(files, ["desk.db", "shelf.db"]);
            }
            Engine::Postgres => {
                assert_eq!(schemas(&root).await, ["sandbox_test_run_7_desk", "sandbox_test_run_7_shelf"]);
            }
        }
    }

    async fn database_is_opened_again_under_its_name(store: Store) {
        let root = store.connect();
        for id in 1..=3 {
            let db = root.group("ada").unwrap().open("shelf", SCHEMA).unwrap();
            add(&db, id).await;
            assert_eq!(books(&db).await, (1..=id).collect::<Vec<_>>());
        }
    }

    async fn invalid_names_are_rejected(store: Store) {
        let root = store.connect();
        for name in ["", "-a", "a-", "Ada", "a_b", "../a", "a/b", "a b", "a;b", &"a".repeat(33)] {
            let why = root.group(name).err().unwrap().to_string();
            assert_eq!(
                why,
                format!(
                    "the name of a group of databases, {name:?}, is not 1 to 32 lower-case letters, digits and dashes, \
                     with no dash at either end"
                )
            );
        }
        let group = root.group("ada").unwrap();
        for name in ["", "a_b", "A", "../a", "a-b", "a;b", "7a"] {
            for databases in [&root, &group] {
                let why = databases.open(name, SCHEMA).err().unwrap().to_string();
                assert!(why.starts_with(&format!("the name of a database, {name:?}, is not 1 to 20 ")), "{why}");
            }
        }
    }
}
