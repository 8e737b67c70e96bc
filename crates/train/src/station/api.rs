//! The operations on stations.

use axum::{extract::State, response::Response};
use http::{HeaderValue, header};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use web::{
    Paging, Path, Problem, Query, Result, Wanted,
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    problem::NOT_FOUND,
};

use super::{Filter, Place, StationAnswer};
use crate::{
    Train,
    caller::{Caller, Read},
    page::{self, Here, Page, PageLinks},
};

/// Stations change with the program only.
const CACHED: HeaderValue = HeaderValue::from_static("private, max-age=3600");

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct StationParameters {
    /// Which page, from 1.
    #[param(minimum = 1, required = false, default = 1)]
    page: i64,
    /// How many stations a page has.
    #[param(minimum = 1, maximum = 100, required = false, default = 10)]
    limit: i64,
    /// A place, as latitude and longitude: stations within 50 km of it, the nearest first.
    #[param(
        required = false,
        max_length = 100,
        example = "52.5200,13.4050",
        pattern = r"^[+-]?(90(\.0+)?|[0-8]?[0-9](\.[0-9]+)?),[+-]?(180(\.0+)?|(1[0-7][0-9]|[0-9]?[0-9])(\.[0-9]+)?)$"
    )]
    coordinates: String,
    /// What the name or the address has in it, without regard to case and accents: a part of it as it stands, or how its words
    /// begin, in any order. Names are also known in English.
    #[param(required = false, max_length = 100, example = "Berlin")]
    search: String,
    /// The country, by ISO 3166-1, two letters.
    #[param(required = false, pattern = "^[A-Za-z]{2}$", example = "DE")]
    country: String,
}

pub(crate) struct StationQuery {
    filter: Filter,
    paging: Paging,
}

impl Input for StationQuery {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let near = fields.optional("coordinates", coordinates);
        let search = fields.optional("search", rules::text(0..=100));
        let country = fields.optional("country", country);
        let paging = page::paging(fields);
        Some(StationQuery {
            filter: Filter { search: search?, country: country?, near: near? },
            paging: paging?,
        })
    }
}

fn coordinates(field: &mut Field<'_>) -> Option<Place> {
    const WANTED: &str =
        "must be a latitude from -90 to 90 and a longitude from -180 to 180, like 52.5200,13.4050";
    let text = rules::text(1..=100).read(field)?;
    let place = text.split_once(',').and_then(|(latitude, longitude)| {
        Some(Place { latitude: degrees(latitude, 90.0)?, longitude: degrees(longitude, 180.0)? })
    });
    place.map_or_else(|| field.fail(WANTED), Some)
}

/// Degrees as people write them: the library would also take `inf`, `NaN` and `1e1`.
fn degrees(text: &str, most: f64) -> Option<f64> {
    let text = text.trim();
    let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    text.parse::<f64>().ok().filter(|degrees| plain && degrees.abs() <= most)
}

pub(crate) fn country(field: &mut Field<'_>) -> Option<String> {
    let text = rules::text(1..=100).read(field)?;
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        Some(text.to_ascii_uppercase())
    } else {
        field.fail("must be a country of two letters, like DE")
    }
}

/// A page of stations.
#[derive(ToSchema)]
#[schema(as = StationPage, xml(name = "data"))]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct StationPage<'t> {
    #[schema(xml(wrapped(name = "stations")))]
    data: Vec<StationAnswer<'t>>,
    links: PageLinks,
}

/// List stations
#[utoipa::path(
    get, path = "/stations", operation_id = "get-stations", tag = "Stations",
    params(StationParameters),
    responses((status = 200, description = "A page of the stations that fit.",
        content((StationPage<'static> = "application/json"), (StationPage<'static> = "application/xml")))),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    _caller: Caller<Read>,
    wanted: Wanted,
    State(train): State<Train>,
    here: Here,
    Query(StationQuery { filter, paging }): Query<StationQuery>,
) -> Result<Response> {
    let (found, more) = page::cut(filter.of(&train.timetable.stations), paging);
    let links = here.links(&train.address, paging, more);
    let data: Vec<_> = found.into_iter().map(super::Station::answer).collect();
    Ok(cached(Page { data, links, name: "stations" }.reply(wanted), CACHED))
}

/// Get a station
#[utoipa::path(
    get, path = "/stations/{stationId}", operation_id = "get-station", tag = "Stations",
    params(("stationId" = Uuid, Path, description = "The station's id.")),
    responses(
        (status = 200, description = "The station.",
            content((StationAnswer<'static> = "application/json"), (StationAnswer<'static> = "application/xml"))),
        (status = 404, description = "There is no such station."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    _caller: Caller<Read>,
    wanted: Wanted,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let station = train.timetable.station(id);
    let station = station.ok_or_else(|| Problem::new(&NOT_FOUND, "There is no station with this id."))?;
    Ok(cached(wanted.reply(&station.answer()), CACHED))
}

/// The same answer, to be kept for a while.
pub(crate) fn cached(mut response: Response, how: HeaderValue) -> Response {
    if response.status().is_success() {
        response.headers_mut().insert(header::CACHE_CONTROL, how);
    }
    response
}
