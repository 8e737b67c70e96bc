//! Payments: attempts to pay for a booking.
//!
//! An attempt is stored before the request to the processor, and its outcome after it. If the process stops in between,
//! [`settle`] finds the attempt and asks the processor for its outcome. A payment that succeeds after its booking expired or was
//! cancelled is refunded.

mod account;
pub(crate) mod api;
mod card;
mod digits;
pub(crate) mod processor;
pub(crate) mod sandbox;
pub(crate) mod settle;
#[cfg(test)]
mod settle_tests;
mod source;
pub(crate) mod store;

use model::{Input, Resource, Words};
use rust_decimal::Decimal;
use serde::Deserialize;
use uuid::Uuid;

pub(crate) use source::{MaskedSource, Source};

use crate::{
    link::uri,
    money::{amount, currency, currency_code},
};

/// A payment as clients see it.
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(name = "Payment", xml = "payment")]
pub(crate) struct PaymentAnswer {
    pub(crate) id: Uuid,
    #[field(rule = amount(), example = 89.00)]
    pub(crate) amount: Decimal,
    /// By ISO 4217, in lower case.
    #[field(rule = currency_code(), example = "eur")]
    pub(crate) currency: String,
    pub(crate) source: MaskedSource,
    pub(crate) status: Status,
    /// Why the payment failed, if it did.
    pub(crate) failure: Option<Failure>,
    pub(crate) links: PaymentLinks,
}

/// The status of a payment in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(name = "PaymentStatus")]
pub(crate) enum Status {
    /// The processor has not decided yet. If the payment succeeds while the booking is held, the booking is confirmed.
    Pending,
    /// The booking is confirmed.
    Succeeded,
    /// Nothing was charged. The booking is still held, and can be paid for again.
    Failed,
}

/// Why a payment failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(inline)]
pub enum Failure {
    CardDeclined,
    ExpiredCard,
    InsufficientFunds,
    /// The processor was never asked to charge it.
    Abandoned,
}

#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(xml = "links")]
pub(crate) struct PaymentLinks {
    #[field(rule = uri())]
    pub(crate) booking: String,
}

/// A new payment.
#[derive(Input)]
#[resource(name = "PaymentInput", xml = "payment")]
pub(crate) struct NewPayment {
    /// The amount. It is optional, and must be the price of the trip.
    #[field(rule = amount(), example = 89.00)]
    amount: Option<Decimal>,
    /// The currency by ISO 4217. It is optional, and must be that of the price.
    #[field(rule = currency(), example = "eur")]
    currency: Option<String>,
    #[field(rule = nested::<Source>())]
    source: Source,
}
