//! Stations: the type, and how they are found.

pub(crate) mod api;
mod search;

use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use web::xml::{ToXml, Xml};

pub(crate) use search::{Filter, Names, Place};

/// A station of the timetable.
pub(crate) struct Station {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) country: String,
    pub(crate) zone: TimeZone,
    pub(crate) place: Place,
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
            place: Place { latitude, longitude },
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
#[derive(Serialize, ToSchema)]
#[schema(as = Station, xml(name = "station"))]
pub(crate) struct StationAnswer<'t> {
    #[schema(examples("efdbb9d1-02c2-4bc3-afb7-6788d8782b1e"))]
    id: Uuid,
    #[schema(value_type = String, min_length = 1, examples("Berlin Hauptbahnhof"))]
    name: &'t str,
    #[schema(value_type = String, min_length = 1, examples("Europaplatz 1, 10557 Berlin, Germany"))]
    address: &'t str,
    /// By ISO 3166-1, two letters.
    #[schema(value_type = String, pattern = "^[A-Z]{2}$", examples("DE"))]
    country_code: &'t str,
    /// By its name in the IANA database.
    #[schema(value_type = String, min_length = 1, examples("Europe/Berlin"))]
    timezone: &'t str,
    #[schema(minimum = -90, maximum = 90, examples(52.5251))]
    latitude: f64,
    #[schema(minimum = -180, maximum = 180, examples(13.3694))]
    longitude: f64,
}

impl ToXml for StationAnswer<'_> {
    const ROOT: &'static str = "station";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.text("name", self.name);
        xml.text("address", self.address);
        xml.text("country_code", self.country_code);
        xml.text("timezone", self.timezone);
        xml.value("latitude", self.latitude);
        xml.value("longitude", self.longitude);
    }
}
