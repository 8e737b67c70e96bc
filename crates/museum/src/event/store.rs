//! Special events in the database.

use db::{Error, Record, Tx, WriteTx};
use jiff::civil::Date;
use model::sql;
use uuid::Uuid;

use super::{SpecialEvent, SpecialEventChanges};

pub(crate) fn by_id(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<SpecialEvent>, Error> {
    tx.record(sql!("SELECT {SpecialEvent} FROM special_event WHERE id = $1"), &[id.into()])
}

/// The position of a list: after this event on this date.
#[derive(Debug, Clone)]
pub(crate) struct Position {
    pub(crate) date: Date,
    pub(crate) name: String,
    pub(crate) id: Uuid,
}

impl Position {
    /// Before everything on a date: no event has an empty name.
    pub(crate) fn before(date: Date) -> Self {
        Position { date, name: String::new(), id: Uuid::nil() }
    }
}

/// The next events after a position that take place between two dates, each at the first of its dates among them.
pub(crate) fn between(
    tx: &mut Tx<'_>,
    first: Date,
    last: Date,
    after: &Position,
    most: i64,
) -> Result<Vec<(Position, SpecialEvent)>, Error> {
    tx.rows(
        sql!(
            "SELECT day.date, {SpecialEvent as event}
             FROM special_event_date AS day JOIN special_event AS event ON event.id = day.event_id
             WHERE (day.date, day.name, day.event_id) > ($1, $2, $3) AND day.date <= $4
             AND NOT EXISTS (
                 SELECT 1 FROM special_event_date AS earlier
                 WHERE earlier.event_id = day.event_id AND earlier.date >= $5 AND earlier.date < day.date)
             ORDER BY day.date, day.name, day.event_id
             LIMIT $6"
        ),
        &[after.date.into(), (&after.name).into(), after.id.into(), last.into(), first.into(), most.into()],
        |row| {
            let event = SpecialEvent::read(row, 1)?;
            let position = Position { date: row.get(0)?, name: event.name.clone(), id: event.event_id };
            Ok((position, event))
        },
    )
}

/// Adds an event; its id is new.
pub(crate) fn insert(tx: &mut WriteTx<'_>, event: &SpecialEvent) -> Result<(), Error> {
    tx.execute(
        sql!("INSERT INTO special_event ({SpecialEvent}) VALUES ({SpecialEvent.values})"),
        &event.values()?,
    )?;
    insert_dates(tx, event)
}

/// Changes an event; `None` when there is no such event.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    changes: &SpecialEventChanges,
) -> Result<Option<SpecialEvent>, Error> {
    // Locks the row before it is read, so that of two concurrent changes the second sees the first.
    tx.lock("SELECT 1 FROM special_event WHERE id = $1 FOR NO KEY UPDATE", &[id.into()])?;
    let Some(before) = by_id(tx, id)? else { return Ok(None) };
    let mut event = before.clone();
    changes.apply_to(&mut event);
    replace(tx, &before, &event)?;
    Ok(Some(event))
}

/// Replaces the dates of an event.
pub(crate) fn set_dates(tx: &mut WriteTx<'_>, before: &SpecialEvent, dates: &[Date]) -> Result<(), Error> {
    replace(tx, before, &SpecialEvent { dates: dates.to_vec(), ..before.clone() })
}

fn replace(tx: &mut WriteTx<'_>, before: &SpecialEvent, event: &SpecialEvent) -> Result<(), Error> {
    let id = event.event_id;
    tx.execute(sql!("UPDATE special_event SET {SpecialEvent.set} WHERE id = $1"), &event.values()?)?;
    if (&event.name, &event.dates) == (&before.name, &before.dates) {
        return Ok(());
    }
    tx.execute("DELETE FROM special_event_date WHERE event_id = $1", &[id.into()])?;
    insert_dates(tx, event)
}

/// Deletes an event; `false` when there is none.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: Uuid) -> Result<bool, Error> {
    Ok(tx.execute("DELETE FROM special_event WHERE id = $1", &[id.into()])? == 1)
}

fn insert_dates(tx: &mut WriteTx<'_>, event: &SpecialEvent) -> Result<(), Error> {
    for date in &event.dates {
        tx.execute(
            "INSERT INTO special_event_date (date, name, event_id) VALUES ($1, $2, $3)",
            &[(*date).into(), (&event.name).into(), event.event_id.into()],
        )?;
    }
    Ok(())
}
