//! `GET /special-events`: which events, in which order, on which page.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::Store;

use crate::fixture::{Open, Setup, each, event, text};

impl Open {
    async fn names(&self, query: &str) -> Vec<String> {
        each(&self.events(query).await, "name")
    }

    /// Creates events of these names and dates.
    async fn create_all(&self, events: &[(&str, &[&str])]) {
        for (name, dates) in events {
            self.create(&event(name, dates)).await;
        }
    }
}

testkit::on_both_engines! {
    async fn default_range_is_a_week_from_today(open: Open) {
        open.events("").await.is(200, &json!([]));
        open.create_all(&[
            ("yesterday", &["2026-05-12"]),
            ("today", &["2026-05-13"]),
            ("seventh day", &["2026-05-20"]),
            ("eighth day", &["2026-05-21"]),
            ("before and after", &["2026-05-12", "2026-05-21"]),
        ])
        .await;
        assert_eq!(open.names("").await, ["today", "seventh day"]);
        assert_eq!(open.names("?page=1&limit=10").await, ["today", "seventh day"]);
        assert_eq!(open.names("?page=2").await, [""; 0]);
        assert_eq!(open.names("?limit=1").await, ["today"]);
        assert_eq!(open.names("?limit=7").await, ["today"]);
        assert_eq!(open.names("?limit=7&page=2").await, ["seventh day"]);
        // The end is seven days after the start, also when only the start is given.
        assert_eq!(open.names("?startDate=2026-05-12").await, ["before and after", "yesterday", "today"]);
        assert_eq!(
            open.names("?startDate=2026-05-14").await,
            ["seventh day", "before and after", "eighth day"]
        );
        // And the start is today when only the end is given.
        assert_eq!(open.names("?endDate=2026-05-13").await, ["today"]);
        assert_eq!(
            open.names("?endDate=2026-05-31").await,
            ["today", "seventh day", "before and after", "eighth day"]
        );
        let answer = open.events("?endDate=2026-05-12").await;
        answer.is_invalid(&[("?endDate", "must not be before startDate, which is 2026-05-13")]);
    }

    async fn today_begins_at_midnight_in_the_zone_of_the_museum(store: Store) {
        let mut setup = Setup { start: "2026-05-13T06:59:59Z", ..Setup::default() };
        setup.settings.timezone = "America/Los_Angeles".into();
        let open = Open::on(store, setup).await;
        open.create_all(&[("12th", &["2026-05-12"]), ("13th", &["2026-05-13"])]).await;
        assert_eq!(open.names("?limit=1").await, ["12th"]);
        open.advance_to("2026-05-13T07:00:00Z");
        assert_eq!(open.names("?limit=1").await, ["13th"]);
    }

    async fn page_covers_a_number_of_days(open: Open) {
        open.create_all(&[
            ("May 31", &["2026-05-31"]),
            ("June 1", &["2026-06-01"]),
            ("June 10", &["2026-06-10"]),
            ("June 11", &["2026-06-11"]),
            ("June 20", &["2026-06-20"]),
            ("June 21", &["2026-06-21"]),
            ("June 25", &["2026-06-25"]),
            ("June 26", &["2026-06-26"]),
        ])
        .await;
        let range = "?startDate=2026-06-01&endDate=2026-06-25";
        let none: [&str; 0] = [];
        assert_eq!(open.names(range).await, ["June 1", "June 10"]);
        assert_eq!(open.names(&format!("{range}&page=2")).await, ["June 11", "June 20"]);
        assert_eq!(open.names(&format!("{range}&page=3")).await, ["June 21", "June 25"]);
        assert_eq!(open.names(&format!("{range}&page=4")).await, none);
        assert_eq!(open.names(&format!("{range}&limit=25&page=2")).await, none);
        assert_eq!(open.names(&format!("{range}&limit=24")).await.last().unwrap(), "June 21");
        assert_eq!(open.names(&format!("{range}&limit=24&page=2")).await, ["June 25"]);
        assert_eq!(open.names(&format!("{range}&limit=30")).await.len(), 6);
        for (page, expected) in [(1, "June 1"), (10, "June 10"), (11, "June 11"), (25, "June 25")] {
            assert_eq!(open.names(&format!("{range}&limit=1&page={page}")).await, [expected]);
        }
        assert_eq!(open.names(&format!("{range}&limit=1&page=2")).await, none);
        assert_eq!(open.names(&format!("{range}&limit=1&page=26")).await, none);
        for limit in [1, 10, 30] {
            for page in ["1000", "3000000", "9223372036854775807"] {
                open.events(&format!("{range}&limit={limit}&page={page}")).await.is(200, &json!([]));
            }
        }
        assert_eq!(open.names("?startDate=2026-06-20&endDate=2026-06-20").await, ["June 20"]);
    }

    async fn last_page_ends_with_the_calendar(open: Open) {
        open.create_all(&[("last", &["9999-12-31"]), ("first", &["0000-01-01"])]).await;
        assert_eq!(open.names("?startDate=9999-12-28").await, ["last"]);
        assert_eq!(open.names("?startDate=9999-12-31&limit=30").await, ["last"]);
        assert_eq!(open.names("?startDate=9999-12-31&limit=30&page=2").await, [""; 0]);
        assert_eq!(open.names("?startDate=0000-01-01").await, ["first"]);
        let all = "?startDate=0000-01-01&endDate=9999-12-31";
        assert_eq!(open.names(all).await, ["first"]);
        // 3,652,425 days, of which the last page of 30 has 15.
        assert_eq!(open.names(&format!("{all}&limit=30&page=121748")).await, ["last"]);
        assert_eq!(open.names(&format!("{all}&limit=30&page=121749")).await, [""; 0]);
    }

    async fn events_are_ordered_by_first_date_on_the_page_then_by_name(open: Open) {
        open.create_all(&[
            ("Two stretches", &["2026-06-01", "2026-06-15"]),
            ("Early and late", &["2026-05-01", "2026-06-12", "2026-06-14", "2026-06-19", "2026-07-01"]),
            ("On the 14th", &["2026-06-14"]),
            ("On the 12th", &["2026-06-12"]),
        ])
        .await;
        let range = "?startDate=2026-06-01&endDate=2026-06-20";
        assert_eq!(open.names(range).await, ["Two stretches"]);
        let second = ["Early and late", "On the 12th", "On the 14th", "Two stretches"];
        assert_eq!(open.names(&format!("{range}&page=2")).await, second);
        // By bytes, not by the collation of the database.
        let names =
            ["Zebra", "apple", "_", "Ängel", "zebra", "Apple", "äpfel", "Zebra crossing", "1", "🦓", "apple"];
        for name in names {
            open.create(&event(name, &["2026-08-03", "2026-08-01", "2026-08-02"])).await;
        }
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(sorted[1..4], ["Apple", "Zebra", "Zebra crossing"]);
        assert_eq!(open.names("?startDate=2026-08-01").await, sorted);
        assert_eq!(open.names("?startDate=2026-08-02&limit=1").await, sorted);
        // Two of the same name are two events.
        let ids: BTreeSet<_> =
            each(&open.events("?startDate=2026-08-01").await, "eventId").into_iter().collect();
        assert_eq!(ids.len(), names.len());
    }

    async fn changed_event_is_listed_with_its_new_members(open: Open) {
        let moved = open.create(&event("Moved", &["2026-05-14"])).await;
        let renamed = open.create(&event("A name", &["2026-05-14", "2026-05-16"])).await;
        let kept = open.create(&event("Kept", &["2026-05-14"])).await;
        open.events("").await.is(200, &json!([renamed, kept, moved]));

        let change = async |event: &serde_json::Value, changes: &serde_json::Value| {
            let path = format!("/v1.1/special-events/{}", text(event, "eventId"));
            open.ada.patch(&path).json(changes).send().await.has_status(200).json()
        };
        let renamed = change(&renamed, &json!({"name": "Zoo by night"})).await;
        assert_eq!(renamed["name"], "Zoo by night");
        open.events("").await.is(200, &json!([kept, moved, renamed]));
        open.events("?startDate=2026-05-15").await.is(200, &json!([renamed]));

        let moved = change(&moved, &json!({"dates": ["2026-05-13", "2026-07-01"]})).await;
        open.events("").await.is(200, &json!([moved, kept, renamed]));
        open.events("?startDate=2026-07-01").await.is(200, &json!([moved]));
        let kept = change(&kept, &json!({"location": "Roof", "eventDescription": "Up.", "price": 1})).await;
        open.events("?limit=2").await.is(200, &json!([moved, kept, renamed]));
        let moved = change(&moved, &json!({"dates": ["2026-07-02"], "name": "Gone"})).await;
        open.events("").await.is(200, &json!([kept, renamed]));
        open.events("?startDate=2026-07-01").await.is(200, &json!([moved]));
    }

    async fn invalid_range_is_rejected(open: Open) {
        for (query, pointer, said) in [
            ("?startDate=soon", "?startDate", "must be a calendar date like 2026-05-17"),
            ("?endDate=", "?endDate", "must be a calendar date like 2026-05-17"),
            (
                "?endDate=2026-06-31",
                "?endDate",
                "must be a calendar date like 2026-05-17; there is no 2026-06-31",
            ),
            ("?page=0", "?page", "must be a whole number, 1 or more"),
            ("?page=-1", "?page", "must be a whole number, 1 or more"),
            ("?page=9223372036854775808", "?page", "must be a whole number, 1 or more"),
            ("?limit=0", "?limit", "must be a whole number from 1 to 30"),
            ("?limit=31", "?limit", "must be a whole number from 1 to 30"),
            ("?limit=ten", "?limit", "must be a whole number from 1 to 30"),
            ("?endDate=2026-06-01&endDate=2026-06-01", "?endDate", "is given more than once"),
            (
                "?startDate=2026-06-02&endDate=2026-06-01",
                "?endDate",
                "must not be before startDate, which is 2026-06-02",
            ),
            // A page that is past the end does not make up for it.
            (
                "?startDate=2026-06-02&endDate=2026-06-01&page=9",
                "?endDate",
                "must not be before startDate, which is 2026-06-02",
            ),
        ] {
            open.events(query).await.is_invalid(&[(pointer, said)]);
        }
        open.events("?startDate=1&endDate=2&page=a&limit=b").await.is_invalid(&[
            ("?startDate", "must be a calendar date like 2026-05-17"),
            ("?endDate", "must be a calendar date like 2026-05-17"),
            ("?page", "must be a whole number, 1 or more"),
            ("?limit", "must be a whole number from 1 to 30"),
        ]);
    }
}
