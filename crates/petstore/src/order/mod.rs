//! Orders: the type and its rules.

pub(crate) mod api;
pub(crate) mod store;
mod xml;

use jiff::{Timestamp, Unit};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    input::{Fields, Input, rules},
    problem::{Kind, UNPROCESSABLE},
};

/// An order for a pet.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(xml(name = "order"))]
pub(crate) struct Order {
    #[schema(examples(10))]
    pub(crate) id: i64,
    #[schema(examples(198772))]
    pub(crate) pet_id: i64,
    #[schema(minimum = 1, examples(7))]
    pub(crate) quantity: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, format = DateTime)]
    pub(crate) ship_date: Option<Timestamp>,
    pub(crate) status: OrderStatus,
    pub(crate) complete: bool,
}

/// How far an order has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OrderStatus {
    Placed,
    Approved,
    Delivered,
}

impl OrderStatus {
    const WORDS: &[(&str, OrderStatus)] = &[
        ("placed", OrderStatus::Placed),
        ("approved", OrderStatus::Approved),
        ("delivered", OrderStatus::Delivered),
    ];

    pub(crate) fn word(self) -> &'static str {
        OrderStatus::WORDS[self as usize].0
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        OrderStatus::WORDS.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
    }
}

/// An order as a client sends it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = OrderInput, xml(name = "order"))]
pub(crate) struct NewOrder {
    /// Assigned if it is absent.
    #[schema(required = false, nullable = false)]
    id: Option<i64>,
    /// The pet that is ordered; it must exist.
    #[schema(examples(198772))]
    pet_id: i64,
    #[schema(required = false, minimum = 1, default = 1)]
    quantity: i32,
    #[schema(value_type = String, required = false, format = DateTime)]
    ship_date: Option<Timestamp>,
    #[schema(required = false, default = "placed")]
    status: OrderStatus,
    #[schema(required = false, default = false)]
    complete: bool,
}

impl Input for NewOrder {
    const XML_ROOT: Option<&'static str> = Some("order");
    const FORM: bool = true;
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id);
        let pet_id = fields.required("petId", rules::id);
        let quantity = fields.optional("quantity", rules::integer(1..=i32::MAX.into()));
        let ship_date = fields.optional("shipDate", rules::timestamp_or_utc);
        let status = fields.optional("status", rules::one_of(OrderStatus::WORDS));
        let complete = fields.optional("complete", rules::boolean);
        Some(NewOrder {
            id: id?,
            pet_id: pet_id?,
            quantity: i32::try_from(quantity?.unwrap_or(1)).ok()?,
            // As exactly as it is kept, so that the answer is what a later one says.
            ship_date: ship_date?.and_then(|time| time.round(Unit::Microsecond).ok()),
            status: status?.unwrap_or(OrderStatus::Placed),
            complete: complete?.unwrap_or(false),
        })
    }
}

impl NewOrder {
    fn with_id(self, id: i64) -> Order {
        let NewOrder { id: _, pet_id, quantity, ship_date, status, complete } = self;
        Order { id, pet_id, quantity, ship_date, status, complete }
    }
}
