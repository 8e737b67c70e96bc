//! Rules for members: each turns what was sent into a value, or notes what to change.

mod list;
mod number;
mod time;

use std::ops::RangeInclusive;

use serde_json::Value;
use uuid::Uuid;

use super::{Field, field::Given, repeats};
use crate::xml::is_allowed;

pub(super) use list::read as read_list;
pub use list::{list, list_of};
pub(super) use number::{NOT_AN_ID, whole};
pub use number::{decimal, id, integer};
pub use time::{date, timestamp, timestamp_or_utc};

/// Text of so many characters, without the ones that no database or terminal takes well, or XML has no way to
/// write: what is taken here can be told back in every form.
pub fn text(length: RangeInclusive<usize>) -> impl Fn(&mut Field<'_>) -> Option<String> {
    move |field| {
        let text = field.text("must be text")?;
        if let Some(control) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return field
                .fail(format!("must not contain the control character U+{:04X}", u32::from(control)));
        }
        if let Some(odd) = text.chars().find(|c| !is_allowed(*c)) {
            return field.fail(format!("must not contain the character U+{:04X}", u32::from(odd)));
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
        let found = field.word("must be text").map(|text| words.iter().find(|(word, _)| *word == text))?;
        match found {
            Some((_, value)) => Some(*value),
            None => {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                field.fail(format!("must be one of: {}", words.join(", ")))
            }
        }
    }
}

/// What is an object by this rule; in a form it is the text of a JSON object, as OpenAPI has it.
pub fn object<T>(rule: impl Fn(&mut Field<'_>) -> Option<T>) -> impl Fn(&mut Field<'_>) -> Option<T> {
    move |field| {
        let Given::Text(text) = field.given else { return rule(field) };
        match serde_json::from_str::<Value>(text) {
            Ok(value) if repeats::first(text.as_bytes()).is_none() => {
                let pointer = field.pointer.clone();
                rule(&mut Field { given: Given::Json(&value), pointer, faults: field.faults })
            }
            _ => field.fail("must be a JSON object, as text"),
        }
    }
}

/// True or false; in XML also as `1` or `0`.
pub fn boolean(field: &mut Field<'_>) -> Option<bool> {
    const WANTED: &str = "must be true or false";
    let word = match field.given {
        Given::Json(Value::Bool(value)) => return Some(*value),
        Given::Json(_) => return field.fail(WANTED),
        _ => field.word(WANTED)?,
    };
    match (word, field.given) {
        ("true", _) | ("1", Given::Xml(_)) => Some(true),
        ("false", _) | ("0", Given::Xml(_)) => Some(false),
        _ => field.fail(WANTED),
    }
}

/// A UUID in its usual form.
pub fn uuid(field: &mut Field<'_>) -> Option<Uuid> {
    match field.word(NOT_A_UUID).map(parse_uuid)? {
        Some(id) => Some(id),
        None => field.fail(NOT_A_UUID),
    }
}

pub(super) const NOT_A_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";

/// Only the hyphenated form: the library would also take braces, a URN, and bare digits.
pub(super) fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// An email address: one `@`, something before it, a domain after it, nothing that would need quoting.
pub fn email(field: &mut Field<'_>) -> Option<String> {
    const WANTED: &str = "must be an email address like visitor@example.com";
    let text = field.text(WANTED)?;
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
