//! A type with a member for each rule, and a service that answers with the values it read.

use axum::{
    Router,
    routing::{get, post},
};
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};
use testkit::{Client, Server};
use web::{
    Body, Query, Reply,
    input::{Fields, Input, rules},
};

/// The values that were read, by member.
pub(crate) struct AllRules(Map<String, Value>);

const COLOURS: &[(&str, &str)] = &[("red", "the first"), ("green", "the second")];

impl Input for AllRules {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let percent = Decimal::ZERO..=Decimal::ONE_HUNDRED;
        let text = fields.optional("text", rules::text(1..=5));
        let note = fields.optional("note", rules::text(0..=5));
        let code = fields.optional("code", rules::text(2..=3));
        let colour = fields.optional("colour", rules::one_of(COLOURS));
        let integer = fields.optional("integer", rules::integer(-5..=1000));
        let large = fields.optional("large", rules::integer(0..=i64::MAX));
        let date = fields.optional("date", rules::date());
        let uuid = fields.optional("uuid", rules::uuid());
        let percent = fields.optional("percent", rules::decimal(percent));
        let price = fields.optional("price", rules::decimal(Decimal::ZERO..=Decimal::MAX));
        let email = fields.optional("email", rules::email());
        let days = fields.optional("days", rules::list(1..=3, rules::date()));
        let grid = fields.optional("grid", rules::list(0..=2, rules::list(2..=2, rules::integer(0..=9))));
        let mut read = Map::new();
        let mut keep = |name: &str, value: Option<Value>| value.map(|value| read.insert(name.into(), value));
        keep("text", text?.map(Value::from));
        keep("note", note?.map(Value::from));
        keep("code", code?.map(Value::from));
        keep("colour", colour?.map(Value::from));
        keep("integer", integer?.map(Value::from));
        keep("large", large?.map(Value::from));
        keep("date", date?.map(|date| date.to_string().into()));
        keep("uuid", uuid?.map(|uuid| uuid.to_string().into()));
        // As text, so that a test sees each digit.
        keep("percent", percent?.map(|number| number.to_string().into()));
        keep("price", price?.map(|number| number.to_string().into()));
        keep("email", email?.map(Value::from));
        keep("days", days?.map(|days| days.iter().map(ToString::to_string).collect()));
        keep("grid", grid?.map(|grid| json!(grid)));
        Some(AllRules(read))
    }
}

/// A type whose members must be there.
pub(crate) struct Required;

impl Input for Required {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", rules::text(1..=5));
        let size = fields.required("size", rules::integer(1..=9));
        if let (Some("clash"), Some(9)) = (name.as_deref(), size) {
            return fields.fail("size", "must not be 9 for a clash");
        }
        name.and(size).map(|_| Required)
    }
}

pub(crate) async fn serve_all_rules() -> (Server, Client) {
    let router = Router::new()
        .route("/body", post(async |Body(AllRules(read)): Body<AllRules>| Reply(Value::Object(read))))
        .route("/query", get(async |Query(AllRules(read)): Query<AllRules>| Reply(Value::Object(read))))
        .route("/required", post(async |_: Body<Required>| Reply("fine")))
        .route("/required", get(async |_: Query<Required>| Reply("fine")));
    super::serve(router).await
}

/// Sends one member with this JSON, and asserts its value or its validation error.
pub(crate) async fn member(client: &Client, name: &str, json: &str, expected: Result<Value, &str>) {
    let body = format!(r#"{{"{name}": {json}}}"#);
    let answer = client.post("/body").body("application/json", body).send().await;
    check(&answer, &format!("#/{name}"), name, json, expected);
}

/// Sends one query parameter unchanged, and asserts its value or its validation error.
pub(crate) async fn parameter(client: &Client, name: &str, text: &str, expected: Result<Value, &str>) {
    let answer = client.get(&format!("/query?{name}={text}")).send().await;
    check(&answer, &format!("?{name}"), name, text, expected);
}

fn check(answer: &testkit::Answer, pointer: &str, name: &str, sent: &str, expected: Result<Value, &str>) {
    let sent: String = sent.chars().take(100).collect();
    match expected {
        Ok(value) => assert_eq!(answer.json(), json!({name: value}), "{name} = {sent}"),
        Err(detail) => {
            let expected = json!([{"pointer": pointer, "detail": detail}]);
            assert_eq!((answer.status, &answer.json()["errors"]), (400, &expected), "{name} = {sent}");
            answer.is_invalid(&[(pointer, detail)]);
        }
    }
}
