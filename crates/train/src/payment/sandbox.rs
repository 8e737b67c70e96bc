//! The processor that comes with the program: it decides by the number of the card, and moves no money.

use db::{Db, Error, WriteTx};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use secrecy::ExposeSecret;
use uuid::Uuid;
use web::Clock;

use super::{
    Source,
    processor::{Away, Charge, Outcome, Processor},
};

/// How long a charge that is not decided at once takes.
const DECIDES_AFTER: SignedDuration = SignedDuration::from_secs(5);

const SUCCEEDED: &str = "succeeded";
/// Asked about before it was asked to charge.
const VOID: &str = "void";

pub struct Sandbox {
    db: Db,
    clock: Clock,
}

impl Sandbox {
    pub fn new(db: Db, clock: Clock) -> Self {
        Sandbox { db, clock }
    }

    /// Writes a charge down unless it is known, and gives what is known.
    async fn record(&self, charge: Record) -> Result<Outcome, Away> {
        let now = self.clock.now();
        let recorded = self.db.write(move |tx| record(tx, &charge)).await;
        let (outcome, settles_at) = recorded.map_err(|error: Error| Away(error.to_string()))?;
        Ok(match outcome.as_str() {
            _ if settles_at > now => Outcome::Pending(settles_at),
            SUCCEEDED => Outcome::Succeeded,
            VOID => Outcome::Failed("abandoned".into()),
            _ => Outcome::Failed(outcome),
        })
    }
}

struct Record {
    payment: Uuid,
    amount: Decimal,
    currency: String,
    outcome: &'static str,
    settles_at: Timestamp,
}

fn record(tx: &mut WriteTx<'_>, charge: &Record) -> Result<(String, Timestamp), Error> {
    tx.execute(
        "INSERT INTO sandbox_charge (payment_id, amount, currency, outcome, settles_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (payment_id) DO NOTHING",
        &[
            charge.payment.into(),
            charge.amount.into(),
            (&charge.currency).into(),
            charge.outcome.into(),
            charge.settles_at.into(),
        ],
    )?;
    let known = tx.row(
        "SELECT outcome, settles_at FROM sandbox_charge WHERE payment_id = $1",
        &[charge.payment.into()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    known.ok_or_else(|| Error::Fault("a charge that was just recorded is gone".into()))
}

impl Processor for Sandbox {
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, Away>> {
        let now = self.clock.now();
        let (outcome, settles_at) = match charge.source {
            Source::Card(card) => match card.number.expose_secret() {
                "4000000000000002" => ("card_declined", now),
                "4000000000000069" => ("expired_card", now),
                "4000000000009995" => ("insufficient_funds", now),
                "4000000000000077" => (SUCCEEDED, now + DECIDES_AFTER),
                _ => (SUCCEEDED, now),
            },
            Source::BankAccount(_) => (SUCCEEDED, now),
        };
        Box::pin(self.record(Record {
            payment: charge.payment,
            amount: charge.amount,
            currency: charge.currency.to_owned(),
            outcome,
            settles_at,
        }))
    }

    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, Away>> {
        Box::pin(self.record(Record {
            payment,
            amount: Decimal::ZERO,
            currency: String::new(),
            outcome: VOID,
            settles_at: self.clock.now(),
        }))
    }

    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), Away>> {
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
            refunded.map_err(|error: Error| Away(error.to_string()))
        })
    }
}
