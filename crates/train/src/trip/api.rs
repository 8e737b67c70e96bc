//! The operations on trips.

use std::collections::HashMap;

use axum::{extract::State, response::Response};
use db::Tx;
use http::HeaderValue;
use jiff::Timestamp;
use model::Parameters;
use uuid::Uuid;
use web::{
    Paging, Path, Problem, Query, ResponseFormat, Result,
    input::{
        Fields,
        rules::{Rule, uuid},
    },
    problem::NOT_FOUND,
};

use super::{
    StationLinks, TripAnswer, store,
    when::{Day, When, when},
};
use crate::{
    Train,
    cache::cached,
    caller::{Caller, Read},
    expiry::Freshness,
    page::{self, MOST, Page, PageAddress, USUAL},
    timetable::{Run, Timetable},
};

/// The number of free seats changes often.
const CACHED: HeaderValue = HeaderValue::from_static("private, max-age=5");

#[derive(Parameters)]
#[resource(check = is_a_journey)]
pub(crate) struct TripQuery {
    /// The station to start from.
    #[field(rule = station(), example = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e")]
    origin: StationAt,
    /// The station to go to.
    #[field(rule = station(), example = "b2e783e1-c824-4d63-b37a-d8d698862f1d")]
    destination: StationAt,
    /// A day, or a time (then to the end of its day), in the zone of the origin. A time may have its own offset.
    #[field(rule = when(), example = "2026-12-01")]
    date: When,
    /// Only trips that take bicycles.
    #[field(default = false)]
    bicycles: bool,
    /// Only trips that take dogs.
    #[field(default = false)]
    dogs: bool,
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many trips a page has.
    #[field(rule = limit(MOST), default = USUAL)]
    limit: i64,
}

/// The index of a station in the timetable.
pub(crate) type StationAt = usize;

/// A station by its id.
pub(crate) fn station() -> impl Rule<Value = StationAt> {
    uuid().then(|field, id| {
        let station = field.context::<Train>()?.timetable.station_at(id);
        station.map_or_else(|| field.fail("must be the id of a station; see /stations"), Some)
    })
}

/// Checks that the stations differ, and that the day is not past in the zone of the origin.
fn is_a_journey(query: &PartialTripQuery<'_>, fields: &mut Fields<'_>) {
    if query.origin.is_some() && query.origin == query.destination {
        fields.fail::<()>("destination", "must be another station than origin");
    }
    if let (Some(origin), Some(date), Some(train)) = (query.origin, query.date, fields.context::<Train>())
        && let Err(wrong) = train.day(*origin, *date)
    {
        fields.fail::<()>("date", wrong);
    }
}

impl Train {
    /// The day and the earliest departure of a search from a station, or the validation error.
    fn day(&self, origin: StationAt, date: When) -> Result<Day, String> {
        let zone = &self.timetable.stations[origin].zone;
        let (today, _) = Timetable::days(zone, self.clock.now());
        match date.at(zone) {
            Some((date, _)) if date < today => {
                Err(format!("must not be in the past; where the origin is, today is {today}"))
            }
            Some(day) => Ok(day),
            None => Err("must be a time that there is".into()),
        }
    }
}

/// A page of trips, as the document describes it.
type TripPage = Page<TripAnswer<'static>>;

/// Find trips
///
/// Finds the trips between two stations on a day that can still be booked, in order of departure. Trips can be booked for 90 days
/// ahead.
#[utoipa::path(
    get, path = "/trips", operation_id = "get-trips", tag = "Trips",
    params(TripQuery),
    responses((status = 200, description = "A page of the trips that can be booked.",
        body = TripPage)),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    _caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    here: PageAddress,
    Query(query): Query<TripQuery>,
) -> Result<Response> {
    let timetable = &train.timetable;
    let now = train.clock.now();
    let (origin, destination) = (query.origin, query.destination);
    // At midnight, the day may have ended after the check.
    let day = train.day(origin, query.date);
    let (date, from) = day.map_err(|wrong| Problem::invalid_at("?date", wrong))?;
    let runs: Vec<_> = timetable
        .offered(origin, destination, date, now)
        .filter(|run| from.is_none_or(|from| run.departure >= from))
        .filter(|run| run.service.bicycles || !query.bicycles)
        .filter(|run| run.service.dogs || !query.dogs)
        .collect();
    let taken = match runs.is_empty() {
        true => HashMap::new(),
        false => {
            let (origin, destination) = (timetable.stations[origin].id, timetable.stations[destination].id);
            let taken = move |tx: &mut Tx<'_>| store::taken_on(tx, origin, destination, date, now);
            train.read_holds(Freshness::MayBeStale, now, taken).await?
        }
    };
    let taken = |run: &Run<'_>| taken.get(&run.id).copied().unwrap_or(0);
    let free = runs.into_iter().filter(|run| taken(run) < run.service.seats).collect();
    let paging = Paging::new(query.page, query.limit);
    let (found, more) = page::cut::<Run<'_>>(free, paging);
    let stations =
        StationLinks::new(&train.address, &timetable.stations[origin], &timetable.stations[destination]);
    let data = found.iter().map(|run| TripAnswer::new(run, taken(run), &train.address, &stations)).collect();
    let links = here.links(&train.address, paging, more);
    Ok(cached(format.reply(&Page { data, links }), CACHED))
}

/// Get a trip
#[utoipa::path(
    get, path = "/trips/{tripId}", operation_id = "get-trip", tag = "Trips",
    params(("tripId" = Uuid, Path, description = "The trip's id.")),
    responses(
        (status = 200, description = "The trip.",
            body = TripAnswer<'static>),
        (status = 404, description = "There is no such trip."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    _caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let now = train.clock.now();
    let run = train.known_trip(id, now).ok_or_else(unknown)?;
    let taken = move |tx: &mut Tx<'_>| store::taken(tx, id, now);
    let taken = train.read_holds(Freshness::MayBeStale, now, taken).await?;
    let [origin, destination] =
        [run.service.origin, run.service.destination].map(|at| &train.timetable.stations[at]);
    let stations = StationLinks::new(&train.address, origin, destination);
    Ok(cached(format.reply(&TripAnswer::new(&run, taken, &train.address, &stations)), CACHED))
}

impl Train {
    /// The trip of an id, unless it is too far ahead to be booked.
    pub(crate) fn known_trip(&self, id: Uuid, now: Timestamp) -> Option<Run<'_>> {
        let run = self.timetable.trip(id)?;
        let (_, last) = Timetable::days(&self.timetable.stations[run.service.origin].zone, now);
        Some(run).filter(|run| run.date <= last)
    }
}

pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no trip with this id.")
}
