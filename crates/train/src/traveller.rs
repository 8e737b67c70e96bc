//! A user's own row: locked while bookings and payments begin, and marked when the user is removed.

use db::{Error, Tx, WriteTx};
use web::{Problem, problem::FORBIDDEN};

/// Locks a user's row until this transaction ends, before trips, bookings and payments. `false` when the user was removed.
///
/// Of two concurrent bookings the second counts the first, and no booking begins during a removal of the user: an access token
/// may be accepted for some seconds after it.
pub(crate) fn enter(tx: &mut WriteTx<'_>, owner: &str) -> Result<bool, Error> {
    // A lock without a change, so that a booking does not write this row again.
    let known =
        tx.row("SELECT removed FROM traveller WHERE owner = $1 FOR NO KEY UPDATE", &[owner.into()], |row| {
            row.get::<bool>(0)
        })?;
    if let Some(removed) = known {
        return Ok(!removed);
    }
    let removed = tx.row(
        "INSERT INTO traveller (owner, removed) VALUES ($1, FALSE)
         ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING removed",
        &[owner.into()],
        |row| row.get::<bool>(0),
    )?;
    Ok(removed != Some(true))
}

/// Marks a user as removed. The row stays; it has only the id of the removed account.
pub(crate) fn close(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO traveller (owner, removed) VALUES ($1, TRUE) ON CONFLICT (owner) DO UPDATE SET removed = TRUE",
        &[owner.into()],
    )
    .map(drop)
}

/// Whether a user was removed.
pub(crate) fn is_removed(tx: &mut Tx<'_>, owner: &str) -> Result<bool, Error> {
    let removed =
        tx.row("SELECT removed FROM traveller WHERE owner = $1", &[owner.into()], |row| row.get(0))?;
    Ok(removed == Some(true))
}

/// The problem for a token whose user was removed.
pub(crate) fn gone() -> Problem {
    Problem::new(&FORBIDDEN, "The user of this access token was removed.")
}
