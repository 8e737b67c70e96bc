//! `GET /tickets/{ticketId}/pkpass`.

use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse, Response},
};
use http::request::Parts;
use jiff::Timestamp;
use model::Resource;
use uuid::Uuid;
use web::{
    Path, Problem, Reply, Result,
    negotiate::{self, JSON},
};

use super::{api::bought_by, link::PublicAddress};
use crate::{
    Museum,
    caller::Caller,
    file::File,
    wallet::{PKPASS, PassContent},
};

/// A ticket for a wallet application.
#[derive(Resource)]
#[resource(case = "camelCase")]
pub(crate) struct DigitalTicket {
    /// The event, or "General admission".
    #[field(rule = text(1..=200), example = "General admission")]
    event_name: String,
    /// When the museum opens on the day of the visit.
    ticket_date: Timestamp,
    ticket_id: Uuid,
}

/// The format of the answer, by the `Accept` header. A museum without a certificate offers no pass.
pub(crate) struct PassFormat(&'static str);

impl FromRequestParts<Museum> for PassFormat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, museum: &Museum) -> Result<Self> {
        let offered: &[_] = if museum.wallet.is_open() { &[JSON, PKPASS] } else { &[JSON] };
        negotiate::choose(&parts.headers, offered).map(PassFormat)
    }
}

/// Get a ticket for a wallet
///
/// Answers in JSON, or, as an extension of the public description, with a signed pass for Apple Wallet if the `Accept` header
/// prefers it. A museum without a certificate for passes answers in JSON only. Only the account that bought a ticket can see it.
#[utoipa::path(
    get, path = "/tickets/{ticketId}/pkpass", operation_id = "getTicketPass", tag = "Tickets",
    params(("ticketId" = Uuid, Path, description = "The ticket's id.")),
    responses(
        (status = 200, description = "The digital ticket.",
            content((DigitalTicket = "application/json"), (inline(File) = "application/vnd.apple.pkpass"))),
        (status = 404, description = "This account bought no such ticket."),
    ),
)]
pub(crate) async fn get(
    PassFormat(media_type): PassFormat,
    caller: Caller,
    address: PublicAddress,
    State(museum): State<Museum>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let ticket = bought_by(&museum, id, caller.account).await?;
    if media_type == PKPASS {
        let expires_at = ticket.date.tomorrow().ok().and_then(|day| museum.hours.start_of(day));
        let content = PassContent { link: address.link(&ticket), expires_at, ticket };
        let bytes = museum.wallet.pass(&content, &museum.db, &museum.clock, &museum.random).await?;
        return Ok(File { media_type, bytes }.into_response());
    }
    let digital = DigitalTicket { event_name: ticket.name(), ticket_date: ticket.opens_at, ticket_id: id };
    let mut response = Reply(digital).into_response();
    negotiate::vary(&mut response);
    Ok(response)
}
