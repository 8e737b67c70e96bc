//! A value of one of two forms.

use axum::{Router, routing::post};
use model::Input;
use serde_json::json;
use utoipa::ToSchema;
use web::{Body, Reply};

use crate::{model::described, support::serve};

/// A fee: a number, or an object.
#[derive(Input)]
struct Fee {
    #[field(rule = either(integer(1..=9).then(|_, cents| Some(vec![cents])), nested::<Rates>().then(|_, rates| Some(rates.each))))]
    cents: Vec<i64>,
}

/// The fees of several days.
#[derive(Input)]
struct Rates {
    #[field(items = 1..=2, each = integer(1..=9))]
    each: Vec<i64>,
}

#[tokio::test]
async fn value_of_either_form_is_read_and_any_other_gets_what_both_require() {
    let router = Router::new().route("/fees", post(async |Body(fee): Body<Fee>| Reply(fee.cents)));
    let (_server, client) = serve(router).await;
    for (cents, read) in [(json!(3), json!([3])), (json!({"each": [1, 2]}), json!([1, 2]))] {
        client.post("/fees").json(&json!({"cents": cents})).send().await.is(200, &read);
    }
    let both = "must be a whole number from 1 to 9, or must be a JSON object";
    for cents in [json!(10), json!("3"), json!([1]), json!(null)] {
        client.post("/fees").json(&json!({"cents": cents})).send().await.is_invalid(&[("#/cents", both)]);
    }
    // The errors within an object are those of the rule for objects.
    let errors = [("#/cents/each/1", "must be a whole number from 1 to 9")];
    client.post("/fees").json(&json!({"cents": {"each": [1, 10]}})).send().await.is_invalid(&errors);
    let described = described::<Fee>();
    assert_eq!(
        described["properties"]["cents"]["oneOf"],
        json!([
            {"type": "integer", "format": "int64", "minimum": 1, "maximum": 9},
            {"$ref": "#/components/schemas/Rates"},
        ])
    );
    let mut components = Vec::new();
    Fee::schemas(&mut components);
    assert_eq!(components.len(), 1);
}
