//! The operations on `/tickets`.

use axum::extract::State;
use db::WriteTx;
use identity::account;
use jiff::civil::Date;
use model::Resource;
use uuid::Uuid;
use web::{Body, Created, Problem, Result, problem::NOT_FOUND};

use super::{Purchase, Ticket, TicketType, Visit, confirmation_code, store};
use crate::{Museum, caller::Caller, event};

/// A ticket that was bought.
#[derive(Resource)]
#[resource(case = "camelCase")]
pub(crate) struct MuseumTicketsConfirmation {
    #[field(rule = text(1..))]
    message: String,
    /// The name of the event, if the ticket is for one.
    #[field(rule = text(1..=200))]
    event_name: Option<String>,
    ticket_id: Uuid,
    ticket_type: TicketType,
    ticket_date: Date,
    /// The event, if the ticket is for one.
    event_id: Option<Uuid>,
    /// Proves the purchase.
    #[field(rule = text(..).pattern(r"^ticket-(general|event)-[0-9a-z]{6}-[0-9a-z]{5}$"))]
    #[field(example = "ticket-event-a98c8f-7eb12")]
    confirmation_code: String,
}

impl From<Ticket> for MuseumTicketsConfirmation {
    fn from(ticket: Ticket) -> Self {
        let ticket_type = ticket.ticket_type();
        let message = match &ticket.event_name {
            Some(name) => format!("Your ticket for {name} on {} is confirmed", ticket.date),
            None => format!("Your general admission ticket for {} is confirmed", ticket.date),
        };
        MuseumTicketsConfirmation {
            message,
            event_name: ticket.event_name,
            ticket_id: ticket.id,
            ticket_type,
            ticket_date: ticket.date,
            event_id: ticket.event_id,
            confirmation_code: ticket.confirmation_code,
        }
    }
}

/// Buy a ticket
///
/// Buys a ticket for general entry on a day, or for a special event on one of its dates.
#[utoipa::path(
    post, path = "/tickets", operation_id = "buyMuseumTickets", tag = "Tickets",
    request_body = Purchase,
    responses(
        (
            status = 201, description = "The ticket was bought.", body = MuseumTicketsConfirmation,
            headers(("Location" = String, description = "Where the ticket's wallet pass is.")),
        ),
        (status = 404, description = "There is no event with this `eventId`."),
    ),
)]
pub(crate) async fn buy(
    caller: Caller,
    State(museum): State<Museum>,
    Body(purchase): Body<Purchase>,
) -> Result<Created<MuseumTicketsConfirmation>> {
    let now = museum.clock.now();
    let Visit { date, opens_at } = purchase.ticket_date;
    let id = museum.random.uuid(now);
    let (random, accounts) = (museum.random.clone(), museum.accounts.clone());
    let sell = move |tx: &mut WriteTx<'_>| {
        // A removal of the account waits for this sale, and then finds the ticket.
        if !account::lock(tx, caller.account)? {
            return Err(identity::unauthorized(&accounts, "This account was removed."));
        }
        let event_name = purchase.event_id.map(|id| name_of_event_on(tx, id, date)).transpose()?;
        let mut ticket = Ticket {
            id,
            account: caller.account,
            event_id: purchase.event_id,
            event_name,
            date,
            opens_at,
            email: purchase.email.clone(),
            confirmation_code: String::new(),
            bought_at: now,
        };
        loop {
            ticket.confirmation_code = confirmation_code(&random, purchase.ticket_type);
            if store::insert(tx, &ticket)? {
                return Ok::<_, Problem>(ticket);
            }
        }
    };
    let ticket = museum.db.write(sell).await?;
    let location = museum.location(&format!("/tickets/{id}/pkpass"));
    Ok(Created { location: Some(location), body: ticket.into() })
}

/// The name of an event, if it takes place on that day.
fn name_of_event_on(tx: &mut WriteTx<'_>, id: Uuid, date: Date) -> Result<String> {
    let event = event::store::by_id(tx, id)?.ok_or_else(event::api::unknown)?;
    if !event.dates.contains(&date) {
        let days: Vec<_> = event.dates.iter().map(ToString::to_string).collect();
        let detail = format!("must be a date of this event: {}", days.join(", "));
        return Err(Problem::invalid_at("#/ticketDate", detail));
    }
    Ok(event.name)
}

/// The ticket that this account bought, or 404.
pub(super) async fn bought_by(museum: &Museum, id: Uuid, account: Uuid) -> Result<Ticket> {
    let found = museum.db.read(move |tx| store::bought_by(tx, id, account)).await?;
    found.ok_or_else(|| Problem::new(&NOT_FOUND, "This account bought no ticket with this id."))
}
