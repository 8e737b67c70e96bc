//! What somebody pays with. Numbers of cards and accounts live in memory only, and cannot be printed.

use jiff::{Timestamp, tz::TimeZone};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    xml::Xml,
};

use super::schema::AccountType;
use crate::{Train, country::country};

/// A card or a bank account.
pub(crate) enum Source {
    Card(Card),
    BankAccount(BankAccount),
}

/// A debit or credit card.
#[derive(ToSchema)]
#[schema(as = CardInput)]
pub(crate) struct Card {
    /// Who it belongs to, as it stands on the card.
    #[schema(min_length = 1, max_length = 200, examples("J. Doe"))]
    name: String,
    /// Without separators; the last digit is a checksum of the others.
    #[schema(value_type = String, pattern = "^[0-9]{12,19}$", examples("4242424242424242"))]
    pub(crate) number: SecretString,
    /// Three or four digits.
    #[schema(value_type = String, pattern = "^[0-9]{3,4}$", examples("123"))]
    cvc: SecretString,
    #[schema(minimum = 1, maximum = 12, examples(12))]
    pub(crate) exp_month: i64,
    #[schema(minimum = 2000, maximum = 9999, examples(2030))]
    pub(crate) exp_year: i64,
    #[schema(required = false, nullable = false, max_length = 200)]
    address_line1: Option<String>,
    #[schema(required = false, nullable = false, max_length = 200)]
    address_line2: Option<String>,
    #[schema(required = false, nullable = false, max_length = 200)]
    address_city: Option<String>,
    /// Two letters.
    #[schema(pattern = "^[A-Za-z]{2}$", examples("gb"))]
    address_country: String,
    #[schema(required = false, nullable = false, max_length = 20)]
    address_post_code: Option<String>,
}

/// A bank account.
#[derive(ToSchema)]
#[schema(as = BankAccountInput)]
pub(crate) struct BankAccount {
    #[schema(min_length = 1, max_length = 200, examples("J. Doe"))]
    name: String,
    #[schema(value_type = String, pattern = "^[0-9]{5,34}$", examples("00012345"))]
    number: SecretString,
    /// Six digits.
    #[schema(required = false, nullable = false, pattern = "^[0-9]{6}$", examples("000123"))]
    sort_code: Option<String>,
    #[schema(value_type = AccountType, inline, examples("individual"))]
    account_type: &'static str,
    #[schema(min_length = 1, max_length = 200, examples("Starling Bank"))]
    bank_name: String,
    /// Two letters.
    #[schema(pattern = "^[A-Za-z]{2}$", examples("gb"))]
    country: String,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Card,
    BankAccount,
}

/// The words for them.
pub(super) const KINDS: &[(&str, Kind)] = &[("card", Kind::Card), ("bank_account", Kind::BankAccount)];

impl Input for Source {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        match fields.required("object", rules::one_of(KINDS))? {
            Kind::Card => Card::read(fields).map(Source::Card),
            Kind::BankAccount => BankAccount::read(fields).map(Source::BankAccount),
        }
    }
}

impl Input for Card {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", rules::text(1..=200));
        let number = fields.required("number", card_number);
        let cvc = fields.required("cvc", digits(3..=4));
        let exp_month = fields.required("exp_month", rules::integer(1..=12));
        let exp_year = fields.required("exp_year", rules::integer(2000..=9999));
        let address_line1 = fields.optional("address_line1", rules::text(0..=200));
        let address_line2 = fields.optional("address_line2", rules::text(0..=200));
        let address_city = fields.optional("address_city", rules::text(0..=200));
        let address_country = fields.required("address_country", country());
        let address_post_code = fields.optional("address_post_code", rules::text(0..=20));
        // A card that is expired and nothing else waits until the request is known to be new: one that is sent again may have
        // been paid with a card that was still good.
        if let (Some(month), Some(year), true) = (exp_month, exp_year, fields.has_faults()) {
            let train = fields.facts::<Train>()?;
            if has_expired(year, month, train.clock.now()) {
                fields.fail::<()>("exp_year", EXPIRED);
            }
        }
        Some(Card {
            name: name?,
            number: number?,
            cvc: cvc?,
            exp_month: exp_month?,
            exp_year: exp_year?,
            address_line1: address_line1?,
            address_line2: address_line2?,
            address_city: address_city?,
            address_country: address_country?.to_ascii_lowercase(),
            address_post_code: address_post_code?,
        })
    }
}

impl Input for BankAccount {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        const TYPES: &[(&str, &str)] = &[("individual", "individual"), ("company", "company")];
        let name = fields.required("name", rules::text(1..=200));
        let number = fields.required("number", digits(5..=34));
        let sort_code = fields.optional("sort_code", digits(6..=6));
        let account_type = fields.required("account_type", rules::one_of(TYPES));
        let bank_name = fields.required("bank_name", rules::text(1..=200));
        let country = fields.required("country", country());
        Some(BankAccount {
            name: name?,
            number: number?,
            sort_code: sort_code?.map(|code| code.expose_secret().to_owned()),
            account_type: account_type?,
            bank_name: bank_name?,
            country: country?.to_ascii_lowercase(),
        })
    }
}

pub(super) const EXPIRED: &str = "must be a card that is still good: this one has expired";

/// A card is good until the end of its month, anywhere.
pub(super) fn has_expired(year: i64, month: i64, now: Timestamp) -> bool {
    let today = TimeZone::fixed(jiff::tz::offset(-12)).to_datetime(now).date();
    (year, month) < (today.year().into(), today.month().into())
}

/// So many digits. What was sent is never told back.
fn digits(length: std::ops::RangeInclusive<usize>) -> impl Fn(&mut Field<'_>) -> Option<SecretString> {
    move |field| {
        let text = rules::text(0..=1000).read(field)?;
        if length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(text.into());
        }
        field.fail(match (length.start(), length.end()) {
            (least, most) if least == most => format!("must be {least} digits, as text"),
            (least, most) => format!("must be {least} to {most} digits, as text"),
        })
    }
}

fn card_number(field: &mut Field<'_>) -> Option<SecretString> {
    let number = digits(12..=19)(field)?;
    if has_right_checksum(number.expose_secret()) {
        Some(number)
    } else {
        field.fail("must be a card's number: its checksum is wrong, so a digit is")
    }
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

/// What somebody paid with, without what could pay again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "object", rename_all = "snake_case")]
#[schema(as = PaymentSource)]
pub(crate) enum MaskedSource {
    #[schema(title = "Card")]
    Card {
        #[schema(min_length = 1, max_length = 200)]
        name: String,
        /// All but the last four digits are stars.
        #[schema(pattern = r"^\*{8,15}[0-9]{4}$")]
        number: String,
        #[schema(minimum = 1, maximum = 12)]
        exp_month: i64,
        #[schema(minimum = 2000, maximum = 9999)]
        exp_year: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(required = false, nullable = false, max_length = 200)]
        address_city: Option<String>,
        #[schema(pattern = "^[a-z]{2}$")]
        address_country: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(required = false, nullable = false, max_length = 20)]
        address_post_code: Option<String>,
    },
    #[schema(title = "Bank account")]
    BankAccount {
        #[schema(min_length = 1, max_length = 200)]
        name: String,
        /// All but the last four digits are stars.
        #[schema(pattern = r"^\*{1,30}[0-9]{4}$")]
        number: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(required = false, nullable = false, pattern = "^[0-9]{6}$")]
        sort_code: Option<String>,
        #[schema(value_type = AccountType, inline)]
        account_type: String,
        #[schema(min_length = 1, max_length = 200)]
        bank_name: String,
        #[schema(pattern = "^[a-z]{2}$")]
        country: String,
    },
}

fn masked(number: &SecretString) -> String {
    let number = number.expose_secret();
    let shown = number.len() - 4;
    format!("{}{}", "*".repeat(shown), &number[shown..])
}

impl Source {
    pub(crate) fn masked(&self) -> MaskedSource {
        match self {
            Source::Card(card) => MaskedSource::Card {
                name: card.name.clone(),
                number: masked(&card.number),
                exp_month: card.exp_month,
                exp_year: card.exp_year,
                address_city: card.address_city.clone(),
                address_country: card.address_country.clone(),
                address_post_code: card.address_post_code.clone(),
            },
            Source::BankAccount(account) => MaskedSource::BankAccount {
                name: account.name.clone(),
                number: masked(&account.number),
                sort_code: account.sort_code.clone(),
                account_type: account.account_type.into(),
                bank_name: account.bank_name.clone(),
                country: account.country.clone(),
            },
        }
    }

    /// Everything in it, to tell one body from another. It must never be kept or printed.
    pub(crate) fn everything(&self) -> SecretString {
        let parts: Vec<String> = match self {
            Source::Card(card) => vec![
                "card".into(),
                card.name.clone(),
                card.number.expose_secret().into(),
                card.cvc.expose_secret().into(),
                card.exp_month.to_string(),
                card.exp_year.to_string(),
                format!("{:?}", (&card.address_line1, &card.address_line2, &card.address_city)),
                format!("{:?}", (&card.address_country, &card.address_post_code)),
            ],
            Source::BankAccount(account) => vec![
                "bank_account".into(),
                account.name.clone(),
                account.number.expose_secret().into(),
                format!("{:?}", (&account.sort_code, account.account_type)),
                format!("{:?}", (&account.bank_name, &account.country)),
            ],
        };
        format!("{parts:?}").into()
    }
}

impl MaskedSource {
    /// What stands in a payment whose user was removed.
    pub(crate) fn removed() -> Self {
        MaskedSource::Card {
            name: String::new(),
            number: String::new(),
            exp_month: 1,
            exp_year: 2000,
            address_city: None,
            address_country: String::new(),
            address_post_code: None,
        }
    }

    pub(crate) fn content(&self, xml: &mut Xml) {
        let optional = |xml: &mut Xml, name, text: &Option<String>| {
            if let Some(text) = text {
                xml.text(name, text);
            }
        };
        match self {
            MaskedSource::Card {
                name,
                number,
                exp_month,
                exp_year,
                address_city,
                address_country,
                address_post_code,
            } => {
                xml.text("object", "card");
                xml.text("name", name);
                xml.text("number", number);
                xml.value("exp_month", exp_month);
                xml.value("exp_year", exp_year);
                optional(xml, "address_city", address_city);
                xml.text("address_country", address_country);
                optional(xml, "address_post_code", address_post_code);
            }
            MaskedSource::BankAccount { name, number, sort_code, account_type, bank_name, country } => {
                xml.text("object", "bank_account");
                xml.text("name", name);
                xml.text("number", number);
                optional(xml, "sort_code", sort_code);
                xml.text("account_type", account_type);
                xml.text("bank_name", bank_name);
                xml.text("country", country);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        for right in ["4242424242424242", "4000000000000002", "378282246310005", "6011111111111117"] {
            assert!(has_right_checksum(right), "{right}");
        }
        for wrong in ["4242424242424241", "4242424242424224", "1234567812345678"] {
            assert!(!has_right_checksum(wrong), "{wrong}");
        }
    }

    #[test]
    fn only_the_last_four_digits_are_shown() {
        assert_eq!(masked(&"4242424242424242".into()), "************4242");
        assert_eq!(masked(&"12345".into()), "*2345");
    }

    #[test]
    fn numbers_cannot_be_printed() {
        let (number, cvc): (SecretString, SecretString) = ("4242424242424242".into(), "987".into());
        let printed = format!("{number:?} {cvc:?}");
        assert!(!printed.contains("4242") && !printed.contains("987"), "{printed}");
        let card = Card {
            name: "A".into(),
            number,
            cvc,
            exp_month: 12,
            exp_year: 2031,
            address_line1: None,
            address_line2: None,
            address_city: None,
            address_country: "gb".into(),
            address_post_code: None,
        };
        let source = Source::Card(card);
        let printed = format!("{:?} {:?}", source.masked(), source.everything());
        assert!(printed.contains("************4242") && !printed.contains("42424242"), "{printed}");
        assert!(!printed.contains("987"), "{printed}");
    }

    /// The fingerprints of requests that are stored were made of this text.
    #[test]
    fn source_has_the_same_text_in_every_version() {
        let card = Source::Card(Card {
            name: "J. \"D\"".into(),
            number: "4242424242424242".into(),
            cvc: "123".into(),
            exp_month: 12,
            exp_year: 2031,
            address_line1: Some("1 Street".into()),
            address_line2: None,
            address_city: Some("London".into()),
            address_country: "gb".into(),
            address_post_code: None,
        });
        let text = r#"["card", "J. \"D\"", "4242424242424242", "123", "12", "2031", "(Some(\"1 Street\"), None, Some(\"London\"))", "(\"gb\", None)"]"#;
        assert_eq!(card.everything().expose_secret(), text);
        let account = Source::BankAccount(BankAccount {
            name: "J".into(),
            number: "00012345".into(),
            sort_code: Some("000123".into()),
            account_type: "individual",
            bank_name: "Bank".into(),
            country: "gb".into(),
        });
        let text = r#"["bank_account", "J", "00012345", "(Some(\"000123\"), \"individual\")", "(\"Bank\", \"gb\")"]"#;
        assert_eq!(account.everything().expose_secret(), text);
    }
}
