//! Results of single statements, and the limits of reads.

use std::{sync::Arc, thread};

use db::{Db, Error, Migrations, Tx};
use testkit::Store;

const SCHEMA: &[Migrations] = &[Migrations::new(
    "statements",
    &[(
        "0001_pets",
        "CREATE TABLE owner (id INTEGER PRIMARY KEY) STRICT;
            CREATE TABLE pet (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, legs INTEGER CHECK (legs >= 0),
                owner INTEGER REFERENCES owner
            ) STRICT",
        "CREATE TABLE owner (id BIGINT PRIMARY KEY);
            CREATE TABLE pet (
                id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, legs BIGINT CHECK (legs >= 0),
                owner BIGINT REFERENCES owner
            )",
    )],
)];

fn count(tx: &mut Tx<'_>) -> Result<i64, Error> {
    Ok(tx.row("SELECT count(*) FROM pet", &[], |row| row.get(0))?.expect("a count"))
}

async fn pets(db: &Db) -> i64 {
    db.read(count).await.unwrap()
}

async fn add(db: &Db, id: i64) {
    let name = format!("pet {id}");
    db.write(move |tx| {
        tx.execute("INSERT INTO pet (id, name) VALUES ($1, $2)", &[id.into(), (&name).into()])
    })
    .await
    .unwrap();
}

fn is_miscounted<T: std::fmt::Debug>(answer: &Result<T, Error>, named: usize, given: usize) {
    let expected = format!("a statement names {named} parameters and was given {given}");
    match answer {
        Err(error @ Error::Parameters { .. }) => assert_eq!(error.to_string(), expected),
        other => panic!("{other:?} instead of {expected:?}"),
    }
}

testkit::on_both_engines! {
    async fn rows_are_in_order_and_row_is_the_first(store: Store) {
        let db = store.open("statements", SCHEMA);
        let none = db.read(|tx| tx.row("SELECT id FROM pet", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(none.unwrap(), None);
        for id in [3, 1, 2] {
            add(&db, id).await;
        }
        let all = "SELECT id, name FROM pet WHERE id <> $1 ORDER BY id DESC";
        let rows = db
            .read(move |tx| tx.rows(all, &[2.into()], |row| Ok((row.get::<i64>(0)?, row.get::<String>(1)?))))
            .await;
        assert_eq!(rows.unwrap(), [(3, "pet 3".to_owned()), (1, "pet 1".to_owned())]);
        let first = db.read(move |tx| tx.row(all, &[2.into()], |row| row.get::<i64>(0))).await;
        assert_eq!(first.unwrap(), Some(3));
        let changed = db.write(|tx| tx.execute("UPDATE pet SET legs = 4 WHERE id > $1", &[1.into()])).await;
        assert_eq!(changed.unwrap(), 2);
    }

    async fn returning_statement_changes_all_its_rows(store: Store) {
        let db = store.open("statements", SCHEMA);
        for id in 1..=3 {
            add(&db, id).await;
        }
        let update = "UPDATE pet SET legs = $1 WHERE legs IS NULL RETURNING id";
        let first = db.write(move |tx| tx.row(update, &[4.into()], |row| row.get::<i64>(0))).await;
        assert!(first.unwrap().is_some());
        let legs = db.read(|tx| tx.rows("SELECT legs FROM pet", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(legs.unwrap(), [4, 4, 4]);
    }

    async fn wrong_number_of_parameters_is_an_error(store: Store) {
        let db = store.open("statements", SCHEMA);
        let insert = "INSERT INTO pet (id, name, legs) VALUES (1, $1, $2)";
        let execute = db.write(move |tx| tx.execute(insert, &["Rex".into()])).await;
        is_miscounted(&execute, 2, 1);
        let execute = db.write(move |tx| tx.execute(insert, &["Rex".into(), 4.into(), 5.into()])).await;
        is_miscounted(&execute, 2, 3);
        let execute = db.write(move |tx| tx.execute(insert, &[])).await;
        is_miscounted(&execute, 2, 0);
        let returning = "INSERT INTO pet (id, name, legs) VALUES (1, $1, $2) RETURNING id";
        let row = db.write(move |tx| tx.row(returning, &["Rex".into()], |row| row.get::<i64>(0))).await;
        is_miscounted(&row, 2, 1);
        let rows = db.write(move |tx| tx.rows(returning, &["Rex".into()], |row| row.get::<i64>(0))).await;
        is_miscounted(&rows, 2, 1);
        assert_eq!(pets(&db).await, 0);

        let select = "SELECT id FROM pet WHERE name = $1 OR name = $1";
        let row = db.read(move |tx| tx.row(select, &[], |row| row.get::<i64>(0))).await;
        is_miscounted(&row, 1, 0);
        let two = ["a".into(), "b".into()];
        let rows = db.read(move |tx| tx.rows(select, &two, |row| row.get::<i64>(0))).await;
        is_miscounted(&rows, 1, 2);
        let none = db.read(|tx| tx.rows("SELECT id FROM pet", &[1.into()], |row| row.get::<i64>(0))).await;
        is_miscounted(&none, 0, 1);
        let fits = db.read(move |tx| tx.rows(select, &["a".into()], |row| row.get::<i64>(0))).await;
        assert_eq!(fits.unwrap(), Vec::<i64>::new());
    }

    async fn constraint_errors_are_distinguished(store: Store) {
        let db = store.open("statements", SCHEMA);
        add(&db, 1).await;
        let insert = "INSERT INTO pet (id, name, legs, owner) VALUES ($1, $2, $3, $4)";
        let tried = async |id: i64, name: Option<&'static str>, legs: i64, owner: Option<i64>| {
            db.write(move |tx| tx.execute(insert, &[id.into(), name.into(), legs.into(), owner.into()])).await
        };
        let key = tried(1, Some("Rex"), 4, None).await;
        assert!(matches!(&key, Err(Error::Unique(_))), "{key:?}");
        let name = tried(2, Some("pet 1"), 4, None).await;
        assert!(matches!(&name, Err(Error::Unique(_))), "{name:?}");
        let missing = tried(2, None, 4, None).await;
        assert!(matches!(&missing, Err(Error::Constraint(_))), "{missing:?}");
        let check = tried(2, Some("Rex"), -1, None).await;
        assert!(matches!(&check, Err(Error::Constraint(_))), "{check:?}");
        let foreign = tried(2, Some("Rex"), 4, Some(9)).await;
        assert!(matches!(&foreign, Err(Error::Constraint(_))), "{foreign:?}");
        assert_eq!(tried(2, Some("Rex"), 4, None).await.unwrap(), 1);
        assert_eq!(pets(&db).await, 2);
    }

    async fn invalid_statement_is_an_engine_error(store: Store) {
        let db = store.open("statements", SCHEMA);
        let read = db.read(|tx| tx.row("SELECT nothing FROM pet", &[], |row| row.get::<i64>(0))).await;
        assert!(matches!(&read, Err(Error::Engine(_))), "{read:?}");
        let write = db.write(|tx| tx.execute("DELETE FROM nowhere", &[])).await;
        assert!(matches!(&write, Err(Error::Engine(_))), "{write:?}");
        assert_eq!(pets(&db).await, 0);
    }

    async fn write_in_a_read_is_rejected(store: Store) {
        let db = store.open("statements", SCHEMA);
        let insert = "INSERT INTO pet (id, name) VALUES (1, 'Rex') RETURNING id";
        let one = db.read(move |tx| tx.row(insert, &[], |row| row.get::<i64>(0))).await;
        assert!(matches!(&one, Err(Error::Engine(_))), "{one:?}");
        let several = move |tx: &mut Tx<'_>| {
            count(tx)?;
            tx.row(insert, &[], |row| row.get::<i64>(0))
        };
        for _ in 0..2 {
            let answer = db.snapshot(several).await;
            assert!(matches!(&answer, Err(Error::Engine(_))), "{answer:?}");
        }
        assert_eq!(pets(&db).await, 0);
        assert_eq!(db.write(move |tx| tx.row(insert, &[], |row| row.get(0))).await.unwrap(), Some(1_i64));
        assert_eq!(pets(&db).await, 1);
    }

    async fn lock_in_a_read_is_rejected(store: Store) {
        let db = store.open("statements", SCHEMA);
        add(&db, 1).await;
        let lock = "SELECT id FROM pet WHERE id = $1 FOR NO KEY UPDATE";
        let one = db.read(move |tx| tx.row(lock, &[1.into()], |row| row.get::<i64>(0))).await;
        assert!(matches!(&one, Err(Error::Engine(_))), "{one:?}");
        let several = move |tx: &mut Tx<'_>| {
            count(tx)?;
            tx.row(lock, &[1.into()], |row| row.get::<i64>(0))
        };
        let several = db.snapshot(several).await;
        assert!(matches!(&several, Err(Error::Engine(_))), "{several:?}");
        let write = db.write(move |tx| tx.row(lock, &[1.into()], |row| row.get::<i64>(0))).await;
        assert_eq!(write.unwrap(), Some(1));
    }

    async fn lock_reports_whether_a_row_was_found(store: Store) {
        let db = store.open("statements", SCHEMA);
        add(&db, 1).await;
        let lock = |id: i64| {
            db.write(move |tx| tx.lock("SELECT 1 FROM pet WHERE id = $1 FOR NO KEY UPDATE", &[id.into()]))
        };
        assert!(lock(1).await.unwrap());
        assert!(!lock(2).await.unwrap());
        let all = db.write(|tx| tx.lock("SELECT 1 FROM pet FOR NO KEY UPDATE", &[])).await;
        assert!(all.unwrap());
        let without = db.write(|tx| tx.lock("SELECT 1 FROM pet", &[])).await;
        assert_eq!(
            without.unwrap_err().to_string(),
            "a statement that locks rows must end with FOR NO KEY UPDATE: SELECT 1 FROM pet"
        );
    }

    async fn delete_some_deletes_at_most_its_limit(store: Store) {
        let db = store.open("statements", SCHEMA);
        for id in 1..=5 {
            add(&db, id).await;
        }
        let delete = db::delete_some!("pet", "id", "id < $1 ORDER BY id LIMIT 2");
        assert_eq!(db.write(move |tx| tx.execute(delete, &[4.into()])).await.unwrap(), 2);
        let left = db.read(|tx| tx.rows("SELECT id FROM pet ORDER BY id", &[], |row| row.get::<i64>(0)));
        assert_eq!(left.await.unwrap(), [3, 4, 5]);
        assert_eq!(db.write(move |tx| tx.execute(delete, &[4.into()])).await.unwrap(), 1);
        assert_eq!(db.write(move |tx| tx.execute(delete, &[4.into()])).await.unwrap(), 0);
    }

    async fn read_that_ignores_an_error_fails(store: Store) {
        let db = store.open("statements", SCHEMA);
        for _ in 0..2 {
            let hidden = db
                .read(|tx| {
                    let first = tx.row("SELECT nothing FROM pet", &[], |row| row.get::<i64>(0));
                    assert!(matches!(first, Err(Error::Engine(_))), "{first:?}");
                    let second = count(tx);
                    assert!(matches!(second, Err(Error::Aborted)), "{second:?}");
                    Ok::<_, Error>(())
                })
                .await;
            assert!(matches!(hidden, Err(Error::Aborted)), "{hidden:?}");
        }
        assert_eq!(pets(&db).await, 0);
    }

    async fn panic_in_a_read_is_its_own_error(store: Store) {
        let db = store.open("statements", SCHEMA);
        for _ in 0..8 {
            let answer = db
                .snapshot(|tx| {
                    count(tx)?;
                    count(tx)?;
                    std::panic::resume_unwind(Box::new("no such pet"));
                    #[expect(unreachable_code, reason = "says what the closure would have answered")]
                    Ok::<i64, Error>(0)
                })
                .await;
            assert_eq!(answer.unwrap_err().to_string(), "a unit of work panicked: no such pet");
        }
        add(&db, 1).await;
        assert_eq!(pets(&db).await, 1);
    }

    async fn second_statement_of_a_read_is_rejected(store: Store) {
        let db = store.open("statements", SCHEMA);
        let answer = db.read(|tx| Ok::<_, Error>((count(tx)?, count(tx)?))).await;
        assert_eq!(answer.unwrap_err().to_string(), "a read has one statement: several need a snapshot");
        assert_eq!(pets(&db).await, 0);
    }

    async fn statements_of_a_snapshot_see_one_state(store: Store) {
        let db = store.open("statements", SCHEMA);
        add(&db, 1).await;
        let disturb = disturb(&db, 2);
        let counted = db.snapshot(move |tx| {
            let first = count(tx)?;
            disturb();
            Ok::<_, Error>((first, count(tx)?))
        });
        assert_eq!(counted.await.unwrap(), (1, 1));
        assert_eq!(pets(&db).await, 2);
    }
}

/// Adds a pet from another thread, unless it exists, and returns when it is committed.
fn disturb(db: &Db, id: i64) -> Arc<dyn Fn() + Send + Sync> {
    let db = db.clone();
    Arc::new(move || {
        let insert = "INSERT INTO pet (id, name) VALUES ($1, 'intruder') ON CONFLICT DO NOTHING";
        thread::scope(|scope| {
            let write = || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(db.write(move |tx| tx.execute(insert, &[id.into()]))).unwrap();
            };
            scope.spawn(write).join().unwrap();
        });
    })
}
