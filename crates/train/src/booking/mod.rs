//! Bookings: a hold on a seat until it is paid for or expires.

pub(crate) mod api;
pub(crate) mod qr;
pub(crate) mod store;

use jiff::Timestamp;
use model::{Resource, Words};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use web::Random;

use crate::link::{link, uri};

/// The name of the event of a new booking.
pub(crate) const NEW_BOOKING: &str = "newBooking";

/// A booking of a seat on a trip.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "booking", list = "bookings", table)]
#[resource(new = NewBooking, new_name = "BookingInput", new_doc = "A booking to be.", new_derive(Serialize))]
pub(crate) struct Booking {
    #[field(read_only)]
    pub(crate) id: Uuid,
    pub(crate) trip_id: Uuid,
    #[field(rule = text(1..=200), example = "John Doe")]
    pub(crate) passenger_name: String,
    #[field(default = false)]
    pub(crate) has_bicycle: bool,
    #[field(default = false)]
    pub(crate) has_dog: bool,
    #[field(read_only)]
    pub(crate) status: Status,
    /// When the hold expires, if the booking is held.
    #[field(read_only)]
    pub(crate) expires_at: Option<Timestamp>,
    #[field(read_only, computed)]
    pub(crate) links: BookingLinks,
}

/// The status of a booking. A cancelled booking gets 404.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(name = "BookingStatus")]
pub(crate) enum Status {
    /// The seat is held until `expires_at`, for a payment.
    Held,
    /// It is paid for.
    Confirmed,
    /// It was not paid for in time.
    Expired,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Resource)]
#[resource(xml = "links")]
#[serde(default)]
pub(crate) struct BookingLinks {
    #[serde(rename = "self")]
    #[field(name = "self", rule = uri())]
    this: String,
    #[field(rule = uri())]
    trip: String,
}

impl Booking {
    /// Whether it is a hold past its time. A confirmed booking does not expire.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.status == Status::Held && self.expires_at.is_none_or(|end| end <= now)
    }

    /// The booking at a time: a hold past its time is expired.
    pub(crate) fn at(mut self, now: Timestamp) -> Self {
        if self.is_due(now) {
            self.status = Status::Expired;
        }
        if self.status != Status::Held {
            self.expires_at = None;
        }
        self
    }

    /// The booking with its links. Links of a stored answer stay as they were sent first; an answer that an earlier version
    /// stored has no link to its trip.
    pub(crate) fn linked(mut self, address: &str) -> Self {
        let BookingLinks { this, trip } = &mut self.links;
        if this.is_empty() {
            *this = link(address, "/bookings/", self.id);
        }
        if trip.is_empty() {
            *trip = link(address, "/trips/", self.trip_id);
        }
        self
    }
}

/// The id of a new booking. Bookings are listed by their ids, so the ids are ordered also within a millisecond, in which several
/// bookings may be made.
pub(crate) fn new_id(random: &Random, now: Timestamp) -> Uuid {
    let mut bytes = random.uuid(now).into_bytes();
    // RFC 9562, 6.2, method 3: the twelve bits after the version are 4096ths of a millisecond.
    let part = i64::from(now.subsec_nanosecond()).rem_euclid(1_000_000) * 4096 / 1_000_000;
    bytes[6] = 0x70 | (part >> 8) as u8;
    bytes[7] = (part & 0xff) as u8;
    Uuid::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_ordered_within_a_millisecond() {
        let random = Random::system();
        let start: Timestamp = "2026-05-13T10:00:00Z".parse().unwrap();
        let ids: Vec<_> =
            (0..2500).map(|step| new_id(&random, start + SignedDuration::from_micros(step))).collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        for id in &ids {
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        }
        // Ids of the same time differ.
        assert_ne!(new_id(&random, start), new_id(&random, start));
    }

    const ID: Uuid = Uuid::from_u128(1);
    const TRIP: Uuid = Uuid::from_u128(2);

    #[test]
    fn answer_of_an_earlier_version_gets_the_link_to_its_trip() {
        let stored = json!({
            "id": ID, "trip_id": TRIP, "passenger_name": "Ada", "has_bicycle": false, "has_dog": true,
            "status": "held", "expires_at": "2026-05-13T11:00:00Z", "links": {"self": "https://old.example/1"},
        });
        let booking: Booking = serde_json::from_value(stored.clone()).unwrap();
        let mut linked = stored;
        linked["links"]["trip"] = json!(format!("https://new.example/trips/{TRIP}"));
        assert_eq!(serde_json::to_value(booking.linked("https://new.example")).unwrap(), linked);
    }

    /// The fingerprints of stored requests were computed from this text.
    #[test]
    fn body_has_the_same_text_in_every_version() {
        let new =
            NewBooking { trip_id: TRIP, passenger_name: "Ada".into(), has_bicycle: false, has_dog: true };
        let text =
            format!(r#"{{"trip_id":"{TRIP}","passenger_name":"Ada","has_bicycle":false,"has_dog":true}}"#);
        assert_eq!(serde_json::to_string(&new).unwrap(), text);
    }
}
