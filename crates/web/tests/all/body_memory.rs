//! What all bodies that are being read take together.

use crate::support::{RawConnection, sample, serve, soon};
use http::Method;
use serde_json::json;
use testkit::{Client, Engine, Server, Store};
use tokio::sync::mpsc;
use web::{
    Body, Reply, RequestLimits, Service, Upload,
    input::{Fields, Input, rules},
    openapi::Handlers,
};

struct Text(usize);

impl Input for Text {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("text", rules::text(0..=10_000)).map(|text| Text(text.len()))
    }
}

/// A service with memory for 10,000 bytes. Its operation `/wait` reports its start, and ends on a signal of the test.
async fn start(begun: mpsc::UnboundedSender<mpsc::UnboundedSender<()>>) -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let wait = async move |Body(Text(length)): Body<Text>| {
        let (end, mut ended) = mpsc::unbounded_channel();
        begun.send(end).unwrap();
        ended.recv().await;
        Reply(length)
    };
    let api = Handlers::new()
        .on(Method::POST, "/v1/read", async |Body(Text(length)): Body<Text>| Reply(length))
        .on(Method::POST, "/v1/upload", async |Upload(bytes): Upload<100_000>| Reply(bytes.len()))
        .on(Method::POST, "/v1/wait", wait);
    let limits = RequestLimits { memory_bytes: 10_000, ..RequestLimits::default() };
    let service = Service { api, limits, ..sample(&store) };
    let (server, client) = serve(service.into_app()).await;
    (store, server, client)
}

fn is_full(answer: &testkit::Answer) {
    assert_eq!(
        answer.is_problem(503, "unavailable"),
        "The service is reading as many bodies as it can keep in memory. Try again in a moment."
    );
    assert_eq!(answer.header("retry-after"), "1");
}

fn text(length: usize) -> serde_json::Value {
    json!({"text": "x".repeat(length)})
}

#[tokio::test]
async fn body_past_the_budget_gets_503_until_another_request_ends() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (_store, _server, client) = start(begun).await;
    let first = tokio::spawn(client.post("/v1/wait").json(&text(6_000)).send());
    let end = soon("the first request", begins.recv()).await.unwrap();
    is_full(&client.post("/v1/read").json(&text(6_000)).send().await);
    is_full(&client.post("/v1/upload").body("image/png", vec![0; 6_000]).send().await);
    // A body within the limit is still read.
    client.post("/v1/read").json(&text(1_000)).send().await.is(200, &json!(1_000));
    client.post("/v1/upload").body("image/png", vec![0; 1_000]).send().await.is(200, &json!(1_000));
    end.send(()).unwrap();
    first.await.unwrap().is(200, &json!(6_000));
    client.post("/v1/read").json(&text(6_000)).send().await.is(200, &json!(6_000));
}

#[tokio::test]
async fn half_sent_bodies_count_by_their_received_bytes() {
    let (begun, _begins) = mpsc::unbounded_channel();
    let (_store, server, client) = start(begun).await;
    let head =
        "POST /v1/upload HTTP/1.1\r\nhost: localhost\r\ncontent-type: image/png\r\nexpect: 100-continue\r\n";
    let mut half = RawConnection::connect(server.address()).await;
    half.send(format!("{head}content-length: 100000\r\n\r\n")).await;
    // The body is being read from here on, and none of it has arrived.
    assert_eq!(half.head().await.0, 100);
    client.post("/v1/read").json(&text(9_000)).send().await.is(200, &json!(9_000));
    half.send(vec![0; 10_001]).await;
    half.send(vec![0; 100_000 - 10_001]).await;
    is_full(&half.answer().await);
    client.post("/v1/read").json(&text(9_000)).send().await.is(200, &json!(9_000));
}

#[tokio::test]
async fn disconnected_client_frees_the_memory_of_its_body() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (_store, server, client) = start(begun).await;
    let body = text(6_000).to_string();
    let mut wire = RawConnection::connect(server.address()).await;
    let length = body.len();
    wire.send(format!(
        "POST /v1/wait HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
    .await;
    let end = soon("the request", begins.recv()).await.unwrap();
    is_full(&client.post("/v1/read").json(&text(6_000)).send().await);
    drop(wire);
    soon("the end of the request", end.closed()).await;
    client.post("/v1/read").json(&text(6_000)).send().await.is(200, &json!(6_000));
}
