//! The inventory: how many pets have each status.

use std::collections::BTreeMap;

use axum::extract::State;
use db::{Error, Tx, WriteTx};
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
    let counts = petstore.db.read_stale(counts).await?;
    Ok(Reply(counts.into_iter().collect()))
}

fn counts(tx: &mut Tx<'_>) -> Result<Vec<(String, i64)>, Error> {
    tx.rows(
        "SELECT status, CAST(sum(pets) AS BIGINT) FROM pet_count GROUP BY status ORDER BY status",
        &[],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

/// Counts a change of the status of a pet: a new pet had none before, and a deleted one has none after.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    pet: i64,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let mut changes: Vec<_> =
        [(before, -1), (after, 1)].into_iter().filter_map(|(status, by)| Some((status?, by))).collect();
    // The lock order: without it, two opposite changes could wait for each other.
    changes.sort_unstable();
    for (status, by) in changes {
        tx.execute(
            "UPDATE pet_count SET pets = pets + $1 WHERE status = $2 AND shard = $3",
            &[by.into(), status.into(), (pet & LAST_SHARD).into()],
        )?;
    }
    Ok(())
}

/// A status has this many rows and one more, so that changes to different pets seldom wait for one another.
const LAST_SHARD: i64 = 15;
