//! Removes users, and their bookings: their data is deleted, and rows that must stay lose their personal data.

use db::{Error, WriteTx};
use identity::{Accounts, ChangeError};
use uuid::Uuid;

use crate::{booking, idempotency, inbox, payment, traveller, trip};

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

/// Erases some of an owner's bookings, and gives how many: holds are cancelled, and a booking without a payment is deleted. One with a
/// payment stays without owner and name, as does its payment. The owner books and pays nothing after that.
pub(crate) fn erase_some_bookings(tx: &mut WriteTx<'_>, owner: &str) -> Result<u64, Error> {
    // Lock order: owner, trips, bookings, payments.
    traveller::close(tx, owner)?;
    let mut some: Vec<(Uuid, Uuid)> = tx.rows(
        "SELECT trip_id, id FROM booking WHERE owner = $1 ORDER BY id LIMIT 100",
        &[owner.into()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    some.sort_unstable();
    for of_trip in some.chunk_by(|(one, _), (other, _)| one == other) {
        trip::store::lock(tx, of_trip[0].0)?;
    }
    for (trip, id) in &some {
        let released = tx.execute(
            "UPDATE booking SET status = 'cancelled' WHERE id = $1 AND status = 'held'",
            &[(*id).into()],
        )?;
        if released == 1 {
            trip::store::free_seats(tx, *trip, 1)?;
        }
        booking::store::lock(tx, *id)?;
        let deleted = tx.execute(
            "DELETE FROM booking WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM payment WHERE booking_id = $1)",
            &[(*id).into()],
        )?;
        if deleted == 0 {
            payment::store::strip(tx, *id)?;
            tx.execute("UPDATE booking SET owner = '', passenger_name = '' WHERE id = $1", &[(*id).into()])?;
        }
    }
    Ok(some.len() as u64)
}
