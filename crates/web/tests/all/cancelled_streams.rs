//! Requests of HTTP/2 that their client cancels at once: the service does not run them.

use axum::{Router, http::Uri, routing::get};
use tokio::sync::mpsc;
use web::ConnectionLimits;

use crate::support::{RawConnection, serve_within, soon};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const NO_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// `GET` for one of the two paths that HPACK has a number for, as a whole request.
fn request(stream: u8, path: u8) -> Vec<u8> {
    let end_of_stream_and_headers = 5;
    vec![0, 0, 3, 1, end_of_stream_and_headers, 0, 0, 0, stream, 0x82, 0x86, path]
}

fn reset(stream: u8) -> Vec<u8> {
    let cancel = 8;
    vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, cancel]
}

// On one thread, so that the server reads all that was sent before it runs a request.
#[tokio::test]
async fn request_that_is_cancelled_at_once_does_not_run() {
    let (root, index) = (0x84, 0x85);
    let (calls, mut called) = mpsc::unbounded_channel();
    let handler = get(async move |uri: Uri| calls.send(uri.path().to_owned()).unwrap());
    let router = Router::new().route("/", handler.clone()).route("/index.html", handler);
    let (server, _) = serve_within(ConnectionLimits::default(), router).await;
    let mut wire = RawConnection::connect(server.address()).await;
    let frames = [request(1, root), reset(1), request(3, index)].concat();
    wire.send([PREFACE, &NO_SETTINGS, &frames].concat()).await;
    assert_eq!(soon("the call", called.recv()).await.unwrap(), "/index.html");
    wire.send(request(5, root)).await;
    assert_eq!(soon("the call", called.recv()).await.unwrap(), "/");
}
