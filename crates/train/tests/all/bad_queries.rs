//! Invalid queries and paths: each is rejected with its pointer.

use crate::fixture::{BERLIN, NOTHING, Open, PARIS};

const NO_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
const NO_STATION: &str = "must be the id of a station; see /stations";
const NO_PAGE: &str = "must be a whole number, 1 or more";
const NO_LIMIT: &str = "must be a whole number from 1 to 100";
const NO_DATE: &str = "must be a day like 2026-05-17, or a day and time like 2026-05-17T09:00:00";
const NO_PLACE: &str =
    "must be a latitude from -90 to 90 and a longitude from -180 to 180, like 52.5200,13.4050";
const NO_COUNTRY: &str = "must be a country of two letters, like DE";
const TWICE: &str = "is given more than once";

testkit::on_one_engine! {
    async fn page_or_limit_out_of_range_is_rejected(open: Open) {
        let trips = format!("/trips?origin={BERLIN}&destination={PARIS}&date=2026-05-20&");
        for list in ["/stations?", "/bookings?", &trips] {
            for wrong in ["0", "-1", "", "x", "1.5", "1e1", "+1", "%201", "9223372036854775808", "0x1", "١"]
            {
                open.ada.get(&format!("{list}page={wrong}")).send().await.is_invalid(&[("?page", NO_PAGE)]);
                open.ada
                    .get(&format!("{list}limit={wrong}"))
                    .send()
                    .await
                    .is_invalid(&[("?limit", NO_LIMIT)]);
            }
            open.ada.get(&format!("{list}limit=101")).send().await.is_invalid(&[("?limit", NO_LIMIT)]);
            let both = open.ada.get(&format!("{list}limit=0&page=0")).send().await;
            both.is_invalid(&[("?page", NO_PAGE), ("?limit", NO_LIMIT)]);
            for twice in ["page", "limit"] {
                let answer = open.ada.get(&format!("{list}{twice}=1&{twice}=1")).send().await;
                answer.is_invalid(&[(&format!("?{twice}"), TWICE)]);
            }
            let broken = "has a % that is not followed by two hexadecimal digits";
            open.ada.get(&format!("{list}x=%zz")).send().await.is_invalid(&[("?", broken)]);
            let no_text = "has percent codes that are not UTF-8";
            open.ada.get(&format!("{list}x=%ff")).send().await.is_invalid(&[("?", no_text)]);
            open.ada.get(&format!("{list}page=1&limit=100")).send().await.has_status(200);
        }
    }

    async fn invalid_coordinates_are_rejected(open: Open) {
        for wrong in [
            "91,0",
            "-90.0001,0",
            "0,181",
            "0,-180.5",
            "abc",
            "1",
            "1,2,3",
            "NaN,inf",
            "nan,1",
            "1,inf",
            "1e1,2",
            ",",
            "1,",
            ",2",
            "1;2",
            "1%202",
            "0x1,2",
            "1_0,2",
            "--1,2",
            "1..2,3",
            "1,2,",
            "%31%2C",
            "52,5200,13,4050",
            "%EF%BC%91,2",
        ] {
            let answer = open.ada.get(&format!("/stations?coordinates={wrong}")).send().await;
            answer.is_invalid(&[("?coordinates", NO_PLACE)]);
        }
        for (wrong, said) in [
            ("", "must not be empty"),
            ("%20", "must not be empty"),
            (&"1".repeat(101), "must be at most 100 characters long, not 101"),
            ("1%00,2", "must not contain the control character U+0000"),
        ] {
            open.ada
                .get(&format!("/stations?coordinates={wrong}"))
                .send()
                .await
                .is_invalid(&[("?coordinates", said)]);
        }
        for twice in ["coordinates=1,2&coordinates=1,2", "coordinates=1,2&coordinates="] {
            open.ada.get(&format!("/stations?{twice}")).send().await.is_invalid(&[("?coordinates", TWICE)]);
        }
    }

    async fn invalid_country_or_search_text_is_rejected(open: Open) {
        for wrong in ["D", "DEU", "12", "D%C3%89", "d-", "%F0%9F%87%A9%F0%9F%87%AA", "DE,FR"] {
            open.ada
                .get(&format!("/stations?country={wrong}"))
                .send()
                .await
                .is_invalid(&[("?country", NO_COUNTRY)]);
        }
        open.ada.get("/stations?country=").send().await.is_invalid(&[("?country", "must not be empty")]);
        open.ada.get("/stations?country=DE&country=FR").send().await.is_invalid(&[("?country", TWICE)]);
        let long = "x".repeat(101);
        for (wrong, said) in [
            (long.as_str(), "must be at most 100 characters long, not 101"),
            ("%00", "must not contain the control character U+0000"),
            ("a%1Bb", "must not contain the control character U+001B"),
            ("%EF%BF%BF", "must not contain the character U+FFFF"),
        ] {
            open.ada.get(&format!("/stations?search={wrong}")).send().await.is_invalid(&[("?search", said)]);
        }
        open.ada.get("/stations?search=a&search=b").send().await.is_invalid(&[("?search", TWICE)]);
        // All that is wrong is said at once.
        let all = "/stations?limit=101&page=0&country=X&search=%00&coordinates=1";
        open.ada.get(all).send().await.is_invalid(&[
            ("?coordinates", NO_PLACE),
            ("?search", "must not contain the control character U+0000"),
            ("?country", NO_COUNTRY),
            ("?page", NO_PAGE),
            ("?limit", NO_LIMIT),
        ]);
    }

    async fn invalid_date_is_rejected(open: Open) {
        let search = |date: &str| format!("/trips?origin={BERLIN}&destination={PARIS}&date={date}");
        for wrong in [
            "2026-02-30",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-05-00",
            "2026-2-3",
            "20260203",
            "26-05-20",
            "2026-05",
            "2026",
            "2026/05/20",
            "20.05.2026",
            "20-05-2026",
            "tomorrow",
            "2026-W21-3",
            "2026-140",
            "+2026-05-20",
            "-2026-05-20",
            "%2B002026-05-20",
            "002026-05-20",
            "02026-05-2",
            "2026-05-20T",
            "2026-05-20T25:00",
            "2026-05-20T24:00:00",
            "2026-05-20T09:60:00",
            "2026-05-20T09:00:61",
            "2026-05-20%2009:00:00",
            "2026-05-20t09:00:00",
            "2026-05-20T09:00:00[Europe/Berlin]",
            "2026-05-20T09:00:00%2B02:00[Europe/Berlin]",
            "2026-05-20[Europe/Berlin]",
            "2026-05-20[]",
            "2026-05-20T09:00:00+02:00",
            "2026-05-20T09:00:00%2B99:00",
            "2026-05-20T09:00:00Europe/Berlin",
            "2026-05-20Z",
            "2026-05-20%2B02:00",
            "%202026-05-20",
            "2026-05-20%20",
            "0000-00-00",
            "2026-05-%EF%BC%92%EF%BC%90",
            "1779235200",
            "2026-05-20T09:00:00ZZ",
            "PT1H",
            "2026-02-30T09:00:00",
            "2026-02-30T09:00:00Z",
        ] {
            let answer = open.ada.get(&search(wrong)).send().await;
            assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
            answer.is_invalid(&[("?date", NO_DATE)]);
        }
        for (wrong, said) in
            [("", "must not be empty"), (&"2".repeat(101), "must be at most 100 characters long, not 101")]
        {
            open.ada.get(&search(wrong)).send().await.is_invalid(&[("?date", said)]);
        }
        let past = "must not be in the past; where the origin is, today is 2026-05-13";
        for wrong in [
            "2026-05-12",
            "2026-05-12T23:59:59",
            "2026-05-12T21:59:59Z",
            "2026-05-13T00:30:00%2B03:00",
            "2024-02-01",
            "2024-02-01T09:00:00Z",
            "0001-01-01",
            "0000-01-01T00:00:00",
            "1969-12-31",
        ] {
            open.ada.get(&search(wrong)).send().await.is_invalid(&[("?date", past)]);
        }
        let end = open.ada.get(&search("9999-12-31T23:59:59")).send().await;
        end.is_invalid(&[("?date", "must be a time that there is")]);
    }

    async fn invalid_trip_search_is_rejected(open: Open) {
        let trips = |query: &str| format!("/trips?{query}");
        open.ada.get("/trips").send().await.is_invalid(&[
            ("?origin", "is required"),
            ("?destination", "is required"),
            ("?date", "is required"),
        ]);
        for (query, errors) in [
            (format!("origin={BERLIN}&destination={PARIS}"), vec![("?date", "is required")]),
            (format!("origin={BERLIN}&date=2026-05-20"), vec![("?destination", "is required")]),
            (
                format!("origin={BERLIN}&destination={BERLIN}&date=2026-05-20"),
                vec![("?destination", "must be another station than origin")],
            ),
            (
                format!("origin={NOTHING}&destination={NOTHING}&date=2026-05-20"),
                vec![("?origin", NO_STATION), ("?destination", NO_STATION)],
            ),
            (format!("origin={NOTHING}&destination={PARIS}&date=2026-05-20"), vec![("?origin", NO_STATION)]),
            (
                format!("origin={BERLIN}&destination={NOTHING}&date=2026-05-20"),
                vec![("?destination", NO_STATION)],
            ),
            (
                format!("origin={NOTHING}&destination=019e0000-0000-7000-8000-000000000001&date=2026-05-20"),
                vec![("?origin", NO_STATION), ("?destination", NO_STATION)],
            ),
            (
                "origin=Berlin&destination=8011160&date=x".into(),
                vec![("?origin", NO_UUID), ("?destination", NO_UUID), ("?date", NO_DATE)],
            ),
            (
                format!("origin={BERLIN}&origin={BERLIN}&destination={PARIS}&date=2026-05-20"),
                vec![("?origin", TWICE)],
            ),
            (
                format!("origin={BERLIN}&destination={PARIS}&date=2026-05-20&date=2026-05-21"),
                vec![("?date", TWICE)],
            ),
        ] {
            open.ada.get(&trips(&query)).send().await.is_invalid(&errors);
        }
        for member in ["bicycles", "dogs"] {
            for wrong in ["1", "0", "yes", "TRUE", "True", "", "null", "true,true", "%20true"] {
                let query = format!("origin={BERLIN}&destination={PARIS}&date=2026-05-20&{member}={wrong}");
                let answer = open.ada.get(&trips(&query)).send().await;
                answer.is_invalid(&[(&format!("?{member}"), "must be true or false")]);
            }
        }
    }

    async fn invalid_id_is_rejected(open: Open) {
        let braced = format!("%7B{NOTHING}%7D");
        let bare = NOTHING.replace('-', "");
        for wrong in
            ["x", "1", "%20", &braced, &bare, "..%2fstations", "019e0000-0000-7000-8000-00000000000g"]
        {
            for (path, name) in [
                (format!("/stations/{wrong}"), "{stationId}"),
                (format!("/trips/{wrong}"), "{tripId}"),
                (format!("/bookings/{wrong}"), "{bookingId}"),
            ] {
                open.ada.get(&path).send().await.is_invalid(&[(name, NO_UUID)]);
            }
            let path = format!("/bookings/{wrong}");
            open.ada.delete(&path).send().await.is_invalid(&[("{bookingId}", NO_UUID)]);
            let pay =
                open.ada.post(&format!("{path}/payment")).json(&crate::fixture::card(crate::fixture::GOOD));
            pay.send().await.is_invalid(&[("{bookingId}", NO_UUID)]);
        }
        for path in ["/stations/%ff", "/trips/%C3%28"] {
            let answer = open.ada.get(path).send().await;
            assert_eq!(answer.status, 400);
            assert!(answer.text().contains("has percent codes that are not UTF-8"));
        }
    }
}
