//! The operations on trips.

use std::collections::HashMap;

use axum::{extract::State, response::Response};
use http::HeaderValue;
use jiff::{Timestamp, civil::Date, civil::DateTime, tz::TimeZone};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type},
    },
};
use uuid::Uuid;
use web::{
    Paging, Path, Problem, Query, Result, Wanted,
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    problem::NOT_FOUND,
};

use super::{TripAnswer, store};
use crate::{
    Train,
    caller::{Caller, Read},
    page::{self, Here, Page, PageLinks},
    station::api::cached,
    timetable::{Run, Timetable},
};

/// Seats come and go.
const CACHED: HeaderValue = HeaderValue::from_static("private, max-age=5");

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct TripParameters {
    /// The station to start from.
    #[param(example = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e")]
    origin: Uuid,
    /// The station to go to.
    #[param(example = "b2e783e1-c824-4d63-b37a-d8d698862f1d")]
    destination: Uuid,
    /// A day, or a time from which to the end of its day, where the origin is. A time with an offset is taken as it is.
    #[param(value_type = DayOrTime, inline, example = "2026-12-01")]
    date: String,
    /// Only trips that take bicycles.
    #[param(required = false, default = false)]
    bicycles: bool,
    /// Only trips that take dogs.
    #[param(required = false, default = false)]
    dogs: bool,
    /// Which page, from 1.
    #[param(minimum = 1, required = false, default = 1)]
    page: i64,
    /// How many trips a page has.
    #[param(minimum = 1, maximum = 100, required = false, default = 10)]
    limit: i64,
}

pub(crate) struct TripQuery {
    /// Where the stations stand in the timetable's list.
    origin: usize,
    destination: usize,
    /// The day, and from when on it.
    day: (Date, Option<Timestamp>),
    bicycles: bool,
    dogs: bool,
    paging: Paging,
}

impl Input for TripQuery {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let train = fields.facts::<Train>()?;
        let station = |field: &mut Field<'_>| train.timetable.station_field(field);
        let origin = fields.required("origin", station);
        let destination = fields.required("destination", station);
        let date = fields.required("date", when);
        let bicycles = fields.optional("bicycles", rules::boolean());
        let dogs = fields.optional("dogs", rules::boolean());
        let paging = page::paging(fields);
        if origin.is_some() && origin == destination {
            fields.fail::<()>("destination", "must be another station than origin");
        }
        // What day it is depends on where the origin is.
        let day = match (origin, date) {
            (Some(origin), Some(date)) => train.day(fields, origin, date),
            _ => None,
        };
        Some(TripQuery {
            origin: origin?,
            destination: destination?,
            day: day?,
            bicycles: bicycles?.unwrap_or(false),
            dogs: dogs?.unwrap_or(false),
            paging: paging?,
        })
    }
}

/// The forms of a day or a time.
struct DayOrTime;

impl PartialSchema for DayOrTime {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let formats = [KnownFormat::Date, KnownFormat::DateTime];
        let formats = formats.map(|format| text().format(Some(SchemaFormat::KnownFormat(format))));
        let local = text().pattern(Some(
            "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$",
        ));
        RefOr::T(formats.into_iter().chain([local]).fold(AnyOfBuilder::new(), AnyOfBuilder::item).into())
    }
}

impl ToSchema for DayOrTime {}

/// When somebody wants to go.
#[derive(Clone, Copy)]
enum When {
    Day(Date),
    /// By the clocks at the origin.
    From(DateTime),
    FromInstant(Timestamp),
}

fn when(field: &mut Field<'_>) -> Option<When> {
    const WANTED: &str = "must be a day like 2026-05-17, or a day and time like 2026-05-17T09:00:00";
    let text = rules::text(1..=100).read(field)?;
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // Only these forms: the library would take many more.
    let shaped = digits(0..4) && text.get(4..5) == Some("-") && digits(5..7);
    let found = match text.len() {
        10 => text.parse().ok().map(When::Day),
        _ if text.get(10..11) != Some("T") || text.contains('[') => None,
        _ => match text.parse::<Timestamp>() {
            Ok(instant) => Some(When::FromInstant(instant)),
            Err(_) => text.parse().ok().map(When::From),
        },
    };
    found.filter(|_| shaped).map_or_else(|| field.fail(WANTED), Some)
}

impl When {
    /// The day, and from when on it.
    fn at(self, zone: &TimeZone) -> Option<(Date, Option<Timestamp>)> {
        match self {
            When::Day(date) => Some((date, None)),
            When::From(time) => Some((time.date(), Some(time.to_zoned(zone.clone()).ok()?.timestamp()))),
            When::FromInstant(instant) => Some((zone.to_datetime(instant).date(), Some(instant))),
        }
    }
}

/// A page of trips.
#[derive(ToSchema)]
#[schema(as = TripPage, xml(name = "data"))]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct TripPage<'t> {
    #[schema(xml(wrapped(name = "trips")))]
    data: Vec<TripAnswer<'t>>,
    links: PageLinks,
}

/// Find trips
///
/// Those between two stations on a day that can still be booked, in order of departure. Trips are known for 90 days ahead.
#[utoipa::path(
    get, path = "/trips", operation_id = "get-trips", tag = "Trips",
    params(TripParameters),
    responses((status = 200, description = "A page of the trips that can be booked.",
        content((TripPage<'static> = "application/json"), (TripPage<'static> = "application/xml")))),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    _caller: Caller<Read>,
    wanted: Wanted,
    State(train): State<Train>,
    here: Here,
    Query(query): Query<TripQuery>,
) -> Result<Response> {
    let timetable = &train.timetable;
    let now = train.clock.now();
    let (origin, destination, (date, from)) = (query.origin, query.destination, query.day);
    let runs: Vec<_> = timetable
        .on(origin, destination, date)
        .filter(|run| run.is_offered(timetable, now))
        .filter(|run| from.is_none_or(|from| run.departure >= from))
        .filter(|run| run.service.bicycles || !query.bicycles)
        .filter(|run| run.service.dogs || !query.dogs)
        .collect();
    let taken = match runs.is_empty() {
        true => HashMap::new(),
        false => {
            let (origin, destination) = (timetable.stations[origin].id, timetable.stations[destination].id);
            let taken = train.db.read(move |tx| store::taken_on(tx, origin, destination, date, now)).await?;
            taken.into_iter().collect()
        }
    };
    let taken = |run: &Run<'_>| taken.get(&run.id).copied().unwrap_or(0);
    let free = runs.into_iter().filter(|run| taken(run) < run.service.seats).collect();
    let (found, more) = page::cut::<Run<'_>>(free, query.paging);
    let data = found.iter().map(|run| TripAnswer::new(run, timetable, taken(run), &train.address)).collect();
    let links = here.links(&train.address, query.paging, more);
    Ok(cached(Page { data, links, name: "trips" }.reply(wanted), CACHED))
}

impl Timetable {
    /// A station by its id, as where it stands in the list.
    fn station_field(&self, field: &mut Field<'_>) -> Option<usize> {
        let id = rules::uuid().read(field)?;
        self.station_at(id).map_or_else(|| field.fail("must be the id of a station; see /stations"), Some)
    }
}

impl Train {
    /// The day that is asked for, and from when on it.
    fn day(&self, fields: &mut Fields<'_>, origin: usize, date: When) -> Option<(Date, Option<Timestamp>)> {
        let zone = &self.timetable.stations[origin].zone;
        let (today, _) = Timetable::days(zone, self.clock.now());
        match date.at(zone) {
            Some((date, _)) if date < today => {
                fields.fail("date", format!("must not be in the past; where the origin is, today is {today}"))
            }
            Some(day) => Some(day),
            None => fields.fail("date", "must be a time that there is"),
        }
    }
}

/// Get a trip
#[utoipa::path(
    get, path = "/trips/{tripId}", operation_id = "get-trip", tag = "Trips",
    params(("tripId" = Uuid, Path, description = "The trip's id.")),
    responses(
        (status = 200, description = "The trip.",
            content((TripAnswer<'static> = "application/json"), (TripAnswer<'static> = "application/xml"))),
        (status = 404, description = "There is no such trip."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    _caller: Caller<Read>,
    wanted: Wanted,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let now = train.clock.now();
    let run = train.known_trip(id, now).ok_or_else(unknown)?;
    let taken = train.db.read(move |tx| store::taken(tx, id, now)).await?;
    Ok(cached(wanted.reply(&TripAnswer::new(&run, &train.timetable, taken, &train.address)), CACHED))
}

impl Train {
    /// The trip of an id, unless it is further ahead than anybody can book.
    pub(crate) fn known_trip(&self, id: Uuid, now: Timestamp) -> Option<Run<'_>> {
        let run = self.timetable.trip(id)?;
        let (_, last) = Timetable::days(&self.timetable.stations[run.service.origin].zone, now);
        Some(run).filter(|run| run.date <= last)
    }
}

pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no trip with this id.")
}
