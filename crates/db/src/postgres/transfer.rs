//! All rows of a schema.

use std::pin::Pin;

use bytes::Bytes;
use tokio_postgres::{
    Client, Error as PostgresError, IsolationLevel, Transaction, binary_copy::BinaryCopyInWriter, types::Type,
};

use super::{
    migrate::{applied, create},
    schemas::{catalog, rows},
};
use crate::{
    catalog::{postgres_triggers, qualified, quoted},
    copy_tables::missing_table,
    error::with_source,
    migration::{self, Migrations},
    transfer::{Cell, Digests, Part, Sink, Source, TableColumns, TransferError, compare},
    value::Value,
};

/// About how many bytes of rows are fetched at once.
const BATCH_BYTES: usize = 1 << 20;

/// The most rows that are fetched at once.
const MOST_ROWS: usize = 4096;

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn failed(error: PostgresError) -> TransferError {
    TransferError::new(with_source(&error))
}

/// Whether the schema has any migration.
pub(super) async fn is_migrated(client: &mut Client, schema: &str) -> Result<bool, String> {
    let tx = client.transaction().await.map_err(|error| with_source(&error))?;
    let table = qualified(Some(schema), migration::TABLE);
    let found = rows(&tx, &format!("SELECT to_regclass('{table}')")).await?;
    if !found.iter().flatten().any(|name| !name.is_empty()) {
        return Ok(false);
    }
    Ok(!rows(&tx, &format!("SELECT 1 FROM {table} WHERE version > 0 LIMIT 1")).await?.is_empty())
}

pub(super) async fn export(
    client: &mut Client,
    schema: &str,
    sink: &mut Sink<'_>,
) -> Result<Digests, TransferError> {
    let tx = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let tx = tx.start().await.map_err(failed)?;
    tx.batch_execute(&format!("SET LOCAL search_path TO {schema}")).await.map_err(failed)?;
    sink(Part::Versions(applied(&tx).await.map_err(TransferError::new)?))?;
    read_all(&tx, schema, sink).await
}

/// Makes the schema and its rows in one transaction.
pub(super) async fn import(
    client: &mut Client,
    schema: &str,
    migrations: &[Migrations],
    source: &mut Source<'_>,
) -> Result<Digests, TransferError> {
    let tx = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(false);
    let tx = tx.start().await.map_err(failed)?;
    tx.batch_execute("SET LOCAL synchronous_commit TO on").await.map_err(failed)?;
    create(&tx, schema, migrations).await.map_err(TransferError::new)?;
    let known = catalog(&tx, schema).await.map_err(TransferError::new)?;
    // The source has the rows that triggers made, too.
    let with_triggers = rows(&tx, &postgres_triggers(schema)).await.map_err(TransferError::new)?;
    let with_triggers: Vec<_> =
        with_triggers.into_iter().flatten().map(|table| qualified(Some(schema), &table)).collect();
    let switch = |to: &'static str| move |table: &String| format!("ALTER TABLE {table} {to} TRIGGER USER");
    let mut texts: Vec<_> = with_triggers.iter().map(switch("DISABLE")).collect();
    // Migrations insert rows.
    let tables = known.in_order().map_err(TransferError::new)?;
    texts.extend(
        tables.iter().rev().map(|table| format!("DELETE FROM {}", qualified(Some(schema), &table.name))),
    );
    for text in texts {
        tx.batch_execute(&text).await.map_err(failed)?;
    }
    let mut digests = Digests::new();
    let mut table: Option<Writer> = None;
    for part in source {
        match part? {
            Part::Table(next) => {
                if let Some(table) = table.take() {
                    table.finish().await?;
                }
                if let Some(text) = missing_table(Some(schema), &known, &next)? {
                    tx.batch_execute(&text).await.map_err(failed)?;
                }
                digests.entry(next.name.clone()).or_default();
                table = Some(Writer::start(&tx, schema, next).await?);
            }
            Part::Row(row) => {
                let table = table.as_mut().ok_or_else(|| TransferError::new("a row without a table"))?;
                table.write(&row).await?;
                digests.entry(table.table.name.clone()).or_default().add(&table.table, &row);
            }
            Part::Versions(_) => return Err(TransferError::new("the versions come twice")),
        }
    }
    if let Some(table) = table {
        table.finish().await?;
    }
    compare(&digests, &read_all(&tx, schema, &mut |_| Ok(())).await?)?;
    for text in with_triggers.iter().map(switch("ENABLE")) {
        tx.batch_execute(&text).await.map_err(failed)?;
    }
    tx.commit().await.map_err(failed)?;
    Ok(digests)
}

/// Writes the rows of a table.
struct Writer {
    table: TableColumns,
    types: Vec<Type>,
    rows: Pin<Box<BinaryCopyInWriter>>,
}

impl Writer {
    async fn start(tx: &Transaction<'_>, schema: &str, table: TableColumns) -> Result<Self, TransferError> {
        let name = qualified(Some(schema), &table.name);
        let columns: Vec<_> = table.columns.iter().map(|column| quoted(column)).collect();
        let columns = columns.join(", ");
        let types = tx.prepare(&format!("SELECT {columns} FROM {name} LIMIT 0")).await.map_err(failed)?;
        let types: Vec<_> = types.columns().iter().map(|column| column.type_().clone()).collect();
        let copy = format!("COPY {name} ({columns}) FROM STDIN (FORMAT binary)");
        let sink = tx.copy_in::<_, Bytes>(&copy).await.map_err(failed)?;
        let rows = Box::pin(BinaryCopyInWriter::new(sink, &types));
        Ok(Writer { table, types, rows })
    }

    async fn write(&mut self, row: &[Cell]) -> Result<(), TransferError> {
        let at = |why: String| TransferError::new(format!("{}: {why}", self.table.name));
        if row.len() != self.types.len() {
            return Err(at(format!("a row has {} values, not {}", row.len(), self.types.len())));
        }
        let values = row.iter().zip(&self.types).map(|(cell, column)| cell.for_postgres(column));
        let values: Vec<Value<'_>> = values.collect::<Result<_, String>>().map_err(at)?;
        self.rows.as_mut().write_raw(&values).await.map_err(failed)
    }

    async fn finish(mut self) -> Result<(), TransferError> {
        self.rows.as_mut().finish().await.map(drop).map_err(failed)
    }
}

async fn read_all(tx: &Transaction<'_>, schema: &str, sink: &mut Sink<'_>) -> Result<Digests, TransferError> {
    let mut digests = Digests::new();
    let catalog = catalog(tx, schema).await.map_err(TransferError::new)?;
    for table in catalog.in_order().map_err(TransferError::new)? {
        let digest = digests.entry(table.name.clone()).or_default();
        let table = TableColumns { name: table.name.clone(), columns: table.columns.clone() };
        let columns: Vec<_> = table.columns.iter().map(|column| quoted(column)).collect();
        let (columns, name) = (columns.join(", "), qualified(Some(schema), &table.name));
        // A cursor rather than a portal of the protocol, whose prepared statement a pooler may not keep.
        let declare = format!("DECLARE triptych_rows NO SCROLL CURSOR FOR SELECT {columns} FROM {name}");
        tx.batch_execute(&declare).await.map_err(failed)?;
        sink(Part::Table(table.clone()))?;
        let mut count = 16;
        loop {
            let fetch = format!("FETCH FORWARD {count} FROM triptych_rows");
            let rows = tx.query_typed(&fetch, &[]).await.map_err(failed)?;
            let mut bytes = 0;
            for row in &rows {
                let cells = (0..table.columns.len()).map(|at| Cell::from_postgres(row, at));
                let cells = cells.collect::<Result<Vec<_>, String>>();
                let cells = cells.map_err(|why| TransferError::new(format!("{}: {why}", table.name)))?;
                digest.add(&table, &cells);
                bytes += row.raw_size_bytes();
                sink(Part::Row(cells))?;
            }
            if rows.len() < count {
                break;
            }
            count = if bytes < BATCH_BYTES { (count * 2).min(MOST_ROWS) } else { (count / 2).max(1) };
        }
        tx.batch_execute("CLOSE triptych_rows").await.map_err(failed)?;
    }
    Ok(digests)
}
