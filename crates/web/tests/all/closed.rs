//! Objects that reject members which they do not have.

use axum::{Router, routing::post};
use model::{Input, Resource};
use serde_json::json;
use web::{Body, Reply};

use crate::{model::described, support::serve};

/// An object without further members, and with another such object in it.
#[derive(Input)]
#[resource(closed, xml = "request", form, case = "camelCase")]
struct Request {
    #[field(rule = text(1..=5))]
    card_number: String,
    #[field(rule = nested::<Pickup>())]
    pickup: Option<Pickup>,
}

/// A part of a closed object.
#[derive(Debug, Clone, Resource)]
#[resource(readable, closed)]
struct Pickup {
    day: i64,
}

#[tokio::test]
async fn unknown_member_of_a_closed_object_is_rejected_in_each_format() {
    let router = Router::new().route(
        "/requests",
        post(async |Body(read): Body<Request>| Reply((read.card_number, read.pickup.map(|one| one.day)))),
    );
    let (_server, client) = serve(router).await;
    let post = || client.post("/requests");
    post().json(&json!({"cardNumber": "7", "pickup": {"day": 1}})).send().await.is(200, &json!(["7", 1]));
    let near =
        "is not a member of this object; did you mean `cardNumber`? The members are cardNumber and pickup";
    let errors = [("#/cardNumber", "is required"), ("#/card_number", near)];
    post().json(&json!({"card_number": "7"})).send().await.is_invalid(&errors);
    let xml = "<request><card_number>7</card_number></request>";
    post().body("application/xml", xml).send().await.is_invalid(&errors);
    post().body("application/x-www-form-urlencoded", "card_number=7").send().await.is_invalid(&errors);
    let only = "is not a member of this object; its only member is day";
    let nested = json!({"cardNumber": "7", "pickup": {"day": 1, "hour": 2}});
    post().json(&nested).send().await.is_invalid(&[("#/pickup/hour", only)]);
    // The number and the length of the reported names are limited.
    let many: serde_json::Map<_, _> = (0..50).map(|number| (format!("{number:0>90}"), json!(1))).collect();
    let answer = post().json(&json!(many)).send().await.has_status(400).json();
    let reported = answer["errors"].as_array().unwrap();
    assert_eq!(reported.len(), 11);
    assert!(reported.iter().all(|error| error["pointer"].as_str().unwrap().len() <= 62), "{answer}");
    assert_eq!(described::<Request>()["additionalProperties"], false);
    assert_eq!(described::<Pickup>()["additionalProperties"], false);
}
