//! Numbers of cards and accounts, as text of digits.

use std::ops::RangeInclusive;

use secrecy::{ExposeSecret, SecretString};
use web::input::rules::{Describe, Rule, text, text_object};

/// How many digits of a number are answered.
const SHOWN: usize = 4;

/// Text of a number of digits. Messages do not repeat the sent text.
pub(super) fn digits(length: RangeInclusive<usize>) -> impl Rule<Value = SecretString> {
    let (least, most) = (*length.start(), *length.end());
    let times = if least == most { least.to_string() } else { format!("{least},{most}") };
    let pattern = text_object().pattern(Some(format!("^[0-9]{{{times}}}$")));
    let digits = text(0..=1000).then(move |field, text: String| {
        if length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(SecretString::from(text));
        }
        field.fail(if least == most {
            format!("must be {least} digits, as text")
        } else {
            format!("must be {least} to {most} digits, as text")
        })
    });
    digits.described_as(pattern)
}

/// The schema of a number in an answer.
pub(super) fn masked_digits(length: RangeInclusive<usize>) -> impl Describe {
    let (least, most) = (length.start() - SHOWN, length.end() - SHOWN);
    text(..).described_as(text_object().pattern(Some(format!(r"^\*{{{least},{most}}}[0-9]{{{SHOWN}}}$"))))
}

pub(super) fn masked(number: &SecretString) -> String {
    let number = number.expose_secret();
    let hidden = number.len().saturating_sub(SHOWN);
    format!("{}{}", "*".repeat(hidden), &number[hidden..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_four_digits_are_shown() {
        assert_eq!(masked(&"4242424242424242".into()), "************4242");
        assert_eq!(masked(&"12345".into()), "*2345");
    }
}
