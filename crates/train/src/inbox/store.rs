//! Inboxes in the database. An expired inbox is not found, also before it is deleted.

use db::{Error, Json, Keyed, Row, Tx, WriteTx, to_json};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::{Header, Inbox, MOST_INBOXES, MOST_MESSAGES, MOST_RECEIVED, Message};

/// Adds an inbox; `false` when the owner has as many as allowed. The owner's row must be locked, so that of two requests at
/// once the second counts the first.
pub(crate) fn insert(
    tx: &mut WriteTx<'_>,
    owner: &str,
    inbox: &Inbox,
    now: Timestamp,
) -> Result<bool, Error> {
    let count = tx.row(
        "SELECT count(*) FROM inbox WHERE owner = $1 AND expires_at > $2",
        &[owner.into(), now.into()],
        |row| row.get::<i64>(0),
    )?;
    if count.unwrap_or_default() >= MOST_INBOXES {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO inbox (id, owner, expires_at, received) VALUES ($1, $2, $3, 0)",
        &[inbox.id.into(), owner.into(), inbox.expires_at.into()],
    )?;
    Ok(true)
}

/// The inboxes of an owner, the newest first.
pub(crate) fn list(tx: &mut Tx<'_>, owner: &str, now: Timestamp) -> Result<Vec<Inbox>, Error> {
    tx.rows(
        "SELECT id, expires_at FROM inbox WHERE owner = $1 AND expires_at > $2 ORDER BY id DESC",
        &[owner.into(), now.into()],
        read_inbox,
    )
}

/// An inbox of this owner with its messages, the newest first.
pub(crate) fn by_id(
    tx: &mut Tx<'_>,
    owner: &str,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<(Inbox, Vec<Message>)>, Error> {
    let found = tx.row(
        "SELECT id, expires_at FROM inbox WHERE id = $1 AND owner = $2 AND expires_at > $3",
        &[id.into(), owner.into(), now.into()],
        read_inbox,
    )?;
    let Some(inbox) = found else { return Ok(None) };
    let messages = tx.rows(
        "SELECT number, received_at, headers, body FROM inbox_message
         WHERE inbox_id = $1 ORDER BY number DESC LIMIT $2",
        &[id.into(), MOST_MESSAGES.into()],
        read_message,
    )?;
    Ok(Some((inbox, messages)))
}

fn read_inbox(row: &Row<'_>) -> Result<Inbox, Error> {
    Ok(Inbox { id: row.get(0)?, expires_at: row.get(1)? })
}

fn read_message(row: &Row<'_>) -> Result<Message, Error> {
    let Json(headers) = row.get(2)?;
    let headers = serde_json::from_str(&headers).map_err(|error| Error::Fault(error.to_string()))?;
    Ok(Message { number: row.get(0)?, received_at: row.get(1)?, headers, body: row.get(3)? })
}

/// The result of a message for an inbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Done,
    Unknown,
    /// The inbox has received as many messages as allowed, until it expires.
    Full(Timestamp),
}

/// Adds a message, and deletes the oldest one beyond those that are kept.
pub(crate) fn receive(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    headers: &[Header],
    body: &str,
    now: Timestamp,
) -> Result<Received, Error> {
    // The row is locked, so that the messages of an inbox have different numbers.
    let number = tx.row(
        "UPDATE inbox SET received = received + 1 WHERE id = $1 AND expires_at > $2 AND received < $3
         RETURNING received",
        &[id.into(), now.into(), MOST_RECEIVED.into()],
        |row| row.get::<i64>(0),
    )?;
    let Some(number) = number else {
        let until = tx.row(
            "SELECT expires_at FROM inbox WHERE id = $1 AND expires_at > $2",
            &[id.into(), now.into()],
            |row| row.get(0),
        )?;
        return Ok(until.map_or(Received::Unknown, Received::Full));
    };
    tx.execute(
        "INSERT INTO inbox_message (inbox_id, number, received_at, headers, body) VALUES ($1, $2, $3, $4, $5)",
        &[id.into(), number.into(), now.into(), to_json(&headers)?, body.into()],
    )?;
    tx.execute(
        "DELETE FROM inbox_message WHERE inbox_id = $1 AND number <= $2",
        &[id.into(), (number - MOST_MESSAGES).into()],
    )?;
    Ok(Received::Done)
}

/// Deletes an inbox; `false` when the owner has no such inbox.
pub(crate) fn delete(tx: &mut WriteTx<'_>, owner: &str, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    let deleted = tx.execute(
        "DELETE FROM inbox WHERE id = $1 AND owner = $2 AND expires_at > $3",
        &[id.into(), owner.into(), now.into()],
    )?;
    Ok(deleted == 1)
}

/// The first of an owner's inboxes after one, with its messages. An inbox can have many bytes, so it is a page of its own.
pub(crate) fn export(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    let found = tx.row(
        "SELECT id, expires_at FROM inbox WHERE owner = $1 AND id > $2 ORDER BY id LIMIT 1",
        &[owner.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        read_inbox,
    )?;
    let Some(Inbox { id, expires_at }) = found else { return Ok(Vec::new()) };
    let messages = tx.rows(
        "SELECT number, received_at, headers, body FROM inbox_message WHERE inbox_id = $1 ORDER BY number LIMIT $2",
        &[id.into(), MOST_MESSAGES.into()],
        read_message,
    )?;
    let document = json!({"id": id, "expires_at": expires_at, "messages": messages});
    Ok(vec![Keyed { key: id.into_bytes().to_vec(), document }])
}

/// Deletes all inboxes of an owner with their messages, and gives how many. An owner has few.
pub(crate) fn delete_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<u64, Error> {
    tx.execute("DELETE FROM inbox WHERE owner = $1", &[owner.into()])
}

/// Whether there are inboxes to delete.
pub(crate) fn has_expired(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, Error> {
    let first = tx.row(
        "SELECT expires_at FROM inbox WHERE expires_at <= $1 ORDER BY expires_at LIMIT 1",
        &[now.into()],
        |row| row.get::<Timestamp>(0),
    )?;
    Ok(first.is_some())
}

/// Deletes some of the expired inboxes with their messages.
pub(crate) fn delete_expired(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        db::delete_some!("inbox", "id", "expires_at <= $1 ORDER BY expires_at LIMIT 100"),
        &[now.into()],
    )
    .map(drop)
}
