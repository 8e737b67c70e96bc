//! Invalid bodies: each is rejected with its pointer, and nothing is held or charged.

use serde_json::{Value, json};

use crate::fixture::{GOOD, Open, TRIP, booking, card, payment};

const NO_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";

/// Bodies that are not a JSON object, with the start of the error for each.
fn broken_json() -> Vec<(Vec<u8>, &'static str)> {
    let broken = "is not valid JSON: ";
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let texts = [
        ("", "is empty; a JSON object is required"),
        ("  ", broken),
        ("{", broken),
        ("{\"trip_id\"}", broken),
        ("{} {}", broken),
        ("{'trip_id':'a'}", broken),
        ("<booking/>", broken),
        ("\u{feff}{}", broken),
        ("trip_id=a", broken),
        ("{\"amount\":NaN}", broken),
        ("{\"passenger_name\":\"\\ud800\"}", broken),
        (&deep, broken),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("\"{}\"", "must be a JSON object"),
        ("7", "must be a JSON object"),
    ];
    let mut bodies: Vec<_> = texts.iter().map(|(text, said)| (text.as_bytes().to_vec(), *said)).collect();
    bodies.push((b"{\"passenger_name\":\"\xff\"}".to_vec(), "is not UTF-8"));
    bodies
}

/// Bodies that are no XML document of this root.
fn broken_xml(root: &str) -> Vec<(String, &'static str)> {
    let broken = "is not valid XML: ";
    let deep = format!("<{root}>{}{}</{root}>", "<a>".repeat(40), "</a>".repeat(40));
    let bomb =
        format!("<!DOCTYPE a [<!ENTITY b \"bbbb\">]><{root}><passenger_name>&b;</passenger_name></{root}>");
    let file = format!(
        "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><{root}><trip_id>&b;</trip_id></{root}>"
    );
    vec![
        (String::new(), "is empty; an XML document is required"),
        ("{}".into(), broken),
        (booking(TRIP).to_string(), broken),
        (format!("<{root}>"), broken),
        (format!("<{root}></{root}><{root}/>"), broken),
        (format!("<{root}><a></b></{root}>"), broken),
        (format!("<{root}>&nbsp;</{root}>"), broken),
        (format!("<{root}>\u{1}</{root}>"), broken),
        (bomb, "must not have a DOCTYPE"),
        (file, "must not have a DOCTYPE"),
        (deep, "must not be nested deeper than 32 elements"),
        ("<trip/>".into(), "must be an XML document with the root element "),
        (
            format!("<?xml version=\"1.0\" encoding=\"latin1\"?><{root}/>"),
            "must be sent in UTF-8, not in latin1",
        ),
        (format!("<{root}>text</{root}>"), "must hold elements, not text"),
    ]
}

testkit::on_one_engine! {
    async fn body_that_does_not_match_its_media_type_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        for (path, root) in [("/bookings", "booking"), (&payment(&made), "payment")] {
            for (body, said) in broken_json() {
                let answer = open.ada.post(path).body("application/json", body.clone()).send().await;
                let detail = answer.is_problem(400, "invalid-request");
                assert!(detail.starts_with(&format!("# {said}")), "{detail}");
                assert_eq!(answer.json()["errors"][0]["pointer"], "#");
            }
            for (body, said) in broken_xml(root) {
                for content_type in ["application/xml", "text/xml; charset=utf-8"] {
                    let answer = open.ada.post(path).body(content_type, body.clone()).send().await;
                    let detail = answer.is_problem(400, "invalid-request");
                    assert!(detail.starts_with(&format!("# {said}")), "{body}: {detail}");
                }
            }
        }
        assert_eq!(open.kept().await, before);
    }

    async fn invalid_member_of_a_booking_is_rejected_with_its_pointer(open: Open) {
        let before = open.kept().await;
        let long = "é".repeat(201);
        let huge = "x".repeat(100_000);
        for (member, value, said) in [
            ("trip_id", json!(""), NO_UUID),
            ("trip_id", json!("x"), NO_UUID),
            ("trip_id", json!(format!("{{{TRIP}}}")), NO_UUID),
            ("trip_id", json!(TRIP.replace('-', "")), NO_UUID),
            ("trip_id", json!(format!("urn:uuid:{TRIP}")), NO_UUID),
            ("trip_id", json!(format!(" {TRIP}")), NO_UUID),
            ("trip_id", json!(7), NO_UUID),
            ("trip_id", json!([TRIP]), NO_UUID),
            ("trip_id", Value::Null, "must not be null"),
            ("passenger_name", json!(""), "must not be empty"),
            ("passenger_name", json!("   "), "must not be empty"),
            ("passenger_name", json!("\t\n"), "must not be empty"),
            ("passenger_name", json!("\u{a0}\u{3000}"), "must not be empty"),
            ("passenger_name", json!(long), "must be at most 200 characters long, not 201"),
            ("passenger_name", json!(huge), "must be at most 200 characters long, not 100000"),
            ("passenger_name", json!("A\0da"), "must not contain the control character U+0000"),
            ("passenger_name", json!("A\u{1b}[31mda"), "must not contain the control character U+001B"),
            ("passenger_name", json!("A\u{85}da"), "must not contain the control character U+0085"),
            ("passenger_name", json!("A\u{ffff}da"), "must not contain the character U+FFFF"),
            ("passenger_name", json!(7), "must be text"),
            ("passenger_name", json!(["Ada"]), "must be text"),
            ("passenger_name", json!({"first": "Ada"}), "must be text"),
            ("passenger_name", json!(true), "must be text"),
            ("passenger_name", Value::Null, "must not be null"),
            ("has_bicycle", json!("true"), "must be true or false"),
            ("has_bicycle", json!(1), "must be true or false"),
            ("has_bicycle", json!(""), "must be true or false"),
            ("has_bicycle", Value::Null, "must be true or false"),
            ("has_dog", json!("yes"), "must be true or false"),
            ("has_dog", json!(0), "must be true or false"),
            ("has_dog", json!([]), "must be true or false"),
        ] {
            let mut body = booking(TRIP);
            body[member] = value;
            open.ada.book(&body).await.is_invalid(&[(&format!("#/{member}"), said)]);
        }
        open.ada
            .book(&json!({}))
            .await
            .is_invalid(&[("#/trip_id", "is required"), ("#/passenger_name", "is required")]);
        open.ada
            .book(&json!({"trip_id": 1, "passenger_name": "", "has_bicycle": 0, "has_dog": 0}))
            .await
            .is_invalid(&[
                ("#/trip_id", NO_UUID),
                ("#/passenger_name", "must not be empty"),
                ("#/has_bicycle", "must be true or false"),
                ("#/has_dog", "must be true or false"),
            ]);
        assert_eq!(open.kept().await, before);
    }

    async fn invalid_element_of_a_booking_is_rejected_with_its_pointer(open: Open) {
        let before = open.kept().await;
        let nil = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"";
        let trip = format!("<trip_id>{TRIP}</trip_id>");
        let name = "<passenger_name>Ada</passenger_name>";
        for (content, errors) in [
            (String::new(), &[("#/trip_id", "is required"), ("#/passenger_name", "is required")][..]),
            (format!("{trip}<passenger_name/>"), &[("#/passenger_name", "must not be empty")]),
            (
                format!("{trip}<passenger_name> \n </passenger_name>"),
                &[("#/passenger_name", "must not be empty")],
            ),
            (format!("{trip}<passenger_name {nil}/>"), &[("#/passenger_name", "must not be null")]),
            (
                format!("{trip}<passenger_name><b>Ada</b></passenger_name>"),
                &[("#/passenger_name", "must be text")],
            ),
            (format!("{trip}{name}{name}"), &[("#/passenger_name", "is given more than once")]),
            (format!("<trip_id>x</trip_id>{name}"), &[("#/trip_id", NO_UUID)]),
            (format!("{trip}{trip}{name}"), &[("#/trip_id", "is given more than once")]),
            (format!("{trip}{name}<has_dog>yes</has_dog>"), &[("#/has_dog", "must be true or false")]),
            (format!("{trip}{name}<has_dog/>"), &[("#/has_dog", "must be true or false")]),
            (
                format!("{trip}{name}<has_bicycle>2</has_bicycle>"),
                &[("#/has_bicycle", "must be true or false")],
            ),
            (format!("{trip}<Passenger_Name>Ada</Passenger_Name>"), &[("#/passenger_name", "is required")]),
        ] {
            let body = format!("<booking>{content}</booking>");
            open.ada.post("/bookings").body("application/xml", body).send().await.is_invalid(errors);
        }
        assert_eq!(open.kept().await, before);
        // Namespaces, attributes, comments and unknown elements are ignored.
        let body = format!(
            "<b:booking xmlns:b=\"urn:x\" v=\"1\"><!-- to Paris --><b:trip_id>{TRIP}</b:trip_id><x/>\
             <b:passenger_name><![CDATA[Ada & Co]]></b:passenger_name></b:booking>"
        );
        let made = open.ada.post("/bookings").body("application/xml", body).send().await;
        assert_eq!(made.has_status(201).json()["passenger_name"], "Ada & Co");
    }

    async fn invalid_element_of_a_payment_is_rejected_with_its_pointer(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let card = "<object>card</object><name>A</name><number>4242424242424242</number><cvc>987</cvc>\
                    <exp_month>12</exp_month><exp_year>2031</exp_year><address_country>gb</address_country>";
        for (content, errors) in [
            (String::new(), &[("#/source", "is required")][..]),
            ("<source>card</source>".into(), &[("#/source", "must hold elements, not text")]),
            ("<source/>".into(), &[("#/source/object", "is required")]),
            (
                "<source><object>cash</object></source>".into(),
                &[("#/source/object", "must be one of: card, bank_account")],
            ),
            (
                format!("<source>{card}<cvc>987</cvc></source>"),
                &[("#/source/cvc", "is given more than once")],
            ),
            (
                format!("<source>{card}</source><source>{card}</source>"),
                &[("#/source", "is given more than once")],
            ),
            (
                format!("<amount>88</amount><source>{card}</source>"),
                &[("#/amount", "must be the price, 89.00 eur, or absent")],
            ),
            (
                format!("<amount>89,00</amount><source>{card}</source>"),
                &[("#/amount", "must be a decimal number of at most 28 digits")],
            ),
            (
                format!("<source>{}</source>", card.replace("987", "98")),
                &[("#/source/cvc", "must be 3 to 4 digits, as text")],
            ),
            (
                format!("<source>{}</source>", card.replace("4242<", "4241<")),
                &[("#/source/number", "must be a card's number: its checksum is wrong, so a digit is")],
            ),
            (
                format!("<source>{}</source>", card.replace("12<", "13<")),
                &[("#/source/exp_month", "must be a whole number from 1 to 12")],
            ),
        ] {
            let body = format!("<payment>{content}</payment>");
            open.ada.post(&payment(&made)).body("application/xml", body).send().await.is_invalid(errors);
        }
        assert_eq!(open.kept().await, before);
    }

    async fn repeated_member_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let twice = format!("{{\"trip_id\":\"{TRIP}\",\"passenger_name\":\"A\",\"passenger_name\":\"B\"}}");
        let answer = open.ada.post("/bookings").body("application/json", twice).send().await;
        answer.is_invalid(&[("#/passenger_name", "is given more than once")]);
        let text = card(GOOD).to_string().replace("\"cvc\":", "\"cvc\":\"123\",\"cvc\":");
        let answer = open.ada.post(&payment(&made)).body("application/json", text).send().await;
        answer.is_invalid(&[("#/source/cvc", "is given more than once")]);
        assert_eq!(open.kept().await, before);
    }
}
