//! HTTP itself: both versions, connections that are kept, requests sent ahead.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use crate::support::{RawConnection, http2::Http2, serve};
use axum::{
    Router,
    body::Body as Answer,
    extract::Path,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio::sync::Notify;
use web::{
    Body, Reply,
    input::{Fields, Input, rules},
};

struct Name(String);

impl Input for Name {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("name", rules::text(1..=10)).map(Name)
    }
}

fn router() -> Router {
    Router::new()
        .route("/echo/{word}", get(async |Path(word): Path<String>| word))
        .route("/name", post(async |Body(Name(name)): Body<Name>| Reply(name)))
}

#[tokio::test]
async fn http_2_answers_as_http_1_does() {
    let (server, _) = serve(router()).await;
    let client = Http2::connect(server.address()).await;
    assert_eq!(client.get("/echo/two").await.unwrap().has_status(200).text(), "two");
    client.post("/name", r#"{"name":"Ada"}"#).await.unwrap().is(200, &json!("Ada"));
    client.post("/name", r#"{"name":""}"#).await.unwrap().is_invalid(&[("#/name", "must not be empty")]);
    client.post("/name", vec![b' '; 2 * 1024 * 1024]).await.unwrap().is_problem(413, "too-large");
    client.get("/nowhere").await.unwrap().is_problem(404, "not-found");
}

#[tokio::test]
async fn concurrent_requests_on_one_http_2_connection_are_answered() {
    let (server, _) = serve(router()).await;
    let client = Http2::connect(server.address()).await;
    let words: Vec<_> = (0..500).map(|number| number.to_string()).collect();
    let calls = words.iter().map(|word| {
        let client = client.clone();
        async move { client.get(&format!("/echo/{word}")).await.unwrap().text() }
    });
    let answers = futures_util::future::join_all(calls).await;
    assert_eq!(answers, words);
}

#[tokio::test]
async fn connection_is_kept_after_a_problem() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    for (path, status) in [("/echo/a", 200), ("/nowhere", 404), ("/name", 405), ("/echo/b", 200)] {
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        wire.answer().await.has_status(status);
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let requests: String =
        (0..50).map(|number| format!("GET /echo/{number} HTTP/1.1\r\nhost: localhost\r\n\r\n")).collect();
    wire.send(requests).await;
    for number in 0..50 {
        assert_eq!(wire.answer().await.has_status(200).text(), number.to_string());
    }
}

#[tokio::test]
async fn pipelined_requests_with_bodies_are_answered_in_order() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let request = |body: &str| {
        let length = body.len();
        format!(
            "POST /name HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    wire.send(request(r#"{"name":"a"}"#) + &request("{}") + &request(r#"{"name":"b"}"#)).await;
    wire.answer().await.is(200, &json!("a"));
    wire.answer().await.is_invalid(&[("#/name", "is required")]);
    wire.answer().await.is(200, &json!("b"));
}

#[tokio::test]
async fn streamed_answer_is_sent_at_once_while_a_pipelined_request_waits() {
    let go_on = Arc::new(Notify::new());
    let waiting = go_on.clone();
    let handler = async move || {
        let second = stream::once(async move {
            waiting.notified().await;
            Ok(Bytes::from_static(b"second"))
        });
        let first = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b"first")) });
        Answer::from_stream(first.chain(second))
    };
    let (server, _) = serve(router().route("/stream", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(
        "GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\nGET /echo/next HTTP/1.1\r\nhost: localhost\r\n\r\n",
    )
    .await;
    let (status, _) = wire.head().await;
    assert_eq!((status, wire.chunk().await.as_slice()), (200, &b"first"[..]));
    go_on.notify_one();
    assert_eq!(wire.chunk().await, b"second");
    assert_eq!(wire.chunk().await, b"");
    assert_eq!(wire.answer().await.has_status(200).text(), "next");
}

#[tokio::test]
async fn streamed_answer_is_not_buffered_for_a_client_that_does_not_read() {
    const CHUNK: usize = 64 * 1024;
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let handler = async move || {
        Answer::from_stream(stream::iter(0..16 * 1024).map(move |_| {
            counter.fetch_add(CHUNK, SeqCst);
            Ok::<_, Infallible>(Bytes::from_static(&[b'x'; CHUNK]))
        }))
    };
    let limits =
        web::ConnectionLimits { stall_time: crate::support::SHORT, ..web::ConnectionLimits::default() };
    let (server, _) = crate::support::serve_within(limits, router().route("/gigabyte", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(
        "GET /gigabyte HTTP/1.1\r\nhost: localhost\r\n\r\nGET /echo/next HTTP/1.1\r\nhost: localhost\r\n\r\n",
    )
    .await;
    assert_eq!(wire.head().await.0, 200);
    // The client reads nothing until the service closes; the sent bytes are in buffers of the kernel.
    crate::support::soon("the end of the connection", server.stop()).await;
    let made = made.load(SeqCst);
    assert!(made < 64 * 1024 * 1024, "{made} bytes were made that the client does not read");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (server, _) = serve(router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    for (path, status, length) in [("/echo/four", 200, "4"), ("/nowhere", 404, "154")] {
        wire.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        let (found, headers) = wire.head().await;
        assert_eq!((found, headers["content-length"].to_str().unwrap()), (status, length), "{path}");
    }
    // No body came between.
    wire.send("GET /echo/last HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    assert_eq!(wire.answer().await.text(), "last");
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn request_without_exactly_one_host_is_rejected() {
    let (server, _) = serve(router()).await;
    let client = testkit::Client::new(server.address());
    for hosts in ["", "Host: localhost\r\nHost: localhost\r\n"] {
        let request = format!("GET /echo/one HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = client.raw(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.contains("The request must have exactly one Host header."), "{answer}");
    }
    let old = client.raw(b"GET /echo/one HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n") && old.ends_with("one"), "{old}");
}
