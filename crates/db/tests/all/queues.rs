//! Queues are bounded: a unit that does not fit gets an error at once.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread::available_parallelism,
    time::Duration,
};

use db::{Db, Error, Limits, Migrations};
use futures_util::{FutureExt, future::BoxFuture};
use testkit::{Engine, Store};
use tokio::task::JoinHandle;

const SCHEMA: &[Migrations] = &[Migrations::new(
    "queues",
    &[(
        "0001_pages",
        "CREATE TABLE page (id INTEGER PRIMARY KEY) STRICT",
        "CREATE TABLE page (id BIGINT PRIMARY KEY)",
    )],
)];

const LIMITS: Limits = Limits { queue: 3, connections: 2, ..Limits::DEFAULT };

fn add(db: &Db, id: i64) -> BoxFuture<'static, Result<u64, Error>> {
    let db = db.clone();
    let insert = "INSERT INTO page (id) VALUES ($1)";
    async move { db.write(move |tx| tx.execute(insert, &[id.into()])).await }.boxed()
}

async fn pages(db: &Db) -> Vec<i64> {
    db.read(|tx| tx.rows("SELECT id FROM page ORDER BY id", &[], |row| row.get(0))).await.unwrap()
}

type Held = (Sender<()>, JoinHandle<Result<(), Error>>);

/// A write that has changed something and then waits until the sender is dropped.
fn hold_a_write(db: &Db, id: i64) -> Held {
    let (enter, entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let db = db.clone();
    let held = tokio::spawn(async move {
        db.write(move |tx| {
            tx.execute("INSERT INTO page (id) VALUES ($1)", &[id.into()])?;
            let _ = enter.send(());
            let _ = released.recv();
            Ok(())
        })
        .await
    });
    entered.recv().unwrap();
    (release, held)
}

fn read_long(db: &Db) -> BoxFuture<'static, Result<Option<i64>, Error>> {
    let db = db.clone();
    let one = "SELECT count(*) FROM page";
    async move { db.read_long(move |tx| tx.row(one, &[], |row| row.get(0))).await }.boxed()
}

/// As many long reads as run at once. Each has begun, and ends when its sender is dropped.
fn hold_all_long_reads(db: &Db, store: &Store, limits: Limits) -> Vec<Held> {
    let number = match store.engine() {
        Engine::Sqlite => (available_parallelism().map_or(1, NonZero::get) / 2).clamp(1, 4),
        Engine::Postgres => limits.connections,
    };
    let hold = |_| {
        let (enter, entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (db, released) = (db.clone(), Mutex::new(released));
        let held = tokio::spawn(async move {
            db.read_long(move |tx| {
                tx.row("SELECT count(*) FROM page", &[], |row| row.get::<i64>(0))?;
                let _ = enter.send(());
                let _ = released.lock().unwrap().recv();
                Ok(())
            })
            .await
        });
        entered.recv().unwrap();
        (release, held)
    };
    (0..number).map(hold).collect()
}

async fn release(held: Vec<Held>) {
    for (release, read) in held {
        drop(release);
        read.await.unwrap().unwrap();
    }
}

testkit::on_both_engines! {
    async fn full_queue_answers_busy_at_once(store: Store) {
        let db = Db::open(store.location(), "queues", SCHEMA, LIMITS).unwrap();
        let writers = match store.engine() {
            Engine::Sqlite => 1,
            Engine::Postgres => LIMITS.connections,
        };
        for round in 0..3 {
            let base = round * 100;
            let held: Vec<_> = (base..).take(writers).map(|id| hold_a_write(&db, id)).collect();
            let mut waiting: Vec<_> = (base + 10..).take(LIMITS.queue).map(|id| add(&db, id)).collect();
            for write in &mut waiting {
                assert!(write.now_or_never().is_none());
            }
            for id in base + 20..base + 40 {
                // It is ready after one poll: it did not wait.
                let refused = add(&db, id).now_or_never();
                assert!(matches!(refused, Some(Err(Error::Busy))), "{refused:?}");
            }
            for (release, write) in held {
                drop(release);
                write.await.unwrap().unwrap();
            }
            for write in waiting {
                assert_eq!(write.await.unwrap(), 1);
            }
            assert_eq!(add(&db, base + 50).await.unwrap(), 1);
        }
        let mut expected = Vec::new();
        for base in [0, 100, 200] {
            expected.extend((base..).take(writers));
            expected.extend([base + 10, base + 11, base + 12, base + 50]);
        }
        assert_eq!(pages(&db).await, expected);
    }

    async fn queued_write_of_a_dropped_caller_is_not_started(store: Store) {
        let db = Db::open(store.location(), "queues", SCHEMA, Limits { connections: 1, ..LIMITS }).unwrap();
        let (release, held) = hold_a_write(&db, 1);
        let mut given_up = add(&db, 2);
        assert!((&mut given_up).now_or_never().is_none());
        drop(given_up);
        drop(release);
        held.await.unwrap().unwrap();
        assert_eq!(add(&db, 3).await.unwrap(), 1);
        assert_eq!(pages(&db).await, [1, 3]);
    }

    async fn read_does_not_wait_for_a_write(store: Store) {
        let db = store.open("queues", SCHEMA);
        let (release, held) = hold_a_write(&db, 1);
        assert_eq!(pages(&db).await, [0; 0]);
        let both = db
            .snapshot(|tx| {
                let mut count = || tx.row("SELECT count(*) FROM page", &[], |row| row.get::<i64>(0));
                Ok::<_, Error>((count()?, count()?))
            })
            .await;
        assert_eq!(both.unwrap(), (Some(0), Some(0)));
        drop(release);
        held.await.unwrap().unwrap();
        assert_eq!(pages(&db).await, [1]);
    }

    async fn queued_writes_are_written_when_the_database_closes(store: Store) {
        let db = Db::open(store.location(), "queues", SCHEMA, Limits { connections: 1, ..LIMITS }).unwrap();
        let (release, held) = hold_a_write(&db, 1);
        let queued = tokio::spawn(add(&db, 2));
        let again = tokio::spawn(add(&db, 3));
        drop(db);
        drop(release);
        held.await.unwrap().unwrap();
        assert_eq!(queued.await.unwrap().unwrap(), 1);
        assert_eq!(again.await.unwrap().unwrap(), 1);
        assert_eq!(pages(&store.open("queues", SCHEMA)).await, [1, 2, 3]);
    }

    async fn long_read_past_the_queue_is_busy_at_once(store: Store) {
        let db = Db::open(store.location(), "queues", SCHEMA, LIMITS).unwrap();
        for _ in 0..3 {
            let held = hold_all_long_reads(&db, &store, LIMITS);
            let mut waiting: Vec<_> = (0..LIMITS.queue).map(|_| read_long(&db)).collect();
            for read in &mut waiting {
                assert!(read.now_or_never().is_none());
            }
            let past = read_long(&db).now_or_never();
            assert!(matches!(past, Some(Err(Error::Busy))), "{past:?}");
            release(held).await;
            for read in waiting {
                assert_eq!(read.await.unwrap(), Some(0));
            }
        }
    }
}

/// On PostgreSQL a long read is a read like any other: it waits in the queue of its service.
fn on_sqlite(test: impl AsyncFnOnce(Store)) {
    testkit::run(Engine::Sqlite, test);
}

#[test]
fn abandoned_long_read_frees_its_position_in_the_queue() {
    on_sqlite(async |store| {
        let limits = Limits { queue: 1, ..LIMITS };
        let db = Db::open(store.location(), "queues", SCHEMA, limits).unwrap();
        let held = hold_all_long_reads(&db, &store, limits);
        for _ in 0..3 {
            let mut abandoned = read_long(&db);
            assert!((&mut abandoned).now_or_never().is_none());
        }
        let mut waiting = read_long(&db);
        assert!((&mut waiting).now_or_never().is_none());
        release(held).await;
        assert_eq!(waiting.await.unwrap(), Some(0));
    });
}

#[test]
fn long_read_that_waits_too_long_is_busy() {
    on_sqlite(async |store| {
        let limits = Limits { wait: Duration::from_millis(1), ..LIMITS };
        let db = Db::open(store.location(), "queues", SCHEMA, limits).unwrap();
        let held = hold_all_long_reads(&db, &store, limits);
        for _ in 0..2 * LIMITS.queue {
            let late = read_long(&db).await;
            assert!(matches!(late, Err(Error::Busy)), "{late:?}");
        }
        release(held).await;
        assert_eq!(read_long(&db).await.unwrap(), Some(0));
    });
}
