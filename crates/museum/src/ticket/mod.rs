//! Tickets: the purchase and the sold ticket.

pub(crate) mod api;
pub(crate) mod link;
pub(crate) mod pass;
pub(crate) mod qr;
pub(crate) mod store;

use db::Word;
use jiff::{Timestamp, civil::Date};
use model::{Input, Record, Words};
use serde_json::json;
use utoipa::openapi::{
    Object, RefOr,
    schema::{OneOfBuilder, Schema},
};
use uuid::Uuid;
use web::{
    Random,
    input::{
        Fields,
        rules::{Rule, date},
    },
    schema::words,
};

use crate::Museum;

/// The kind of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(crate) enum TicketType {
    /// Regular entry to the museum.
    General,
    /// A special event.
    Event,
}

/// A purchase: a ticket for an event, or for general entry.
#[derive(Debug, Clone, Input)]
#[resource(name = "BuyMuseumTickets", case = "camelCase", check = has_its_event, described = one_of_two)]
pub(crate) struct Purchase {
    ticket_type: TicketType,
    /// The day of the visit: not in the past, not a day on which the museum is closed.
    #[field(rule = visit())]
    ticket_date: Visit,
    #[field(rule = email(), example = "todd@example.com")]
    email: String,
    /// The event of the ticket.
    event_id: Option<Uuid>,
}

/// Checks that a ticket for an event names it, and that a ticket for general entry names none.
fn has_its_event(purchase: &PartialPurchase<'_>, fields: &mut Fields<'_>) {
    match (purchase.ticket_type, purchase.event_id) {
        (Some(TicketType::Event), Some(None)) => {
            fields.fail::<()>("eventId", "is required when ticketType is event");
        }
        (Some(TicketType::General), Some(Some(_))) => {
            fields.fail::<()>("eventId", "must be left out when ticketType is general");
        }
        _ => {}
    }
}

/// The two kinds of purchase as two schemas: one schema cannot express when `eventId` is required.
fn one_of_two(mut purchase: Object) -> Schema {
    let description = purchase.description.take();
    let kind = |title: &str, word: &'static [&'static str]| {
        let mut kind = purchase.clone();
        kind.title = Some(title.into());
        kind.properties.insert("ticketType".into(), words("", word));
        kind
    };
    let mut event = kind("Event", &["event"]);
    event.required.insert(0, "eventId".into());
    if let Some(RefOr::T(Schema::Object(date))) = event.properties.get_mut("ticketDate") {
        let one = "One of the event's dates, not in the past, not a day on which the museum is closed.";
        date.description = Some(one.into());
    }
    let mut general = kind("General", &["general"]);
    general.properties.shift_remove("eventId");
    let no_event = json!({"properties": {"eventId": {}}, "required": ["eventId"]});
    general.extensions.get_or_insert_default().insert("not".into(), no_event);
    OneOfBuilder::new().description(description).item(event).item(general).into()
}

/// A day for which a ticket can be sold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    date: Date,
    /// When the museum opens on it.
    opens_at: Timestamp,
}

/// The day of a visit: not in the past, and not one on which the museum is closed.
fn visit() -> impl Rule<Value = Visit> {
    date().then(|field, date| {
        let museum = field.context::<Museum>()?;
        let today = museum.today();
        if date < today {
            return field.fail(format!("must not be in the past; today is {today}"));
        }
        match museum.hours.opening(date) {
            Some(opens_at) => Some(Visit { date, opens_at }),
            None => field.fail(format!("must be a day on which the museum is open; on {date} it is closed")),
        }
    })
}

/// A ticket as it was sold.
#[derive(Debug, Clone, Record)]
pub(crate) struct Ticket {
    pub(crate) id: Uuid,
    #[field(column = "account_id")]
    pub(crate) account: Uuid,
    pub(crate) event_id: Option<Uuid>,
    /// The event's name when the ticket was sold.
    pub(crate) event_name: Option<String>,
    pub(crate) date: Date,
    /// When the museum opens on that day, by the hours at the time of the sale.
    pub(crate) opens_at: Timestamp,
    pub(crate) email: String,
    pub(crate) confirmation_code: String,
    pub(crate) bought_at: Timestamp,
}

impl Ticket {
    fn ticket_type(&self) -> TicketType {
        if self.event_id.is_some() { TicketType::Event } else { TicketType::General }
    }

    /// The event's name, or that of general entry.
    pub(crate) fn name(&self) -> String {
        self.event_name.clone().unwrap_or_else(|| "General admission".into())
    }
}

/// A code like `ticket-event-a98c8f-7eb12`: 57 random bits.
fn confirmation_code(random: &Random, ticket_type: TicketType) -> String {
    format!("ticket-{}-{}-{}", ticket_type.word(), random.code(6), random.code(5))
}
