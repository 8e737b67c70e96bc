//! The inventory: how many pets have each status. Triggers on the table of pets maintain the counts.

use std::collections::BTreeMap;

use axum::extract::State;
use db::{Error, Tx};
use web::{Reply, Result};

use crate::{Petstore, caller::KeyCaller};

/// Count the pets of each status
#[utoipa::path(
    get, path = "/store/inventory", operation_id = "getInventory", tag = "store",
    responses((status = 200, description = "How many pets have each status.", body = BTreeMap<String, i64>)),
    security(("api_key" = [])),
)]
pub(crate) async fn get(
    _caller: KeyCaller,
    State(petstore): State<Petstore>,
) -> Result<Reply<BTreeMap<String, i64>>> {
    let counts = petstore.db.read(counts).await?;
    Ok(Reply(counts.into_iter().collect()))
}

fn counts(tx: &mut Tx<'_>) -> Result<Vec<(String, i64)>, Error> {
    tx.rows(
        "SELECT status, CAST(sum(pets) AS BIGINT) FROM pet_count GROUP BY status ORDER BY status",
        &[],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}
