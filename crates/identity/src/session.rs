//! Sessions: a signed-in account, identified by a secret that a browser or a client holds.

use db::{Db, Error, Word, WriteTx};
use jiff::{SignedDuration, Timestamp};
use model::Words;
use uuid::Uuid;
use web::{Clock, Controls, Random};

use crate::secret;

/// The kind of a session. A secret of one kind is not valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Kind {
    /// A browser that signed in on the pages.
    Browser,
    /// A client that logged in through the API.
    Api,
}

/// The largest number of sessions of one kind and account. One more deletes the oldest.
pub const MAX_SESSIONS: i64 = 100;

/// The sessions of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Sessions {
    demo: bool,
    db: Db,
    clock: Clock,
    random: Random,
    controls: Controls,
}

/// A session that was just started.
#[derive(Debug)]
pub struct Started {
    /// The secret that the client sends from now on. Only its hash is stored.
    pub secret: String,
    pub expires_at: Timestamp,
    pub length: SignedDuration,
}

impl Sessions {
    /// The sessions in `db`. Those of demo accounts are valid only if `demo` is set.
    pub fn new(demo: bool, db: Db, clock: Clock, random: Random) -> Self {
        Sessions { demo, db, clock, random, controls: Controls::default() }
    }

    /// The same sessions, with these controls over their lifetime.
    #[must_use]
    pub fn controlled_by(self, controls: Controls) -> Self {
        Sessions { controls, ..self }
    }

    /// A session without a row, for a service that does not check sessions just now. It is not valid when it checks them again.
    pub fn unchecked(&self, length: SignedDuration) -> Started {
        let length = self.length(length);
        Started { secret: secret::new(&self.random), expires_at: self.clock.now() + length, length }
    }

    fn length(&self, usual: SignedDuration) -> SignedDuration {
        self.controls.get().session_lifetime().unwrap_or(usual)
    }

    /// Starts a session of an account, of this length unless the controls set another.
    pub async fn start(&self, kind: Kind, account: Uuid, length: SignedDuration) -> Result<Started, Error> {
        let secret = secret::new(&self.random);
        let (hash, now) = (secret::hash(&secret), self.clock.now());
        let length = self.length(length);
        let expires_at = now + length;
        self.db
            .write(move |tx| {
                // Every start deletes a few expired sessions, so that their number stays bounded.
                tx.execute(
                    db::delete_some!("session", "hash", "expires_at <= $1 ORDER BY expires_at LIMIT 10"),
                    &[now.into()],
                )?;
                // Unless the controls changed it, all sessions of a kind have the same lifetime: the first to expire is the oldest.
                tx.execute(
                    db::delete_some!(
                        "session",
                        "hash",
                        "account_id = $1 AND kind = $2 ORDER BY expires_at DESC LIMIT 1000 OFFSET $3"
                    ),
                    &[account.into(), kind.word().into(), (MAX_SESSIONS - 1).into()],
                )?;
                tx.execute(
                    "INSERT INTO session (hash, kind, account_id, expires_at, started_at) VALUES ($1, $2, $3, $4, $5)",
                    &[hash.as_slice().into(), kind.word().into(), account.into(), expires_at.into(), now.into()],
                )
                .map(drop)
            })
            .await?;
        Ok(Started { secret, expires_at, length })
    }

    /// The account of a session, and its name.
    pub async fn find(&self, kind: Kind, secret: &str) -> Result<Option<(Uuid, String)>, Error> {
        let (hash, now, demo) = (secret::hash(secret), self.clock.now(), self.demo);
        let found = self
            .db
            .read(move |tx| {
                tx.row(
                    "SELECT account.id, account.name, session.started_at
                     FROM session JOIN account ON account.id = session.account_id
                     WHERE session.hash = $1 AND session.kind = $2 AND session.expires_at > $3 AND ($4 OR NOT account.demo)",
                    &[hash.as_slice().into(), kind.word().into(), now.into(), demo.into()],
                    |row| Ok(((row.get(0)?, row.get(1)?), row.get::<Option<Timestamp>>(2)?)),
                )
            })
            .await?;
        // A session from before the column is older than any time that the controls can have set.
        let state = self.controls.get();
        let has_expired = |started: &Option<Timestamp>| state.has_expired(started.unwrap_or(Timestamp::MIN));
        Ok(found.filter(|(_, started)| !has_expired(started)).map(|(user, _)| user))
    }

    /// Deletes a session, if it exists.
    pub async fn end(&self, kind: Kind, secret: &str) -> Result<(), Error> {
        let hash = secret::hash(secret);
        self.db
            .write(move |tx| {
                tx.execute(
                    "DELETE FROM session WHERE hash = $1 AND kind = $2",
                    &[hash.as_slice().into(), kind.word().into()],
                )
                .map(drop)
            })
            .await
    }

    /// Deletes all sessions of an account.
    pub async fn end_all(&self, account: Uuid) -> Result<(), Error> {
        self.db
            .write(move |tx| {
                tx.execute("DELETE FROM session WHERE account_id = $1", &[account.into()]).map(drop)
            })
            .await
    }
}

/// Locks a session until the end of this transaction; `false` when it was deleted.
pub(crate) fn lock(tx: &mut WriteTx<'_>, hash: &[u8]) -> Result<bool, Error> {
    tx.lock("SELECT 1 FROM session WHERE hash = $1 FOR NO KEY UPDATE", &[hash.into()])
}
