//! The payment processor: an external service whose connection can fail at any time.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{Failure, Source};

/// A charge. It is identified by its id: a repeated request charges once.
pub struct Charge<'a> {
    pub payment: Uuid,
    pub amount: Decimal,
    pub currency: &'a str,
    pub(crate) source: &'a Source,
}

/// The outcome of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// Nothing was charged, for this reason.
    Failed(Failure),
    /// Not decided yet; ask again from this time on.
    Pending(Timestamp),
}

/// The processor cannot be reached: it is unknown whether it charged.
#[derive(Debug, thiserror::Error)]
#[error("the payment processor cannot be reached: {0}")]
pub struct ProcessorUnavailable(pub String);

pub trait Processor: Send + Sync {
    /// Charges once, also if repeated. It does not charge after a [`find`](Processor::find) of the same charge.
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, ProcessorUnavailable>>;

    /// The outcome of a charge. A charge that the processor does not know counts as failed from now on, and is never made.
    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, ProcessorUnavailable>>;

    /// Refunds a charge once, also if repeated.
    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), ProcessorUnavailable>>;
}
