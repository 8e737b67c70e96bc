//! Limits on the size of a body, and the answer to a larger one.

use crate::support::{RawConnection, serve};
use axum::{Extension, Router, routing::post};
use serde_json::json;
use web::{
    Body, Reply, RequestLimits,
    input::{Fields, Input, rules},
};

const LIMIT: usize = 1024 * 1024;

/// How long a text is that came in a body.
struct Length(usize);

impl Input for Length {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("text", rules::text(0..=LIMIT)).map(|text| Length(text.len()))
    }
}

async fn measure(Body(Length(length)): Body<Length>) -> Reply<usize> {
    Reply(length)
}

fn router() -> Router {
    Router::new().route("/", post(measure))
}

/// A JSON body of exactly this number of bytes.
fn body_of(bytes: usize) -> String {
    let frame = r#"{"text":""}"#.len();
    format!(r#"{{"text":"{}"}}"#, "a".repeat(bytes - frame))
}

fn head(more: &str) -> String {
    format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\r\n\r\n")
}

#[tokio::test]
async fn body_of_the_limit_is_accepted_and_one_byte_more_gets_413() {
    let (_server, client) = serve(router()).await;
    let frame = r#"{"text":""}"#.len();
    client.post("/").body("application/json", body_of(LIMIT)).send().await.is(200, &json!(LIMIT - frame));
    let answer = client.post("/").body("application/json", body_of(LIMIT + 1)).send().await;
    assert_eq!(answer.is_problem(413, "too-large"), "The body must be at most 1048576 bytes long.");
}

#[tokio::test]
async fn limit_applies_to_chunked_bodies() {
    let (server, _) = serve(router()).await;
    for (size, status) in [(LIMIT, 200), (LIMIT + 1, 413)] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(head("transfer-encoding: chunked")).await;
        for chunk in body_of(size).as_bytes().chunks(10_000) {
            wire.send(format!("{:x}\r\n", chunk.len())).await;
            wire.send(chunk).await;
            wire.send("\r\n").await;
        }
        wire.send("0\r\n\r\n").await;
        assert_eq!(wire.answer().await.status, status, "{size}");
    }
}

#[tokio::test]
async fn limit_of_the_service_applies() {
    let limits = RequestLimits { body_bytes: 20, ..RequestLimits::default() };
    let (_server, client) = serve(router().layer(Extension(limits))).await;
    client.post("/").body("application/json", body_of(20)).send().await.is(200, &json!(9));
    let answer = client.post("/").body("application/json", body_of(21)).send().await;
    assert_eq!(answer.is_problem(413, "too-large"), "The body must be at most 20 bytes long.");
}

#[tokio::test]
async fn client_that_sends_a_hundred_megabytes_before_it_reads_gets_the_problem() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(head("content-length: 100000000")).await;
    let chunk = vec![b' '; 1_000_000];
    for _ in 0..100 {
        wire.send(&chunk).await;
    }
    let answer = wire.answer().await;
    assert_eq!(answer.is_problem(413, "too-large"), "The body must be at most 1048576 bytes long.");
    assert_eq!((answer.header("connection"), wire.closed().await.as_slice()), ("close", &b""[..]));
}

#[tokio::test]
async fn connection_is_kept_unless_a_large_body_was_not_read() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    for (body, status) in [(r#"{"text":"ab"}"#, 200), ("{}", 400), ("{", 400)] {
        wire.send(head(&format!("content-length: {}", body.len())) + body).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (status, ""), "{body}");
    }
    wire.send(head("content-length: 100000") + &body_of(100_000)).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, ""));
    let nowhere = |length: usize| {
        format!("POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n")
    };
    wire.send(nowhere(4096) + &body_of(4096)).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (404, ""));
    wire.send(nowhere(4097)).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (404, "close"));
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn too_large_body_is_rejected_before_its_end() {
    let (server, _) = serve(router()).await;
    for framing in ["content-length: 1000000000000", "transfer-encoding: chunked"] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(head(framing)).await;
        wire.send(format!("{:x}\r\n", 2_000_000)).await;
        wire.send(vec![b' '; 2_000_000]).await;
        wire.answer().await.is_problem(413, "too-large");
        assert_eq!(wire.closed().await, b"");
    }
}

#[tokio::test]
async fn expect_100_continue_gets_100_or_413() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(head("expect: 100-continue\r\ncontent-length: 13")).await;
    assert_eq!(wire.head().await.0, 100);
    wire.send(r#"{"text":"ab"}"#).await;
    wire.answer().await.is(200, &json!(2));

    // On the same connection: no go-ahead, and the connection ends, as a body might follow after all.
    wire.send(head("expect: 100-continue\r\ncontent-length: 100000000")).await;
    wire.answer().await.is_problem(413, "too-large");
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn expect_100_continue_with_a_wrong_media_type_gets_415_without_100() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    wire.send(head).await;
    wire.answer().await.is_problem(415, "unsupported-media-type");
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn truncated_body_changes_nothing() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(head("content-length: 100") + r#"{"text":"#).await;
    drop(wire);
    // The service still answers.
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(head("content-length: 11") + r#"{"text":""}"#).await;
    wire.answer().await.is(200, &json!(0));
}
