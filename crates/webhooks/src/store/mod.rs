//! Subscriptions, events and deliveries in the database.
//!
//! A delivery is `ready` to be sent, `sending` under somebody's lease, `waiting` for its next attempt, `delivered` or `failed`.
//! Statements that choose among many deliveries read keys from an index of just those, and each row is then changed by its
//! key: no plan of either database can turn that into a walk over all there is.

mod delivery;
mod event;
mod subscription;

pub(crate) use delivery::{
    Claimed, Done, Letter, Next, Taken, claim, next_due, promote, ready_subscriptions, record,
};
pub(crate) use event::{
    clean, has_old_events, insert_event, insert_event_for, redeliver, redeliver_failed, went_to,
};
pub(crate) use subscription::{
    Added, Rotated, Subscriber, attempts, count_request, delete_owner, delete_subscription,
    insert_subscription, rotate, subscription, subscriptions,
};

/// The number of rows as statements take it.
fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
