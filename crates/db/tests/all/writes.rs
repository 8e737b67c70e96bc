//! A write is complete or absent, also when it or another write fails.

use std::{panic::resume_unwind, sync::mpsc};

use db::{Db, Error, Migrations, WriteTx};
use futures_util::future::join_all;
use testkit::Store;

const SCHEMA: &[Migrations] = &[Migrations::new(
    "writes",
    &[(
        "0001_seats",
        "CREATE TABLE seat (id INTEGER PRIMARY KEY, guest INTEGER) STRICT;
            CREATE TABLE badge (
                guest INTEGER PRIMARY KEY REFERENCES seat DEFERRABLE INITIALLY DEFERRED
            ) STRICT;
            CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
            INSERT INTO counter VALUES (1, 0)",
        "CREATE TABLE seat (id BIGINT PRIMARY KEY, guest BIGINT);
            CREATE TABLE badge (
                guest BIGINT PRIMARY KEY REFERENCES seat DEFERRABLE INITIALLY DEFERRED
            );
            CREATE TABLE counter (id BIGINT PRIMARY KEY, n BIGINT NOT NULL);
            INSERT INTO counter VALUES (1, 0)",
    )],
)];

/// An error of a service, which includes errors of the database.
#[derive(Debug)]
enum BookingError {
    SoldOut,
    Database(Error),
}

impl From<Error> for BookingError {
    fn from(error: Error) -> Self {
        BookingError::Database(error)
    }
}

fn take(tx: &mut WriteTx<'_>, seat: i64) -> Result<u64, Error> {
    tx.execute("INSERT INTO seat (id) VALUES ($1)", &[seat.into()])
}

async fn seats(db: &Db) -> Vec<i64> {
    db.read(|tx| tx.rows("SELECT id FROM seat ORDER BY id", &[], |row| row.get(0))).await.unwrap()
}

/// Runs these at once. On SQLite they are all queued while a first write blocks the writer, so they share batches with that
/// write, which may run again.
async fn at_once<T>(db: &Db, writes: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let (enter, entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let blocker = tokio::spawn({
        let db = db.clone();
        async move {
            db.write(move |_| {
                let _ = enter.send(());
                let _ = released.recv();
                Ok::<_, Error>(())
            })
            .await
        }
    });
    entered.recv().unwrap();
    let (answers, ()) = tokio::join!(biased; join_all(writes), async move { drop(release) });
    blocker.await.unwrap().unwrap();
    answers
}

testkit::on_both_engines! {
    async fn write_that_returns_an_error_changes_nothing(store: Store) {
        let db = store.open("writes", SCHEMA);
        let answer: Result<(), BookingError> = db
            .write(|tx| {
                take(tx, 1)?;
                take(tx, 2)?;
                Err(BookingError::SoldOut)
            })
            .await;
        assert!(matches!(answer, Err(BookingError::SoldOut)), "{answer:?}");
        assert_eq!(seats(&db).await, [0; 0]);
        let answer: Result<u64, BookingError> = db.write(|tx| Ok(take(tx, 1)? + take(tx, 2)?)).await;
        assert_eq!(answer.unwrap(), 2);
        assert_eq!(seats(&db).await, [1, 2]);
    }

    async fn write_whose_second_statement_fails_changes_nothing(store: Store) {
        let db = store.open("writes", SCHEMA);
        let answer: Result<u64, BookingError> = db.write(|tx| Ok(take(tx, 1)? + take(tx, 1)?)).await;
        assert!(matches!(answer, Err(BookingError::Database(Error::Unique(_)))), "{answer:?}");
        assert_eq!(seats(&db).await, [0; 0]);
    }

    async fn panic_in_a_write_is_its_own_error(store: Store) {
        let db = store.open("writes", SCHEMA);
        for _ in 0..8 {
            let answer: Result<(), Error> = db
                .write(|tx| {
                    take(tx, 1)?;
                    resume_unwind(Box::new(format!("seat {} is broken", 1)))
                })
                .await;
            match answer {
                Err(Error::Fault(text)) => assert_eq!(text, "a unit of work panicked: seat 1 is broken"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seats(&db).await, [0; 0]);
        assert_eq!(db.write(|tx| take(tx, 1)).await.unwrap(), 1);
        assert_eq!(seats(&db).await, [1]);
    }

    async fn locked_row_loses_no_change_of_concurrent_writers(store: Store) {
        let db = store.open("writes", SCHEMA);
        let add_one = |tx: &mut WriteTx<'_>| {
            tx.lock("SELECT 1 FROM counter WHERE id = 1 FOR NO KEY UPDATE", &[])?;
            let n = tx.row("SELECT n FROM counter WHERE id = 1", &[], |row| row.get::<i64>(0))?;
            tx.execute("UPDATE counter SET n = $1 WHERE id = 1", &[(n.unwrap_or(0) + 1).into()])
        };
        let writers = (0..8).map(|_| {
            let db = db.clone();
            tokio::spawn(async move {
                for _ in 0..25 {
                    assert_eq!(db.write(add_one).await.unwrap(), 1);
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let n = db.read(|tx| tx.row("SELECT n FROM counter", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(n.unwrap(), Some(200));
    }

    async fn statements_after_a_failed_one_are_rejected_and_the_write_fails(store: Store) {
        let db = store.open("writes", SCHEMA);
        let answer: Result<(), Error> = db
            .write(|tx| {
                take(tx, 1)?;
                let failed = take(tx, 1);
                assert!(matches!(failed, Err(Error::Unique(_))), "{failed:?}");
                let after = take(tx, 2);
                assert!(matches!(after, Err(Error::Aborted)), "{after:?}");
                let read = tx.row("SELECT 1", &[], |row| row.get::<i64>(0));
                assert!(matches!(read, Err(Error::Aborted)), "{read:?}");
                Ok(())
            })
            .await;
        assert!(matches!(answer, Err(Error::Aborted)), "{answer:?}");
        assert_eq!(seats(&db).await, [0; 0]);
    }

    async fn unreadable_row_fails_the_write(store: Store) {
        let db = store.open("writes", SCHEMA);
        let insert = "INSERT INTO seat (id) VALUES (1) RETURNING guest";
        let answer = db.write(move |tx| tx.row(insert, &[], |row| row.get::<i64>(0))).await;
        assert!(matches!(answer, Err(Error::Column { index: 0, .. })), "{answer:?}");
        assert_eq!(seats(&db).await, [0; 0]);
    }

    async fn five_hundred_concurrent_writes_succeed_or_fail_alone(store: Store) {
        let db = store.open("writes", SCHEMA);
        db.write(|tx| take(tx, 10_000)).await.unwrap();
        let answers = at_once(&db, (0..500_i64).map(|seat| book(&db, seat))).await;
        assert_eq!(answers.len(), 500);
        let mut booked = Vec::new();
        for (seat, answer) in (0_i64..).zip(answers) {
            match (Fate::of(seat), answer) {
                (Fate::Booked, Ok(answered)) => {
                    assert_eq!(answered, seat);
                    booked.push(seat);
                }
                (Fate::SoldOut, Err(BookingError::SoldOut)) => {}
                (Fate::Taken, Err(BookingError::Database(Error::Unique(_)))) => {}
                (Fate::Panics, Err(BookingError::Database(Error::Fault(text)))) => {
                    assert_eq!(text, format!("a unit of work panicked: seat {seat}"));
                }
                (fate, answer) => panic!("seat {seat}: {answer:?}, expected {fate:?}"),
            }
        }
        booked.push(10_000);
        assert_eq!(seats(&db).await, booked);
    }

    async fn unreadable_row_does_not_affect_other_writes(store: Store) {
        let db = store.open("writes", SCHEMA);
        let insert = "INSERT INTO seat (id) VALUES ($1) RETURNING id";
        let answers = at_once(&db, (0..20_i64).map(|seat| {
            db.write(move |tx| {
                tx.row(insert, &[seat.into()], |row| match seat % 5 {
                    1 => Err(Error::Unique("of the reader's own making".into())),
                    2 => resume_unwind(Box::new("unreadable")),
                    _ => row.get::<i64>(0),
                })
            })
        }))
        .await;
        for (seat, answer) in (0..).zip(answers) {
            match (seat % 5, answer) {
                (1, Err(Error::Unique(text))) => assert_eq!(text, "of the reader's own making"),
                (2, Err(Error::Fault(text))) => assert_eq!(text, "a unit of work panicked: unreadable"),
                (0 | 3 | 4, Ok(answered)) => assert_eq!(answered, Some(seat)),
                (_, answer) => panic!("seat {seat}: {answer:?}"),
            }
        }
        assert_eq!(seats(&db).await, [0, 3, 4, 5, 8, 9, 10, 13, 14, 15, 18, 19]);
    }

    async fn deferred_constraint_does_not_affect_other_writes(store: Store) {
        let db = store.open("writes", SCHEMA);
        let answers = at_once(&db, (0..20_i64).map(|seat| {
            db.write(move |tx| {
                take(tx, seat)?;
                // The badge of a guest without a seat: the constraint is checked at the commit.
                let guest = if seat == 7 { 99 } else { seat };
                tx.execute("INSERT INTO badge (guest) VALUES ($1)", &[guest.into()])
            })
        }))
        .await;
        for (seat, answer) in answers.iter().enumerate() {
            match answer {
                Err(Error::Constraint(_)) if seat == 7 => {}
                Ok(1) if seat != 7 => {}
                other => panic!("seat {seat}: {other:?}"),
            }
        }
        assert_eq!(seats(&db).await, (0..20).filter(|seat| *seat != 7).collect::<Vec<_>>());
    }

    async fn answered_write_is_visible_to_all_readers(store: Store) {
        let db = store.open("writes", SCHEMA);
        let other = store.open("writes", SCHEMA);
        for seat in 1..=50 {
            db.write(move |tx| take(tx, seat)).await.unwrap();
            assert_eq!(seats(&other).await, (1..=seat).collect::<Vec<_>>());
        }
    }

    async fn two_processes_increment_to_the_exact_sum(store: Store) {
        let handles = [store.open("writes", SCHEMA), store.open("writes", SCHEMA)];
        let tasks: Vec<_> = (0..64)
            .map(|task| {
                let db = handles[task % 2].clone();
                tokio::spawn(async move {
                    for _ in 0..25 {
                        let changed = db.write(|tx| tx.execute("UPDATE counter SET n = n + 1", &[])).await;
                        assert_eq!(changed.unwrap(), 1);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for db in handles {
            let n = db.read(|tx| tx.row("SELECT n FROM counter", &[], |row| row.get::<i64>(0))).await;
            assert_eq!(n.unwrap(), Some(64 * 25));
        }
    }

    async fn writes_of_dropped_callers_are_complete_or_absent(store: Store) {
        let db = store.open("writes", SCHEMA);
        let task = tokio::spawn({
            let db = db.clone();
            async move { join_all((0..100).map(|seat| db.write(move |tx| take(tx, seat)))).await }
        });
        tokio::task::yield_now().await;
        task.abort();
        let _ = task.await;
        assert_eq!(db.write(|tx| take(tx, 100)).await.unwrap(), 1);
        let found = seats(&db).await;
        assert_eq!(found.last(), Some(&100));
        assert!(found.len() <= 101);
    }
}

#[derive(Debug)]
enum Fate {
    Booked,
    SoldOut,
    Taken,
    Panics,
}

impl Fate {
    fn of(seat: i64) -> Self {
        match seat {
            _ if seat % 11 == 0 => Fate::Panics,
            _ if seat % 3 == 0 => Fate::SoldOut,
            _ if seat % 7 == 0 => Fate::Taken,
            _ => Fate::Booked,
        }
    }
}

/// Takes a seat, and then meets its fate.
async fn book(db: &Db, seat: i64) -> Result<i64, BookingError> {
    db.write(move |tx| {
        take(tx, seat)?;
        match Fate::of(seat) {
            Fate::Booked => Ok(seat),
            Fate::SoldOut => Err(BookingError::SoldOut),
            Fate::Taken => take(tx, 10_000).map(|_| seat).map_err(BookingError::from),
            Fate::Panics => resume_unwind(Box::new(format!("seat {seat}"))),
        }
    })
    .await
}
