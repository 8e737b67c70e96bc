//! Orders: placing one in three forms, reading and deleting it.

use serde_json::json;

use crate::{
    answers::{is_broken, is_empty, is_xml, pet_with},
    fixture::{Open, Setup},
};
use testkit::{Answer, Engine, Fixture, Store};

const XML: &str = "application/xml";
const FORM: &str = "application/x-www-form-urlencoded";

/// The store with one pet, number 198772.
struct Stocked(Open);

impl Fixture for Stocked {
    async fn start(engine: Engine) -> Self {
        let open = Open::on(Store::new(engine), Setup::default()).await;
        open.add(&pet_with("doggie", "id", 198_772)).await;
        Stocked(open)
    }
}

impl Stocked {
    async fn place(&self, content_type: &str, body: &str) -> Answer {
        self.0.anyone.post("/v3/store/order").body(content_type, body.to_owned()).send().await
    }

    async fn delete(&self, id: &str) -> Answer {
        self.0.anyone.delete(&format!("/v3/store/order/{id}")).send().await
    }
}

testkit::on_both_engines! {
    async fn order_is_equal_from_json_xml_and_form(stocked: Stocked) {
        let expected = json!({
            "id": 10,
            "petId": 198_772,
            "quantity": 7,
            "shipDate": "2026-06-01T08:30:00.5Z",
            "status": "approved",
            "complete": true,
        });
        for (content_type, body) in [
            (
                "application/json",
                "{\"id\":10,\"petId\":198772,\"quantity\":7,\"shipDate\":\"2026-06-01T10:30:00.500+02:00\",\
                 \"status\":\"approved\",\"complete\":true}",
            ),
            (
                XML,
                "<order><complete>1</complete><status>approved</status><id>10</id><petId>198772</petId><quantity>7\
                 </quantity><shipDate> 2026-06-01T08:30:00.5Z </shipDate></order>",
            ),
            (
                "text/xml",
                "<o:order xmlns:o='urn:x'><o:id>10</o:id><o:petId>198772</o:petId><o:quantity>7</o:quantity>\
                 <o:shipDate>2026-06-01t08:30:00.5z</o:shipDate><o:status>approved</o:status>\
                 <o:complete>true</o:complete></o:order>",
            ),
            (
                FORM,
                "id=10&petId=198772&quantity=7&shipDate=2026-06-01T10%3A30%3A00.5%2B02%3A00&status=approved\
                 &complete=true&colour=brown",
            ),
        ] {
            let answer = stocked.place(content_type, body).await;
            answer.is(200, &expected);
            stocked.0.order(10).await.is(200, &expected);
            assert_eq!(
                answer.text(),
                "{\"id\":10,\"petId\":198772,\"quantity\":7,\"shipDate\":\"2026-06-01T08:30:00.5Z\",\
                 \"status\":\"approved\",\"complete\":true}"
            );
            is_empty(&stocked.delete("10").await);
        }
        stocked.place("application/json", &expected.to_string()).await.is(200, &expected);
        is_xml(
            &stocked.0.anyone.get("/v3/store/order/10").header("accept", XML).send().await,
            "<order><id>10</id><petId>198772</petId><quantity>7</quantity><shipDate>2026-06-01T08:30:00.5Z</shipDate>\
             <status>approved</status><complete>true</complete></order>",
        );
    }

    async fn absent_members_have_their_defaults(stocked: Stocked) {
        for (id, (content_type, body)) in (1_i64..).zip([
            ("application/json", "{\"petId\":198772}"),
            (XML, "<order><petId>198772</petId></order>"),
            (FORM, "petId=198772"),
        ]) {
            let expected =
                json!({"id": id, "petId": 198_772, "quantity": 1, "status": "placed", "complete": false});
            stocked.place(content_type, body).await.is(200, &expected);
            stocked.0.order(id).await.is(200, &expected);
        }
        is_xml(
            &stocked.0.anyone.get("/v3/store/order/2").header("accept", XML).send().await,
            "<order><id>2</id><petId>198772</petId><quantity>1</quantity><status>placed</status>\
             <complete>false</complete></order>",
        );
    }

    async fn all_statuses_and_the_bounds_of_a_quantity_are_accepted(stocked: Stocked) {
        for status in ["placed", "approved", "delivered"] {
            let answer = stocked.place(FORM, &format!("petId=198772&status={status}")).await;
            assert_eq!(answer.has_status(200).json()["status"], status);
        }
        for quantity in [1, i64::from(i32::MAX)] {
            let answer = stocked.place(FORM, &format!("id=1&petId=198772&quantity={quantity}")).await;
            assert_eq!(answer.has_status(200).json()["quantity"], quantity);
            assert_eq!(stocked.0.order(1).await.json()["quantity"], quantity);
        }
    }

    async fn ship_date_has_microseconds_and_is_in_utc(stocked: Stocked) {
        for (sent, kept) in [
            ("2026-06-01T00:00:00Z", "2026-06-01T00:00:00Z"),
            ("2026-06-01T00:00:00.123456Z", "2026-06-01T00:00:00.123456Z"),
            ("2026-06-01T00:00:00.1234567Z", "2026-06-01T00:00:00.123457Z"),
            ("2026-05-31T23:59:59.9999999-00:00", "2026-06-01T00:00:00Z"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-30T00:00:00Z", "9999-12-30T00:00:00Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
            // Without an offset it is UTC.
            ("2026-06-01T10:30:00", "2026-06-01T10:30:00Z"),
            ("2026-06-01T10:30:00.5", "2026-06-01T10:30:00.5Z"),
        ] {
            let answer = stocked
                .place("application/json", &json!({"id": 1, "petId": 198_772, "shipDate": sent}).to_string())
                .await;
            assert_eq!(answer.has_status(200).json()["shipDate"], kept, "{sent}");
            assert_eq!(stocked.0.order(1).await.json()["shipDate"], kept, "{sent}");
        }
        // No year that RFC 3339 could not write, before or after.
        let wanted =
            "must be a date and time like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00";
        for none in [
            "0000-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "2026-02-30T00:00:00Z",
            "2026-02-30T00:00:00",
        ] {
            let answer = stocked
                .place("application/json", &json!({"petId": 198_772, "shipDate": none}).to_string())
                .await;
            is_broken(&answer, &[("#/shipDate", &format!("{wanted}; there is no {none}"))]);
        }
    }

    async fn existing_id_replaces_the_order(stocked: Stocked) {
        let first = json!({
            "id": 5, "petId": 198_772, "quantity": 3, "shipDate": "2026-06-01T00:00:00Z", "complete": true,
        });
        stocked.place("application/json", &first.to_string()).await.has_status(200);
        let expected =
            json!({"id": 5, "petId": 198_772, "quantity": 1, "status": "placed", "complete": false});
        stocked.place(FORM, "id=5&petId=198772").await.is(200, &expected);
        stocked.0.order(5).await.is(200, &expected);
    }

    async fn order_for_an_unknown_pet_is_rejected(stocked: Stocked) {
        let before = stocked.0.dump().await;
        for (content_type, body) in [
            ("application/json", "{\"petId\":5}"),
            ("application/json", "{\"id\":10,\"petId\":5}"),
            (XML, "<order><petId>5</petId></order>"),
            (FORM, "petId=5"),
        ] {
            let said = "must be the id of a pet; there is no pet 5";
            is_broken(&stocked.place(content_type, body).await, &[("#/petId", said)]);
        }
        is_broken(&stocked.place(FORM, "").await, &[("#/petId", "is required")]);
        is_broken(&stocked.place(XML, "<order/>").await, &[("#/petId", "is required")]);
        assert_eq!(stocked.0.dump().await, before);
    }

    async fn only_orders_up_to_1000_can_be_deleted(stocked: Stocked) {
        for id in [1, 999, 1000, 1001, 5000, i64::MAX, 0, -5, i64::MIN] {
            stocked.place(FORM, &format!("id={id}&petId=198772")).await.has_status(200);
        }
        for id in [1, 999, 1000, 0, -5, i64::MIN] {
            is_empty(&stocked.delete(&id.to_string()).await);
            for answer in [stocked.0.order(id).await, stocked.delete(&id.to_string()).await] {
                assert_eq!(answer.is_problem(404, "not-found"), "There is no order with this id.");
            }
        }
        let said = "must be at most 1000: orders above that cannot be deleted";
        for id in [1001, 5000, i64::MAX] {
            stocked.delete(&id.to_string()).await.is_invalid(&[("{orderId}", said)]);
            stocked.0.order(id).await.has_status(200);
        }
        // Whether there is such an order does not matter.
        for id in ["1002", "9223372036854775806"] {
            stocked.delete(id).await.is_invalid(&[("{orderId}", said)]);
        }
        let said = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        for id in ["abc", "1.0", "1e3", "9223372036854775808", "+1", "%201"] {
            stocked.delete(id).await.is_invalid(&[("{orderId}", said)]);
        }
    }

    async fn unknown_order_gets_404(stocked: Stocked) {
        for id in [1, 10, -1, i64::MAX] {
            let answer = stocked.0.order(id).await;
            assert_eq!(answer.is_problem(404, "not-found"), "There is no order with this id.");
        }
    }
}
