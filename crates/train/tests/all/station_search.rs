//! Finding stations: by words, country and place, in which order, page by page.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fixture::{ADDRESS, Open, each, text};

impl Open {
    /// The names of the stations that fit.
    async fn named(&self, query: &str) -> Vec<String> {
        each(&self.ada.get(&format!("/stations?{query}")).send().await, "name")
    }
}

/// Follows the links of a list from its first page to its last, then back; gives all items.
async fn walk(open: &Open, first: &str) -> Vec<Value> {
    let (mut all, mut seen) = (Vec::new(), Vec::new());
    let mut next = Some(first.to_owned());
    while let Some(path) = next {
        let page = open.ada.get(&path).send().await.has_status(200).json();
        assert_eq!(page["links"]["self"], format!("{ADDRESS}{path}"));
        all.extend(page["data"].as_array().unwrap().iter().cloned());
        next = page["links"]["next"].as_str().map(|link| link.strip_prefix(ADDRESS).unwrap().to_owned());
        seen.push((path, page));
    }
    for pair in seen.windows(2).rev() {
        let [(_, before), (_, after)] = pair else { unreachable!() };
        let back = text(&after["links"], "prev").strip_prefix(ADDRESS).unwrap().to_owned();
        let again = open.ada.get(&back).send().await.has_status(200).json();
        assert_eq!(again["data"], before["data"], "{back}");
    }
    assert!(seen[0].1["links"].get("prev").is_none());
    all
}

testkit::on_one_engine! {
    async fn words_in_names_and_addresses_match_without_case_and_accents(open: Open) {
        for (search, expected) in [
            ("Milano Centrale", &["Milano Centrale"][..]),
            ("m%C3%BCnchen", &["München Hauptbahnhof"]),
            ("MUNCHEN", &["München Hauptbahnhof"]),
            ("MU%CC%88NCHEN", &["München Hauptbahnhof"]),
            ("zurich", &["Zürich Hauptbahnhof"]),
            ("z%C3%BCrich", &["Zürich Hauptbahnhof"]),
            ("krakow", &["Kraków Główny"]),
            ("glowny", &["Gdańsk Główny", "Kraków Główny"]),
            ("kobenhavn", &["København H"]),
            ("istanbul", &["İstanbul Halkalı"]),
            ("%C4%B0STANBUL", &["İstanbul Halkalı"]),
            ("bucuresti", &["București Gara de Nord"]),
            // Addresses: a street, with its ß either way, and a postal code.
            ("Koppenstra%C3%9Fe", &["Berlin Ostbahnhof"]),
            ("koppenstrasse", &["Berlin Ostbahnhof"]),
            ("10243", &["Berlin Ostbahnhof"]),
            ("rue%20de%20dunkerque", &["Paris Gare du Nord"]),
            ("%20%20berlin%20h%20", &["Berlin Hauptbahnhof"]),
            ("Gare+de+l'Est", &["Paris Gare de l'Est"]),
            // Not across the border between the two, and no pattern.
            ("Hauptbahnhof%20Europaplatz", &[]),
            ("Hauptbahnhof%0AEuropaplatz", &[]),
            ("ber%25", &[]),
            ("b_rlin", &[]),
            (".*", &[]),
            ("atlantis", &[]),
        ] {
            assert_eq!(open.named(&format!("search={search}")).await, expected, "{search}");
        }
        let long = "x".repeat(100);
        assert!(open.named(&format!("search={long}")).await.is_empty());
        assert_eq!(open.named("search=&limit=100").await, open.named("limit=100").await);
    }

    async fn stations_are_found_by_their_english_names_and_by_words_in_any_order(open: Open) {
        let lisbon = &["Lisboa Oriente", "Lisboa Santa Apolónia"][..];
        let milan = &["Milano Centrale", "Milano Porta Garibaldi"];
        for (search, expected) in [
            ("rome", &["Roma Termini"][..]),
            ("Munich", &["München Hauptbahnhof"]),
            ("vienna", &["Wien Hauptbahnhof"]),
            ("paris nord", &["Paris Gare du Nord"]),
            ("nord paris", &["Paris Gare du Nord"]),
            ("cologne", &["Köln Hauptbahnhof"]),
            ("milan", milan),
            ("MILAN", milan),
            ("milan garibaldi", &["Milano Porta Garibaldi"]),
            ("florence", &["Firenze Santa Maria Novella"]),
            ("venice", &["Venezia Santa Lucia"]),
            // Not within a word: Venice is not Nice.
            ("nice", &["Nice-Ville"]),
            ("naples", &["Napoli Centrale"]),
            ("prague", &["Praha hlavní nádraží"]),
            ("zurich", &["Zürich Hauptbahnhof"]),
            ("zuerich", &["Zürich Hauptbahnhof"]),
            ("geneva", &["Genève-Cornavin"]),
            ("lucerne", &["Luzern"]),
            ("copenhagen", &["København H"]),
            ("gothenburg", &["Göteborg Centralstation"]),
            ("brussels", &["Bruxelles-Midi / Brussel-Zuid"]),
            ("antwerp", &["Antwerpen-Centraal"]),
            ("lisbon", lisbon),
            ("seville", &["Sevilla Santa Justa"]),
            ("warsaw", &["Warszawa Centralna"]),
            ("cracow", &["Kraków Główny"]),
            ("bucharest", &["București Gara de Nord"]),
            ("belgrade", &["Beograd Centar"]),
            ("athens", &["Sidirodromikos Stathmos Athinon"]),
            // The words of an address, and not some of the name with some of the address.
            ("dunkerque rue", &["Paris Gare du Nord"]),
            ("rome cinquecento", &[]),
            ("rome atlantis", &[]),
        ] {
            let query = search.replace(' ', "%20");
            assert_eq!(open.named(&format!("search={query}")).await, expected, "{search}");
        }
    }

    async fn country_is_two_letters_in_any_case(open: Open) {
        let expected = ["Basel SBB", "Genève-Cornavin", "Interlaken Ost", "Luzern", "Zürich Hauptbahnhof"];
        for country in ["CH", "ch", "Ch"] {
            assert_eq!(open.named(&format!("country={country}")).await, expected);
        }
        assert_eq!(open.named("country=LU").await, ["Gare de Luxembourg"]);
        assert!(open.named("country=US").await.is_empty());
        assert!(open.named("country=ZZ").await.is_empty());
    }

    async fn coordinates_find_stations_within_fifty_kilometres_nearest_first(open: Open) {
        let berlin = ["Berlin Hauptbahnhof", "Berlin Ostbahnhof", "Berlin Südkreuz"];
        assert_eq!(open.named("coordinates=52.5251,13.3694").await, [berlin[0], berlin[1], berlin[2]]);
        assert_eq!(open.named("coordinates=52.4754,13.3655").await, [berlin[2], berlin[0], berlin[1]]);
        assert_eq!(open.named("coordinates=52.5103,%2013.4348").await, [berlin[1], berlin[0], berlin[2]]);
        assert_eq!(open.named("coordinates=+52.5103,+13.4348").await, [berlin[1], berlin[0], berlin[2]]);
        // Berlin's main station is 49.9 km from the first of these and 50.1 km from the second.
        for (place, found) in [("52.9739,13.3694", true), ("52.9757,13.3694", false)] {
            let names = open.named(&format!("coordinates={place}")).await;
            assert_eq!(names.contains(&berlin[0].to_owned()), found, "{place}");
        }
        // West and south of zero, the edges of the map, and the middle of an ocean.
        assert_eq!(
            open.named("coordinates=38.7138,-9.1226").await,
            ["Lisboa Santa Apolónia", "Lisboa Oriente"]
        );
        for nowhere in ["0,0", "90,0", "-90,0", "0,180", "0,-180", "90,180", "-90,-180.0", "48.5,-35"] {
            assert!(open.named(&format!("coordinates={nowhere}")).await.is_empty(), "{nowhere}");
        }
    }

    async fn all_search_parameters_must_match(open: Open) {
        let near = "coordinates=55.6727,12.5646";
        assert_eq!(open.named(near).await, ["København H", "Malmö Centralstation"]);
        assert_eq!(open.named(&format!("{near}&country=se")).await, ["Malmö Centralstation"]);
        assert_eq!(open.named(&format!("{near}&search=malmo")).await, ["Malmö Centralstation"]);
        assert!(open.named(&format!("{near}&search=malmo&country=DK")).await.is_empty());
        assert_eq!(
            open.named("search=hauptbahnhof&country=AT").await,
            ["Innsbruck Hauptbahnhof", "Salzburg Hauptbahnhof", "Wien Hauptbahnhof",]
        );
        assert_eq!(open.named("search=wien&country=DE").await, ["Dresden Hauptbahnhof"], "at Wiener Platz");
        assert!(open.named("search=wien&country=FR").await.is_empty());
    }

    async fn stations_are_ordered_by_name_and_all_reached_by_links(open: Open) {
        let all = walk(&open, "/stations?limit=7").await;
        assert_eq!(all.len(), 89);
        let ids: BTreeSet<_> = all.iter().map(|station| text(station, "id")).collect();
        assert_eq!(ids.len(), all.len(), "each once");
        assert_eq!(text(&all[0], "name"), "Aarhus H");
        assert_eq!(text(&all[1], "name"), "Amsterdam Centraal");
        // `İ`, `Ż` and `ä` are ordered as `i`, `z` and `a`.
        let names: Vec<_> = all.iter().map(|station| text(station, "name")).collect();
        let place = |name: &str| names.iter().position(|found| *found == name).unwrap();
        assert!(place("İstanbul Halkalı") < place("Köln Hauptbahnhof"));
        assert!(place("Köln Hauptbahnhof") < place("Kraków Główny"));
        assert!(place("Železniška postaja Ljubljana") < place("Zürich Hauptbahnhof"));
        assert_eq!(names[names.len() - 1], "Zürich Hauptbahnhof");

        let first = open.ada.get("/stations").send().await.has_status(200).json();
        assert_eq!(first["data"].as_array().unwrap()[..], all[..10], "ten unless told");
        assert_eq!(
            first["links"],
            serde_json::json!({"self": format!("{ADDRESS}/stations"), "next": format!("{ADDRESS}/stations?page=2")})
        );
        let most = open.ada.get("/stations?limit=100").send().await.has_status(200).json();
        assert_eq!(most["data"], Value::Array(all.clone()));
        assert_eq!(most["links"], serde_json::json!({"self": format!("{ADDRESS}/stations?limit=100")}));
        let single = open.ada.get("/stations?limit=1&page=89").send().await.has_status(200).json();
        assert_eq!(single["data"], serde_json::json!([all[88]]));
        assert!(single["links"].get("next").is_none());
    }

    async fn links_keep_all_parameters(open: Open) {
        let query = "search=a%20%26%3D%2B%23%25%E2%82%AC&country=FR&limit=1";
        let page = open.ada.get(&format!("/stations?{query}&page=2")).send().await.has_status(200).json();
        let kept = "search=a%20%26%3D%2B%23%25%E2%82%AC&country=FR&limit=1";
        assert_eq!(
            page["links"],
            serde_json::json!({
                "self": format!("{ADDRESS}/stations?{kept}&page=2"),
                "prev": format!("{ADDRESS}/stations?{kept}&page=1"),
            })
        );
        // The page parameter keeps its position.
        let page = open.ada.get("/stations?page=2&limit=2&country=fr").send().await.has_status(200).json();
        assert_eq!(
            page["links"],
            serde_json::json!({
                "self": format!("{ADDRESS}/stations?page=2&limit=2&country=fr"),
                "next": format!("{ADDRESS}/stations?page=3&limit=2&country=fr"),
                "prev": format!("{ADDRESS}/stations?page=1&limit=2&country=fr"),
            })
        );
        let walked = walk(&open, "/stations?coordinates=48.8768,2.3592&limit=1").await;
        let names: Vec<_> = walked.iter().map(|station| text(station, "name")).collect();
        assert_eq!(
            names,
            ["Paris Gare de l'Est", "Paris Gare du Nord", "Paris Gare de Lyon", "Paris Montparnasse",]
        );
    }

    async fn links_are_in_xml(open: Open) {
        let path = "/stations?country=CH&page=2&limit=1";
        let answer = open.ada.get(path).header("accept", "application/xml").send().await;
        let this = format!("{ADDRESS}/stations?country=CH&amp;page=");
        let expected = format!(
            "</stations><links><self>{this}2&amp;limit=1</self><next>{this}3&amp;limit=1</next>\
             <prev>{this}1&amp;limit=1</prev></links></data>"
        );
        assert!(answer.has_status(200).text().ends_with(&expected), "{}", answer.text());
    }

    async fn page_past_the_end_is_empty(open: Open) {
        for page in ["10", "1000000", "9223372036854775807"] {
            let answer = open.ada.get(&format!("/stations?page={page}")).send().await.has_status(200).json();
            assert_eq!(answer["data"], serde_json::json!([]));
            let before = page.parse::<i64>().unwrap() - 1;
            assert_eq!(
                answer["links"],
                serde_json::json!({
                    "self": format!("{ADDRESS}/stations?page={page}"),
                    "prev": format!("{ADDRESS}/stations?page={before}"),
                })
            );
        }
    }
}
