//! Clients that keep a connection without using it: each is let go when its time is up, and holds nothing longer.

#![allow(clippy::unwrap_used)]

mod support;

use std::{convert::Infallible, time::Duration};

use axum::{
    Extension, Router,
    body::Body as Answer,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::stream;
use support::{SHORT, Wire, serve_within, soon};
use tokio::sync::mpsc;
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
async fn half_a_head_is_not_waited_for() {
    let (server, _) = serve_within(short_headers(), router()).await;
    for half in ["GE", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nhost: localhost\r\nx-half"] {
        let mut wire = Wire::connect(server.address()).await;
        wire.send(half).await;
        assert_eq!(wire.closed().await, b"", "{half:?}");
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let (server, _) = serve_within(short_stalls(), router()).await;
    // Half the preface of HTTP/2 is as little as nothing: it may still be either version.
    for nothing in ["", "PRI * HT"] {
        let mut wire = Wire::connect(server.address()).await;
        wire.send(nothing).await;
        assert_eq!(wire.closed().await, b"", "{nothing:?}");
    }
}

#[tokio::test]
async fn an_http_2_connection_that_says_nothing_after_its_preface_is_closed() {
    let (server, _) = serve_within(short_stalls(), router()).await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    wire.closed().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_last_answer() {
    for limits in [short_headers(), short_stalls()] {
        let (server, _) = serve_within(limits, router()).await;
        let mut wire = Wire::connect(server.address()).await;
        wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(wire.answer().await.has_status(200).text(), "hello");
        assert_eq!(wire.closed().await, b"");
    }
}

#[tokio::test]
async fn half_a_body_is_a_problem_when_its_time_is_up() {
    let (server, _) = serve_within(ConnectionLimits::default(), router()).await;
    let head = "POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for body in ["content-length: 10\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"] {
        let mut wire = Wire::connect(server.address()).await;
        wire.send(format!("{head}{body}")).await;
        wire.answer().await.is_problem(408, "request-timeout");
        wire.closed().await;
    }
}

#[tokio::test]
async fn half_a_body_that_is_too_large_is_a_problem_as_well() {
    let (server, _) = serve_within(ConnectionLimits::default(), router()).await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send("POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9999999\r\n\r\n{")
        .await;
    wire.answer().await.is_problem(408, "request-timeout");
    wire.closed().await;
}

/// Says when it goes.
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
async fn a_client_that_stops_reading_is_let_go_with_all_that_was_done_for_it() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (server, _) = serve_within(short_stalls(), endless(dropped)).await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send("GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    soon("the end of the stream", drops.recv()).await.unwrap();
    wire.closed().await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_what_is_done_for_it() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (server, _) = serve_within(ConnectionLimits::default(), endless(dropped)).await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send("GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    drop(wire);
    soon("the end of the stream", drops.recv()).await.unwrap();
}

#[tokio::test]
async fn a_connection_beyond_the_cap_is_served_when_another_closes() {
    let limits = ConnectionLimits { connections: 2, ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, router()).await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut wires = Vec::new();
    for _ in 0..2 {
        let mut wire = Wire::connect(server.address()).await;
        wire.send(request).await;
        wire.answer().await.has_status(200);
        wires.push(wire);
    }
    let mut third = Wire::connect(server.address()).await;
    third.send(request).await;
    // The first two still have their places: they are answered while the third waits.
    for wire in &mut wires {
        wire.send(request).await;
        wire.answer().await.has_status(200);
    }
    assert!(tokio::time::timeout(Duration::ZERO, third.head()).await.is_err(), "the third has a place");
    wires.pop();
    assert_eq!(third.answer().await.has_status(200).text(), "hello");
}
