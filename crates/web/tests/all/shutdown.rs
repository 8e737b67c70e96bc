//! Shutdown: running requests finish, new connections are rejected, and the server ends.

use std::{sync::Arc, time::Duration};

use crate::support::{RawConnection, SHORT, http2::Http2, serve, serve_within, soon};
use axum::{Router, routing::get};
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc},
};
use web::ConnectionLimits;

/// A handler that reports its start, and answers on a signal of the test.
struct Held {
    started: mpsc::UnboundedReceiver<()>,
    finish: Arc<Notify>,
    router: Router,
}

fn held() -> Held {
    let (start, started) = mpsc::unbounded_channel();
    let finish = Arc::new(Notify::new());
    let told = finish.clone();
    let handler = async move || {
        start.send(()).unwrap();
        told.notified().await;
        "finished"
    };
    let router = Router::new().route("/held", get(handler)).route("/", get(async || "hello"));
    Held { started, finish, router }
}

#[tokio::test]
async fn running_request_finishes_and_new_connections_are_rejected() {
    let mut held = held();
    let (server, _) = serve(held.router).await;
    let address = server.address();
    let mut running = RawConnection::connect(address).await;
    running.send("GET /held HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    held.started.recv().await.unwrap();

    let stopping = tokio::spawn(server.stop());
    testkit::until(async || TcpStream::connect(address).await.is_err()).await;
    assert!(!stopping.is_finished(), "it stopped while a request was running");

    held.finish.notify_one();
    let answer = running.answer().await;
    assert_eq!(answer.has_status(200).text(), "finished");
    assert_eq!(running.closed().await, b"");
    drop(running);
    soon("the end", stopping).await.unwrap();
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let (server, _) = serve(held().router).await;
    let mut used = RawConnection::connect(server.address()).await;
    used.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    used.answer().await.has_status(200);
    let mut half = RawConnection::connect(server.address()).await;
    half.send("GET / HT").await;
    let unused = RawConnection::connect(server.address()).await;
    // A request that was answered after they connected: they have been accepted by now.
    used.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    used.answer().await.has_status(200);

    let stopping = tokio::spawn(server.stop());
    assert_eq!(used.closed().await, b"");
    drop((used, half, unused));
    soon("the end", stopping).await.unwrap();
}

#[tokio::test]
async fn client_that_keeps_its_side_open_does_not_delay_shutdown() {
    let (server, _) = serve(held().router).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.answer().await.has_status(200);
    soon("the end", server.stop()).await;
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn request_longer_than_the_grace_time_is_aborted() {
    let mut held = held();
    let limits = ConnectionLimits { grace_time: SHORT, ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, held.router).await;
    let mut running = RawConnection::connect(server.address()).await;
    running.send("GET /held HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    held.started.recv().await.unwrap();
    soon("the end", server.stop()).await;
    assert_eq!(running.closed().await, b"");
    // The handler is dropped with its connection.
    testkit::until(async || Arc::strong_count(&held.finish) == 1).await;
}

#[tokio::test]
async fn running_http_2_request_finishes() {
    let mut held = held();
    let (server, _) = serve(held.router).await;
    let client = Http2::connect(server.address()).await;
    let call = tokio::spawn(async move { client.get("/held").await.unwrap().text() });
    held.started.recv().await.unwrap();
    let stopping = tokio::spawn(server.stop());
    held.finish.notify_one();
    assert_eq!(soon("the answer", call).await.unwrap(), "finished");
    soon("the end", stopping).await.unwrap();
}

#[tokio::test]
async fn server_without_connections_stops_at_once() {
    let limits = ConnectionLimits { grace_time: Duration::from_secs(3600), ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, held().router).await;
    soon("the end", server.stop()).await;
}

#[tokio::test]
async fn draining_server_is_not_ready_and_asks_clients_to_close_their_connections() {
    let (server, client) = serve(held().router).await;
    let get = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut idle = RawConnection::connect(server.address()).await;
    idle.send(get).await;
    assert_eq!(idle.answer().await.has_status(200).header("connection"), "");
    client.get("/readyz").send().await.is_problem(404, "not-found");

    server.drain();
    testkit::until(async || client.get("/readyz").send().await.status == 503).await;
    let why = client.get("/readyz").send().await.is_problem(503, "unavailable");
    assert_eq!(why, "This process stops. Send requests to another one.");
    // The connection is as it was, until its client sends a request.
    for mut connection in [idle, RawConnection::connect(server.address()).await] {
        connection.send(get).await;
        let answer = connection.answer().await;
        assert_eq!(answer.has_status(200).text(), "hello");
        assert_eq!(answer.header("connection"), "close");
        assert_eq!(connection.closed().await, b"");
    }
    soon("the end", server.stop()).await;
}

#[tokio::test]
async fn draining_server_ends_http_2_connections_without_losing_a_request() {
    let mut held = held();
    let (server, _) = serve(held.router).await;
    let (client, ended) = Http2::connect_pinging(server.address()).await;
    let call = tokio::spawn(async move { client.get("/held").await.unwrap().text() });
    held.started.recv().await.unwrap();
    server.drain();
    held.finish.notify_one();
    assert_eq!(soon("the answer", call).await.unwrap(), "finished");
    soon("the end of the connection", ended).await.unwrap();
}

#[tokio::test]
async fn connection_without_a_request_is_served_once_after_the_listener_is_closed() {
    let (server, _) = serve(held().router).await;
    let address = server.address();
    let mut last = RawConnection::connect(address).await;
    let stopping = tokio::spawn(server.stop());
    testkit::until(async || TcpStream::connect(address).await.is_err()).await;
    last.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let answer = last.answer().await;
    assert_eq!(answer.has_status(200).header("connection"), "close");
    assert_eq!(last.closed().await, b"");
    drop(last);
    soon("the end", stopping).await.unwrap();
}
