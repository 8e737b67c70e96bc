//! What an operator can set about the museum.

use serde::{Deserialize, Serialize};

use crate::hours::{Hours, SettingsError};

/// The museum's settings as they stand in `triptych.toml`, under `[museum]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where people and programs reach it, without a slash at the end; if it is empty, answers name paths only.
    pub address: String,
    /// How many calls an hour an account may make.
    pub calls_per_hour: u32,
    /// The IANA name of the zone the museum is in: `Europe/Amsterdam`.
    pub timezone: String,
    /// Days on which it is closed: `12-25` every year, `2026-04-03` once.
    pub closed_on: Vec<String>,
    /// The hours of each day of the week: `09:00-18:00`, or `closed`.
    pub hours: WeekSettings,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeekSettings {
    pub monday: String,
    pub tuesday: String,
    pub wednesday: String,
    pub thursday: String,
    pub friday: String,
    pub saturday: String,
    pub sunday: String,
}

impl Settings {
    /// Whether the museum can be opened with these.
    pub fn check(&self) -> Result<(), SettingsError> {
        Hours::new(self).map(drop)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let usual = || "09:00-18:00".to_owned();
        Settings {
            address: String::new(),
            calls_per_hour: 100_000,
            timezone: "Europe/Amsterdam".into(),
            closed_on: vec!["12-25".into(), "01-01".into()],
            hours: WeekSettings {
                monday: usual(),
                tuesday: usual(),
                wednesday: usual(),
                thursday: usual(),
                friday: "10:00-16:00".into(),
                saturday: usual(),
                sunday: usual(),
            },
        }
    }
}
