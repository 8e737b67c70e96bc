//! Settles every payment, also after the process that started it has stopped.

use web::Result;

use super::{
    PaymentAnswer, PaymentLinks,
    processor::{Outcome, ProcessorUnavailable},
    store::{self, Payment, Stage},
};
use crate::{
    Train,
    idempotency::{Answer, Rejection},
    problem::BOOKING_EXPIRED,
    trip,
};

/// Why a payment could not be settled yet.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Processor(#[from] ProcessorUnavailable),
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl Train {
    /// Stores the outcome of a payment, and returns the answer to the request.
    pub(crate) async fn settle(
        &self,
        id: uuid::Uuid,
        outcome: Outcome,
    ) -> Result<Answer<PaymentAnswer>, SettleError> {
        let train = self.clone();
        let (payment, answer) = self
            .db
            .write(move |tx| {
                // The time now, not that of the request to the processor: the hold must not be expired now.
                let now = train.clock.now();
                let payment = store::settle(tx, id, &outcome, now)?;
                let payment = payment.ok_or_else(|| db::Error::Fault("there is no such payment".into()))?;
                let answer = train.payment_answer(payment.clone());
                store::keep_answer(tx, id, &answer)?;
                Ok::<_, db::Error>((payment, answer))
            })
            .await?;
        if payment.stage == Stage::Refunding {
            self.expire_hold(payment.booking).await?;
            if let Err(error) = self.give_back(id).await {
                // The answer to the request does not change, and is stored; the refund follows.
                tracing::warn!(%error, payment = %id, "a payment could not be given back; trying again");
            }
        }
        Ok(answer)
    }

    /// Stores the expiry of a hold that is past its time: see [`crate::expiry`].
    async fn expire_hold(&self, booking: uuid::Uuid) -> Result<(), db::Error> {
        let now = self.clock.now();
        let due = self.db.read(move |tx| trip::store::of_due_hold(tx, booking, now)).await?;
        self.expire(due, now).await
    }

    fn payment_answer(&self, payment: Payment) -> Answer<PaymentAnswer> {
        let Some(status) = payment.stage.status() else {
            return Answer::Refused(Rejection::new(
                &BOOKING_EXPIRED,
                "The booking was lost before the payment went through. What was charged goes back.",
            ));
        };
        let booking = format!("{}/bookings/{}", self.address, payment.booking);
        Answer::Done(PaymentAnswer {
            id: payment.id,
            amount: payment.amount,
            currency: payment.currency,
            source: payment.source,
            status,
            failure: payment.failure,
            links: PaymentLinks { booking },
        })
    }

    async fn give_back(&self, id: uuid::Uuid) -> Result<(), SettleError> {
        self.processor.refund(id).await?;
        self.db.write(move |tx| store::given_back(tx, id)).await?;
        Ok(())
    }

    /// The time for leases.
    pub(crate) fn lease_now(&self) -> store::Now {
        store::Now { service: self.clock.now(), machine: self.clock.of_machine().now() }
    }

    /// Checks the payments that are due, one after another, until none is left.
    pub(crate) async fn settle_due(&self) -> Result<(), SettleError> {
        loop {
            let now = self.lease_now();
            let Some(payment) = self.db.write(move |tx| store::claim(tx, now)).await? else { return Ok(()) };
            match payment.stage {
                Stage::Processing | Stage::Pending => {
                    let outcome = self.processor.find(payment.id).await?;
                    self.settle(payment.id, outcome).await?;
                }
                Stage::Refunding => self.give_back(payment.id).await?,
                Stage::Succeeded | Stage::Failed | Stage::Refunded => {}
            }
        }
    }
}
