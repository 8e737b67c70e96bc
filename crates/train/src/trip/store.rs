//! Seats in the database.
//!
//! `trip_seats.taken` counts the bookings that are held or confirmed. A hold that is past its time still counts there until its expiry
//! is stored: see [`crate::expiry`]. A query for the number of taken seats leaves it out.
//!
//! Lock order: trip, booking, payment; of several trips the one with the lower id first.

use std::collections::HashMap;

use db::{Error, Tx, WriteTx};
use jiff::{Timestamp, civil::Date};
use uuid::Uuid;

/// What a query found, by a time at which some holds are expired.
pub(crate) struct ReadAt<R> {
    pub(crate) found: R,
    /// The trips of holds that are past their time and stored as held.
    pub(crate) due: Vec<Uuid>,
}

/// How many seats of a trip are taken now.
pub(crate) fn taken(tx: &mut Tx<'_>, trip: Uuid, now: Timestamp) -> Result<ReadAt<i64>, Error> {
    let taken = tx.row(
        "SELECT taken, (SELECT count(*) FROM booking
             WHERE booking.trip_id = trip_seats.trip_id AND status = 'held' AND expires_at <= $2)
         FROM trip_seats WHERE trip_id = $1",
        &[trip.into(), now.into()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (taken, expired): (i64, i64) = taken.unwrap_or_default();
    Ok(ReadAt { found: taken - expired, due: if expired > 0 { vec![trip] } else { Vec::new() } })
}

/// The number of taken seats of each trip between two stations on a day, without trips that have none.
pub(crate) fn taken_on(
    tx: &mut Tx<'_>,
    origin: Uuid,
    destination: Uuid,
    date: Date,
    now: Timestamp,
) -> Result<ReadAt<HashMap<Uuid, i64>>, Error> {
    let mut due = Vec::new();
    let taken = tx.rows(
        "SELECT trip_id, taken, (SELECT count(*) FROM booking
             WHERE booking.trip_id = trip_seats.trip_id AND status = 'held' AND expires_at <= $4)
         FROM trip_seats WHERE origin = $1 AND destination = $2 AND date = $3",
        &[origin.into(), destination.into(), date.into(), now.into()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let taken = taken.into_iter().map(|(trip, taken, expired): (Uuid, i64, i64)| {
        if expired > 0 {
            due.push(trip);
        }
        (trip, taken - expired)
    });
    Ok(ReadAt { found: taken.collect(), due })
}

/// A request for a seat on a trip.
#[derive(Clone, Copy)]
pub(crate) struct SeatRequest {
    pub(crate) trip: Uuid,
    pub(crate) origin: Uuid,
    pub(crate) destination: Uuid,
    pub(crate) date: Date,
    pub(crate) seats: i64,
}

/// Takes a seat; `false` when none is left. One statement decides.
pub(crate) fn take_seat(tx: &mut WriteTx<'_>, request: SeatRequest, now: Timestamp) -> Result<bool, Error> {
    if take_free_seat(tx, request)? {
        return Ok(true);
    }
    // Either this trip has no row yet, or all seats are taken, some perhaps by expired holds.
    tx.execute(
        "INSERT INTO trip_seats (trip_id, origin, destination, date, taken) VALUES ($1, $2, $3, $4, 0)
         ON CONFLICT (trip_id) DO NOTHING",
        &[request.trip.into(), request.origin.into(), request.destination.into(), request.date.into()],
    )?;
    expire(tx, request.trip, now)?;
    take_free_seat(tx, request)
}

/// Locks a trip's seats and bookings until this transaction ends.
pub(crate) fn lock(tx: &mut WriteTx<'_>, trip: Uuid) -> Result<(), Error> {
    tx.lock("SELECT 1 FROM trip_seats WHERE trip_id = $1 FOR NO KEY UPDATE", &[trip.into()]).map(drop)
}

fn take_free_seat(tx: &mut WriteTx<'_>, request: SeatRequest) -> Result<bool, Error> {
    let taken = tx.execute(
        "UPDATE trip_seats SET taken = taken + 1 WHERE trip_id = $1 AND taken < $2",
        &[request.trip.into(), request.seats.into()],
    )?;
    Ok(taken == 1)
}

/// Releases seats.
pub(crate) fn free_seats(tx: &mut WriteTx<'_>, trip: Uuid, seats: i64) -> Result<(), Error> {
    tx.execute("UPDATE trip_seats SET taken = taken - $2 WHERE trip_id = $1", &[trip.into(), seats.into()])
        .map(drop)
}

/// Expires the holds of a trip that are past their time, and returns how many seats that frees.
pub(crate) fn expire(tx: &mut WriteTx<'_>, trip: Uuid, now: Timestamp) -> Result<i64, Error> {
    let due: Option<i64> = tx.row(
        "SELECT 1 FROM booking WHERE trip_id = $1 AND status = 'held' AND expires_at <= $2 LIMIT 1",
        &[trip.into(), now.into()],
        |row| row.get(0),
    )?;
    if due.is_none() {
        return Ok(0);
    }
    lock(tx, trip)?;
    let expired = tx.execute(
        "UPDATE booking SET status = 'expired' WHERE trip_id = $1 AND status = 'held' AND expires_at <= $2",
        &[trip.into(), now.into()],
    )?;
    let expired = i64::try_from(expired).unwrap_or(i64::MAX);
    if expired > 0 {
        free_seats(tx, trip, expired)?;
    }
    Ok(expired)
}

/// The trip of a booking, if it is a hold past its time.
pub(crate) fn of_due_hold(tx: &mut Tx<'_>, booking: Uuid, now: Timestamp) -> Result<Vec<Uuid>, Error> {
    tx.rows(
        "SELECT trip_id FROM booking WHERE id = $1 AND status = 'held' AND expires_at <= $2",
        &[booking.into(), now.into()],
        |row| row.get(0),
    )
}

/// The trips of some holds past their time, which may be the same.
pub(crate) fn due(tx: &mut Tx<'_>, now: Timestamp, most: i64) -> Result<Vec<Uuid>, Error> {
    tx.rows(
        "SELECT trip_id FROM booking WHERE status = 'held' AND expires_at <= $1 ORDER BY expires_at LIMIT $2",
        &[now.into(), most.into()],
        |row| row.get(0),
    )
}
