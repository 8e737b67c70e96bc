//! Units of work in the databases of groups, of which many are open at once.

use std::{fs, path::PathBuf, sync::mpsc};

use db::{Databases, Db, Error, Limits};
use futures_util::{FutureExt, future::join_all};
use testkit::{Engine, Store};

use crate::groups::{SCHEMA, add, books};

fn open(databases: &Databases, group: &str) -> Db {
    databases.group(group).unwrap().open("shelf", SCHEMA).unwrap()
}

/// The files of an embedded database that this process has open.
fn open_files(store: &Store) -> Vec<PathBuf> {
    let Some(folder) = store.folder() else { return Vec::new() };
    let files =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    files.filter(|file| file.starts_with(&folder)).collect()
}

testkit::on_both_engines! {
    async fn group_reads_and_reads_long_while_it_writes(store: Store) {
        let databases = store.connect();
        let db = open(&databases, "ada");
        add(&db, 1).await;
        let (enter, entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let held = tokio::spawn({
            let db = db.clone();
            async move {
                db.write(move |tx| {
                    tx.execute("INSERT INTO book (id) VALUES (2)", &[])?;
                    let _ = enter.send(());
                    let _ = released.recv();
                    Ok::<_, Error>(())
                })
                .await
            }
        });
        entered.recv().unwrap();
        for _ in 0..3 {
            assert_eq!(books(&db).await, [1]);
            let long = db.read_long(|tx| tx.row("SELECT count(*) FROM book", &[], |row| row.get::<i64>(0)));
            let long: Result<_, Error> = long.await;
            assert_eq!(long.unwrap(), Some(1));
        }
        drop(release);
        held.await.unwrap().unwrap();
        assert_eq!(books(&db).await, [1, 2]);
        // The spare connections are closed too, also the one that this thread kept.
        drop(db);
        assert_eq!(open_files(&store), [""; 0].map(PathBuf::from));
    }

    async fn write_in_a_read_of_a_group_is_rejected(store: Store) {
        let db = open(&store.connect(), "ada");
        let insert = "INSERT INTO book (id) VALUES (1) RETURNING id";
        for _ in 0..2 {
            let written = db.read(move |tx| tx.row(insert, &[], |row| row.get::<i64>(0))).await;
            assert!(matches!(written, Err(Error::Engine(_))), "{written:?}");
            let written: Result<_, Error> =
                db.snapshot(move |tx| tx.row(insert, &[], |row| row.get::<i64>(0))).await;
            assert!(matches!(written, Err(Error::Engine(_))), "{written:?}");
            let locked = "SELECT id FROM book FOR NO KEY UPDATE";
            let locked: Result<_, Error> = db.snapshot(move |tx| tx.rows(locked, &[], |_| Ok(()))).await;
            assert!(locked.is_err());
        }
        assert_eq!(books(&db).await, [0; 0]);
        add(&db, 1).await;
        assert_eq!(books(&db).await, [1]);
    }

    async fn failed_write_of_a_group_changes_nothing(store: Store) {
        let db = open(&store.connect(), "ada");
        let writes = (0..40_i64).map(|id| {
            db.write(move |tx| {
                tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])?;
                if id % 4 == 0 { Err(Error::Fault("on purpose".into())) } else { Ok(()) }
            })
        });
        let failed = join_all(writes).await.iter().filter(|write| write.is_err()).count();
        assert_eq!(failed, 10);
        assert_eq!(books(&db).await, (0..40).filter(|id| id % 4 != 0).collect::<Vec<_>>());
    }

    async fn groups_work_at_the_same_time(store: Store) {
        let root = store.connect();
        let number = if store.engine() == Engine::Sqlite { 40 } else { 10 };
        let dbs: Vec<_> = (0..number).map(|group| open(&root, &format!("group-{group}"))).collect();
        let work = dbs.iter().enumerate().map(|(group, db)| {
            let db = db.clone();
            tokio::spawn(async move {
                let group = i64::try_from(group).unwrap();
                for id in 0..20 {
                    add(&db, group * 100 + id).await;
                    assert_eq!(books(&db).await.len() as i64, id + 1);
                }
                books(&db).await
            })
        });
        for (work, group) in join_all(work).await.into_iter().zip(0..) {
            assert_eq!(work.unwrap(), (group * 100..group * 100 + 20).collect::<Vec<_>>());
        }
    }

    async fn group_writes_while_it_is_read_without_pause(store: Store) {
        let db = open(&store.connect(), "ada");
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let (db, stop) = (db.clone(), std::sync::Arc::clone(&stop));
                tokio::spawn(async move {
                    let mut last = 0;
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let found = books(&db).await;
                        assert!(found.len() >= last);
                        last = found.len();
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for id in 0..50 {
            add(&db, id).await;
            assert_eq!(books(&db).await, (0..=id).collect::<Vec<_>>());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for reader in readers {
            reader.await.unwrap();
        }
    }

    async fn unit_that_holds_the_last_clone_closes_its_database(store: Store) {
        let root = store.connect();
        for id in 1..=5 {
            let db = open(&root, "ada");
            let work = {
                let last = db.clone();
                async move {
                    let clone = last.clone();
                    last.write(move |tx| {
                        let _clone = &clone;
                        tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])
                    })
                    .await
                }
            };
            drop(db);
            assert_eq!(tokio::spawn(work).await.unwrap().unwrap(), 1);
            let db = open(&root, "ada");
            assert_eq!(books(&db).await, (1..=id).collect::<Vec<_>>());
        }
    }

    async fn full_queue_of_a_group_is_busy_and_others_work(store: Store) {
        // A group's queue is a sixteenth: two units.
        let limits = Limits { queue: 32, connections: 4, ..Limits::DEFAULT };
        let root = Databases::connect(store.location(), limits).unwrap();
        let (full, other) = (open(&root, "full"), open(&root, "other"));
        let (enter, entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        // On PostgreSQL a group uses half of the four connections.
        let writers = if store.engine() == Engine::Sqlite { 1 } else { 2 };
        let released = std::sync::Arc::new(std::sync::Mutex::new(released));
        let held: Vec<_> = (0..writers)
            .map(|id: i64| {
                let (full, enter, released) = (full.clone(), enter.clone(), std::sync::Arc::clone(&released));
                tokio::spawn(async move {
                    full.write(move |tx| {
                        tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])?;
                        let _ = enter.send(());
                        let _ = released.lock().unwrap().recv();
                        Ok::<_, Error>(())
                    })
                    .await
                })
            })
            .collect();
        for _ in 0..writers {
            entered.recv().unwrap();
        }
        let write = |id: i64| {
            let full = full.clone();
            let insert = "INSERT INTO book (id) VALUES ($1)";
            async move { full.write(move |tx| tx.execute(insert, &[id.into()])).await }.boxed()
        };
        let mut waiting: Vec<_> = (10..12).map(write).collect();
        for write in &mut waiting {
            assert!(write.now_or_never().is_none());
        }
        let past = write(20).now_or_never();
        assert!(matches!(past, Some(Err(Error::Busy))), "{past:?}");
        add(&other, 1).await;
        assert_eq!(books(&other).await, [1]);
        drop(release);
        for held in held {
            held.await.unwrap().unwrap();
        }
        for write in waiting {
            assert_eq!(write.await.unwrap(), 1);
        }
    }
}

const PROCESS: &str = "SELECT CAST(pg_backend_pid() AS BIGINT)";

async fn number(db: &Db, sql: &'static str) -> i64 {
    db.write(move |tx| tx.row(sql, &[], |row| row.get::<i64>(0))).await.unwrap().unwrap()
}

/// One connection, which is the pool's.
fn one_connection(store: &Store) -> Databases {
    Databases::connect(store.location(), Limits { connections: 1, ..Limits::DEFAULT }).unwrap()
}

#[test]
fn closed_database_leaves_no_prepared_statement() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let root = one_connection(&store);
        let (ada, other) = (open(&root, "ada"), open(&root, "bob"));
        let witness = root.open("witness", &[]).unwrap();
        for db in [&ada, &other] {
            add(db, 1).await;
            assert_eq!(books(db).await, [1]);
        }
        let prepared = async |schema: &'static str| {
            let count = "SELECT count(*) FROM pg_prepared_statements WHERE strpos(statement, $1) > 0";
            witness.write(move |tx| tx.row(count, &[schema.into()], |row| row.get::<i64>(0))).await.unwrap()
        };
        assert_eq!(prepared("sandbox_ada_shelf").await, Some(2));
        drop(ada);
        assert_eq!(prepared("sandbox_ada_shelf").await, Some(0));
        assert_eq!(prepared("sandbox_bob_shelf").await, Some(2));
        root.group("ada").unwrap().remove_group().unwrap();
        assert_eq!(books(&other).await, [1]);
    });
}

#[test]
fn connection_keeps_a_bounded_number_of_statements() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let db = open(&one_connection(&store), "ada");
        let first = number(&db, PROCESS).await;
        for value in 0..600 {
            let sql: &'static str = format!("SELECT CAST({value} AS BIGINT)").leak();
            assert_eq!(number(&db, sql).await, value);
        }
        assert_eq!(number(&db, "SELECT count(*) FROM pg_prepared_statements").await, 512);
        assert_eq!(number(&db, PROCESS).await, first);
    });
}

#[test]
fn connection_that_has_served_many_databases_is_replaced() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let root = one_connection(&store);
        let witness = root.open("witness", &[]).unwrap();
        let first = number(&witness, PROCESS).await;
        let mut processes = Vec::new();
        for group in 0..66 {
            let db = root.group(&format!("group-{group}")).unwrap().open("shelf", &[]).unwrap();
            processes.push(number(&db, PROCESS).await);
        }
        // It serves 64 databases and the one that shows that there are too many.
        assert_eq!(processes[..64], [first; 64]);
        assert_ne!(processes[64], first);
        assert_eq!(processes[64], processes[65]);
    });
}
