//! Bodies that are files.

use crate::support::{RawConnection, SHORT, serve};
use axum::{Extension, Router, routing::post};
use serde_json::json;
use web::{Reply, RequestLimits, Upload};

const LIMIT: usize = 2 * 1024 * 1024;

fn router() -> Router {
    let measure = async |Upload::<LIMIT>(bytes)| Reply((bytes.len(), bytes.first().copied()));
    Router::new().route("/", post(measure))
}

#[tokio::test]
async fn files_of_any_bytes_are_accepted() {
    let (server, client) = serve(router()).await;
    for media_type in [
        "application/octet-stream",
        "Application/Octet-Stream; x=y",
        "image/png",
        "IMAGE/JPEG",
        "image/svg+xml; charset=latin1",
    ] {
        let answer = client.post("/").body(media_type, b"\xff\0\n".as_slice()).send().await;
        answer.is(200, &json!([3, 255]));
    }
    client.post("/").body("image/png", "").send().await.is(200, &json!([0, null]));
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\nab").await;
    wire.answer().await.is(200, &json!([2, 97]));
}

#[tokio::test]
async fn other_media_types_get_415() {
    let (_server, client) = serve(router()).await;
    for other in [
        "application/json",
        "text/plain",
        "multipart/form-data",
        "image",
        "image/",
        "images/png",
        "",
        "video/image",
    ] {
        let answer = client.post("/").body(other, "ab").send().await;
        assert_eq!(
            answer.is_problem(415, "unsupported-media-type"),
            format!("The body must be sent as application/octet-stream or image/*, not as {other}.")
        );
    }
}

#[tokio::test]
async fn file_of_the_limit_is_accepted_and_one_byte_more_gets_413() {
    let (server, client) = serve(router()).await;
    let told = format!("The body must be at most {LIMIT} bytes long.");
    client.post("/").body("image/png", vec![7; LIMIT]).send().await.is(200, &json!([LIMIT, 7]));
    let answer = client.post("/").body("image/png", vec![7; LIMIT + 1]).send().await;
    assert_eq!(answer.is_problem(413, "too-large"), told);
    for (size, status) in [(LIMIT, 200), (LIMIT + 1, 413)] {
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send("POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").await;
        for chunk in vec![7; size].chunks(100_000) {
            wire.send(format!("{:x}\r\n", chunk.len())).await;
            wire.send(chunk).await;
            wire.send("\r\n").await;
        }
        wire.send("0\r\n\r\n").await;
        assert_eq!(wire.answer().await.status, status, "{size}");
    }
}

#[tokio::test]
async fn half_sent_file_gets_408_after_its_time() {
    let limits = RequestLimits { body_time: SHORT, ..RequestLimits::default() };
    let (server, _) = serve(router().layer(Extension(limits))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\na").await;
    wire.answer().await.is_problem(408, "request-timeout");
}
