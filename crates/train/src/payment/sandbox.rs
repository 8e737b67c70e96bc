//! The built-in sandbox processor: it decides by the card number, and moves no money.

use db::{Db, Error, Record as _, Word as _, WriteTx};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use model::{Record, sql};
use rust_decimal::Decimal;
use secrecy::ExposeSecret;
use uuid::Uuid;
use web::Clock;

use super::{
    Failure, Source,
    processor::{Charge, Outcome, Processor, ProcessorUnavailable},
};

/// How long a charge that is not decided at once takes.
const DECIDES_AFTER: SignedDuration = SignedDuration::from_secs(5);

const SUCCEEDED: &str = "succeeded";
/// The sandbox was asked for the outcome before it was asked to charge.
const VOID: &str = "void";

pub struct Sandbox {
    db: Db,
    clock: Clock,
}

impl Sandbox {
    pub fn new(db: Db, clock: Clock) -> Self {
        Sandbox { db, clock }
    }

    /// Stores a charge unless it is known, and returns the stored one.
    async fn record(&self, charge: Recorded) -> Result<Outcome, ProcessorUnavailable> {
        let now = self.clock.now();
        let recorded = self.db.write(move |tx| record(tx, &charge)).await;
        let Recorded { outcome, settles_at, .. } =
            recorded.map_err(|error: Error| ProcessorUnavailable(error.to_string()))?;
        Ok(match outcome.as_str() {
            _ if settles_at > now => Outcome::Pending(settles_at),
            SUCCEEDED => Outcome::Succeeded,
            VOID => Outcome::Failed(Failure::Abandoned),
            why => {
                let failure = Failure::from_word(why);
                Outcome::Failed(
                    failure.ok_or_else(|| ProcessorUnavailable(format!("there is no outcome {why}")))?,
                )
            }
        })
    }
}

/// A charge that the sandbox knows.
#[derive(Record)]
struct Recorded {
    #[field(column = "payment_id")]
    payment: Uuid,
    amount: Decimal,
    currency: String,
    outcome: String,
    settles_at: Timestamp,
}

fn record(tx: &mut WriteTx<'_>, charge: &Recorded) -> Result<Recorded, Error> {
    tx.execute(
        sql!(
            "INSERT INTO sandbox_charge ({Recorded}) VALUES ({Recorded.values})
             ON CONFLICT (payment_id) DO NOTHING"
        ),
        &charge.values()?,
    )?;
    let known = tx.record(
        sql!("SELECT {Recorded} FROM sandbox_charge WHERE payment_id = $1"),
        &[charge.payment.into()],
    )?;
    known.ok_or_else(|| Error::Fault("a charge that was just recorded is gone".into()))
}

impl Processor for Sandbox {
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, ProcessorUnavailable>> {
        let now = self.clock.now();
        let (outcome, settles_at) = match charge.source {
            Source::Card(card) => match card.number.expose_secret() {
                "4000000000000002" => (Failure::CardDeclined.word(), now),
                "4000000000000069" => (Failure::ExpiredCard.word(), now),
                "4000000000009995" => (Failure::InsufficientFunds.word(), now),
                "4000000000000077" => (SUCCEEDED, now + DECIDES_AFTER),
                _ => (SUCCEEDED, now),
            },
            Source::BankAccount(_) => (SUCCEEDED, now),
        };
        Box::pin(self.record(Recorded {
            payment: charge.payment,
            amount: charge.amount,
            currency: charge.currency.to_owned(),
            outcome: outcome.into(),
            settles_at,
        }))
    }

    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, ProcessorUnavailable>> {
        Box::pin(self.record(Recorded {
            payment,
            amount: Decimal::ZERO,
            currency: String::new(),
            outcome: VOID.into(),
            settles_at: self.clock.now(),
        }))
    }

    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), ProcessorUnavailable>> {
        let now = self.clock.now();
        Box::pin(async move {
            let refunded = self
                .db
                .write(move |tx| {
                    tx.execute(
                        "UPDATE sandbox_charge SET refunded_at = $2
                         WHERE payment_id = $1 AND outcome = 'succeeded' AND refunded_at IS NULL",
                        &[payment.into(), now.into()],
                    )
                    .map(drop)
                })
                .await;
            refunded.map_err(|error: Error| ProcessorUnavailable(error.to_string()))
        })
    }
}
