//! Refresh tokens. The tokens of a grant are a family: each replaces the one before, and the family has one row.
//!
//! A token is two secrets: one that all tokens of its family share, and one of its own. The row has hashes of both, the
//! second of the newest token only. So a token with a known first part and another second part is an older one, which was
//! used before. Only a holder of a token of the family knows the first part.

use db::{Error, Tx, WriteTx};
use jiff::Timestamp;
use uuid::Uuid;
use web::Random;

use crate::secret;

/// A token to be issued.
pub(super) struct RefreshToken {
    pub(super) text: String,
    hashes: Hashes,
}

/// The stored hashes of a token. Without `current` the token is of an older version: one secret, used once.
#[derive(Clone)]
pub(super) struct Hashes {
    family: Vec<u8>,
    current: Option<Vec<u8>>,
}

/// The family of a token, whether or not the token is its newest.
pub(super) struct Family {
    pub(super) grant: Uuid,
    pub(super) client: String,
    pub(super) account: Option<Uuid>,
    /// When the grant of the family was made.
    pub(super) granted_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

impl RefreshToken {
    /// The first of a family.
    pub(super) fn first(random: &Random) -> Self {
        RefreshToken::of_family(&secret::new(random), random)
    }

    /// The one after `token`.
    pub(super) fn after(token: &str, random: &Random) -> Self {
        match split(token) {
            Some((family, _)) => RefreshToken::of_family(family, random),
            None => RefreshToken::first(random),
        }
    }

    fn of_family(family: &str, random: &Random) -> Self {
        let text = format!("{family}{}", secret::new(random));
        RefreshToken { hashes: Hashes::of(&text), text }
    }
}

impl Hashes {
    pub(super) fn of(token: &str) -> Self {
        match split(token) {
            Some((family, current)) => {
                Hashes { family: secret::hash(family), current: Some(secret::hash(current)) }
            }
            None => Hashes { family: secret::hash(token), current: None },
        }
    }
}

fn split(token: &str) -> Option<(&str, &str)> {
    if token.len() == 2 * secret::LENGTH { token.split_at_checked(secret::LENGTH) } else { None }
}

/// Starts a family.
pub(super) fn insert(
    tx: &mut WriteTx<'_>,
    token: &RefreshToken,
    grant: Uuid,
    expires_at: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO oauth_refresh_token (hash, current_hash, grant_id, expires_at) VALUES ($1, $2, $3, $4)",
        &[
            token.hashes.family.as_slice().into(),
            token.hashes.current.as_deref().into(),
            grant.into(),
            expires_at.into(),
        ],
    )
    .map(drop)
}

/// The family of a token.
pub(super) fn family(tx: &mut Tx<'_>, token: &Hashes) -> Result<Option<Family>, Error> {
    tx.row(
        "SELECT g.id, g.client_id, g.account_id, g.created_at, r.expires_at
         FROM oauth_refresh_token AS r JOIN oauth_grant AS g ON g.id = r.grant_id
         WHERE r.hash = $1 AND (r.current_hash IS NULL) = $2",
        &[token.family.as_slice().into(), token.current.is_none().into()],
        |row| {
            Ok(Family {
                grant: row.get(0)?,
                client: row.get(1)?,
                account: row.get(2)?,
                granted_at: row.get(3)?,
                expires_at: row.get(4)?,
            })
        },
    )
}

/// Whether a token was not used yet.
pub(super) fn is_newest(tx: &mut Tx<'_>, token: &Hashes) -> Result<bool, Error> {
    let family = token.family.as_slice().into();
    let found = match &token.current {
        Some(current) => tx.row(
            "SELECT 1 FROM oauth_refresh_token WHERE hash = $1 AND current_hash = $2",
            &[family, current.as_slice().into()],
            |_| Ok(()),
        ),
        None => tx.row(
            "SELECT 1 FROM oauth_refresh_token WHERE hash = $1 AND current_hash IS NULL AND used_at IS NULL",
            &[family],
            |_| Ok(()),
        ),
    };
    Ok(found?.is_some())
}

/// Replaces a token by the next one of its family; `false` when it was used before.
pub(super) fn replace(
    tx: &mut WriteTx<'_>,
    token: &Hashes,
    next: &RefreshToken,
    grant: Uuid,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<bool, Error> {
    let family = token.family.as_slice().into();
    if let Some(current) = &token.current {
        let replaced = tx.execute(
            "UPDATE oauth_refresh_token SET current_hash = $3, expires_at = $4 WHERE hash = $1 AND current_hash = $2",
            &[family, current.as_slice().into(), next.hashes.current.as_deref().into(), expires_at.into()],
        )?;
        return Ok(replaced == 1);
    }
    let used = tx.execute(
        "UPDATE oauth_refresh_token SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND current_hash IS NULL",
        &[family, now.into()],
    )?;
    if used == 1 {
        insert(tx, next, grant, expires_at)?;
    }
    Ok(used == 1)
}
