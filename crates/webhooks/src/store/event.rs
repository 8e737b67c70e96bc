//! Events, and who they are to be sent to.

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::count;

/// How long events are kept for being sent again.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// How many are removed or sent again in one transaction, so that nobody waits long for it.
const BATCH: usize = 500;

/// Writes an event, and its deliveries to whoever of the owner's subscriptions wants it. One that is disabled because nothing
/// arrived there can have it when it is well again.
pub(crate) fn insert_event(
    tx: &mut WriteTx<'_>,
    owner: &str,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    insert_bare_event(tx, owner, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         SELECT id, $2, CASE WHEN disabled IS NULL THEN 'ready' ELSE 'failed' END, 0, $3
         FROM webhook_subscription WHERE owner = $1 AND (disabled IS NULL OR disabled = 'failing')",
        &[owner.into(), event.into(), now.into()],
    )
    .map(drop)
}

fn insert_bare_event(
    tx: &mut WriteTx<'_>,
    owner: &str,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO webhook_event (id, owner, kind, payload, created_at) VALUES ($1, $2, $3, $4, $5)",
        &[event.into(), owner.into(), kind.into(), payload.into(), now.into()],
    )
    .map(drop)
}

/// Writes an event for one subscription alone.
pub(crate) fn insert_event_for(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    insert_bare_event(tx, owner, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         VALUES ($1, $2, 'ready', 0, $3)",
        &[id.into(), event.into(), now.into()],
    )
    .map(drop)
}

/// Whether an event was ever to be sent to a subscription.
pub(crate) fn went_to(tx: &mut Tx<'_>, id: Uuid, event: Uuid) -> Result<bool, Error> {
    let known = tx.row(
        "SELECT 1 FROM webhook_delivery WHERE subscription_id = $1 AND event_id = $2",
        &[id.into(), event.into()],
        |_| Ok(()),
    )?;
    Ok(known.is_some())
}

/// Sends an event again, after the present attempt if there is one: it then has fewer than no attempts.
pub(crate) fn redeliver(tx: &mut WriteTx<'_>, id: Uuid, event: Uuid, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE webhook_delivery SET status = CASE WHEN status = 'sending' THEN status ELSE 'ready' END,
             attempts = CASE WHEN status = 'sending' THEN -1 ELSE 0 END,
             due_at = CASE WHEN status = 'sending' THEN due_at ELSE $3 END
         WHERE subscription_id = $1 AND event_id = $2",
        &[id.into(), event.into(), now.into()],
    )
    .map(drop)
}

/// Sends again what did not arrive and was made since a time, among some of the events after one of them. Gives how many these
/// are, and after which to go on if there may be more; nothing when there is no such subscription.
pub(crate) fn redeliver_failed(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    since: Timestamp,
    after: Uuid,
    now: Timestamp,
) -> Result<Option<(usize, Option<Uuid>)>, Error> {
    if !enable(tx, owner, id)? {
        return Ok(None);
    }
    // However old they are, so that a transaction is never longer than this.
    let late = tx.rows(
        "SELECT event_id, (SELECT created_at FROM webhook_event WHERE id = event_id) FROM webhook_delivery
         WHERE subscription_id = $1 AND status IN ('waiting', 'failed') AND event_id > $2
         ORDER BY event_id LIMIT $3",
        &[id.into(), after.into(), count(BATCH).into()],
        |row| Ok((row.get::<Uuid>(0)?, row.get::<Timestamp>(1)?)),
    )?;
    let mut sent = 0;
    for (event, _) in late.iter().filter(|(_, created_at)| *created_at >= since) {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'ready', attempts = 0, due_at = $3
             WHERE subscription_id = $1 AND event_id = $2 AND status IN ('waiting', 'failed')",
            &[id.into(), (*event).into(), now.into()],
        )?;
        sent += 1;
    }
    let last = late.last().filter(|_| late.len() == BATCH).map(|(event, _)| *event);
    Ok(Some((sent, last)))
}

/// Enables a subscription, since its owner asks for events. Lock order: owner, subscription, deliveries.
fn enable(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    let enabled = tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into()],
    )?;
    Ok(enabled == 1)
}

/// Whether there are events that are old enough to go.
pub(crate) fn has_old_events(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, Error> {
    let oldest = tx.row(
        "SELECT created_at FROM webhook_event WHERE created_at < $1 ORDER BY created_at LIMIT 1",
        &[(now - KEPT).into()],
        |_| Ok(()),
    )?;
    Ok(oldest.is_some())
}

/// Removes some old events; not those that are still to be sent. Gives how many.
pub(crate) fn clean(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Error> {
    // Not NOT EXISTS, which PostgreSQL may make a join of, over all deliveries.
    let old = tx.rows(
        "SELECT id FROM webhook_event AS old WHERE created_at < $1 AND (
             SELECT 1 FROM webhook_delivery WHERE event_id = old.id
             AND status IN ('ready', 'sending', 'waiting') LIMIT 1) IS NULL
         ORDER BY created_at LIMIT $2",
        &[(now - KEPT).into(), count(BATCH).into()],
        |row| row.get::<Uuid>(0),
    )?;
    for event in &old {
        // Somebody may have asked for it just now.
        tx.execute(
            "DELETE FROM webhook_event WHERE id = $1 AND (
                 SELECT 1 FROM webhook_delivery WHERE event_id = $1
                 AND status IN ('ready', 'sending', 'waiting') LIMIT 1) IS NULL",
            &[(*event).into()],
        )?;
    }
    Ok(old.len())
}
