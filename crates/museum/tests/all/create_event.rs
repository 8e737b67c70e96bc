//! `POST /special-events`.

use serde_json::{Value, json};
use testkit::Answer;

use crate::fixture::{Open, event, text};

impl Open {
    async fn post(&self, event: &Value) -> Answer {
        self.ada.post("/v1.1/special-events").json(event).send().await
    }

    async fn post_text(&self, body: impl Into<String>) -> Answer {
        self.ada.post("/v1.1/special-events").body("application/json", body.into()).send().await
    }
}

/// A fine event, but for one member.
fn with(member: &str, value: impl Into<Value>) -> Value {
    let mut event = event("Mermaid Treasure", &["2026-05-20"]);
    event[member] = value.into();
    event
}

fn without(member: &str) -> Value {
    let mut event = event("Mermaid Treasure", &["2026-05-20"]);
    event.as_object_mut().unwrap().remove(member);
    event
}

/// The text of a fine event with this literal as its price.
fn priced(price: &str) -> String {
    let text = with("price", "PRICE").to_string();
    text.replace("\"PRICE\"", price)
}

testkit::on_both_engines! {
    async fn created_event_is_returned_and_found_at_its_location(open: Open) {
        let answer = open
            .post(&json!({
                "name": "Pirate Coding Workshop",
                "location": "Computer Room",
                "eventDescription": "Captain Blackbeard shares his love of the C...language.\n\tArrr!",
                "dates": ["2026-09-13", "2026-09-11", "2026-09-13", "2026-09-12", "2026-09-11"],
                "price": 25,
            }))
            .await;
        let created = answer.json();
        let id = text(&created, "eventId");
        assert!(id.len() == 36 && id == id.to_lowercase(), "{id}");
        let expected = json!({
            "eventId": id,
            "name": "Pirate Coding Workshop",
            "location": "Computer Room",
            "eventDescription": "Captain Blackbeard shares his love of the C...language.\n\tArrr!",
            "dates": ["2026-09-11", "2026-09-12", "2026-09-13"],
            "price": 25,
        });
        answer.is(201, &expected);
        assert_eq!(answer.header("location"), format!("/v1.1/special-events/{id}"));
        open.ben.get(answer.header("location")).send().await.is(200, &expected);
        // A UUID is the same UUID in capitals.
        open.event(&id.to_uppercase()).await.is(200, &expected);
    }

    async fn price_keeps_all_its_digits(open: Open) {
        for (given, kept) in [
            ("25.50", "25.50"),
            ("0", "0"),
            ("0.00", "0.00"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("2.50e1", "25.0"),
            ("5e-3", "0.005"),
            ("100.000", "100.000"),
            ("10000", "10000"),
            ("0.0001", "0.0001"),
            ("9007199254740993", "9007199254740993"),
            ("1234567890123456789012345678", "1234567890123456789012345678"),
            ("12345678901234567890123456.78", "12345678901234567890123456.78"),
            ("1.234567890123456789012345678", "1.234567890123456789012345678"),
            ("0.1234567890123456789012345678", "0.1234567890123456789012345678"),
            ("0.0000000000000000000000000001", "0.0000000000000000000000000001"),
        ] {
            let created = open.post_text(priced(given)).await;
            let created = created.has_status(201);
            assert!(created.text().ends_with(&format!("\"price\":{kept}}}")), "{given}: {}", created.text());
            let id = text(&created.json(), "eventId").to_owned();
            assert_eq!(open.event(&id).await.text(), created.text(), "{given}");
            // Changing something else does not touch it either.
            let changed = open.patch(&id, &json!({"name": "Mermaid Treasure"})).await;
            assert_eq!(changed.text(), created.text(), "{given}");
            let path = format!("/v1.1/special-events/{id}");
            open.ada.patch(&path).body("application/json", "{\"price\":3}").send().await.has_status(200);
            let back = open.ada.patch(&path).body("application/json", format!("{{\"price\":{given}}}"));
            assert_eq!(back.send().await.text(), created.text(), "{given}");
            assert_eq!(open.event(&id).await.text(), created.text(), "{given}");
            assert!(open.events("?startDate=2026-05-20").await.text().contains(&created.text()), "{given}");
        }
    }

    async fn price_that_is_negative_or_not_a_decimal_is_rejected(open: Open) {
        for price in ["-1", "-0.01", "-1e2"] {
            let answer = open.post_text(priced(price)).await;
            answer.is_invalid(&[("#/price", "must be a number, 0 or more")]);
        }
        for price in [
            "123456789012345678901234567890",
            "0.12345678901234567890123456789",
            "1.23456789012345678901234567890e1",
            "1e29",
            "1e-29",
            "1e400",
            "-1e400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ] {
            let answer = open.post_text(priced(price)).await;
            answer.is_invalid(&[("#/price", "must be a decimal number of at most 28 digits")]);
        }
        for price in ["null", "true", "\"25.50\"", "[25]", "{}"] {
            open.post_text(priced(price)).await.is_invalid(&[("#/price", "must be a number")]);
        }
        open.events("?startDate=2026-05-20").await.is(200, &json!([]));
    }

    async fn all_missing_members_are_listed_in_one_answer(open: Open) {
        for member in ["name", "location", "eventDescription", "dates", "price"] {
            let pointer = format!("#/{member}");
            open.post(&without(member)).await.is_invalid(&[(&pointer, "is required")]);
        }
        let answer = open.post(&json!({})).await;
        answer.is_invalid(&[
            ("#/name", "is required"),
            ("#/location", "is required"),
            ("#/eventDescription", "is required"),
            ("#/dates", "is required"),
            ("#/price", "is required"),
        ]);
        assert_eq!(answer.json()["detail"], "5 things are wrong with this request; see errors.");
        let null = json!({
            "name": null, "location": null, "eventDescription": null, "dates": null, "price": null,
        });
        open.post(&null).await.is_invalid(&[
            ("#/name", "must not be null"),
            ("#/location", "must not be null"),
            ("#/eventDescription", "must not be null"),
            ("#/dates", "must be a list"),
            ("#/price", "must be a number"),
        ]);
        let wrong = json!({
            "name": 5, "location": ["Room"], "eventDescription": {"text": ""}, "dates": "2026-05-20",
            "price": "15",
        });
        open.post(&wrong).await.is_invalid(&[
            ("#/name", "must be text"),
            ("#/location", "must be text"),
            ("#/eventDescription", "must be text"),
            ("#/dates", "must be a list"),
            ("#/price", "must be a number"),
        ]);
        open.events("?startDate=2026-05-20").await.is(200, &json!([]));
    }

    async fn blank_or_too_long_text_and_control_characters_are_rejected(open: Open) {
        for (member, most) in [("name", 200), ("location", 500), ("eventDescription", 5000)] {
            let pointer = format!("#/{member}");
            for blank in ["", "   ", "\n\t"] {
                let answer = open.post(&with(member, blank)).await;
                answer.is_invalid(&[(&pointer, "must not be empty")]);
            }
            // Characters count, not bytes: these have four each.
            let longest = "🦕".repeat(most);
            let created = open.post(&with(member, longest.as_str())).await.has_status(201).json();
            assert_eq!(created[member], longest);
            let stored = open.event(text(&created, "eventId")).await;
            stored.is(200, &created);
            let said = format!("must be at most {most} characters long, not {}", most + 1);
            open.post(&with(member, "x".repeat(most + 1))).await.is_invalid(&[(&pointer, &said)]);
            for (control, code) in [
                ("\0", "0000"),
                ("\u{7}", "0007"),
                ("\u{1b}", "001B"),
                ("\u{7f}", "007F"),
                ("\u{85}", "0085"),
            ] {
                let said = format!("must not contain the control character U+{code}");
                let answer = open.post(&with(member, format!("Ring{control}ring"))).await;
                answer.is_invalid(&[(&pointer, &said)]);
            }
        }
    }

    async fn dates_must_be_1_to_366_calendar_dates(open: Open) {
        open.post(&with("dates", json!([]))).await.is_invalid(&[("#/dates", "must have at least one item")]);
        let first: jiff::civil::Date = "2027-01-01".parse().unwrap();
        let days: Vec<_> =
            first.series(jiff::Span::new().days(1)).take(367).map(|day| day.to_string()).collect();
        let answer = open.post(&with("dates", days.clone())).await;
        answer.is_invalid(&[("#/dates", "must have at most 366 items, not 367")]);
        let created = open.post(&with("dates", days[..366].to_vec())).await.has_status(201).json();
        assert_eq!(created["dates"], json!(days[..366]));
        let broken = json!(["2026-05-20", "2026-02-30", 20260520, null, "May 20", "2026-05-20T10:00:00Z"]);
        open.post(&with("dates", broken)).await.is_invalid(&[
            ("#/dates/1", "must be a calendar date like 2026-05-17; there is no 2026-02-30"),
            ("#/dates/2", "must be a calendar date like 2026-05-17"),
            ("#/dates/3", "must not be null"),
            ("#/dates/4", "must be a calendar date like 2026-05-17"),
            ("#/dates/5", "must be a calendar date like 2026-05-17"),
        ]);
        // The ends of the calendar, and days that have passed, are days.
        let ends = json!(["9999-12-31", "0000-01-01", "2020-02-29"]);
        let created = open.post(&with("dates", ends)).await.has_status(201).json();
        assert_eq!(created["dates"], json!(["0000-01-01", "2020-02-29", "9999-12-31"]));
        open.event(text(&created, "eventId")).await.is(200, &created);
    }

    async fn unknown_members_are_ignored_and_all_characters_kept(open: Open) {
        let mut sent = event(
            "Fête 🎉 \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} 漢字 \"quoted\" <b>&amp;</b>",
            &["2026-05-20"],
        );
        sent["eventId"] = "dad4bce8-f5cb-4078-a211-995864315e39".into();
        sent["sponsor"] = json!({"name": null});
        let created = open.create(&sent).await;
        assert_ne!(created["eventId"], sent["eventId"], "the service gives the id");
        sent.as_object_mut().unwrap().remove("sponsor");
        sent["eventId"] = created["eventId"].clone();
        assert_eq!(created, sent);
        open.event(text(&created, "eventId")).await.is(200, &created);
        // And the same of a change.
        let changes = json!({"eventId": "dad4bce8-f5cb-4078-a211-995864315e39", "sponsor": 1, "name": "𝒜🦑"});
        sent["name"] = "𝒜🦑".into();
        open.patch(text(&created, "eventId"), &changes).await.is(200, &sent);
    }
}
