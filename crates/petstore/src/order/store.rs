//! Orders in the database.

use db::{Error, Tx, WriteTx};

use super::{Order, OrderStatus};

/// What became of an order.
pub(crate) enum Placed {
    Yes(Order),
    /// Its id is taken by another.
    Taken,
    NoPet,
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: i64) -> Result<Option<Order>, Error> {
    tx.row(
        "SELECT id, pet_id, quantity, ship_date, status, complete FROM store_order WHERE id = $1",
        &[id.into()],
        |row| {
            Ok(Order {
                id: row.get(0)?,
                pet_id: row.get(1)?,
                quantity: i32::try_from(row.get::<i64>(2)?).unwrap_or(i32::MAX),
                ship_date: row.get(3)?,
                status: OrderStatus::from_word(&row.get::<String>(4)?).unwrap_or(OrderStatus::Placed),
                complete: row.get(5)?,
            })
        },
    )
}

/// Places an order if its pet exists and its id is free.
pub(crate) fn insert(tx: &mut WriteTx<'_>, order: Order) -> Result<Placed, Error> {
    if !pet_exists(tx, order.pet_id)? {
        return Ok(Placed::NoPet);
    }
    let added = tx.execute(
        "INSERT INTO store_order (id, pet_id, quantity, ship_date, status, complete)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
        &values(&order),
    )?;
    Ok(if added == 1 { Placed::Yes(order) } else { Placed::Taken })
}

/// Places an order if its pet exists, in place of the one that has its id.
pub(crate) fn put(tx: &mut WriteTx<'_>, order: Order) -> Result<Placed, Error> {
    if !pet_exists(tx, order.pet_id)? {
        return Ok(Placed::NoPet);
    }
    tx.execute(
        "INSERT INTO store_order (id, pet_id, quantity, ship_date, status, complete)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (id) DO UPDATE SET pet_id = excluded.pet_id, quantity = excluded.quantity,
             ship_date = excluded.ship_date, status = excluded.status, complete = excluded.complete",
        &values(&order),
    )?;
    Ok(Placed::Yes(order))
}

/// Deletes an order; `false` when there is none of this id.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: i64) -> Result<bool, Error> {
    Ok(tx.execute("DELETE FROM store_order WHERE id = $1", &[id.into()])? == 1)
}

fn pet_exists(tx: &mut Tx<'_>, id: i64) -> Result<bool, Error> {
    Ok(tx.row("SELECT 1 FROM pet WHERE id = $1", &[id.into()], |_| Ok(()))?.is_some())
}

fn values(order: &Order) -> [db::Value<'_>; 6] {
    [
        order.id.into(),
        order.pet_id.into(),
        order.quantity.into(),
        order.ship_date.into(),
        order.status.word().into(),
        order.complete.into(),
    ]
}
