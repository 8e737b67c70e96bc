//! Who is subscribed, and with which secrets.

use db::{Error, Row, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{count, delivery};
use crate::{Attempt, Disabled, MOST_OLD_SECRETS, MOST_SUBSCRIPTIONS, Secret, Subscription};

/// How many attempts of a subscription are remembered.
pub(super) const REMEMBERED: i64 = 50;

/// How long a secret that was replaced goes on signing.
const OLD_SECRET_SIGNS_FOR: SignedDuration = SignedDuration::from_hours(24);

/// How long a test event counts, from the first of them on.
const TESTS_COUNTED_FOR: SignedDuration = SignedDuration::from_hours(1);

/// How many deliveries go together with their subscription; the others go with their events.
const DELETED_AT_ONCE: usize = 1000;

/// Adds a subscription unless the owner has as many as there can be.
pub(crate) fn insert_subscription(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    url: &str,
    secret: &Secret,
) -> Result<bool, Error> {
    // One row decides, so that nobody who comes at the same time gets past it.
    let counted = tx.execute(
        "INSERT INTO webhook_owner (owner, subscriptions) VALUES ($1, 1)
         ON CONFLICT (owner) DO UPDATE SET subscriptions = webhook_owner.subscriptions + 1
         WHERE webhook_owner.subscriptions < $2 AND NOT webhook_owner.removed",
        &[owner.into(), MOST_SUBSCRIPTIONS.into()],
    )?;
    if counted == 0 {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO webhook_subscription (id, owner, url, secret) VALUES ($1, $2, $3, $4)",
        &[id.into(), owner.into(), url.into(), secret.0.as_slice().into()],
    )?;
    Ok(true)
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
        &[subscription.into(), REMEMBERED.into()],
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
        delivery::delete(tx, id, event)?;
    }
    Ok(true)
}

/// Deletes all that an owner has, and marks the owner as removed.
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

/// What became of counting a test event.
pub(crate) enum Tested {
    Counted,
    Unknown,
    /// As many were sent as may be; the next one may be sent at this time.
    TooMany(Timestamp),
}

/// Counts a test event to a subscription, which is enabled by that: whoever asks for an event wants it.
pub(crate) fn count_test(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    most: i64,
    now: Timestamp,
) -> Result<Tested, Error> {
    // One statement decides, so that no two at once are both the last.
    let counted = tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL,
             tests = CASE WHEN tests_since > $3 THEN tests + 1 ELSE 1 END,
             tests_since = CASE WHEN tests_since > $3 THEN tests_since ELSE $4 END
         WHERE owner = $1 AND id = $2 AND (tests_since IS NULL OR tests_since <= $3 OR tests < $5)",
        &[owner.into(), id.into(), (now - TESTS_COUNTED_FOR).into(), now.into(), most.into()],
    )?;
    if counted == 1 {
        return Ok(Tested::Counted);
    }
    let since = tx.row(
        "SELECT tests_since FROM webhook_subscription WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into()],
        |row| row.get::<Option<Timestamp>>(0),
    )?;
    Ok(match since {
        Some(since) => Tested::TooMany(since.unwrap_or(now) + TESTS_COUNTED_FOR),
        None => Tested::Unknown,
    })
}

/// What became of replacing a secret.
pub(crate) enum Rotated {
    Done,
    Unknown,
    /// As many old ones still sign as there can be.
    TooOften,
}

/// Gives a subscription another secret; the old one signs along for a day.
pub(crate) fn rotate(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    secret: &Secret,
    now: Timestamp,
) -> Result<Rotated, Error> {
    // Read by a change, so that of two who come at the same time the second one replaces what the first one made.
    let old = tx.row(
        "UPDATE webhook_subscription SET slow = slow WHERE owner = $1 AND id = $2 RETURNING secret",
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

/// The secrets before the present one that still sign, the newest first.
fn old_secrets(tx: &mut Tx<'_>, subscription: Uuid, now: Timestamp) -> Result<Vec<Secret>, Error> {
    tx.rows(
        "SELECT secret FROM webhook_old_secret WHERE subscription_id = $1 AND until > $2 ORDER BY until DESC",
        &[subscription.into(), now.into()],
        |row| row.get(0).map(Secret),
    )
}

/// A subscription as whoever sends to it needs it.
pub(crate) struct Subscriber {
    pub(crate) id: Uuid,
    pub(crate) owner: String,
    pub(crate) url: String,
    pub(crate) secrets: Vec<Secret>,
}

/// What there is of a subscription that something is ready for.
pub(super) enum Found {
    Active(Subscriber),
    Disabled,
    Gone,
}

pub(super) fn subscriber(tx: &mut Tx<'_>, id: Uuid, now: Timestamp) -> Result<Found, Error> {
    let found = tx.row(
        "SELECT owner, url, secret, old_secret_until, disabled FROM webhook_subscription WHERE id = $1",
        &[id.into()],
        |row| {
            let disabled = row.get::<Option<String>>(4)?.is_some();
            let old_ones_sign = row.get::<Option<Timestamp>>(3)? > Some(now);
            let secrets = vec![Secret(row.get(2)?)];
            Ok((Subscriber { id, owner: row.get(0)?, url: row.get(1)?, secrets }, old_ones_sign, disabled))
        },
    )?;
    match found {
        None => Ok(Found::Gone),
        Some((_, _, true)) => Ok(Found::Disabled),
        Some((mut subscriber, old_ones_sign, false)) => {
            if old_ones_sign {
                subscriber.secrets.extend(old_secrets(tx, id, now)?);
            }
            Ok(Found::Active(subscriber))
        }
    }
}
