//! Amounts of money, and their currencies by ISO 4217.

use rust_decimal::Decimal;
use web::input::rules::{Decimals, Rule, Text, decimal, text, text_object};

/// An amount of money.
pub(crate) fn amount() -> Decimals {
    decimal(Decimal::ZERO..=Decimal::MAX)
}

/// A currency as it is answered: in lower case.
pub(crate) fn currency_code() -> Text {
    text(..).pattern("^[a-z]{3}$")
}

/// A currency of three letters, read in lower case.
pub(crate) fn currency() -> impl Rule<Value = String> {
    let letters = text_object().pattern(Some("^[A-Za-z]{3}$"));
    let currency = text(1..=100).then(|field, text: String| {
        if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            Some(text.to_ascii_lowercase())
        } else {
            field.fail("must be a currency of three letters, like eur")
        }
    });
    currency.described_as(letters)
}
