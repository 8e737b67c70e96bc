//! The queue of deliveries: which are due, which are ready, and claiming them.

use std::{collections::BTreeMap, sync::Arc};

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use trace::TraceContext;
use uuid::Uuid;

use super::{
    count,
    subscriber::{Subscriber, SubscriberState, subscriber},
};

/// How many deliveries become ready, or fail with their subscription, in one transaction.
const BATCH: usize = 200;

/// A time by both clocks. When an attempt is due is decided by the service's clock, which can be moved and frozen. When a lease
/// expires is decided by the machine's clock: a process that has stopped must not keep a lease because the other clock stands
/// still, and one that sends must not lose it because that clock was advanced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) service: Timestamp,
    pub(crate) machine: Timestamp,
}

/// Makes deliveries ready whose next attempt is due, or whose lease has expired.
pub(crate) fn promote(tx: &mut WriteTx<'_>, now: Now) -> Result<(), Error> {
    let mut due = Vec::new();
    for (select, time) in [
        (
            "SELECT subscription_id, event_id FROM webhook_delivery
             WHERE status = 'waiting' AND due_at <= $1 ORDER BY due_at LIMIT $2",
            now.service,
        ),
        (
            "SELECT subscription_id, event_id FROM webhook_delivery
             WHERE status = 'sending' AND due_at <= $1 ORDER BY due_at LIMIT $2",
            now.machine,
        ),
    ] {
        due.extend(tx.rows(select, &[time.into(), count(BATCH).into()], |row| {
            Ok((row.get::<Uuid>(0)?, row.get::<Uuid>(1)?))
        })?);
    }
    // Lock order: deliveries by subscription and event.
    due.sort_unstable();
    for (subscription, event) in &due {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'ready' WHERE subscription_id = $1 AND event_id = $2
             AND ((status = 'waiting' AND due_at <= $3) OR (status = 'sending' AND due_at <= $4))",
            &[(*subscription).into(), (*event).into(), now.service.into(), now.machine.into()],
        )?;
    }
    Ok(())
}

/// What happens next without a new event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Upcoming {
    /// When the next attempt is due, by the service's clock.
    pub(crate) attempt: Option<Timestamp>,
    /// When the next lease expires, by the machine's clock.
    pub(crate) lease: Option<Timestamp>,
}

impl Upcoming {
    pub(crate) fn is_due(&self, now: Now) -> bool {
        self.attempt.is_some_and(|due| due <= now.service) || self.lease.is_some_and(|end| end <= now.machine)
    }
}

/// When the next delivery is due, and when the next lease expires.
pub(crate) fn upcoming(tx: &mut Tx<'_>) -> Result<Upcoming, Error> {
    let found = tx.row(
        "SELECT (SELECT due_at FROM webhook_delivery WHERE status = 'waiting' ORDER BY due_at LIMIT 1),
             (SELECT due_at FROM webhook_delivery WHERE status = 'sending' ORDER BY due_at LIMIT 1)",
        &[],
        |row| Ok(Upcoming { attempt: row.get(0)?, lease: row.get(1)? }),
    )?;
    Ok(found.unwrap_or_default())
}

/// A subscription that has ready deliveries.
pub(crate) struct Ready {
    pub(crate) subscription: Uuid,
    /// `None` when the subscription was deleted.
    pub(crate) owner: Option<String>,
}

/// Subscriptions with ready deliveries, slow ones or others, in the order of their ids. The recursion seeks from one
/// subscription to the next in the index, so the cost does not depend on the number of deliveries.
pub(crate) fn ready_subscriptions(
    tx: &mut Tx<'_>,
    slow: bool,
    after: Uuid,
    limit: usize,
) -> Result<Vec<Ready>, Error> {
    tx.rows(
        "WITH RECURSIVE ready (id) AS (
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE status = 'ready' AND subscription_id > $1 ORDER BY subscription_id LIMIT 1)
             UNION ALL
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE status = 'ready' AND subscription_id > ready.id ORDER BY subscription_id LIMIT 1)
             FROM ready WHERE ready.id IS NOT NULL)
         SELECT id, (SELECT owner FROM webhook_subscription WHERE webhook_subscription.id = ready.id)
         FROM ready WHERE id IS NOT NULL
         AND $2 = COALESCE((SELECT slow FROM webhook_subscription WHERE webhook_subscription.id = ready.id), FALSE)
         LIMIT $3",
        &[after.into(), slow.into(), count(limit).into()],
        |row| Ok(Ready { subscription: row.get(0)?, owner: row.get(1)? }),
    )
}

/// How many deliveries of a subscription may be sent.
#[derive(Clone, Copy)]
pub(crate) struct Grant {
    pub(crate) permits: usize,
    pub(crate) slow: bool,
}

/// The lease of a delivery. No other process sends the delivery before the lease expires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    pub(crate) subscription: Uuid,
    pub(crate) event: Uuid,
    /// How many attempts failed before this one.
    pub(crate) attempts: i64,
    /// When the lease expires, by the machine's clock. It also identifies the lease.
    pub(crate) until: Timestamp,
}

/// A claimed delivery with all that is needed to send it.
pub(crate) struct Message {
    pub(crate) lease: Lease,
    pub(crate) subscriber: Arc<Subscriber>,
    pub(crate) slow: bool,
    pub(crate) kind: String,
    pub(crate) payload: String,
    /// The trace of the call that caused the event.
    pub(crate) trace: Option<TraceContext>,
}

/// Claims ready deliveries, as many of each subscription as it has permits. Lock order: deliveries by subscription and event.
pub(crate) fn claim(
    tx: &mut WriteTx<'_>,
    grants: &BTreeMap<Uuid, Grant>,
    now: Now,
    lease: SignedDuration,
) -> Result<Vec<Message>, Error> {
    let mut messages = Vec::new();
    let mut batch = BATCH;
    for (subscription, grant) in grants {
        match subscriber(tx, *subscription, now.service)? {
            SubscriberState::Active(to) => claim_for(tx, to, *grant, now.machine + lease, &mut messages)?,
            SubscriberState::Disabled => batch -= fail_ready(tx, *subscription, batch)?,
            SubscriberState::Deleted => batch -= delete_ready(tx, *subscription, batch)?,
        }
    }
    Ok(messages)
}

fn claim_for(
    tx: &mut WriteTx<'_>,
    to: Subscriber,
    grant: Grant,
    until: Timestamp,
    messages: &mut Vec<Message>,
) -> Result<(), Error> {
    let subscriber = Arc::new(to);
    for event in ready_events(tx, subscriber.id, grant.permits)? {
        // One statement decides which process has the lease.
        let claimed = tx.row(
            "UPDATE webhook_delivery SET status = 'sending', due_at = $3, redeliver = FALSE
             WHERE subscription_id = $1 AND event_id = $2 AND status = 'ready'
             RETURNING attempts, (SELECT kind FROM webhook_event WHERE id = event_id),
                 (SELECT payload FROM webhook_event WHERE id = event_id),
                 (SELECT trace FROM webhook_event WHERE id = event_id)",
            &[subscriber.id.into(), event.into(), until.into()],
            |row| {
                let lease = Lease { subscription: subscriber.id, event, attempts: row.get(0)?, until };
                let (kind, payload) = (row.get(1)?, row.get(2)?);
                let trace = row.get::<Option<String>>(3)?.and_then(|text| TraceContext::from_text(&text));
                Ok(Message { lease, subscriber: subscriber.clone(), slow: grant.slow, kind, payload, trace })
            },
        )?;
        messages.extend(claimed);
    }
    Ok(())
}

/// The ready events of a subscription that are due first, in lock order.
fn ready_events(tx: &mut Tx<'_>, subscription: Uuid, limit: usize) -> Result<Vec<Uuid>, Error> {
    let mut events = tx.rows(
        "SELECT event_id FROM webhook_delivery WHERE subscription_id = $1 AND status = 'ready'
         ORDER BY due_at LIMIT $2",
        &[subscription.into(), count(limit).into()],
        |row| row.get(0),
    )?;
    events.sort_unstable();
    Ok(events)
}

/// Fails ready deliveries of a disabled subscription, and gives how many.
fn fail_ready(tx: &mut WriteTx<'_>, subscription: Uuid, limit: usize) -> Result<usize, Error> {
    // Its owner may enable it at the same time.
    let disabled = tx.lock(
        "SELECT 1 FROM webhook_subscription WHERE id = $1 AND disabled IS NOT NULL FOR NO KEY UPDATE",
        &[subscription.into()],
    )?;
    if !disabled {
        return Ok(0);
    }
    let events = ready_events(tx, subscription, limit)?;
    for event in &events {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'failed', due_at = NULL
             WHERE subscription_id = $1 AND event_id = $2 AND status = 'ready'",
            &[subscription.into(), (*event).into()],
        )?;
    }
    Ok(events.len())
}

/// Deletes ready deliveries of a deleted subscription, and gives how many.
fn delete_ready(tx: &mut WriteTx<'_>, subscription: Uuid, limit: usize) -> Result<usize, Error> {
    let events = ready_events(tx, subscription, limit)?;
    for event in &events {
        delete(tx, subscription, *event)?;
    }
    Ok(events.len())
}

pub(super) fn delete(tx: &mut WriteTx<'_>, subscription: Uuid, event: Uuid) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM webhook_delivery WHERE subscription_id = $1 AND event_id = $2",
        &[subscription.into(), event.into()],
    )
    .map(drop)
}
