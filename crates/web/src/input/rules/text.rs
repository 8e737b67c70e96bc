//! Rules for text, and for values that are written as one word.

use std::ops::{Bound, RangeBounds};

use serde_json::Value;
use utoipa::{
    PartialSchema,
    openapi::{
        ObjectBuilder, RefOr,
        schema::{KnownFormat, Schema, SchemaFormat, Type},
    },
};
use uuid::Uuid;

use super::super::{
    field::{Field, RawValue},
    rule::{Describe, HasRule, HasSchema, Rule},
};
use crate::xml::is_allowed;

/// Text with a limited number of characters, without control characters and characters that XML cannot carry, so that it can
/// be answered in every format.
pub fn text(length: impl RangeBounds<usize>) -> Text {
    let least = match length.start_bound() {
        Bound::Included(least) => *least,
        Bound::Excluded(least) => least + 1,
        Bound::Unbounded => 0,
    };
    let most = match length.end_bound() {
        Bound::Included(most) => Some(*most),
        Bound::Excluded(most) => Some(most.saturating_sub(1)),
        Bound::Unbounded => None,
    };
    Text { least, most, format: None, pattern: None }
}

/// A schema of text, for [`Rule::described_as`].
pub fn text_object() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

#[derive(Clone)]
pub struct Text {
    least: usize,
    most: Option<usize>,
    format: Option<&'static str>,
    pattern: Option<&'static str>,
}

impl Text {
    /// Text that the document describes by a format. Reading does not check it.
    #[must_use]
    pub fn format(self, format: &'static str) -> Self {
        Text { format: Some(format), ..self }
    }

    /// Text that the document describes by a pattern. Reading does not check it.
    #[must_use]
    pub fn pattern(self, pattern: &'static str) -> Self {
        Text { pattern: Some(pattern), ..self }
    }
}

impl Describe for Text {
    fn schema(&self) -> RefOr<Schema> {
        let format = self.format.map(|format| match format {
            "password" => SchemaFormat::KnownFormat(KnownFormat::Password),
            "date-time" => SchemaFormat::KnownFormat(KnownFormat::DateTime),
            "email" => SchemaFormat::KnownFormat(KnownFormat::Email),
            other => SchemaFormat::Custom(other.into()),
        });
        let least = Some(self.least).filter(|least| *least > 0);
        let text = text_object().format(format).min_length(least).max_length(self.most);
        text.pattern(self.pattern).into()
    }
}

impl Rule for Text {
    type Value = String;

    fn read(&self, field: &mut Field<'_>) -> Option<String> {
        let text = field.text("must be text")?;
        if let Some(control) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return field
                .fail(format!("must not contain the control character U+{:04X}", u32::from(control)));
        }
        if let Some(odd) = text.chars().find(|c| !is_allowed(*c)) {
            return field.fail(format!("must not contain the character U+{:04X}", u32::from(odd)));
        }
        if self.least > 0 && text.trim().is_empty() {
            return field.fail("must not be empty");
        }
        let found = text.chars().count();
        if let Some(most) = self.most.filter(|most| found > *most) {
            return field.fail(format!("must be at most {most} characters long, not {found}"));
        }
        if found < self.least {
            return field.fail(format!("must be at least {} characters long", self.least));
        }
        Some(text.to_owned())
    }
}

/// One of a list of words.
pub fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> OneOf<T> {
    OneOf(words)
}

pub struct OneOf<T: 'static>(&'static [(&'static str, T)]);

impl<T> Describe for OneOf<T> {
    fn schema(&self) -> RefOr<Schema> {
        text_object().enum_values(Some(self.0.iter().map(|(word, _)| *word))).into()
    }
}

impl<T: Copy> Rule for OneOf<T> {
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        let text = field.word("must be text")?;
        match self.0.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Some(*value),
            None => {
                let words: Vec<_> = self.0.iter().map(|(word, _)| *word).collect();
                field.fail(format!("must be one of: {}", words.join(", ")))
            }
        }
    }
}

/// True or false; in XML also as `1` or `0`.
pub fn boolean() -> Boolean {
    Boolean
}

pub struct Boolean;

impl Describe for Boolean {
    fn schema(&self) -> RefOr<Schema> {
        bool::schema()
    }
}

impl Rule for Boolean {
    type Value = bool;

    fn read(&self, field: &mut Field<'_>) -> Option<bool> {
        const WANTED: &str = "must be true or false";
        let word = match field.raw {
            RawValue::Json(Value::Bool(value)) => return Some(*value),
            RawValue::Json(_) => field.text_value().unwrap_or_default(),
            _ => field.word(WANTED)?,
        };
        match (word, field.raw) {
            ("true", _) | ("1", RawValue::Xml(_)) => Some(true),
            ("false", _) | ("0", RawValue::Xml(_)) => Some(false),
            _ => field.fail(WANTED),
        }
    }
}

impl HasRule for bool {
    fn rule() -> impl Rule<Value = Self> {
        boolean()
    }
}

impl HasSchema for bool {
    fn description() -> impl Describe {
        boolean()
    }
}

/// A UUID in its usual form.
pub fn uuid() -> Uuids {
    Uuids
}

pub struct Uuids;

impl Describe for Uuids {
    fn schema(&self) -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid))).into()
    }
}

impl Rule for Uuids {
    type Value = Uuid;

    fn read(&self, field: &mut Field<'_>) -> Option<Uuid> {
        match field.word(NOT_A_UUID).map(parse_uuid)? {
            Some(id) => Some(id),
            None => field.fail(NOT_A_UUID),
        }
    }
}

impl HasRule for Uuid {
    fn rule() -> impl Rule<Value = Self> {
        uuid()
    }
}

impl HasSchema for Uuid {
    fn description() -> impl Describe {
        uuid()
    }
}

pub(in super::super) const NOT_A_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";

/// Accepts only the hyphenated form: the library also accepts braces, a URN, and bare digits.
pub(in super::super) fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// An email address: a local part without characters that need quotes, one `@`, and a domain.
pub fn email() -> Email {
    Email
}

pub struct Email;

impl Describe for Email {
    fn schema(&self) -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Email))).into()
    }
}

impl Rule for Email {
    type Value = String;

    fn read(&self, field: &mut Field<'_>) -> Option<String> {
        const WANTED: &str = "must be an email address like visitor@example.com";
        let text = field.text(WANTED)?;
        if is_email(text) { Some(text.to_owned()) } else { field.fail(WANTED) }
    }
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
    fn email_addresses_are_checked() {
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
