//! The operations on bookings.

use axum::{extract::State, response::Response};
use db::{Tx, WriteTx};
use jiff::{Timestamp, Unit};
use model::Parameters;
use uuid::Uuid;
use web::{
    Body, Paging, Path, Problem, Query, RequestContext, ResponseFormat, Result, WithBody, problem::NOT_FOUND,
};
use webhooks::NewEvent;

use super::{Booking, BookingLinks, NEW_BOOKING, NewBooking, Status, store};
use crate::{
    Train,
    cache::{NOT_CACHED, cached, dated},
    caller::{Caller, Read, Write},
    expiry::Freshness,
    idempotency::{self, Answer, Key, Known, Rejection},
    page::{MOST, Page, PageAddress, USUAL},
    problem::{DEPARTED, NO_BICYCLES, NO_DOGS, SOLD_OUT, TOO_MANY_HOLDS},
    traveller, trip,
};

#[derive(Parameters)]
pub(crate) struct BookingQuery {
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many bookings a page has.
    #[field(rule = limit(MOST), default = USUAL)]
    limit: i64,
}

/// A page of bookings, as the document describes it.
type BookingPage = Page<Booking>;

/// List bookings
///
/// The caller's own, the newest first.
#[utoipa::path(
    get, path = "/bookings", operation_id = "get-bookings", tag = "Bookings",
    params(BookingQuery),
    responses((status = 200, description = "A page of the caller's bookings.",
        body = BookingPage)),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    here: PageAddress,
    Query(BookingQuery { page, limit }): Query<BookingQuery>,
) -> Result<Response> {
    let now = train.clock.now();
    let paging = Paging::new(page, limit);
    let mut found = match paging.skipped() {
        // One more than a page has, to see whether more follow.
        Some(skipped) => {
            let page = move |tx: &mut Tx<'_>| store::list(tx, &caller.subject, skipped, limit + 1, now);
            train.read_holds(Freshness::Current, now, page).await?
        }
        None => Vec::new(),
    };
    let more = found.len() as i64 > limit;
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let links = here.links(&train.address, paging, more);
    let data = found.into_iter().map(|booking| booking.linked(&train.address)).collect();
    Ok(dated(cached(format.reply(&Page { data, links }), NOT_CACHED), now))
}

/// Create a booking
///
/// The booking holds a seat until `expires_at`. A payment confirms it.
#[utoipa::path(
    post, path = "/bookings", operation_id = "create-booking", tag = "Bookings",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "Names the request, so that sending it again does not book again.")),
    request_body = NewBooking,
    responses(
        (status = 201, description = "The seat is held.",
            body = Booking,
            headers(("Location" = String, description = "Where the booking is."))),
        (status = 404, description = "There is no such trip."),
        (status = 409, description = "The trip has departed, is sold out, or does not take the bicycle or the dog; or the \
            caller holds too many seats that are not paid for."),
        (status = 422, description = "The Idempotency-Key was used with another body before."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn create(
    caller: Caller<Write>,
    context: RequestContext,
    format: ResponseFormat,
    State(train): State<Train>,
    WithBody(key, Body(new)): WithBody<Key, Body<NewBooking>>,
) -> Result<Response> {
    let request = key.request(&train.fingerprint_key, &caller.subject, "create-booking", &new)?;
    let now = train.clock.now();
    let id = super::new_id(&train.random, now);
    // Not the id of the booking: a booking may have other kinds of events later.
    let event = NewEvent { id: train.random.uuid(now), trace: context.trace().cloned() };
    let event_id = event.id;
    let (owner, state) = (caller.subject, train.clone());
    let (answer, is_new) = train
        .db
        .write(move |tx| {
            if !traveller::enter(tx, &owner)? {
                return Err(traveller::gone());
            }
            match idempotency::take(tx, request.as_ref(), now)? {
                Known::Answered(answer) => Ok((answer, false)),
                Known::Refused(refusal) => Ok((Answer::Refused(refusal), false)),
                Known::New => {
                    let answer = state.book(tx, &owner, (id, &event), &new, now)?;
                    idempotency::keep(tx, request.as_ref(), &answer)?;
                    Ok((answer, true))
                }
            }
        })
        .await?;
    match answer {
        Answer::Refused(refusal) => Err(refusal.into()),
        Answer::Done(booking) => {
            if is_new {
                context.add_event(event_id);
                train.webhooks.wake();
            }
            let booking = booking.linked(&train.address);
            let location = format!("{}/bookings/{}", train.address, booking.id);
            Ok(dated(cached(format.created(Some(location), &booking), NOT_CACHED), now))
        }
    }
}

impl Train {
    pub(crate) fn book(
        &self,
        tx: &mut WriteTx<'_>,
        owner: &str,
        (id, event): (Uuid, &NewEvent),
        new: &NewBooking,
        now: Timestamp,
    ) -> Result<Answer<Booking>, db::Error> {
        let refused = |kind, detail: &str| Ok(Answer::Refused(Rejection::new(kind, detail)));
        let Some(run) = self.known_trip(new.trip_id, now) else {
            return refused(&NOT_FOUND, "There is no trip with this id; see /trips.");
        };
        let service = run.service;
        if run.departure <= now {
            return refused(&DEPARTED, &format!("The trip departed at {}.", run.departure));
        }
        if new.has_bicycle && !service.bicycles {
            return refused(&NO_BICYCLES, "The trip takes no bicycles.");
        }
        if new.has_dog && !service.dogs {
            return refused(&NO_DOGS, "The trip takes no dogs.");
        }
        let most = self.settings.unpaid_holds;
        if let Some(expires_at) = store::all_holds_used(tx, owner, most.into(), now)? {
            let detail =
                format!("There can be {most} bookings that are not paid for; pay for one or cancel it.");
            return Ok(Answer::Refused(Rejection::limit(&TOO_MANY_HOLDS, detail, now, expires_at)));
        }
        // A departed trip cannot be paid for any more.
        let expires_at = self.held_until(now).min(run.departure);
        let booking = new
            .clone()
            .complete(id, Status::Held, Some(expires_at), BookingLinks::default())
            .linked(&self.address);
        let request = trip::store::SeatRequest {
            trip: run.id,
            origin: self.timetable.stations[service.origin].id,
            destination: self.timetable.stations[service.destination].id,
            date: run.date,
            seats: service.seats,
        };
        if !store::hold(tx, owner, &booking, request, now)? {
            return refused(&SOLD_OUT, "Every seat of the trip is taken.");
        }
        let told = serde_json::to_string(&booking).map_err(|error| db::Error::Fault(error.to_string()))?;
        self.webhooks.write(tx, owner, event, NEW_BOOKING, &told, now)?;
        Ok(Answer::Done(booking))
    }

    /// When a hold that starts now expires, in the precision of the database.
    pub(crate) fn held_until(&self, now: Timestamp) -> Timestamp {
        let until = now.checked_add(self.settings.hold()).unwrap_or(Timestamp::MAX);
        until.round(Unit::Microsecond).unwrap_or(until)
    }
}

/// Get a booking
#[utoipa::path(
    get, path = "/bookings/{bookingId}", operation_id = "get-booking", tag = "Bookings",
    params(("bookingId" = Uuid, Path, description = "The booking's id.")),
    responses(
        (status = 200, description = "The booking.",
            body = Booking),
        (status = 404, description = "The caller has no such booking."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let now = train.clock.now();
    let booking = move |tx: &mut Tx<'_>| store::by_id_at(tx, &caller.subject, id, now);
    let booking = train.read_holds(Freshness::Current, now, booking).await?;
    let booking = booking.ok_or_else(unknown)?;
    Ok(dated(cached(format.reply(&booking.linked(&train.address)), NOT_CACHED), now))
}

pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no booking with this id.")
}
