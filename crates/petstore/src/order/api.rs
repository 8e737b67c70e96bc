//! The operations on orders.

use axum::{extract::State, response::Response};
use web::{
    Body, Path, Problem, Reply, ResponseFormat, Result,
    problem::{Invalid, NOT_FOUND, UNPROCESSABLE},
};

use super::{
    NewOrder, Order,
    store::{self, Pets, Placed},
};
use crate::Petstore;

/// Orders above this id can be read, but not deleted, by the public description.
const LAST_TO_DELETE: i64 = 1000;

/// Place an order
///
/// An order without an id gets one. An existing id replaces the order with this id.
#[utoipa::path(
    post, path = "/store/order", operation_id = "placeOrder", tag = "store",
    request_body = NewOrder,
    responses(
        (status = 200, description = "The order as it is now.", body = Order),
        (status = 400, description = "Invalid input"),
        (status = 422, description = "The body breaks a rule, or there is no such pet."),
    ),
    security(()),
)]
pub(crate) async fn place(
    State(petstore): State<Petstore>,
    Body(new): Body<NewOrder>,
) -> Result<Reply<Order>> {
    let pet = new.pet_id;
    let pets = match petstore.habits().orders_for_missing_pets {
        true => Pets::MayBeMissing,
        false => Pets::MustExist,
    };
    let placed = match new.id {
        Some(id) => {
            let order = new.with_id(id);
            petstore.db.write(move |tx| store::put(tx, order.clone(), pets)).await?
        }
        None => petstore.place_order(new.with_id(0), pets).await?,
    };
    match placed {
        Placed::Yes(order) => Ok(Reply(order)),
        Placed::NoPet | Placed::Taken => {
            let detail = format!("must be the id of a pet; there is no pet {pet}").into();
            Err(Problem::broken(&UNPROCESSABLE, vec![Invalid { pointer: "#/petId".into(), detail }]))
        }
    }
}

impl Petstore {
    /// Places an order with a free id.
    async fn place_order(&self, order: Order, pets: Pets) -> Result<Placed> {
        self.order_ids
            .assign(1, |ids| {
                let order = Order { id: ids[0], ..order.clone() };
                async move {
                    let placed = self.db.write(move |tx| store::insert(tx, order.clone(), pets)).await?;
                    Ok(Some(placed).filter(|placed| !matches!(placed, Placed::Taken)))
                }
            })
            .await
    }
}

/// Get an order
#[utoipa::path(
    get, path = "/store/order/{orderId}", operation_id = "getOrderById", tag = "store",
    params(("orderId" = i64, Path, description = "The order's id.")),
    responses(
        (status = 200, description = "The order.", body = Order),
        (status = 400, description = "Invalid ID supplied"),
        (status = 404, description = "There is no such order."),
    ),
    security(()),
)]
pub(crate) async fn get(
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Path(id): Path<i64>,
) -> Result<Response> {
    let order = petstore.db.read(move |tx| store::by_id(tx, id)).await?;
    Ok(format.reply(&order.ok_or_else(unknown)?))
}

/// Delete an order
///
/// Only orders up to id 1000 can be deleted.
#[utoipa::path(
    delete, path = "/store/order/{orderId}", operation_id = "deleteOrder", tag = "store",
    params(("orderId" = i64, Path, maximum = 1000, description = "The order's id.")),
    responses(
        (status = 200, description = "The order is gone."),
        (status = 400, description = "Invalid ID supplied"),
        (status = 404, description = "There is no such order."),
    ),
    security(()),
)]
pub(crate) async fn delete(State(petstore): State<Petstore>, Path(id): Path<i64>) -> Result<Response> {
    let habits = petstore.habits();
    if id > LAST_TO_DELETE && !habits.any_order_is_deleted {
        let detail = format!("must be at most {LAST_TO_DELETE}: orders above that cannot be deleted");
        return Err(Problem::invalid_at("{orderId}", detail));
    }
    let deleted = petstore.db.write(move |tx| store::delete(tx, id)).await?;
    habits.deleted(deleted, "The order is deleted.", unknown())
}

fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no order with this id.")
}
