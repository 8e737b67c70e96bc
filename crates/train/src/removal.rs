//! Removes a user: the user's data is deleted, and rows that must stay lose their personal data.

use db::{Error, WriteTx};
use identity::{Accounts, ChangeError};
use uuid::Uuid;

use crate::{booking, idempotency, inbox, payment, traveller};

/// Removes a user, in one transaction: the account with its sessions and grants, webhook subscriptions with their pending
/// deliveries, inboxes, holds and stored answers. Bookings and payments stay without an owner and without names.
pub(crate) async fn remove_user(accounts: &Accounts, name: &str) -> Result<(), ChangeError> {
    accounts.remove_with(name, |tx, account: Uuid| remove(tx, &account.to_string())).await
}

pub(crate) fn remove(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    // First, as for every booking of a user: running bookings are committed before it and found, and no new one begins.
    traveller::close(tx, owner)?;
    // Lock order: trips, bookings, payments.
    booking::store::release_all(tx, owner)?;
    booking::store::lock_all(tx, owner)?;
    payment::store::strip_names(tx, owner)?;
    booking::store::disown_all(tx, owner)?;
    idempotency::forget_all(tx, owner)?;
    inbox::store::delete_all(tx, owner)?;
    webhooks::remove_owner(tx, owner)
}
