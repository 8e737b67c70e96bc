//! The databases of tests on PostgreSQL: a test finds nothing of an earlier one.

use db::{Db, Error, Migrations};
use testkit::{Engine, Store};

const SCHEMA: &[Migrations] = &[Migrations::new(
    "stores",
    &[(
        "0001_shelf",
        "",
        "CREATE TABLE shelf (id BIGSERIAL PRIMARY KEY); INSERT INTO shelf (id) VALUES (10)",
    )],
)];

async fn run(db: &Db, sql: &'static str) -> u64 {
    let done: Result<_, Error> = db.write(move |tx| tx.execute(sql, &[])).await;
    done.unwrap()
}

/// The ids of the shelves, and the number of tables of the schema.
async fn found(db: &Db) -> (Vec<i64>, Option<i64>) {
    let tables =
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'stores'::regnamespace AND relkind = 'r'";
    let read = db.snapshot(move |tx| {
        let shelves = tx.rows("SELECT id FROM shelf ORDER BY id", &[], |row| row.get(0))?;
        Ok::<_, Error>((shelves, tx.row(tables, &[], |row| row.get(0))?))
    });
    read.await.unwrap()
}

/// More than once, since a database of another test may be free.
const TESTS: usize = 3;

#[test]
fn rows_and_numbers_of_a_test_are_deleted() {
    for _ in 0..TESTS {
        testkit::run(Engine::Postgres, async |store: Store| {
            let db = store.open("stores", SCHEMA);
            assert_eq!(found(&db).await, (vec![10], Some(2)));
            assert_eq!(run(&db, "DELETE FROM shelf").await, 1);
            assert_eq!(run(&db, "INSERT INTO shelf DEFAULT VALUES").await, 1);
            assert_eq!(found(&db).await, (vec![1], Some(2)));
        });
    }
}

#[test]
fn tables_of_a_test_are_deleted() {
    for _ in 0..TESTS {
        testkit::run(Engine::Postgres, async |store: Store| {
            let db = store.open("stores", SCHEMA);
            assert_eq!(found(&db).await, (vec![10], Some(2)));
            run(&db, "CREATE TABLE stores.box (id BIGINT)").await;
            run(&db, "ALTER TABLE stores.shelf ADD COLUMN name TEXT").await;
            assert_eq!(found(&db).await, (vec![10], Some(3)));
        });
    }
}

#[test]
fn connections_are_idle_after_the_last_unit_of_a_closed_database() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let databases = store.connect();
        assert!(databases.is_idle());
        let db = databases.open("stores", SCHEMA).unwrap();
        assert!(!databases.is_idle());
        let (enter, entered) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let held = tokio::spawn(async move {
            let unit = db.write(move |tx| {
                tx.execute("INSERT INTO shelf DEFAULT VALUES", &[])?;
                let _ = enter.send(());
                let _ = released.recv();
                Ok::<_, Error>(())
            });
            unit.await
        });
        entered.recv().unwrap();
        // The task drops the database. Its unit goes on.
        held.abort();
        assert!(held.await.unwrap_err().is_cancelled());
        assert!(!databases.is_idle());
        drop(release);
        testkit::until(async || databases.is_idle()).await;
    });
}
