//! The open days in order, from any day of the calendar.

use jiff::civil::Date;

use super::{Closure, Hours, OpenFrom, weekday};

impl Hours {
    /// The open days from `start` on without the first `skipped` of them, up to the end of the calendar.
    pub(super) fn open_days(&self, start: Date, skipped: i64) -> impl Iterator<Item = (Date, OpenFrom)> {
        let (first, left) = self.skip_years(start, skipped);
        let days = std::iter::successors(first, |day| day.tomorrow().ok());
        let open = days.filter_map(|day| Some((day, self.on(day)?)));
        open.skip(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Skips whole years first, so that a far page is fast: at most ten thousand years, each with a few additions.
    fn skip_years(&self, start: Date, mut skipped: i64) -> (Option<Date>, i64) {
        let mut from = start;
        loop {
            let last = from.last_of_year();
            let open = self.count(from, last);
            if skipped < open {
                return (Some(from), skipped);
            }
            skipped -= open;
            match last.tomorrow() {
                Ok(next) => from = next,
                Err(_) => return (None, 0),
            }
        }
    }

    /// How many days are open between two days of one year, both included.
    fn count(&self, from: Date, last: Date) -> i64 {
        let days = i64::from(last.day_of_year() - from.day_of_year()) + 1;
        let (weeks, rest) = (days / 7, usize::try_from(days % 7).unwrap_or_default());
        let per_week = self.week.iter().flatten().count() as i64;
        let first = weekday(from);
        let in_rest = (first..first + rest).filter(|day| self.week[day % 7].is_some()).count() as i64;
        weeks * per_week + in_rest - self.closures_between(from, last)
    }

    fn closures_between(&self, from: Date, last: Date) -> i64 {
        let mut days: Vec<_> = self
            .closures
            .iter()
            .filter_map(|closure| match *closure {
                Closure::Yearly { month, day } => Date::new(from.year(), month, day).ok(),
                Closure::Once(day) => Some(day),
            })
            .filter(|day| (from..=last).contains(day) && self.week[weekday(*day)].is_some())
            .collect();
        days.sort_unstable();
        days.dedup();
        days.len() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn skipped_days_equal_days_counted_one_by_one() {
        let mut settings = Settings {
            closed_on: ["12-25", "01-01", "02-29", "2027-04-02", "2027-04-02", "2028-12-25", "2030-06-08"]
                .map(str::to_owned)
                .to_vec(),
            ..Settings::default()
        };
        settings.hours.monday = "closed".into();
        settings.hours.saturday = "closed".into();
        let hours = Hours::new(&settings).unwrap();
        for start in ["2026-01-01", "2026-12-25", "2027-12-31", "2028-02-29", "2029-06-15"] {
            let start: Date = start.parse().unwrap();
            let walked: Vec<_> = std::iter::successors(Some(start), |day| day.tomorrow().ok())
                .filter(|day| hours.on(*day).is_some())
                .take(3000)
                .collect();
            for skipped in [0, 1, 2, 200, 255, 256, 260, 261, 262, 1000, 1042, 2500] {
                let found: Vec<_> = hours.open_days(start, skipped).map(|(day, _)| day).take(30).collect();
                let at = usize::try_from(skipped).unwrap();
                assert_eq!(found, walked[at..at + 30], "{start} without {skipped}");
            }
        }
    }

    #[test]
    fn open_days_end_with_the_calendar() {
        let hours = Hours::new(&Settings::default()).unwrap();
        let last: Date = "9999-12-30".parse().unwrap();
        assert_eq!(hours.open_days(last, 0).count(), 2);
        assert_eq!(hours.open_days(last, 2).count(), 0);
        assert_eq!(hours.open_days("0001-01-01".parse().unwrap(), i64::MAX).count(), 0);
        let mut never = Settings::default();
        let week = &mut never.hours;
        for day in [
            &mut week.monday,
            &mut week.tuesday,
            &mut week.wednesday,
            &mut week.thursday,
            &mut week.friday,
            &mut week.saturday,
            &mut week.sunday,
        ] {
            *day = "closed".into();
        }
        assert_eq!(Hours::new(&never).unwrap().open_days(last, 0).count(), 0);
    }
}
