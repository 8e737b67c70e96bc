//! Clients, grants, codes and revoked tokens in the database. Where two requests may compete, one statement decides.

use db::{Db, Error, Json, Tx, Value, Word, WriteTx};
use jiff::Timestamp;
use uuid::Uuid;

use super::client::{Client, DEMO, GUEST, GrantType, PAGES};

/// The largest number of grants of one account to one client.
const MAX_GRANTS: i64 = 100;

pub(super) fn client_by_id(tx: &mut Tx<'_>, id: &str) -> Result<Option<Client>, Error> {
    tx.row(
        "SELECT id, name, secret_hash, redirect_uris, scopes, demo, grant_types, resource FROM oauth_client WHERE id = $1",
        &[id.into()],
        |row| {
            let Json(redirect_uris) = row.get(3)?;
            Ok(Client {
                id: row.get(0)?,
                name: row.get(1)?,
                secret_hash: row.get(2)?,
                redirect_uris: serde_json::from_str(&redirect_uris)
                    .map_err(|error| Error::Engine(format!("stored addresses cannot be read: {error}")))?,
                scopes: words(&row.get::<String>(4)?),
                demo: row.get(5)?,
                grant_types: words(&row.get::<String>(6)?)
                    .iter()
                    .filter_map(|word| GrantType::from_word(word))
                    .collect(),
                resource: row.get(7)?,
            })
        },
    )
}

/// Whether all clients exist that the server of a demo has from the start.
pub async fn has_demo_clients(db: &Db) -> Result<bool, Error> {
    db.snapshot(|tx| {
        for id in [PAGES, DEMO, GUEST] {
            if client_by_id(tx, id)?.is_none() {
                return Ok(false);
            }
        }
        Ok::<_, Error>(true)
    })
    .await
}

/// Adds a client, or updates one that the server has from the start.
pub(super) fn insert_client(tx: &mut WriteTx<'_>, client: &Client, now: Timestamp) -> Result<(), Error> {
    let redirect_uris = serde_json::to_string(&client.redirect_uris).unwrap_or_default();
    let scopes = client.scopes.join(" ");
    let grant_types: Vec<_> = client.grant_types.iter().map(|grant_type| grant_type.word()).collect();
    tx.execute(
        "INSERT INTO oauth_client (id, name, secret_hash, redirect_uris, scopes, demo, created_at, grant_types, resource)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (id) DO UPDATE SET redirect_uris = excluded.redirect_uris, scopes = excluded.scopes,
         grant_types = excluded.grant_types",
        &[
            (&client.id).into(),
            (&client.name).into(),
            client.secret_hash.as_deref().into(),
            Value::json(redirect_uris),
            (&scopes).into(),
            client.demo.into(),
            now.into(),
            (&grant_types.join(" ")).into(),
            client.resource.as_deref().into(),
        ],
    )
    .map(drop)
}

pub(super) fn delete_client(tx: &mut WriteTx<'_>, id: &str) -> Result<bool, Error> {
    Ok(tx.execute("DELETE FROM oauth_client WHERE id = $1", &[id.into()])? == 1)
}

/// What a user, or the server itself, allowed a client.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) id: Uuid,
    pub(super) client: String,
    /// `None`: the client acts for itself.
    pub(super) account: Option<Uuid>,
    pub(super) scopes: Vec<String>,
    pub(super) audience: String,
}

pub(super) fn insert_grant(
    tx: &mut WriteTx<'_>,
    grant: &Grant,
    now: Timestamp,
    ends_at: Timestamp,
) -> Result<(), Error> {
    // Every insert deletes a few expired grants with their codes and tokens, so that their number stays bounded.
    tx.execute(
        db::delete_some!("oauth_grant", "id", "ends_at <= $1 ORDER BY ends_at LIMIT 10"),
        &[now.into()],
    )?;
    let scopes = grant.scopes.join(" ");
    tx.execute(
        "INSERT INTO oauth_grant (id, client_id, account_id, scopes, audience, created_at, ends_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            grant.id.into(),
            (&grant.client).into(),
            grant.account.into(),
            (&scopes).into(),
            (&grant.audience).into(),
            now.into(),
            ends_at.into(),
        ],
    )
    .map(drop)
}

/// Makes room for one more grant of an account to a client: of too many, the oldest are deleted with their codes and tokens.
pub(super) fn delete_oldest_grants(tx: &mut WriteTx<'_>, account: Uuid, client: &str) -> Result<(), Error> {
    tx.execute(
        db::delete_some!(
            "oauth_grant",
            "id",
            "account_id = $1 AND client_id = $2 ORDER BY created_at DESC LIMIT 1000 OFFSET $3"
        ),
        &[account.into(), client.into(), (MAX_GRANTS - 1).into()],
    )
    .map(drop)
}

/// The grant by which a client acts for itself, if it has one of these scopes for this audience.
pub(super) fn own_grant(
    tx: &mut Tx<'_>,
    client: &str,
    scopes: &[String],
    audience: &str,
    now: Timestamp,
) -> Result<Option<Uuid>, Error> {
    tx.row(
        "SELECT id FROM oauth_grant WHERE client_id = $1 AND account_id IS NULL AND scopes = $2 AND audience = $3
         AND revoked_at IS NULL AND ends_at > $4",
        &[client.into(), (&scopes.join(" ")).into(), audience.into(), now.into()],
        |row| row.get(0),
    )
}

/// Which grants are valid, besides being neither revoked nor expired.
#[derive(Clone, Copy)]
pub(super) struct ValidGrants {
    /// Whether grants of demo accounts and demo clients are.
    pub(super) demo: bool,
    /// Older ones are not. Codes and refresh tokens from before this time belong to them, and so do all that came from those.
    pub(super) not_before: Option<Timestamp>,
}

/// A grant that is valid, and when it expires.
pub(super) fn grant(
    tx: &mut Tx<'_>,
    id: Uuid,
    now: Timestamp,
    valid: ValidGrants,
) -> Result<Option<(Grant, Timestamp)>, Error> {
    tx.row(
        "SELECT g.client_id, g.account_id, g.scopes, g.audience, g.ends_at
         FROM oauth_grant AS g JOIN oauth_client AS c ON c.id = g.client_id LEFT JOIN account AS a ON a.id = g.account_id
         WHERE g.id = $1 AND g.revoked_at IS NULL AND g.ends_at > $2 AND ($3 OR NOT (c.demo OR coalesce(a.demo, FALSE)))
         AND g.created_at >= $4",
        &[id.into(), now.into(), valid.demo.into(), valid.not_before.unwrap_or(Timestamp::UNIX_EPOCH).into()],
        |row| {
            let grant = Grant {
                id,
                client: row.get(0)?,
                account: row.get(1)?,
                scopes: words(&row.get::<String>(2)?),
                audience: row.get(3)?,
            };
            Ok((grant, row.get(4)?))
        },
    )
}

/// Extends a grant to this time, unless it expires later already; `false` when it was revoked or deleted.
pub(super) fn extend_grant(tx: &mut WriteTx<'_>, id: Uuid, ends_at: Timestamp) -> Result<bool, Error> {
    let extended = tx.execute(
        "UPDATE oauth_grant SET ends_at = CASE WHEN ends_at > $2 THEN ends_at ELSE $2 END WHERE id = $1 AND revoked_at IS NULL",
        &[id.into(), ends_at.into()],
    )?;
    Ok(extended == 1)
}

pub(super) fn revoke_grant(tx: &mut WriteTx<'_>, id: Uuid, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE oauth_grant SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
        &[id.into(), now.into()],
    )
    .map(drop)
}

/// What a code is bound to.
pub(super) struct Code {
    pub(super) grant: Uuid,
    pub(super) client: String,
    pub(super) account: Option<Uuid>,
    pub(super) redirect_uri: String,
    /// Whether the authorization request named that address.
    pub(super) redirect_named: bool,
    pub(super) challenge: String,
    pub(super) expires_at: Timestamp,
}

pub(super) fn insert_code(tx: &mut WriteTx<'_>, hash: &[u8], code: &Code) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO oauth_code (hash, grant_id, redirect_uri, redirect_named, challenge, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            hash.into(),
            code.grant.into(),
            (&code.redirect_uri).into(),
            code.redirect_named.into(),
            (&code.challenge).into(),
            code.expires_at.into(),
        ],
    )
    .map(drop)
}

/// A code, whether or not it was used.
pub(super) fn code(tx: &mut Tx<'_>, hash: &[u8]) -> Result<Option<Code>, Error> {
    tx.row(
        "SELECT g.id, g.client_id, g.account_id, c.redirect_uri, c.redirect_named, c.challenge, c.expires_at
         FROM oauth_code AS c JOIN oauth_grant AS g ON g.id = c.grant_id WHERE c.hash = $1",
        &[hash.into()],
        |row| {
            Ok(Code {
                grant: row.get(0)?,
                client: row.get(1)?,
                account: row.get(2)?,
                redirect_uri: row.get(3)?,
                redirect_named: row.get(4)?,
                challenge: row.get(5)?,
                expires_at: row.get(6)?,
            })
        },
    )
}

/// Marks a code as used; `false` when it was used before.
pub(super) fn use_code(tx: &mut WriteTx<'_>, hash: &[u8], now: Timestamp) -> Result<bool, Error> {
    let taken = tx.execute(
        "UPDATE oauth_code SET used_at = $2 WHERE hash = $1 AND used_at IS NULL",
        &[hash.into(), now.into()],
    )?;
    Ok(taken == 1)
}

pub(super) fn revoke_token(
    tx: &mut WriteTx<'_>,
    id: &str,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        db::delete_some!("oauth_revoked_token", "id", "expires_at <= $1 ORDER BY expires_at LIMIT 10"),
        &[now.into()],
    )?;
    tx.execute(
        "INSERT INTO oauth_revoked_token (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
        &[id.into(), expires_at.into()],
    )
    .map(drop)
}

/// Whether an access token was revoked, by itself or with its grant. A grant that was deleted revokes it too, and outside of
/// a demo, so does a grant of a demo.
pub(super) fn is_token_revoked(tx: &mut Tx<'_>, grant: Uuid, id: &str, demo: bool) -> Result<bool, Error> {
    let valid = tx.row(
        "SELECT 1
         FROM oauth_grant AS g JOIN oauth_client AS c ON c.id = g.client_id LEFT JOIN account AS a ON a.id = g.account_id
         WHERE g.id = $1 AND g.revoked_at IS NULL AND ($3 OR NOT (c.demo OR coalesce(a.demo, FALSE)))
         AND NOT EXISTS (SELECT 1 FROM oauth_revoked_token AS t WHERE t.id = $2)",
        &[grant.into(), id.into(), demo.into()],
        |row| row.get::<i64>(0),
    )?;
    Ok(valid.is_none())
}

/// Whether a subject belongs to a demo: it is a demo account, or a client of a demo. Outside of a demo it is rejected.
pub fn is_demo_subject(tx: &mut Tx<'_>, subject: &str) -> Result<bool, Error> {
    let account = subject.parse::<Uuid>().unwrap_or_default();
    let found = tx.row(
        "SELECT 1 FROM account WHERE id = $1 AND demo UNION ALL SELECT 1 FROM oauth_client WHERE id = $2 AND demo",
        &[account.into(), subject.into()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// The address at which the service was last started, so that a command can make tokens for it without serving.
pub async fn last_address(db: &Db) -> Result<Option<String>, Error> {
    db.read(|tx| tx.row("SELECT address FROM oauth_address", &[], |row| row.get(0))).await
}

pub(crate) async fn set_last_address(db: &Db, address: String) -> Result<(), Error> {
    db.write(move |tx| {
        tx.execute(
            "INSERT INTO oauth_address (id, address) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address",
            &[(&address).into()],
        )
        .map(drop)
    })
    .await
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
