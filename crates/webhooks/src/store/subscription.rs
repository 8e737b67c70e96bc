//! Subscriptions, their secrets, and limits per owner.

use db::{Error, Row, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{count, queue, subscriber::old_secrets};
use crate::{
    Attempt, Disabled, MOST_ATTEMPTS, MOST_OLD_SECRETS, MOST_SUBSCRIPTIONS, Secret, SendError, Subscription,
};

/// How long a replaced secret still signs.
const OLD_SECRET_SIGNS_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The period of the limit on requested events, from the first of them.
const COUNTED_FOR: SignedDuration = SignedDuration::from_hours(1);

/// How many deliveries are deleted together with their subscription; the others are deleted with their events.
const DELETED_AT_ONCE: usize = 1000;

/// The result of adding a subscription.
pub(crate) enum Added {
    Done,
    /// The owner has as many as allowed.
    TooMany,
    /// The owner was removed.
    Removed,
}

/// Adds a subscription unless the owner has as many as allowed, or was removed.
pub(crate) fn insert_subscription(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    url: &str,
    secret: &Secret,
) -> Result<Added, Error> {
    // One row decides, also for requests at the same time.
    let counted = tx.execute(
        "INSERT INTO webhook_owner (owner, subscriptions) VALUES ($1, 1)
         ON CONFLICT (owner) DO UPDATE SET subscriptions = webhook_owner.subscriptions + 1
         WHERE webhook_owner.subscriptions < $2 AND NOT webhook_owner.removed",
        &[owner.into(), MOST_SUBSCRIPTIONS.into()],
    )?;
    if counted == 0 {
        return Ok(if is_removed(tx, owner)? { Added::Removed } else { Added::TooMany });
    }
    tx.execute(
        "INSERT INTO webhook_subscription (id, owner, url, secret) VALUES ($1, $2, $3, $4)",
        &[id.into(), owner.into(), url.into(), secret.0.as_slice().into()],
    )?;
    Ok(Added::Done)
}

fn is_removed(tx: &mut Tx<'_>, owner: &str) -> Result<bool, Error> {
    let removed =
        tx.row("SELECT removed FROM webhook_owner WHERE owner = $1", &[owner.into()], |row| row.get(0))?;
    Ok(removed == Some(true))
}

pub(crate) fn subscriptions(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<Subscription>, Error> {
    tx.rows(
        "SELECT id, url, failing_since, disabled FROM webhook_subscription WHERE owner = $1 ORDER BY id",
        &[owner.into()],
        read_subscription,
    )
}

pub(crate) fn subscription(tx: &mut Tx<'_>, owner: &str, id: Uuid) -> Result<Option<Subscription>, Error> {
    tx.row(
        "SELECT id, url, failing_since, disabled FROM webhook_subscription WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into()],
        read_subscription,
    )
}

fn read_subscription(row: &Row<'_>) -> Result<Subscription, Error> {
    Ok(Subscription {
        id: row.get(0)?,
        url: row.get(1)?,
        failing_since: row.get(2)?,
        disabled: row.get::<Option<String>>(3)?.map(|word| Disabled::from_word(&word)),
    })
}

pub(crate) fn attempts(tx: &mut Tx<'_>, subscription: Uuid) -> Result<Vec<Attempt>, Error> {
    tx.rows(
        "SELECT event_id, at, duration_ms, status, error FROM webhook_attempt
         WHERE subscription_id = $1 ORDER BY id DESC LIMIT $2",
        &[subscription.into(), MOST_ATTEMPTS.into()],
        |row| {
            Ok(Attempt {
                event: row.get(0)?,
                at: row.get(1)?,
                duration_ms: row.get(2)?,
                status: row.get::<Option<i64>>(3)?.and_then(|status| u16::try_from(status).ok()),
                error: row.get(4)?,
            })
        },
    )
}

pub(crate) fn delete_subscription(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    // Lock order: owner, subscription, deliveries.
    lock_owner(tx, owner)?;
    let deleted = tx.execute(
        "DELETE FROM webhook_subscription WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into()],
    )?;
    if deleted == 0 {
        return Ok(false);
    }
    tx.execute(
        "UPDATE webhook_owner SET subscriptions = subscriptions - 1 WHERE owner = $1",
        &[owner.into()],
    )?;
    let deliveries = tx.rows(
        "SELECT event_id FROM webhook_delivery WHERE subscription_id = $1 ORDER BY event_id LIMIT $2",
        &[id.into(), count(DELETED_AT_ONCE).into()],
        |row| row.get::<Uuid>(0),
    )?;
    for event in deliveries {
        queue::delete(tx, id, event)?;
    }
    Ok(true)
}

/// Deletes the subscriptions, deliveries and events of an owner, and marks the owner as removed.
pub(crate) fn delete_owner(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO webhook_owner (owner, subscriptions, removed) VALUES ($1, 0, TRUE)
         ON CONFLICT (owner) DO UPDATE SET subscriptions = 0, removed = TRUE",
        &[owner.into()],
    )?;
    let subscriptions =
        tx.rows("DELETE FROM webhook_subscription WHERE owner = $1 RETURNING id", &[owner.into()], |row| {
            row.get::<Uuid>(0)
        })?;
    for id in subscriptions {
        tx.execute("DELETE FROM webhook_delivery WHERE subscription_id = $1", &[id.into()])?;
    }
    tx.execute("DELETE FROM webhook_event WHERE owner = $1", &[owner.into()]).map(drop)
}

/// How many events were requested, and since when.
struct Counted {
    requests: i64,
    since: Option<Timestamp>,
}

impl Counted {
    fn read(row: &Row<'_>) -> Result<Self, Error> {
        Ok(Counted { requests: row.get(0)?, since: row.get(1)? })
    }

    /// Counts one more request, or gives the time from which the next one is allowed.
    fn one_more(&self, most: i64, now: Timestamp) -> Result<(i64, Timestamp), Timestamp> {
        match self.since.filter(|since| *since + COUNTED_FOR > now) {
            None => Ok((1, now)),
            Some(since) if self.requests < most => Ok((self.requests + 1, since)),
            Some(since) => Err(since + COUNTED_FOR),
        }
    }
}

/// Locks an owner's row, so that of two requests at once the second counts the first.
fn lock_owner(tx: &mut WriteTx<'_>, owner: &str) -> Result<Option<Counted>, Error> {
    tx.row(
        "SELECT tests, tests_since FROM webhook_owner WHERE owner = $1 FOR NO KEY UPDATE",
        &[owner.into()],
        Counted::read,
    )
}

/// Counts a request for events to a subscription, up to `most` an hour, and enables the subscription. The count of the owner
/// has its own row, so that deleting a subscription does not reset it.
pub(crate) fn count_request(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    most: u32,
    now: Timestamp,
) -> Result<(), SendError> {
    let of_owner = lock_owner(tx, owner)?.ok_or(SendError::Unknown)?;
    let of_subscription = tx
        .row(
            "SELECT tests, tests_since FROM webhook_subscription WHERE owner = $1 AND id = $2",
            &[owner.into(), id.into()],
            Counted::read,
        )?
        .ok_or(SendError::Unknown)?;
    let most = i64::from(most);
    let (requests, since) = of_subscription.one_more(most, now).map_err(SendError::TooMany)?;
    let (of_owner, owner_since) =
        of_owner.one_more(most * MOST_SUBSCRIPTIONS, now).map_err(SendError::TooManyOfOwner)?;
    tx.execute(
        "UPDATE webhook_owner SET tests = $2, tests_since = $3 WHERE owner = $1",
        &[owner.into(), of_owner.into(), owner_since.into()],
    )?;
    tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL, tests = $2, tests_since = $3
         WHERE id = $1",
        &[id.into(), requests.into(), since.into()],
    )?;
    Ok(())
}

/// The result of replacing a secret.
pub(crate) enum Rotated {
    Done,
    Unknown,
    /// As many replaced secrets still sign as allowed.
    TooOften,
}

/// Gives a subscription a new secret; the old one also signs for a day.
pub(crate) fn rotate(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    secret: &Secret,
    now: Timestamp,
) -> Result<Rotated, Error> {
    // Locks the row, so that of two requests at once the second replaces the secret that the first one made.
    let old = tx.row(
        "SELECT secret FROM webhook_subscription WHERE owner = $1 AND id = $2 FOR NO KEY UPDATE",
        &[owner.into(), id.into()],
        |row| row.get::<Vec<u8>>(0),
    )?;
    let Some(old) = old else { return Ok(Rotated::Unknown) };
    if old_secrets(tx, id, now)?.len() >= MOST_OLD_SECRETS {
        return Ok(Rotated::TooOften);
    }
    tx.execute(
        "DELETE FROM webhook_old_secret WHERE subscription_id = $1 AND until <= $2",
        &[id.into(), now.into()],
    )?;
    let until = now + OLD_SECRET_SIGNS_FOR;
    tx.execute(
        "INSERT INTO webhook_old_secret (subscription_id, secret, until) VALUES ($1, $2, $3)",
        &[id.into(), old.as_slice().into(), until.into()],
    )?;
    tx.execute(
        "UPDATE webhook_subscription SET secret = $2, old_secret_until = $3 WHERE id = $1",
        &[id.into(), secret.0.as_slice().into(), until.into()],
    )?;
    Ok(Rotated::Done)
}
