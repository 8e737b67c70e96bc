//! Warns if the settings of the server do not keep an acknowledged write through a crash.
//!
//! Each transaction sets `synchronous_commit` itself, but it cannot set the others. On Citus, what it sets does not reach the workers,
//! which have the tables.

use tokio_postgres::Client;

use super::schemas::texts;
use crate::{catalog::CITUS, error::with_source};

const OF_THE_SERVER: &str =
    "SELECT 'PostgreSQL', string_agg(name, ', ' ORDER BY name) FROM pg_catalog.pg_settings
    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'";

const OF_THE_WORKERS: &str =
    "SELECT 'the worker ' || nodename || ':' || nodeport, result FROM run_command_on_workers($$
    SELECT string_agg(name, ', ' ORDER BY name) FROM pg_catalog.pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'$$) WHERE success";

pub(super) async fn check(client: &Client) -> Result<(), String> {
    let rows = async |sql| match client.simple_query(sql).await {
        Ok(answer) => Ok(texts(&answer)),
        Err(error) => Err(with_source(&error)),
    };
    let mut found = rows(OF_THE_SERVER).await?;
    if !rows(CITUS).await?.is_empty() {
        found.extend(rows(OF_THE_WORKERS).await?);
    }
    for row in found {
        if let [server, off] = row.as_slice()
            && !off.is_empty()
        {
            tracing::warn!(
                "settings of {server} are off, so that a crash can lose acknowledged writes: {off}"
            );
        }
    }
    Ok(())
}
