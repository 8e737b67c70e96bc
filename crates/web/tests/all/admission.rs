//! Requests above the number that may run at the same time.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    routing::{get, post},
};
use futures_util::poll;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::Notify;
use web::ConnectionLimits;

use crate::support::{RawConnection, serve_within};

/// One request may run.
fn one_request() -> ConnectionLimits {
    ConnectionLimits { requests: 1, latency: Duration::ZERO, ..ConnectionLimits::default() }
}

/// Says when a request runs, and lets it end.
#[derive(Clone, Default)]
struct Held {
    started: Arc<Notify>,
    end: Arc<Notify>,
}

impl Held {
    fn router(&self) -> Router {
        let (held, read) = (self.clone(), self.clone());
        let hold = async move || {
            held.started.notify_one();
            held.end.notified().await;
            "held"
        };
        let take = async move |request: Request| {
            let mut body = request.into_body();
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            let mut rest = Box::pin(body.frame());
            assert!(poll!(&mut rest).is_pending());
            read.started.notify_one();
            [first, rest.await.unwrap().unwrap().into_data().unwrap()].concat()
        };
        Router::new()
            .route("/hold", get(hold))
            .route("/take", post(take))
            .route("/readyz", get(async || "ready"))
            .route("/", get(async || "hello"))
    }
}

#[tokio::test]
async fn request_above_the_limit_is_refused() {
    let held = Held::default();
    let (_server, client) = serve_within(one_request(), held.router()).await;
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.get("/hold").send().await }
    });
    held.started.notified().await;
    let refused = client.get("/").send().await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), "1");
    let problem: serde_json::Value = refused.json();
    assert_eq!(problem["type"], json!("/problems/unavailable"));
    assert_eq!(
        problem["detail"],
        json!("The service has more requests than it can answer. Try again later.")
    );
    // Monitoring is not refused.
    client.get("/readyz").send().await.has_status(200);
    held.end.notify_one();
    assert_eq!(running.await.unwrap().has_status(200).text(), "held");
    client.get("/").send().await.has_status(200);
}

#[tokio::test]
async fn second_request_of_a_connection_waits_in_the_buffer_of_the_kernel() {
    let held = Held::default();
    let limits = ConnectionLimits { latency: Duration::from_secs(1), ..one_request() };
    let (server, client) = serve_within(limits, held.router()).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    wire.send(request).await;
    wire.answer().await.has_status(200);
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.get("/hold").send().await }
    });
    held.started.notified().await;
    wire.send(request).await;
    // What was sent after it is answered.
    client.get("/readyz").send().await.has_status(200);
    assert_eq!(wire.bytes_not_read(), request.len());
    held.end.notify_one();
    running.await.unwrap().has_status(200);
    assert_eq!(wire.answer().await.has_status(200).text(), "hello");
    assert_eq!(wire.bytes_not_read(), 0);
}

#[tokio::test]
async fn request_whose_body_arrives_slowly_lets_others_run() {
    let held = Held::default();
    let (server, client) = serve_within(one_request(), held.router()).await;
    let mut slow = RawConnection::connect(server.address()).await;
    slow.send("POST /take HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\nconnection: close\r\n\r\nha")
        .await;
    held.started.notified().await;
    client.get("/").send().await.has_status(200);
    slow.send("lf").await;
    let answer = String::from_utf8(slow.closed().await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhalf"), "{answer}");
}
