//! Payments: attempts to pay for a booking.
//!
//! An attempt is written down before the processor is asked, and its outcome after. Whatever happens in between, [`settle`]
//! finds it and asks the processor what became of it. A payment that succeeds after its booking was lost is given back.

pub(crate) mod api;
pub(crate) mod processor;
pub(crate) mod sandbox;
mod schema;
pub(crate) mod settle;
#[cfg(test)]
mod settle_tests;
mod source;
pub(crate) mod store;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;
use web::{
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    xml::{ToXml, Xml},
};

pub(crate) use source::{MaskedSource, Source};

/// How far a payment has come, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PaymentStatus)]
pub(crate) enum Status {
    /// The processor has not decided yet. The booking is confirmed if it does while it is held.
    Pending,
    /// The booking is confirmed.
    Succeeded,
    /// Nothing was charged; the booking is still held, and another payment can be tried.
    Failed,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
        }
    }
}

/// A payment as clients see it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Payment, xml(name = "payment"))]
pub(crate) struct PaymentAnswer {
    pub(crate) id: Uuid,
    #[serde(with = "amount")]
    #[schema(value_type = f64, minimum = 0, examples(89.00))]
    pub(crate) amount: Decimal,
    /// By ISO 4217, in lower case.
    #[schema(pattern = "^[a-z]{3}$", examples("eur"))]
    pub(crate) currency: String,
    pub(crate) source: MaskedSource,
    pub(crate) status: Status,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Failure, inline, required = false)]
    pub(crate) failure: Option<String>,
    pub(crate) links: PaymentLinks,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct PaymentLinks {
    #[schema(format = "uri")]
    pub(crate) booking: String,
}

/// An amount as a number with exactly its digits, both ways.
mod amount {
    use rust_decimal::Decimal;
    use serde::{Deserialize, Deserializer};

    pub(super) use web::reply::decimal as serialize;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        number.as_str().parse().map_err(serde::de::Error::custom)
    }
}

impl ToXml for PaymentAnswer {
    const ROOT: &'static str = "payment";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.value("amount", self.amount);
        xml.text("currency", &self.currency);
        xml.element("source", |xml| self.source.content(xml));
        xml.text("status", self.status.word());
        if let Some(failure) = &self.failure {
            xml.text("failure", failure);
        }
        xml.element("links", |xml| xml.text("booking", &self.links.booking));
    }
}

/// A payment to be.
#[derive(ToSchema)]
#[schema(as = PaymentInput, xml(name = "payment"))]
pub(crate) struct NewPayment {
    /// What is due, if it is given.
    #[schema(value_type = f64, minimum = 0, maximum = 79228162514264337593543950335.0, required = false,
        examples(89.00))]
    amount: Option<Decimal>,
    /// By ISO 4217; what the price is in, if it is given.
    #[schema(required = false, nullable = false, pattern = "^[A-Za-z]{3}$", examples("eur"))]
    currency: Option<String>,
    source: Source,
}

impl Input for NewPayment {
    const XML_ROOT: Option<&'static str> = Some("payment");

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = fields.optional("amount", rules::decimal(Decimal::ZERO..=Decimal::MAX));
        let currency = fields.optional("currency", currency);
        let source = fields.required("source", Source::read_value);
        Some(NewPayment { amount: amount?, currency: currency?, source: source? })
    }
}

fn currency(field: &mut Field<'_>) -> Option<String> {
    let text = rules::text(1..=100).read(field)?;
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        Some(text.to_ascii_lowercase())
    } else {
        field.fail("must be a currency of three letters, like eur")
    }
}
