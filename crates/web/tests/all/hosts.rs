//! Which hosts a service on this machine answers for, and what an address with TLS adds to its answers.

use crate::support::http2::Http2;
use axum::{Router, routing::post};
use testkit::{Address, Client, Server};
use tokio::sync::mpsc;
use web::ConnectionLimits;

/// A service at this address, and the calls that reach its operation.
async fn start(address: &str) -> (Server, Client, mpsc::UnboundedReceiver<()>) {
    let (called, calls) = mpsc::unbounded_channel();
    let handler = async move || {
        called.send(()).unwrap();
        "done"
    };
    let router = Router::new().route("/act", post(handler));
    let server = Address::free().await.serve_as(address, ConnectionLimits::default(), router);
    let client = Client::new(server.address());
    (server, client, calls)
}

#[tokio::test]
async fn loopback_listener_rejects_another_host_before_the_handler_runs() {
    let (_server, client, mut calls) = start("https://pets.example.com").await;
    for host in ["localhost", "pets.localhost:80", "127.0.0.1:1", "[::1]", "pets.example.com"] {
        let answer = client.post("/act").header("host", host).send().await;
        assert_eq!(answer.has_status(200).text(), "done", "{host}");
        calls.try_recv().unwrap();
    }
    for host in ["rebound.example", "rebound.example:8080", "10.0.0.1", "0.0.0.0"] {
        let answer = client.post("/act").header("host", host).send().await;
        assert_eq!(
            answer.is_problem(421, "misdirected"),
            format!(
                "This service is not reached as {host}. Call it as localhost, or let the setting address name the host."
            ),
        );
    }
    for path in ["/healthz", "/nowhere"] {
        client.get(path).header("host", "rebound.example").send().await.is_problem(421, "misdirected");
    }
    assert!(calls.try_recv().is_err(), "a refused request ran");
}

#[tokio::test]
async fn host_in_the_request_target_is_checked() {
    let (server, client, mut calls) = start("").await;
    let request = "POST http://rebound.example/act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let answer = client.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 421 Misdirected Request\r\n"), "{answer}");
    // Without TLS the authority of HTTP/2 is all that there is.
    let http2 = Http2::connect(server.address()).await;
    http2.get_at("http://rebound.example/act").await.unwrap().is_problem(421, "misdirected");
    http2.get_at("http://localhost/act").await.unwrap().is_problem(405, "method-not-allowed");
    assert!(calls.try_recv().is_err(), "a refused request ran");
    let old = client.raw(b"POST /act HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n"), "{old}");
}

#[tokio::test]
async fn https_address_adds_hsts_to_every_answer() {
    for (address, expected) in
        [("https://pets.example.com", "max-age=31536000"), ("http://pets.example.com", ""), ("", "")]
    {
        let (_server, client, _calls) = start(address).await;
        for (answer, status) in [
            (client.post("/act").send().await, 200),
            (client.get("/nowhere").send().await, 404),
            (client.get("/act").header("host", "rebound.example").send().await, 421),
        ] {
            assert_eq!(answer.has_status(status).header("strict-transport-security"), expected, "{address}");
        }
    }
}
