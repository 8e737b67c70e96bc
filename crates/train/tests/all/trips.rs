//! Trips: a page of them and one of them, in both forms; what narrows them down, and how they are paged.

use serde_json::{Value, json};

use crate::fixture::{
    ADDRESS, BERLIN, INTERLAKEN, LUZERN, NO_DOGS, NOTHING, Open, PARIS, TRIP, each, is_xml, number, vary,
};

const ISTANBUL: &str = "c74ef9d6-b55e-5484-b092-3ed00c763c89";

/// A search for a day in May from Berlin to Paris.
fn search(rest: &str) -> String {
    format!("/trips?origin={BERLIN}&destination={PARIS}&{rest}")
}

fn tgv() -> Value {
    json!({
        "id": TRIP,
        "origin": BERLIN,
        "destination": PARIS,
        "departure_time": "2026-05-20T03:52:00Z",
        "arrival_time": "2026-05-20T12:17:00Z",
        "operator": "SNCF Voyageurs",
        "price": number("89.00"),
        "currency": "eur",
        "bicycles_allowed": true,
        "dogs_allowed": true,
        "seats_available": 340,
        "links": {
            "self": format!("{ADDRESS}/trips/{TRIP}"),
            "origin": format!("{ADDRESS}/stations/{BERLIN}"),
            "destination": format!("{ADDRESS}/stations/{PARIS}"),
        },
    })
}

fn tgv_in_xml() -> String {
    format!(
        "<trip><id>{TRIP}</id><origin>{BERLIN}</origin><destination>{PARIS}</destination>\
         <departure_time>2026-05-20T03:52:00Z</departure_time><arrival_time>2026-05-20T12:17:00Z</arrival_time>\
         <operator>SNCF Voyageurs</operator><price>89.00</price><currency>eur</currency>\
         <bicycles_allowed>true</bicycles_allowed><dogs_allowed>true</dogs_allowed>\
         <seats_available>340</seats_available><links><self>{ADDRESS}/trips/{TRIP}</self>\
         <origin>{ADDRESS}/stations/{BERLIN}</origin><destination>{ADDRESS}/stations/{PARIS}</destination>\
         </links></trip>"
    )
}

/// When the trains of Wednesday 20 May leave Berlin for Paris.
const DEPARTURES: [&str; 7] = [
    "2026-05-20T03:52:00Z",
    "2026-05-20T06:10:00Z",
    "2026-05-20T07:45:00Z",
    "2026-05-20T09:44:00Z",
    "2026-05-20T11:32:00Z",
    "2026-05-20T13:06:00Z",
    "2026-05-20T16:55:00Z",
];

testkit::on_both_engines! {
    async fn trip_is_read_in_json_and_in_xml(open: Open) {
        let path = format!("/trips/{TRIP}");
        let answer = open.ada.get(&path).send().await;
        answer.is(200, &tgv());
        assert_eq!(answer.header("cache-control"), "private, max-age=5");
        assert_eq!(vary(&answer)[0], "accept");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");
        let answer = open.ada.get(&path).header("accept", "application/xml").send().await;
        is_xml(&answer, 200, &tgv_in_xml());
        assert_eq!(answer.header("cache-control"), "private, max-age=5");
        assert_eq!(vary(&answer)[0], "accept");
        assert!(open.ada.get(&path).send().await.text().contains("\"price\":89.00,"), "digit for digit");
        // Its links work.
        for station in [BERLIN, PARIS] {
            open.ada.get(&format!("/stations/{station}")).send().await.has_status(200);
        }
    }

    async fn unknown_trip_gets_404(open: Open) {
        for id in [
            NOTHING,
            BERLIN,
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            // The night train that runs on four days of the week, on a Thursday.
            "00fa9423-0bb4-8000-80ed-4ec800005072",
            // A trip's id with another version or variant is not that trip's id.
            "2f87bac9-12fc-4000-80a8-ac0100005071",
            "2f87bac9-12fc-8000-00a8-ac0100005071",
            "2f87bac9-12fc-8001-80a8-ac0100005071",
            "2f87bac9-12fc-8000-81a8-ac0100005071",
            // Days that no calendar has.
            "2f87bac9-12fc-8000-80a8-ac017fffffff",
            "2f87bac9-12fc-8000-80a8-ac0180000000",
            "2f87bac9-12fc-8000-80a8-ac01ffffffff",
            "2f87bac9-12fc-8000-80a8-ac01002dc6c0",
        ] {
            let answer = open.ada.get(&format!("/trips/{id}")).send().await;
            assert_eq!(answer.is_problem(404, "not-found"), "There is no trip with this id.", "{id}");
            assert_eq!(answer.header("cache-control"), "no-store");
        }
        // Ids are the same in capitals.
        open.ada.get(&format!("/trips/{}", TRIP.to_uppercase())).send().await.is(200, &tgv());
    }

    async fn page_of_trips_is_read_in_json_and_in_xml(open: Open) {
        let path = search("date=2026-05-20&limit=1");
        let answer = open.ada.get(&path).send().await;
        let (this, next) = (format!("{ADDRESS}{path}"), format!("{ADDRESS}{path}&page=2"));
        answer.is(200, &json!({"data": [tgv()], "links": {"self": this, "next": next}}));
        assert_eq!(answer.header("cache-control"), "private, max-age=5");
        assert_eq!(vary(&answer)[0], "accept");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");

        let answer = open.ada.get(&path).header("accept", "application/xml").send().await;
        let links = format!("<links><self>{this}</self><next>{next}</next></links>").replace('&', "&amp;");
        is_xml(&answer, 200, &format!("<data><trips>{}</trips>{links}</data>", tgv_in_xml()));
        assert_eq!(answer.header("cache-control"), "private, max-age=5");
    }

    async fn trips_of_a_day_are_ordered_by_departure(open: Open) {
        let answer = open.ada.get(&search("date=2026-05-20")).send().await;
        assert_eq!(each(&answer, "departure_time"), DEPARTURES);
        assert_eq!(
            each(&answer, "operator"),
            [
                "SNCF Voyageurs",
                "Deutsche Bahn",
                "SNCF Voyageurs",
                "Deutsche Bahn",
                "SNCF Voyageurs",
                "Deutsche Bahn",
                "European Sleeper",
            ]
        );
        assert!(answer.json()["links"].get("next").is_none());
        // The way back is another relation.
        let back = format!("/trips?origin={PARIS}&destination={BERLIN}&date=2026-05-20&limit=1");
        let back = open.ada.get(&back).send().await;
        assert_eq!(each(&back, "departure_time"), ["2026-05-20T04:31:00Z"]);
        // Two stations that no train connects.
        let none = format!("/trips?origin={BERLIN}&destination={ISTANBUL}&date=2026-05-20");
        let this = json!({"self": format!("{ADDRESS}{none}")});
        open.ada.get(&none).send().await.is(200, &json!({"data": [], "links": this}));
        // Not all trains run on all days.
        assert_eq!(each(&open.ada.get(&search("date=2026-05-21")).send().await, "id").len(), 6);
    }

    async fn search_filters_by_bicycles_and_dogs(open: Open) {
        let all = DEPARTURES;
        for (wish, expected) in [
            ("bicycles=true", vec![all[0], all[1], all[5], all[6]]),
            ("dogs=true", vec![all[0], all[2], all[3], all[5], all[6]]),
            ("bicycles=true&dogs=true", vec![all[0], all[5], all[6]]),
            ("bicycles=false", all.to_vec()),
            ("dogs=false", all.to_vec()),
            ("bicycles=false&dogs=false", all.to_vec()),
        ] {
            let answer = open.ada.get(&search(&format!("date=2026-05-20&{wish}"))).send().await;
            assert_eq!(each(&answer, "departure_time"), expected, "{wish}");
        }
        let trip = open.ada.get(&format!("/trips/{NO_DOGS}")).send().await.json();
        assert_eq!((&trip["bicycles_allowed"], &trip["dogs_allowed"]), (&json!(true), &json!(false)));
    }

    async fn links_between_pages_of_trips_keep_the_search(open: Open) {
        let query = search("date=2026-05-20T07:30:00%2B02:00&dogs=true&limit=2");
        let kept = query.replace("&limit=2", "");
        let mut found = Vec::new();
        for page in 1..=3 {
            let path = if page == 1 { query.clone() } else { format!("{query}&page={page}") };
            let answer = open.ada.get(&path).send().await;
            found.extend(each(&answer, "departure_time"));
            let mut links = json!({"self": format!("{ADDRESS}{path}")});
            if page < 2 {
                links["next"] = json!(format!("{ADDRESS}{kept}&limit=2&page={}", page + 1));
            }
            if page > 1 {
                links["prev"] = json!(format!("{ADDRESS}{kept}&limit=2&page={}", page - 1));
            }
            assert_eq!(answer.json()["links"], links, "page {page}");
        }
        assert_eq!(found, [DEPARTURES[2], DEPARTURES[3], DEPARTURES[5], DEPARTURES[6]]);
        let most = open.ada.get(&search("date=2026-05-20&limit=100&page=1")).send().await;
        assert_eq!(each(&most, "departure_time"), DEPARTURES);
        let past = open.ada.get(&search("date=2026-05-20&page=9223372036854775807")).send().await;
        assert_eq!(each(&past, "id"), [""; 0]);
    }

    async fn prices_are_in_the_currency_of_the_origin(open: Open) {
        let answer =
            open.ada.get(&format!("/trips?origin={LUZERN}&destination={INTERLAKEN}&date=2026-05-20"));
        let page = answer.send().await.has_status(200).json();
        assert_eq!(
            (&page["data"][0]["price"], &page["data"][0]["currency"]),
            (&number("40.00"), &json!("chf"))
        );
        assert_eq!(page["data"][0]["seats_available"], 12);
    }
}
