//! Examples in the OpenAPI document that work when they are sent to a demo: future days, and a demo event.

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use utoipa::openapi::OpenApi;
use web::openapi::{body_example, body_examples, parameter_example};

use crate::{demo, hours::Hours};

/// The document with examples for this time.
pub(crate) fn add(mut document: OpenApi, hours: &Hours, now: Timestamp) -> OpenApi {
    let today = hours.today(now);
    let (event, days) = demo::example(today, hours);
    // The first, so that the ticket of a day on which the museum is open can be admitted at once.
    let day = days.first().copied().unwrap_or(today).to_string();
    parameter_example(&mut document, "startDate", today.to_string());
    parameter_example(&mut document, "endDate", today.saturating_add(7.days()).to_string());
    parameter_example(&mut document, "eventId", event.to_string());
    let new = json!({
        "name": "Mermaid Treasure Identification and Analysis",
        "location": "Under the sea",
        "eventDescription": "Join us as we review and classify a rare collection of 20 thingamabobs, gadgets, gizmos, and whatsits.",
        "dates": days.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "price": 12.5,
    });
    body_example(&mut document, "createSpecialEvent", new);
    body_example(&mut document, "updateSpecialEvent", json!({"location": "On the beach", "price": 15}));
    let email = "todd@example.com";
    let tickets = [
        ("event_entry", json!({"ticketType": "event", "eventId": event, "ticketDate": day, "email": email})),
        ("general_entry", json!({"ticketType": "general", "ticketDate": day, "email": email})),
    ];
    body_examples(&mut document, "buyMuseumTickets", tickets);
    document
}
