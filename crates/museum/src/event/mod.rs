//! Special events: the type and its rules.

pub(crate) mod api;
pub(crate) mod store;

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::input::{Field, Fields, Input, rules};

/// How much an event may say, and on how many days it may be.
const LONGEST_NAME: usize = 200;
const LONGEST_LOCATION: usize = 500;
const LONGEST_DESCRIPTION: usize = 5_000;
const MOST_DATES: usize = 366;

/// A special event of the museum's.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpecialEvent {
    pub(crate) event_id: Uuid,
    #[schema(min_length = 1, max_length = 200, examples("Pirate Coding Workshop"))]
    pub(crate) name: String,
    #[schema(min_length = 1, max_length = 500, examples("Computer Room"))]
    pub(crate) location: String,
    #[schema(min_length = 1, max_length = 5000)]
    pub(crate) event_description: String,
    /// The days on which it takes place, in order.
    #[schema(min_items = 1, max_items = 366)]
    pub(crate) dates: Vec<Date>,
    /// What a ticket costs: a decimal of at most 28 digits, digit for digit as it was given.
    #[serde(serialize_with = "web::reply::decimal")]
    #[schema(value_type = f32, minimum = 0, maximum = 79228162514264337593543950335.0, examples(25.50))]
    pub(crate) price: Decimal,
}

/// A special event to be.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct NewSpecialEvent {
    #[schema(min_length = 1, max_length = 200, examples("Pirate Coding Workshop"))]
    name: String,
    #[schema(min_length = 1, max_length = 500, examples("Computer Room"))]
    location: String,
    #[schema(min_length = 1, max_length = 5000)]
    event_description: String,
    /// The days on which it takes place. Repeats count once, and any order will do.
    #[schema(min_items = 1, max_items = 366)]
    dates: Vec<Date>,
    /// What a ticket costs: a decimal of at most 28 digits.
    #[schema(value_type = f32, minimum = 0, maximum = 79228162514264337593543950335.0, examples(25.50))]
    price: Decimal,
}

impl Input for NewSpecialEvent {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", rules::text(1..=LONGEST_NAME));
        let location = fields.required("location", rules::text(1..=LONGEST_LOCATION));
        let event_description = fields.required("eventDescription", rules::text(1..=LONGEST_DESCRIPTION));
        let dates = fields.required("dates", dates);
        let price = fields.required("price", price);
        Some(NewSpecialEvent {
            name: name?,
            location: location?,
            event_description: event_description?,
            dates: dates?,
            price: price?,
        })
    }
}

impl NewSpecialEvent {
    fn with_id(self, event_id: Uuid) -> SpecialEvent {
        let NewSpecialEvent { name, location, event_description, dates, price } = self;
        SpecialEvent { event_id, name, location, event_description, dates, price }
    }
}

/// What is to change about a special event; what is absent stays.
#[derive(Clone, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct SpecialEventChanges {
    #[schema(min_length = 1, max_length = 200, required = false, nullable = false)]
    name: Option<String>,
    #[schema(min_length = 1, max_length = 500, required = false, nullable = false)]
    location: Option<String>,
    #[schema(min_length = 1, max_length = 5000, required = false, nullable = false)]
    event_description: Option<String>,
    #[schema(min_items = 1, max_items = 366, required = false, nullable = false)]
    dates: Option<Vec<Date>>,
    /// What a ticket costs: a decimal of at most 28 digits.
    #[schema(value_type = f32, minimum = 0, maximum = 79228162514264337593543950335.0,
        required = false, nullable = false, examples(15))]
    price: Option<Decimal>,
}

impl Input for SpecialEventChanges {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.optional("name", rules::text(1..=LONGEST_NAME));
        let location = fields.optional("location", rules::text(1..=LONGEST_LOCATION));
        let event_description = fields.optional("eventDescription", rules::text(1..=LONGEST_DESCRIPTION));
        let dates = fields.optional("dates", dates);
        let price = fields.optional("price", price);
        Some(SpecialEventChanges {
            name: name?,
            location: location?,
            event_description: event_description?,
            dates: dates?,
            price: price?,
        })
    }
}

impl SpecialEventChanges {
    fn apply_to(&self, event: &mut SpecialEvent) {
        fn set<T: Clone>(field: &mut T, change: Option<&T>) {
            if let Some(value) = change {
                field.clone_from(value);
            }
        }
        set(&mut event.name, self.name.as_ref());
        set(&mut event.location, self.location.as_ref());
        set(&mut event.event_description, self.event_description.as_ref());
        set(&mut event.dates, self.dates.as_ref());
        set(&mut event.price, self.price.as_ref());
    }
}

fn dates(field: &mut Field<'_>) -> Option<Vec<Date>> {
    let mut dates = rules::list(1..=MOST_DATES, rules::date)(field)?;
    dates.sort_unstable();
    dates.dedup();
    Some(dates)
}

fn price(field: &mut Field<'_>) -> Option<Decimal> {
    rules::decimal(Decimal::ZERO..=Decimal::MAX)(field)
}
