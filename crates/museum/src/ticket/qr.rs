use axum::{extract::State, response::Response};
use http::{HeaderValue, header};
use uuid::Uuid;
use web::{
    Path, Result,
    qr::{Image, ImageFormat},
};

use super::{api, link::PublicAddress};
use crate::{Museum, caller::Caller};

/// Get the QR code of a ticket
///
/// An extension of the public description. The code has a link to the admissions of the ticket, with its confirmation code. Only
/// the account that bought a ticket can see it.
#[utoipa::path(
    get, path = "/tickets/{ticketId}/qr", operation_id = "getTicketQrCode", tag = "Tickets",
    params(("ticketId" = Uuid, Path, description = "The ticket's id.")),
    responses(
        (status = 200, description = "The image, as PNG unless the `Accept` header prefers SVG.",
            content((inline(Image) = "image/png"), (inline(Image) = "image/svg+xml"))),
        (status = 404, description = "This account bought no such ticket."),
    ),
)]
pub(crate) async fn image(
    format: ImageFormat,
    caller: Caller,
    address: PublicAddress,
    State(museum): State<Museum>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let ticket = api::bought_by(&museum, id, caller.account).await?;
    let mut response = format.image(&address.link(&ticket))?;
    // It has the code of the ticket.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
