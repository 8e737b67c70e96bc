//! Invalid members: each is rejected with its pointer and an error, and changes nothing.

use http::Method;
use serde_json::{Value, json};
use testkit::{Answer, Engine, Fixture, Store};

use crate::{
    answers::is_refused,
    fixture::{As, Open, Setup},
};

/// The store with a pet, an order and users, and a dump of its rows.
pub(crate) struct Stocked {
    pub(crate) open: Open,
    before: String,
}

impl Fixture for Stocked {
    async fn start(engine: Engine) -> Self {
        let open = Open::on(Store::new(engine), Setup::default()).await;
        open.add(
            &json!({"id": 5, "name": "Rex", "photoUrls": ["x"], "tags": [{"name": "t"}], "status": "sold"}),
        )
        .await;
        let order = json!({"id": 5, "petId": 5, "quantity": 2});
        open.anyone.post("/v3/store/order").json(&order).send().await.has_status(200);
        let before = open.dump().await;
        Stocked { open, before }
    }
}

impl Stocked {
    pub(crate) async fn is_as_before(&self) {
        assert_eq!(self.open.dump().await, self.before);
    }
}

pub(crate) const ID: &str = "must be a whole number from -9223372036854775808 to 9223372036854775807";
const STATUS: &str = "must be one of: available, pending, sold";

/// A complete body with one member replaced or removed.
pub(crate) fn with(mut body: Value, member: &str, value: &Value) -> Value {
    let members = body.as_object_mut().unwrap();
    if value == "(none)" {
        members.remove(member);
    } else {
        members.insert(member.into(), value.clone());
    }
    body
}

/// Sends a body, and asserts that it is malformed or breaks a rule, at this place.
pub(crate) async fn is_wrong(
    caller: &As,
    method: &Method,
    path: &str,
    body: &Value,
    status: u16,
    error: (&str, &str),
) {
    let answer: Answer = caller.call(method.clone(), path).json(body).send().await;
    let kind = if status == 400 { "invalid-request" } else { "unprocessable" };
    is_refused(&answer, status, kind, &[error]);
}

testkit::on_one_engine! {
    async fn invalid_members_of_a_pet_are_rejected(stocked: Stocked) {
        let (long, longer) = ("x".repeat(201), "x".repeat(2001));
        let (many, many_tags) = (vec![json!("x"); 101], vec![json!({}); 101]);
        let control = "must not contain the control character U+0000";
        for (member, value, status, pointer, said) in [
            ("name", json!("(none)"), 422, "#/name", "is required"),
            ("name", json!(null), 422, "#/name", "must not be null"),
            ("name", json!(5), 422, "#/name", "must be text"),
            ("name", json!(true), 422, "#/name", "must be text"),
            ("name", json!(["Rex"]), 422, "#/name", "must be text"),
            ("name", json!({}), 422, "#/name", "must be text"),
            ("name", json!(""), 422, "#/name", "must not be empty"),
            ("name", json!(" \t"), 422, "#/name", "must not be empty"),
            ("name", json!(long), 422, "#/name", "must be at most 200 characters long, not 201"),
            ("name", json!("a\0b"), 422, "#/name", control),
            ("name", json!("a\u{7f}"), 422, "#/name", "must not contain the control character U+007F"),
            ("name", json!("a\u{85}"), 422, "#/name", "must not contain the control character U+0085"),
            ("name", json!("a\u{fffe}"), 422, "#/name", "must not contain the character U+FFFE"),
            ("name", json!("\u{ffff}"), 422, "#/name", "must not contain the character U+FFFF"),
            ("photoUrls", json!("(none)"), 422, "#/photoUrls", "is required"),
            ("photoUrls", json!(null), 422, "#/photoUrls", "must be a list"),
            ("photoUrls", json!("x"), 422, "#/photoUrls", "must be a list"),
            ("photoUrls", json!({"photoUrl": "x"}), 422, "#/photoUrls", "must be a list"),
            ("photoUrls", json!([1]), 422, "#/photoUrls/0", "must be text"),
            ("photoUrls", json!(["x", null]), 422, "#/photoUrls/1", "must not be null"),
            ("photoUrls", json!(["x", "", "y"]), 422, "#/photoUrls/1", "must not be empty"),
            (
                "photoUrls",
                json!([longer]),
                422,
                "#/photoUrls/0",
                "must be at most 2000 characters long, not 2001",
            ),
            ("photoUrls", json!(many), 422, "#/photoUrls", "must have at most 100 items, not 101"),
            ("status", json!("lost"), 422, "#/status", STATUS),
            ("status", json!("Sold"), 422, "#/status", STATUS),
            ("status", json!(""), 422, "#/status", STATUS),
            ("status", json!(null), 422, "#/status", "must not be null"),
            ("status", json!(1), 422, "#/status", "must be text"),
            ("category", json!(null), 422, "#/category", "must be a JSON object"),
            ("category", json!("Dogs"), 422, "#/category", "must be a JSON object"),
            ("category", json!([]), 422, "#/category", "must be a JSON object"),
            ("category", json!({"name": 1}), 422, "#/category/name", "must be text"),
            (
                "category",
                json!({"name": long}),
                422,
                "#/category/name",
                "must be at most 200 characters long, not 201",
            ),
            ("category", json!({"id": "1"}), 400, "#/category/id", ID),
            ("category", json!({"id": null}), 400, "#/category/id", ID),
            ("tags", json!(null), 422, "#/tags", "must be a list"),
            ("tags", json!({}), 422, "#/tags", "must be a list"),
            ("tags", json!(["t"]), 422, "#/tags/0", "must be a JSON object"),
            ("tags", json!([{}, {"name": null}]), 422, "#/tags/1/name", "must not be null"),
            ("tags", json!([{"name": "a\0"}]), 422, "#/tags/0/name", control),
            ("tags", json!([{"id": 1.5}]), 400, "#/tags/0/id", ID),
            ("tags", json!(many_tags), 422, "#/tags", "must have at most 100 items, not 101"),
        ] {
            let body = with(json!({"id": 5, "name": "Max", "photoUrls": []}), member, &value);
            for method in [Method::POST, Method::PUT] {
                is_wrong(&stocked.open.pets, &method, "/v3/pet", &body, status, (pointer, said)).await;
            }
        }
        // All at once, and as malformed as the worst of them.
        let all = json!({"id": "x", "name": "", "photoUrls": [1, 2], "status": "lost", "tags": [{"id": []}]});
        let answer = stocked.open.pets.post("/v3/pet").json(&all).send().await;
        answer.is_invalid(&[
            ("#/id", ID),
            ("#/name", "must not be empty"),
            ("#/photoUrls/0", "must be text"),
            ("#/photoUrls/1", "must be text"),
            ("#/tags/0/id", ID),
            ("#/status", STATUS),
        ]);
        assert_eq!(answer.json()["detail"], "6 things are wrong with this request; see errors.");
        stocked.is_as_before().await;
    }

    async fn id_in_a_body_must_be_a_whole_number_of_64_bits(stocked: Stocked) {
        let open = &stocked.open;
        for id in [
            "\"5\"",
            "5.5",
            "5e-1",
            "1e400",
            "9223372036854775808.0",
            "null",
            "true",
            "[5]",
            "{}",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999999999",
            "\"\"",
        ] {
            for (method, path, caller, body, pointer) in [
                (
                    Method::POST,
                    "/v3/pet",
                    &open.pets,
                    format!("{{\"id\":{id},\"name\":\"a\",\"photoUrls\":[]}}"),
                    "#/id",
                ),
                (
                    Method::PUT,
                    "/v3/pet",
                    &open.pets,
                    format!("{{\"id\":{id},\"name\":\"a\",\"photoUrls\":[]}}"),
                    "#/id",
                ),
                (
                    Method::POST,
                    "/v3/store/order",
                    &open.anyone,
                    format!("{{\"id\":{id},\"petId\":5}}"),
                    "#/id",
                ),
                (Method::POST, "/v3/store/order", &open.anyone, format!("{{\"petId\":{id}}}"), "#/petId"),
                (Method::POST, "/v3/user", &open.ada, format!("{{\"id\":{id},\"username\":\"a\"}}"), "#/id"),
                (
                    Method::POST,
                    "/v3/user/createWithList",
                    &open.ada,
                    format!("[{{\"id\":{id},\"username\":\"a\"}}]"),
                    "#/0/id",
                ),
                (Method::PUT, "/v3/user/ada", &open.ada, format!("{{\"id\":{id}}}"), "#/id"),
            ] {
                let answer = caller.call(method, path).body("application/json", body).send().await;
                answer.is_invalid(&[(pointer, ID)]);
            }
        }
        stocked.is_as_before().await;
    }

    async fn id_in_a_path_must_be_a_whole_number_of_64_bits(stocked: Stocked) {
        let open = &stocked.open;
        for id in [
            "abc",
            "1.0",
            "9223372036854775808",
            "-9223372036854775809",
            "1e3",
            "%201",
            "1%20",
            "+1",
            "0x5",
            "--5",
            "-",
            "5%00",
            "%D9%A5",
            "5,6",
        ] {
            for (method, path, caller, name) in [
                (Method::GET, format!("/v3/pet/{id}"), &open.pets, "{petId}"),
                (Method::GET, format!("/v3/pet/{id}"), &open.key, "{petId}"),
                (Method::POST, format!("/v3/pet/{id}?name=Max"), &open.pets, "{petId}"),
                (Method::DELETE, format!("/v3/pet/{id}"), &open.pets, "{petId}"),
                (Method::POST, format!("/v3/pet/{id}/uploadImage"), &open.pets, "{petId}"),
                (Method::GET, format!("/v3/store/order/{id}"), &open.anyone, "{orderId}"),
                (Method::DELETE, format!("/v3/store/order/{id}"), &open.anyone, "{orderId}"),
            ] {
                let answer = caller.call(method, &path).send().await;
                answer.is_invalid(&[(name, ID)]);
            }
        }
        let broken = "has percent codes that are not UTF-8";
        open.pets.get("/v3/pet/%ff").send().await.is_invalid(&[("{petId}", broken)]);
        open.anyone.get("/v3/user/%ff").send().await.is_invalid(&[("{username}", broken)]);
        stocked.is_as_before().await;
    }
}
