//! Parameters in the path and the query: read strictly, and reported by name.

use crate::support::{RawConnection, all_rules::serve_all_rules, serve, serve_operations};
use axum::{Router, routing::get};
use http::Method;
use model::Parameters;
use serde_json::json;
use uuid::Uuid;
use web::{Paging, Path, Query, Reply, Result, openapi::Handlers};

const NOT_HEX: &str = "has a % that is not followed by two hexadecimal digits";
const NOT_UTF8: &str = "has percent codes that are not UTF-8";
const NOT_A_UUID: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";

#[tokio::test]
async fn repeated_parameter_is_rejected() {
    let (_server, client) = serve_all_rules().await;
    let twice = "is given more than once";
    client.get("/query?integer=1&integer=1").send().await.is_invalid(&[("?integer", twice)]);
    client.get("/query?integer=1&text=a&integer=x").send().await.is_invalid(&[("?integer", twice)]);
    // The same name with percent codes is the same name.
    client.get("/query?text=a&te%78t=b").send().await.is_invalid(&[("?text", twice)]);
    client
        .get("/required?name=a&name=b")
        .send()
        .await
        .is_invalid(&[("?name", twice), ("?size", "is required")]);
    // An unknown parameter is reported as unknown, once.
    let unknown = "is not a parameter of this operation";
    client.get("/query?other=1&other=2&integer=1").send().await.is_invalid(&[("?other", unknown)]);
}

#[tokio::test]
async fn invalid_percent_codes_are_rejected_in_names_and_values() {
    let (server, client) = serve_all_rules().await;
    for (query, why) in [
        ("text=%", NOT_HEX),
        ("text=%4", NOT_HEX),
        ("text=%zz", NOT_HEX),
        ("%zz=1", NOT_HEX),
        ("unknown=%g0", NOT_HEX),
        ("text=%ff", NOT_UTF8),
        ("text=%C3", NOT_UTF8),
        ("text=%C0%80", NOT_UTF8),
        ("text=%ED%A0%80", NOT_UTF8),
    ] {
        // A raw request, since a client library might correct it.
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(format!("GET /query?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        wire.answer().await.is_invalid(&[("?", why)]);
    }
    client.get("/query?text=%C3%A9").send().await.is(200, &json!({"text": "é"}));
}

#[tokio::test]
async fn unencoded_utf_8_is_accepted_and_other_bytes_get_400() {
    let (server, _) = serve_all_rules().await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /query?text=é HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.answer().await.is(200, &json!({"text": "é"}));
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(b"GET /query?text=\xff HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.is_rejected_with(400).await;
}

#[tokio::test]
async fn unusual_query_is_read_literally() {
    let (_server, client) = serve_all_rules().await;
    for (query, read) in [
        ("", json!({})),
        ("&", json!({})),
        ("&&integer=1&&", json!({"integer": 1})),
        ("note", json!({"note": ""})),
        ("note=a=b", json!({"note": "a=b"})),
        ("note=a;b", json!({"note": "a;b"})),
        ("note=+a+", json!({"note": " a "})),
        ("note=%26%3D", json!({"note": "&="})),
        ("note=?", json!({"note": "?"})),
    ] {
        client.get(&format!("/query?{query}")).send().await.is(200, &read);
    }
    let unknown = "is not a parameter of this operation";
    client.get("/query?=").send().await.is_invalid(&[("?", unknown)]);
    let many = "x=1&".repeat(9_999);
    client.get(&format!("/query?{many}integer=1")).send().await.is_invalid(&[("?x", unknown)]);
    let too_many = client.get(&format!("/query?{many}x=1&integer=1")).send().await;
    too_many.is_invalid(&[("?", "has more than 10000 fields")]);
    let note = "is not a parameter of this operation; did you mean `note`?";
    client.get("/query?Note=a").send().await.is_invalid(&[("?Note", note)]);
}

async fn one(Path(id): Path<Uuid>) -> Result<Reply<Uuid>> {
    Ok(Reply(id))
}

#[tokio::test]
async fn uuid_in_the_path_is_checked() {
    let api = Handlers::new().on(Method::GET, "/things/{thingId}", one);
    let (_store, server, client) = serve_operations(api).await;
    let id = "3be6453c-03eb-4357-ae5a-984a0e574a54";
    client.get(&format!("/things/{id}")).send().await.is(200, &json!(id));
    client.get(&format!("/things/{}", id.to_uppercase())).send().await.is(200, &json!(id));
    client.get(&format!("/things/%33{}", &id[1..])).send().await.is(200, &json!(id));
    for bad in ["1", "3be6453c03eb4357ae5a984a0e574a54", "%7B3be6453c%7D", "%20", "..%2Fthings", "%00", "a+b"]
    {
        client.get(&format!("/things/{bad}")).send().await.is_invalid(&[("{thingId}", NOT_A_UUID)]);
    }
    for nowhere in ["/things/", "/things", &format!("/things/{id}/"), &format!("/things//{id}")] {
        client.get(nowhere).send().await.is_problem(404, "not-found");
    }
    for (path, why) in [("%ff", NOT_UTF8), ("%zz", NOT_A_UUID)] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(format!("GET /things/{path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        wire.answer().await.is_invalid(&[("{thingId}", why)]);
    }
}

#[tokio::test]
async fn number_in_the_path_is_checked() {
    let api = Handlers::new().on(Method::GET, "/pets/{petId}", async |Path(id): Path<i64>| Reply(id));
    let (_store, _server, client) = serve_operations(api).await;
    for (text, id) in [
        ("0", 0),
        ("7", 7),
        ("-7", -7),
        ("007", 7),
        ("%37", 7),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        client.get(&format!("/pets/{text}")).send().await.is(200, &json!(id));
    }
    let long = "9".repeat(5000);
    for bad in [
        "x",
        "+1",
        "1.0",
        "%201",
        "1%20",
        "0x1",
        "1e3",
        "-",
        "--1",
        "1-",
        "%2B1",
        "1_000",
        "%D9%A1",
        "null",
        "9223372036854775808",
        "-9223372036854775809",
        &long,
    ] {
        client.get(&format!("/pets/{bad}")).send().await.is_invalid(&[(
            "{petId}",
            "must be a whole number from -9223372036854775808 to 9223372036854775807",
        )]);
    }
}

#[tokio::test]
async fn text_in_the_path_is_decoded() {
    let read = async |Path(name): Path<String>| Reply(name);
    let api = Handlers::new().on(Method::GET, "/users/{username}", read);
    let (_store, server, client) = serve_operations(api).await;
    for (sent, read) in
        [("tom", "tom"), ("T%20m", "T m"), ("a+b", "a+b"), ("%C3%A9", "é"), ("a%2Fb", "a/b"), ("%00", "\0")]
    {
        client.get(&format!("/users/{sent}")).send().await.is(200, &json!(read));
    }
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /users/%ff HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.answer().await.is_invalid(&[("{username}", NOT_UTF8)]);
}

#[tokio::test]
async fn last_of_several_path_parameters_is_read() {
    let api = Handlers::new().on(Method::GET, "/{owner}/things/{thingId}", one).on(Method::GET, "/none", one);
    let (_store, _server, client) = serve_operations(api).await;
    let id = "3be6453c-03eb-4357-ae5a-984a0e574a54";
    client.get(&format!("/anybody/things/{id}")).send().await.is(200, &json!(id));
    client.get(&format!("/{id}/things/x")).send().await.is_invalid(&[("{thingId}", NOT_A_UUID)]);
    // A route without a parameter is an internal error.
    client.get("/none").send().await.is_problem(500, "internal");
}

#[derive(Parameters)]
struct Pages {
    #[field(rule = page(), default = 1)]
    page: i64,
    #[field(rule = limit(30), default = 10)]
    limit: i64,
}

#[tokio::test]
async fn page_and_limit_are_checked() {
    let handler = async |Query(Pages { page, limit }): Query<Pages>| {
        let paging = Paging::new(page, limit);
        Reply((paging.limit(), paging.skipped()))
    };
    let (_server, client) = serve(Router::new().route("/", get(handler))).await;
    for (query, read) in [
        ("", json!([10, 0])),
        ("page=1&limit=30", json!([30, 0])),
        ("page=3", json!([10, 20])),
        ("page=3&limit=1", json!([1, 2])),
        // Further than can be counted.
        ("page=9223372036854775807", json!([10, null])),
        ("page=9223372036854775807&limit=1", json!([1, 9_223_372_036_854_775_806_i64])),
    ] {
        client.get(&format!("/?{query}")).send().await.is(200, &read);
    }
    let page = ("?page", "must be a whole number, 1 or more");
    let limit = ("?limit", "must be a whole number from 1 to 30");
    client.get("/?page=0&limit=31").send().await.is_invalid(&[page, limit]);
    client.get("/?page=-1").send().await.is_invalid(&[page]);
    client.get("/?page=9223372036854775808").send().await.is_invalid(&[page]);
    client.get("/?limit=").send().await.is_invalid(&[limit]);
}
