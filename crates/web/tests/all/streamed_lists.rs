//! Streamed lists.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use crate::support::{RawConnection, http2::Http2, serve, soon};
use axum::{Router, routing::get};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use web::{
    Problem,
    problem::NOT_FOUND,
    reply::{self, Batch},
};

/// Lists the numbers below `count` in pages of `size`, and fails at page `fails_at`.
fn numbers(count: usize, size: usize, fails_at: Option<usize>) -> Router {
    let handler = async move || {
        reply::list(0, move |page: usize| async move {
            if fails_at == Some(page) {
                return Err(Problem::new(&NOT_FOUND, "There is no such page."));
            }
            let items: Vec<_> = (page * size..count.min((page + 1) * size)).collect();
            let next = (items.len() == size).then_some(page + 1);
            Ok(Batch { items, next })
        })
        .await
    };
    Router::new().route("/", get(handler))
}

#[tokio::test]
async fn lists_of_any_length_are_complete() {
    // Up to a page, exactly a page (the next one is empty), a page and one more, many pages.
    for count in [0, 1, 9, 10, 11, 20, 25, 5000] {
        let (server, client) = serve(numbers(count, 10, None)).await;
        let expected: Value = (0..count).collect();
        client.get("/").send().await.is(200, &expected);
        drop(server);
    }
}

#[tokio::test]
async fn list_of_one_page_has_a_content_length() {
    let (_server, client) = serve(numbers(3, 10, None)).await;
    let answer = client.get("/").send().await;
    assert_eq!((answer.text().as_str(), answer.header("content-length")), ("[0,1,2]", "7"));
    let answer = client.call(http::Method::HEAD, "/").send().await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}

#[tokio::test]
async fn error_on_the_first_page_gets_a_problem() {
    let (_server, client) = serve(numbers(100, 10, Some(0))).await;
    assert_eq!(client.get("/").send().await.is_problem(404, "not-found"), "There is no such page.");
}

#[tokio::test]
async fn error_on_a_later_page_aborts_the_answer() {
    let (server, client) = serve(numbers(100, 10, Some(5))).await;
    client.get("/").try_send().await.unwrap_err();
    Http2::connect(server.address()).await.get("/").await.unwrap_err();
    // The connection is closed; the service still answers.
    client.get("/").try_send().await.unwrap_err();
    client.get("/nowhere").send().await.is_problem(404, "not-found");
}

#[tokio::test]
async fn error_in_a_streamed_list_closes_the_connection() {
    let fail = Arc::new(Notify::new());
    let told = fail.clone();
    let handler = async move || {
        reply::list(0, move |page| {
            let told = told.clone();
            async move {
                if page == 2 {
                    told.notified().await;
                    return Err(Problem::internal("why"));
                }
                Ok(Batch { items: vec![page], next: Some(page + 1) })
            }
        })
        .await
    };
    let (server, _) = serve(Router::new().route("/", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    assert_eq!(wire.chunk().await, b"[0");
    assert_eq!(wire.chunk().await, b",1");
    fail.notify_one();
    // No bracket, and no last chunk either.
    assert_eq!(wire.closed().await, b"");
}

/// Sends on its channel when it is dropped.
struct Guard(mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn pages_are_fetched_while_the_client_reads_until_it_disconnects() {
    let (gone, mut end) = mpsc::unbounded_channel();
    let fetched = Arc::new(AtomicUsize::new(0));
    let count = fetched.clone();
    let handler = async move || {
        let (guard, count) = (Arc::new(Guard(gone.clone())), count.clone());
        reply::list(0_u64, move |page| {
            let (guard, count) = (guard.clone(), count.clone());
            async move {
                let _held = guard;
                count.fetch_add(1, SeqCst);
                // 64 KiB a page, without end.
                Ok(Batch { items: vec!["x".repeat(1024); 64], next: Some(page + 1) })
            }
        })
        .await
    };
    let (server, _) = serve(Router::new().route("/", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    for _ in 0..100 {
        assert!(!wire.chunk().await.is_empty());
    }
    drop(wire);
    soon("the end of the fetching", end.recv()).await.unwrap();
    let fetched = fetched.load(SeqCst);
    // A hundred were read; what else was fetched fits the buffers of two sockets.
    assert!((100..1100).contains(&fetched), "{fetched} pages were fetched");
}

#[tokio::test]
async fn items_of_all_pages_are_written_unchanged() {
    let handler = async || {
        reply::list(0, async |page| {
            let items = vec![json!({"page": page, "text": "a\"b\u{2028}é"}), Value::Null];
            Ok(Batch { items, next: (page < 2).then_some(page + 1) })
        })
        .await
    };
    let (_server, client) = serve(Router::new().route("/", get(handler))).await;
    let page = |page| [json!({"page": page, "text": "a\"b\u{2028}é"}), Value::Null];
    client.get("/").send().await.is(200, &json!([page(0), page(1), page(2)].concat()));
}
