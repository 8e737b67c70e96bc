//! Trips: a train of the timetable on a day, with its free seats.

pub(crate) mod api;
pub(crate) mod store;
#[cfg(test)]
mod store_tests;
mod when;

use jiff::Timestamp;
use model::Resource;
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    link::{link, uri},
    money::{amount, currency_code},
    station::Station,
    timetable::Run,
};

/// A trip as clients see it.
#[derive(Resource)]
#[resource(name = "Trip", xml = "trip", list = "trips")]
pub(crate) struct TripAnswer<'t> {
    id: Uuid,
    /// The station it starts from.
    origin: Uuid,
    /// The station it goes to.
    destination: Uuid,
    departure_time: Timestamp,
    arrival_time: Timestamp,
    #[field(rule = text(1..), example = "Deutsche Bahn")]
    operator: &'t str,
    #[field(rule = amount(), example = 89.00)]
    price: Decimal,
    /// By ISO 4217, in lower case.
    #[field(rule = currency_code(), example = "eur")]
    currency: &'t str,
    bicycles_allowed: bool,
    dogs_allowed: bool,
    /// How many seats can still be booked.
    #[field(rule = integer::<i64>(0..))]
    seats_available: i64,
    links: TripLinks<'t>,
}

#[derive(Resource)]
#[resource(xml = "links")]
pub(crate) struct TripLinks<'t> {
    #[field(name = "self", rule = uri())]
    this: String,
    #[field(rule = uri())]
    origin: &'t str,
    #[field(rule = uri())]
    destination: &'t str,
}

/// The stations of a trip and their addresses, made once for all trips between them.
pub(crate) struct StationLinks {
    origin: (Uuid, String),
    destination: (Uuid, String),
}

impl StationLinks {
    pub(crate) fn new(address: &str, origin: &Station, destination: &Station) -> Self {
        let station = |station: &Station| (station.id, link(address, "/stations/", station.id));
        StationLinks { origin: station(origin), destination: station(destination) }
    }
}

impl<'t> TripAnswer<'t> {
    pub(crate) fn new(run: &Run<'t>, taken: i64, address: &str, stations: &'t StationLinks) -> Self {
        let service = run.service;
        TripAnswer {
            id: run.id,
            origin: stations.origin.0,
            destination: stations.destination.0,
            departure_time: run.departure,
            arrival_time: run.arrival,
            operator: &service.operator,
            price: service.price,
            currency: &service.currency,
            bicycles_allowed: service.bicycles,
            dogs_allowed: service.dogs,
            seats_available: (service.seats - taken).max(0),
            links: TripLinks {
                this: link(address, "/trips/", run.id),
                origin: &stations.origin.1,
                destination: &stations.destination.1,
            },
        }
    }
}
