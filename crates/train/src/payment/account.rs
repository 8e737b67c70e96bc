//! Bank accounts. Their numbers are only in memory, and are not printed.

use std::ops::RangeInclusive;

use model::{Input, Resource, Words};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use web::input::rules::{Rule, Text, text};

use super::{
    card::holder,
    digits::{digits, masked, masked_digits},
};
use crate::country::country_in_lower_case;

const NUMBER: RangeInclusive<usize> = 5..=34;

/// A bank account.
#[derive(Input)]
#[resource(name = "BankAccountInput")]
pub(crate) struct BankAccount {
    #[field(rule = holder(), example = "J. Doe")]
    pub(super) name: String,
    #[field(rule = digits(NUMBER), example = "00012345")]
    pub(super) number: SecretString,
    /// Six digits.
    #[field(rule = sort_code(), example = "000123")]
    pub(super) sort_code: Option<String>,
    #[field(example = "individual")]
    pub(super) account_type: AccountType,
    #[field(rule = bank(), example = "Starling Bank")]
    pub(super) bank_name: String,
    /// Two letters.
    #[field(rule = country_in_lower_case(), example = "gb")]
    pub(super) country: String,
}

/// A bank account that was used for a payment, without the data that could be used for another.
#[derive(Debug, Clone, PartialEq, Deserialize, Resource)]
#[resource(xml = "source")]
pub(crate) struct MaskedBankAccount {
    #[field(rule = holder())]
    pub(super) name: String,
    /// All but the last four digits are stars.
    #[field(rule = masked_digits(NUMBER))]
    pub(super) number: String,
    #[field(rule = sort_code())]
    pub(super) sort_code: Option<String>,
    pub(super) account_type: AccountType,
    #[field(rule = bank())]
    pub(super) bank_name: String,
    #[field(rule = text(..).pattern("^[a-z]{2}$"))]
    pub(super) country: String,
}

/// The kind of account holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(inline)]
pub(crate) enum AccountType {
    Individual,
    Company,
}

fn sort_code() -> impl Rule<Value = String> {
    digits(6..=6).then(|_, code: SecretString| Some(code.expose_secret().to_owned()))
}

fn bank() -> Text {
    text(1..=200)
}

impl BankAccount {
    pub(super) fn masked(&self) -> MaskedBankAccount {
        MaskedBankAccount {
            name: self.name.clone(),
            number: masked(&self.number),
            sort_code: self.sort_code.clone(),
            account_type: self.account_type,
            bank_name: self.bank_name.clone(),
            country: self.country.clone(),
        }
    }
}
