//! The date of a search: a day, or a time on a day.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};
use utoipa::openapi::schema::{AnyOfBuilder, KnownFormat, SchemaFormat};
use web::input::rules::{Rule, text, text_object};

/// The date of a search.
#[derive(Clone, Copy)]
pub(super) enum When {
    Day(Date),
    /// In local time of the origin.
    From(DateTime),
    FromInstant(Timestamp),
}

/// A day, and the earliest departure on it.
pub(super) type Day = (Date, Option<Timestamp>);

pub(super) fn when() -> impl Rule<Value = When> {
    const WANTED: &str = "must be a day like 2026-05-17, or a day and time like 2026-05-17T09:00:00";
    const LOCAL: &str =
        "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$";
    let read =
        text(1..=100).then(|field, text: String| parse(&text).map_or_else(|| field.fail(WANTED), Some));
    let formats = [KnownFormat::Date, KnownFormat::DateTime];
    let formats = formats.map(|format| text_object().format(Some(SchemaFormat::KnownFormat(format))));
    let local = text_object().pattern(Some(LOCAL));
    let forms = formats.into_iter().chain([local]).fold(AnyOfBuilder::new(), AnyOfBuilder::item);
    read.described_as(forms.build())
}

/// Accepts only these forms: the library accepts many more.
fn parse(text: &str) -> Option<When> {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let shaped = digits(0..4) && text.get(4..5) == Some("-") && digits(5..7);
    let found = match text.len() {
        10 => text.parse().ok().map(When::Day),
        _ if text.get(10..11) != Some("T") || text.contains('[') => None,
        _ => match text.parse::<Timestamp>() {
            Ok(instant) => Some(When::FromInstant(instant)),
            Err(_) => text.parse().ok().map(When::From),
        },
    };
    found.filter(|_| shaped)
}

impl When {
    /// The day, and the earliest departure on it.
    pub(super) fn at(self, zone: &TimeZone) -> Option<Day> {
        match self {
            When::Day(date) => Some((date, None)),
            When::From(time) => Some((time.date(), Some(time.to_zoned(zone.clone()).ok()?.timestamp()))),
            When::FromInstant(instant) => Some((zone.to_datetime(instant).date(), Some(instant))),
        }
    }
}
