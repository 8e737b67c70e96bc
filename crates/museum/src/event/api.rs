//! The operations on `/special-events`.

use axum::{extract::State, response::Response};
use http::StatusCode;
use jiff::{ToSpan, civil::Date};
use model::Parameters;
use uuid::Uuid;
use web::{
    Body, Created, Paging, Path, Problem, Query, Reply, Result, WithBody,
    input::Fields,
    problem::NOT_FOUND,
    reply::{self, Batch},
};

use super::{
    NewSpecialEvent, SpecialEvent, SpecialEventChanges,
    store::{self, Position},
};
use crate::{Museum, caller::Caller};

/// How many events of a streamed list are read at once.
const BATCH: i64 = 64;

/// Create a special event
///
/// Repeated dates count once; the answer has them in order.
#[utoipa::path(
    post, path = "/special-events", operation_id = "createSpecialEvent", tag = "Events",
    request_body = NewSpecialEvent,
    responses((
        status = 201, description = "The event was created.", body = SpecialEvent,
        headers(("Location" = String, description = "Where the event is.")),
    )),
)]
pub(crate) async fn create(
    _caller: Caller,
    State(museum): State<Museum>,
    Body(new): Body<NewSpecialEvent>,
) -> Result<Created<SpecialEvent>> {
    let event = new.with_event_id(museum.random.uuid(museum.clock.now()));
    let stored = event.clone();
    museum.db.write(move |tx| store::insert(tx, &stored)).await?;
    let location = museum.location(&format!("/special-events/{}", event.event_id));
    Ok(Created { location: Some(location), body: event })
}

#[derive(Parameters)]
#[resource(case = "camelCase", check = is_a_range)]
pub(crate) struct EventQuery {
    /// The first day of the range. The default is today in the zone of the museum.
    #[field(example = "2026-09-11")]
    start_date: Option<Date>,
    /// The last day of the range. The default is seven days after `startDate`.
    #[field(example = "2026-09-18")]
    end_date: Option<Date>,
    /// Which page, from 1: page *p* covers the *p*-th period of `limit` days of the range.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many days a page covers.
    #[field(rule = limit(30), default = 10)]
    limit: i64,
}

/// The last day is not before the first.
fn is_a_range(query: &PartialEventQuery<'_>, fields: &mut Fields<'_>) {
    if let (Some(start), Some(Some(end)), Some(museum)) =
        (query.start_date, query.end_date, fields.context::<Museum>())
    {
        let start = start.unwrap_or_else(|| museum.today());
        if *end < start {
            fields.fail::<()>("endDate", format!("must not be before startDate, which is {start}"));
        }
    }
}

impl EventQuery {
    /// The days that the page covers; `None` past the end of the range.
    fn days(&self, today: Date) -> Option<(Date, Date)> {
        let start = self.start_date.unwrap_or(today);
        let end = self.end_date.unwrap_or_else(|| start.saturating_add(7.days()));
        let skipped = Paging::new(self.page, self.limit).skipped();
        let first = skipped.and_then(|days| start.checked_add(days_span(days)?).ok());
        let first = first.filter(|first| *first <= end)?;
        let last = first.saturating_add((self.limit - 1).days());
        Some((first, last.min(end)))
    }
}

/// A span of days; `None` if it is longer than the calendar.
fn days_span(days: i64) -> Option<jiff::Span> {
    jiff::Span::new().try_days(days).ok()
}

/// List special events
///
/// Lists the events of one page of the range, which covers `limit` days, in order of their first date on the page, then by name.
#[utoipa::path(
    get, path = "/special-events", operation_id = "listSpecialEvents", tag = "Events",
    params(EventQuery),
    responses((status = 200, description = "The events of this page.", body = [SpecialEvent])),
)]
pub(crate) async fn list(
    _caller: Caller,
    State(museum): State<Museum>,
    Query(query): Query<EventQuery>,
) -> Result<Response> {
    let days = query.days(museum.today());
    let start = days.map(|(first, last)| (first, last, Position::before(first)));
    reply::list(start, move |cursor| {
        let museum = museum.clone();
        async move {
            let Some((first, last, after)) = cursor else {
                return Ok(Batch { items: Vec::new(), next: None });
            };
            let found =
                museum.db.read_long_stale(move |tx| store::between(tx, first, last, &after, BATCH)).await?;
            let full = found.len() as i64 == BATCH;
            let next =
                found.last().filter(|_| full).map(|(position, _)| Some((first, last, position.clone())));
            Ok(Batch { items: found.into_iter().map(|(_, event)| event).collect(), next })
        }
    })
    .await
}

/// Get a special event
#[utoipa::path(
    get, path = "/special-events/{eventId}", operation_id = "getSpecialEvent", tag = "Events",
    params(("eventId" = Uuid, Path, description = "The event's id.")),
    responses(
        (status = 200, description = "The event.", body = SpecialEvent),
        (status = 404, description = "There is no such event."),
    ),
)]
pub(crate) async fn get(
    _caller: Caller,
    State(museum): State<Museum>,
    Path(id): Path<Uuid>,
) -> Result<Reply<SpecialEvent>> {
    let event = museum.db.read(move |tx| store::by_id(tx, id)).await?;
    event.map(Reply).ok_or_else(unknown)
}

/// Change a special event
///
/// Members that are absent stay as they are; an empty object changes nothing.
#[utoipa::path(
    patch, path = "/special-events/{eventId}", operation_id = "updateSpecialEvent", tag = "Events",
    params(("eventId" = Uuid, Path, description = "The event's id.")),
    request_body = SpecialEventChanges,
    responses(
        (status = 200, description = "The event as it is now.", body = SpecialEvent),
        (status = 404, description = "There is no such event."),
    ),
)]
pub(crate) async fn change(
    _caller: Caller,
    State(museum): State<Museum>,
    WithBody(Path(id), Body(changes)): WithBody<Path<Uuid>, Body<SpecialEventChanges>>,
) -> Result<Reply<SpecialEvent>> {
    let event = museum.db.write(move |tx| store::change(tx, id, &changes)).await?;
    event.map(Reply).ok_or_else(unknown)
}

/// Delete a special event
///
/// Tickets that were sold for it stay valid.
#[utoipa::path(
    delete, path = "/special-events/{eventId}", operation_id = "deleteSpecialEvent", tag = "Events",
    params(("eventId" = Uuid, Path, description = "The event's id.")),
    responses(
        (status = 204, description = "The event is gone."),
        (status = 404, description = "There is no such event."),
    ),
)]
pub(crate) async fn delete(
    _caller: Caller,
    State(museum): State<Museum>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode> {
    let deleted = museum.db.write(move |tx| store::delete(tx, id)).await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(unknown()) }
}

pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no special event with this id.")
}
