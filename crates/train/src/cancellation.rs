//! Cancels a booking: its seat becomes free, and its payment is refunded.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use db::{Error, WriteTx};
use http::StatusCode;
use jiff::Timestamp;
use uuid::Uuid;
use web::{Path, Problem, Result};

use crate::{
    Train, booking,
    cache::{NOT_CACHED, cached},
    caller::{Caller, Write},
    payment,
    problem::DEPARTED,
    trip::store::{free_seats, lock},
};

/// Delete a booking
///
/// The seat is free at once, and the payment is refunded. A paid booking of a departed trip cannot be deleted.
#[utoipa::path(
    delete, path = "/bookings/{bookingId}", operation_id = "delete-booking", tag = "Bookings",
    params(("bookingId" = Uuid, Path, description = "The booking's id.")),
    responses(
        (status = 204, description = "The booking is gone."),
        (status = 404, description = "The caller has no such booking."),
        (status = 409, description = "The booking is paid for, and its train has left."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn delete(
    caller: Caller<Write>,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let (now, state) = (train.clock.now(), train.clone());
    let departed = move |trip| state.timetable.has_departed(trip, now);
    let cancelled = train.db.write(move |tx| cancel(tx, &caller.subject, id, &departed, now)).await?;
    match cancelled {
        Cancelled::Done => train.wake(),
        Cancelled::Unknown => return Err(booking::api::unknown()),
        Cancelled::Departed => {
            let detail =
                "The train has left, so what was paid does not go back. The booking stays confirmed.";
            return Err(Problem::new(&DEPARTED, detail));
        }
    }
    Ok(cached(StatusCode::NO_CONTENT.into_response(), NOT_CACHED))
}

/// The result of cancelling a booking.
pub(crate) enum Cancelled {
    Done,
    Unknown,
    /// The booking is paid for, and its train has departed.
    Departed,
}

/// Cancels a booking: its seat is free, and its payment is refunded, unless the train of its trip has departed.
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
    lock(tx, trip)?;
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
    let kept = booking::store::by_id(tx, owner, id)?.is_some();
    Ok(if kept { Cancelled::Departed } else { Cancelled::Unknown })
}
