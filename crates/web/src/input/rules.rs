//! Rules for members: each turns what was sent into a value, or notes what to change.

use std::ops::RangeInclusive;

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde_json::{Number, Value};
use uuid::Uuid;

use super::{Field, Given};

/// Text of so many characters, without the ones that no database or terminal takes well.
pub fn text(length: RangeInclusive<usize>) -> impl Fn(&mut Field<'_>) -> Option<String> {
    move |field| {
        let text = plain(field, "must be text")?;
        if let Some(control) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return field
                .fail(format!("must not contain the control character U+{:04X}", u32::from(control)));
        }
        if *length.start() > 0 && text.trim().is_empty() {
            return field.fail("must not be empty");
        }
        let found = text.chars().count();
        if found > *length.end() {
            return field.fail(format!("must be at most {} characters long, not {found}", length.end()));
        }
        if found < *length.start() {
            return field.fail(format!("must be at least {} characters long", length.start()));
        }
        Some(text.to_owned())
    }
}

/// One of a few words.
pub fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&mut Field<'_>) -> Option<T> {
    move |field| {
        let found = plain(field, "must be text").map(|text| words.iter().find(|(word, _)| *word == text))?;
        match found {
            Some((_, value)) => Some(*value),
            None => {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                field.fail(format!("must be one of: {}", words.join(", ")))
            }
        }
    }
}

/// A whole number in a range.
pub fn integer(range: RangeInclusive<i64>) -> impl Fn(&mut Field<'_>) -> Option<i64> {
    move |field| {
        let number = match field.given {
            Given::Json(Value::Number(number)) => number.as_i64(),
            Given::Text(text) => whole(text),
            Given::Json(_) => None,
        };
        match number {
            Some(number) if range.contains(&number) => Some(number),
            _ if *range.end() == i64::MAX => {
                field.fail(format!("must be a whole number, {} or more", range.start()))
            }
            _ => field.fail(format!("must be a whole number from {} to {}", range.start(), range.end())),
        }
    }
}

/// Digits with an optional minus sign: no plus, no blanks.
fn whole(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// A calendar date, `2026-05-17`.
pub fn date(field: &mut Field<'_>) -> Option<Date> {
    const WANTED: &str = "must be a calendar date like 2026-05-17";
    let text = plain(field, WANTED)?;
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !shaped {
        return field.fail(WANTED);
    }
    match text.parse() {
        Ok(date) => Some(date),
        Err(_) => field.fail(format!("must be a calendar date like 2026-05-17; there is no {text}")),
    }
}

/// A UUID in its usual form.
pub fn uuid(field: &mut Field<'_>) -> Option<Uuid> {
    match plain(field, NOT_A_UUID).map(parse_uuid)? {
        Some(id) => Some(id),
        None => field.fail(NOT_A_UUID),
    }
}

pub(super) const NOT_A_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";

/// Only the hyphenated form: the library would also take braces, a URN, and bare digits.
pub(super) fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// A decimal number of at most 28 digits, kept digit for digit: `25.50` stays `25.50`.
pub fn decimal(range: RangeInclusive<Decimal>) -> impl Fn(&mut Field<'_>) -> Option<Decimal> {
    move |field| {
        const DIGITS: &str = "must be a decimal number of at most 28 digits";
        let literal = match field.given {
            Given::Json(Value::Number(number)) => number.as_str(),
            // As JSON would write it: the library would also take a plus, underscores, a bare point.
            Given::Text(text) if text.parse::<Number>().is_ok() => text,
            Given::Text(_) => return field.fail(DIGITS),
            Given::Json(_) => return field.fail("must be a number"),
        };
        let parsed = match literal.split_once(['e', 'E']) {
            // The exponent's reader rounds digits that are too many, where they are to be refused.
            Some((digits, _)) => {
                Decimal::from_str_exact(digits).and_then(|_| Decimal::from_scientific(literal))
            }
            None => Decimal::from_str_exact(literal),
        };
        match parsed {
            // JSON has a zero with a minus sign; nobody means it.
            Ok(number) if number.is_zero() && range.contains(&number) => Some(number.abs()),
            Ok(number) if range.contains(&number) => Some(number),
            Ok(_) if range.end() == &Decimal::MAX => {
                field.fail(format!("must be a number, {} or more", range.start()))
            }
            Ok(_) => field.fail(format!("must be a number from {} to {}", range.start(), range.end())),
            Err(_) => field.fail(DIGITS),
        }
    }
}

/// A list of so many items, each by a rule; every item that breaks it is noted.
pub fn list<T>(
    length: RangeInclusive<usize>,
    item: impl Fn(&mut Field<'_>) -> Option<T>,
) -> impl Fn(&mut Field<'_>) -> Option<Vec<T>> {
    move |field| {
        let Given::Json(Value::Array(items)) = field.given else {
            return field.fail("must be a list");
        };
        if !length.contains(&items.len()) {
            return field.fail(match (length.start(), items.len()) {
                (1, 0) => "must have at least one item".to_owned(),
                (least, found) if found < *least => format!("must have at least {least} items, not {found}"),
                (_, found) => format!("must have at most {} items, not {found}", length.end()),
            });
        }
        let read: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let pointer = format!("{}/{index}", field.pointer);
                item(&mut Field { given: Given::Json(value), pointer, errors: field.errors })
            })
            .collect();
        read.into_iter().collect()
    }
}

/// An email address: one `@`, something before it, a domain after it, nothing that would need quoting.
pub fn email(field: &mut Field<'_>) -> Option<String> {
    const WANTED: &str = "must be an email address like visitor@example.com";
    let text = plain(field, WANTED)?;
    if is_email(text) { Some(text.to_owned()) } else { field.fail(WANTED) }
}

fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let name_fine = (1..=64).contains(&name.len())
        && name.split('.').all(|part| {
            let allowed = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
            !part.is_empty() && part.chars().all(allowed)
        });
    let domain_fine = domain.len() <= 253
        && domain.contains('.')
        && domain.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        });
    name_fine && domain_fine
}

fn plain<'a>(field: &mut Field<'a>, wanted: &'static str) -> Option<&'a str> {
    match field.given {
        Given::Json(Value::String(text)) => Some(text),
        Given::Text(text) => Some(text),
        Given::Json(Value::Null) => field.fail("must not be null"),
        Given::Json(_) => field.fail(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn email_addresses() {
        for good in
            ["a@b.co", "todd@example.com", "o'neil+tag@mail.example.org", "zoë@exämple.de", "a.b@c-d.io"]
        {
            assert!(is_email(good), "{good}");
        }
        let long_name = format!("{}@example.com", "a".repeat(65));
        let long_label = format!("a@{}.com", "b".repeat(64));
        for bad in [
            "",
            "@",
            "a@",
            "@b.co",
            "a@b",
            "a b@c.de",
            "a@b..de",
            ".a@b.de",
            "a.@b.de",
            "a@-b.de",
            "a@b-.de",
            "a@b.de\n",
            "a,b@c.de",
            "a@b@c.de",
            "<a@b.de>",
            "a@b.de.",
            &long_name,
            &long_label,
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
