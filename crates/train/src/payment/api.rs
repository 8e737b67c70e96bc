//! Pays for a booking.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use db::WriteTx;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use uuid::Uuid;
use web::{
    Body, Both, Path, Problem, ResponseFormat, Result, WithBody,
    problem::{Invalid, NOT_FOUND, TOO_MANY_REQUESTS, UNAVAILABLE},
};

use super::{
    NewPayment, PaymentAnswer, Source,
    card::EXPIRED,
    processor::Charge,
    settle::SettleError,
    store::{self, Payment, Stage},
};
use crate::{
    Train,
    booking::{self, Status},
    cache::{NOT_CACHED, cached},
    caller::{Caller, Write},
    idempotency::{self, Answer, Key, Known, Rejection, Request},
    problem::{ALREADY_PAID, BOOKING_EXPIRED, DEPARTED, NO_LONGER_RUNS, PAYMENT_UNDER_WAY},
    traveller,
};

/// The next step after a payment was stored.
enum Started {
    /// Ask the processor.
    Ask(Payment),
    /// This is the answer.
    Answer(Answer<PaymentAnswer>),
    /// The body does not fit the booking.
    Invalid(Vec<Invalid>),
    /// The hold is past its time: its expiry must be stored first. This is its trip.
    Due(Uuid),
}

/// Pay for a booking
///
/// A payment that succeeds confirms the booking. A failed payment changes nothing: the client can try again while the booking is
/// held.
#[utoipa::path(
    post, path = "/bookings/{bookingId}/payment", operation_id = "create-booking-payment", tag = "Payments",
    params(
        ("bookingId" = Uuid, Path, description = "The booking's id."),
        ("Idempotency-Key" = Option<String>, Header,
            description = "Names the request, so that sending it again does not pay again."),
    ),
    request_body = NewPayment,
    responses(
        (status = 200, description = "What became of the payment.",
            body = PaymentAnswer),
        (status = 404, description = "The caller has no such booking."),
        (status = 409, description = "The booking has expired, is paid for, or is being paid for; or its train has left or no longer runs."),
        (status = 422, description = "The Idempotency-Key was used with another body before."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn pay(
    caller: Caller<Write>,
    format: ResponseFormat,
    State(train): State<Train>,
    WithBody(Both(Path(booking), key), Body(new)): WithBody<Both<Path<Uuid>, Key>, Body<NewPayment>>,
) -> Result<Response> {
    let now = train.clock.now();
    let operation = format!("pay {booking}");
    let fingerprint_text = new.source.fingerprint_text();
    let body = (
        &new.amount.map(|amount| amount.normalize().to_string()),
        &new.currency,
        fingerprint_text.expose_secret(),
    );
    let request = key.request(&train.fingerprint_key, &caller.subject, &operation, &body)?;
    let id = train.random.uuid(now);
    let asked = Arc::new(PaymentRequest { owner: caller.subject, booking, id, new, request });
    let mut started = train.start(&asked, now).await?;
    if let Started::Due(trip) = started {
        train.expire(vec![trip], now).await?;
        started = train.start(&asked, now).await?;
    }
    let answer = match started {
        // It is stored now, and found as expired.
        Started::Due(_) => Answer::Refused(not_paid_in_time()),
        Started::Invalid(errors) => return Err(Problem::invalid(errors)),
        Started::Answer(answer) => answer,
        Started::Ask(payment) => train.ask(&payment, &asked.new.source).await.map_err(unsettled)?,
    };
    match answer {
        Answer::Refused(refusal) => Err(refusal.into()),
        Answer::Done(payment) => Ok(cached(format.reply(&payment), NOT_CACHED)),
    }
}

/// A request to pay.
struct PaymentRequest {
    owner: String,
    booking: Uuid,
    id: Uuid,
    new: NewPayment,
    request: Option<Request>,
}

impl Train {
    async fn start(&self, asked: &Arc<PaymentRequest>, now: Timestamp) -> Result<Started> {
        let (train, asked) = (self.clone(), asked.clone());
        self.db.write(move |tx| train.start_payment(tx, &asked, now)).await
    }

    /// Stores an attempt, if the booking can be paid for.
    fn start_payment(&self, tx: &mut WriteTx<'_>, asked: &PaymentRequest, now: Timestamp) -> Result<Started> {
        if !traveller::enter(tx, &asked.owner)? {
            return Err(traveller::gone());
        }
        match idempotency::take(tx, asked.request.as_ref(), now)? {
            Known::Answered(answer) => return Ok(Started::Answer(answer)),
            Known::Refused(refusal) => return Ok(Started::Answer(Answer::Refused(refusal))),
            Known::New => {}
        }
        let started = self.check_and_start(tx, asked, now)?;
        match &started {
            Started::Ask(payment) => {
                if let Some(request) = &asked.request {
                    store::leave_answer_to(tx, request, payment.id)?;
                }
            }
            Started::Answer(answer) => idempotency::keep(tx, asked.request.as_ref(), answer)?,
            // Nothing was done: the key may be used again.
            Started::Invalid(_) | Started::Due(_) => idempotency::forget(tx, asked.request.as_ref())?,
        }
        Ok(started)
    }

    fn check_and_start(
        &self,
        tx: &mut WriteTx<'_>,
        asked: &PaymentRequest,
        now: Timestamp,
    ) -> Result<Started, db::Error> {
        let refused = |kind, detail: &str| Ok(Started::Answer(Answer::Refused(Rejection::new(kind, detail))));
        let booking = match booking::store::lock_own(tx, &asked.owner, asked.booking)? {
            true => booking::store::by_id(tx, &asked.owner, asked.booking)?,
            false => None,
        };
        let Some(booking) = booking else {
            return refused(&NOT_FOUND, "There is no booking with this id.");
        };
        if booking.is_due(now) {
            return Ok(Started::Due(booking.trip_id));
        }
        let run = self.timetable.trip(booking.trip_id);
        match booking.status {
            Status::Confirmed => return refused(&ALREADY_PAID, "The booking is paid for and confirmed."),
            _ if self.timetable.has_departed(booking.trip_id, now) => {
                let detail = match run {
                    Some(run) => format!("The trip departed at {}.", run.departure),
                    None => "The day of the trip is over.".into(),
                };
                return refused(&DEPARTED, &detail);
            }
            Status::Expired => return Ok(Started::Answer(Answer::Refused(not_paid_in_time()))),
            Status::Held => {}
        }
        let Some(run) = run else {
            let detail = "The trip is not in the timetable any more. Nothing was charged; \
                          cancel the booking and find another trip.";
            return refused(&NO_LONGER_RUNS, detail);
        };
        let (price, currency) = (run.service.price, &run.service.currency);
        let mut errors = asked.new.differs(price, currency);
        errors.extend(expired(&asked.new.source, now));
        if !errors.is_empty() {
            return Ok(Started::Invalid(errors));
        }
        let limited = |detail: String, until| {
            let refusal = Rejection::limit(&TOO_MANY_REQUESTS, detail, now, until);
            Ok(Started::Answer(Answer::Refused(refusal)))
        };
        let most = self.settings.declined_payments_per_hour;
        if let Some(until) = store::all_failures_used(tx, booking.id, most.into(), now)? {
            return limited(
                format!("{most} payments for this booking failed within an hour. Wait, or book again."),
                until,
            );
        }
        let most = self.settings.declined_payments_per_user_per_hour;
        let reached = store::all_failures_of_owner_used(tx, &asked.owner, booking.id, most.into(), now)?;
        if let Some(until) = reached {
            return limited(
                format!(
                    "{most} payments of this user failed within an hour or are not decided yet. \
                     Wait before you pay again."
                ),
                until,
            );
        }
        let payment = Payment {
            id: asked.id,
            booking: booking.id,
            amount: price,
            currency: currency.clone(),
            source: asked.new.source.masked(),
            stage: Stage::Processing,
            failure: None,
        };
        if store::start(tx, &asked.owner, &payment, self.lease_now())? {
            Ok(Started::Ask(payment))
        } else {
            refused(&PAYMENT_UNDER_WAY, "Another payment for this booking has not been decided yet.")
        }
    }

    async fn ask(&self, payment: &Payment, source: &Source) -> Result<Answer<PaymentAnswer>, SettleError> {
        let charge =
            Charge { payment: payment.id, amount: payment.amount, currency: &payment.currency, source };
        let outcome = self.processor.charge(&charge).await?;
        let answer = self.settle(payment.id, outcome).await?;
        self.wake();
        Ok(answer)
    }
}

impl NewPayment {
    /// The validation errors of an amount and currency that differ from the price.
    fn differs(&self, price: rust_decimal::Decimal, currency: &str) -> Vec<Invalid> {
        let mut errors = Vec::new();
        let mut note = |pointer: &str| {
            let detail = format!("must be the price, {price} {currency}, or absent").into();
            errors.push(Invalid { pointer: pointer.into(), detail });
        };
        if self.amount.is_some_and(|amount| amount != price) {
            note("#/amount");
        }
        if self.currency.as_ref().is_some_and(|given| given != currency) {
            note("#/currency");
        }
        errors
    }
}

fn not_paid_in_time() -> Rejection {
    Rejection::new(&BOOKING_EXPIRED, "The booking was not paid for in time. Book again.")
}

fn expired(source: &Source, now: Timestamp) -> Option<Invalid> {
    let Source::Card(card) = source else { return None };
    card.has_expired(now).then(|| Invalid { pointer: "#/source/exp_year".into(), detail: EXPIRED.into() })
}

/// The outcome is not known yet. The sweeper asks the processor for it.
fn unsettled(error: SettleError) -> Problem {
    match error {
        SettleError::Db(error) => error.into(),
        SettleError::Processor(error) => Problem::new(
            &UNAVAILABLE,
            "Whether the payment went through is not known yet. Look at the booking in a minute before you pay again.",
        )
        .retry_after(60)
        .because(error),
    }
}
