//! Stations: the type and the search.

pub(crate) mod api;
mod search;

use jiff::tz::TimeZone;
use model::Resource;
use uuid::Uuid;

pub(crate) use search::{Coordinates, Filter, Names};

/// A station of the timetable.
pub(crate) struct Station {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) country: String,
    pub(crate) zone: TimeZone,
    pub(crate) place: Coordinates,
    searched: search::Searched,
}

impl Station {
    pub(crate) fn new(
        id: Uuid,
        names: Names<'_>,
        country: &str,
        zone: TimeZone,
        (latitude, longitude): (f64, f64),
    ) -> Self {
        Station {
            id,
            name: names.name.into(),
            address: names.address.into(),
            country: country.into(),
            zone,
            place: Coordinates { latitude, longitude },
            searched: names.searched(),
        }
    }

    pub(crate) fn answer(&self) -> StationAnswer<'_> {
        StationAnswer {
            id: self.id,
            name: &self.name,
            address: &self.address,
            country_code: &self.country,
            timezone: self.zone.iana_name().unwrap_or_default(),
            latitude: self.place.latitude,
            longitude: self.place.longitude,
        }
    }
}

/// A station as clients see it.
#[derive(Resource)]
#[resource(name = "Station", xml = "station", list = "stations")]
pub(crate) struct StationAnswer<'t> {
    #[field(example = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e")]
    id: Uuid,
    #[field(rule = text(1..), example = "Berlin Hauptbahnhof")]
    name: &'t str,
    #[field(rule = text(1..), example = "Europaplatz 1, 10557 Berlin, Germany")]
    address: &'t str,
    /// By ISO 3166-1, two letters.
    #[field(rule = text(..).pattern("^[A-Z]{2}$"), example = "DE")]
    country_code: &'t str,
    /// By its name in the IANA database.
    #[field(rule = text(1..), example = "Europe/Berlin")]
    timezone: &'t str,
    #[field(rule = number(-90.0..=90.0), example = 52.5251)]
    latitude: f64,
    #[field(rule = number(-180.0..=180.0), example = 13.3694)]
    longitude: f64,
}
