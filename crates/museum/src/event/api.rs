//! The operations on `/special-events`.

use axum::{extract::State, response::Response};
use http::StatusCode;
use jiff::{ToSpan, civil::Date};
use utoipa::IntoParams;
use uuid::Uuid;
use web::{
    Body, Created, Paging, Path, Problem, Query, Reply, Result, Together,
    input::{Fields, Input, rules},
    problem::NOT_FOUND,
    reply::{self, Batch},
};

use super::{
    NewSpecialEvent, SpecialEvent, SpecialEventChanges,
    store::{self, Position},
};
use crate::{Museum, caller::Caller};

/// How many events are read at once while a list is written.
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
    let event = new.with_id(museum.chance.uuid(museum.clock.now()));
    let stored = event.clone();
    museum.db.write(move |tx| store::insert(tx, &stored)).await?;
    let location = museum.location(&format!("/special-events/{}", event.event_id));
    Ok(Created { location: Some(location), body: event })
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct EventParameters {
    /// The first day of the range. Today, where the museum is, if absent.
    #[param(rename = "startDate", required = false, example = "2026-09-11")]
    start_date: Date,
    /// The last day of the range. Seven days after `startDate` if absent.
    #[param(rename = "endDate", required = false, example = "2026-09-18")]
    end_date: Date,
    /// Which page, from 1: page *p* covers the *p*-th stretch of `limit` days of the range.
    #[param(minimum = 1, required = false, default = 1)]
    page: i64,
    /// How many days a page covers.
    #[param(minimum = 1, maximum = 30, required = false, default = 10)]
    limit: i64,
}

pub(crate) struct EventQuery {
    start: Date,
    end: Date,
    paging: Paging,
}

impl Input for EventQuery {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let start = fields.optional("startDate", rules::date);
        let end = fields.optional("endDate", rules::date);
        let paging = Paging::read(fields, 10, 30);
        let museum = fields.facts::<Museum>()?;
        let today = || museum.hours.today(museum.clock.now());
        // Only where both are known can one be before the other.
        let start = start.map(|start| start.unwrap_or_else(today));
        let end = start.zip(end).map(|(start, end)| end.unwrap_or_else(|| start.saturating_add(7.days())));
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return fields.fail("endDate", format!("must not be before startDate, which is {start}"));
        }
        Some(EventQuery { start: start?, end: end?, paging: paging? })
    }
}

impl EventQuery {
    /// The days that the page covers; `None` past the end of the range.
    fn days(&self) -> Option<(Date, Date)> {
        let first = self.paging.skipped().and_then(|days| self.start.checked_add(days_span(days)?).ok());
        let first = first.filter(|first| *first <= self.end)?;
        let last = first.saturating_add((self.paging.limit() - 1).days());
        Some((first, last.min(self.end)))
    }
}

/// So many days, unless there are not that many.
fn days_span(days: i64) -> Option<jiff::Span> {
    jiff::Span::new().try_days(days).ok()
}

/// List special events
///
/// The events that take place in the range, those of one page: the stretch of `limit` days that the page covers.
/// They come in order of their first date on the page, then by name.
#[utoipa::path(
    get, path = "/special-events", operation_id = "listSpecialEvents", tag = "Events",
    params(EventParameters),
    responses((status = 200, description = "The events of this page.", body = [SpecialEvent])),
)]
pub(crate) async fn list(
    _caller: Caller,
    State(museum): State<Museum>,
    Query(query): Query<EventQuery>,
) -> Result<Response> {
    let days = query.days();
    let start = days.map(|(first, last)| (first, last, Position::before(first)));
    reply::list(start, move |cursor| {
        let museum = museum.clone();
        async move {
            let Some((first, last, after)) = cursor else {
                return Ok(Batch { items: Vec::new(), next: None });
            };
            let found = museum.db.read_long(move |tx| store::between(tx, first, last, &after, BATCH)).await?;
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
    Together(Path(id), Body(changes)): Together<Path<Uuid>, Body<SpecialEventChanges>>,
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
