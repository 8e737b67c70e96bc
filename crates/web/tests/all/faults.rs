//! Faults that a response carries: what a client sees of them, and what they leave behind.

use std::convert::Infallible;

use crate::support::{RawConnection, http2::Http2, serve, serve_within, soon};
use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::stream;
use http::{Method, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use testkit::{Client, Log, Server};
use tokio::sync::mpsc;
use web::{
    ConnectionLimits, Problem, Reply, fault,
    problem::{CONFLICT, INTERNAL},
};

const LARGE: usize = 1024 * 1024;

fn log() -> &'static Log {
    Log::start_with_everything()
}

fn digits() -> Response {
    "0123456789".into_response()
}

fn large() -> Response {
    "x".repeat(LARGE).into_response()
}

/// Two parts, without a length.
fn parts() -> Response {
    let parts = [Bytes::from_static(b"abcdef"), Bytes::from_static(b"ghijkl")].map(Ok::<_, Infallible>);
    Body::from_stream(stream::iter(parts)).into_response()
}

fn router() -> Router {
    Router::new()
        .route("/", get(async || "hello"))
        .route("/cut", get(async || fault::cut_connection(digits())))
        .route("/cut-upload", post(async |_: Request| fault::cut_connection(digits())))
        .route("/half", get(async || fault::cut_body(digits())))
        .route("/half-large", get(async || fault::cut_body(large())))
        .route("/half-parts", get(async || fault::cut_body(parts())))
        .route("/half-problem", get(async || fault::cut_body(Problem::new(&CONFLICT, "No.").into_response())))
        .route("/half-none", get(async || fault::cut_body(StatusCode::NO_CONTENT.into_response())))
        .route("/after-0", get(async || fault::cut_body_after(digits(), 0)))
        .route("/after-3", get(async || fault::cut_body_after(digits(), 3)))
        .route("/after-99", get(async || fault::cut_body_after(digits(), 99)))
        .route("/parts-8", get(async || fault::cut_body_after(parts(), 8)))
        .route("/parts-99", get(async || fault::cut_body_after(parts(), 99)))
        .route("/slow", get(async || fault::slow_body(parts(), 40)))
        .route("/slow-digits", get(async || fault::slow_body(digits(), 50)))
        .route("/malformed", get(async || fault::malformed_body(Reply(json!({"a": 1})).into_response())))
        .route(
            "/malformed-problem",
            get(async || fault::malformed_body(Problem::new(&INTERNAL, "No.").into_response())),
        )
}

async fn start() -> (Server, Client) {
    log();
    serve(router()).await
}

/// Sends a request, and returns all bytes until the connection is closed.
async fn bytes_of(server: &Server, method: &str, path: &str) -> String {
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send(format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-request-id: {method}{}\r\n\r\n",
        id(path)
    ))
    .await;
    String::from_utf8(wire.closed().await).unwrap()
}

fn id(path: &str) -> String {
    path.replace('/', "-")
}

/// The head, and what came of the body.
fn split(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer:?}"))
}

#[tokio::test]
async fn cut_connection_closes_without_an_answer() {
    let (server, client) = start().await;
    assert_eq!(bytes_of(&server, "GET", "/cut").await, "");
    let lines = log().about("GET-cut");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let fields = &lines[0]["fields"];
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(
        *fields,
        json!({
            "message": "request", "service": "test", "method": "GET", "path": "/cut", "status": 444,
            "client": "127.0.0.1", "id": "GET-cut", "ms": fields["ms"], "fault": "cut-connection",
        })
    );
    client.get("/").send().await.has_status(200);
}

#[tokio::test]
async fn cut_connection_during_an_upload_closes_without_an_answer() {
    let (server, _) = start().await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("POST /cut-upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\nfirst").await;
    assert_eq!(wire.closed().await, b"");
}

#[tokio::test]
async fn cut_body_ends_before_its_length() {
    let (server, _) = start().await;
    for (path, sent) in
        [("/half", "01234"), ("/after-0", ""), ("/after-3", "012"), ("/after-99", "012345678")]
    {
        let answer = bytes_of(&server, "GET", path).await;
        let (head, body) = split(&answer);
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("content-length: 10"), "{path}: {head}");
        assert_eq!(body, sent, "{path}");
        let lines = log().about(&format!("GET{}", id(path)));
        assert_eq!(lines.len(), 1, "{lines:?}");
        let fields = &lines[0]["fields"];
        assert_eq!(
            (&lines[0]["level"], &fields["status"], &fields["fault"]),
            (&json!("INFO"), &json!(200), &json!("cut-body"))
        );
    }
}

#[tokio::test]
async fn first_half_of_a_large_body_arrives_whole() {
    let (server, _) = start().await;
    let answer = bytes_of(&server, "GET", "/half-large").await;
    assert_eq!(split(&answer).1.len(), LARGE / 2);
}

#[tokio::test]
async fn cut_stream_has_no_last_chunk() {
    let (server, _) = start().await;
    for (path, sent) in [
        ("/half-parts", "3\r\nabc\r\n"),
        ("/parts-8", "6\r\nabcdef\r\n2\r\ngh\r\n"),
        ("/parts-99", "6\r\nabcdef\r\n6\r\nghijkl\r\n"),
    ] {
        let answer = bytes_of(&server, "GET", path).await;
        let (head, body) = split(&answer);
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        assert_eq!(body, sent, "{path}");
    }
}

#[tokio::test]
async fn problem_document_is_cut() {
    let (server, client) = start().await;
    let whole = client.get("/half-problem");
    assert!(whole.try_send().await.is_err());
    let answer = bytes_of(&server, "GET", "/half-problem").await;
    let (head, body) = split(&answer);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert!(head.starts_with("HTTP/1.1 409"), "{head}");
    assert_eq!(body.len(), length.parse::<usize>().unwrap() / 2);
    assert!(body.starts_with(r#"{"type":"/problems/conflict""#), "{body}");
}

#[tokio::test]
async fn answer_without_a_body_is_cut_before_its_head() {
    let (server, _) = start().await;
    assert_eq!(bytes_of(&server, "GET", "/half-none").await, "");
    assert_eq!(bytes_of(&server, "HEAD", "/half").await, "");
    assert_eq!(log().about("GET-half-none")[0]["fields"]["status"], 444);
}

#[tokio::test]
async fn http_2_stream_is_reset_and_its_connection_stays() {
    let (server, _) = start().await;
    let client = Http2::connect(server.address()).await;
    let error = soon("the reset", client.get("/cut")).await.unwrap_err();
    assert!(format!("{error:?}").contains("Reset"), "{error:?}");
    for (path, sent) in [
        ("/half", 5),
        ("/after-0", 0),
        ("/after-3", 3),
        ("/half-parts", 3),
        ("/parts-99", 12),
        ("/half-large", LARGE / 2),
    ] {
        let response = soon("the head", client.head(path)).await.unwrap();
        assert_eq!(response.status(), 200);
        let (mut body, mut length) = (response.into_body(), 0);
        let error = loop {
            match soon("the body", body.frame()).await.unwrap_or_else(|| panic!("{path} was not cut")) {
                Ok(frame) => length += frame.into_data().unwrap().len(),
                Err(error) => break error,
            }
        };
        assert!(format!("{error:?}").contains("Reset"), "{path}: {error:?}");
        assert_eq!(length, sent, "{path}");
    }
    assert_eq!(client.get("/").await.unwrap().text(), "hello");
}

#[tokio::test]
async fn slow_body_arrives_whole_in_small_pieces() {
    let (server, client) = start().await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    for piece in ["abcd", "ef", "ghij", "kl", ""] {
        assert_eq!(wire.chunk().await, piece.as_bytes());
    }
    let answer = client.get("/slow-digits").send().await;
    assert_eq!((answer.header("content-length"), answer.text()), ("10", "0123456789".into()));
    let http_2 = Http2::connect(server.address()).await;
    assert_eq!(http_2.get("/slow-digits").await.unwrap().text(), "0123456789");
}

/// Reports when it is dropped.
struct Guard(mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn disconnected_client_ends_its_slow_body() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let handler = async move || {
        let guard = Guard(dropped.clone());
        let body = stream::repeat_with(move || {
            let _held = &guard;
            Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 64]))
        });
        fault::slow_body(Body::from_stream(body).into_response(), 10)
    };
    let (server, _) = serve(Router::new().route("/", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!((wire.head().await.0, wire.chunk().await), (200, b"x".to_vec()));
    drop(wire);
    soon("the end of the body", drops.recv()).await.unwrap();
    let client = Http2::connect(server.address()).await;
    let mut response = client.head("/").await.unwrap();
    soon("a piece", response.frame()).await.unwrap().unwrap();
    drop(response);
    soon("the end of the body", drops.recv()).await.unwrap();
}

#[tokio::test]
async fn malformed_body_is_no_json_and_the_connection_stays() {
    let (server, client) = start().await;
    let mut wire = RawConnection::connect(server.address()).await;
    for (path, status) in [("/malformed", 200), ("/malformed-problem", 500)] {
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, status);
        assert!(answer.header("content-type").contains("json"), "{}", answer.header("content-type"));
        assert!(serde_json::from_slice::<Value>(&answer.body).is_err(), "{}", answer.text());
    }
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.answer().await.has_status(200).text(), "hello");
    client.call(Method::HEAD, "/malformed").send().await.has_status(200);
    let http_2 = Http2::connect(server.address()).await;
    let answer = http_2.get("/malformed").await.unwrap();
    assert_eq!(answer.header(header::CONTENT_LENGTH.as_str()), answer.body.len().to_string());
    assert_eq!(answer.body, b"{\"a\x01");
}

#[tokio::test]
async fn faults_free_the_permits_of_their_connections() {
    log();
    let limits = ConnectionLimits { connections: 1, ..ConnectionLimits::default() };
    let (server, _) = serve_within(limits, router()).await;
    // With one permit, each connection is served only if the one before has given its permit back.
    for _ in 0..5 {
        for path in ["/cut", "/half", "/parts-8", "/half-none"] {
            bytes_of(&server, "GET", path).await;
        }
    }
    soon("the end of the server", server.stop()).await;
}
