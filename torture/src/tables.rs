//! The rows of all tables of an installation.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use postgres::NoTls;
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
        Engine::Postgres => of_server(&installation.database()).expect("PostgreSQL answers"),
    }
}

fn of_file(path: &Path) -> rusqlite::Result<Vec<(String, u64)>> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut names = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = names.query_map((), |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let schema = path.file_stem().unwrap_or_default().display();
    let count = |name: String| {
        let rows: u32 = file.query_row(&format!("SELECT count(*) FROM \"{name}\""), (), |row| row.get(0))?;
        Ok((format!("{schema}.{name}"), rows.into()))
    };
    names.into_iter().map(count).collect()
}

fn of_server(url: &str) -> Result<Tables, postgres::Error> {
    let mut client = postgres::Client::connect(url, NoTls)?;
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
