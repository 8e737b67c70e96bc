//! Removing a user: what belongs to the user ends, and what must stay loses the personal data.

use db::{Error, WriteTx};
use identity::{Accounts, ChangeError};
use uuid::Uuid;

use crate::{booking, idempotency, payment, traveller};

/// Removes a user, in one transaction: the account with its sessions and grants, webhook subscriptions and what is on its way to
/// them, holds and remembered answers. Bookings and payments stay without an owner and without names.
pub(crate) async fn remove_user(accounts: &Accounts, name: &str) -> Result<(), ChangeError> {
    accounts.remove_with(name, |tx, account: Uuid| remove(tx, &account.to_string())).await
}

pub(crate) fn remove(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    // First, as wherever a user's bookings are made: what is under way is committed and found, and nothing new begins.
    traveller::close(tx, owner)?;
    // Lock order: trips, bookings, payments.
    booking::store::release_all(tx, owner)?;
    booking::store::lock_all(tx, owner)?;
    payment::store::strip_names(tx, owner)?;
    booking::store::disown_all(tx, owner)?;
    idempotency::forget_all(tx, owner)?;
    webhooks::remove_owner(tx, owner)
}
