//! What no client should send in an order or a user, member by member.

use http::Method;
use serde_json::json;

use crate::{
    answers::{is_broken, is_refused},
    bad_input::{ID, Stocked, is_wrong, with},
};

const INT32: &str = "must be a whole number from -2147483648 to 2147483647";
const TIME: &str = "must be a date and time like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00";

testkit::on_one_engine! {
    async fn invalid_members_of_an_order_are_rejected(stocked: Stocked) {
        let quantity = "must be a whole number from 1 to 2147483647";
        let status = "must be one of: placed, approved, delivered";
        let form = "application/x-www-form-urlencoded";
        for (member, value, said) in [
            ("petId", json!("(none)"), "is required"),
            ("petId", json!(6), "must be the id of a pet; there is no pet 6"),
            ("quantity", json!(0), quantity),
            ("quantity", json!(-1), quantity),
            ("quantity", json!(1.5), quantity),
            ("quantity", json!(2_147_483_648_i64), quantity),
            ("quantity", json!("7"), quantity),
            ("quantity", json!(null), quantity),
            ("shipDate", json!(""), TIME),
            ("shipDate", json!(5), TIME),
            ("shipDate", json!("2026-06-01"), TIME),
            ("shipDate", json!("2026-06-01T10:00"), TIME),
            ("shipDate", json!("2026-06-01 10:00:00Z"), TIME),
            ("shipDate", json!("tomorrow"), TIME),
            ("shipDate", json!(null), "must not be null"),
            ("status", json!("lost"), status),
            ("status", json!(""), status),
            ("status", json!(1), "must be text"),
            ("complete", json!("true"), "must be true or false"),
            ("complete", json!(1), "must be true or false"),
            ("complete", json!(null), "must be true or false"),
        ] {
            let body = with(json!({"id": 5, "petId": 5}), member, &value);
            let pointer = format!("#/{member}");
            is_wrong(&stocked.open.anyone, &Method::POST, "/v3/store/order", &body, 422, (&pointer, said))
                .await;
        }
        for (body, status_code, pointer, said) in [
            ("id=5&petId=5&quantity=0", 422, "#/quantity", quantity),
            ("id=5&petId=5&quantity=", 422, "#/quantity", quantity),
            ("id=5&petId=5&status=Placed", 422, "#/status", status),
            ("id=5&petId=5&complete=1", 422, "#/complete", "must be true or false"),
            ("id=5&petId=5&complete=yes", 422, "#/complete", "must be true or false"),
            ("id=5&petId=5&shipDate=2026-06-01T10:00:00+02:00", 422, "#/shipDate", TIME),
            ("id=&petId=5", 400, "#/id", ID),
            ("id=+5&petId=5", 400, "#/id", ID),
            ("id=5&petId=5&petId=5", 400, "#/petId", "is given more than once"),
            ("id=5&petId=5&status=placed&status=placed", 400, "#/status", "is given more than once"),
            ("id=5&petId=%zz", 400, "#", "has a % that is not followed by two hexadecimal digits"),
            ("id=5&petId=5%", 400, "#", "has a % that is not followed by two hexadecimal digits"),
            ("id=5&petId=%ff", 400, "#", "has percent codes that are not UTF-8"),
        ] {
            let answer = stocked.open.anyone.post("/v3/store/order").body(form, body).send().await;
            let kind = if status_code == 400 { "invalid-request" } else { "unprocessable" };
            is_refused(&answer, status_code, kind, &[(pointer, said)]);
        }
        let bytes =
            stocked.open.anyone.post("/v3/store/order").body(form, &b"petId=5&x=\xff"[..]).send().await;
        bytes.is_invalid(&[("#", "is not UTF-8")]);
        stocked.is_as_before().await;
    }

    async fn invalid_members_of_a_user_are_rejected(stocked: Stocked) {
        let open = &stocked.open;
        let (long_name, long, long_password) = ("n".repeat(101), "x".repeat(201), "p".repeat(1001));
        let characters = "cannot be used: a name must not contain control characters, or a colon, which HTTP \
                          Basic cannot carry";
        let control = "must not contain the control character U+0000";
        for (member, value, said) in [
            ("username", json!("(none)"), "is required"),
            ("username", json!(null), "must not be null"),
            ("username", json!(5), "must be text"),
            ("username", json!(""), "must not be empty"),
            ("username", json!("  "), "must not be empty"),
            ("username", json!("a:b"), characters),
            ("username", json!("a\nb"), characters),
            ("username", json!("a\0b"), control),
            ("username", json!("\u{fffe}"), "must not contain the character U+FFFE"),
            ("username", json!(long_name), "must be at most 100 characters long, not 101"),
            ("password", json!(null), "must not be null"),
            ("password", json!(""), "must not be empty"),
            ("password", json!(12345), "must be text"),
            ("password", json!(long_password), "must be at most 1000 characters long, not 1001"),
            ("password", json!("a\0"), control),
            ("firstName", json!(null), "must not be null"),
            ("lastName", json!(long), "must be at most 200 characters long, not 201"),
            ("email", json!(["a@b.c"]), "must be text"),
            ("phone", json!(12345), "must be text"),
            ("userStatus", json!("1"), INT32),
            ("userStatus", json!(2_147_483_648_i64), INT32),
            ("userStatus", json!(1.5), INT32),
            ("userStatus", json!(null), INT32),
        ] {
            let body = with(json!({"username": "new"}), member, &value);
            let pointer = format!("#/{member}");
            is_wrong(&open.ada, &Method::POST, "/v3/user", &body, 422, (&pointer, said)).await;
            let list = json!([{"username": "fine"}, body]);
            let in_list = format!("#/1/{member}");
            is_wrong(&open.ada, &Method::POST, "/v3/user/createWithList", &list, 422, (&in_list, said))
                .await;
            if value != "(none)" {
                let changes = with(json!({}), member, &value);
                is_wrong(&open.ada, &Method::PUT, "/v3/user/ada", &changes, 422, (&pointer, said)).await;
            }
        }
        is_broken(
            &open.ada.post("/v3/user").json(&json!([{"username": "a"}])).send().await,
            &[("#", "must be a JSON object")],
        );
        stocked.is_as_before().await;
    }
}
