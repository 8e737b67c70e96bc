//! Subscriptions, events and deliveries in the database.

use std::collections::BTreeMap;

use db::{Error, Row, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::{Attempt, Disabled, Secret, Subscription, deliver::Share};

/// How long events are kept for being sent again.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// How many attempts of a subscription are remembered.
pub(crate) const REMEMBERED: i64 = 50;

/// How long a secret that was replaced goes on signing.
const OLD_SECRET_SIGNS_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Writes an event, and its deliveries to whoever of the owner's subscriptions wants it.
pub(crate) fn insert_event(
    tx: &mut WriteTx<'_>,
    owner: &str,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    // A few old ones go with every new one, so that they cannot pile up; not those still on their way.
    tx.execute(
        "DELETE FROM webhook_event WHERE id IN (
             SELECT id FROM webhook_event AS old WHERE created_at < $1 AND NOT EXISTS (
                 SELECT 1 FROM webhook_delivery WHERE event_id = old.id AND due_at IS NOT NULL)
             ORDER BY created_at LIMIT 10)",
        &[(now - KEPT).into()],
    )?;
    insert_bare_event(tx, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         SELECT id, $2, 'pending', 0, $3 FROM webhook_subscription WHERE owner = $1 AND disabled IS NULL",
        &[owner.into(), event.into(), now.into()],
    )
    .map(drop)
}

fn insert_bare_event(
    tx: &mut WriteTx<'_>,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO webhook_event (id, kind, payload, created_at) VALUES ($1, $2, $3, $4)",
        &[event.into(), kind.into(), payload.into(), now.into()],
    )
    .map(drop)
}

/// Writes an event for one subscription alone.
pub(crate) fn insert_event_for(
    tx: &mut WriteTx<'_>,
    subscription: Uuid,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    insert_bare_event(tx, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         VALUES ($1, $2, 'pending', 0, $3)",
        &[subscription.into(), event.into(), now.into()],
    )
    .map(drop)
}

/// Adds a subscription unless the owner has as many as `most`.
pub(crate) fn insert_subscription(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    url: &str,
    secret: &Secret,
    most: i64,
) -> Result<bool, Error> {
    let added = tx.execute(
        "INSERT INTO webhook_subscription (id, owner, url, secret)
         SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM webhook_subscription WHERE owner = $2) < $5",
        &[id.into(), owner.into(), url.into(), secret.0.as_slice().into(), most.into()],
    )?;
    Ok(added == 1)
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
    if deleted == 1 {
        tx.execute("DELETE FROM webhook_delivery WHERE subscription_id = $1", &[id.into()])?;
    }
    Ok(deleted == 1)
}

/// Gives a subscription another secret; the old one signs along for a day.
pub(crate) fn rotate(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    secret: &Secret,
    now: Timestamp,
) -> Result<bool, Error> {
    let rotated = tx.execute(
        "UPDATE webhook_subscription SET old_secret = secret, old_secret_until = $4, secret = $3
         WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into(), secret.0.as_slice().into(), (now + OLD_SECRET_SIGNS_FOR).into()],
    )?;
    Ok(rotated == 1)
}

/// Sends an event again; `false` when it never went to this subscription.
pub(crate) fn redeliver(
    tx: &mut WriteTx<'_>,
    subscription: Uuid,
    event: Uuid,
    now: Timestamp,
) -> Result<bool, Error> {
    let found = tx.execute(
        "UPDATE webhook_delivery SET status = 'pending', attempts = 0, due_at = $3
         WHERE subscription_id = $1 AND event_id = $2",
        &[subscription.into(), event.into(), now.into()],
    )?;
    if found == 1 {
        enable(tx, subscription)?;
    }
    Ok(found == 1)
}

/// Sends again what failed and was made since then, and gives how many events that is.
pub(crate) fn redeliver_failed(
    tx: &mut WriteTx<'_>,
    subscription: Uuid,
    since: Timestamp,
    now: Timestamp,
) -> Result<u64, Error> {
    enable(tx, subscription)?;
    tx.execute(
        "UPDATE webhook_delivery SET status = 'pending', attempts = 0, due_at = $3
         WHERE subscription_id = $1 AND status = 'failed'
         AND event_id IN (SELECT id FROM webhook_event WHERE created_at >= $2)",
        &[subscription.into(), since.into(), now.into()],
    )
}

/// Whoever asks for events again wants them: nothing is held against the subscription any more.
fn enable(tx: &mut WriteTx<'_>, subscription: Uuid) -> Result<(), Error> {
    tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL WHERE id = $1",
        &[subscription.into()],
    )
    .map(drop)
}

/// A subscription that something is due for.
pub(crate) struct Waiting {
    pub(crate) subscription: Uuid,
    /// Whether the last delivery failed.
    pub(crate) failing: bool,
}

/// The subscriptions that something is due for, each once, however much is, in the order of a ring that is entered after one
/// of them: the index is searched for one after another.
pub(crate) fn due_subscriptions(
    tx: &mut Tx<'_>,
    now: Timestamp,
    after: Uuid,
    most: usize,
) -> Result<Vec<Waiting>, Error> {
    let mut found = due_subscriptions_after(tx, now, after, most)?;
    if !after.is_nil() && found.len() < most {
        let rest = due_subscriptions_after(tx, now, Uuid::nil(), most)?;
        found.extend(rest.into_iter().filter(|waiting| waiting.subscription <= after));
    }
    Ok(found)
}

fn due_subscriptions_after(
    tx: &mut Tx<'_>,
    now: Timestamp,
    after: Uuid,
    most: usize,
) -> Result<Vec<Waiting>, Error> {
    // Not EXISTS, which PostgreSQL would make a join of, over all that is due and in no order.
    tx.rows(
        "WITH RECURSIVE waiting (id) AS (
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE due_at IS NOT NULL AND subscription_id > $3 ORDER BY subscription_id LIMIT 1)
             UNION ALL
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE due_at IS NOT NULL AND subscription_id > waiting.id ORDER BY subscription_id LIMIT 1)
             FROM waiting WHERE waiting.id IS NOT NULL)
         SELECT id, failing_since FROM (
             SELECT id,
                 (SELECT failing_since FROM webhook_subscription WHERE webhook_subscription.id = waiting.id)
                 AS failing_since,
                 (SELECT due_at FROM webhook_delivery
                  WHERE subscription_id = waiting.id AND due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS due_at
             FROM waiting WHERE id IS NOT NULL) AS first_due
         WHERE due_at <= $1 ORDER BY id LIMIT $2",
        &[now.into(), count(most).into(), after.into()],
        |row| {
            let failing = row.get::<Option<Timestamp>>(1)?.is_some();
            Ok(Waiting { subscription: row.get(0)?, failing })
        },
    )
}

/// When the next delivery after now is due.
pub(crate) fn next_due(tx: &mut Tx<'_>, now: Timestamp) -> Result<Option<Timestamp>, Error> {
    tx.row(
        "SELECT due_at FROM webhook_delivery WHERE due_at > $1 ORDER BY due_at LIMIT 1",
        &[now.into()],
        |row| row.get(0),
    )
}

/// A delivery that somebody has taken on.
#[derive(Clone, Copy)]
pub(crate) struct Claimed {
    pub(crate) subscription: Uuid,
    pub(crate) event: Uuid,
    pub(crate) attempts: i64,
    /// When its lease ends, which also tells whose it is.
    until: Timestamp,
}

/// Takes on what is due for these subscriptions, so that nobody else does until the lease is over. They come in their order,
/// so that nobody waits for somebody who waits for them.
pub(crate) fn claim(
    tx: &mut WriteTx<'_>,
    shares: &BTreeMap<Uuid, Share>,
    now: Timestamp,
    lease: SignedDuration,
) -> Result<Vec<Claimed>, Error> {
    let until = now + lease;
    let mut claimed = Vec::new();
    for (subscription, share) in shares {
        claimed.extend(tx.rows(
            "UPDATE webhook_delivery SET due_at = $4
             WHERE subscription_id = $1 AND due_at <= $2 AND event_id IN (
                 SELECT event_id FROM webhook_delivery WHERE subscription_id = $1 AND due_at <= $2
                 ORDER BY due_at LIMIT $3)
             RETURNING subscription_id, event_id, attempts",
            &[(*subscription).into(), now.into(), count(share.places).into(), until.into()],
            |row| Ok(Claimed { subscription: row.get(0)?, event: row.get(1)?, attempts: row.get(2)?, until }),
        )?);
    }
    Ok(claimed)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What a delivery needs to be sent.
pub(crate) struct Letter {
    pub(crate) owner: String,
    pub(crate) url: String,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) kind: String,
    pub(crate) payload: String,
}

pub(crate) fn letter(tx: &mut Tx<'_>, claimed: &Claimed, now: Timestamp) -> Result<Option<Letter>, Error> {
    tx.row(
        "SELECT owner, url, secret, old_secret, old_secret_until, kind, payload
         FROM webhook_subscription AS subscription, webhook_event AS event
         WHERE subscription.id = $1 AND event.id = $2 AND disabled IS NULL",
        &[claimed.subscription.into(), claimed.event.into()],
        |row| {
            let old = row.get::<Option<Vec<u8>>>(3)?;
            let old = old.filter(|_| row.get::<Option<Timestamp>>(4).is_ok_and(|until| until > Some(now)));
            Ok(Letter {
                owner: row.get(0)?,
                url: row.get(1)?,
                secrets: [Some(row.get(2)?), old].into_iter().flatten().map(Secret).collect(),
                kind: row.get(5)?,
                payload: row.get(6)?,
            })
        },
    )
}

/// What is to become of a delivery after an attempt.
pub(crate) enum Next {
    Delivered,
    /// Again, then.
    At(Timestamp),
    Failed,
}

/// Writes down what became of an attempt.
pub(crate) fn record(
    tx: &mut WriteTx<'_>,
    claimed: &Claimed,
    attempt: &Attempt,
    attempt_id: Uuid,
    next: &Next,
    disable: Option<Disabled>,
) -> Result<(), Error> {
    let (status, due_at) = match next {
        Next::Delivered => ("delivered", None),
        Next::At(due_at) => ("pending", Some(*due_at)),
        Next::Failed => ("failed", None),
    };
    // What arrived has arrived. What did not is left to whoever has it now, if it is not us any more: it was taken on by
    // somebody else, asked for again, or given up.
    tx.execute(
        "UPDATE webhook_delivery SET status = $3, due_at = $4, attempts = $5
         WHERE subscription_id = $1 AND event_id = $2 AND (due_at = $6 OR $3 = 'delivered')",
        &[
            claimed.subscription.into(),
            claimed.event.into(),
            status.into(),
            due_at.into(),
            (claimed.attempts + 1).into(),
            claimed.until.into(),
        ],
    )?;
    if let Some(disabled) = disable {
        disable_subscription(tx, claimed.subscription, disabled)?;
    }
    let kept = tx.execute(
        "INSERT INTO webhook_attempt (id, subscription_id, event_id, at, duration_ms, status, error)
         SELECT $1, $2, $3, $4, $5, $6, $7 WHERE EXISTS (SELECT 1 FROM webhook_subscription WHERE id = $2)",
        &[
            attempt_id.into(),
            claimed.subscription.into(),
            claimed.event.into(),
            attempt.at.into(),
            attempt.duration_ms.into(),
            attempt.status.map(i64::from).into(),
            attempt.error.as_deref().into(),
        ],
    )?;
    if kept == 1 {
        tx.execute(
            "DELETE FROM webhook_attempt WHERE id IN (SELECT id FROM webhook_attempt
             WHERE subscription_id = $1 ORDER BY id DESC LIMIT 100 OFFSET $2)",
            &[claimed.subscription.into(), REMEMBERED.into()],
        )?;
    }
    Ok(())
}

/// Something arrived at a subscription.
pub(crate) fn arrived(tx: &mut WriteTx<'_>, subscription: Uuid) -> Result<(), Error> {
    tx.execute("UPDATE webhook_subscription SET failing_since = NULL WHERE id = $1", &[subscription.into()])
        .map(drop)
}

/// Nothing arrived at a subscription; gives since when, if it is still there.
pub(crate) fn did_not_arrive(
    tx: &mut WriteTx<'_>,
    subscription: Uuid,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    tx.row(
        "UPDATE webhook_subscription SET failing_since = COALESCE(failing_since, $2) WHERE id = $1
         RETURNING failing_since",
        &[subscription.into(), now.into()],
        |row| row.get(0),
    )
}

fn disable_subscription(tx: &mut WriteTx<'_>, subscription: Uuid, disabled: Disabled) -> Result<(), Error> {
    tx.execute(
        "UPDATE webhook_subscription SET disabled = $2 WHERE id = $1",
        &[subscription.into(), disabled.word().into()],
    )?;
    tx.execute(
        "UPDATE webhook_delivery SET status = 'failed', due_at = NULL WHERE subscription_id = $1 AND status = 'pending'",
        &[subscription.into()],
    )
    .map(drop)
}

/// Nothing is sent where nobody wants it any more, and nothing is left where nobody is.
pub(crate) fn give_up(tx: &mut WriteTx<'_>, claimed: &Claimed) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM webhook_delivery WHERE subscription_id = $1
         AND NOT EXISTS (SELECT 1 FROM webhook_subscription WHERE id = $1)",
        &[claimed.subscription.into()],
    )?;
    tx.execute(
        "UPDATE webhook_delivery SET status = 'failed', due_at = NULL
         WHERE subscription_id = $1 AND event_id = $2 AND due_at = $3",
        &[claimed.subscription.into(), claimed.event.into(), claimed.until.into()],
    )
    .map(drop)
}
