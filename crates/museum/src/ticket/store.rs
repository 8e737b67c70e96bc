//! Tickets in the database.

use db::{Error, Tx, WriteTx};
use jiff::Timestamp;
use uuid::Uuid;

use super::Ticket;

/// Adds a ticket; `false` when its confirmation code is taken.
pub(crate) fn insert(tx: &mut WriteTx<'_>, ticket: &Ticket) -> Result<bool, Error> {
    let event = ticket.event.as_ref();
    let added = tx.execute(
        "INSERT INTO ticket (id, account_id, event_id, event_name, date, opens_at, email, confirmation_code, bought_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (confirmation_code) DO NOTHING",
        &[
            ticket.id.into(),
            ticket.account.into(),
            event.map(|event| event.id).into(),
            event.map(|event| event.name.as_str()).into(),
            ticket.date.into(),
            ticket.opens_at.into(),
            (&ticket.email).into(),
            (&ticket.confirmation_code).into(),
            ticket.bought_at.into(),
        ],
    )?;
    Ok(added == 1)
}

/// Takes the email addresses out of the tickets that an account bought.
pub(crate) fn strip_emails(tx: &mut WriteTx<'_>, account: Uuid) -> Result<(), Error> {
    tx.execute("UPDATE ticket SET email = '' WHERE account_id = $1", &[account.into()]).map(drop)
}

/// What a wallet shows of a ticket: the event's name, if it is for one, and when the museum opens.
pub(crate) fn pass_of(
    tx: &mut Tx<'_>,
    id: Uuid,
    account: Uuid,
) -> Result<Option<(Option<String>, Timestamp)>, Error> {
    tx.row(
        "SELECT event_name, opens_at FROM ticket WHERE id = $1 AND account_id = $2",
        &[id.into(), account.into()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}
