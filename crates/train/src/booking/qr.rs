//! `GET /bookings/{bookingId}/qr`.

use axum::{extract::State, response::Response};
use uuid::Uuid;
use web::{
    Path, Problem, Result,
    problem::CONFLICT,
    qr::{Image, ImageFormat},
};

use super::{Status, api::unknown, store};
use crate::{
    Train,
    cache::{NOT_CACHED, cached},
    caller::{Caller, Read},
};

/// Get the QR code of a ticket
///
/// The ticket of a confirmed booking. The code has a link to the page of the booking, which shows it to its owner.
#[utoipa::path(
    get, path = "/bookings/{bookingId}/qr", operation_id = "get-booking-qr", tag = "Bookings",
    params(("bookingId" = Uuid, Path, description = "The booking's id.")),
    responses(
        (status = 200, description = "The image, as PNG unless the `Accept` header prefers SVG.",
            content((inline(Image) = "image/png"), (inline(Image) = "image/svg+xml"))),
        (status = 404, description = "The caller has no such booking."),
        (status = 409, description = "The booking is not paid for."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn image(
    caller: Caller<Read>,
    format: ImageFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let booking = train.db.read(move |tx| store::by_id(tx, &caller.subject, id)).await?;
    let booking = booking.ok_or_else(unknown)?;
    if booking.status != Status::Confirmed {
        return Err(Problem::new(&CONFLICT, "A booking has a ticket once it is paid for."));
    }
    let link = format!("{}/app/booking?id={id}", train.address);
    Ok(cached(format.image(&link)?, NOT_CACHED))
}
