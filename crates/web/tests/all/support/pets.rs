//! A type with all kinds of members, which is accepted in every format, and a service that answers with the values it read.

use axum::{Router, routing::post};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use testkit::{Answer, Client, Server};
use web::{
    Body, Reply,
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    problem::{Kind, UNPROCESSABLE},
};

/// The values that were read, as JSON.
pub(crate) struct Pet(pub(crate) Value);

const STATES: &[(&str, &str)] = &[("sold", "sold"), ("pending", "pending")];

impl Input for Pet {
    const XML_ROOT: Option<&'static str> = Some("pet");
    const FORM: bool = true;
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id());
        let name = fields.required("name", rules::text(1..=40));
        let category = fields.optional("category", Named::read_value);
        let photos = fields.optional("photoUrls", rules::list(1..=3, rules::text(1..=40)).of("photoUrl"));
        let tags = fields.optional("tags", rules::list(0..=3, Named::read_value).of("tag"));
        let days = fields.optional("days", rules::list(0..=3, rules::date()));
        let status = fields.optional("status", rules::one_of(STATES));
        let tame = fields.optional("tame", rules::boolean());
        let born = fields.optional("born", rules::timestamp());
        let seen = fields.optional("seen", rules::date());
        let chip = fields.optional("chip", rules::uuid());
        let legs = fields.optional("legs", rules::integer(0..=1000));
        let price = fields.optional("price", rules::decimal(Decimal::ZERO..=Decimal::ONE_HUNDRED));
        let mail = fields.optional("mail", rules::email());
        let names = |named: Vec<Named>| named.into_iter().map(|Named(value)| value).collect::<Vec<_>>();
        let mut read = json!({
            "id": id?,
            "name": name?,
            "category": category?.map(|Named(value)| value),
            "photoUrls": photos?,
            "tags": tags?.map(names),
            "days": days?.map(|days| days.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "status": status?,
            "tame": tame?,
            "born": born?.map(|time| time.to_string()),
            "seen": seen?.map(|date| date.to_string()),
            "chip": chip?,
            "legs": legs?,
            "price": price?.map(|price| price.to_string()),
            "mail": mail?,
        });
        if let Value::Object(read) = &mut read {
            read.retain(|_, value| !value.is_null());
        }
        Some(Pet(read))
    }
}

/// An object within.
pub(crate) struct Named(Value);

impl Input for Named {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id());
        let name = fields.required("name", rules::text(1..=10));
        Some(Named(json!([id?, name?])))
    }
}

/// A list as a whole body.
pub(crate) struct Pets(Vec<Value>);

impl Input for Pets {
    const XML_ROOT: Option<&'static str> = Some("pets");

    fn read(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    fn read_value(field: &mut Field<'_>) -> Option<Self> {
        let pets = rules::list(1..=3, Pet::read_value).of("pet").read(field)?;
        Some(Pets(pets.into_iter().map(|Pet(value)| value).collect()))
    }
}

pub(crate) async fn serve_pets() -> (Server, Client) {
    let router = Router::new()
        .route("/pet", post(async |Body(Pet(read)): Body<Pet>| Reply(read)))
        .route("/pets", post(async |Body(Pets(read)): Body<Pets>| Reply(read)));
    super::serve(router).await
}

pub(crate) async fn send_xml(client: &Client, body: impl Into<Vec<u8>>) -> Answer {
    client.post("/pet").body("application/xml", body.into()).send().await
}

/// Asserts that a pet breaks these rules.
#[track_caller]
pub(crate) fn is_broken(answer: &Answer, errors: &[(&str, &str)]) {
    answer.is_problem(422, "unprocessable");
    let errors: Vec<_> =
        errors.iter().map(|(pointer, detail)| json!({"pointer": pointer, "detail": detail})).collect();
    assert_eq!(answer.json()["errors"], json!(errors), "{}", answer.text());
}
