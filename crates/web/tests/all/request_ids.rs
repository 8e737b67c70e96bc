//! Each request has an id: the client's own if it is fit for a log, else a new one.

use std::collections::HashSet;

use crate::support::{RawConnection, serve};
use axum::{
    Extension, Router,
    routing::{get, post},
};
use http::Method;
use testkit::{Answer, Client};
use web::{Problem, RequestContext, Result};

fn router() -> Router {
    Router::new()
        .route("/", get(async |Extension(context): Extension<RequestContext>| context.id().to_string()))
        .route("/fail", get(async || -> Result<()> { Err(Problem::internal("why")) }))
        .route("/panic", get(async || -> () { panic!("why") }))
        .route("/post", post(async || ()))
}

fn is_new(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

async fn ask(client: &Client, id: &str) -> Answer {
    client.get("/").header("x-request-id", id).send().await
}

#[tokio::test]
async fn well_formed_id_is_kept() {
    let (_server, client) = serve(router()).await;
    let longest = "a".repeat(128);
    for id in ["1", "abc", "A-b_c.9", "3be6453c-03eb-4357-ae5a-984a0e574a54", "...", &longest] {
        let answer = ask(&client, id).await;
        assert_eq!(answer.header("x-request-id"), id);
        assert_eq!(answer.text(), id, "the handler sees another id than the client");
    }
}

#[tokio::test]
async fn malformed_id_is_replaced() {
    let (_server, client) = serve(router()).await;
    let too_long = "a".repeat(129);
    for id in ["", "a b", "a\tb", "a,b", "a/b", "a:b", "<script>", "\"", "ü", "a%0ab", &too_long] {
        let answer = ask(&client, id).await;
        let found = answer.header("x-request-id");
        assert!(is_new(found), "{id:?} became {found:?}");
        assert_eq!(answer.text(), found);
    }
}

#[tokio::test]
async fn id_that_is_not_text_is_replaced() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(b"GET / HTTP/1.1\r\nhost: localhost\r\nx-request-id: \xff\xfe\r\n\r\n").await;
    assert!(is_new(wire.answer().await.has_status(200).header("x-request-id")));
}

#[tokio::test]
async fn new_ids_differ() {
    let (_server, client) = serve(router()).await;
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let answer = client.get("/").send().await;
        assert!(is_new(answer.header("x-request-id")));
        assert!(seen.insert(answer.header("x-request-id").to_owned()));
    }
}

#[tokio::test]
async fn answers_have_the_id_and_problems_name_it() {
    let (_server, client) = serve(router()).await;
    for (method, path, status) in [
        (Method::GET, "/", 200),
        (Method::HEAD, "/", 200),
        (Method::POST, "/post", 200),
        (Method::OPTIONS, "/", 405),
        (Method::DELETE, "/", 405),
        (Method::GET, "/nowhere", 404),
        (Method::HEAD, "/nowhere", 404),
        (Method::GET, "/fail", 500),
        (Method::GET, "/panic", 500),
        (Method::from_bytes(b"BREW").unwrap(), "/", 405),
    ] {
        let answer = client.call(method.clone(), path).header("x-request-id", "one-of-mine").send().await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("x-request-id"), "one-of-mine", "{method} {path}");
        if status >= 400 && method != Method::HEAD {
            assert_eq!(answer.json()["instance"], "one-of-mine", "{method} {path}");
        }
    }
}
