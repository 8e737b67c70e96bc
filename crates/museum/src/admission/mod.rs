//! Admissions: a ticket is used once, on its day.

pub(crate) mod api;
pub(crate) mod proof;
mod store;

use jiff::{Timestamp, civil::Date};
use model::Resource;
use uuid::Uuid;

/// The admission of a ticket.
#[derive(Debug, Clone, Resource)]
#[resource(case = "camelCase", table, readable)]
pub(crate) struct Admission {
    #[field(column = "id")]
    pub(crate) admission_id: Uuid,
    pub(crate) ticket_id: Uuid,
    /// When the ticket was admitted.
    pub(crate) admitted_at: Timestamp,
}

/// A ticket, with its admission if it was used.
#[derive(Debug, Resource)]
#[resource(case = "camelCase")]
pub(crate) struct TicketAdmissions {
    ticket_id: Uuid,
    /// The event, or "General admission".
    #[field(rule = text(1..=200), example = "General admission")]
    event_name: String,
    /// The only day on which the ticket is admitted.
    ticket_date: Date,
    /// Empty as long as the ticket was not used.
    #[field(items = 0..=1)]
    admissions: Vec<Admission>,
}
