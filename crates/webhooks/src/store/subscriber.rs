//! Subscriptions as the sender needs them: address, owner and secrets.

use db::{Error, Tx};
use jiff::Timestamp;
use uuid::Uuid;

use crate::Secret;

/// A subscription with all that is needed to send to it.
pub(crate) struct Subscriber {
    pub(crate) id: Uuid,
    pub(crate) owner: String,
    pub(crate) url: String,
    pub(crate) secrets: Vec<Secret>,
}

/// The state of a subscription that has ready deliveries.
pub(super) enum SubscriberState {
    Active(Subscriber),
    Disabled,
    Deleted,
}

pub(super) fn subscriber(tx: &mut Tx<'_>, id: Uuid, now: Timestamp) -> Result<SubscriberState, Error> {
    let found = tx.row(
        "SELECT owner, url, secret, old_secret_until, disabled FROM webhook_subscription WHERE id = $1",
        &[id.into()],
        |row| {
            let disabled = row.get::<Option<String>>(4)?.is_some();
            let old_ones_sign = row.get::<Option<Timestamp>>(3)? > Some(now);
            let secrets = vec![Secret(row.get(2)?)];
            Ok((Subscriber { id, owner: row.get(0)?, url: row.get(1)?, secrets }, old_ones_sign, disabled))
        },
    )?;
    match found {
        None => Ok(SubscriberState::Deleted),
        Some((_, _, true)) => Ok(SubscriberState::Disabled),
        Some((mut subscriber, old_ones_sign, false)) => {
            if old_ones_sign {
                subscriber.secrets.extend(old_secrets(tx, id, now)?);
            }
            Ok(SubscriberState::Active(subscriber))
        }
    }
}

/// The replaced secrets that still sign, the newest first.
pub(super) fn old_secrets(tx: &mut Tx<'_>, subscription: Uuid, now: Timestamp) -> Result<Vec<Secret>, Error> {
    tx.rows(
        "SELECT secret FROM webhook_old_secret WHERE subscription_id = $1 AND until > $2 ORDER BY until DESC",
        &[subscription.into(), now.into()],
        |row| row.get(0).map(Secret),
    )
}
