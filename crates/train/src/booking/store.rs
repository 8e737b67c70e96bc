//! Bookings in the database.

use db::{Error, Row, Tx, WriteTx};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Booking, Status};
use crate::{
    payment,
    trip::store::{Wanted, free_seats, lock as lock_trip, take_seat},
};

/// When the first of an owner's unpaid holds expires, if the owner has as many as there can be.
///
/// The owner's row must be locked, so that of two bookings at once the second counts the first. Other changes to bookings need
/// no lock, since they only make the number smaller.
pub(crate) fn all_holds_used(
    tx: &mut Tx<'_>,
    owner: &str,
    most: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let (held, first) = tx
        .row(
            "SELECT count(*), min(expires_at) FROM booking WHERE owner = $1 AND status = 'held' AND expires_at > $2",
            &[owner.into(), now.into()],
            |row| Ok((row.get::<i64>(0)?, row.get(1)?)),
        )?
        .unwrap_or((0, None));
    Ok(first.filter(|_| held >= most))
}

/// Holds a seat; `false` when none is left.
pub(crate) fn hold(
    tx: &mut WriteTx<'_>,
    owner: &str,
    booking: &Booking,
    wanted: Wanted,
    now: Timestamp,
) -> Result<bool, Error> {
    if !take_seat(tx, wanted, now)? {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO booking (id, owner, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'held', $7)",
        &[
            booking.id.into(),
            owner.into(),
            booking.trip.into(),
            (&booking.passenger_name).into(),
            booking.has_bicycle.into(),
            booking.has_dog.into(),
            booking.expires_at.into(),
        ],
    )?;
    Ok(true)
}

/// A booking as it stands now, if it is this owner's.
pub(crate) fn by_id(
    tx: &mut Tx<'_>,
    owner: &str,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<Booking>, Error> {
    tx.row(
        "SELECT id, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at FROM booking
         WHERE id = $1 AND owner = $2 AND status <> 'cancelled'",
        &[id.into(), owner.into()],
        |row| read(row, now),
    )
}

/// An owner's bookings as they stand now, the newest first.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    owner: &str,
    skipped: i64,
    most: i64,
    now: Timestamp,
) -> Result<Vec<Booking>, Error> {
    tx.rows(
        "SELECT id, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at FROM booking
         WHERE owner = $1 AND status <> 'cancelled' ORDER BY id DESC LIMIT $3 OFFSET $2",
        &[owner.into(), skipped.into(), most.into()],
        |row| read(row, now),
    )
}

/// Makes others who want to change a booking or its payments wait until this transaction has ended.
pub(crate) fn lock(tx: &mut WriteTx<'_>, id: Uuid) -> Result<(), Error> {
    tx.execute("UPDATE booking SET status = status WHERE id = $1", &[id.into()]).map(drop)
}

/// The same, if it is this owner's; `false` when it is not.
pub(crate) fn lock_own(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    let locked = tx.execute(
        "UPDATE booking SET status = status WHERE id = $1 AND owner = $2",
        &[id.into(), owner.into()],
    )?;
    Ok(locked == 1)
}

/// Confirms a booking that is still held; `false` when it is not any more.
pub(crate) fn confirm(tx: &mut WriteTx<'_>, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    let confirmed = tx.execute(
        "UPDATE booking SET status = 'confirmed' WHERE id = $1 AND status = 'held' AND expires_at > $2",
        &[id.into(), now.into()],
    )?;
    Ok(confirmed == 1)
}

/// What became of cancelling a booking.
pub(crate) enum Cancelled {
    Done,
    Unknown,
    /// It is paid for, and its train has left.
    Departed,
}

/// Cancels a booking: its seat is free, and what was paid is to go back, unless the train of its trip has departed.
pub(crate) fn cancel(
    tx: &mut WriteTx<'_>,
    owner: &str,
    id: Uuid,
    departed: &impl Fn(Uuid) -> bool,
    now: Timestamp,
) -> Result<Cancelled, Error> {
    let trip = tx.row(
        "SELECT trip_id FROM booking WHERE id = $1 AND owner = $2",
        &[id.into(), owner.into()],
        |row| row.get(0),
    )?;
    let Some(trip) = trip else { return Ok(Cancelled::Unknown) };
    let departed = departed(trip);
    lock_trip(tx, trip)?;
    let seated = tx.execute(
        "UPDATE booking SET status = 'cancelled'
         WHERE id = $1 AND owner = $2 AND (status = 'held' OR (status = 'confirmed' AND NOT $3))",
        &[id.into(), owner.into(), departed.into()],
    )?;
    if seated == 1 {
        free_seats(tx, trip, 1)?;
        payment::store::give_back(tx, id, now)?;
        return Ok(Cancelled::Done);
    }
    let expired = tx.execute(
        "UPDATE booking SET status = 'cancelled' WHERE id = $1 AND owner = $2 AND status = 'expired'",
        &[id.into(), owner.into()],
    )?;
    if expired == 1 {
        return Ok(Cancelled::Done);
    }
    let kept = by_id(tx, owner, id, now)?.is_some();
    Ok(if kept { Cancelled::Departed } else { Cancelled::Unknown })
}

/// Cancels all holds of an owner: their seats are free. A payment that is still being decided is given back when it is.
pub(crate) fn release_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    let mut trips: Vec<Uuid> = tx.rows(
        "SELECT trip_id FROM booking WHERE owner = $1 AND status = 'held'",
        &[owner.into()],
        |row| row.get(0),
    )?;
    trips.sort_unstable();
    trips.dedup();
    for trip in &trips {
        lock_trip(tx, *trip)?;
    }
    for trip in trips {
        let released = tx.execute(
            "UPDATE booking SET status = 'cancelled' WHERE owner = $1 AND trip_id = $2 AND status = 'held'",
            &[owner.into(), trip.into()],
        )?;
        free_seats(tx, trip, i64::try_from(released).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

/// Locks all bookings of an owner, before their payments are changed.
pub(crate) fn lock_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute("UPDATE booking SET status = status WHERE owner = $1", &[owner.into()]).map(drop)
}

/// Takes the names out of an owner's bookings, which are then nobody's.
pub(crate) fn disown_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute("UPDATE booking SET owner = '', passenger_name = '' WHERE owner = $1", &[owner.into()])
        .map(drop)
}

fn read(row: &Row<'_>, now: Timestamp) -> Result<Booking, Error> {
    let expires_at: Timestamp = row.get(6)?;
    let status = match row.get::<String>(5)?.as_str() {
        "confirmed" => Status::Confirmed,
        "held" if expires_at > now => Status::Held,
        _ => Status::Expired,
    };
    Ok(Booking {
        id: row.get(0)?,
        trip: row.get(1)?,
        passenger_name: row.get(2)?,
        has_bicycle: row.get(3)?,
        has_dog: row.get(4)?,
        status,
        expires_at,
    })
}
