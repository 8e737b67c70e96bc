//! Reads of one statement on PostgreSQL, which share connections.

use std::{collections::BTreeSet, sync::mpsc, time::Duration};

use db::{Db, Error, Limits, Location};
use futures_util::future::{join_all, try_join_all};
use testkit::{Engine, Store};

/// With these, one connection of eight is shared by reads, and seven are the pool's.
const LIMITS: Limits = Limits { connections: 8, ..Limits::DEFAULT };
const THREADS: usize = 7;

const PROCESS: &str = "SELECT CAST(pg_backend_pid() AS BIGINT)";

fn on_postgres(test: impl AsyncFnOnce(Store)) {
    testkit::run(Engine::Postgres, test);
}

fn open(location: &Location) -> Db {
    Db::open(location, "pipeline", &[], LIMITS).unwrap()
}

async fn process(db: &Db) -> Result<i64, Error> {
    Ok(db.read(|tx| tx.row(PROCESS, &[], |row| row.get::<i64>(0))).await?.unwrap())
}

/// Units that keep all threads of the pool busy until the senders are dropped, with the processes of their connections.
async fn busy_threads(db: &Db) -> (BTreeSet<i64>, Vec<mpsc::Sender<()>>) {
    let (processes, mut started) = tokio::sync::mpsc::unbounded_channel();
    let mut ends = Vec::new();
    for _ in 0..THREADS {
        let (end, ended) = mpsc::channel::<()>();
        let (db, processes, ended) = (db.clone(), processes.clone(), std::sync::Mutex::new(ended));
        tokio::spawn(async move {
            db.write(move |tx| {
                let process = tx.row(PROCESS, &[], |row| row.get::<i64>(0))?;
                processes.send(process.unwrap()).unwrap();
                let _ = ended.lock().unwrap().recv();
                Ok::<_, Error>(())
            })
            .await
        });
        ends.push(end);
    }
    let mut found = BTreeSet::new();
    while found.len() < THREADS {
        found.insert(started.recv().await.unwrap());
    }
    (found, ends)
}

/// The process of the shared connection. The first reads go through the pool, until there is a shared connection.
async fn shared_process(db: &Db) -> i64 {
    let (pool, ends) = busy_threads(db).await;
    drop(ends);
    for _ in 0..10_000 {
        let found = process(db).await.unwrap();
        if !pool.contains(&found) {
            return found;
        }
    }
    panic!("all reads go through the pool");
}

#[test]
fn reads_are_answered_while_the_pool_is_busy() {
    on_postgres(async |store| {
        let db = open(store.location());
        let shared = shared_process(&db).await;
        let (pool, _ends) = busy_threads(&db).await;
        assert!(!pool.contains(&shared));
        let reads = (0..200_i64).map(|number| {
            db.read(move |tx| {
                tx.row(
                    "SELECT CAST($1 AS BIGINT), CAST(pg_backend_pid() AS BIGINT)",
                    &[number.into()],
                    |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)),
                )
            })
        });
        let answers: Vec<_> = try_join_all(reads).await.unwrap().into_iter().flatten().collect();
        assert_eq!(answers, (0..200).map(|number| (number, shared)).collect::<Vec<_>>());
    });
}

#[test]
fn reads_go_through_the_pool_when_the_shared_connection_breaks() {
    on_postgres(async |store| {
        let db = open(store.location());
        let shared = shared_process(&db).await;
        let end = db.write(move |tx| {
            tx.row("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", &[shared.into()], |row| {
                row.get::<bool>(0)
            })
        });
        assert_eq!(end.await.unwrap(), Some(true));
        let after: Vec<_> = join_all((0..100).map(|_| process(&db))).await;
        assert!(
            after.iter().all(|process| process.as_ref().is_ok_and(|process| *process != shared)),
            "{after:?}"
        );
        // There is a shared connection again.
        assert_ne!(shared_process(&db).await, shared);
    });
}

#[test]
fn slow_read_delays_no_other_read_and_is_completed_by_the_pool() {
    on_postgres(async |store| {
        let db = open(store.location());
        shared_process(&db).await;
        // The lock is held until the sender is dropped.
        let (locked, is_locked) = tokio::sync::oneshot::channel();
        let (unlock, unlocked) = mpsc::channel::<()>();
        let (locked, unlocked) = (std::sync::Mutex::new(Some(locked)), std::sync::Mutex::new(unlocked));
        let locking = tokio::spawn({
            let db = db.clone();
            async move {
                db.write(move |tx| {
                    tx.rows("SELECT pg_advisory_xact_lock(4711)", &[], |_| Ok(()))?;
                    let _ = locked.lock().unwrap().take().unwrap().send(());
                    let _ = unlocked.lock().unwrap().recv();
                    Ok::<_, Error>(())
                })
                .await
            }
        });
        is_locked.await.unwrap();
        let slow = tokio::spawn({
            let db = db.clone();
            async move {
                db.read(|tx| tx.rows("SELECT pg_advisory_xact_lock_shared(4711)", &[], |_| Ok(()))).await
            }
        });
        let others = join_all((0..100).map(|_| process(&db)));
        let others = tokio::time::timeout(Duration::from_secs(4), others)
            .await
            .expect("no read waits for the slow one");
        assert!(others.iter().all(Result::is_ok), "{others:?}");
        drop(unlock);
        assert_eq!(slow.await.unwrap().unwrap().len(), 1);
        locking.await.unwrap().unwrap();
    });
}

#[test]
fn unit_that_fails_before_its_statement_has_its_own_error() {
    on_postgres(async |store| {
        let db = open(store.location());
        shared_process(&db).await;
        let failed: Result<(), _> = db.read(|_| Err(Error::Fault("no statement".into()))).await;
        assert!(matches!(failed, Err(Error::Fault(why)) if why == "no statement"));
        let none: Result<_, Error> = db.read(|_| Ok(1)).await;
        assert_eq!(none.unwrap(), 1);
        let panicked: Result<(), Error> = db.read(|_| panic!("at once")).await;
        assert!(matches!(panicked, Err(Error::Fault(why)) if why.contains("at once")));
        let twice =
            db.read(|tx| tx.rows("SELECT 1", &[], |_| Ok(())).and(tx.rows("SELECT 2", &[], |_| Ok(()))));
        assert!(matches!(twice.await, Err(Error::Fault(why)) if why.contains("a read has one statement")));
        let wrong =
            db.read(|tx| tx.row("SELECT CAST(id AS BIGINT) FROM missing", &[], |row| row.get::<i64>(0)));
        assert!(matches!(wrong.await, Err(Error::Engine(_))));
    });
}
