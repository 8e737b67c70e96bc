//! Special events: the type and its rules.

pub(crate) mod api;
pub(crate) mod store;

use jiff::civil::Date;
use model::Resource;
use rust_decimal::Decimal;
use uuid::Uuid;
use web::input::rules::{Rule, date, list};

/// A special event of the museum.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase", table)]
#[resource(new = NewSpecialEvent, new_doc = "A special event to be.")]
#[resource(changes = SpecialEventChanges)]
#[resource(changes_doc = "What is to change about a special event; what is absent stays.")]
pub(crate) struct SpecialEvent {
    #[field(read_only, column = "id")]
    pub(crate) event_id: Uuid,
    #[field(rule = text(1..=200), example = "Pirate Coding Workshop")]
    pub(crate) name: String,
    #[field(rule = text(1..=500), example = "Computer Room")]
    pub(crate) location: String,
    #[field(rule = text(1..=5000), column = "description")]
    pub(crate) event_description: String,
    /// The days on which it takes place, in order.
    #[field(input_doc = "The days on which it takes place. Repeats count once, and any order will do.")]
    #[field(rule = dates(), json)]
    pub(crate) dates: Vec<Date>,
    /// The price of a ticket: a decimal of at most 28 digits, returned with the same digits.
    #[field(input_doc = "What a ticket costs: a decimal of at most 28 digits.")]
    #[field(rule = decimal(Decimal::ZERO..=Decimal::MAX).float(), example = 25.50)]
    pub(crate) price: Decimal,
}

fn dates() -> impl Rule<Value = Vec<Date>> {
    list(1..=366, date()).then(|_, mut dates| {
        dates.sort_unstable();
        dates.dedup();
        Some(dates)
    })
}
