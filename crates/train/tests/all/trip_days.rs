//! Which day is meant, and which days there are: where the origin is, across changes of the clocks, now and in years.

use jiff::{SignedDuration, Timestamp, ToSpan, civil::Date};
use testkit::Store;

use crate::fixture::{BERLIN, Open, PARIS, Setup, each, text};

const LONDON: &str = "eea48c3a-6292-5145-83d6-d75684ae23dd";
const HELSINKI: &str = "37381634-3e55-5d9e-a988-722c5093774d";
const TAMPERE: &str = "279cda6b-20cd-515f-852b-0cee1bfc0926";
const ISTANBUL: &str = "c74ef9d6-b55e-5484-b092-3ed00c763c89";
const SOFIA: &str = "dd3dfab4-e01c-52f5-993f-93bb0437041a";

impl Open {
    /// When the trips of a search leave, by UTC.
    async fn departures(&self, origin: &str, destination: &str, date: &str) -> Vec<String> {
        let date = date.replace('+', "%2B");
        let path = format!("/trips?origin={origin}&destination={destination}&date={date}&limit=100");
        each(&self.ada.get(&path).send().await, "departure_time")
    }
}

/// The trains of Wednesday 20 May from Berlin to Paris.
const ALL: [&str; 7] = ["03:52", "06:10", "07:45", "09:44", "11:32", "13:06", "16:55"];

testkit::on_both_engines! {
    async fn date_is_a_day_or_time_in_the_zone_of_the_origin(open: Open) {
        for (date, day, expected) in [
            ("2026-05-20", "2026-05-20", &ALL[..]),
            ("2026-05-20T00:00:00", "2026-05-20", &ALL),
            ("2026-05-20T09:45:00", "2026-05-20", &ALL[2..]),
            ("2026-05-20T09:45", "2026-05-20", &ALL[2..]),
            ("2026-05-20T09:45:01", "2026-05-20", &ALL[3..]),
            ("2026-05-20T09:45:00.000001", "2026-05-20", &ALL[3..]),
            ("2026-05-20T18:55:00", "2026-05-20", &ALL[6..]),
            ("2026-05-20T18:55:01", "2026-05-20", &[]),
            ("2026-05-20T23:59:59", "2026-05-20", &[]),
            // With an offset, it is a moment: the day is that of the origin then.
            ("2026-05-20T07:45:00Z", "2026-05-20", &ALL[2..]),
            ("2026-05-20T09:45:00+02:00", "2026-05-20", &ALL[2..]),
            ("2026-05-20T03:45:00-04:00", "2026-05-20", &ALL[2..]),
            ("2026-05-19T22:00:00Z", "2026-05-20", &ALL),
            ("2026-05-20T12:00:00+14:00", "2026-05-20", &ALL),
            ("2026-05-19T20:00:00-12:00", "2026-05-20", &ALL[3..]),
            ("2026-05-20T23:30:00-05:00", "2026-05-21", &ALL[1..6]),
            ("2026-05-20T21:59:59Z", "2026-05-20", &[]),
        ] {
            let expected: Vec<_> = expected.iter().map(|time| format!("{day}T{time}:00Z")).collect();
            assert_eq!(open.departures(BERLIN, PARIS, date).await, expected, "{date}");
        }
    }

    async fn departed_trip_is_not_offered(open: Open) {
        let today = ["2026-05-13T11:32:00Z", "2026-05-13T13:06:00Z", "2026-05-13T16:55:00Z"];
        for date in ["2026-05-13", "2026-05-13T00:00:00", "2026-05-13T12:00:00", "2026-05-13T13:32:00"] {
            assert_eq!(open.departures(BERLIN, PARIS, date).await, today, "{date}");
        }
        open.advance_to("2026-05-13T11:31:59.999999Z").await;
        assert_eq!(open.departures(BERLIN, PARIS, "2026-05-13").await, today);
        open.advance_to("2026-05-13T11:32:00Z").await;
        assert_eq!(open.departures(BERLIN, PARIS, "2026-05-13").await, today[1..]);
        open.advance_to("2026-05-13T21:59:59Z").await;
        assert!(open.departures(BERLIN, PARIS, "2026-05-13").await.is_empty());
    }

    async fn past_day_is_decided_in_the_zone_of_the_origin(open: Open) {
        // Half past midnight in Berlin, half past eleven in London.
        open.advance_to("2026-05-13T22:30:00Z").await;
        let path = format!("/trips?origin={BERLIN}&destination={PARIS}&date=2026-05-13");
        let said = "must not be in the past; where the origin is, today is 2026-05-14";
        open.ada.get(&path).send().await.is_invalid(&[("?date", said)]);
        let path = format!("/trips?origin={BERLIN}&destination={PARIS}&date=2026-05-13T21:59:59Z");
        open.ada.get(&path).send().await.is_invalid(&[("?date", said)]);
        assert!(open.departures(LONDON, PARIS, "2026-05-13").await.is_empty());
        assert_eq!(open.departures(BERLIN, PARIS, "2026-05-13T22:00:00Z").await.len(), 6);
        assert_eq!(open.departures(LONDON, PARIS, "2026-05-14").await.len(), 6);
    }

    async fn trips_are_offered_for_ninety_days_from_today(open: Open) {
        // What day it is in Berlin, and whether it is still early.
        for (moment, today) in [
            ("2026-05-13T21:59:59Z", "2026-05-13"),
            ("2026-05-13T22:00:00Z", "2026-05-14"),
            ("2027-02-28T12:00:00Z", "2027-02-28"),
            ("2031-12-31T23:30:00Z", "2032-01-01"),
            ("2099-06-01T00:00:00Z", "2099-06-01"),
        ] {
            open.advance_to(moment).await;
            let today: Date = today.parse().unwrap();
            for ahead in [1, 2, 45, 89, 90] {
                let day = today + ahead.days();
                let found = open.departures(BERLIN, PARIS, &day.to_string()).await;
                assert!((6..=7).contains(&found.len()), "{moment} {day}: {found:?}");
            }
            for ahead in [91, 92, 365] {
                let day = today + ahead.days();
                assert!(open.departures(BERLIN, PARIS, &day.to_string()).await.is_empty(), "{moment} {day}");
            }
        }
        assert!(open.departures(BERLIN, PARIS, "9999-12-31").await.is_empty());
    }

    async fn ninetieth_day_begins_in_the_zone_of_the_origin(open: Open) {
        let (last, next) = ("2f87bac9-12fc-8000-80a8-ac01000050c4", "2f87bac9-12fc-8000-80a8-ac01000050c5");
        let trip = async |id: &str| open.ada.get(&format!("/trips/{id}")).send().await;
        let found = trip(last).await.has_status(200).json();
        assert_eq!(text(&found, "departure_time"), "2026-08-11T03:52:00Z");
        trip(next).await.is_problem(404, "not-found");
        open.advance_to("2026-05-13T21:59:59Z").await;
        trip(next).await.is_problem(404, "not-found");
        open.advance_to("2026-05-13T22:00:00Z").await;
        trip(next).await.has_status(200);
        // What has left is still there to be looked at.
        open.advance(SignedDuration::from_hours(24 * 400)).await;
        trip(last).await.has_status(200);
        assert!(open.clock.now() > "2027-06-01T00:00:00Z".parse::<Timestamp>().unwrap());
    }

    async fn departures_keep_local_time_of_the_origin_when_clocks_change(store: Store) {
        let open = Open::on(store, Setup { start: "2026-02-01T00:00:00Z", ..Setup::default() }).await;
        for (now, days, [london, berlin, helsinki, istanbul]) in [
            // The last Sundays of March, each with the day before; Istanbul has no summer time.
            (
                "2026-03-01T00:00:00Z",
                ["2026-03-28", "2026-03-29"],
                [["06:01", "05:01"], ["04:52", "03:52"], ["04:19", "03:19"], ["17:00", "17:00"]],
            ),
            (
                "2026-10-01T00:00:00Z",
                ["2026-10-24", "2026-10-25"],
                [["05:01", "06:01"], ["03:52", "04:52"], ["03:19", "04:19"], ["17:00", "17:00"]],
            ),
            (
                "2027-03-01T00:00:00Z",
                ["2027-03-27", "2027-03-28"],
                [["06:01", "05:01"], ["04:52", "03:52"], ["04:19", "03:19"], ["17:00", "17:00"]],
            ),
            (
                "2027-10-01T00:00:00Z",
                ["2027-10-30", "2027-10-31"],
                [["05:01", "06:01"], ["03:52", "04:52"], ["03:19", "04:19"], ["17:00", "17:00"]],
            ),
        ] {
            open.advance_to(now).await;
            for (relation, times) in [
                ([LONDON, PARIS], london),
                ([BERLIN, PARIS], berlin),
                ([HELSINKI, TAMPERE], helsinki),
                ([ISTANBUL, SOFIA], istanbul),
            ] {
                for (day, time) in days.iter().zip(times) {
                    let found = open.departures(relation[0], relation[1], day).await;
                    assert!(found.contains(&format!("{day}T{time}:00Z")), "{relation:?} {day}: {found:?}");
                }
            }
        }
    }

    async fn time_that_clocks_skip_or_repeat_is_accepted(store: Store) {
        let open = Open::on(store, Setup { start: "2026-03-01T00:00:00Z", ..Setup::default() }).await;
        // 02:30 does not exist on 29 March, and exists twice on 25 October.
        assert_eq!(open.departures(BERLIN, PARIS, "2026-03-29T02:30:00").await[0], "2026-03-29T03:52:00Z");
        assert_eq!(open.departures(BERLIN, PARIS, "2026-03-29T05:52:00").await[0], "2026-03-29T03:52:00Z");
        open.advance_to("2026-10-01T00:00:00Z").await;
        assert_eq!(open.departures(BERLIN, PARIS, "2026-10-25T02:30:00").await[0], "2026-10-25T04:52:00Z");
        assert_eq!(open.departures(BERLIN, PARIS, "2026-10-25T02:30:00+01:00").await.len(), 7);
        // The day has 25 hours; its last is still that day.
        assert!(open.departures(BERLIN, PARIS, "2026-10-25T22:59:59Z").await.is_empty());
        assert_eq!(open.departures(BERLIN, PARIS, "2026-10-25T23:00:00Z").await.len(), 7, "Monday's");
    }
}
