//! `GET /tickets/{ticketId}/qr`.

use axum::extract::{FromRequestParts, State};
use http::request::Parts;
use uuid::Uuid;
use web::{Path, Problem, Result, negotiate, qr};

use super::{api, link::PublicAddress};
use crate::{Museum, caller::Caller, file::File};

const PNG: &str = "image/png";
const SVG: &str = "image/svg+xml";

/// The format of the image, by the `Accept` header.
pub(crate) struct ImageFormat(&'static str);

impl<S: Sync> FromRequestParts<S> for ImageFormat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        negotiate::choose(&parts.headers, &[PNG, SVG]).map(ImageFormat)
    }
}

/// Get the QR code of a ticket
///
/// An extension of the public description. The code has a link to the admissions of the ticket, with its confirmation code. Only
/// the account that bought a ticket can see it.
#[utoipa::path(
    get, path = "/tickets/{ticketId}/qr", operation_id = "getTicketQrCode", tag = "Tickets",
    params(("ticketId" = Uuid, Path, description = "The ticket's id.")),
    responses(
        (status = 200, description = "The image, as PNG unless the `Accept` header prefers SVG.",
            content((inline(File) = "image/png"), (inline(File) = "image/svg+xml"))),
        (status = 404, description = "This account bought no such ticket."),
    ),
)]
pub(crate) async fn image(
    ImageFormat(media_type): ImageFormat,
    caller: Caller,
    address: PublicAddress,
    State(museum): State<Museum>,
    Path(id): Path<Uuid>,
) -> Result<File> {
    let ticket = api::bought_by(&museum, id, caller.account).await?;
    let link = address.link(&ticket);
    let bytes = if media_type == SVG { qr::svg(&link).map(String::into_bytes) } else { qr::png(&link) };
    Ok(File { media_type, bytes: bytes.map_err(Problem::internal)? })
}
