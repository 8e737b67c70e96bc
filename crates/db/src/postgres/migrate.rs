//! Applies the migrations that a schema lacks, in one transaction under a lock.

use std::collections::HashSet;

use tokio_postgres::{Client, Error as PostgresError, IsolationLevel, Transaction, types::Type};

use crate::{
    error::with_source,
    migration::{self, Migrations},
};

/// The key of the advisory lock: any number, but the same in every process.
const MIGRATION_LOCK: i64 = 0x7472_6970_7479_6368;

/// Tables, views and sequences: all that a statement can name after FROM. They are found through what depends on the schema, for which
/// there is an index: with hundreds of groups, the server has many thousands of tables.
const TABLES: &str = "SELECT CAST(class.relname AS TEXT) FROM pg_catalog.pg_namespace AS space
    JOIN pg_catalog.pg_depend AS depend ON depend.refobjid = space.oid
        AND depend.refclassid = 'pg_catalog.pg_namespace'::regclass AND depend.classid = 'pg_catalog.pg_class'::regclass
    JOIN pg_catalog.pg_class AS class ON class.oid = depend.objid
    WHERE space.nspname = $1 AND class.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND NOT starts_with(class.relname, 'triptych_copy')";

/// Applies the migrations that the schema lacks, and gives the names of its tables.
///
/// Statements are unnamed: it is not known yet whether a pooler keeps prepared ones.
pub(super) async fn migrate(
    client: &mut Client,
    schema: &str,
    migrations: &[Migrations],
) -> Result<HashSet<String>, String> {
    let text = |error: PostgresError| with_source(&error);
    // Explicit, as the server's defaults may differ: at a stricter isolation, a process that waited for the lock would not
    // see the migrations of the process that had it.
    let tx = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(false)
        .start()
        .await
        .map_err(text)?;
    create(&tx, schema, migrations).await?;
    let tables = tx.query_typed(TABLES, &[(&schema, Type::TEXT)]).await.map_err(text)?;
    let tables: Result<HashSet<String>, _> = tables.iter().map(|row| row.try_get(0)).collect();
    tx.commit().await.map_err(text)?;
    tables.map_err(text)
}

/// Makes the schema if it is missing, and applies the migrations that it lacks. No other process does so until the end of the
/// transaction.
pub(super) async fn create(
    tx: &Transaction<'_>,
    schema: &str,
    migrations: &[Migrations],
) -> Result<(), String> {
    let text = |error: PostgresError| with_source(&error);
    tx.execute_typed("SELECT pg_advisory_xact_lock($1)", &[(&MIGRATION_LOCK, Type::INT8)])
        .await
        .map_err(text)?;
    // Not IF NOT EXISTS alone: that needs the permission to create schemas even if the schema exists.
    let named = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if tx.query_typed(named, &[(&schema, Type::TEXT)]).await.map_err(text)?.is_empty() {
        tx.batch_execute(&format!("CREATE SCHEMA {schema}")).await.map_err(text)?;
    }
    apply(tx, schema, migrations).await
}

/// Applies the migrations that a schema lacks, in a transaction in which no other process does so.
async fn apply(tx: &Transaction<'_>, schema: &str, migrations: &[Migrations]) -> Result<(), String> {
    let text = |error: PostgresError| with_source(&error);
    tx.batch_execute(&format!("SET LOCAL search_path TO {schema}")).await.map_err(text)?;
    tx.batch_execute(migration::POSTGRES_TABLE).await.map_err(text)?;
    for step in migration::missing(migrations, &applied(tx).await?)? {
        let failed = |error| format!("migration {step} failed: {}", text(error));
        tx.batch_execute(step.postgres).await.map_err(failed)?;
        let done = "INSERT INTO triptych_migration (component, version) VALUES ($1, $2)";
        tx.execute_typed(done, &[(&step.component, Type::TEXT), (&step.version, Type::INT8)])
            .await
            .map_err(failed)?;
    }
    Ok(())
}

/// The newest version of each component of the schema in the search path.
pub(super) async fn applied(tx: &Transaction<'_>) -> Result<Vec<(String, i64)>, String> {
    let text = |error: PostgresError| with_source(&error);
    let rows = tx.query_typed(migration::APPLIED, &[]).await.map_err(text)?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, _>>().map_err(text)
}
