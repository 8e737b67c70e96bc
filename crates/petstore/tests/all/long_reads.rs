//! Long lists and images while others call: on one thread, each page is a turn of its own, and others are answered between them.
//!
//! On SQLite: there a read runs on the thread that asks for it unless it is a long one. The runtime of these tests has one thread
//! that serves and one beside it, which is kept busy but for the moment that one page takes.

use std::sync::mpsc;

use axum::{body::Body, extract::Request};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use testkit::{Engine, Store};
use tokio::{runtime, task};
use web::App;

use crate::fixture::{As, Open, Setup};

/// Bytes that a page has room for, and how many more the last pets of one may take.
const PAGE: usize = 256 * 1024;

/// Keeps the extra thread busy until it is dropped.
struct Busy(#[expect(dead_code, reason = "dropping it is its use")] mpsc::Sender<()>);

impl Busy {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel::<()>();
        task::spawn_blocking(move || receiver.recv());
        Busy(sender)
    }

    /// Lets one waiting task run on the thread, and keeps it busy after that.
    fn step(&mut self) {
        // In this order: it is queued after the waiting requests.
        *self = Busy::new();
    }
}

fn request(caller: &As, path: &str) -> Request {
    let mut request = Request::get(path);
    for (name, value) in &caller.headers {
        request = request.header(*name, value);
    }
    request.body(Body::empty()).unwrap()
}

/// Others are answered, each in a single turn.
fn others_are_answered(app: &App, open: &Open) {
    for path in ["/v3/pet/1", "/v3/store/inventory", "/v3/user/ada", "/v3/store/order/1"] {
        let answer = app.answer(request(&open.key, path)).now_or_never();
        let status = answer.unwrap_or_else(|| panic!("{path} has to wait")).status();
        assert_eq!(status, 200, "{path}");
    }
}

/// Calls an operation page by page, while others are answered; gives the pages, and how many reads it waited for.
async fn pages(open: &Open, app: &App, path: &str) -> (Vec<Vec<u8>>, usize) {
    // What a caller may make in an hour is read from the database once.
    for caller in [&open.pets, &open.key] {
        app.answer(request(caller, "/v3/pet/1")).await;
    }
    let mut busy = Busy::new();
    let mut answer = Box::pin(app.answer(request(&open.pets, path)));
    let (mut pages, mut reads) = (Vec::new(), 0);
    let mut body = match (&mut answer).now_or_never() {
        // The answer starts without its first page.
        Some(answer) => answer.into_body(),
        None => {
            others_are_answered(app, open);
            busy.step();
            reads += 1;
            answer.await.into_body()
        }
    };
    loop {
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => {
                others_are_answered(app, open);
                busy.step();
                reads += 1;
                body.frame().await
            }
        };
        match frame {
            Some(frame) => pages.push(frame.unwrap().into_data().unwrap().to_vec()),
            None => return (pages, reads),
        }
    }
}

/// Runs a test on one thread, with one extra thread for blocking work.
fn on_one_thread(test: impl AsyncFnOnce(Open, App)) {
    let runtime =
        runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let open = Open::on(Store::new(Engine::Sqlite), Setup::default()).await;
        open.add(&json!({"id": 1, "name": "Rex", "photoUrls": []})).await;
        open.anyone.post("/v3/store/order").json(&json!({"id": 1, "petId": 1})).send().await.has_status(200);
        let app = open.petstore.app();
        test(open, app).await;
    });
}

/// A pet with this number of photos of 2,000 bytes.
fn large(id: i64, photos: usize) -> Value {
    let tags: Vec<_> = (0..100).map(|tag| json!({"name": format!("tag {}", (id + tag) % 120)})).collect();
    let photos = vec!["x".repeat(2000); photos];
    json!({"id": id, "name": "large", "photoUrls": photos, "tags": tags, "status": "sold"})
}

fn list_of(pages: &[Vec<u8>]) -> Vec<i64> {
    let list: Value = serde_json::from_slice(&pages.concat()).unwrap();
    list.as_array().unwrap().iter().map(|pet| pet["id"].as_i64().unwrap()).collect()
}

#[test]
fn other_requests_are_answered_between_pages_of_a_list() {
    on_one_thread(async |open, app| {
        let ids: Vec<_> = (10..50).collect();
        for id in &ids {
            open.add(&large(*id, 25)).await;
        }
        let tags: Vec<_> = (0..100).map(|tag| format!("tag%20{tag}")).collect();
        for path in [
            format!("/v3/pet/findByTags?tags={}", tags.join(",")),
            "/v3/pet/findByStatus?status=sold,pending".to_owned(),
        ] {
            let (pages, reads) = pages(&open, &app, &path).await;
            assert_eq!(list_of(&pages), ids, "{path}");
            // Eight of them are more than a page has room for; the last piece is the end of the list.
            assert_eq!((pages.len(), reads), (6, 5), "{path}");
            let largest = pages.iter().map(Vec::len).max().unwrap();
            assert!(largest > PAGE && largest < 2 * PAGE, "{largest}");
        }
    });
}

#[test]
fn small_pets_fill_pages_of_64() {
    on_one_thread(async |open, app| {
        for id in 10..150 {
            open.add(&json!({"id": id, "name": "small", "photoUrls": [], "status": "sold"})).await;
        }
        let (pages, reads) = pages(&open, &app, "/v3/pet/findByStatus?status=sold").await;
        assert_eq!(list_of(&pages), (10..150).collect::<Vec<_>>());
        let pets: Vec<_> = pages.iter().map(|page| page.split(|byte| *byte == b'{').count() - 1).collect();
        assert_eq!((pets.as_slice(), reads), (&[64, 64, 12, 0][..], 3));
    });
}

#[test]
fn other_requests_are_answered_between_chunks_of_an_image() {
    on_one_thread(async |open, app| {
        let image = vec![7; 1024 * 1024];
        let call = open.pets.post("/v3/pet/1/uploadImage").body("image/png", image.clone());
        call.send().await.has_status(200);
        let pet = open.pet(1).await.json();
        let path = pet["photoUrls"][0].as_str().unwrap().strip_prefix(&open.address).unwrap().to_owned();
        let (pieces, reads) = pages(&open, &app, &path).await;
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [256 * 1024; 4]);
        // And one to see that there are no more.
        assert_eq!(reads, 5);
        assert!(pieces.concat() == image);
    });
}
