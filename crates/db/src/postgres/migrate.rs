//! Brings a service's schema up to date, in one transaction under a lock.

use std::collections::HashSet;

use tokio_postgres::{Client, Error as Refusal, IsolationLevel, types::Type};

use crate::{
    error::with_source,
    migration::{self, Migrations},
};

/// Guards migrations: any number will do as long as every process takes the same.
const MIGRATION_LOCK: i64 = 0x7472_6970_7479_6368;

/// Tables, views and sequences: whatever a statement can name after FROM.
const TABLES: &str = "SELECT CAST(class.relname AS TEXT) FROM pg_catalog.pg_class AS class
    JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace
    WHERE space.nspname = $1 AND class.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')";

/// Applies what the schema lacks, and says which tables it has.
///
/// Statements are unnamed: whether prepared ones would be kept is not known yet.
pub(super) async fn migrate(
    client: &mut Client,
    schema: &str,
    migrations: &[Migrations],
) -> Result<HashSet<String>, String> {
    let said = |error: Refusal| with_source(&error);
    // Said outright, as the server's defaults may be others: at a stricter isolation, who waited for the lock
    // would not see what was done meanwhile.
    let tx = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(false)
        .start()
        .await
        .map_err(said)?;
    tx.execute_typed("SELECT pg_advisory_xact_lock($1)", &[(&MIGRATION_LOCK, Type::INT8)])
        .await
        .map_err(said)?;
    // Not IF NOT EXISTS alone: that wants the right to create schemas even where the schema is there already.
    let named = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if tx.query_typed(named, &[(&schema, Type::TEXT)]).await.map_err(said)?.is_empty() {
        tx.batch_execute(&format!("CREATE SCHEMA {schema}")).await.map_err(said)?;
    }
    tx.batch_execute(&format!("SET LOCAL search_path TO {schema}")).await.map_err(said)?;
    tx.batch_execute(migration::POSTGRES_TABLE).await.map_err(said)?;
    let applied = tx.query_typed(migration::APPLIED, &[]).await.map_err(said)?;
    let applied: Result<Vec<_>, _> =
        applied.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect();
    for step in migration::outstanding(migrations, &applied.map_err(said)?)? {
        let failed = |error| format!("migration {step} failed: {}", said(error));
        tx.batch_execute(step.postgres).await.map_err(failed)?;
        let done = "INSERT INTO triptych_migration (component, version) VALUES ($1, $2)";
        tx.execute_typed(done, &[(&step.component, Type::TEXT), (&step.version, Type::INT8)])
            .await
            .map_err(failed)?;
    }
    let tables = tx.query_typed(TABLES, &[(&schema, Type::TEXT)]).await.map_err(said)?;
    let tables: Result<HashSet<String>, _> = tables.iter().map(|row| row.try_get(0)).collect();
    tx.commit().await.map_err(said)?;
    tables.map_err(said)
}
