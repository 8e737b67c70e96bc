//! What the tables of an installation have.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

use postgres::{Client, NoTls};
use rusqlite::{Connection, OpenFlags};
use testkit::Engine;

use crate::installation::Installation;

/// The rows of each table, by `schema.table`.
pub(crate) type Tables = BTreeMap<String, u64>;

/// Whether it is a file of SQLite.
pub(crate) fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "db")
}

/// The files below a folder, with their sizes.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => found.extend(files(&path)),
            Ok(metadata) => found.push((path, metadata.len())),
            // It was deleted in between.
            Err(_) => {}
        }
    }
    found
}

/// Counts them while the program runs.
pub(crate) fn tables(installation: &Installation) -> Tables {
    match installation.engine {
        Engine::Sqlite => files(&installation.data())
            .iter()
            // Not the template of sandboxes: a reader would leave files next to it.
            .filter(|(path, _)| is_database(path) && path.parent() == Some(&installation.data()))
            .flat_map(|(path, _)| of_file(path).expect("the file can be read"))
            .collect(),
        Engine::Postgres => on_server(installation.database(), of_server),
    }
}

/// The number that a query of the train service's tables gives, in which `{}` stands before their names.
pub(crate) fn count(installation: &Installation, query: &str) -> i64 {
    match installation.engine {
        Engine::Sqlite => {
            let count = |file: Connection| file.query_row(&query.replace("{}", ""), (), |row| row.get(0));
            open(&installation.data().join("train.db")).and_then(count).expect("a number")
        }
        Engine::Postgres => on_server(installation.database(), |client| {
            Ok(client.query_one(&query.replace("{}", "train."), &[])?.get(0))
        }),
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn of_file(path: &Path) -> rusqlite::Result<Vec<(String, u64)>> {
    let file = open(path)?;
    let mut names = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = names.query_map((), |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let schema = path.file_stem().unwrap_or_default().display();
    let count = |name: String| {
        let rows: u32 = file.query_row(&format!("SELECT count(*) FROM \"{name}\""), (), |row| row.get(0))?;
        Ok((format!("{schema}.{name}"), rows.into()))
    };
    names.into_iter().map(count).collect()
}

/// On a thread of its own: the client has a runtime, which must not be inside of another one.
fn on_server<T: Send>(url: &str, run: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send) -> T {
    let connect = || run(&mut Client::connect(url, NoTls)?);
    let done = thread::scope(|scope| scope.spawn(connect).join());
    done.expect("the client does not panic").expect("PostgreSQL answers")
}

fn of_server(client: &mut Client) -> Result<Tables, postgres::Error> {
    let names = client.query(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
        &[],
    )?;
    let mut tables = Tables::new();
    for name in names {
        let (schema, table): (String, String) = (name.get(0), name.get(1));
        let rows: i64 =
            client.query_one(&format!("SELECT count(*) FROM \"{schema}\".\"{table}\""), &[])?.get(0);
        tables.insert(format!("{schema}.{table}"), u64::try_from(rows).unwrap_or_default());
    }
    Ok(tables)
}
