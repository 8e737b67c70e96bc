//! Tickets in the database.

use db::{Error, Keyed, Record, Tx, WriteTx};
use jiff::{Timestamp, civil::Date};
use model::sql;
use serde_json::json;
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

/// Some of the tickets that an account bought after a ticket, with their admissions.
pub(crate) fn export(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT ticket.id, event_id, event_name, date, email, confirmation_code, bought_at, admitted_at
         FROM ticket LEFT JOIN admission ON admission.ticket_id = ticket.id
         WHERE account_id = $1 AND ticket.id > $2 ORDER BY ticket.id LIMIT 500",
        &[account.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "event_id": row.get::<Option<Uuid>>(1)?,
                "event_name": row.get::<Option<String>>(2)?,
                "date": row.get::<Date>(3)?,
                "email": row.get::<String>(4)?,
                "confirmation_code": row.get::<String>(5)?,
                "bought_at": row.get::<Timestamp>(6)?,
                "admitted_at": row.get::<Option<Timestamp>>(7)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}

/// Deletes some of the tickets that an account bought, with their admissions.
pub(crate) fn erase_some(tx: &mut WriteTx<'_>, account: Uuid) -> Result<u64, Error> {
    tx.execute(
        "DELETE FROM admission WHERE ticket_id IN
             (SELECT id FROM ticket WHERE account_id = $1 ORDER BY id LIMIT 500)",
        &[account.into()],
    )?;
    tx.execute(db::delete_some!("ticket", "id", "account_id = $1 ORDER BY id LIMIT 500"), &[account.into()])
}

/// The ticket with this id, if this account bought it.
pub(crate) fn bought_by(tx: &mut Tx<'_>, id: Uuid, account: Uuid) -> Result<Option<Ticket>, Error> {
    tx.record(
        sql!("SELECT {Ticket} FROM ticket WHERE id = $1 AND account_id = $2"),
        &[id.into(), account.into()],
    )
}
