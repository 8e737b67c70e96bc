//! Bookings: a hold on a seat until it is paid for, or its time runs out.

pub(crate) mod api;
pub(crate) mod store;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;
use web::{
    Chance,
    input::{Fields, Input, rules},
    xml::{ToXml, Xml},
};

/// What becomes of a booking. A cancelled one is nobody's to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = BookingStatus)]
pub(crate) enum Status {
    /// The seat is kept until `expires_at`, and waits to be paid for.
    Held,
    /// It is paid for.
    Confirmed,
    /// It was not paid for in time.
    Expired,
}

impl Status {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::Held => "held",
            Status::Confirmed => "confirmed",
            Status::Expired => "expired",
        }
    }
}

/// A booking as it is kept, and as it stands at a moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Booking {
    pub(crate) id: Uuid,
    pub(crate) trip: Uuid,
    pub(crate) passenger_name: String,
    pub(crate) has_bicycle: bool,
    pub(crate) has_dog: bool,
    pub(crate) status: Status,
    pub(crate) expires_at: Timestamp,
}

/// The id of a new booking. Bookings are listed by their ids, so these follow the time more closely than others do: within a
/// millisecond, somebody may make several.
pub(crate) fn new_id(chance: &Chance, now: Timestamp) -> Uuid {
    let mut bytes = chance.uuid(now).into_bytes();
    // RFC 9562, 6.2, method 3: the twelve bits after the version are 4096ths of a millisecond.
    let part = i64::from(now.subsec_nanosecond()).rem_euclid(1_000_000) * 4096 / 1_000_000;
    bytes[6] = 0x70 | (part >> 8) as u8;
    bytes[7] = (part & 0xff) as u8;
    Uuid::from_bytes(bytes)
}

impl Booking {
    pub(crate) fn answer(self, address: &str) -> BookingAnswer {
        BookingAnswer {
            id: self.id,
            trip_id: self.trip,
            passenger_name: self.passenger_name,
            has_bicycle: self.has_bicycle,
            has_dog: self.has_dog,
            status: self.status,
            expires_at: (self.status == Status::Held).then_some(self.expires_at),
            links: BookingLinks::new(address, self.id, self.trip),
        }
    }
}

impl BookingAnswer {
    /// The same with the link to its trip, which an answer that an earlier version kept lacks. What it has stays as it was
    /// answered first.
    pub(crate) fn linked(mut self, address: &str) -> Self {
        if self.links.trip.is_empty() {
            self.links.trip = BookingLinks::new(address, self.id, self.trip_id).trip;
        }
        self
    }
}

/// A booking as clients see it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Booking, xml(name = "booking"))]
pub(crate) struct BookingAnswer {
    pub(crate) id: Uuid,
    trip_id: Uuid,
    #[schema(min_length = 1, max_length = 200, examples("John Doe"))]
    passenger_name: String,
    has_bicycle: bool,
    has_dog: bool,
    status: Status,
    /// Until when it is held, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false, nullable = false)]
    expires_at: Option<Timestamp>,
    links: BookingLinks,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
struct BookingLinks {
    #[serde(rename = "self")]
    #[schema(format = "uri")]
    this: String,
    #[serde(default)]
    #[schema(required = true, format = "uri")]
    trip: String,
}

impl BookingLinks {
    fn new(address: &str, booking: Uuid, trip: Uuid) -> Self {
        BookingLinks {
            this: format!("{address}/bookings/{booking}"),
            trip: format!("{address}/trips/{trip}"),
        }
    }
}

impl ToXml for BookingAnswer {
    const ROOT: &'static str = "booking";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.value("trip_id", self.trip_id);
        xml.text("passenger_name", &self.passenger_name);
        xml.value("has_bicycle", self.has_bicycle);
        xml.value("has_dog", self.has_dog);
        xml.text("status", self.status.word());
        if let Some(expires_at) = self.expires_at {
            xml.value("expires_at", expires_at);
        }
        xml.element("links", |xml| {
            xml.text("self", &self.links.this);
            xml.text("trip", &self.links.trip);
        });
    }
}

impl web::xml::Listed for BookingAnswer {
    const LIST: &'static str = "bookings";
}

/// A booking to be.
#[derive(ToSchema, Serialize)]
#[schema(as = BookingInput, xml(name = "booking"))]
pub(crate) struct NewBooking {
    pub(crate) trip_id: Uuid,
    #[schema(min_length = 1, max_length = 200, examples("John Doe"))]
    pub(crate) passenger_name: String,
    #[schema(required = false, default = false)]
    pub(crate) has_bicycle: bool,
    #[schema(required = false, default = false)]
    pub(crate) has_dog: bool,
}

impl Input for NewBooking {
    const XML_ROOT: Option<&'static str> = Some("booking");

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let trip_id = fields.required("trip_id", rules::uuid());
        let passenger_name = fields.required("passenger_name", rules::text(1..=200));
        let has_bicycle = fields.optional("has_bicycle", rules::boolean());
        let has_dog = fields.optional("has_dog", rules::boolean());
        Some(NewBooking {
            trip_id: trip_id?,
            passenger_name: passenger_name?,
            has_bicycle: has_bicycle?.unwrap_or(false),
            has_dog: has_dog?.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn ids_follow_the_time_within_a_millisecond() {
        let chance = Chance::system();
        let start: Timestamp = "2026-05-13T10:00:00Z".parse().unwrap();
        let ids: Vec<_> =
            (0..2500).map(|step| new_id(&chance, start + SignedDuration::from_micros(step))).collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        for id in &ids {
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        }
        // At one moment, each is still another.
        assert_ne!(new_id(&chance, start), new_id(&chance, start));
    }
}
