//! Orders in the database.

use db::{Error, Record, Tx, WriteTx};
use model::sql;

use super::Order;

/// The result of placing an order.
pub(crate) enum Placed {
    Yes(Order),
    /// Another order has its id.
    Taken,
    NoPet,
}

/// Whether the pet of an order must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pets {
    MustExist,
    MayBeMissing,
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: i64) -> Result<Option<Order>, Error> {
    tx.record(sql!("SELECT {Order} FROM store_order WHERE id = $1"), &[id.into()])
}

/// Places an order if its pet exists, where it must, and its id is free.
pub(crate) fn insert(tx: &mut WriteTx<'_>, order: Order, pets: Pets) -> Result<Placed, Error> {
    if pets == Pets::MustExist && !pet_exists(tx, order.pet_id)? {
        return Ok(Placed::NoPet);
    }
    let added = tx.execute(
        sql!("INSERT INTO store_order ({Order}) VALUES ({Order.values}) ON CONFLICT (id) DO NOTHING"),
        &order.values()?,
    )?;
    Ok(if added == 1 { Placed::Yes(order) } else { Placed::Taken })
}

/// Places an order if its pet exists, where it must,, and replaces an order with the same id.
pub(crate) fn put(tx: &mut WriteTx<'_>, order: Order, pets: Pets) -> Result<Placed, Error> {
    if pets == Pets::MustExist && !pet_exists(tx, order.pet_id)? {
        return Ok(Placed::NoPet);
    }
    tx.execute(
        sql!(
            "INSERT INTO store_order ({Order}) VALUES ({Order.values})
             ON CONFLICT (id) DO UPDATE SET {Order.excluded}"
        ),
        &order.values()?,
    )?;
    Ok(Placed::Yes(order))
}

/// Deletes an order; `false` when there is none with this id.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: i64) -> Result<bool, Error> {
    Ok(tx.execute("DELETE FROM store_order WHERE id = $1", &[id.into()])? == 1)
}

fn pet_exists(tx: &mut Tx<'_>, id: i64) -> Result<bool, Error> {
    Ok(tx.row("SELECT 1 FROM pet WHERE id = $1", &[id.into()], |_| Ok(()))?.is_some())
}
