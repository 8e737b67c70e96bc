//! Migrations bring a schema up to date, or the database is not opened.

use std::{sync::Barrier, thread};

use db::{Db, Limits, Migrations};
use testkit::{Engine, Store};

/// The name of a step, and its text for SQLite and for PostgreSQL.
type Script = (&'static str, &'static str, &'static str);

const CREATE: Script = (
    "0001_log",
    "CREATE TABLE log (id INTEGER PRIMARY KEY, step TEXT NOT NULL) STRICT;
        INSERT INTO log (step) VALUES ('first')",
    "CREATE TABLE log (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, step TEXT NOT NULL);
        INSERT INTO log (step) VALUES ('first')",
);
const EXTEND: Script = same("0002_more", "INSERT INTO log (step) VALUES ('second')");
const FINISH: Script = same("0003_last", "INSERT INTO log (step) VALUES ('third')");
const BROKEN: Script = same("0002_broken", "INSERT INTO log (step) VALUES ('lost');\nSELECT\nnothing");
const DUPLICATE: Script = same(
    "0002_duplicate",
    "CREATE UNIQUE INDEX steps ON log (step);\nINSERT INTO log (step) VALUES ('first')",
);
const OTHER: Migrations =
    Migrations::new("other", &[same("0001_other", "INSERT INTO log (step) VALUES ('other')")]);

const fn same(name: &'static str, sql: &'static str) -> Script {
    (name, sql, sql)
}

const fn log(steps: &'static [Script]) -> Migrations {
    Migrations::new("log", steps)
}

fn open(store: &Store, migrations: &[Migrations]) -> Result<Db, String> {
    let limits = Limits { connections: 1, ..Limits::default() };
    Db::open(store.location(), "journal", migrations, limits).map_err(|error| error.to_string())
}

fn open_error(store: &Store, migrations: &[Migrations]) -> String {
    let text = open(store, migrations).err().expect("it is refused");
    assert!(!text.contains('\n'), "more than one line: {text}");
    let prefix = match store.engine() {
        Engine::Sqlite => {
            format!("cannot open {}: ", store.folder().expect("a folder").join("journal.db").display())
        }
        Engine::Postgres => "cannot prepare the schema journal: ".to_owned(),
    };
    text.strip_prefix(&prefix).unwrap_or_else(|| panic!("{text}")).to_owned()
}

async fn steps(db: &Db) -> Vec<String> {
    db.read(|tx| tx.rows("SELECT step FROM log ORDER BY id", &[], |row| row.get(0))).await.unwrap()
}

testkit::on_both_engines! {
    async fn migrations_are_applied_in_order_and_once(store: Store) {
        assert_eq!(steps(&open(&store, &[log(&[CREATE])]).unwrap()).await, ["first"]);
        assert_eq!(steps(&open(&store, &[log(&[CREATE])]).unwrap()).await, ["first"]);
        let all = &[log(&[CREATE, EXTEND, FINISH])];
        for _ in 0..2 {
            assert_eq!(steps(&open(&store, all).unwrap()).await, ["first", "second", "third"]);
        }
    }

    async fn each_component_has_its_own_version(store: Store) {
        let both = &[log(&[CREATE, EXTEND]), OTHER];
        assert_eq!(steps(&open(&store, both).unwrap()).await, ["first", "second", "other"]);
        let longer = &[log(&[CREATE, EXTEND, FINISH]), OTHER];
        assert_eq!(steps(&open(&store, longer).unwrap()).await, ["first", "second", "other", "third"]);
    }

    async fn services_do_not_share_their_tables(store: Store) {
        let journal = open(&store, &[log(&[CREATE])]).unwrap();
        let diary = store.open("diary", &[log(&[CREATE, EXTEND])]);
        assert_eq!(steps(&journal).await, ["first"]);
        assert_eq!(steps(&diary).await, ["first", "second"]);
    }

    async fn eight_concurrent_starts_apply_migrations_once(store: Store) {
        let together = Barrier::new(8);
        let handles: Vec<_> = thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        together.wait();
                        open(&store, &[log(&[CREATE, EXTEND]), OTHER])
                    })
                })
                .collect();
            starts.into_iter().map(|start| start.join().unwrap().unwrap()).collect()
        });
        for db in &handles {
            assert_eq!(steps(db).await, ["first", "second", "other"]);
        }
    }

    async fn newer_schema_is_rejected(store: Store) {
        drop(open(&store, &[log(&[CREATE, EXTEND]), OTHER]).unwrap());
        assert_eq!(
            open_error(&store, &[log(&[CREATE]), OTHER]),
            "its schema is newer than this program (log is at version 2, this program knows up to 1): use the \
             newer triptych that wrote it"
        );
        assert_eq!(
            open_error(&store, &[log(&[CREATE, EXTEND])]),
            "its schema is newer than this program (other is at version 1, this program knows up to 0): use \
             the newer triptych that wrote it"
        );
        let db = open(&store, &[log(&[CREATE, EXTEND]), OTHER]).unwrap();
        assert_eq!(steps(&db).await, ["first", "second", "other"]);
    }

    async fn failed_migration_changes_nothing(store: Store) {
        let text = open_error(&store, &[log(&[CREATE, BROKEN])]);
        assert!(text.starts_with("migration log/0002_broken failed: "), "{text}");
        assert!(text.contains("nothing"), "{text}");
        // The first migration runs again, which would fail if its table existed.
        assert_eq!(steps(&open(&store, &[log(&[CREATE])]).unwrap()).await, ["first"]);
        let text = open_error(&store, &[log(&[CREATE, DUPLICATE, FINISH])]);
        assert!(text.starts_with("migration log/0002_duplicate failed: "), "{text}");
        let db = open(&store, &[log(&[CREATE, EXTEND])]).unwrap();
        assert_eq!(steps(&db).await, ["first", "second"]);
    }
}
