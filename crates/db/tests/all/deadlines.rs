//! Deadlines on PostgreSQL: statements that are cancelled, and connections that are replaced.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Barrier, Mutex,
        mpsc::{self, Sender},
    },
    time::Duration,
};

use db::{Db, Error, Limits, Location};
use futures_util::future::join_all;
use testkit::{Engine, Proxy, Store, TlsPostgres};
use tokio::task::JoinHandle;

const SLOW: &str = "SELECT pg_sleep(3600)";
const CONNECTION: &str = "SELECT CAST(pid AS BIGINT), CAST(client_port AS BIGINT) FROM pg_stat_activity WHERE pid = pg_backend_pid()";

fn on_postgres(test: impl AsyncFnOnce(Store)) {
    testkit::run(Engine::Postgres, test);
}

fn open(location: &Location, connections: usize, wait: Duration) -> Db {
    Db::open(location, "deadlines", &[], Limits { connections, wait, ..Limits::DEFAULT }).unwrap()
}

async fn run(db: &Db, sql: &'static str) -> Result<usize, Error> {
    db.read(move |tx| tx.rows(sql, &[], |_| Ok(())).map(|rows| rows.len())).await
}

/// Waits until the server runs no statement like [`SLOW`] any more.
async fn slow_statement_ends(location: &Location) {
    let db = open(location, 1, Limits::DEFAULT.wait);
    let running = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(3600)%' AND pid <> pg_backend_pid()";
    testkit::until(async || {
        db.read(move |tx| tx.row(running, &[], |row| row.get::<i64>(0))).await.unwrap() == Some(0)
    })
    .await;
}

/// The processes on the server that two reads at once have.
async fn both_connections(db: &Db) -> Vec<i64> {
    let together = Arc::new(Barrier::new(2));
    let reads = [(); 2].map(|()| {
        let together = Arc::clone(&together);
        db.read(move |tx| {
            let process = tx.row(CONNECTION, &[], |row| row.get::<i64>(0))?;
            together.wait();
            Ok::<_, Error>(process.unwrap())
        })
    });
    join_all(reads).await.into_iter().map(Result::unwrap).collect()
}

#[test]
fn single_statement_past_its_time_is_cancelled_on_the_server() {
    on_postgres(async |store| {
        // The server must answer that it cancelled the statement in a share of this time, also on a busy machine.
        let db = open(store.location(), 1, Duration::from_secs(4));
        let slow = run(&db, SLOW).await;
        assert!(matches!(slow, Err(Error::Busy)), "{slow:?}");
        slow_statement_ends(store.location()).await;
        assert_eq!(run(&db, "SELECT 1").await.unwrap(), 1);
    });
}

#[test]
fn statement_is_cancelled_over_tls() {
    on_postgres(async |_| {
        let server = TlsPostgres::get();
        let authority = server.authority.display();
        let url = server.url("localhost", &format!("sslmode=verify-full&sslrootcert={authority}"));
        let location = Location::Postgres(url);
        // A TLS handshake must fit into the rest of the time after the statement was cancelled.
        let db = open(&location, 1, Duration::from_secs(4));
        let slow = run(&db, SLOW).await;
        assert!(matches!(slow, Err(Error::Busy)), "{slow:?}");
        slow_statement_ends(&location).await;
    });
}

#[test]
fn statement_is_cancelled_through_a_pooler_that_keeps_statements() {
    on_postgres(async |_| {
        for &most in testkit::max_prepared_statements() {
            let store = Store::pooled(most);
            let db = open(store.location(), 2, Duration::from_secs(1));
            let slow = run(&db, SLOW).await;
            if most == 0 {
                assert!(matches!(slow, Err(Error::Unavailable(_))), "{slow:?}");
            } else {
                assert!(matches!(slow, Err(Error::Busy)), "{slow:?}");
                slow_statement_ends(&store.direct()).await;
            }
            assert_eq!(run(&db, "SELECT 1").await.unwrap(), 1);
        }
    });
}

#[test]
fn slow_statement_costs_only_its_own_connection() {
    on_postgres(async |store| {
        let db = open(store.location(), 2, Duration::from_secs(1));
        let before = both_connections(&db).await;
        let slow = run(&db, SLOW).await;
        assert!(matches!(slow, Err(Error::Busy)), "{slow:?}");
        let after = both_connections(&db).await;
        assert_eq!(
            after.iter().filter(|process| before.contains(process)).count(),
            1,
            "{before:?} {after:?}"
        );
    });
}

/// A read that gives the process and the port of its connection, and keeps it until the sender is dropped.
async fn hold(db: &Db) -> ((i64, i64), Sender<()>, JoinHandle<Result<(), Error>>) {
    let (enter, entered) = tokio::sync::oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let (db, enter, released) = (db.clone(), Mutex::new(Some(enter)), Mutex::new(released));
    let held = tokio::spawn(async move {
        db.read(move |tx| {
            let found = tx.row(CONNECTION, &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if let Some(enter) = enter.lock().unwrap().take() {
                let _ = enter.send(found.unwrap());
            }
            let _ = released.lock().unwrap().recv();
            Ok(())
        })
        .await
    });
    (entered.await.unwrap(), release, held)
}

#[test]
fn silent_connection_is_replaced_and_the_others_stay() {
    on_postgres(async |store| {
        let Location::Postgres(url) = store.location() else { panic!("not PostgreSQL") };
        let server = url.split('@').nth(1).unwrap().split('/').next().unwrap();
        let proxy = Proxy::refusing(server.parse::<SocketAddr>().unwrap());
        proxy.forward();
        let url = url.replace(server, &proxy.address().to_string());
        let db = open(&Location::Postgres(url), 2, Duration::from_secs(1));
        for _ in 0..2 {
            let ((kept, _), release, held) = hold(&db).await;
            let ((cut_off, port), release_other, other) = hold(&db).await;
            drop(release_other);
            other.await.unwrap().unwrap();
            proxy.swallow_from(port.try_into().unwrap());
            let silent = run(&db, "SELECT 1").await;
            assert!(matches!(silent, Err(Error::Unavailable(_))), "{silent:?}");
            drop(release);
            held.await.unwrap().unwrap();
            let after = both_connections(&db).await;
            assert!(after.contains(&kept) && !after.contains(&cut_off), "{after:?}");
        }
    });
}

/// Queues a unit behind one that holds the only connection, which is released after this time.
async fn queued_for<R>(
    db: &Db,
    time: Duration,
    unit: impl Future<Output = Result<R, Error>>,
) -> Result<R, Error> {
    let (_, release, held) = hold(db).await;
    let mut unit = std::pin::pin!(unit);
    assert!(tokio::time::timeout(time, &mut unit).await.is_err(), "it runs before the connection is free");
    drop(release);
    held.await.unwrap().unwrap();
    unit.await
}

#[test]
fn time_in_the_queue_counts() {
    on_postgres(async |store| {
        let wait = Duration::from_secs(1);
        let db = open(store.location(), 1, wait);
        // Both are fast. They are too late because they were queued for longer than the limit.
        let read = queued_for(&db, wait * 2, run(&db, "SELECT 1")).await;
        assert!(matches!(read, Err(Error::Busy)), "{read:?}");
        let write = queued_for(&db, wait * 2, db.write(|tx| tx.execute("SELECT 1", &[]))).await;
        assert!(matches!(write, Err(Error::Busy)), "{write:?}");
        assert_eq!(run(&db, "SELECT 1").await.unwrap(), 1);
    });
}

#[test]
fn transaction_that_was_queued_has_only_the_rest_of_its_time() {
    on_postgres(async |store| {
        let (wait, queued) = (Duration::from_secs(60), Duration::from_millis(100));
        let db = open(store.location(), 1, wait);
        let timeout = db.write(|tx| {
            let sql = "SELECT CAST(setting AS BIGINT) FROM pg_settings WHERE name = 'statement_timeout'";
            tx.row(sql, &[], |row| row.get::<i64>(0))
        });
        let timeout = queued_for(&db, queued, timeout).await.unwrap().unwrap();
        assert!(timeout <= 59_900 * 4 / 5, "{timeout}");
    });
}
