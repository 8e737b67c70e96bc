//! The operations on `/tickets/{ticketId}/admissions`.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use db::WriteTx;
use http::{HeaderValue, header};
use jiff::civil::Date;
use uuid::Uuid;
use web::{Both, Created, Path, Problem, Query, Reply, Result, negotiate, problem::NOT_FOUND};

use super::{
    Admission, TicketAdmissions,
    proof::{Code, Opener, Proof, Visitor},
    store,
};
use crate::{
    Museum,
    problem::{ALREADY_USED, NOT_TODAY},
    ticket::Ticket,
};

/// Admit a ticket
///
/// An extension of the public description. Admits a ticket once, on its day in the zone of the museum. The caller bought the ticket,
/// or sends its code. A body is ignored.
#[utoipa::path(
    post, path = "/tickets/{ticketId}/admissions", operation_id = "admitTicket", tag = "Tickets",
    params(("ticketId" = Uuid, Path, description = "The ticket's id."), Code),
    responses(
        (
            status = 201, description = "The ticket was admitted.", body = Admission,
            headers(("Location" = String, description = "Where the admissions of the ticket are.")),
        ),
        (status = 404, description = "There is no such ticket, or the caller neither bought it nor has its code."),
        (status = 409, description = "The ticket was used already, or is for another day."),
    ),
)]
pub(crate) async fn admit(
    visitor: Visitor,
    State(museum): State<Museum>,
    Both(Path(id), Query(code)): Both<Path<Uuid>, Query<Code>>,
) -> Result<Created<Admission>> {
    let (now, today) = (museum.clock.now(), museum.today());
    let proof = Proof::new(&visitor, code);
    let admission = Admission { admission_id: museum.random.uuid(now), ticket_id: id, admitted_at: now };
    let admit = move |tx: &mut WriteTx<'_>| {
        let ticket = store::proven(tx, id, &proof)?.ok_or_else(unknown)?;
        let is_first = ticket.date == today && store::insert(tx, &admission)?;
        // As it is stored: a database keeps microseconds.
        match store::of_ticket(tx, id)? {
            Some(stored) if is_first => Ok::<_, Problem>(stored),
            Some(first) => Err(already_used(&first)),
            None => Err(not_today(ticket.date, today)),
        }
    };
    let admission = museum.db.write(admit).await?;
    Ok(Created { location: Some(museum.location(&format!("/tickets/{id}/admissions"))), body: admission })
}

/// List the admissions of a ticket
///
/// An extension of the public description. The QR code of a ticket is a link to it. The caller bought the ticket, or sends its code.
/// A browser that opens the link gets the page where the ticket is checked.
#[utoipa::path(
    get, path = "/tickets/{ticketId}/admissions", operation_id = "getTicketAdmissions", tag = "Tickets",
    params(("ticketId" = Uuid, Path, description = "The ticket's id."), Code),
    responses(
        (status = 200, description = "The ticket, and its admission if it was used.", body = TicketAdmissions),
        (
            status = 303, description = "To a client that prefers HTML: the page where the ticket is checked.",
            headers(("Location" = String, description = "Where the page is.")),
        ),
        (status = 404, description = "There is no such ticket, or the caller neither bought it nor has its code."),
    ),
)]
pub(crate) async fn list(
    opener: Opener,
    State(museum): State<Museum>,
    Both(Path(id), Query(code)): Both<Path<Uuid>, Query<Code>>,
) -> Result<Response> {
    let Opener::Program(visitor) = opener else {
        let mut response = Redirect::to(&museum.check_page(id, code)).into_response();
        negotiate::vary(&mut response);
        return Ok(response);
    };
    let proof = Proof::new(&visitor, code);
    let find = museum.db.snapshot(move |tx| match store::proven(tx, id, &proof)? {
        Some(ticket) => Ok(Some((ticket, store::of_ticket(tx, id)?))),
        None => Ok::<_, db::Error>(None),
    });
    let (ticket, admission) = find.await?.ok_or_else(unknown)?;
    let Ticket { date, .. } = ticket;
    let mut response = Reply(TicketAdmissions {
        ticket_id: id,
        event_name: ticket.name(),
        ticket_date: date,
        admissions: admission.into_iter().collect(),
    })
    .into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    negotiate::vary(&mut response);
    Ok(response)
}

fn unknown() -> Problem {
    Problem::new(
        &NOT_FOUND,
        "There is no ticket with this id, or this account did not buy it and sent no valid code.",
    )
}

fn already_used(first: &Admission) -> Problem {
    Problem::new(
        &ALREADY_USED,
        format!("This ticket was already used: it was admitted at {}.", first.admitted_at),
    )
}

fn not_today(date: Date, today: Date) -> Problem {
    let detail = match date < today {
        true => format!("This ticket was for {date}, and today is {today}. It can no longer be used."),
        false => format!("This ticket is for {date}, and today is {today}. It is admitted on its day."),
    };
    Problem::new(&NOT_TODAY, detail)
}
