//! Payments in the database.

use db::{Error, Keyed, Record as _, Tx, Word as _, WriteTx, to_json};
use jiff::{SignedDuration, Timestamp};
use model::{Record, Words, sql};
use rust_decimal::Decimal;
use serde_json::json;
use uuid::Uuid;

use super::{Failure, MaskedSource, PaymentAnswer, Status, processor::Outcome};
use crate::{
    booking,
    idempotency::{Answer, Request},
};

/// How long the process that asked the processor has to store the outcome before another process asks.
const ANSWERS_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// The period of the limits on failed payments.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// How long a process that checks a payment again holds its lease.
const LEASE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Clone, Record)]
pub(crate) struct Payment {
    pub(crate) id: Uuid,
    #[field(column = "booking_id")]
    pub(crate) booking: Uuid,
    pub(crate) amount: Decimal,
    pub(crate) currency: String,
    #[field(json)]
    pub(crate) source: MaskedSource,
    #[field(column = "status")]
    pub(crate) stage: Stage,
    pub(crate) failure: Option<Failure>,
}

/// The stage of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(crate) enum Stage {
    Processing,
    Pending,
    Succeeded,
    Failed,
    /// It was charged, and is being refunded.
    Refunding,
    Refunded,
}

impl Stage {
    /// The status in the answer; `None` after a refund.
    pub(crate) fn status(self) -> Option<Status> {
        match self {
            Stage::Processing | Stage::Pending => Some(Status::Pending),
            Stage::Succeeded => Some(Status::Succeeded),
            Stage::Failed => Some(Status::Failed),
            Stage::Refunding | Stage::Refunded => None,
        }
    }
}

/// When a booking may be paid for again, if the limit of failed payments in the last hour is reached.
///
/// The booking's row must be locked: a process that stores a failed payment locks it too, so the number cannot grow between
/// this and the next attempt.
pub(crate) fn all_failures_used(
    tx: &mut WriteTx<'_>,
    booking: Uuid,
    most: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    // The oldest of the last failures up to the limit: an hour after it, another payment is allowed.
    let oldest = tx.row(
        "SELECT failed_at FROM payment WHERE booking_id = $1 AND status = 'failed' AND failed_at > $2
         ORDER BY failed_at DESC LIMIT 1 OFFSET $3",
        &[booking.into(), (now - HOUR).into(), (most - 1).into()],
        |row| row.get::<Timestamp>(0),
    )?;
    Ok(oldest.map(|oldest| oldest + HOUR))
}

/// When a user may pay again, if the limit of the user's failed payments in the last hour is reached. A pending payment counts as
/// failed now, unless it is for the same booking: a booking has only one pending payment.
///
/// The user's row must be locked, so that of two concurrent payments the second counts the first.
pub(crate) fn all_failures_of_owner_used(
    tx: &mut WriteTx<'_>,
    owner: &str,
    booking: Uuid,
    most: i64,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let oldest = tx.row(
        "SELECT COALESCE(failed_at, $3) FROM payment
         WHERE owner = $1 AND status IN ('processing', 'pending', 'failed')
         AND CASE WHEN status = 'failed' THEN failed_at > $4 ELSE booking_id <> $2 END
         ORDER BY COALESCE(failed_at, $3) DESC LIMIT 1 OFFSET $5",
        &[owner.into(), booking.into(), now.into(), (now - HOUR).into(), (most - 1).into()],
        |row| row.get::<Timestamp>(0),
    )?;
    Ok(oldest.map(|oldest| oldest + HOUR))
}

/// A time by both clocks. When a payment is due for a check is decided by the service's clock, which can be moved and frozen; when the
/// lease of a process that has stopped expires, by the machine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) service: Timestamp,
    pub(crate) machine: Timestamp,
}

/// Stores an attempt; `false` when another is pending or has succeeded.
pub(crate) fn start(tx: &mut WriteTx<'_>, owner: &str, payment: &Payment, now: Now) -> Result<bool, Error> {
    let mut values = payment.values()?;
    values.extend([(now.machine + ANSWERS_WITHIN).into(), owner.into()]);
    let started = tx.execute(
        sql!(
            "INSERT INTO payment ({Payment}, leased_until, owner) VALUES ({Payment.values}, $8, $9)
             ON CONFLICT DO NOTHING"
        ),
        &values,
    )?;
    Ok(started == 1)
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<Payment>, Error> {
    tx.record(sql!("SELECT {Payment} FROM payment WHERE id = $1"), &[id.into()])
}

/// Stores the outcome of a payment unless it has one, and returns the payment.
///
/// Lock order: the booking's row comes first. Cancellation and expiry wait for the same row, so that exactly one of them finds
/// the booking held.
pub(crate) fn settle(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Option<Payment>, Error> {
    let Some(payment) = by_id(tx, id)? else { return Ok(None) };
    match outcome {
        Outcome::Pending(until) => {
            tx.execute(
                "UPDATE payment SET status = 'pending', check_at = $2, leased_until = NULL
                 WHERE id = $1 AND status IN ('processing', 'pending')",
                &[id.into(), (*until).into()],
            )?;
        }
        Outcome::Failed(why) => {
            booking::store::lock(tx, payment.booking)?;
            tx.execute(
                "UPDATE payment SET status = 'failed', failure = $2, failed_at = $3, check_at = NULL, leased_until = NULL
                 WHERE id = $1 AND status IN ('processing', 'pending')",
                &[id.into(), why.word().into(), now.into()],
            )?;
        }
        Outcome::Succeeded => {
            booking::store::lock(tx, payment.booking)?;
            // Read again: another process may have settled it before this one had the lock, by a clock for which the hold has expired.
            let stage = by_id(tx, id)?.map(|payment| payment.stage);
            let confirmed = matches!(stage, Some(Stage::Processing | Stage::Pending))
                && booking::store::confirm(tx, payment.booking, now)?;
            let (stage, check_at) =
                if confirmed { (Stage::Succeeded, None) } else { (Stage::Refunding, Some(now)) };
            tx.execute(
                "UPDATE payment SET status = $2, check_at = $3, leased_until = NULL
                 WHERE id = $1 AND status IN ('processing', 'pending')",
                &[id.into(), stage.word().into(), check_at.into()],
            )?;
        }
    }
    by_id(tx, id)
}

/// Marks that the outcome of a payment will be the answer to a request.
pub(crate) fn leave_answer_to(tx: &mut WriteTx<'_>, request: &Request, payment: Uuid) -> Result<(), Error> {
    tx.execute(
        "UPDATE idempotency SET payment_id = $2 WHERE hash = $1",
        &[request.hash().into(), payment.into()],
    )
    .map(drop)
}

/// Stores the outcome of a payment as the answer to its request, unless the request has an answer.
pub(crate) fn keep_answer(
    tx: &mut WriteTx<'_>,
    payment: Uuid,
    answer: &Answer<PaymentAnswer>,
) -> Result<(), Error> {
    tx.execute(
        "UPDATE idempotency SET answer = $2 WHERE payment_id = $1 AND answer IS NULL",
        &[payment.into(), to_json(answer)?],
    )
    .map(drop)
}

/// Starts the refund of a booking's payment.
pub(crate) fn give_back(tx: &mut WriteTx<'_>, booking: Uuid, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE payment SET status = 'refunding', check_at = $2 WHERE booking_id = $1 AND status = 'succeeded'",
        &[booking.into(), now.into()],
    )
    .map(drop)
}

/// Stores that a refund is complete.
pub(crate) fn given_back(tx: &mut WriteTx<'_>, id: Uuid) -> Result<(), Error> {
    tx.execute(
        "UPDATE payment SET status = 'refunded', check_at = NULL, leased_until = NULL
         WHERE id = $1 AND status = 'refunding'",
        &[id.into()],
    )
    .map(drop)
}

/// Removes the owner and the source from the payments for an owner's bookings: an empty source replaces it.
pub(crate) fn strip_names(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE payment SET source = $2, owner = '' WHERE booking_id IN (SELECT id FROM booking WHERE owner = $1)",
        &[owner.into(), to_json(&MaskedSource::removed())?],
    )
    .map(drop)
}

/// The same for the payments for one booking.
pub(crate) fn strip(tx: &mut WriteTx<'_>, booking: Uuid) -> Result<(), Error> {
    tx.execute(
        "UPDATE payment SET source = $2, owner = '' WHERE booking_id = $1",
        &[booking.into(), to_json(&MaskedSource::removed())?],
    )
    .map(drop)
}

/// Some of the payments for an owner's bookings after one. Their sources are masked.
pub(crate) fn export(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT payment.id, booking_id, amount, currency, source, payment.status, failure, failed_at
         FROM payment JOIN booking ON booking.id = payment.booking_id
         WHERE booking.owner = $1 AND payment.id > $2 ORDER BY payment.id LIMIT 500",
        &[owner.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        |row| {
            let id = row.get::<Uuid>(0)?;
            let document = json!({
                "id": id,
                "booking_id": row.get::<Uuid>(1)?,
                "amount": row.get::<Decimal>(2)?,
                "currency": row.get::<String>(3)?,
                "source": row.json::<serde_json::Value>(4)?,
                "status": row.get::<String>(5)?,
                "failure": row.get::<Option<String>>(6)?,
                "failed_at": row.get::<Option<Timestamp>>(7)?,
            });
            Ok(Keyed { key: id.into_bytes().to_vec(), document })
        },
    )
}

/// Leases a payment that is due for a check, or whose lease has expired, so that no other process checks it at the same time.
pub(crate) fn claim(tx: &mut WriteTx<'_>, now: Now) -> Result<Option<Payment>, Error> {
    let until = now.machine + LEASE;
    let due = tx.record(
        sql!(
            "UPDATE payment SET check_at = NULL, leased_until = $2
             WHERE id = (SELECT id FROM payment WHERE check_at <= $1 ORDER BY check_at LIMIT 1) AND check_at <= $1
             RETURNING {Payment}"
        ),
        &[now.service.into(), until.into()],
    )?;
    if due.is_some() {
        return Ok(due);
    }
    tx.record(
        sql!(
            "UPDATE payment SET leased_until = $2
             WHERE id = (SELECT id FROM payment WHERE leased_until <= $1 ORDER BY leased_until LIMIT 1)
             AND leased_until <= $1 RETURNING {Payment}"
        ),
        &[now.machine.into(), until.into()],
    )
}

/// Ends the lease of every payment, so that all of them are due now: the processes that held the leases have stopped. If one has
/// not, the payment is still charged at most once, since the processor remembers each charge; it may only fail needlessly.
pub(crate) fn take_over(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE payment SET check_at = $1, leased_until = NULL WHERE check_at > $1 OR leased_until IS NOT NULL",
        &[now.into()],
    )
    .map(drop)
}

/// When the next payment is due for a check, by the service's clock, and when the next lease expires, by the machine's clock.
pub(crate) fn upcoming(tx: &mut Tx<'_>) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
    let found = tx.row(
        "SELECT (SELECT check_at FROM payment WHERE check_at IS NOT NULL ORDER BY check_at LIMIT 1),
             (SELECT leased_until FROM payment WHERE leased_until IS NOT NULL ORDER BY leased_until LIMIT 1)",
        &[],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(found.unwrap_or_default())
}
