//! Orders: the type and its rules.

pub(crate) mod api;
pub(crate) mod store;

use jiff::{Timestamp, Unit};
use model::{Resource, Words};
use web::{
    input::rules::{Rule, timestamp_or_utc},
    problem::UNPROCESSABLE,
};

/// An order for a pet.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase", xml = "order", form, broken = UNPROCESSABLE, table)]
#[resource(new = NewOrder, new_name = "OrderInput", new_doc = "An order as a client sends it.")]
pub(crate) struct Order {
    #[field(assigned, example = 10)]
    pub(crate) id: i64,
    #[field(input_doc = "The pet that is ordered; it must exist.", example = 198772)]
    pub(crate) pet_id: i64,
    #[field(rule = integer(1..), default = 1, example = 7)]
    pub(crate) quantity: i32,
    #[field(rule = ship_date())]
    pub(crate) ship_date: Option<Timestamp>,
    #[field(default = OrderStatus::Placed)]
    pub(crate) status: OrderStatus,
    #[field(default = false)]
    pub(crate) complete: bool,
}

/// Rounded to the precision of the database, so that later answers are equal.
fn ship_date() -> impl Rule<Value = Timestamp> {
    timestamp_or_utc().then(|_, time| time.round(Unit::Microsecond).ok())
}

/// The status of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(crate) enum OrderStatus {
    Placed,
    Approved,
    Delivered,
}
