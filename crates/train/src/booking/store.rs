//! Bookings in the database.

use db::{Error, Keyed, Record as _, Tx, WriteTx};
use jiff::Timestamp;
use model::sql;
use serde_json::json;
use uuid::Uuid;

use super::Booking;
use crate::trip::store::{ReadAt, SeatRequest, free_seats, lock as lock_trip, take_seat};

/// When the first of an owner's unpaid holds expires, if the owner has the maximum number of them.
///
/// The owner's row must be locked, so that of two concurrent bookings the second counts the first. Other changes to bookings
/// need no lock, since they only make the number smaller.
pub(crate) fn all_holds_used(
    tx: &mut Tx<'_>,
    owner: &str,
    most: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let (held, first) = tx
        .row(
            "SELECT count(*), min(expires_at) FROM
             (SELECT expires_at FROM booking WHERE owner = $1 AND status = 'held' AND expires_at > $2
              ORDER BY expires_at LIMIT $3) AS first_holds",
            &[owner.into(), now.into(), most.into()],
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
    request: SeatRequest,
    now: Timestamp,
) -> Result<bool, Error> {
    if !take_seat(tx, request, now)? {
        return Ok(false);
    }
    let mut values = booking.values()?;
    values.push(owner.into());
    tx.execute(sql!("INSERT INTO booking ({Booking}, owner) VALUES ({Booking.values}, $8)"), &values)?;
    Ok(true)
}

/// A booking of this owner, as it is stored.
pub(crate) fn by_id(tx: &mut Tx<'_>, owner: &str, id: Uuid) -> Result<Option<Booking>, Error> {
    tx.record(
        sql!("SELECT {Booking} FROM booking WHERE id = $1 AND owner = $2 AND status <> 'cancelled'"),
        &[id.into(), owner.into()],
    )
}

/// The same with its status now.
pub(crate) fn by_id_at(
    tx: &mut Tx<'_>,
    owner: &str,
    id: Uuid,
    now: Timestamp,
) -> Result<ReadAt<Option<Booking>>, Error> {
    let booking = by_id(tx, owner, id)?;
    let due = due_trips(booking.as_slice(), now);
    Ok(ReadAt { found: booking.map(|booking| booking.at(now)), due })
}

/// The trips of the holds that are past their time.
fn due_trips(bookings: &[Booking], now: Timestamp) -> Vec<Uuid> {
    bookings.iter().filter(|booking| booking.is_due(now)).map(|booking| booking.trip_id).collect()
}

/// An owner's bookings with their status now, the newest first.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    owner: &str,
    skipped: i64,
    most: i64,
    now: Timestamp,
) -> Result<ReadAt<Vec<Booking>>, Error> {
    let bookings: Vec<Booking> = tx.records(
        sql!(
            "SELECT {Booking} FROM booking
             WHERE owner = $1 AND status <> 'cancelled' ORDER BY id DESC LIMIT $3 OFFSET $2"
        ),
        &[owner.into(), skipped.into(), most.into()],
    )?;
    let due = due_trips(&bookings, now);
    Ok(ReadAt { found: bookings.into_iter().map(|booking| booking.at(now)).collect(), due })
}

/// Locks a booking and its payments until this transaction ends.
pub(crate) fn lock(tx: &mut WriteTx<'_>, id: Uuid) -> Result<(), Error> {
    tx.lock("SELECT 1 FROM booking WHERE id = $1 FOR NO KEY UPDATE", &[id.into()]).map(drop)
}

/// The same for a booking of this owner; `false` when the owner has no such booking.
pub(crate) fn lock_own(tx: &mut WriteTx<'_>, owner: &str, id: Uuid) -> Result<bool, Error> {
    tx.lock(
        "SELECT 1 FROM booking WHERE id = $1 AND owner = $2 FOR NO KEY UPDATE",
        &[id.into(), owner.into()],
    )
}

/// Confirms a held booking; `false` when it is no longer held.
pub(crate) fn confirm(tx: &mut WriteTx<'_>, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    let confirmed = tx.execute(
        "UPDATE booking SET status = 'confirmed' WHERE id = $1 AND status = 'held' AND expires_at > $2",
        &[id.into(), now.into()],
    )?;
    Ok(confirmed == 1)
}

/// Cancels all holds of an owner and frees their seats. A pending payment is refunded when it succeeds.
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
    tx.lock("SELECT 1 FROM booking WHERE owner = $1 FOR NO KEY UPDATE", &[owner.into()]).map(drop)
}

/// Removes the owner and the passenger's name from an owner's bookings.
pub(crate) fn disown_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute("UPDATE booking SET owner = '', passenger_name = '' WHERE owner = $1", &[owner.into()])
        .map(drop)
}

/// Some of an owner's bookings after one, also those that were cancelled.
pub(crate) fn export(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT id, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at FROM booking
         WHERE owner = $1 AND id > $2 ORDER BY id LIMIT 500",
        &[owner.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "trip_id": row.get::<Uuid>(1)?,
                "passenger_name": row.get::<String>(2)?,
                "has_bicycle": row.get::<bool>(3)?,
                "has_dog": row.get::<bool>(4)?,
                "status": row.get::<String>(5)?,
                "expires_at": row.get::<Timestamp>(6)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}
