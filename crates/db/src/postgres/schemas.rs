//! Schemas of databases that no process has open: copies of templates, and removal.

use std::time::Duration;

use futures_util::future::try_join_all;
use tokio_postgres::{
    Client, Error as PostgresError, IsolationLevel, SimpleQueryMessage, Transaction, error::SqlState,
};

use super::{migrate::applied, names::statements};
use crate::{
    catalog::{
        Catalog, IN_WRITTEN_ORDER, REGISTRY, postgres_columns, postgres_references, postgres_triggers,
        qualified,
    },
    error::with_source,
    migration::{self, Migrations},
};

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn text(error: PostgresError) -> String {
    with_source(&error)
}

/// Makes a schema with the tables of the migrations and the rows of another schema, in one transaction.
pub(super) async fn copy(
    client: &mut Client,
    from: &str,
    to: &str,
    migrations: &[Migrations],
    wait: Duration,
) -> Result<(), String> {
    let tx = begin(client, wait).await?;
    if !rows(&tx, &schemas(from)).await?.iter().flatten().any(|schema| schema == from) {
        return Err("the template does not exist".into());
    }
    tx.batch_execute(&format!("SET LOCAL search_path TO {from}")).await.map_err(text)?;
    if !migration::missing(migrations, &applied(&tx).await?)?.is_empty() {
        return Err("the template lacks migrations: open it first".into());
    }
    // The schema decides between two processes: the second waits for the first, and then there is one.
    tx.batch_execute(&format!("CREATE SCHEMA {to}")).await.map_err(|error| match error.code() {
        Some(&SqlState::DUPLICATE_SCHEMA | &SqlState::UNIQUE_VIOLATION) => "it exists already".to_owned(),
        _ => text(error),
    })?;
    // The tables are those of the template, since both have all migrations.
    let template = catalog(&tx, from).await?;
    let names: Vec<_> = template.tables().map(|table| table.name.as_str()).collect();
    let (copies, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with(REGISTRY));
    let names: Vec<_> = names.into_iter().filter(|&name| name != migration::TABLE).collect();
    let tables = template.ordered(&names)?;
    let with_triggers = rows(&tx, &postgres_triggers(from)).await?;
    let with_triggers: Vec<_> =
        with_triggers.into_iter().flatten().map(|table| qualified(Some(to), &table)).collect();
    create(&tx, to, migrations).await?;
    let switch = |to: &'static str| move |table: &String| format!("ALTER TABLE {table} {to} TRIGGER USER");
    let mut all: Vec<String> = with_triggers.iter().map(switch("DISABLE")).collect();
    // Migrations insert rows.
    all.extend(tables.iter().rev().map(|table| format!("DELETE FROM {}", qualified(Some(to), &table.name))));
    all.extend(tables.iter().map(|table| insert(from, to, &table.name, &table.columns)));
    all.extend(with_triggers.iter().map(switch("ENABLE")));
    for table in copies.iter().filter_map(|name| template.table(name)) {
        let (new, old) = (qualified(Some(to), &table.name), qualified(Some(from), &table.name));
        all.push(format!("CREATE TABLE {new} (LIKE {old} INCLUDING ALL)"));
        all.push(insert(from, to, &table.name, &table.columns));
    }
    run_all(&tx, &all).await.map_err(text)?;
    tx.commit().await.map_err(text)
}

/// Makes the tables of all migrations in a new schema.
async fn create(tx: &Transaction<'_>, schema: &str, migrations: &[Migrations]) -> Result<(), String> {
    let mut all = vec![format!("SET LOCAL search_path TO {schema}"), migration::POSTGRES_TABLE.to_owned()];
    for step in migration::missing(migrations, &[])? {
        let (component, version) = (step.component.replace('\'', "''"), step.version);
        all.extend(statements(step.postgres).into_iter().map(str::to_owned));
        all.push(format!(
            "INSERT INTO {} (component, version) VALUES ('{component}', {version})",
            migration::TABLE
        ));
    }
    run_all(tx, &all).await.map_err(text)
}

/// How many statements are sent before the answer to the first one.
const PIPELINED: usize = 16;

/// Runs statements one after the other. To wait for the answer to each would take as long as the work.
async fn run_all(tx: &Transaction<'_>, statements: &[String]) -> Result<(), PostgresError> {
    for some in statements.chunks(PIPELINED) {
        // Sent in order: so few futures are polled in order.
        try_join_all(some.iter().map(|statement| tx.batch_execute(statement))).await?;
    }
    Ok(())
}

/// Removes all schemas whose name is this prefix and a name without an underscore.
pub(super) async fn remove(client: &mut Client, prefix: &str, wait: Duration) -> Result<(), String> {
    let tx = begin(client, wait).await?;
    let found = rows(&tx, &schemas(prefix)).await?;
    let mut all = Vec::new();
    for schema in found.iter().flatten() {
        if schema.strip_prefix(prefix).is_some_and(|name| !name.contains('_')) {
            all.push(format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
    run_all(&tx, &all).await.map_err(text)?;
    tx.commit().await.map_err(text)
}

/// All schemas with this prefix.
pub(super) async fn with_prefix(
    client: &mut Client,
    prefix: &str,
    wait: Duration,
) -> Result<Vec<String>, String> {
    let tx = begin(client, wait).await?;
    Ok(rows(&tx, &schemas(prefix)).await?.into_iter().flatten().collect())
}

fn schemas(prefix: &str) -> String {
    format!(
        "SELECT nspname FROM pg_catalog.pg_namespace WHERE starts_with(nspname, '{prefix}') ORDER BY nspname"
    )
}

fn insert(from: &str, to: &str, table: &str, columns: &[String]) -> String {
    let columns: Vec<_> = columns.iter().map(|column| crate::catalog::quoted(column)).collect();
    let (columns, to, from) = (columns.join(", "), qualified(Some(to), table), qualified(Some(from), table));
    format!("INSERT INTO {to} ({columns}) SELECT {columns} FROM {from}")
}

/// Begins a transaction whose statements do not wait longer than a unit of work may.
async fn begin(client: &mut Client, wait: Duration) -> Result<Transaction<'_>, String> {
    let tx = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).read_only(false);
    let tx = tx.start().await.map_err(text)?;
    let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX).max(1);
    let settings = [
        "SET LOCAL synchronous_commit TO on".to_owned(),
        format!("SET LOCAL statement_timeout TO {wait}"),
        IN_WRITTEN_ORDER.to_owned(),
    ];
    run_all(&tx, &settings).await.map_err(text)?;
    Ok(tx)
}

pub(super) async fn catalog(tx: &Transaction<'_>, schema: &str) -> Result<Catalog, String> {
    let columns = rows(tx, &postgres_columns(schema)).await?;
    Ok(Catalog::new(columns, rows(tx, &postgres_references(schema)).await?))
}

/// The rows of a statement, as text.
pub(super) async fn rows(tx: &Transaction<'_>, sql: &str) -> Result<Vec<Vec<String>>, String> {
    Ok(texts(&tx.simple_query(sql).await.map_err(text)?))
}

/// The rows of an answer, as text.
pub(super) fn texts(answer: &[SimpleQueryMessage]) -> Vec<Vec<String>> {
    let rows = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.map(|row| (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()).collect()
}
