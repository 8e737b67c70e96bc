//! Parameters of a query that may have several values.

use crate::support::serve;
use axum::{Router, routing::get};
use serde_json::json;
use testkit::{Client, Server};
use web::{
    Query, Reply,
    input::{Fields, Input, rules},
    problem::{Kind, UNPROCESSABLE},
};

/// Values of a parameter that may have several, and one that may be true or false.
struct Search(Vec<String>, Vec<i64>, Option<bool>);

impl Input for Search {
    // Errors of a query are always INVALID_REQUEST, also with this kind.
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let words = fields.required("word", rules::values(rules::text(1..=5)));
        let ids = fields.required("id", rules::values(rules::integer(0..=9)));
        let deep = fields.optional("deep", rules::boolean());
        Some(Search(words?, ids?, deep?))
    }
}

async fn serve_search() -> (Server, Client) {
    let handler = async |Query(Search(words, ids, deep)): Query<Search>| Reply(json!([words, ids, deep]));
    serve(Router::new().route("/", get(handler))).await
}

#[tokio::test]
async fn all_values_of_a_list_parameter_are_read() {
    let (_server, client) = serve_search().await;
    for (query, read) in [
        ("", json!([[], [], null])),
        ("word=a", json!([["a"], [], null])),
        ("word=a,b", json!([["a", "b"], [], null])),
        ("word=a&id=1&word=b&id=2,3", json!([["a", "b"], [1, 2, 3], null])),
        ("word=a%2Cb&word=c", json!([["a", "b", "c"], [], null])),
        ("word=a,a&word=a", json!([["a", "a", "a"], [], null])),
        ("word=", json!([[], [], null])),
        ("word", json!([[], [], null])),
        ("word=&word=a&word=", json!([["a"], [], null])),
        ("deep=true", json!([[], [], true])),
        ("deep=false", json!([[], [], false])),
    ] {
        client.get(&format!("/?{query}")).send().await.is(200, &read);
    }
    let near = "is not a parameter of this operation; did you mean `word`?";
    client.get("/?words=a&WORD=b").send().await.is_invalid(&[("?WORD", near), ("?words", near)]);
    let word = ("?word", "must not be empty");
    let id = ("?id", "must be a whole number from 0 to 9");
    let deep = ("?deep", "must be true or false");
    for (query, errors) in [
        ("word=a,", &[word][..]),
        ("word=,", &[word]),
        ("word=a,,b", &[word]),
        ("word=a&word=+", &[word]),
        ("id=1,x", &[id]),
        ("id=1&id=x,y,z", &[id]),
        ("id=1,+2", &[id]),
        ("id=10&word=,&deep=1", &[word, id, deep]),
        ("deep=", &[deep]),
        ("deep=True", &[deep]),
        ("deep=0", &[deep]),
        ("deep=true&deep=true", &[("?deep", "is given more than once")]),
    ] {
        client.get(&format!("/?{query}")).send().await.is_invalid(errors);
    }
}

#[tokio::test]
async fn number_of_values_is_limited() {
    let (_server, client) = serve_search().await;
    let thousand = vec!["1"; 1000].join(",");
    client.get(&format!("/?id={thousand}")).send().await.is(200, &json!([[], vec![1; 1000], null]));
    let half = vec!["1"; 500].join(",");
    client.get(&format!("/?id={half}&id={half}")).send().await.is(200, &json!([[], vec![1; 1000], null]));
    let many = [("?id", "must have at most 1000 values")];
    client.get(&format!("/?id={thousand}&id=1")).send().await.is_invalid(&many);
    client.get(&format!("/?id={half}&id={half},1")).send().await.is_invalid(&many);
    client.get(&format!("/?id={}", ",".repeat(30_000))).send().await.is_invalid(&many);
}
