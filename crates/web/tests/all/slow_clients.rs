//! Clients that keep a connection without using it: each is disconnected after its time, and its permit is free.

use std::{convert::Infallible, sync::Arc, time::Duration};

use crate::support::{RawConnection, SHORT, http2::Http2, serve_within, soon};
use axum::{
    Extension, Router,
    body::Body as Answer,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use tokio::sync::{Notify, mpsc};
use web::{
    Body, ConnectionLimits, RequestLimits,
    input::{Fields, Input},
};

struct Nothing;

impl Input for Nothing {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        Some(Nothing)
    }
}

fn router() -> Router {
    let limits = RequestLimits { body_time: SHORT, ..RequestLimits::default() };
    Router::new()
        .route("/", get(async || "hello"))
        .route("/take", post(async |_: Body<Nothing>| "taken"))
        .layer(Extension(limits))
}

fn short_headers() -> ConnectionLimits {
    ConnectionLimits { header_time: SHORT, ..ConnectionLimits::default() }
}

fn short_stalls() -> ConnectionLimits {
    ConnectionLimits { stall_time: SHORT, ..ConnectionLimits::default() }
}

#[tokio::test]
async fn connection_with_half_a_head_is_closed() {
    let (server, _) = serve_within(short_headers(), router()).await;
    for half in ["GE", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nhost: localhost\r\nx-half"] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(half).await;
        assert_eq!(wire.closed().await, b"", "{half:?}");
    }
}

#[tokio::test]
async fn silent_connection_is_closed() {
    let (server, _) = serve_within(short_headers(), router()).await;
    // Half the preface of HTTP/2 does not decide the version.
    for nothing in ["", "PRI * HT"] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(nothing).await;
        assert_eq!(wire.closed().await, b"", "{nothing:?}");
    }
}

#[tokio::test]
async fn connection_with_a_slow_preface_is_closed() {
    let (server, _) = serve_within(short_headers(), router()).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // All but the last byte, so that which version it is stays open.
    for sent in [&preface[..23], &preface[..1]] {
        RawConnection::connect(server.address()).await.drip(sent).await;
    }
}

#[tokio::test]
async fn pings_do_not_keep_a_connection_without_a_request_open() {
    let (server, _) = serve_within(short_headers(), router()).await;
    let (_client, ended) = Http2::connect_pinging(server.address()).await;
    soon("the end of the connection", ended).await.unwrap();
}

#[tokio::test]
async fn pings_do_not_keep_a_connection_open_after_its_last_answer() {
    let (server, _) = serve_within(short_stalls(), router()).await;
    let (client, ended) = Http2::connect_pinging(server.address()).await;
    assert_eq!(client.get("/").await.unwrap().has_status(200).text(), "hello");
    soon("the end of the connection", ended).await.unwrap();
}

#[tokio::test]
async fn pings_do_not_keep_an_unread_answer() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (server, _) = serve_within(short_stalls(), endless(dropped)).await;
    let (client, ended) = Http2::connect_pinging(server.address()).await;
    let _unread = client.head("/endless").await.unwrap();
    soon("the end of the stream", drops.recv()).await.unwrap();
    soon("the end of the connection", ended).await.unwrap();
}

#[tokio::test]
async fn large_answer_can_be_read_slowly() {
    // Each part that is taken is progress, though the answer was made at once and takes longer than a stall.
    const SIZE: usize = 2 * 1024 * 1024;
    let large = Router::new().route("/large", get(async || Bytes::from_static(&[b'x'; SIZE])));
    let limits = ConnectionLimits { stall_time: 5 * SHORT, ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, large).await;
    let (client, _ended) = Http2::connect_pinging(server.address()).await;
    let mut body = client.head("/large").await.unwrap().into_body();
    let (mut every, mut read) = (tokio::time::interval(SHORT / 10), 0);
    while let Some(frame) = body.frame().await {
        every.tick().await;
        read += frame.unwrap().data_ref().map_or(0, Bytes::len);
    }
    assert_eq!(read, SIZE);
}

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let limits = ConnectionLimits {
        connections: 3,
        connections_per_address: 2,
        loopback_exempt: false,
        ..ConnectionLimits::default()
    };
    let (server, _) = serve_within(limits, router()).await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut wire = RawConnection::connect_from([127, 0, 0, 1], server.address()).await;
        wire.send(request).await;
        wire.answer().await.has_status(200);
        held.push(wire);
    }
    for _ in 0..5 {
        let mut wire = RawConnection::connect_from([127, 0, 0, 1], server.address()).await;
        assert_eq!(wire.closed().await, b"");
    }
    // The rejected connections hold no permits: the third permit is free for another address.
    let mut other = RawConnection::connect_from([127, 0, 0, 2], server.address()).await;
    other.send(request).await;
    assert_eq!(other.answer().await.has_status(200).text(), "hello");
    for wire in &mut held {
        wire.send(request).await;
        wire.answer().await.has_status(200);
    }
}

#[tokio::test]
async fn silent_http_2_connection_is_closed_after_its_preface() {
    let (server, _) = serve_within(short_headers(), router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    wire.closed().await;
}

#[tokio::test]
async fn idle_connection_is_closed_after_its_last_answer() {
    for limits in [short_headers(), short_stalls()] {
        let (server, _) = serve_within(limits, router()).await;
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(wire.answer().await.has_status(200).text(), "hello");
        assert_eq!(wire.closed().await, b"");
    }
}

#[tokio::test]
async fn connection_with_a_slow_second_head_is_closed() {
    let (server, _) = serve_within(short_headers(), router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.answer().await;
    // Longer than the test waits for the end.
    let head = format!("GET / HTTP/1.1\r\nhost: {}", "a".repeat(2000));
    wire.drip(head.as_bytes()).await;
}

#[tokio::test]
async fn request_may_run_longer_than_a_head_may_take() {
    let (running, mut runs) = mpsc::unbounded_channel();
    let ends = Arc::new(Notify::new());
    let end = ends.clone();
    let handler = async move || {
        running.send(()).unwrap();
        ends.notified().await;
        "done"
    };
    let (server, _) = serve_within(short_headers(), Router::new().route("/", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    soon("the call", runs.recv()).await.unwrap();
    // These have the same time one after the other, from now on.
    for _ in 0..2 {
        assert_eq!(RawConnection::connect(server.address()).await.closed().await, b"");
    }
    end.notify_one();
    assert_eq!(wire.answer().await.has_status(200).text(), "done");
}

#[tokio::test]
async fn half_sent_body_gets_408_after_its_time() {
    let (server, _) = serve_within(ConnectionLimits::default(), router()).await;
    let head = "POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for body in ["content-length: 10\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(format!("{head}{body}")).await;
        wire.answer().await.is_problem(408, "request-timeout");
        wire.closed().await;
    }
}

#[tokio::test]
async fn half_sent_body_of_a_too_large_length_gets_413_at_once() {
    let (server, _) = serve_within(ConnectionLimits::default(), router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9999999\r\n\r\n{")
        .await;
    wire.answer().await.is_problem(413, "too-large");
    wire.closed().await;
}

/// Reports when it is dropped.
struct Guard(mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A stream without end, which says on the channel when it is dropped.
fn endless(dropped: mpsc::UnboundedSender<()>) -> Router {
    let handler = async move || {
        let guard = Guard(dropped.clone());
        Answer::from_stream(stream::repeat_with(move || {
            let _held = &guard;
            Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 64 * 1024]))
        }))
    };
    Router::new().route("/endless", get(handler))
}

#[tokio::test]
async fn client_that_stops_reading_is_disconnected_and_its_answer_dropped() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (server, _) = serve_within(short_stalls(), endless(dropped)).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    soon("the end of the stream", drops.recv()).await.unwrap();
    wire.closed().await;
}

#[tokio::test]
async fn disconnected_client_ends_its_streamed_answer() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (server, _) = serve_within(ConnectionLimits::default(), endless(dropped)).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    drop(wire);
    soon("the end of the stream", drops.recv()).await.unwrap();
}

#[tokio::test]
async fn connection_past_the_limit_is_served_when_another_closes() {
    let limits = ConnectionLimits { connections: 2, ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, router()).await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut wires = Vec::new();
    for _ in 0..2 {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(request).await;
        wire.answer().await.has_status(200);
        wires.push(wire);
    }
    let mut third = RawConnection::connect(server.address()).await;
    third.send(request).await;
    // The first two keep their permits: they are answered while the third waits.
    for wire in &mut wires {
        wire.send(request).await;
        wire.answer().await.has_status(200);
    }
    assert!(tokio::time::timeout(Duration::ZERO, third.head()).await.is_err(), "the third has a place");
    wires.pop();
    assert_eq!(third.answer().await.has_status(200).text(), "hello");
}
