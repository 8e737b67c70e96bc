//! Payments: attempts to pay for a booking.
//!
//! An attempt is written down before the processor is asked, and its outcome after. Whatever happens in between, [`settle`]
//! finds it and asks the processor what became of it. A payment that succeeds after its booking was lost is given back.

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
    /// Why it failed, if it did.
    pub(crate) failure: Option<Failure>,
    pub(crate) links: PaymentLinks,
}

/// How far a payment has come, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(name = "PaymentStatus")]
pub(crate) enum Status {
    /// The processor has not decided yet. The booking is confirmed if it does while it is held.
    Pending,
    /// The booking is confirmed.
    Succeeded,
    /// Nothing was charged; the booking is still held, and another payment can be tried.
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

/// A payment to be.
#[derive(Input)]
#[resource(name = "PaymentInput", xml = "payment")]
pub(crate) struct NewPayment {
    /// What is due, if it is given.
    #[field(rule = amount(), example = 89.00)]
    amount: Option<Decimal>,
    /// By ISO 4217; what the price is in, if it is given.
    #[field(rule = currency(), example = "eur")]
    currency: Option<String>,
    #[field(rule = nested::<Source>())]
    source: Source,
}
