//! Rules for dates and times.

use jiff::{Timestamp, civil::Date};
use utoipa::openapi::{
    RefOr,
    schema::{KnownFormat, Schema, SchemaFormat},
};

use super::{
    super::{
        field::Field,
        rule::{Describe, HasRule, HasSchema, Rule},
    },
    text::text_object,
};

/// A calendar date, `2026-05-17`.
pub fn date() -> Dates {
    Dates
}

pub struct Dates;

impl Describe for Dates {
    fn schema(&self) -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).into()
    }
}

impl Rule for Dates {
    type Value = Date;

    fn read(&self, field: &mut Field<'_>) -> Option<Date> {
        read_date(field)
    }
}

impl HasRule for Date {
    fn rule() -> impl Rule<Value = Self> {
        date()
    }
}

impl HasSchema for Date {
    fn description() -> impl Describe {
        date()
    }
}

fn read_date(field: &mut Field<'_>) -> Option<Date> {
    const WANTED: &str = "must be a calendar date like 2026-05-17";
    let text = field.word(WANTED)?;
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

/// A point in time by RFC 3339, with its offset: `2026-05-17T10:30:00Z`.
pub fn timestamp() -> Timestamps {
    Timestamps { read: read_timestamp }
}

/// The same; a time without an offset is UTC.
pub fn timestamp_or_utc() -> Timestamps {
    Timestamps { read: read_timestamp_or_utc }
}

pub struct Timestamps {
    read: fn(&mut Field<'_>) -> Option<Timestamp>,
}

impl Describe for Timestamps {
    fn schema(&self) -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

impl Rule for Timestamps {
    type Value = Timestamp;

    fn read(&self, field: &mut Field<'_>) -> Option<Timestamp> {
        (self.read)(field)
    }
}

impl HasRule for Timestamp {
    fn rule() -> impl Rule<Value = Self> {
        timestamp()
    }
}

impl HasSchema for Timestamp {
    fn description() -> impl Describe {
        timestamp()
    }
}

fn read_timestamp(field: &mut Field<'_>) -> Option<Timestamp> {
    const WANTED: &str =
        "must be a date and time with an offset, like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00";
    let text = field.word(WANTED)?;
    moment(field, text, text, WANTED)
}

fn read_timestamp_or_utc(field: &mut Field<'_>) -> Option<Timestamp> {
    const WANTED: &str = "must be a date and time like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00";
    let text = field.word(WANTED)?;
    let in_utc = format!("{text}Z");
    let whole = if is_date_time(in_utc.as_bytes()) { &in_utc } else { text };
    moment(field, text, whole, WANTED)
}

fn moment(field: &mut Field<'_>, sent: &str, text: &str, wanted: &'static str) -> Option<Timestamp> {
    if !is_date_time(text.as_bytes()) {
        return field.fail(wanted);
    }
    match text.parse::<Timestamp>() {
        Ok(time) if time.as_second() >= YEAR_ZERO => Some(time),
        _ => field.fail(format!("{wanted}; there is no {sent}")),
    }
}

/// The earliest time that can be written in UTC; a time with an offset can be before it.
const YEAR_ZERO: i64 = -62_167_219_200;

/// Whether text has the form of RFC 3339: the library also accepts a time without seconds, an offset without minutes, and the
/// name of a zone in brackets.
fn is_date_time(text: &[u8]) -> bool {
    fn fits(text: &[u8], shape: &[u8]) -> bool {
        let one = |(found, wanted): (&u8, &u8)| match wanted {
            b'0' => found.is_ascii_digit(),
            b'T' => matches!(found, b'T' | b't'),
            b'Z' => matches!(found, b'Z' | b'z'),
            b'+' => matches!(found, b'+' | b'-'),
            other => found == other,
        };
        text.len() == shape.len() && text.iter().zip(shape).all(one)
    }
    const TIME: &[u8] = b"0000-00-00T00:00:00";
    let Some((time, mut rest)) = text.split_at_checked(TIME.len()) else { return false };
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        rest = &fraction[digits..];
    }
    fits(time, TIME) && (fits(rest, b"Z") || fits(rest, b"+00:00"))
}
