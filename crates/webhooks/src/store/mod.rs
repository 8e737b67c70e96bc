//! Subscriptions, events and deliveries in the database.
//!
//! A delivery is `ready` to be sent, `sending` under the lease of a process, `waiting` for its next attempt, `delivered` or
//! `failed`. Statements that choose among many deliveries read keys from a partial index, and then change each row by its key:
//! no query plan of either engine can turn that into a scan of the table.

mod event;
pub mod personal_data;
mod queue;
mod record;
mod subscriber;
mod subscription;

pub(crate) use event::{
    delete_old_events, deliveries, has_delivery, has_old_events, insert_event, insert_event_for, redeliver,
    redeliver_failed,
};
pub(crate) use queue::{Grant, Lease, Message, Now, Ready, claim, promote, ready_subscriptions, upcoming};
pub(crate) use record::{Completed, Next, record};
pub(crate) use subscriber::Subscriber;
pub(crate) use subscription::{
    Added, Rotated, attempts, count_request, delete_owner, delete_subscription, insert_subscription, rotate,
    subscription, subscriptions,
};

/// A number of rows as a parameter of a statement.
fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
