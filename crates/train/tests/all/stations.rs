//! Stations: the list and a single one, in JSON and XML, and the headers of every answer.

use serde_json::json;

use crate::fixture::{ADDRESS, BERLIN, NOTHING, Open, PARIS, is_xml, vary};

/// The response format decides; the other headers are for pages of other origins.
const VARY: [&str; 2] = ["accept", "access-control-request-headers"];

testkit::on_one_engine! {
    async fn station_is_read_in_json_and_in_xml(open: Open) {
        let path = format!("/stations/{BERLIN}");
        let answer = open.ada.get(&path).send().await;
        answer.is(
            200,
            &json!({
                "id": BERLIN,
                "name": "Berlin Hauptbahnhof",
                "address": "Europaplatz 1, 10557 Berlin, Germany",
                "country_code": "DE",
                "timezone": "Europe/Berlin",
                "latitude": 52.5251,
                "longitude": 13.3694,
            }),
        );
        assert_eq!(answer.header("cache-control"), "private, max-age=3600");
        assert_eq!(vary(&answer), VARY);
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");

        let answer = open.ada.get(&path).header("accept", "application/xml").send().await;
        let expected = format!(
            "<station><id>{BERLIN}</id><name>Berlin Hauptbahnhof</name>\
             <address>Europaplatz 1, 10557 Berlin, Germany</address><country_code>DE</country_code>\
             <timezone>Europe/Berlin</timezone><latitude>52.5251</latitude><longitude>13.3694</longitude></station>"
        );
        is_xml(&answer, 200, &expected);
        assert_eq!(answer.header("cache-control"), "private, max-age=3600");
        assert_eq!(vary(&answer), VARY);
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99998, reset=3600");
    }

    async fn unknown_station_gets_404(open: Open) {
        let answer = open.ada.get(&format!("/stations/{NOTHING}")).send().await;
        assert_eq!(answer.is_problem(404, "not-found"), "There is no station with this id.");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(vary(&answer), VARY);
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");
        let call = open.ada.get(&format!("/stations/{NOTHING}")).header("accept", "application/xml");
        let answer = call.header("x-request-id", "lost").send().await;
        assert_eq!(
            answer.text(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><problem xmlns=\"urn:ietf:rfc:7807\">\
             <type>/problems/not-found</type><title>Not found</title><status>404</status>\
             <detail>There is no station with this id.</detail><instance>lost</instance></problem>"
        );
        assert_eq!((answer.status, answer.header("content-type")), (404, "application/problem+xml"));
    }

    async fn page_of_stations_is_read_in_json_and_in_xml(open: Open) {
        let path = "/stations?search=gare%20du%20nord&country=fr";
        let answer = open.ada.get(path).send().await;
        answer.is(
            200,
            &json!({
                "data": [{
                    "id": PARIS,
                    "name": "Paris Gare du Nord",
                    "address": "18 Rue de Dunkerque, 75010 Paris, France",
                    "country_code": "FR",
                    "timezone": "Europe/Paris",
                    "latitude": 48.8809,
                    "longitude": 2.3553,
                }],
                "links": {"self": format!("{ADDRESS}{path}")},
            }),
        );
        assert_eq!(answer.header("cache-control"), "private, max-age=3600");
        assert_eq!(vary(&answer), VARY);
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");

        let answer = open.ada.get(path).header("accept", "application/xml").send().await;
        let expected = format!(
            "<data><stations><station><id>{PARIS}</id><name>Paris Gare du Nord</name>\
             <address>18 Rue de Dunkerque, 75010 Paris, France</address><country_code>FR</country_code>\
             <timezone>Europe/Paris</timezone><latitude>48.8809</latitude><longitude>2.3553</longitude></station>\
             </stations><links><self>{ADDRESS}/stations?search=gare%20du%20nord&amp;country=fr</self></links></data>"
        );
        is_xml(&answer, 200, &expected);
        assert_eq!(answer.header("cache-control"), "private, max-age=3600");

        let answer =
            open.ada.get("/stations?search=atlantis").header("accept", "application/xml").send().await;
        let expected = format!(
            "<data><stations></stations><links><self>{ADDRESS}/stations?search=atlantis</self></links></data>"
        );
        is_xml(&answer, 200, &expected);
        let answer = open.ada.get("/stations?search=atlantis").send().await;
        answer
            .is(200, &json!({"data": [], "links": {"self": format!("{ADDRESS}/stations?search=atlantis")}}));
    }

    async fn text_xml_is_accepted_as_xml(open: Open) {
        let answer = open.ada.get(&format!("/stations/{BERLIN}")).header("accept", "text/xml").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "text/xml; charset=utf-8"));
        assert!(answer.text().contains("<station>"));
    }
}
