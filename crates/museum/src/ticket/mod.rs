//! Tickets: what can be bought, and what one says.

pub(crate) mod api;
pub(crate) mod store;

use std::borrow::Cow;

use jiff::{Timestamp, civil::Date};
use serde::Serialize;
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};
use uuid::Uuid;
use web::{
    Chance,
    input::{Field, Fields, Input, rules},
};

use crate::Museum;

/// What a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TicketType {
    /// Regular entry to the museum.
    General,
    /// A special event.
    Event,
}

impl TicketType {
    fn word(self) -> &'static str {
        match self {
            TicketType::General => "general",
            TicketType::Event => "event",
        }
    }
}

/// A ticket to be bought: for an event, or for general entry.
#[derive(Serialize, ToSchema)]
#[serde(tag = "ticketType", rename_all = "lowercase")]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
enum PurchaseKinds {
    #[schema(title = "Event")]
    Event {
        /// Which event the ticket is for.
        #[serde(rename = "eventId")]
        event_id: Uuid,
        /// One of the event's dates, not in the past, not a day on which the museum is closed.
        #[serde(rename = "ticketDate")]
        ticket_date: Date,
        #[schema(format = Email, examples("todd@example.com"))]
        email: String,
    },
    #[schema(title = "General")]
    General {
        /// The day of the visit: not in the past, not a day on which the museum is closed.
        #[serde(rename = "ticketDate")]
        ticket_date: Date,
        #[schema(format = Email, examples("todd@example.com"))]
        email: String,
    },
}

/// The same with what the derive cannot say: a general ticket has no event.
pub(crate) struct PurchaseDocument;

impl PartialSchema for PurchaseDocument {
    fn schema() -> RefOr<Schema> {
        let mut schema = PurchaseKinds::schema();
        if let RefOr::T(Schema::OneOf(kinds)) = &mut schema
            && let Some(RefOr::T(Schema::Object(general))) = kinds.items.last_mut()
        {
            let no_event = json!({"properties": {"eventId": {}}, "required": ["eventId"]});
            general.extensions.get_or_insert_default().insert("not".into(), no_event);
        }
        schema
    }
}

impl ToSchema for PurchaseDocument {
    fn name() -> Cow<'static, str> {
        "BuyMuseumTickets".into()
    }
}

/// A ticket to be bought, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Purchase {
    event_id: Option<Uuid>,
    visit: Visit,
    email: String,
}

/// A day on which a visitor can be let in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    date: Date,
    /// When the museum opens on it.
    opens_at: Timestamp,
}

impl Museum {
    /// The day of a visit: not in the past, and not one on which the museum is closed.
    fn visit(&self, field: &mut Field<'_>) -> Option<Visit> {
        let date = rules::date(field)?;
        let today = self.hours.today(self.clock.now());
        if date < today {
            return field.fail(format!("must not be in the past; today is {today}"));
        }
        match self.hours.opening(date) {
            Some(opens_at) => Some(Visit { date, opens_at }),
            None => field.fail(format!("must be a day on which the museum is open; on {date} it is closed")),
        }
    }
}

impl Input for Purchase {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let types: &[_] = &[("general", TicketType::General), ("event", TicketType::Event)];
        let ticket_type = fields.required("ticketType", rules::one_of(types));
        let museum = fields.facts::<Museum>()?;
        let visit = fields.required("ticketDate", |field| museum.visit(field));
        let email = fields.required("email", rules::email);
        let event_id = fields.optional("eventId", rules::uuid)?;
        let event_id = match (ticket_type?, event_id) {
            (TicketType::Event, None) => fields.fail("eventId", "is required when ticketType is event")?,
            (TicketType::General, Some(_)) => {
                fields.fail("eventId", "must be left out when ticketType is general")?
            }
            (_, event_id) => event_id,
        };
        Some(Purchase { event_id, visit: visit?, email: email? })
    }
}

/// A ticket as it was sold.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) id: Uuid,
    pub(crate) account: Uuid,
    pub(crate) event: Option<TicketEvent>,
    pub(crate) date: Date,
    /// When the museum opens on that day, as it stood when the ticket was sold.
    pub(crate) opens_at: Timestamp,
    pub(crate) email: String,
    pub(crate) confirmation_code: String,
    pub(crate) bought_at: Timestamp,
}

/// The event that a ticket is for, as it was called when the ticket was sold.
#[derive(Debug, Clone)]
pub(crate) struct TicketEvent {
    pub(crate) id: Uuid,
    pub(crate) name: String,
}

impl Ticket {
    fn ticket_type(&self) -> TicketType {
        if self.event.is_some() { TicketType::Event } else { TicketType::General }
    }
}

/// A code like `ticket-event-a98c8f-7eb12`: 57 bits that nobody can guess.
fn confirmation_code(chance: &Chance, ticket_type: TicketType) -> String {
    format!("ticket-{}-{}-{}", ticket_type.word(), chance.code(6), chance.code(5))
}
