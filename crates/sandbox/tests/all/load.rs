//! Sandboxes that are deleted while they are used. `sandbox_load.rs` in the tests of the program counts files and threads.

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use testkit::{Client, on_both_engines};

use crate::fixture::{Process, World};

const ROUNDS: usize = 8;
const CALLERS: usize = 12;

/// Calls a service, or a control that opens all services, until the sandbox is deleted.
async fn call_until_deleted(process: &Process, sandbox: &Value, caller: usize) {
    let name = sandbox["name"].as_str().unwrap();
    // Each has connections of its own, so that no call waits for another.
    let client = Client::new([&process.petstore, &process.train, &process.museum][caller % 3].address());
    let token = format!("Bearer {}", sandbox["control_token"].as_str().unwrap());
    loop {
        let call = match caller % 4 {
            0 => client.post(&format!("/sandbox/{name}/_control/reset")).header("authorization", &token),
            1 => {
                let call = client.patch(&format!("/sandbox/{name}/_control/clock"));
                call.header("authorization", &token).json(&json!({"advance": "1s"}))
            }
            _ => client.get(&format!("/sandbox/{name}/openapi.json")),
        };
        let answer = call.send().await;
        match answer.status {
            200 | 204 | 503 => {}
            404 => return,
            _ => panic!("{} {}", answer.status, answer.text()),
        }
    }
}

on_both_engines! {
    async fn sandbox_that_is_deleted_while_it_is_opened_leaves_nothing(world: World) {
        let process = &world.process;
        for round in 0..ROUNDS {
            let sandbox = process.create(&format!("round-{round}")).await;
            let callers = join_all((0..CALLERS).map(|caller| call_until_deleted(process, &sandbox, caller)));
            let delete = async { process.control("DELETE", &sandbox, "", None).await.has_status(204).status };
            join(delete, callers).await;
        }
        let databases = process.databases.clone();
        let groups = tokio::task::spawn_blocking(move || databases.groups()).await.unwrap().unwrap();
        let left: Vec<_> = groups.iter().filter(|group| !group.starts_with("template-")).collect();
        assert_eq!(left, Vec::<&String>::new());
    }
}
