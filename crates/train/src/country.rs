//! Countries, by ISO 3166-1.

use web::input::rules::{Rule, text, text_object};

/// A country of two letters, read in upper case.
pub(crate) fn country() -> impl Rule<Value = String> {
    let letters = text_object().pattern(Some("^[A-Za-z]{2}$"));
    let country = text(1..=100).then(|field, text: String| {
        if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            Some(text.to_ascii_uppercase())
        } else {
            field.fail("must be a country of two letters, like DE")
        }
    });
    country.described_as(letters)
}

/// The same, read in lower case.
pub(crate) fn country_in_lower_case() -> impl Rule<Value = String> {
    country().then(|_, country| Some(country.to_ascii_lowercase()))
}
