//! The operations on stations.

use axum::{extract::State, response::Response};
use http::HeaderValue;
use model::Parameters;
use uuid::Uuid;
use web::{
    Paging, Path, Problem, Query, ResponseFormat, Result,
    input::rules::{Rule, text},
    problem::NOT_FOUND,
};

use super::{Coordinates, Filter, StationAnswer};
use crate::{
    Train,
    cache::cached,
    caller::{Caller, Read},
    country::country,
    page::{self, MOST, Page, PageAddress, USUAL},
    trip::api::{StationAt, station},
};

/// Stations change only with the program.
const CACHED: HeaderValue = HeaderValue::from_static("private, max-age=3600");

#[derive(Parameters)]
pub(crate) struct StationQuery {
    /// Coordinates as latitude and longitude: finds stations within 50 km, the nearest first.
    #[field(rule = coordinates(), example = "52.5200,13.4050")]
    coordinates: Option<Coordinates>,
    /// Text in the name or the address, without regard to case and accents: a part of it, or the beginnings of its words in any
    /// order. English names are found too.
    #[field(rule = text(0..=100), example = "Berlin")]
    search: Option<String>,
    /// The country, by ISO 3166-1, two letters.
    #[field(rule = country(), example = "DE")]
    country: Option<String>,
    /// Only stations to which a direct train goes from this station.
    #[field(rule = station(), example = "b2e783e1-c824-4d63-b37a-d8d698862f1d")]
    direct_from: Option<StationAt>,
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many stations a page has.
    #[field(rule = limit(MOST), default = USUAL)]
    limit: i64,
}

fn coordinates() -> impl Rule<Value = Coordinates> {
    const WANTED: &str =
        "must be a latitude from -90 to 90 and a longitude from -180 to 180, like 52.5200,13.4050";
    const PATTERN: &str =
        r"^[+-]?(90(\.0+)?|[0-8]?[0-9](\.[0-9]+)?),[+-]?(180(\.0+)?|(1[0-7][0-9]|[0-9]?[0-9])(\.[0-9]+)?)$";
    text(1..=100).pattern(PATTERN).then(|field, text: String| {
        let place = text.split_once(',').and_then(|(latitude, longitude)| {
            Some(Coordinates { latitude: degrees(latitude, 90.0)?, longitude: degrees(longitude, 180.0)? })
        });
        place.map_or_else(|| field.fail(WANTED), Some)
    })
}

/// Degrees in plain decimal notation: the library also accepts `inf`, `NaN` and `1e1`.
fn degrees(text: &str, most: f64) -> Option<f64> {
    let text = text.trim();
    let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    text.parse::<f64>().ok().filter(|degrees| plain && degrees.abs() <= most)
}

/// A page of stations, as the document describes it.
type StationPage = Page<StationAnswer<'static>>;

/// List stations
#[utoipa::path(
    get, path = "/stations", operation_id = "get-stations", tag = "Stations",
    params(StationQuery),
    responses((status = 200, description = "A page of the stations that fit.",
        body = StationPage)),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    _caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    here: PageAddress,
    Query(query): Query<StationQuery>,
) -> Result<Response> {
    let paging = Paging::new(query.page, query.limit);
    let filter = Filter { search: query.search, country: query.country, near: query.coordinates };
    let mut found = filter.of(&train.timetable.stations);
    if let Some(origin) = query.direct_from {
        found.retain(|station| train.timetable.is_direct(origin, station.id));
    }
    let (found, more) = page::cut(found, paging);
    let links = here.links(&train.address, paging, more);
    let data: Vec<_> = found.into_iter().map(super::Station::answer).collect();
    Ok(cached(format.reply(&Page { data, links }), CACHED))
}

/// Get a station
#[utoipa::path(
    get, path = "/stations/{stationId}", operation_id = "get-station", tag = "Stations",
    params(("stationId" = Uuid, Path, description = "The station's id.")),
    responses(
        (status = 200, description = "The station.",
            body = StationAnswer<'static>),
        (status = 404, description = "There is no such station."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    _caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let station = train.timetable.station(id);
    let station = station.ok_or_else(|| Problem::new(&NOT_FOUND, "There is no station with this id."))?;
    Ok(cached(format.reply(&station.answer()), CACHED))
}
