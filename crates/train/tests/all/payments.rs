//! Payments for a booking by card and bank account, in JSON and XML, and their outcomes.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fixture::{ADDRESS, GOOD, Open, SMALL, TRIP, card, is_xml, number, payment, text, vary};

fn account() -> Value {
    json!({"source": {
        "object": "bank_account", "name": "A. Lovelace", "number": "00012345", "sort_code": "000123",
        "account_type": "individual", "bank_name": "Starling Bank", "country": "gb",
    }})
}

/// What the answer to a payment of 89.00 eur is to be.
fn paid(answer: &Value, booking: &Value, number: &str, status: &str) -> Value {
    json!({
        "id": answer["id"],
        "amount": crate::fixture::number("89.00"),
        "currency": "eur",
        "source": {
            "object": "card", "name": "A. Lovelace", "number": number, "exp_month": 12, "exp_year": 2031,
            "address_country": "gb",
        },
        "status": status,
        "links": {"booking": format!("{ADDRESS}/bookings/{}", text(booking, "id"))},
    })
}

testkit::on_both_engines! {
    async fn card_payment_confirms_the_booking(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let answer = open.ada.pay(&made, &card(GOOD)).await;
        let body = answer.json();
        answer.is(200, &paid(&body, &made, "************4242", "succeeded"));
        uuid::Uuid::try_parse(text(&body, "id")).unwrap();
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("location"), "");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99998, reset=3600");
        assert_eq!(vary(&answer), ["accept", "access-control-request-headers"]);
        assert!(answer.text().contains("\"amount\":89.00,"), "digit for digit");
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }

    async fn card_address_is_accepted_and_partly_returned(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let mut body = card(GOOD);
        let more = json!({
            "address_line1": "12 St James's Square", "address_line2": "Top floor", "address_city": "London",
            "address_country": "GB", "address_post_code": "SW1Y 4JH",
        });
        body["source"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = open.ada.pay(&made, &body).await;
        let mut expected = paid(&answer.json(), &made, "************4242", "succeeded");
        expected["source"]["address_city"] = json!("London");
        expected["source"]["address_post_code"] = json!("SW1Y 4JH");
        answer.is(200, &expected);
    }

    async fn payment_is_accepted_and_answered_in_xml(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let body = "<payment><amount>89</amount><currency>EUR</currency><source><object>card</object>\
                    <name>A. &amp; B. Lovelace</name><number>4242424242424242</number><cvc>987</cvc>\
                    <exp_month>12</exp_month><exp_year>2031</exp_year><address_city>London</address_city>\
                    <address_country>gb</address_country><address_post_code>SW1Y</address_post_code></source></payment>";
        let call = open.ada.post(&payment(&made)).header("accept", "application/xml");
        let answer = call.body("application/xml", body).send().await;
        let answered = answer.text();
        let id = answered.split("<id>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
        let expected = format!(
            "<payment><id>{id}</id><amount>89.00</amount><currency>eur</currency><source><object>card</object>\
             <name>A. &amp; B. Lovelace</name><number>************4242</number><exp_month>12</exp_month>\
             <exp_year>2031</exp_year><address_city>London</address_city><address_country>gb</address_country>\
             <address_post_code>SW1Y</address_post_code></source><status>succeeded</status>\
             <links><booking>{ADDRESS}/bookings/{}</booking></links></payment>",
            text(&made, "id")
        );
        is_xml(&answer, 200, &expected);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }

    async fn bank_account_payment_confirms_the_booking(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let answer = open.ada.pay(&made, &account()).await;
        let mut expected = paid(&answer.json(), &made, "", "succeeded");
        expected["source"] = json!({
            "object": "bank_account", "name": "A. Lovelace", "number": "****2345", "sort_code": "000123",
            "account_type": "individual", "bank_name": "Starling Bank", "country": "gb",
        });
        answer.is(200, &expected);
        assert_eq!(open.ada.status(&made).await, "confirmed");

        let made = open.ada.hold(TRIP).await;
        let body = "<payment><source><object>bank_account</object><name>Engines Ltd</name><number>12345678901234567890\
                    </number><account_type>company</account_type><bank_name>Bank</bank_name><country>DE</country>\
                    </source></payment>";
        let call = open.ada.post(&payment(&made)).header("accept", "application/xml");
        let answer = call.body("text/xml", body.replace("\n", "")).send().await;
        let expected = "<source><object>bank_account</object><name>Engines Ltd</name>\
                        <number>****************7890</number><account_type>company</account_type>\
                        <bank_name>Bank</bank_name><country>de</country></source><status>succeeded</status>";
        assert!(answer.has_status(200).text().contains(expected), "{}", answer.text());
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }

    async fn declined_card_leaves_the_booking_held_for_another_try(open: Open) {
        let made = open.ada.hold(TRIP).await;
        for (number, masked, failure) in [
            ("4000000000000002", "************0002", "card_declined"),
            ("4000000000000069", "************0069", "expired_card"),
            ("4000000000009995", "************9995", "insufficient_funds"),
            ("4000000000000002", "************0002", "card_declined"),
        ] {
            let answer = open.ada.pay(&made, &card(number)).await;
            let mut expected = paid(&answer.json(), &made, masked, "failed");
            expected["failure"] = json!(failure);
            answer.is(200, &expected);
            assert_eq!(answer.header("cache-control"), "no-store");
            open.ada.booking(text(&made, "id")).await.is(200, &made);
        }
        let call = open.ada.post(&payment(&made)).header("accept", "application/xml");
        let answer = call.json(&card("4000000000000002")).send().await;
        let expected = "</source><status>failed</status><failure>card_declined</failure><links>";
        assert!(answer.has_status(200).text().contains(expected), "{}", answer.text());
        let answer = open.ada.pay(&made, &card(GOOD)).await;
        answer.is(200, &paid(&answer.json(), &made, "************4242", "succeeded"));
        assert_eq!(open.ada.status(&made).await, "confirmed");
        let charges = open.rows("sandbox_charge").await;
        assert_eq!(charges.len(), 6, "{charges:?}");
        assert_eq!(charges.iter().filter(|charge| charge.contains("succeeded")).count(), 1);
    }

    async fn cards_of_all_lengths_and_months_are_accepted(open: Open) {
        for (number, masked) in [
            ("378282246310005", "***********0005"),
            ("6011111111111117", "************1117"),
            ("5555555555554444", "************4444"),
            ("4000000000000000006", "***************0006"),
            ("676770000005", "********0005"),
        ] {
            let made = open.ada.hold(TRIP).await;
            let mut body = card(number);
            body["source"]["cvc"] = json!("1234");
            let answer = open.ada.pay(&made, &body).await;
            answer.is(200, &paid(&answer.json(), &made, masked, "succeeded"));
        }
        // A card is valid to the end of the current month.
        let made = open.ada.hold(TRIP).await;
        let mut body = card(GOOD);
        body["source"]["exp_month"] = json!(5);
        body["source"]["exp_year"] = json!(2026);
        open.ada.pay(&made, &body).await.has_status(200);
    }

    async fn right_amount_and_currency_are_accepted(open: Open) {
        for given in [
            json!({"amount": number("89")}),
            json!({"amount": number("89.00")}),
            json!({"amount": number("89.000"), "currency": "eur"}),
            json!({"amount": number("8.9e1"), "currency": "EUR"}),
            json!({"currency": "Eur"}),
        ] {
            let made = open.ada.hold(TRIP).await;
            let mut body = card(GOOD);
            body.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
            let answer = open.ada.pay(&made, &body).await;
            answer.is(200, &paid(&answer.json(), &made, "************4242", "succeeded"));
        }
        let made = open.ada.hold(SMALL).await;
        let answer = open.ada.pay(&made, &card(GOOD)).await.has_status(200).json();
        assert_eq!((&answer["amount"], &answer["currency"]), (&number("40.00"), &json!("chf")));
    }

    async fn price_is_charged_once(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let body = open.ada.pay(&made, &card(GOOD)).await.has_status(200).json();
        open.advance(SignedDuration::from_hours(2)).await;
        open.do_due_work().await;
        let rows = open.db.read(|tx| {
            tx.rows(
                "SELECT payment_id, amount, currency, outcome, refunded_at FROM sandbox_charge",
                &[],
                |row| {
                    let refunded: Option<jiff::Timestamp> = row.get(4)?;
                    let (id, amount): (uuid::Uuid, rust_decimal::Decimal) = (row.get(0)?, row.get(1)?);
                    let (currency, outcome): (String, String) = (row.get(2)?, row.get(3)?);
                    Ok((id.to_string(), amount.to_string(), currency, outcome, refunded.is_some()))
                },
            )
        });
        let rows = rows.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        let id = text(&body, "id").to_owned();
        assert_eq!(rows, [(id, "89.00".into(), "eur".into(), "succeeded".into(), false)]);
    }
}
