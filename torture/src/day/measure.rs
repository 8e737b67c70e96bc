//! What the program needs: memory, descriptors, threads, files, and the rows of all tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use postgres::NoTls;
use rusqlite::{Connection, OpenFlags};
use testkit::{Engine, Program};

use crate::installation::Installation;

/// The rows of each table, by `schema.table`.
pub(super) type Tables = BTreeMap<String, u64>;

pub(super) struct Measured {
    /// The resident memory in bytes.
    pub(super) memory: u64,
    pub(super) open_files: u64,
    pub(super) threads: u64,
    /// The files of the data folder.
    pub(super) names: BTreeSet<String>,
    /// The size of the databases: on SQLite without the WALs, which have a size of their own.
    pub(super) bytes: u64,
    pub(super) tables: Tables,
}

impl Measured {
    pub(super) fn now(installation: &Installation, program: &Program) -> Self {
        let process = PathBuf::from(format!("/proc/{}", program.id()));
        let status = fs::read_to_string(process.join("status")).expect("the program runs");
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of its status");
            line.trim_start_matches(':')
                .split_whitespace()
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        let mut names = BTreeSet::new();
        let mut bytes = 0;
        for (path, size) in files(&installation.data()) {
            bytes += if is_database(&path) { size } else { 0 };
            names.insert(path.display().to_string());
        }
        Measured {
            memory: figure("VmRSS") << 10,
            open_files: fs::read_dir(process.join("fd")).expect("the program runs").count() as u64,
            threads: figure("Threads"),
            names,
            bytes,
            tables: tables(installation),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { memory, open_files, threads, bytes, tables, .. } = self;
        let rows: u64 = tables.values().sum();
        write!(f, "{} MB, {open_files} open files, {threads} threads, {rows} rows", memory >> 20)?;
        if *bytes > 0 { write!(f, " in {} KB", bytes >> 10) } else { Ok(()) }
    }
}

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "db")
}

/// The files below a folder, with their sizes.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
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

pub(super) fn tables(installation: &Installation) -> Tables {
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
