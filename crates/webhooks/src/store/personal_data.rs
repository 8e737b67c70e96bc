//! The personal data of an owner: what an export has of it, without secrets, and how it is erased.

use db::{Error, Keyed, Tx, WriteTx};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::delete_owner;

/// Some of the subscriptions of an owner after one.
pub fn subscriptions(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT id, url, failing_since, disabled FROM webhook_subscription WHERE owner = $1 AND id > $2
         ORDER BY id LIMIT 500",
        &[owner.into(), id_in(after, 0).into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "url": row.get::<String>(1)?,
                "failing_since": row.get::<Option<Timestamp>>(2)?,
                "disabled": row.get::<Option<String>>(3)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}

/// Some of the events of an owner after one.
pub fn events(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT id, kind, payload, created_at FROM webhook_event WHERE owner = $1 AND id > $2
         ORDER BY id LIMIT 500",
        &[owner.into(), id_in(after, 0).into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "kind": row.get::<String>(1)?,
                "payload": row.get::<String>(2)?,
                "created_at": row.get::<Timestamp>(3)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}

/// Some of the deliveries of an owner's events after one.
pub fn deliveries(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT d.event_id, d.subscription_id, d.status, d.attempts, d.due_at
         FROM webhook_delivery AS d JOIN webhook_event AS e ON e.id = d.event_id
         WHERE e.owner = $1 AND (d.event_id, d.subscription_id) > ($2, $3)
         ORDER BY d.event_id, d.subscription_id LIMIT 500",
        &[owner.into(), id_in(after, 0).into(), id_in(after, 1).into()],
        |row| {
            let (event, subscription) = (row.get::<Uuid>(0)?, row.get::<Uuid>(1)?);
            let document = json!({
                "event_id": event,
                "subscription_id": subscription,
                "status": row.get::<String>(2)?,
                "attempts": row.get::<i64>(3)?,
                "due_at": row.get::<Option<Timestamp>>(4)?,
            });
            Ok(Keyed { key: [event.into_bytes(), subscription.into_bytes()].concat(), document })
        },
    )
}

/// Some of the attempts to deliver to an owner's subscriptions after one.
pub fn attempts(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT a.id, a.subscription_id, a.event_id, a.at, a.duration_ms, a.status, a.error
         FROM webhook_attempt AS a JOIN webhook_subscription AS s ON s.id = a.subscription_id
         WHERE s.owner = $1 AND a.id > $2 ORDER BY a.id LIMIT 500",
        &[owner.into(), id_in(after, 0).into()],
        |row| {
            let document = json!({
                "subscription_id": row.get::<Uuid>(1)?,
                "event_id": row.get::<Uuid>(2)?,
                "at": row.get::<Timestamp>(3)?,
                "duration_ms": row.get::<i64>(4)?,
                "status": row.get::<Option<i64>>(5)?,
                "error": row.get::<Option<String>>(6)?,
            });
            Ok(Keyed { key: row.get::<Uuid>(0)?.into_bytes().to_vec(), document })
        },
    )
}

/// Deletes some of an owner's events and deliveries, and gives how many; when there are none, the subscriptions. The owner cannot
/// subscribe after that.
pub fn erase_some(tx: &mut WriteTx<'_>, owner: &str) -> Result<u64, Error> {
    // Lock order: owner, subscription, deliveries.
    tx.execute(
        "INSERT INTO webhook_owner (owner, subscriptions, removed) VALUES ($1, 0, TRUE)
         ON CONFLICT (owner) DO UPDATE SET removed = TRUE",
        &[owner.into()],
    )?;
    let events = tx.execute(
        db::delete_some!("webhook_event", "id", "owner = $1 ORDER BY id LIMIT 100"),
        &[owner.into()],
    )?;
    if events > 0 {
        return Ok(events);
    }
    let deliveries = tx.execute(
        "DELETE FROM webhook_delivery WHERE (subscription_id, event_id) IN
             (SELECT d.subscription_id, d.event_id FROM webhook_subscription AS s
              JOIN webhook_delivery AS d ON d.subscription_id = s.id WHERE s.owner = $1 LIMIT 500)",
        &[owner.into()],
    )?;
    if deliveries == 0 {
        delete_owner(tx, owner)?;
    }
    Ok(deliveries)
}

/// The id at a position of a key; nil if the key is empty.
fn id_in(key: &[u8], position: usize) -> Uuid {
    let (ids, _) = key.as_chunks::<16>();
    ids.get(position).map_or(Uuid::nil(), |bytes| Uuid::from_bytes(*bytes))
}
