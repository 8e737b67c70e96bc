//! The opening hours: weekly hours, closures, and their time zone.

pub(crate) mod api;
mod calendar;
pub(crate) mod now;

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time, Weekday},
    tz::TimeZone,
};

use crate::Settings;

/// The museum's hours, parsed from the settings.
#[derive(Debug, Clone)]
pub(crate) struct Hours {
    zone: TimeZone,
    /// From Monday; `None` is a day on which the museum never opens.
    week: [Option<OpenFrom>; 7],
    closures: Vec<Closure>,
}

/// The opening and the closing time of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFrom {
    pub(crate) open: Time,
    pub(crate) close: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closure {
    Yearly { month: i8, day: i8 },
    Once(Date),
}

/// An invalid setting of the museum: one line for the operator.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("museum.{0}")]
pub struct SettingsError(pub(crate) String);

impl Hours {
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let wrong = |key: &str, found: &str, wanted: &str| {
            SettingsError(format!("{key} is {found:?}, but must be {wanted}"))
        };
        let zone = TimeZone::get(&settings.timezone).map_err(|_| {
            wrong("timezone", &settings.timezone, "the name of a timezone, like Europe/Amsterdam")
        })?;
        let hours = &settings.hours;
        let days = [
            ("monday", &hours.monday),
            ("tuesday", &hours.tuesday),
            ("wednesday", &hours.wednesday),
            ("thursday", &hours.thursday),
            ("friday", &hours.friday),
            ("saturday", &hours.saturday),
            ("sunday", &hours.sunday),
        ];
        let mut week = [None; 7];
        for (hours, (day, text)) in week.iter_mut().zip(days) {
            *hours = parse_day(text)
                .ok_or_else(|| wrong(&format!("hours.{day}"), text, "like 09:00-18:00, or closed"))?;
        }
        let closures = settings.closed_on.iter().map(|text| {
            parse_closure(text).ok_or_else(|| wrong("closed_on", text, "days like 12-25 or 2026-04-03"))
        });
        Ok(Hours { zone, week, closures: closures.collect::<Result<_, _>>()? })
    }

    /// Today in the zone of the museum.
    pub(crate) fn today(&self, now: Timestamp) -> Date {
        self.local(now).date()
    }

    /// A moment on the clocks of the museum.
    fn local(&self, moment: Timestamp) -> DateTime {
        self.zone.to_datetime(moment)
    }

    fn zone_name(&self) -> String {
        self.zone.iana_name().unwrap_or("UTC").to_owned()
    }

    /// The time at which a day begins in the zone of the museum.
    pub(crate) fn start_of(&self, date: Date) -> Option<Timestamp> {
        date.to_zoned(self.zone.clone()).ok().map(|zoned| zoned.timestamp())
    }

    /// The hours of a day; `None` when the museum is closed on it.
    pub(crate) fn on(&self, date: Date) -> Option<OpenFrom> {
        let hours = self.week[weekday(date)]?;
        let closed = self.closures.iter().any(|closure| closure.falls_on(date));
        (!closed).then_some(hours)
    }

    /// The time at which the museum opens on a day; `None` when it is closed, or after the end of the calendar.
    pub(crate) fn opening(&self, date: Date) -> Option<Timestamp> {
        let open = self.on(date)?.open;
        // A local time that the clocks skip is the time of the change; of a repeated one, the first counts.
        self.zone.to_ambiguous_zoned(date.to_datetime(open)).compatible().ok().map(|zoned| zoned.timestamp())
    }
}

impl Closure {
    fn falls_on(self, date: Date) -> bool {
        match self {
            Closure::Yearly { month, day } => date.month() == month && date.day() == day,
            Closure::Once(day) => date == day,
        }
    }
}

fn weekday(date: Date) -> usize {
    weekday_index(date.weekday())
}

fn weekday_index(day: Weekday) -> usize {
    day.to_monday_zero_offset().unsigned_abs().into()
}

fn parse_day(text: &str) -> Option<Option<OpenFrom>> {
    if text == "closed" {
        return Some(None);
    }
    let (open, close) = text.split_once('-')?;
    let (open, close) = (parse_time(open.trim())?, parse_time(close.trim())?);
    (open < close).then_some(Some(OpenFrom { open, close }))
}

fn parse_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    if hour.len() != 2 || minute.len() != 2 {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

fn parse_closure(text: &str) -> Option<Closure> {
    if text.len() == 10 {
        return text.parse().ok().map(Closure::Once);
    }
    let (month, day) = text.split_once('-')?;
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    // In a leap year, so that 29 February is valid.
    Date::new(2024, month, day).ok().map(|_| Closure::Yearly { month, day })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_hours_are_daily_except_two_days_and_shorter_on_fridays() {
        let hours = Hours::new(&Settings::default()).unwrap();
        let on = |date: &str| {
            let hours = hours.on(date.parse().unwrap())?;
            Some(format!("{}-{}", hours.open.strftime("%H:%M"), hours.close.strftime("%H:%M")))
        };
        assert_eq!(on("2026-12-24").as_deref(), Some("09:00-18:00")); // a Thursday
        assert_eq!(on("2026-12-25"), None);
        assert_eq!(on("2027-01-01"), None);
        assert_eq!(on("2027-01-08").as_deref(), Some("10:00-16:00")); // a Friday
        assert_eq!(on("2027-01-10").as_deref(), Some("09:00-18:00")); // a Sunday
    }

    #[test]
    fn opening_time_follows_daylight_saving_time_of_the_zone() {
        let settings = Settings { timezone: "America/New_York".into(), ..Settings::default() };
        let hours = Hours::new(&settings).unwrap();
        let opening = |date: &str| hours.opening(date.parse().unwrap()).map(|time| time.to_string());
        assert_eq!(opening("2026-03-07").as_deref(), Some("2026-03-07T14:00:00Z"));
        assert_eq!(opening("2026-03-08").as_deref(), Some("2026-03-08T13:00:00Z"));
        assert_eq!(opening("2026-12-25"), None);
        assert_eq!(opening("9999-12-31"), None);
    }

    #[test]
    fn today_is_the_date_in_the_zone_of_the_museum() {
        let settings = Settings { timezone: "Pacific/Auckland".into(), ..Settings::default() };
        let hours = Hours::new(&settings).unwrap();
        let now: Timestamp = "2026-06-30T13:00:00Z".parse().unwrap();
        assert_eq!(hours.today(now).to_string(), "2026-07-01");
    }

    #[test]
    fn invalid_settings_are_rejected_by_name() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            Hours::new(&settings).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(
            with(|settings| settings.timezone = "Mars/Olympus".into()),
            Err("museum.timezone is \"Mars/Olympus\", but must be the name of a timezone, like Europe/Amsterdam".into())
        );
        for day in ["9-18", "18:00-09:00", "09:00-25:00", "", "9:00-18:00", "09:00-09:00"] {
            let mut settings = Settings::default();
            settings.hours.sunday = day.into();
            let refused = Hours::new(&settings).map(drop).map_err(|error| error.to_string());
            let said = format!("museum.hours.sunday is {day:?}, but must be like 09:00-18:00, or closed");
            assert_eq!(refused, Err(said));
        }
        for day in ["13-01", "02-30", "2026-02-30", "christmas", ""] {
            let settings = Settings { closed_on: vec![day.into()], ..Settings::default() };
            let refused = Hours::new(&settings).map(drop).map_err(|error| error.to_string());
            let said = format!("museum.closed_on is {day:?}, but must be days like 12-25 or 2026-04-03");
            assert_eq!(refused, Err(said));
        }
        assert_eq!(with(|settings| settings.closed_on = vec!["02-29".into(), "2026-04-03".into()]), Ok(()));
        assert_eq!(with(|settings| settings.hours.monday = "closed".into()), Ok(()));
    }
}
