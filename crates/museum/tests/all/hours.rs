//! `GET /museum-hours`.

use serde_json::{Value, json};
use testkit::{Answer, Store};

use crate::fixture::{Open, Setup, each};

impl Open {
    async fn hours(&self, query: &str) -> Answer {
        self.anyone.get(&format!("/v1.1/museum-hours{query}")).send().await
    }

    async fn open_days(&self, query: &str) -> Vec<String> {
        each(&self.hours(query).await, "date")
    }
}

fn day(date: &str, open: &str, close: &str) -> Value {
    json!({"date": date, "timeOpen": open, "timeClose": close})
}

testkit::on_one_engine! {
    async fn default_is_ten_days_from_today(open: Open) {
        let expected = json!([
            day("2026-05-13", "09:00", "18:00"),
            day("2026-05-14", "09:00", "18:00"),
            day("2026-05-15", "10:00", "16:00"),
            day("2026-05-16", "09:00", "18:00"),
            day("2026-05-17", "09:00", "18:00"),
            day("2026-05-18", "09:00", "18:00"),
            day("2026-05-19", "09:00", "18:00"),
            day("2026-05-20", "09:00", "18:00"),
            day("2026-05-21", "09:00", "18:00"),
            day("2026-05-22", "10:00", "16:00"),
        ]);
        open.hours("").await.is(200, &expected);
        open.hours("?startDate=2026-05-13&page=1&limit=10").await.is(200, &expected);
        // Names are exact, and unknown ones are rejected, repeated or not.
        let near = |name: &str| format!("is not a parameter of this operation; did you mean `{name}`?");
        let others = "is not a parameter of this operation, which takes startDate, page or limit";
        open.hours("?colour=red&colour=blue&Limit=99&PAGE=0&&=").await.is_invalid(&[
            ("?", others),
            ("?Limit", &near("limit")),
            ("?PAGE", &near("page")),
            ("?colour", others),
        ]);
        // The operation needs no sign-in and ignores credentials.
        let wrong = open.anyone.signed_in("nobody", "nothing");
        wrong.get("/v1.1/museum-hours").send().await.is(200, &expected);
    }

    async fn pages_are_consecutive(open: Open) {
        assert_eq!(open.open_days("?limit=1").await, ["2026-05-13"]);
        assert_eq!(open.open_days("?limit=1&page=2").await, ["2026-05-14"]);
        assert_eq!(open.open_days("?%6Cimit=2&page=3").await, ["2026-05-17", "2026-05-18"]);
        let second = open.open_days("?page=2").await;
        assert_eq!(second.len(), 10);
        assert_eq!((second[0].as_str(), second[9].as_str()), ("2026-05-23", "2026-06-01"));
        let thirty = open.open_days("?limit=30").await;
        assert_eq!(thirty.len(), 30);
        assert_eq!((thirty[0].as_str(), thirty[29].as_str()), ("2026-05-13", "2026-06-11"));
        // With any length of a page, the same days follow in the same order.
        let mut by_sevens = Vec::new();
        for page in 1..=30 {
            by_sevens.extend(open.open_days(&format!("?limit=7&page={page}")).await);
        }
        let mut by_thirties = Vec::new();
        for page in 1..=7 {
            by_thirties.extend(open.open_days(&format!("?limit=30&page={page}")).await);
        }
        assert_eq!(by_sevens, by_thirties);
        let far = open.open_days("?limit=30&page=1000").await;
        assert_eq!(open.open_days("?limit=1&page=29971").await, [far[0].clone()]);
        assert_eq!(open.open_days("?limit=1&page=30000").await, [far[29].clone()]);
        for past_the_end in ["?limit=1&page=9223372036854775807", "?limit=30&page=9223372036854775807"] {
            open.hours(past_the_end).await.is(200, &json!([]));
        }
    }

    async fn closed_days_are_skipped_and_not_counted(open: Open) {
        let days = open.open_days("?startDate=2026-12-20").await;
        assert_eq!(
            days,
            [
                "2026-12-20",
                "2026-12-21",
                "2026-12-22",
                "2026-12-23",
                "2026-12-24",
                "2026-12-26",
                "2026-12-27",
                "2026-12-28",
                "2026-12-29",
                "2026-12-30",
            ]
        );
        let days = open.open_days("?startDate=2026-12-20&page=2&limit=10").await;
        assert_eq!(days[..3], ["2026-12-31", "2027-01-02", "2027-01-03"]);
        assert_eq!(days.len(), 10);
        assert_eq!(open.open_days("?startDate=2026-12-25&limit=1").await, ["2026-12-26"]);
        // A day that has passed can be asked for too.
        assert_eq!(open.open_days("?startDate=2020-01-01&limit=1").await, ["2020-01-02"]);
    }

    async fn first_and_last_day_of_the_calendar_are_listed(open: Open) {
        open.hours("?startDate=9999-12-31").await.is(200, &json!([day("9999-12-31", "10:00", "16:00")]));
        open.hours("?startDate=9999-12-31&page=2").await.is(200, &json!([]));
        let days = open.open_days("?startDate=9999-12-24&limit=30").await;
        assert_eq!(
            days,
            [
                "9999-12-24",
                "9999-12-26",
                "9999-12-27",
                "9999-12-28",
                "9999-12-29",
                "9999-12-30",
                "9999-12-31",
            ]
        );
        assert_eq!(open.open_days("?startDate=0000-01-01&limit=1").await, ["0000-01-02"]);
    }

    async fn today_begins_at_midnight_in_the_zone_of_the_museum(store: Store) {
        let mut setup = Setup { start: "2026-05-13T11:59:59Z", ..Setup::default() };
        setup.settings.timezone = "Pacific/Auckland".into();
        let open = Open::on(store, setup).await;
        assert_eq!(open.open_days("?limit=1").await, ["2026-05-13"]);
        open.advance_to("2026-05-13T11:59:59.999Z");
        assert_eq!(open.open_days("?limit=1").await, ["2026-05-13"]);
        open.advance_to("2026-05-13T12:00:00Z");
        assert_eq!(open.open_days("?limit=1").await, ["2026-05-14"]);
    }

    async fn hours_closures_and_zone_come_from_the_settings(store: Store) {
        let mut setup = Setup { start: "2026-05-14T02:00:00Z", ..Setup::default() };
        let settings = &mut setup.settings;
        settings.timezone = "America/New_York".into();
        settings.hours.monday = "closed".into();
        settings.hours.saturday = "08:30-23:59".into();
        settings.closed_on = vec!["05-14".into(), "2026-05-19".into()];
        let open = Open::on(store, setup).await;
        // Still the 13th in New York; the 14th is closed every year, the 18th is a Monday, the 19th closed once.
        open.hours("?limit=6").await.is(
            200,
            &json!([
                day("2026-05-13", "09:00", "18:00"),
                day("2026-05-15", "10:00", "16:00"),
                day("2026-05-16", "08:30", "23:59"),
                day("2026-05-17", "09:00", "18:00"),
                day("2026-05-20", "09:00", "18:00"),
                day("2026-05-21", "09:00", "18:00"),
            ]),
        );
        assert_eq!(open.open_days("?startDate=2027-05-14&limit=1").await, ["2027-05-15"]);
        assert_eq!(open.open_days("?startDate=2026-12-25&limit=1").await, ["2026-12-25"]);
        // 19 May 2027 is a Wednesday that is not a closed day.
        assert_eq!(open.open_days("?startDate=2027-05-19&limit=1").await, ["2027-05-19"]);
    }

    async fn invalid_date_page_or_limit_is_rejected(open: Open) {
        for limit in [
            "0",
            "31",
            "-1",
            "abc",
            "1.0",
            "1e1",
            "",
            "+5",
            "%2B5",
            "%205",
            "0x1",
            "%D9%A3",
            "99999999999999999999",
        ] {
            let answer = open.hours(&format!("?limit={limit}")).await;
            answer.is_invalid(&[("?limit", "must be a whole number from 1 to 30")]);
        }
        for page in ["0", "-1", "1.5", "", "one", "1%00", "9223372036854775808", "-9223372036854775809"] {
            let answer = open.hours(&format!("?page={page}")).await;
            answer.is_invalid(&[("?page", "must be a whole number, 1 or more")]);
        }
        for date in [
            "",
            "today",
            "2026-5-13",
            "20260513",
            "2026-05-13T00:00:00Z",
            "10000-01-01",
            "-001-01-01",
            "2026-05-1%D9%A3",
        ] {
            let answer = open.hours(&format!("?startDate={date}")).await;
            answer.is_invalid(&[("?startDate", "must be a calendar date like 2026-05-17")]);
        }
        for date in ["2026-02-30", "2026-13-01", "2026-00-10", "2027-02-29"] {
            let said = format!("must be a calendar date like 2026-05-17; there is no {date}");
            open.hours(&format!("?startDate={date}")).await.is_invalid(&[("?startDate", &said)]);
        }
        let answer = open.hours("?limit=99&startDate=soon&page=0").await;
        answer.is_invalid(&[
            ("?startDate", "must be a calendar date like 2026-05-17"),
            ("?page", "must be a whole number, 1 or more"),
            ("?limit", "must be a whole number from 1 to 30"),
        ]);
    }

    async fn repeated_parameter_and_invalid_percent_codes_are_rejected(open: Open) {
        for (query, pointer) in [
            ("?page=1&page=2", "?page"),
            ("?page=1&page=1", "?page"),
            ("?limit=1&page=1&limit=", "?limit"),
            ("?startDate=2026-05-13&startDate=2026-05-13", "?startDate"),
            ("?page&page", "?page"),
        ] {
            open.hours(query).await.is_invalid(&[(pointer, "is given more than once")]);
        }
        for query in ["?limit=%", "?limit=%4", "?limit=%zz", "?colour=%", "?%zz=1"] {
            let said = "has a % that is not followed by two hexadecimal digits";
            open.hours(query).await.is_invalid(&[("?", said)]);
        }
        for query in ["?limit=%ff", "?colour=%C3", "?%80=1"] {
            open.hours(query).await.is_invalid(&[("?", "has percent codes that are not UTF-8")]);
        }
    }
}

testkit::on_one_engine! {
    async fn current_time_is_that_of_the_museum(open: Open) {
        let time = |date: &str, time: &str, is_open: bool| {
            json!({"date": date, "time": time, "timezone": "Europe/Amsterdam", "open": is_open})
        };
        let now = async || open.hours("/now").await;
        now().await.is(200, &time("2026-05-13", "12:00", true));
        assert_eq!(now().await.header("cache-control"), "no-store");
        open.advance_to("2026-05-13T15:59:59Z");
        now().await.is(200, &time("2026-05-13", "17:59", true));
        open.advance_to("2026-05-13T16:00:00Z");
        now().await.is(200, &time("2026-05-13", "18:00", false));
        open.advance_to("2026-05-13T22:30:00Z");
        now().await.is(200, &time("2026-05-14", "00:30", false));
        // Christmas is closed all day.
        open.advance_to("2026-12-25T11:00:00Z");
        now().await.is(200, &time("2026-12-25", "12:00", false));
    }
}
