//! Special events in the database.

use db::{Error, Json, Row, Tx, Value, WriteTx};
use jiff::civil::Date;
use uuid::Uuid;

use super::{SpecialEvent, SpecialEventChanges};

pub(crate) fn by_id(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<SpecialEvent>, Error> {
    tx.row(
        "SELECT id, name, location, description, dates, price FROM special_event WHERE id = $1",
        &[id.into()],
        |row| read(row, 0),
    )
}

/// Where a listing has got to: after this event on this date.
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
        "SELECT day.date, event.id, event.name, event.location, event.description, event.dates, event.price
         FROM special_event_date AS day JOIN special_event AS event ON event.id = day.event_id
         WHERE (day.date, day.name, day.event_id) > ($1, $2, $3) AND day.date <= $4
         AND NOT EXISTS (
             SELECT 1 FROM special_event_date AS earlier
             WHERE earlier.event_id = day.event_id AND earlier.date >= $5 AND earlier.date < day.date)
         ORDER BY day.date, day.name, day.event_id
         LIMIT $6",
        &[after.date.into(), (&after.name).into(), after.id.into(), last.into(), first.into(), most.into()],
        |row| {
            let event = read(row, 1)?;
            let position = Position { date: row.get(0)?, name: event.name.clone(), id: event.event_id };
            Ok((position, event))
        },
    )
}

/// Adds an event; its id is new.
pub(crate) fn insert(tx: &mut WriteTx<'_>, event: &SpecialEvent) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO special_event (id, name, location, description, dates, price) VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            event.event_id.into(),
            (&event.name).into(),
            (&event.location).into(),
            (&event.event_description).into(),
            dates_as_json(&event.dates),
            event.price.into(),
        ],
    )?;
    insert_dates(tx, event)
}

/// Changes an event; `None` when there is no such event.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    changes: &SpecialEventChanges,
) -> Result<Option<SpecialEvent>, Error> {
    // Takes the row before it is read, so that of two changes at once the second sees the first.
    tx.execute("UPDATE special_event SET name = name WHERE id = $1", &[id.into()])?;
    let Some(before) = by_id(tx, id)? else { return Ok(None) };
    let mut event = before.clone();
    changes.apply_to(&mut event);
    replace(tx, &before, &event)?;
    Ok(Some(event))
}

/// Gives an event other dates.
pub(crate) fn set_dates(tx: &mut WriteTx<'_>, before: &SpecialEvent, dates: &[Date]) -> Result<(), Error> {
    replace(tx, before, &SpecialEvent { dates: dates.to_vec(), ..before.clone() })
}

fn replace(tx: &mut WriteTx<'_>, before: &SpecialEvent, event: &SpecialEvent) -> Result<(), Error> {
    let id = event.event_id;
    tx.execute(
        "UPDATE special_event SET name = $2, location = $3, description = $4, dates = $5, price = $6 WHERE id = $1",
        &[
            id.into(),
            (&event.name).into(),
            (&event.location).into(),
            (&event.event_description).into(),
            dates_as_json(&event.dates),
            event.price.into(),
        ],
    )?;
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

pub(crate) fn dates_as_json(dates: &[Date]) -> Value<'static> {
    // Dates always serialise.
    Value::json(serde_json::to_string(dates).unwrap_or_default())
}

pub(crate) fn dates_from_json(Json(text): &Json) -> Result<Vec<Date>, Error> {
    serde_json::from_str(text).map_err(|error| Error::Engine(format!("stored dates cannot be read: {error}")))
}

fn read(row: &Row<'_>, at: usize) -> Result<SpecialEvent, Error> {
    Ok(SpecialEvent {
        event_id: row.get(at)?,
        name: row.get(at + 1)?,
        location: row.get(at + 2)?,
        event_description: row.get(at + 3)?,
        dates: dates_from_json(&row.get(at + 4)?)?,
        price: row.get(at + 5)?,
    })
}
