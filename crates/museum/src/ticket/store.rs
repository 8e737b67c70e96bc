//! Tickets in the database.

use db::{Error, Record, Tx, WriteTx};
use model::sql;
use uuid::Uuid;

use super::Ticket;

/// Adds a ticket; `false` when its confirmation code is taken.
pub(crate) fn insert(tx: &mut WriteTx<'_>, ticket: &Ticket) -> Result<bool, Error> {
    let added = tx.execute(
        sql!(
            "INSERT INTO ticket ({Ticket}) VALUES ({Ticket.values})
             ON CONFLICT (confirmation_code) DO NOTHING"
        ),
        &ticket.values()?,
    )?;
    Ok(added == 1)
}

/// Removes the email addresses from the tickets that an account bought.
pub(crate) fn strip_emails(tx: &mut WriteTx<'_>, account: Uuid) -> Result<(), Error> {
    tx.execute("UPDATE ticket SET email = '' WHERE account_id = $1", &[account.into()]).map(drop)
}

/// The ticket with this id, if this account bought it.
pub(crate) fn bought_by(tx: &mut Tx<'_>, id: Uuid, account: Uuid) -> Result<Option<Ticket>, Error> {
    tx.record(
        sql!("SELECT {Ticket} FROM ticket WHERE id = $1 AND account_id = $2"),
        &[id.into(), account.into()],
    )
}
