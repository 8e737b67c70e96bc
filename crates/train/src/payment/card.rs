//! Debit and credit cards. Their numbers are only in memory, and are not printed.

use std::ops::RangeInclusive;

use jiff::{Timestamp, tz::TimeZone};
use model::{Input, Resource};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use web::input::{
    Fields,
    rules::{Integer, Rule, Text, integer, text},
};

use super::digits::{digits, masked, masked_digits};
use crate::{Train, country::country_in_lower_case};

const NUMBER: RangeInclusive<usize> = 12..=19;

/// A debit or credit card.
#[derive(Input)]
#[resource(name = "CardInput", check = is_not_expired)]
pub(crate) struct Card {
    /// The name of the holder, as on the card.
    #[field(rule = holder(), example = "J. Doe")]
    pub(super) name: String,
    /// Without separators; the last digit is a checksum of the others.
    #[field(rule = card_number(), example = "4242424242424242")]
    pub(crate) number: SecretString,
    /// Three or four digits.
    #[field(rule = digits(3..=4), example = "123")]
    pub(super) cvc: SecretString,
    #[field(rule = month(), example = 12)]
    pub(crate) exp_month: i64,
    #[field(rule = year(), example = 2030)]
    pub(crate) exp_year: i64,
    #[field(rule = address_part())]
    pub(super) address_line1: Option<String>,
    #[field(rule = address_part())]
    pub(super) address_line2: Option<String>,
    #[field(rule = address_part())]
    pub(super) address_city: Option<String>,
    /// Two letters.
    #[field(rule = country_in_lower_case(), example = "gb")]
    pub(super) address_country: String,
    #[field(rule = post_code())]
    pub(super) address_post_code: Option<String>,
}

/// A card that was used for a payment, without the data that could be used for another.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "source")]
pub(crate) struct MaskedCard {
    #[field(rule = holder())]
    pub(super) name: String,
    /// All but the last four digits are stars.
    #[field(rule = masked_digits(NUMBER))]
    pub(super) number: String,
    #[field(rule = month())]
    pub(super) exp_month: i64,
    #[field(rule = year())]
    pub(super) exp_year: i64,
    #[field(rule = address_part())]
    pub(super) address_city: Option<String>,
    #[field(rule = text(..).pattern("^[a-z]{2}$"))]
    pub(super) address_country: String,
    #[field(rule = post_code())]
    pub(super) address_post_code: Option<String>,
}

/// The name of a card's or an account's holder.
pub(super) fn holder() -> Text {
    text(1..=200)
}

fn month() -> Integer<i64> {
    integer(1..=12)
}

fn year() -> Integer<i64> {
    integer(2000..=9999)
}

fn address_part() -> Text {
    text(0..=200)
}

fn post_code() -> Text {
    text(0..=20)
}

fn card_number() -> impl Rule<Value = SecretString> {
    digits(NUMBER).then(|field, number: SecretString| {
        if has_right_checksum(number.expose_secret()) {
            Some(number)
        } else {
            field.fail("must be a card's number: its checksum is wrong, so a digit is")
        }
    })
}

/// Luhn's checksum.
fn has_right_checksum(number: &str) -> bool {
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, byte)| {
            let digit = u32::from(byte - b'0') * if at % 2 == 1 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

/// An expired card is not reported if it is the only validation error: a repeated request may have been paid while the card was
/// valid. It is reported after the request is known to be new.
fn is_not_expired(card: &PartialCard<'_>, fields: &mut Fields<'_>) {
    if let (Some(month), Some(year), true) = (card.exp_month, card.exp_year, fields.has_errors())
        && let Some(train) = fields.context::<Train>()
        && has_expired(*year, *month, train.clock.now())
    {
        fields.fail::<()>("exp_year", EXPIRED);
    }
}

pub(super) const EXPIRED: &str = "must be a card that has not expired";

/// A card is valid until its month has ended in all zones.
fn has_expired(year: i64, month: i64, now: Timestamp) -> bool {
    let today = TimeZone::fixed(jiff::tz::offset(-12)).to_datetime(now).date();
    (year, month) < (today.year().into(), today.month().into())
}

impl Card {
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        has_expired(self.exp_year, self.exp_month, now)
    }

    pub(super) fn masked(&self) -> MaskedCard {
        MaskedCard {
            name: self.name.clone(),
            number: masked(&self.number),
            exp_month: self.exp_month,
            exp_year: self.exp_year,
            address_city: self.address_city.clone(),
            address_country: self.address_country.clone(),
            address_post_code: self.address_post_code.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_checksum_is_detected() {
        for right in ["4242424242424242", "4000000000000002", "378282246310005", "6011111111111117"] {
            assert!(has_right_checksum(right), "{right}");
        }
        for wrong in ["4242424242424241", "4242424242424224", "1234567812345678"] {
            assert!(!has_right_checksum(wrong), "{wrong}");
        }
    }
}
