//! Applies the migrations that a schema lacks, in one transaction under a lock.

use std::collections::HashSet;

use tokio_postgres::{
    Client, Error as PostgresError, IsolationLevel, Transaction, error::SqlState, types::Type,
};

use super::names::statements;
use crate::{
    error::with_source,
    migration::{self, Migrations},
};

/// The row that a process locks while it migrates. No component has the version 0.
const ADD_LOCK: &str =
    "INSERT INTO triptych_migration (component, version) VALUES ('', 0) ON CONFLICT DO NOTHING";
const LOCK: &str = "SELECT 1 FROM triptych_migration WHERE component = '' AND version = 0 FOR UPDATE";

/// The number of attempts to create the table with the lock. Two processes that create a schema or a table at the same time can
/// both fail.
const TRIES: usize = 10;

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
    let mut tries = 0;
    while let Err(error) = add_lock(client, schema).await {
        tries += 1;
        if tries == TRIES || !is_made_by_another(&error) {
            return Err(text(error));
        }
    }
    let tx = begin(client).await.map_err(text)?;
    tx.batch_execute(&search_path(schema)).await.map_err(text)?;
    tx.batch_execute(LOCK).await.map_err(text)?;
    apply(&tx, migrations).await?;
    let tables = tx.query_typed(TABLES, &[(&schema, Type::TEXT)]).await.map_err(text)?;
    let tables: Result<HashSet<String>, _> = tables.iter().map(|row| row.try_get(0)).collect();
    tx.commit().await.map_err(text)?;
    tables.map_err(text)
}

/// Makes a schema with all these migrations, in a transaction. It must not have any yet.
pub(super) async fn create(
    tx: &Transaction<'_>,
    schema: &str,
    migrations: &[Migrations],
) -> Result<(), String> {
    prepare(tx, schema).await.map_err(|error| with_source(&error))?;
    tx.batch_execute(LOCK).await.map_err(|error| with_source(&error))?;
    apply(tx, migrations).await
}

/// Explicit, as the server's defaults may differ: at a stricter isolation, a process that waited for the lock would not see the
/// migrations of the process that had it.
async fn begin(client: &mut Client) -> Result<Transaction<'_>, PostgresError> {
    let tx = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(false);
    tx.start().await
}

async fn add_lock(client: &mut Client, schema: &str) -> Result<(), PostgresError> {
    let tx = begin(client).await?;
    prepare(&tx, schema).await?;
    tx.commit().await
}

/// Makes the schema, the table of its migrations and the row of the lock, where they are missing.
async fn prepare(tx: &Transaction<'_>, schema: &str) -> Result<(), PostgresError> {
    // Not IF NOT EXISTS alone: that needs the permission to create schemas even if the schema exists.
    let named = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if tx.query_typed(named, &[(&schema, Type::TEXT)]).await?.is_empty() {
        tx.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
    }
    tx.batch_execute(&search_path(schema)).await?;
    tx.batch_execute(migration::POSTGRES_TABLE).await?;
    tx.batch_execute(ADD_LOCK).await
}

fn search_path(schema: &str) -> String {
    format!("SET LOCAL search_path TO {schema}")
}

fn is_made_by_another(error: &PostgresError) -> bool {
    let states = [&SqlState::DUPLICATE_SCHEMA, &SqlState::DUPLICATE_TABLE, &SqlState::UNIQUE_VIOLATION];
    error.code().is_some_and(|code| states.contains(&code))
}

/// Applies the migrations that the schema in the search path lacks, in a transaction in which no other process does so.
async fn apply(tx: &Transaction<'_>, migrations: &[Migrations]) -> Result<(), String> {
    let text = |error: PostgresError| with_source(&error);
    for step in migration::missing(migrations, &applied(tx).await?)? {
        let failed = |error| format!("migration {step} failed: {}", text(error));
        for statement in statements(step.postgres) {
            tx.batch_execute(statement).await.map_err(failed)?;
        }
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
