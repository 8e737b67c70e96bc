//! The date on which the services start.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use web::ClockState;

use super::Settings;

const RULE: &str = "must be a date from 1970-01-01 to 9998-12-31, like 2026-05-01";

/// The date of the setting `today`; an empty text is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Today(Option<Date>);

impl<'de> Deserialize<'de> for Today {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Today(None));
        }
        let date = text.parse().ok().filter(|date: &Date| (1970..=9998).contains(&date.year()));
        date.map(|date| Today(Some(date))).ok_or_else(|| D::Error::custom(RULE))
    }
}

impl Serialize for Today {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.map(|date| date.to_string()).unwrap_or_default())
    }
}

impl Settings {
    /// The state of the services' clock at the start, at this time of the machine.
    pub(crate) fn clock_at(&self, machine: Timestamp) -> ClockState {
        let start = self.today.0.and_then(|date| {
            let time = machine.to_zoned(TimeZone::UTC).time();
            TimeZone::UTC.to_timestamp(date.to_datetime(time)).ok()
        });
        let set = start.and_then(|start| ClockState::default().set(machine, start).ok());
        set.unwrap_or_default()
    }
}
