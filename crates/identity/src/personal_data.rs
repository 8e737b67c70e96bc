//! The personal data of a user in the tables of this crate: what an export has of it, and what is erased.
//!
//! Secrets are stored as hashes, which no export has. The hashes that limit sign-ins have no name: they cannot be found by an account,
//! and expire.

use db::{Error, Keyed, Tx, WriteTx};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::quota;

/// The account itself, without its password.
pub fn account(tx: &mut Tx<'_>, account: Uuid) -> Result<Option<Value>, Error> {
    tx.row(
        "SELECT name, demo, password_hash IS NOT NULL, created_at FROM account WHERE id = $1",
        &[account.into()],
        |row| {
            Ok(json!({
                "id": account,
                "name": row.get::<String>(0)?,
                "demo": row.get::<bool>(1)?,
                "has_password": row.get::<bool>(2)?,
                "created_at": row.get::<Timestamp>(3)?,
            }))
        },
    )
}

/// The calls of this hour.
pub fn calls(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    let after = String::from_utf8_lossy(after);
    let [caller, limited] = callers(account);
    tx.rows(
        "SELECT caller, hour, used FROM call_quota WHERE (caller = $1 OR caller LIKE $2) AND caller > $3
         ORDER BY caller LIMIT 500",
        &[(&caller).into(), (&limited).into(), after.as_ref().into()],
        |row| {
            let caller = row.get::<String>(0)?;
            let start = Timestamp::from_second(row.get::<i64>(1)? * 3600);
            let start = start.map_err(|error| Error::Fault(error.to_string()))?;
            let document = json!({"caller": caller, "hour": start, "calls": row.get::<i64>(2)?});
            Ok(Keyed { key: caller.into_bytes(), document })
        },
    )
}

/// Deletes the count of the calls.
pub fn erase_calls(tx: &mut WriteTx<'_>, account: Uuid) -> Result<u64, Error> {
    let [caller, limited] = callers(account);
    tx.execute(
        "DELETE FROM call_quota WHERE caller = $1 OR caller LIKE $2",
        &[(&caller).into(), (&limited).into()],
    )
}

/// The key of a user's calls, and the pattern of those that are counted by a lower limit.
fn callers(account: Uuid) -> [String; 2] {
    let caller = quota::user(account);
    let limited = format!("{caller} of %");
    [caller, limited]
}

pub fn sessions(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT hash, kind, started_at, expires_at FROM session WHERE account_id = $1 AND hash > $2
         ORDER BY hash LIMIT 500",
        &[account.into(), after.into()],
        |row| {
            let document = json!({
                "kind": row.get::<String>(1)?,
                "started_at": row.get::<Option<Timestamp>>(2)?,
                "expires_at": row.get::<Timestamp>(3)?,
            });
            Ok(Keyed { key: row.get(0)?, document })
        },
    )
}

/// What the user allowed clients.
pub fn grants(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT g.id, g.client_id, c.name, g.scopes, g.audience, g.created_at, g.ends_at, g.revoked_at
         FROM oauth_grant AS g JOIN oauth_client AS c ON c.id = g.client_id
         WHERE g.account_id = $1 AND g.id > $2 ORDER BY g.id LIMIT 500",
        &[account.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "client_id": row.get::<String>(1)?,
                "client_name": row.get::<String>(2)?,
                "scopes": row.get::<String>(3)?,
                "audience": row.get::<String>(4)?,
                "created_at": row.get::<Timestamp>(5)?,
                "ends_at": row.get::<Timestamp>(6)?,
                "revoked_at": row.get::<Option<Timestamp>>(7)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}

/// The codes of the grants.
pub fn codes(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT c.hash, c.grant_id, c.redirect_uri, c.expires_at, c.used_at
         FROM oauth_code AS c JOIN oauth_grant AS g ON g.id = c.grant_id
         WHERE g.account_id = $1 AND c.hash > $2 ORDER BY c.hash LIMIT 500",
        &[account.into(), after.into()],
        |row| {
            let document = json!({
                "grant_id": row.get::<Uuid>(1)?,
                "redirect_uri": row.get::<String>(2)?,
                "expires_at": row.get::<Timestamp>(3)?,
                "used_at": row.get::<Option<Timestamp>>(4)?,
            });
            Ok(Keyed { key: row.get(0)?, document })
        },
    )
}

/// The refresh tokens of the grants.
pub fn refresh_tokens(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT t.hash, t.grant_id, t.expires_at, t.used_at
         FROM oauth_refresh_token AS t JOIN oauth_grant AS g ON g.id = t.grant_id
         WHERE g.account_id = $1 AND t.hash > $2 ORDER BY t.hash LIMIT 500",
        &[account.into(), after.into()],
        |row| {
            let document = json!({
                "grant_id": row.get::<Uuid>(1)?,
                "expires_at": row.get::<Timestamp>(2)?,
                "used_at": row.get::<Option<Timestamp>>(3)?,
            });
            Ok(Keyed { key: row.get(0)?, document })
        },
    )
}
