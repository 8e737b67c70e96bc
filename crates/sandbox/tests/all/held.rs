//! A call that does not end holds up nothing but itself.

use sandbox::Limits;
use serde_json::json;
use testkit::{Client, Engine, Fixture, Store, on_both_engines};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::fixture::{Process, is_problem};

/// A process that can have one open sandbox.
struct One {
    _store: Store,
    process: Process,
}

impl Fixture for One {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let process = Process::start(&store, true, Limits { open: 1, ..Limits::default() }).await;
        One { _store: store, process }
    }
}

/// A call whose body is being read, and does not end.
async fn held(client: &Client, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(client.address()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\
         expect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

on_both_engines! {
    async fn held_call_delays_neither_other_sandboxes_nor_the_deletion_for_long(one: One) {
        let process = &one.process;
        let ada = process.create("ada").await;
        process.create("bob").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        process.petstore.delete("/sandbox/ada/v3/pet/1").send().await.has_status(200);
        let _held = held(&process.petstore, "/sandbox/ada/v3/pet").await;
        let bob = || process.museum.get("/sandbox/bob/v1.1/museum-hours").send();
        let busy = is_problem(&bob().await, 503, "", "unavailable");
        assert_eq!(busy, "As many sandboxes as can be open are in use. Try again in a moment.");
        // A name that no sandbox has closes none.
        process.petstore.get("/sandbox/eve/v3/pet/1").send().await.is_problem(404, "not-found");
        process.control("DELETE", &ada, "", None).await.has_status(204);
        bob().await.has_status(200);
        // Another sandbox with the name has nothing of the first.
        process.create("ada").await;
        let pet = process.petstore.get("/sandbox/ada/v3/pet/1").header("api_key", "special-key").send().await;
        pet.has_status(200);
    }

    async fn sandbox_is_deleted_once(one: One) {
        let process = &one.process;
        for _ in 0..5 {
            let ada = process.create("ada").await;
            let delete = || process.control("DELETE", &ada, "", None);
            let (a, b, c) = tokio::join!(delete(), delete(), delete());
            let mut statuses = [a.status, b.status, c.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [204, 404, 404]);
        }
        process.create("ada").await;
        let pet = process.petstore.get("/sandbox/ada/v3/pet/1").header("api_key", "special-key").send().await;
        pet.has_status(200);
    }
}
