//! PostgreSQL only: conflicts, broken connections and invalid URLs.

use std::{
    net::TcpListener,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use db::{Databases, Db, Error, Limits, Location, Migrations, WriteTx};
use futures_util::future::join_all;
use testkit::{Engine, Store};

const SCHEMA: &[Migrations] = &[Migrations::new(
    "accounts",
    &[(
        "0001_accounts",
        "",
        // A sequence is not rolled back, so it counts the tries.
        "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL);
            CREATE SEQUENCE tries;
            CREATE FUNCTION lose(times BIGINT, state TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
            DECLARE try BIGINT := nextval('accounts.tries');
            BEGIN
                IF try <= times THEN RAISE EXCEPTION 'lost try %', try USING ERRCODE = state; END IF;
                RETURN try;
            END $$;
            CREATE TABLE late (id BIGINT PRIMARY KEY);
            CREATE FUNCTION lose_late() RETURNS TRIGGER LANGUAGE plpgsql AS $$
            BEGIN PERFORM accounts.lose(2, '40001'); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION lose_late()",
    )],
)];

fn on_postgres(test: impl AsyncFnOnce(Store)) {
    testkit::run(Engine::Postgres, test);
}

fn open_account(tx: &mut WriteTx<'_>, id: i64) -> Result<u64, Error> {
    tx.execute("INSERT INTO account (id, balance) VALUES ($1, 0)", &[id.into()])
}

/// Opens an account and then fails with this SQLSTATE, this many times.
async fn open_losing(db: &Db, id: i64, times: i64, state: &'static str) -> Result<Option<i64>, Error> {
    db.write(move |tx| {
        open_account(tx, id)?;
        tx.row("SELECT accounts.lose($1, $2)", &[times.into(), state.into()], |row| row.get(0))
    })
    .await
}

async fn accounts(db: &Db) -> Vec<(i64, i64)> {
    let all = "SELECT id, balance FROM account ORDER BY id";
    db.read(move |tx| tx.rows(all, &[], |row| Ok((row.get(0)?, row.get(1)?)))).await.unwrap()
}

async fn tries(db: &Db) -> i64 {
    db.read(|tx| tx.row("SELECT last_value FROM tries", &[], |row| row.get(0))).await.unwrap().unwrap()
}

/// Another client with one connection, which [`end_connections`] does not end.
fn killer(store: &Store) -> Db {
    let limits = Limits { connections: 1, ..Limits::default() };
    Db::open(store.location(), "killer", &[], limits).unwrap()
}

/// Ends all connections to this database but its own, and waits until they are gone. Before, it waits until there are as many as
/// expected: the connections that opened a database take a moment to end.
async fn end_connections(killer: &Db, expected: i64) {
    let count = || {
        killer.write(|tx| {
            let others = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
            Ok::<_, Error>(tx.row(others, &[], |row| row.get::<i64>(0))?.unwrap())
        })
    };
    testkit::until(async || count().await.unwrap() == expected).await;
    let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    let ended: Result<_, Error> = killer.write(move |tx| tx.rows(end, &[], |row| row.get::<bool>(0))).await;
    let ended = ended.unwrap();
    assert_eq!(ended, vec![true; usize::try_from(expected).unwrap()]);
}

#[test]
fn write_is_retried_after_a_conflict() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        assert_eq!(open_losing(&db, 1, 3, "40001").await.unwrap(), Some(4));
        assert_eq!(accounts(&db).await, [(1, 0)]);
        assert_eq!(open_losing(&db, 2, 6, "40P01").await.unwrap(), Some(7));
        assert_eq!(accounts(&db).await, [(1, 0), (2, 0)]);
    });
}

#[test]
fn write_is_retried_after_a_conflict_at_the_commit() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        let insert = "INSERT INTO late (id) VALUES (1)";
        assert_eq!(db.write(move |tx| tx.execute(insert, &[])).await.unwrap(), 1);
        assert_eq!(tries(&db).await, 3);
        let late = db.read(|tx| tx.rows("SELECT id FROM late", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(late.unwrap(), [1]);
    });
}

#[test]
fn write_that_always_conflicts_fails_after_ten_tries() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        let answer = open_losing(&db, 1, i64::MAX, "40001").await;
        match answer {
            Err(Error::Conflict(text)) => assert_eq!(text, "lost try 10"),
            other => panic!("{other:?}"),
        }
        assert_eq!(tries(&db).await, 10);
        assert_eq!(accounts(&db).await, []);
    });
}

#[test]
fn other_errors_are_not_retried() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        let late = open_losing(&db, 1, i64::MAX, "57014").await;
        assert!(matches!(late, Err(Error::Busy)), "{late:?}");
        assert_eq!(tries(&db).await, 1);
        let strange = open_losing(&db, 1, i64::MAX, "P0001").await;
        assert!(matches!(&strange, Err(Error::Engine(text)) if text == "lost try 2"), "{strange:?}");
        assert_eq!(tries(&db).await, 2);
        assert_eq!(accounts(&db).await, []);
    });
}

#[test]
fn deadlock_is_resolved_by_a_retry() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        db.write(|tx| Ok::<_, Error>(open_account(tx, 1)? + open_account(tx, 2)?)).await.unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let both_hold_one = Arc::new(Barrier::new(2));
        let pay = async |first: i64, second: i64| {
            let (runs, both_hold_one) = (Arc::clone(&runs), Arc::clone(&both_hold_one));
            let add = "UPDATE account SET balance = balance + 1 WHERE id = $1";
            db.write(move |tx| {
                tx.execute(add, &[first.into()])?;
                // The retry after the deadlock finds that the other transaction has ended.
                if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                    both_hold_one.wait();
                }
                tx.execute(add, &[second.into()])
            })
            .await
        };
        let (one, other) = tokio::join!(pay(1, 2), pay(2, 1));
        assert_eq!((one.unwrap(), other.unwrap()), (1, 1));
        assert_eq!(accounts(&db).await, [(1, 2), (2, 2)]);
        // At least three: the retry may lock its row before the other transaction wakes, and deadlock again.
        assert!(runs.load(Ordering::SeqCst) >= 3, "{runs:?}");
    });
}

#[test]
fn closed_connections_are_replaced() {
    on_postgres(async |store| {
        let db = store.open("accounts", SCHEMA);
        let killer = killer(&store);
        for round in 0..3 {
            // All four at once, so that every thread has a connection.
            let all_connected = Arc::new(Barrier::new(4));
            let connect = (0..4).map(|_| {
                let all_connected = Arc::clone(&all_connected);
                db.read(move |tx| {
                    // The read detects a closed connection, and is retried on another one.
                    let one = tx.row("SELECT 1", &[], |row| row.get::<i64>(0))?;
                    all_connected.wait();
                    Ok::<_, Error>(one)
                })
            });
            for answer in join_all(connect).await {
                assert_eq!(answer.unwrap(), Some(1));
            }
            end_connections(&killer, 4).await;
            let balances = accounts(&db).await;
            assert_eq!(balances.len(), round * 16);
            let ids = (0..16).map(|id| (round * 16) as i64 + id);
            for answer in join_all(ids.map(|id| db.write(move |tx| open_account(tx, id)))).await {
                assert_eq!(answer.unwrap(), 1);
            }
        }
        assert_eq!(accounts(&db).await, (0..48).map(|id| (id, 0)).collect::<Vec<_>>());
    });
}

#[test]
fn write_is_retried_when_its_connection_breaks_before_the_commit() {
    on_postgres(async |store| {
        let db = store.connect().open("accounts", SCHEMA).unwrap();
        let killer = killer(&store);
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let answer = db.write(move |tx| {
            open_account(tx, 1)?;
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                let killer = killer.clone();
                let end = move || {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                    runtime.block_on(end_connections(&killer, 1));
                };
                thread::spawn(end).join().unwrap();
            }
            open_account(tx, 2)
        });
        assert_eq!(answer.await.unwrap(), 1);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert_eq!(accounts(&db).await, [(1, 0), (2, 0)]);
    });
}

#[test]
fn server_defaults_do_not_change_transactions() {
    on_postgres(async |store| {
        let settle = "DO $$ BEGIN
            EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_isolation = serializable';
            EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on';
        END $$";
        store.open("settler", &[]).write(move |tx| tx.execute(settle, &[])).await.unwrap();
        let together = Barrier::new(8);
        thread::scope(|scope| {
            let open = || {
                together.wait();
                drop(store.open("accounts", SCHEMA));
            };
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for start in starts {
                start.join().unwrap();
            }
        });
        let db = store.open("accounts", SCHEMA);
        let isolation = db.write(|tx| {
            open_account(tx, 1)?;
            tx.row("SELECT current_setting('transaction_isolation')", &[], |row| row.get::<String>(0))
        });
        assert_eq!(isolation.await.unwrap().as_deref(), Some("read committed"));
        assert_eq!(accounts(&db).await, [(1, 0)]);
    });
}

/// Runs this many reads of each that wait for one another, so that each needs a connection of its own.
async fn read_at_once(services: &[(&Db, usize)]) {
    let all = services.iter().map(|(_, reads)| reads).sum();
    let together = Arc::new(Barrier::new(all));
    let reads = services.iter().flat_map(|(db, reads)| std::iter::repeat_n(*db, *reads)).map(|db| {
        let together = Arc::clone(&together);
        db.read(move |tx| {
            let one = tx.row("SELECT 1", &[], |row| row.get::<i64>(0))?;
            together.wait();
            Ok::<_, Error>(one)
        })
    });
    for answer in join_all(reads).await {
        assert_eq!(answer.unwrap(), Some(1));
    }
}

#[test]
fn services_of_a_process_share_its_connections() {
    on_postgres(async |store| {
        let limits = Limits { connections: 3, ..Limits::default() };
        let databases = Databases::connect(store.location(), limits).unwrap();
        let (one, other) =
            (databases.open("accounts", SCHEMA).unwrap(), databases.open("others", &[]).unwrap());
        read_at_once(&[(&one, 2), (&other, 1)]).await;
        read_at_once(&[(&one, 1), (&other, 2)]).await;
        end_connections(&killer(&store), 3).await;
    });
}

#[test]
fn full_queue_of_one_service_does_not_delay_another() {
    on_postgres(async |store| {
        let limits = Limits { connections: 2, ..Limits::default() };
        let databases = Databases::connect(store.location(), limits).unwrap();
        let (busy, other) =
            (databases.open("accounts", SCHEMA).unwrap(), databases.open("others", &[]).unwrap());
        let (enter, entered) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = std::sync::Mutex::new(released);
        let held = tokio::spawn({
            let busy = busy.clone();
            async move {
                busy.write(move |tx| {
                    open_account(tx, 1)?;
                    let _ = enter.send(());
                    let _ = released.lock().unwrap().recv();
                    Ok::<_, Error>(())
                })
                .await
            }
        });
        entered.recv().unwrap();
        // Would use the other connection if it were not reserved.
        let waiting = tokio::spawn({
            let busy = busy.clone();
            async move { busy.write(|tx| open_account(tx, 2)).await }
        });
        for _ in 0..20 {
            read_at_once(&[(&other, 1)]).await;
        }
        assert!(!waiting.is_finished());
        drop(release);
        held.await.unwrap().unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), 1);
    });
}

#[test]
fn services_behind_a_pooler_use_their_own_schemas() {
    on_postgres(async |_| {
        for &most in testkit::max_prepared_statements() {
            use_their_own_schemas(Store::pooled(most)).await;
        }
    });
}

async fn use_their_own_schemas(store: Store) {
    let databases = store.connect();
    let one = databases.open("accounts", SCHEMA).unwrap();
    const OTHER: &[Migrations] = &[Migrations::new(
        "others",
        &[("0001_accounts", "", "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)")],
    )];
    let other = databases.open("others", OTHER).unwrap();
    let writes = (0..200).map(|id| {
        let db = if id % 2 == 0 { &one } else { &other };
        async move {
            db.write(move |tx| open_account(tx, id)).await.unwrap();
            let found = db.snapshot(move |tx| {
                let one = "SELECT balance FROM account WHERE id = $1";
                let first = tx.row(one, &[id.into()], |row| row.get::<i64>(0))?;
                Ok::<_, Error>((first, tx.row(one, &[(id + 1).into()], |row| row.get::<i64>(0))?))
            });
            assert_eq!(found.await.unwrap(), (Some(0), None));
        }
    });
    join_all(writes).await;
    assert_eq!(accounts(&one).await, (0..200).step_by(2).map(|id| (id, 0)).collect::<Vec<_>>());
    assert_eq!(accounts(&other).await, (1..200).step_by(2).map(|id| (id, 0)).collect::<Vec<_>>());
}

fn open_error(url: &str) -> String {
    let limits = Limits { start: Duration::ZERO, ..Limits::default() };
    let opened = Db::open(&Location::Postgres(url.to_owned()), "accounts", SCHEMA, limits);
    let text = opened.err().expect("it is refused").to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    assert!(!text.contains("s3cret"), "{text}");
    text
}

#[test]
fn missing_server_is_reported_in_one_line() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = open_error(&format!("postgres://someone:s3cret@127.0.0.1:{port}/somewhere"));
    assert!(text.starts_with(&format!("cannot connect to the database at 127.0.0.1:{port}: ")), "{text}");
    assert!(text.contains("refused"), "{text}");
}

#[test]
fn missing_database_is_reported_in_one_line() {
    on_postgres(async |store| {
        let Location::Postgres(url) = store.location() else { panic!("not PostgreSQL") };
        let text = open_error(&format!("{url}_missing"));
        assert!(text.starts_with("cannot connect to the database at 127.0.0.1:"), "{text}");
        assert!(text.contains("_missing\" does not exist"), "{text}");
    });
}

#[test]
fn invalid_url_is_reported_without_its_password() {
    for url in [
        "postgres://someone:s3cret@host:port/somewhere",
        "postgres://someone:s3cret@host/somewhere?sslmode=perhaps",
        "postgres:/someone:s3cret@host/somewhere",
        "postgres:/someone:s3cret@host/somewhere?sslmode=disable",
        "mysql://someone:s3cret@host/somewhere?a=b",
        "host=localhost pass=s3cret",
        "s3cret=password",
    ] {
        let text = open_error(url);
        assert!(text.starts_with("the database URL is not valid: "), "{text}");
    }
    assert_eq!(
        open_error("postgres://someone:s3cret@host:port/somewhere"),
        "the database URL is not valid: invalid connection string: invalid value for option `port`"
    );
}
