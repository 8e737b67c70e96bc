//! Bytes that are no HTTP request, and requests that are too large: each gets an answer that the client can read.

use crate::support::{RawConnection, serve};
use axum::{
    Router,
    routing::{get, post},
};
use http::StatusCode;
use web::{
    Body,
    input::{Fields, Input},
};

struct Nothing;

impl Input for Nothing {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        Some(Nothing)
    }
}

async fn take(Body(Nothing): Body<Nothing>) -> &'static str {
    "taken"
}

fn router() -> Router {
    Router::new()
        .route("/", get(async || "hello"))
        .route("/take", post(take))
        .route("/refuse", post(async || StatusCode::FORBIDDEN))
}

#[tokio::test]
async fn malformed_request_gets_a_bare_status_and_closes_the_connection() {
    let (server, _) = serve(router()).await;
    let too_many: String = (0..120).map(|number| format!("x-{number}: 1\r\n")).collect();
    let many = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{too_many}\r\n");
    let cases: &[(&[u8], u16)] = &[
        (b"GARBAGE\r\n\r\n", 400),
        (b"\0\0\0\0", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
        (b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nspace : 1\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"POST /take HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
        (b"POST /take HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /take HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        (many.as_bytes(), 431),
    ];
    for (bytes, status) in cases {
        println!("{:?}", String::from_utf8_lossy(bytes));
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(bytes).await;
        wire.is_rejected_with(*status).await;
    }
}

#[tokio::test]
async fn endless_header_gets_431() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\nx-long: ").await;
    wire.send_until_refused(&[b'a'; 64 * 1024], 10_000_000).await;
    wire.is_rejected_with(431).await;
}

#[tokio::test]
async fn endless_headers_get_431() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n").await;
    wire.send_until_refused("x-another: header\r\n".repeat(1000).as_bytes(), 10_000_000).await;
    wire.is_rejected_with(431).await;
}

#[tokio::test]
async fn endless_request_line_gets_431() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /").await;
    wire.send_until_refused(&[b'a'; 64 * 1024], 10_000_000).await;
    wire.is_rejected_with(431).await;
}

#[tokio::test]
async fn head_just_below_the_limit_is_accepted() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let padding = "a".repeat(60_000);
    wire.send(format!("GET / HTTP/1.1\r\nhost: localhost\r\nx-long: {padding}\r\n\r\n")).await;
    assert_eq!(wire.answer().await.has_status(200).text(), "hello");
}

#[tokio::test]
async fn bytes_after_the_last_request_do_not_suppress_its_answer() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\nand more that nobody asked for")
        .await;
    assert_eq!(wire.answer().await.has_status(200).text(), "hello");
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn malformed_request_after_a_valid_one_does_not_suppress_its_answer() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGARBAGE\r\n\r\n").await;
    assert_eq!(wire.answer().await.has_status(200).text(), "hello");
    wire.is_rejected_with(400).await;
}

#[tokio::test]
async fn malformed_chunk_gets_400() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(
        "POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    )
    .await;
    wire.answer().await.is_invalid(&[("#", "broke off before its end")]);
    wire.closed().await;
}

#[tokio::test]
async fn client_that_is_still_sending_can_read_the_problem() {
    let (server, _) = serve(router()).await;
    for (path, media_type, status, kind) in [
        ("/take", "text/plain", 415, "unsupported-media-type"),
        ("/refuse", "application/json", 403, "forbidden"),
        ("/nowhere", "application/json", 404, "not-found"),
        ("/", "application/json", 405, "method-not-allowed"),
    ] {
        let mut wire = RawConnection::connect(server.address()).await;
        let length = 20_000_000;
        wire.send(format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n"
        ))
        .await;
        // Everything is sent before anything is read.
        wire.send(vec![b' '; length]).await;
        let answer = wire.answer().await;
        answer.is_problem(status, kind);
        assert_eq!(answer.header("connection"), "close", "{path}");
    }
}
