//! Events, and who they are to be sent to.

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{count, subscription::subscription};

/// How long events are kept for being sent again.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// How many are removed or sent again in one transaction, so that nobody waits long for it.
const AT_ONCE: usize = 500;

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
    insert_bare_event(tx, event, kind, payload, now)?;
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

/// Writes an event for one subscription alone; `false` when there is none.
pub(crate) fn send_to(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    event: Uuid,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    if !enable(tx, owner, id)? {
        return Ok(false);
    }
    insert_bare_event(tx, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         VALUES ($1, $2, 'ready', 0, $3)",
        &[id.into(), event.into(), now.into()],
    )?;
    Ok(true)
}

/// Sends an event again, unless it is being sent just now; `false` when it never went to this subscription.
pub(crate) fn redeliver(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    event: Uuid,
    now: Timestamp,
) -> Result<bool, Error> {
    let known = tx.row(
        "SELECT 1 FROM webhook_delivery WHERE subscription_id = $1 AND event_id = $2",
        &[id.into(), event.into()],
        |_| Ok(()),
    )?;
    if known.is_none() || !enable(tx, owner, id)? {
        return Ok(false);
    }
    tx.execute(
        "UPDATE webhook_delivery SET status = 'ready', attempts = 0, due_at = $3
         WHERE subscription_id = $1 AND event_id = $2 AND status <> 'sending'",
        &[id.into(), event.into(), now.into()],
    )?;
    Ok(true)
}

/// Sends again some of what did not arrive and was made since a time, of the events after one of them. Gives how many these
/// are, and the last of them if there may be more; nothing when there is no such subscription.
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
    let events = tx.rows(
        "SELECT event_id FROM webhook_delivery
         WHERE subscription_id = $1 AND status IN ('waiting', 'failed') AND event_id > $2
         AND (SELECT created_at FROM webhook_event WHERE id = event_id) >= $3
         ORDER BY event_id LIMIT $4",
        &[id.into(), after.into(), since.into(), count(AT_ONCE).into()],
        |row| row.get::<Uuid>(0),
    )?;
    for event in &events {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'ready', attempts = 0, due_at = $3
             WHERE subscription_id = $1 AND event_id = $2 AND status IN ('waiting', 'failed')",
            &[id.into(), (*event).into(), now.into()],
        )?;
    }
    let last = if events.len() == AT_ONCE { events.last().copied() } else { None };
    Ok(Some((events.len(), last)))
}

/// Whoever asks for an event wants it: nothing is held against the subscription any more. It comes first, as it does wherever
/// deliveries are changed, so that nobody waits for somebody who waits for them.
fn enable(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    if subscription(tx, owner, id)?.is_none() {
        return Ok(false);
    }
    let enabled = tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL WHERE id = $1",
        &[id.into()],
    )?;
    Ok(enabled == 1)
}

/// When the oldest event was made that is old enough to go.
pub(crate) fn oldest_event(tx: &mut Tx<'_>, now: Timestamp) -> Result<Option<Timestamp>, Error> {
    tx.row(
        "SELECT created_at FROM webhook_event WHERE created_at < $1 ORDER BY created_at LIMIT 1",
        &[(now - KEPT).into()],
        |row| row.get(0),
    )
}

/// Removes some old events; not those that are still to be sent. Gives how many.
pub(crate) fn clean(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Error> {
    let old = tx.rows(
        "SELECT id FROM webhook_event AS old WHERE created_at < $1 AND NOT EXISTS (
             SELECT 1 FROM webhook_delivery WHERE event_id = old.id
             AND status IN ('ready', 'sending', 'waiting'))
         ORDER BY created_at LIMIT $2",
        &[(now - KEPT).into(), count(AT_ONCE).into()],
        |row| row.get::<Uuid>(0),
    )?;
    for event in &old {
        tx.execute("DELETE FROM webhook_event WHERE id = $1", &[(*event).into()])?;
    }
    Ok(old.len())
}
