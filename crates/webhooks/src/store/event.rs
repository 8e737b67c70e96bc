//! Events, and their deliveries to subscriptions.

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use trace::TraceContext;
use uuid::Uuid;

use super::count;
use crate::{Delivery, MOST_SUBSCRIPTIONS, NewEvent};

/// How long events are stored for redelivery.
const RETENTION: SignedDuration = SignedDuration::from_hours(24 * 30);

/// How many events are deleted or redelivered in one transaction, so that its locks are short.
const BATCH: usize = 500;

/// Writes an event, and its deliveries to the subscriptions of the owner. A subscription that is disabled because it failed
/// gets a failed delivery, which can be redelivered later.
pub(crate) fn insert_event(
    tx: &mut WriteTx<'_>,
    owner: &str,
    event: &NewEvent,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    insert_bare_event(tx, owner, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         SELECT id, $2, CASE WHEN disabled IS NULL THEN 'ready' ELSE 'failed' END, 0, $3
         FROM webhook_subscription WHERE owner = $1 AND (disabled IS NULL OR disabled = 'failing')",
        &[owner.into(), event.id.into(), now.into()],
    )
    .map(drop)
}

fn insert_bare_event(
    tx: &mut WriteTx<'_>,
    owner: &str,
    event: &NewEvent,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let trace = event.trace.as_ref().map(TraceContext::to_text);
    tx.execute(
        "INSERT INTO webhook_event (id, owner, kind, payload, created_at, trace) VALUES ($1, $2, $3, $4, $5, $6)",
        &[event.id.into(), owner.into(), kind.into(), payload.into(), now.into(), trace.into()],
    )
    .map(drop)
}

/// Writes an event for one subscription.
pub(crate) fn insert_event_for(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    event: &NewEvent,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<(), Error> {
    insert_bare_event(tx, owner, event, kind, payload, now)?;
    tx.execute(
        "INSERT INTO webhook_delivery (subscription_id, event_id, status, attempts, due_at)
         VALUES ($1, $2, 'ready', 0, $3)",
        &[id.into(), event.id.into(), now.into()],
    )
    .map(drop)
}

/// Whether a subscription has a delivery of an event.
pub(crate) fn has_delivery(tx: &mut Tx<'_>, id: Uuid, event: Uuid) -> Result<bool, Error> {
    let known = tx.row(
        "SELECT 1 FROM webhook_delivery WHERE subscription_id = $1 AND event_id = $2",
        &[id.into(), event.into()],
        |_| Ok(()),
    )?;
    Ok(known.is_some())
}

pub(crate) fn deliveries(tx: &mut Tx<'_>, event: Uuid) -> Result<Vec<Delivery>, Error> {
    tx.rows(
        "SELECT subscription_id, status, attempts FROM webhook_delivery WHERE event_id = $1
         ORDER BY subscription_id LIMIT $2",
        &[event.into(), MOST_SUBSCRIPTIONS.into()],
        |row| Ok(Delivery { subscription: row.get(0)?, status: row.get(1)?, attempts: row.get(2)? }),
    )
}

/// Makes a delivery ready again, or marks it for redelivery after the attempt in flight.
pub(crate) fn redeliver(tx: &mut WriteTx<'_>, id: Uuid, event: Uuid, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE webhook_delivery SET attempts = 0, redeliver = (status = 'sending'),
             status = CASE WHEN status = 'sending' THEN status ELSE 'ready' END,
             due_at = CASE WHEN status = 'sending' THEN due_at ELSE $3 END
         WHERE subscription_id = $1 AND event_id = $2",
        &[id.into(), event.into(), now.into()],
    )
    .map(drop)
}

/// Redelivers events that were created since a time and did not arrive, in one batch of the events after `after`. Gives their
/// number, and the last event of the batch if there may be more; `None` when there is no such subscription.
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
    // The age is checked after reading, so that the limit bounds the rows of a transaction.
    let undelivered = tx.rows(
        "SELECT event_id, (SELECT created_at FROM webhook_event WHERE id = event_id) FROM webhook_delivery
         WHERE subscription_id = $1 AND status IN ('waiting', 'failed') AND event_id > $2
         ORDER BY event_id LIMIT $3",
        &[id.into(), after.into(), count(BATCH).into()],
        |row| Ok((row.get::<Uuid>(0)?, row.get::<Timestamp>(1)?)),
    )?;
    let mut sent = 0;
    for (event, _) in undelivered.iter().filter(|(_, created_at)| *created_at >= since) {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'ready', attempts = 0, due_at = $3
             WHERE subscription_id = $1 AND event_id = $2 AND status IN ('waiting', 'failed')",
            &[id.into(), (*event).into(), now.into()],
        )?;
        sent += 1;
    }
    let last = undelivered.last().filter(|_| undelivered.len() == BATCH).map(|(event, _)| *event);
    Ok(Some((sent, last)))
}

/// Enables a subscription whose owner requests events. Lock order: owner, subscription, deliveries.
fn enable(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    let enabled = tx.execute(
        "UPDATE webhook_subscription SET disabled = NULL, failing_since = NULL WHERE owner = $1 AND id = $2",
        &[owner.into(), id.into()],
    )?;
    Ok(enabled == 1)
}

/// Whether there are events that are older than the retention.
pub(crate) fn has_old_events(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, Error> {
    let oldest = tx.row(
        "SELECT created_at FROM webhook_event WHERE created_at < $1 ORDER BY created_at LIMIT 1",
        &[(now - RETENTION).into()],
        |_| Ok(()),
    )?;
    Ok(oldest.is_some())
}

/// Deletes some old events, except those with deliveries that are not final. Gives how many.
pub(crate) fn delete_old_events(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Error> {
    // Not NOT EXISTS, which PostgreSQL may plan as a join over all deliveries.
    let old = tx.rows(
        "SELECT id FROM webhook_event AS old WHERE created_at < $1 AND (
             SELECT 1 FROM webhook_delivery WHERE event_id = old.id
             AND status IN ('ready', 'sending', 'waiting') LIMIT 1) IS NULL
         ORDER BY created_at LIMIT $2",
        &[(now - RETENTION).into(), count(BATCH).into()],
        |row| row.get::<Uuid>(0),
    )?;
    for event in &old {
        // Its owner may have requested it at the same time.
        tx.execute(
            "DELETE FROM webhook_event WHERE id = $1 AND (
                 SELECT 1 FROM webhook_delivery WHERE event_id = $1
                 AND status IN ('ready', 'sending', 'waiting') LIMIT 1) IS NULL",
            &[(*event).into()],
        )?;
    }
    Ok(old.len())
}
