//! Admissions in the database.

use db::{Error, Record, Tx, WriteTx};
use model::sql;
use uuid::Uuid;

use super::{Admission, proof::Proof};
use crate::ticket::Ticket;

/// The ticket with this id, if the proof is valid for it.
pub(super) fn proven(tx: &mut Tx<'_>, id: Uuid, proof: &Proof) -> Result<Option<Ticket>, Error> {
    tx.record(
        sql!("SELECT {Ticket} FROM ticket WHERE id = $1 AND (account_id = $2 OR confirmation_code = $3)"),
        &[
            id.into(),
            proof.buyer.unwrap_or_default().into(),
            proof.code.as_deref().unwrap_or_default().into(),
        ],
    )
}

/// The admission of a ticket, if it was used.
pub(super) fn of_ticket(tx: &mut Tx<'_>, ticket: Uuid) -> Result<Option<Admission>, Error> {
    tx.record(sql!("SELECT {Admission} FROM admission WHERE ticket_id = $1"), &[ticket.into()])
}

/// Adds an admission; `false` when the ticket has one.
pub(super) fn insert(tx: &mut WriteTx<'_>, admission: &Admission) -> Result<bool, Error> {
    let added = tx.execute(
        sql!(
            "INSERT INTO admission ({Admission}) VALUES ({Admission.values})
             ON CONFLICT (ticket_id) DO NOTHING"
        ),
        &admission.values()?,
    )?;
    Ok(added == 1)
}
