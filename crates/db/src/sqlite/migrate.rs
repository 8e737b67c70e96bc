//! Applies the migrations that a database file lacks.

use crate::migration::{self, Migrations};

/// Applies the migrations that the schema lacks, in one transaction, and gives the names of its tables.
pub(super) fn migrate(
    connection: &mut rusqlite::Connection,
    migrations: &[Migrations],
) -> Result<Vec<String>, String> {
    let text = |error: rusqlite::Error| error.to_string();
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(text)?;
    tx.execute_batch(migration::SQLITE_TABLE).map_err(text)?;
    let applied = tx
        .prepare(migration::APPLIED)
        .and_then(|mut all| {
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()
        })
        .map_err(text)?;
    for step in migration::missing(migrations, &applied)? {
        let failed = |error| format!("migration {step} failed: {error}");
        tx.execute_batch(step.sqlite).map_err(failed)?;
        tx.execute(
            "INSERT INTO triptych_migration (component, version) VALUES (?1, ?2)",
            (step.component, step.version),
        )
        .map_err(failed)?;
    }
    let tables = tx
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             AND name NOT LIKE 'triptych\\_copy%' ESCAPE '\\'
             ORDER BY name",
        )
        .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect::<Result<Vec<_>, _>>())
        .map_err(text)?;
    tx.commit().map_err(text)?;
    Ok(tables)
}
