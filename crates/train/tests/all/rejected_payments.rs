//! Rejected payments: invalid ones, and payments for bookings that cannot be paid. Nothing is charged.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fixture::{GOOD, Open, SMALL, TRIP, card, number, text};

fn with(member: &str, value: Value) -> Value {
    let mut body = card(GOOD);
    body["source"][member] = value;
    body
}

testkit::on_both_engines! {
    async fn card_is_valid_to_the_end_of_its_month_in_all_zones(open: Open) {
        let expired = "must be a card that has not expired";
        let until = |year: i32, month: i32| {
            let mut body = card(GOOD);
            body["source"]["exp_year"] = json!(year);
            body["source"]["exp_month"] = json!(month);
            body
        };
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        for (year, month) in [(2026, 4), (2025, 12), (2025, 5), (2000, 1)] {
            open.ada.pay(&made, &until(year, month)).await.is_invalid(&[("#/source/exp_year", expired)]);
        }
        // All that is wrong is said at once.
        let mut body = until(2026, 4);
        body["amount"] = json!(1);
        let due = "must be the price, 89.00 eur, or absent";
        open.ada.pay(&made, &body).await.is_invalid(&[("#/amount", due), ("#/source/exp_year", expired)]);
        assert_eq!(open.kept().await, before);
        // The last place on earth where it is May is twelve hours behind.
        open.advance_to("2026-06-01T11:59:59Z").await;
        let made = open.ada.hold("2f87bac9-12fc-8000-80a8-ac01000050c4").await;
        open.ada.pay(&made, &until(2026, 5)).await.has_status(200);
        open.advance_to("2026-06-01T12:00:00Z").await;
        let made = open.ada.hold("2f87bac9-12fc-8000-80a8-ac01000050c4").await;
        open.ada.pay(&made, &until(2026, 5)).await.is_invalid(&[("#/source/exp_year", expired)]);
        open.ada.pay(&made, &until(2026, 6)).await.has_status(200);
        // At the turn of a year as well.
        open.advance_to("2027-01-01T11:59:59Z").await;
        let trip = "2f87bac9-12fc-8000-80a8-ac0100005168";
        let made = open.ada.hold(trip).await;
        open.ada.pay(&made, &until(2026, 12)).await.has_status(200);
        open.advance_to("2027-01-01T12:00:00Z").await;
        let made = open.ada.hold(trip).await;
        open.ada.pay(&made, &until(2026, 12)).await.is_invalid(&[("#/source/exp_year", expired)]);
    }

    async fn paid_booking_cannot_be_paid_again(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        let before = open.kept().await;
        for _ in 0..2 {
            let answer = open.ada.pay(&made, &card(GOOD)).await;
            assert_eq!(answer.is_problem(409, "already-paid"), "The booking is paid for and confirmed.");
            assert_eq!(answer.json()["title"], "Already paid");
        }
        assert_eq!(open.kept().await, before);
    }

    async fn expired_booking_cannot_be_paid(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_hours(1) - SignedDuration::from_micros(1)).await;
        let paid_in_time = open.ada.hold(TRIP).await;
        open.ada.pay(&paid_in_time, &card(GOOD)).await.has_status(200);
        open.advance(SignedDuration::from_micros(1)).await;
        let before = open.rows("payment").await;
        for swept in [false, true] {
            if swept {
                open.do_due_work().await;
            }
            let answer = open.ada.pay(&made, &card(GOOD)).await;
            assert_eq!(
                answer.is_problem(409, "booking-expired"),
                "The booking was not paid for in time. Book again."
            );
            assert_eq!(answer.json()["title"], "Booking expired");
            assert_eq!(open.rows("payment").await, before);
        }
        assert_eq!(open.rows("sandbox_charge").await.len(), 1);
        assert_eq!(open.ada.status(&made).await, "expired");
    }

    async fn booking_can_be_paid_until_the_last_microsecond(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_hours(1) - SignedDuration::from_micros(1)).await;
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        assert_eq!(open.ada.status(&made).await, "confirmed");
    }
}

testkit::on_one_engine! {
    async fn wrong_amount_or_currency_is_rejected_with_the_right_one(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let due = "must be the price, 89.00 eur, or absent";
        for (given, errors) in [
            (json!({"amount": number("88.99")}), &[("#/amount", due)][..]),
            (json!({"amount": number("89.001")}), &[("#/amount", due)]),
            (json!({"amount": number("8900")}), &[("#/amount", due)]),
            (json!({"amount": 0}), &[("#/amount", due)]),
            (json!({"amount": number("89.00"), "currency": "chf"}), &[("#/currency", due)]),
            (json!({"currency": "gbp"}), &[("#/currency", due)]),
            (json!({"amount": 1, "currency": "xxx"}), &[("#/amount", due), ("#/currency", due)]),
            (json!({"amount": -89}), &[("#/amount", "must be a number, 0 or more")]),
            (json!({"amount": "89.00"}), &[("#/amount", "must be a number")]),
            (json!({"amount": null}), &[("#/amount", "must be a number")]),
            (json!({"currency": "euro"}), &[("#/currency", "must be a currency of three letters, like eur")]),
            (json!({"currency": "€"}), &[("#/currency", "must be a currency of three letters, like eur")]),
            (json!({"currency": 978}), &[("#/currency", "must be text")]),
            (json!({"currency": null}), &[("#/currency", "must not be null")]),
        ] {
            let mut body = card(GOOD);
            body.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
            open.ada.pay(&made, &body).await.is_invalid(errors);
        }
        let small = open.ada.hold(SMALL).await;
        let mut body = card(GOOD);
        body["amount"] = json!(89);
        let due = "must be the price, 40.00 chf, or absent";
        let answer = open.ada.pay(&small, &body).await;
        answer.is_invalid(&[("#/amount", due)]);
        assert_eq!(answer.json()["detail"], format!("#/amount {due}."));
        open.ada.cancel(&small).await.has_status(204);
        assert_eq!(open.ada.status(&made).await, "held");
        let after = open.kept().await;
        assert!(before.iter().all(|row| after.contains(row)), "{after:?}");
        assert!(open.rows("payment").await.is_empty() && open.rows("sandbox_charge").await.is_empty());
    }

    async fn invalid_card_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let checksum = "must be a card's number: its checksum is wrong, so a digit is";
        let digits = "must be 12 to 19 digits, as text";
        let too_long = "4".repeat(1001);
        for (member, value, said) in [
            ("number", json!("4242424242424241"), checksum),
            ("number", json!("4242424242424224"), checksum),
            ("number", json!("2424242424242424"), checksum),
            ("number", json!("4242 4242 4242 4242"), digits),
            ("number", json!("4242-4242-4242-4242"), digits),
            ("number", json!("42424242424242424242"), digits),
            ("number", json!("42424242424"), digits),
            ("number", json!("４２４２４２４２４２４２４２４２"), digits),
            ("number", json!(""), digits),
            ("number", json!(too_long), "must be at most 1000 characters long, not 1001"),
            ("number", json!(4_242_424_242_424_242_u64), "must be text"),
            ("number", Value::Null, "must not be null"),
            ("cvc", json!("12"), "must be 3 to 4 digits, as text"),
            ("cvc", json!("12345"), "must be 3 to 4 digits, as text"),
            ("cvc", json!("12a"), "must be 3 to 4 digits, as text"),
            ("cvc", json!(123), "must be text"),
            ("exp_month", json!(0), "must be a whole number from 1 to 12"),
            ("exp_month", json!(13), "must be a whole number from 1 to 12"),
            ("exp_month", json!("12"), "must be a whole number from 1 to 12"),
            ("exp_month", number("5.5"), "must be a whole number from 1 to 12"),
            ("exp_year", json!(31), "must be a whole number from 2000 to 9999"),
            ("exp_year", json!(10_000), "must be a whole number from 2000 to 9999"),
            ("name", json!(" "), "must not be empty"),
            ("name", json!("x".repeat(201)), "must be at most 200 characters long, not 201"),
            ("address_country", json!("GBR"), "must be a country of two letters, like DE"),
            ("address_country", json!("1a"), "must be a country of two letters, like DE"),
            ("address_city", json!(7), "must be text"),
            ("address_line1", json!("x".repeat(201)), "must be at most 200 characters long, not 201"),
            ("address_post_code", json!("x".repeat(21)), "must be at most 20 characters long, not 21"),
        ] {
            let answer = open.ada.pay(&made, &with(member, value)).await;
            answer.is_invalid(&[(&format!("#/source/{member}"), said)]);
        }
        for missing in ["name", "number", "cvc", "exp_month", "exp_year", "address_country", "object"] {
            let mut body = card(GOOD);
            body["source"].as_object_mut().unwrap().remove(missing);
            let answer = open.ada.pay(&made, &body).await;
            answer.is_invalid(&[(&format!("#/source/{missing}"), "is required")]);
        }
        assert_eq!(open.kept().await, before);
        open.ada.booking(text(&made, "id")).await.is(200, &made);
    }

    async fn invalid_bank_account_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let good = json!({
            "object": "bank_account", "name": "A", "number": "12345", "account_type": "company", "bank_name": "B",
            "country": "de",
        });
        for missing in ["name", "number", "account_type", "bank_name", "country"] {
            let mut source = good.clone();
            source.as_object_mut().unwrap().remove(missing);
            let answer = open.ada.pay(&made, &json!({"source": source})).await;
            answer.is_invalid(&[(&format!("#/source/{missing}"), "is required")]);
        }
        for (member, value, said) in [
            ("number", json!("1234"), "must be 5 to 34 digits, as text"),
            ("number", json!("1".repeat(35)), "must be 5 to 34 digits, as text"),
            ("number", json!(12345), "must be text"),
            ("sort_code", json!("12345"), "must be 6 digits, as text"),
            ("sort_code", json!("12-34-56"), "must be 6 digits, as text"),
            ("account_type", json!("personal"), "must be one of: individual, company"),
            ("country", json!("Germany"), "must be a country of two letters, like DE"),
        ] {
            let mut source = good.clone();
            source[member] = value;
            let answer = open.ada.pay(&made, &json!({"source": source})).await;
            answer.is_invalid(&[(&format!("#/source/{member}"), said)]);
        }
        assert_eq!(open.kept().await, before);
        open.ada.pay(&made, &json!({"source": good})).await.has_status(200);
    }

    async fn missing_or_unknown_source_is_rejected(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        for (body, errors) in [
            (json!({}), [("#/source", "is required")]),
            (json!({"source": null}), [("#/source", "must be a JSON object")]),
            (json!({"source": "card"}), [("#/source", "must be a JSON object")]),
            (json!({"source": []}), [("#/source", "must be a JSON object")]),
            (json!({"source": {}}), [("#/source/object", "is required")]),
            (
                json!({"source": {"object": "cash"}}),
                [("#/source/object", "must be one of: card, bank_account")],
            ),
            (
                json!({"source": {"object": "Card"}}),
                [("#/source/object", "must be one of: card, bank_account")],
            ),
            (json!({"source": {"object": 1}}), [("#/source/object", "must be text")]),
        ] {
            open.ada.pay(&made, &body).await.is_invalid(&errors);
        }
        // All that is wrong is said at once.
        let body = json!({"amount": "x", "currency": "", "source": {"object": "card", "number": "1"}});
        open.ada.pay(&made, &body).await.is_invalid(&[
            ("#/amount", "must be a number"),
            ("#/currency", "must not be empty"),
            ("#/source/name", "is required"),
            ("#/source/number", "must be 12 to 19 digits, as text"),
            ("#/source/cvc", "is required"),
            ("#/source/exp_month", "is required"),
            ("#/source/exp_year", "is required"),
            ("#/source/address_country", "is required"),
        ]);
        assert_eq!(open.kept().await, before);
    }
}
