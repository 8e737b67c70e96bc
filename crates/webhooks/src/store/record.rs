//! Records the results of attempts, and disables subscriptions that fail for too long.

use std::collections::BTreeMap;

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::queue::{Lease, delete};
use crate::{Attempt, Disabled, MOST_ATTEMPTS};

/// How long a subscription may fail before it is disabled.
const FAILING_LIMIT: SignedDuration = SignedDuration::from_hours(24 * 5);

/// After this time without an attempt, it is unknown whether the subscription failed all the time. Longer than the longest
/// wait for the next attempt.
const LONGEST_GAP: SignedDuration = SignedDuration::from_hours(24 * 2);

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Next {
    Delivered,
    /// The next attempt, at this time.
    At(Timestamp),
    Failed,
}

/// An attempt that has ended.
#[derive(Clone)]
pub(crate) struct Completed {
    pub(crate) lease: Lease,
    pub(crate) id: Uuid,
    pub(crate) attempt: Attempt,
    /// Whether it took so long that the subscription is slow.
    pub(crate) slow: bool,
    pub(crate) next: Next,
}

impl Completed {
    fn is_delivered(&self) -> bool {
        self.next == Next::Delivered
    }
}

/// Records attempts, which are in the order in which they ended. Gives the subscriptions that are disabled from now on.
pub(crate) fn record(
    tx: &mut WriteTx<'_>,
    completed: &[Completed],
    now: Timestamp,
) -> Result<Vec<(Uuid, Disabled)>, Error> {
    let mut by_subscription = BTreeMap::<Uuid, Vec<&Completed>>::new();
    for completed in completed {
        by_subscription.entry(completed.lease.subscription).or_default().push(completed);
    }
    let mut disabled = Vec::new();
    for (subscription, mut completed) in by_subscription {
        // Lock order: subscription, deliveries by event.
        let state = update_subscription(tx, subscription, &completed, now)?;
        completed.sort_by_key(|completed| completed.lease.event);
        for completed in &completed {
            if let State::Deleted = state {
                delete(tx, subscription, completed.lease.event)?;
            } else {
                update_delivery(tx, completed, matches!(state, State::Active), now)?;
                insert_attempt(tx, completed)?;
            }
        }
        if let State::DisabledNow(because) = state {
            disabled.push((subscription, because));
        }
        // About once in sixteen attempts: random bits of the id decide.
        if completed.iter().any(|completed| completed.id.as_u128() % 16 == 0) {
            delete_old_attempts(tx, subscription)?;
        }
    }
    Ok(disabled)
}

/// The state of a subscription after attempts.
enum State {
    Active,
    DisabledBefore,
    DisabledNow(Disabled),
    Deleted,
}

/// Updates since when a subscription fails, whether it is slow and whether it is disabled.
fn update_subscription(
    tx: &mut WriteTx<'_>,
    subscription: Uuid,
    completed: &[&Completed],
    now: Timestamp,
) -> Result<State, Error> {
    let failures: Vec<_> = completed.iter().rev().take_while(|completed| !completed.is_delivered()).collect();
    let slow = !failures.is_empty() || completed.iter().any(|completed| completed.slow);
    // The first failure since the last delivery that succeeded.
    let failed_at = failures.last().map(|first| first.attempt.at);
    let continues = failures.len() == completed.len() && was_tried_lately(tx, subscription, now)?;
    let updated = tx.row(
        "UPDATE webhook_subscription SET slow = $2,
             failing_since = CASE WHEN $4 THEN COALESCE(failing_since, $3) ELSE $3 END
         WHERE id = $1 RETURNING failing_since, disabled",
        &[subscription.into(), slow.into(), failed_at.into(), continues.into()],
        |row| Ok((row.get::<Option<Timestamp>>(0)?, row.get::<Option<String>>(1)?)),
    )?;
    let failing_since = match updated {
        None => return Ok(State::Deleted),
        Some((_, Some(_))) => return Ok(State::DisabledBefore),
        Some((failing_since, None)) => failing_since,
    };
    let because = if completed.iter().any(|completed| completed.attempt.status == Some(410)) {
        Disabled::Gone
    } else if failing_since.is_some_and(|since| now.duration_since(since) >= FAILING_LIMIT) {
        Disabled::Failing
    } else {
        return Ok(State::Active);
    };
    tx.execute(
        "UPDATE webhook_subscription SET disabled = $2 WHERE id = $1",
        &[subscription.into(), because.word().into()],
    )?;
    Ok(State::DisabledNow(because))
}

fn was_tried_lately(tx: &mut Tx<'_>, subscription: Uuid, now: Timestamp) -> Result<bool, Error> {
    let last = tx.row(
        "SELECT at FROM webhook_attempt WHERE subscription_id = $1 ORDER BY id DESC LIMIT 1",
        &[subscription.into()],
        |row| row.get::<Timestamp>(0),
    )?;
    Ok(last.is_some_and(|last| now.duration_since(last) <= LONGEST_GAP))
}

fn update_delivery(
    tx: &mut WriteTx<'_>,
    completed: &Completed,
    active: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let Lease { subscription, event, attempts, until } = completed.lease;
    let (status, due_at) = match completed.next {
        Next::Delivered => ("delivered", None),
        Next::At(due_at) if active => ("waiting", Some(due_at)),
        Next::At(_) | Next::Failed => ("failed", None),
    };
    // A success counts even if the lease has expired. A failure counts only for the holder of the lease.
    let updated = tx.execute(
        "UPDATE webhook_delivery SET status = $3, due_at = $4, attempts = $5
         WHERE subscription_id = $1 AND event_id = $2 AND NOT redeliver
         AND ((status = 'sending' AND due_at = $6) OR $3 = 'delivered')",
        &[
            subscription.into(),
            event.into(),
            status.into(),
            due_at.into(),
            (attempts + 1).into(),
            until.into(),
        ],
    )?;
    if updated == 1 {
        return Ok(());
    }
    tx.execute(
        "UPDATE webhook_delivery SET status = 'ready', due_at = $3, redeliver = FALSE
         WHERE subscription_id = $1 AND event_id = $2 AND redeliver AND status = 'sending' AND due_at = $4",
        &[subscription.into(), event.into(), now.into(), until.into()],
    )
    .map(drop)
}

/// The row may exist already, if the answer to an earlier commit was lost.
fn insert_attempt(tx: &mut WriteTx<'_>, completed: &Completed) -> Result<(), Error> {
    let Attempt { event, at, duration_ms, status, error } = &completed.attempt;
    tx.execute(
        "INSERT INTO webhook_attempt (id, subscription_id, event_id, at, duration_ms, status, error)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
        &[
            completed.id.into(),
            completed.lease.subscription.into(),
            (*event).into(),
            (*at).into(),
            (*duration_ms).into(),
            status.map(i64::from).into(),
            error.as_deref().into(),
        ],
    )
    .map(drop)
}

fn delete_old_attempts(tx: &mut WriteTx<'_>, subscription: Uuid) -> Result<(), Error> {
    tx.execute(
        db::delete_some!(
            "webhook_attempt",
            "id",
            "subscription_id = $1 ORDER BY id DESC LIMIT 1000 OFFSET $2"
        ),
        &[subscription.into(), MOST_ATTEMPTS.into()],
    )
    .map(drop)
}
