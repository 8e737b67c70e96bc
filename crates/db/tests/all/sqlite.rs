//! SQLite only: its file, its journal, its permissions and errors of opening them.

use std::{
    fs,
    ops::RangeInclusive,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::{Mutex, mpsc},
};

use db::{Db, Limits, Location, Migrations};
use testkit::{Engine, Store};

const SCHEMA: &[Migrations] =
    &[Migrations::new("shelf", &[("0001_books", "CREATE TABLE book (id INTEGER PRIMARY KEY) STRICT", "")])];

fn open_error(folder: &Path) -> String {
    let opened = Db::open(&Location::Sqlite(folder.to_owned()), "shelf", SCHEMA, Limits::default());
    let text = opened.err().expect("it is refused").to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

#[test]
fn journal_is_a_wal_that_is_checkpointed_on_close() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        for id in 0..100_i64 {
            db.write(move |tx| tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])).await.unwrap();
        }
        let count = db.read(|tx| tx.row("SELECT count(*) FROM book", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(count.unwrap(), Some(100));
        let folder = store.folder().unwrap();
        let (file, wal) = (folder.join("shelf.db"), folder.join("shelf.db-wal"));
        assert!(wal.metadata().unwrap().len() > 0);
        {
            let outside = rusqlite::Connection::open(&file).unwrap();
            let mode: String = outside.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
        drop(db);
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["shelf.db"]);
        let outside = rusqlite::Connection::open(&file).unwrap();
        let count: i64 = outside.query_row("SELECT count(*) FROM book", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 100);
    });
}

#[test]
fn read_connections_of_all_threads_are_closed() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        let reads = (0..8).map(|_| {
            let db = db.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(db.ping()).unwrap();
            })
        });
        for read in reads.collect::<Vec<_>>() {
            read.join().unwrap();
        }
        drop(db);
        assert!(!store.folder().unwrap().join("shelf.db-wal").exists());
    });
}

/// The bytes of the WAL's index that hold the read locks, as `os_unix.c` of SQLite and `wal.c` number them.
const READ_LOCKS: RangeInclusive<u64> = 123..=127;

/// Whether this process has one of the read locks of a WAL's index.
fn has_read_lock(index: &Path) -> bool {
    let (process, inode) = (std::process::id().to_string(), format!(":{}", index.metadata().unwrap().ino()));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    // 1: POSIX  ADVISORY  READ 4711 fd:01:1234 123 123
    locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|lock| {
        lock[1] == "POSIX"
            && lock[4] == process
            && lock[5].ends_with(&inode)
            && READ_LOCKS.contains(&lock[6].parse().unwrap())
    })
}

#[test]
fn writer_without_work_has_the_lock_that_reads_need() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        let index = store.folder().unwrap().join("shelf.db-shm");
        for id in 0..3_i64 {
            db.write(move |tx| tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])).await.unwrap();
            // The writer takes the lock after its answer. Each read here has ended before the lock is looked for.
            let mut reads = 0;
            while !has_read_lock(&index) {
                assert!(reads < 10_000, "no lock after write {id}");
                db.ping().await.unwrap();
                reads += 1;
            }
        }
    });
}

#[test]
fn database_of_a_group_has_the_lock_while_threads_read_on_other_connections() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.connect().group("ada").unwrap().open("shelf", SCHEMA).unwrap();
        let index = store.folder().unwrap().join("sandboxes/ada/shelf.db-shm");
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let other = db.clone();
        // While this thread reads on the connection of the database, another thread reads on one that it keeps.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let count = || {
                let count = "SELECT count(*) FROM book";
                runtime
                    .block_on(other.read(|tx| tx.row(count, &[], |row| row.get::<i64>(0))))
                    .unwrap()
                    .unwrap()
            };
            begun.recv().unwrap();
            assert_eq!(count(), 0);
            end.send(()).unwrap();
            for id in 0..3_i64 {
                begun.recv().unwrap();
                assert!(!has_read_lock(&index), "a lock before read {id}");
                // The writer may still use the connection of the database after its answer: a later read takes the lock then.
                let mut reads = 0;
                while !has_read_lock(&index) {
                    assert!(reads < 10_000, "no lock after write {id}");
                    assert_eq!(count(), id);
                    reads += 1;
                }
                runtime
                    .block_on(
                        other.write(move |tx| tx.execute("INSERT INTO book (id) VALUES ($1)", &[id.into()])),
                    )
                    .unwrap();
            }
        });
        let (begin_first, ended) = (begin.clone(), Mutex::new(ended));
        let read = db.read(move |tx| {
            begin_first.send(()).unwrap();
            ended.lock().unwrap().recv().unwrap();
            tx.row("SELECT 1 FROM book", &[], |row| row.get::<i64>(0))
        });
        assert_eq!(read.await.unwrap(), None);
        for _ in 0..3 {
            begin.send(()).unwrap();
        }
        thread.join().unwrap();
        // The connection of the database reads what was written.
        let ids = db.read(|tx| tx.rows("SELECT id FROM book ORDER BY id", &[], |row| row.get::<i64>(0)));
        assert_eq!(ids.await.unwrap(), [0, 1, 2]);
    });
}

#[test]
fn wal_begins_again_after_a_checkpoint() {
    const PAGES: &[Migrations] =
        &[Migrations::new("shelf", &[("0001_pages", "CREATE TABLE page (text TEXT NOT NULL) STRICT", "")])];
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", PAGES);
        // One write after another, so that the writer has no work in between. Each fills 500 pages, 2 MB.
        for _ in 0..20 {
            let insert = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                          INSERT INTO page (text) SELECT printf('%4000d', i) FROM n";
            assert_eq!(db.write(|tx| tx.execute(insert, &[])).await.unwrap(), 500);
            db.ping().await.unwrap();
        }
        // A checkpoint comes after 4000 pages, 16 MB.
        let wal = store.folder().unwrap().join("shelf.db-wal").metadata().unwrap().len();
        assert!(wal < 20 << 20, "{wal}");
    });
}

/// How often this process has a file open.
fn times_open(file: &Path) -> usize {
    let open =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    open.filter(|path| path == file).count()
}

#[test]
fn long_reads_of_many_threads_share_a_connection() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = store.open("shelf", SCHEMA);
        let file = store.folder().unwrap().join("shelf.db").canonicalize().unwrap();
        let before = times_open(&file);
        let mut ends = Vec::new();
        for _ in 0..4 {
            let count =
                db.read_long(|tx| tx.row("SELECT count(*) FROM book", &[], |row| row.get::<i64>(0))).await;
            assert_eq!(count.unwrap(), Some(0));
            // Keeps the thread, so that the next read has another one.
            let (started, start) = tokio::sync::oneshot::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            tokio::task::spawn_blocking(move || {
                started.send(()).unwrap();
                let _ = ended.recv();
            });
            start.await.unwrap();
            ends.push(end);
        }
        assert_eq!(times_open(&file), before + 1);
    });
}

#[test]
fn data_folder_is_created_with_its_parents() {
    let folder = tempfile::tempdir().unwrap();
    let nested = folder.path().join("one/two/three");
    drop(Db::open(&Location::Sqlite(nested.clone()), "shelf", SCHEMA, Limits::default()).unwrap());
    assert!(nested.join("shelf.db").is_file());
}

#[test]
fn data_folder_that_is_a_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let at = |path: &Path| format!("cannot use the data folder {}: it is not a folder", path.display());
    assert_eq!(open_error(&file), at(&file));
    let below = file.join("below");
    assert_eq!(open_error(&below), at(&below));
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn file_that_is_not_a_database_is_rejected_and_unchanged() {
    let folder = testkit::private_folder();
    let file = folder.path().join("shelf.db");
    let text = "this is a letter, and not a database at all\n".repeat(100);
    fs::write(&file, &text).unwrap();
    let expected =
        format!("cannot open {}: the database is unavailable: file is not a database", file.display());
    assert_eq!(open_error(folder.path()), expected);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn database_file_that_is_a_folder_is_rejected() {
    let folder = testkit::private_folder();
    let file = folder.path().join("shelf.db");
    fs::create_dir(&file).unwrap();
    let text = open_error(folder.path());
    assert!(text.starts_with(&format!("cannot open {}: ", file.display())), "{text}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_created_for_their_owner_only() {
    let folder = testkit::private_folder();
    let files = ["shelf.db", "shelf.db-wal", "shelf.db-shm"].map(|name| folder.path().join(name));
    let location = Location::Sqlite(folder.path().to_owned());
    let open = || Db::open(&location, "shelf", SCHEMA, Limits::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let add = |db: &Db, id: i64| {
        let insert = "INSERT INTO book (id) VALUES ($1)";
        runtime.block_on(db.write(move |tx| tx.execute(insert, &[id.into()]))).unwrap();
    };
    let db = open();
    add(&db, 1);
    assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
    // Files of an earlier version, in use by another process.
    for file in &files {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let again = open();
    add(&again, 2);
    assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
}

#[test]
fn data_folder_open_to_others_is_rejected_with_the_command_to_fix_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("my data");
    fs::create_dir(&folder).unwrap();
    for open in [0o755, 0o750, 0o701, 0o777] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(open)).unwrap();
        let shown = folder.display();
        let expected = format!("the data folder {shown} is open to other users: run chmod 700 '{shown}'");
        assert_eq!(open_error(&folder), expected, "{open:o}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is made in it");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    drop(Db::open(&Location::Sqlite(folder), "shelf", SCHEMA, Limits::default()).unwrap());
}
