//! Who moves the money: a party of its own, asked over a wire that can break at any time.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{Failure, Source};

/// What is to be charged. Its id names it: a charge that is asked for twice is made once.
pub struct Charge<'a> {
    pub payment: Uuid,
    pub amount: Decimal,
    pub currency: &'a str,
    pub(crate) source: &'a Source,
}

/// What became of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// Nothing was charged, and this is why.
    Failed(Failure),
    /// It is not decided; asking makes sense from then on.
    Pending(Timestamp),
}

/// The processor cannot be reached: whether anything happened is not known.
#[derive(Debug, thiserror::Error)]
#[error("the payment processor cannot be reached: {0}")]
pub struct ProcessorUnavailable(pub String);

pub trait Processor: Send + Sync {
    /// Charges, once however often it is asked, unless it was asked to [`find`](Processor::find) it before.
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, ProcessorUnavailable>>;

    /// What became of a charge. One that the processor has not heard of will never be made: it counts as failed from now on.
    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, ProcessorUnavailable>>;

    /// Gives back what was charged, once however often it is asked.
    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), ProcessorUnavailable>>;
}
