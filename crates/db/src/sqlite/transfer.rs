//! All rows of a database file.

use std::{
    fmt,
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use rusqlite::{config::DbConfig, params_from_iter};

use super::{
    connection::{Access, Connection, Size},
    files,
    migrate::migrate,
};
use crate::{
    catalog::{Catalog, SQLITE_COLUMNS, SQLITE_REFERENCES, Table, quoted},
    copy_tables::missing_table,
    error::Error,
    migration::{self, Migrations},
    private,
    transfer::{Cell, Digests, Part, Sink, Source, TableColumns, TransferError, compare},
};

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn failed(error: impl ToString) -> TransferError {
    TransferError::new(error.to_string())
}

pub(crate) fn export(path: &Path, sink: &mut Sink<'_>) -> Result<Digests, TransferError> {
    let mut connection = Connection::open(path, Access::Read, Size::Full).map_err(failed)?;
    connection.batch("BEGIN").map_err(failed)?;
    let versions = connection.as_mut().prepare(migration::APPLIED).and_then(|mut all| {
        all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()
    });
    sink(Part::Versions(versions.map_err(failed)?))?;
    read_all(&mut connection, sink)
}

/// Makes a database in the last of these folders, each of which is in the one before. It has another name until it is complete.
pub(crate) fn import(
    folders: &[PathBuf],
    name: &str,
    migrations: &[Migrations],
    source: &mut Source<'_>,
) -> Result<Digests, TransferError> {
    for folder in folders {
        private::create_folder(folder)?;
    }
    let folder = folders.last().map_or_else(|| Path::new("."), PathBuf::as_path);
    let (path, part) = (files::database(folder, name), folder.join(format!("{name}.part")));
    // Of an import that was killed.
    remove(&part)?;
    private::secure_files(&part).map_err(failed)?;
    let imported = fill(&part, migrations, source);
    let done = imported.and_then(|digests| {
        // A link does not replace a file, as renaming would.
        let linked = fs::hard_link(&part, &path).and_then(|()| fs::remove_file(&part));
        linked.and_then(|()| File::open(folder)?.sync_all()).map_err(failed)?;
        Ok(digests)
    });
    if done.is_err() {
        remove(&part)?;
    }
    done
}

/// Removes a database with its WAL, if it exists.
fn remove(path: &Path) -> Result<(), TransferError> {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    Ok(())
}

fn fill(path: &Path, migrations: &[Migrations], source: &mut Source<'_>) -> Result<Digests, TransferError> {
    let mut connection = Connection::open(path, Access::Write, Size::Full).map_err(failed)?;
    migrate(connection.as_mut(), migrations).map_err(failed)?;
    // The source has the rows that triggers made, too, and its tables may come in any order.
    for check in [DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY] {
        connection.as_mut().set_db_config(check, false).map_err(failed)?;
    }
    connection.batch("BEGIN IMMEDIATE").map_err(failed)?;
    let known = catalog(&mut connection).map_err(failed)?;
    // Migrations insert rows.
    for table in known.in_order().map_err(TransferError::new)? {
        connection.batch(&format!("DELETE FROM {}", quoted(&table.name))).map_err(failed)?;
    }
    let written = write_all(&mut connection, &known, source)?;
    let read = read_all(&mut connection, &mut |_| Ok(()))?;
    compare(&written, &read)?;
    let dangling =
        connection.texts("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1").map_err(failed)?;
    if let Some(table) = dangling.into_iter().flatten().next() {
        return Err(TransferError::new(format!("a row of {table} refers to a row that is missing")));
    }
    connection.batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").map_err(failed)?;
    Ok(written)
}

fn write_all(
    connection: &mut Connection,
    known: &Catalog,
    source: &mut Source<'_>,
) -> Result<Digests, TransferError> {
    let mut digests = Digests::new();
    let mut table = None;
    for part in source {
        match (part?, &mut table) {
            (Part::Table(next), table) => {
                if let Some(text) = missing_table(None, known, &next)? {
                    connection.batch(&text).map_err(failed)?;
                }
                digests.entry(next.name.clone()).or_default();
                *table = Some((insertion(&next), next));
            }
            (Part::Row(row), Some((insertion, table))) => {
                let mut insertion = connection.as_mut().prepare_cached(insertion).map_err(failed)?;
                insertion.execute(params_from_iter(&row)).map_err(|error| in_table(table, error))?;
                digests.entry(table.name.clone()).or_default().add(table, &row);
            }
            (Part::Row(_), None) => return Err(TransferError::new("a row without a table")),
            (Part::Versions(_), _) => return Err(TransferError::new("the versions come twice")),
        }
    }
    Ok(digests)
}

fn in_table(table: &TableColumns, error: impl fmt::Display) -> TransferError {
    TransferError::new(format!("{}: {error}", table.name))
}

fn insertion(table: &TableColumns) -> String {
    let columns: Vec<_> = table.columns.iter().map(|column| quoted(column)).collect();
    let values = vec!["?"; columns.len()];
    format!("INSERT INTO {} ({}) VALUES ({})", quoted(&table.name), columns.join(", "), values.join(", "))
}

fn read_all(connection: &mut Connection, sink: &mut Sink<'_>) -> Result<Digests, TransferError> {
    let mut digests = Digests::new();
    let catalog = catalog(connection).map_err(failed)?;
    for table in catalog.in_order().map_err(TransferError::new)? {
        let digest = digests.entry(table.name.clone()).or_default();
        let Table { name, columns, .. } = table;
        let table = TableColumns { name: name.clone(), columns: columns.clone() };
        let names: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), quoted(name));
        sink(Part::Table(table.clone()))?;
        let mut select = connection.as_mut().prepare(&select).map_err(failed)?;
        let mut rows = select.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(|error| in_table(&table, error))? {
            let cell = |at| Cell::from_sqlite(row.get_ref(at).map_err(|error| error.to_string())?);
            let cells = (0..names.len()).map(cell).collect::<Result<Vec<_>, String>>();
            let cells = cells.map_err(|why| in_table(&table, why))?;
            digest.add(&table, &cells);
            sink(Part::Row(cells))?;
        }
    }
    Ok(digests)
}

fn catalog(connection: &mut Connection) -> Result<Catalog, Error> {
    Ok(Catalog::new(connection.texts(SQLITE_COLUMNS)?, connection.texts(SQLITE_REFERENCES)?))
}
