//! Trips: a train of the timetable on a day, with what is left of its seats.

pub(crate) mod api;
pub(crate) mod store;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::xml::{ToXml, Xml};

use crate::timetable::{Run, Timetable};

/// A trip as clients see it.
#[derive(Serialize, ToSchema)]
#[schema(as = Trip, xml(name = "trip"))]
pub(crate) struct TripAnswer<'t> {
    id: Uuid,
    /// The station it starts from.
    origin: Uuid,
    /// The station it goes to.
    destination: Uuid,
    #[schema(value_type = String, format = DateTime)]
    departure_time: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    arrival_time: Timestamp,
    #[schema(value_type = String, min_length = 1, examples("Deutsche Bahn"))]
    operator: &'t str,
    #[serde(serialize_with = "web::reply::decimal")]
    #[schema(value_type = f64, minimum = 0, examples(89.00))]
    price: Decimal,
    /// By ISO 4217, in lower case.
    #[schema(value_type = String, pattern = "^[a-z]{3}$", examples("eur"))]
    currency: &'t str,
    bicycles_allowed: bool,
    dogs_allowed: bool,
    /// How many seats can still be booked.
    #[schema(minimum = 0)]
    seats_available: i64,
    links: TripLinks,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TripLinks {
    #[serde(rename = "self")]
    #[schema(format = "uri")]
    this: String,
    #[schema(format = "uri")]
    origin: String,
    #[schema(format = "uri")]
    destination: String,
}

impl<'t> TripAnswer<'t> {
    pub(crate) fn new(run: &Run<'t>, timetable: &Timetable, taken: i64, address: &str) -> Self {
        let service = run.service;
        let (origin, destination) =
            (timetable.stations[service.origin].id, timetable.stations[service.destination].id);
        TripAnswer {
            id: run.id,
            origin,
            destination,
            departure_time: run.departure,
            arrival_time: run.arrival,
            operator: &service.operator,
            price: service.price,
            currency: &service.currency,
            bicycles_allowed: service.bicycles,
            dogs_allowed: service.dogs,
            seats_available: (service.seats - taken).max(0),
            links: TripLinks {
                this: format!("{address}/trips/{}", run.id),
                origin: format!("{address}/stations/{origin}"),
                destination: format!("{address}/stations/{destination}"),
            },
        }
    }
}

impl ToXml for TripAnswer<'_> {
    const ROOT: &'static str = "trip";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.value("origin", self.origin);
        xml.value("destination", self.destination);
        xml.value("departure_time", self.departure_time);
        xml.value("arrival_time", self.arrival_time);
        xml.text("operator", self.operator);
        xml.value("price", self.price);
        xml.text("currency", self.currency);
        xml.value("bicycles_allowed", self.bicycles_allowed);
        xml.value("dogs_allowed", self.dogs_allowed);
        xml.value("seats_available", self.seats_available);
        xml.element("links", |xml| {
            xml.text("self", &self.links.this);
            xml.text("origin", &self.links.origin);
            xml.text("destination", &self.links.destination);
        });
    }
}
