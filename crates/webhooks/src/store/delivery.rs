//! Deliveries: whose turn it is, taking them on, and what became of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use db::{Error, Tx, WriteTx};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{
    count,
    subscription::{Found, Subscriber, subscriber},
};
use crate::{Attempt, Disabled, MOST_ATTEMPTS, sender::Turn};

/// How many that wait become ready in one transaction, and how many are given up.
const BATCH: usize = 200;

/// How long a subscriber may fail before nothing is sent any more.
const PATIENCE: SignedDuration = SignedDuration::from_hours(24 * 5);

/// After so long without an attempt nobody can say that it was failing all the time: longer than any wait for the next one.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(24 * 2);

/// Makes ready some of what has waited long enough, and of what somebody took on and did not bring to an end.
pub(crate) fn promote(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<(), Error> {
    let mut due = tx.rows(
        "SELECT subscription_id, event_id FROM webhook_delivery
         WHERE status IN ('sending', 'waiting') AND due_at <= $1 ORDER BY due_at LIMIT $2",
        &[now.into(), count(BATCH).into()],
        |row| Ok((row.get::<Uuid>(0)?, row.get::<Uuid>(1)?)),
    )?;
    // In the order of everybody else, so that nobody waits for somebody who waits for them.
    due.sort_unstable();
    for (subscription, event) in &due {
        tx.execute(
            "UPDATE webhook_delivery SET status = 'ready'
             WHERE subscription_id = $1 AND event_id = $2 AND status IN ('sending', 'waiting') AND due_at <= $3",
            &[(*subscription).into(), (*event).into(), now.into()],
        )?;
    }
    Ok(())
}

/// When the next one has waited long enough.
pub(crate) fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, Error> {
    tx.row(
        "SELECT due_at FROM webhook_delivery WHERE status IN ('sending', 'waiting') ORDER BY due_at LIMIT 1",
        &[],
        |row| row.get(0),
    )
}

/// Some of the subscriptions that something is ready for, slow ones or others, after one of them: the index is searched for one
/// after another, so that it does not matter how much is ready for each.
pub(crate) fn ready_subscriptions(
    tx: &mut Tx<'_>,
    slow: bool,
    after: Uuid,
    most: usize,
) -> Result<Vec<Uuid>, Error> {
    tx.rows(
        "WITH RECURSIVE ready (id) AS (
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE status = 'ready' AND subscription_id > $1 ORDER BY subscription_id LIMIT 1)
             UNION ALL
             SELECT (SELECT subscription_id FROM webhook_delivery
                     WHERE status = 'ready' AND subscription_id > ready.id ORDER BY subscription_id LIMIT 1)
             FROM ready WHERE ready.id IS NOT NULL)
         SELECT id FROM ready WHERE id IS NOT NULL
         AND $2 = COALESCE((SELECT slow FROM webhook_subscription WHERE webhook_subscription.id = ready.id), FALSE)
         LIMIT $3",
        &[after.into(), slow.into(), count(most).into()],
        |row| row.get(0),
    )
}

/// A delivery that somebody has taken on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimed {
    pub(crate) subscription: Uuid,
    pub(crate) event: Uuid,
    pub(crate) attempts: i64,
    /// When its lease ends, which also tells whose it is.
    pub(crate) until: Timestamp,
}

/// What was taken on, as it is to be sent.
pub(crate) struct Letter {
    pub(crate) claimed: Claimed,
    pub(crate) to: Arc<Subscriber>,
    pub(crate) kind: String,
    pub(crate) payload: String,
}

/// What came of taking things on.
pub(crate) struct Taken {
    pub(crate) letters: Vec<Letter>,
    /// Whether something was given up.
    pub(crate) given_up: bool,
}

/// Takes on so much of what is ready for these subscriptions, so that nobody else does until the lease is over. An owner's have
/// `each_owner` places at the most, together with those that they have already. They come in their order, so that nobody waits
/// for somebody who waits for them.
pub(crate) fn claim(
    tx: &mut WriteTx<'_>,
    turns: &BTreeMap<Uuid, Turn>,
    owners: &HashMap<String, usize>,
    each_owner: usize,
    now: Timestamp,
    lease: SignedDuration,
) -> Result<Taken, Error> {
    let mut owners = owners.clone();
    let mut letters = Vec::new();
    let mut may_give_up = BATCH;
    for (subscription, turn) in turns {
        match subscriber(tx, *subscription, now)? {
            Found::Active(to) => {
                let of_owner = owners.entry(to.owner.clone()).or_default();
                let places = turn.places.min(each_owner.saturating_sub(*of_owner));
                let before = letters.len();
                claim_for(tx, to, places, now + lease, &mut letters)?;
                *of_owner += letters.len() - before;
            }
            // Nothing is sent where nobody wants it any more, and nothing is left where nobody is.
            found => {
                may_give_up -= give_up(tx, *subscription, matches!(found, Found::Gone), may_give_up)?;
            }
        }
    }
    Ok(Taken { letters, given_up: may_give_up < BATCH })
}

fn claim_for(
    tx: &mut WriteTx<'_>,
    to: Subscriber,
    places: usize,
    until: Timestamp,
    letters: &mut Vec<Letter>,
) -> Result<(), Error> {
    let to = Arc::new(to);
    let mut events = ready_events(tx, to.id, places)?;
    events.sort_unstable();
    for event in events {
        // One statement decides whose it is.
        let claimed = tx.row(
            "UPDATE webhook_delivery SET status = 'sending', due_at = $3,
                 attempts = CASE WHEN attempts < 0 THEN 0 ELSE attempts END
             WHERE subscription_id = $1 AND event_id = $2 AND status = 'ready'
             RETURNING attempts, (SELECT kind FROM webhook_event WHERE id = event_id),
                 (SELECT payload FROM webhook_event WHERE id = event_id)",
            &[to.id.into(), event.into(), until.into()],
            |row| {
                let claimed = Claimed { subscription: to.id, event, attempts: row.get(0)?, until };
                Ok(Letter { claimed, to: to.clone(), kind: row.get(1)?, payload: row.get(2)? })
            },
        )?;
        letters.extend(claimed);
    }
    Ok(())
}

fn ready_events(tx: &mut Tx<'_>, subscription: Uuid, most: usize) -> Result<Vec<Uuid>, Error> {
    tx.rows(
        "SELECT event_id FROM webhook_delivery WHERE subscription_id = $1 AND status = 'ready'
         ORDER BY due_at LIMIT $2",
        &[subscription.into(), count(most).into()],
        |row| row.get(0),
    )
}

/// Gives up what is ready for a subscription that is disabled or gone, and gives how much that was.
fn give_up(tx: &mut WriteTx<'_>, subscription: Uuid, gone: bool, most: usize) -> Result<usize, Error> {
    if !gone {
        // Its owner may enable it at the same time.
        let disabled = tx.lock(
            "SELECT 1 FROM webhook_subscription WHERE id = $1 AND disabled IS NOT NULL FOR NO KEY UPDATE",
            &[subscription.into()],
        )?;
        if !disabled {
            return Ok(0);
        }
    }
    let events = ready_events(tx, subscription, most)?;
    for event in &events {
        if gone {
            delete(tx, subscription, *event)?;
        } else {
            tx.execute(
                "UPDATE webhook_delivery SET status = 'failed', due_at = NULL
                 WHERE subscription_id = $1 AND event_id = $2 AND status = 'ready'",
                &[subscription.into(), (*event).into()],
            )?;
        }
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

/// What is to become of a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Next {
    Delivered,
    /// Again, then.
    At(Timestamp),
    Failed,
}

/// An attempt that has come to its end.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) claimed: Claimed,
    pub(crate) id: Uuid,
    pub(crate) attempt: Attempt,
    /// Whether it took so long that the subscription gets fewer places.
    pub(crate) slow: bool,
    pub(crate) next: Next,
}

/// What came of writing attempts down.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Subscriptions that are disabled from now on.
    pub(crate) disabled: Vec<(Uuid, Disabled)>,
    /// Whether something is ready again, since it was asked for meanwhile.
    pub(crate) again: bool,
}

/// Writes down what became of attempts, which are in the order in which they ended.
pub(crate) fn record(tx: &mut WriteTx<'_>, done: &[Done], now: Timestamp) -> Result<Recorded, Error> {
    let mut recorded = Recorded::default();
    let mut by_subscription = BTreeMap::<Uuid, Vec<&Done>>::new();
    for done in done {
        by_subscription.entry(done.claimed.subscription).or_default().push(done);
    }
    for (subscription, mut done) in by_subscription {
        // The subscription comes first, and its deliveries in their order, as everywhere, so that nobody waits for somebody who
        // waits for them.
        let state = settle(tx, subscription, &done, now)?;
        done.sort_by_key(|done| done.claimed.event);
        for done in &done {
            if matches!(state, State::Gone) {
                delete(tx, subscription, done.claimed.event)?;
            } else {
                recorded.again |= settle_delivery(tx, done, matches!(state, State::Active), now)?;
                insert_attempt(tx, done)?;
            }
        }
        if let State::DisabledNow(because) = state {
            recorded.disabled.push((subscription, because));
        }
        // Once in a while is enough; of the id's last bits one in sixteen is like this.
        if done.iter().any(|done| done.id.as_u128() % 16 == 0) {
            forget_attempts(tx, subscription)?;
        }
    }
    Ok(recorded)
}

/// What a subscription is after attempts.
enum State {
    Active,
    DisabledBefore,
    DisabledNow(Disabled),
    Gone,
}

/// What attempts say about their subscription.
fn settle(tx: &mut WriteTx<'_>, subscription: Uuid, done: &[&Done], now: Timestamp) -> Result<State, Error> {
    let arrived = |done: &&&Done| done.next == Next::Delivered;
    let slow = done.iter().any(|done| done.slow) || done.last().is_some_and(|last| !arrived(&last));
    let since = done.iter().rev().take_while(|done| !arrived(done)).last().map(|first| first.attempt.at);
    let settled = match since {
        None => tx.row(
            "UPDATE webhook_subscription SET failing_since = NULL, slow = $2 WHERE id = $1
             RETURNING failing_since, disabled",
            &[subscription.into(), slow.into()],
            |row| Ok((row.get::<Option<Timestamp>>(0)?, row.get::<Option<String>>(1)?)),
        )?,
        Some(since) => {
            if done.iter().any(|done| arrived(&done)) || !was_tried_lately(tx, subscription, now)? {
                tx.execute(
                    "UPDATE webhook_subscription SET failing_since = NULL WHERE id = $1",
                    &[subscription.into()],
                )?;
            }
            tx.row(
                "UPDATE webhook_subscription SET failing_since = COALESCE(failing_since, $3), slow = $2
                 WHERE id = $1 RETURNING failing_since, disabled",
                &[subscription.into(), slow.into(), since.into()],
                |row| Ok((row.get::<Option<Timestamp>>(0)?, row.get::<Option<String>>(1)?)),
            )?
        }
    };
    let Some((failing_since, disabled)) = settled else { return Ok(State::Gone) };
    if disabled.is_some() {
        return Ok(State::DisabledBefore);
    }
    let disable = if done.iter().any(|done| done.attempt.status == Some(410)) {
        Disabled::Gone
    } else if failing_since.is_some_and(|since| now.duration_since(since) >= PATIENCE) {
        Disabled::Failing
    } else {
        return Ok(State::Active);
    };
    tx.execute(
        "UPDATE webhook_subscription SET disabled = $2 WHERE id = $1",
        &[subscription.into(), disable.word().into()],
    )?;
    Ok(State::DisabledNow(disable))
}

fn was_tried_lately(tx: &mut Tx<'_>, subscription: Uuid, now: Timestamp) -> Result<bool, Error> {
    let last = tx.row(
        "SELECT at FROM webhook_attempt WHERE subscription_id = $1 ORDER BY id DESC LIMIT 1",
        &[subscription.into()],
        |row| row.get::<Timestamp>(0),
    )?;
    Ok(last.is_some_and(|last| now.duration_since(last) <= FORGOTTEN))
}

/// Writes down what becomes of a delivery; `true` when it is to be sent again at once, since it was asked for meanwhile.
fn settle_delivery(tx: &mut WriteTx<'_>, done: &Done, active: bool, now: Timestamp) -> Result<bool, Error> {
    let Claimed { subscription, event, attempts, until } = done.claimed;
    let (status, due_at) = match done.next {
        Next::Delivered => ("delivered", None),
        Next::At(due_at) if active => ("waiting", Some(due_at)),
        Next::At(_) | Next::Failed => ("failed", None),
    };
    // What arrived has arrived. What did not is left to whoever has it now, if it is not us any more.
    let settled = tx.execute(
        "UPDATE webhook_delivery SET status = $3, due_at = $4, attempts = $5
         WHERE subscription_id = $1 AND event_id = $2 AND attempts >= 0
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
    if settled == 1 {
        return Ok(false);
    }
    let again = tx.execute(
        "UPDATE webhook_delivery SET status = 'ready', due_at = $3, attempts = 0
         WHERE subscription_id = $1 AND event_id = $2 AND attempts < 0 AND status = 'sending' AND due_at = $4",
        &[subscription.into(), event.into(), now.into(), until.into()],
    )?;
    Ok(again == 1)
}

/// It may be there already, if a commit happened that we did not hear of.
fn insert_attempt(tx: &mut WriteTx<'_>, done: &Done) -> Result<(), Error> {
    let Attempt { event, at, duration_ms, status, error } = &done.attempt;
    tx.execute(
        "INSERT INTO webhook_attempt (id, subscription_id, event_id, at, duration_ms, status, error)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
        &[
            done.id.into(),
            done.claimed.subscription.into(),
            (*event).into(),
            (*at).into(),
            (*duration_ms).into(),
            status.map(i64::from).into(),
            error.as_deref().into(),
        ],
    )
    .map(drop)
}

fn forget_attempts(tx: &mut WriteTx<'_>, subscription: Uuid) -> Result<(), Error> {
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
