//! The memory and the threads of many open databases of groups.

use std::{env, fs, path::Path, process::Command};

use db::{Databases, Db, Error, Limits, Location, Migrations};
use futures_util::future::join_all;

/// Set in the process that a test starts to measure it alone.
const ALONE: &str = "DB_FOOTPRINT_ALONE";

const GROUPS: usize = 100;
const NAMES: [&str; 3] = ["petstore", "train", "museum"];
const TABLES: usize = 25;

/// Tables and statements like those of a service, in number and in size.
fn schema() -> &'static [Migrations] {
    let tables = (0..TABLES).map(|number| {
        format!(
            "CREATE TABLE thing_{number} (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, owner BLOB, state TEXT NOT NULL,
                created_at INTEGER NOT NULL, details TEXT) STRICT;
             CREATE INDEX thing_{number}_state ON thing_{number} (state, created_at);"
        )
    });
    let text: &'static str = tables.collect::<String>().leak();
    vec![Migrations::new("things", vec![("0001_things", text, "")].leak())].leak()
}

struct Statements {
    insert: &'static str,
    update: &'static str,
    reads: [&'static str; 3],
}

fn statements() -> &'static [Statements] {
    let all = (0..TABLES).map(|number| {
        let leak = |text: String| -> &'static str { text.leak() };
        Statements {
            insert: leak(format!(
                "INSERT INTO thing_{number} (id, name, state, created_at, details) VALUES ($1, $2, 'new', $1, $2)
                 ON CONFLICT (id) DO UPDATE SET state = excluded.state"
            )),
            update: leak(format!("UPDATE thing_{number} SET state = 'old' WHERE id = $1 RETURNING name")),
            reads: [
                leak(format!("SELECT id, name, owner, state, created_at, details FROM thing_{number} WHERE id = $1")),
                leak(format!(
                    "SELECT id, name, owner, state, created_at, details FROM thing_{number}
                     WHERE state = 'new' AND created_at > $1 ORDER BY created_at LIMIT 20"
                )),
                leak(format!("SELECT count(*) FROM thing_{number} WHERE state = 'old' AND created_at > $1")),
            ],
        }
    });
    all.collect::<Vec<_>>().leak()
}

async fn fill(db: &Db, statements: &'static [Statements]) {
    db.write(move |tx| {
        for statement in statements {
            for id in 0..10_i64 {
                tx.execute(statement.insert, &[id.into(), "some text of this length ".repeat(4).into()])?;
            }
        }
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
}

/// Runs each statement once.
async fn run_all(db: &Db, statements: &'static [Statements]) {
    for statement in statements {
        db.write(move |tx| {
            tx.execute(statement.insert, &[1.into(), "name".into()])?;
            tx.row(statement.update, &[2.into()], |row| row.get::<String>(0))
        })
        .await
        .unwrap();
        for read in statement.reads {
            db.read(move |tx| tx.rows(read, &[3.into()], |_| Ok(()))).await.unwrap();
        }
    }
}

/// The resident memory in kB, and the number of threads.
fn status() -> (usize, usize) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (field("VmRSS:"), field("Threads:"))
}

/// Opens all databases, uses each statement in each, and checks what that added.
fn check(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (_, threads_before) = status();
        let root = Databases::connect(&Location::Sqlite(folder.to_owned()), Limits::default()).unwrap();
        let (schema, statements) = (schema(), statements());
        let template = root.group("template").unwrap();
        for name in NAMES {
            fill(&template.open(name, schema).unwrap(), statements).await;
        }
        let groups = (0..GROUPS).map(|number| root.group(&format!("group-{number}")).unwrap());
        let groups: Vec<_> = groups.collect();
        for (group, name) in groups.iter().flat_map(|group| NAMES.map(|name| (group, name))) {
            group.copy(&template, name, schema).unwrap();
        }
        let (memory_before, _) = status();
        let open = |group: &Databases| NAMES.map(|name| group.open(name, schema).unwrap());
        let dbs: Vec<_> = groups.iter().flat_map(open).collect();
        for some in dbs.chunks(4) {
            join_all(some.iter().map(|db| {
                let db = db.clone();
                tokio::spawn(async move { run_all(&db, statements).await })
            }))
            .await;
        }
        let (memory, threads) = status();
        let added = memory - memory_before;
        assert!(added < 100 * 1024, "{added} kB");
        assert_eq!(threads - threads_before, 4);
        drop((dbs, groups, template, root));
        assert_eq!(status().1, threads_before);
    });
}

#[test]
fn three_hundred_open_databases_use_less_than_100_mb_and_four_threads() {
    #[expect(clippy::disallowed_methods, reason = "set by this test only")]
    if let Ok(folder) = env::var(ALONE) {
        return check(Path::new(&folder));
    }
    let folder = testkit::private_folder();
    let name = "footprint::three_hundred_open_databases_use_less_than_100_mb_and_four_threads";
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, folder.path().join("data"))
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
}
