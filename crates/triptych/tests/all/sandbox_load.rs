//! Sandboxes of a running program that are deleted and reset under load: the others lose nothing, and nothing of them stays.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use serde_json::{Value, json};
use testkit::{Answer, Client, Program};

use crate::common::Workspace;

/// The sandboxes, each with two writers. The first four stay as they are, two are reset, two are deleted.
const NAMES: [&str; 8] =
    ["keep-1", "keep-2", "keep-3", "keep-4", "reset-1", "reset-2", "delete-1", "delete-2"];
const DELETED: [&str; 2] = ["delete-1", "delete-2"];
const WRITERS: usize = 2;

/// How many pets each writer adds at least before the deletions and after them, and at most.
const LEAST: usize = 20;
const MOST: usize = 20_000;

/// A write: what the service answered, and in which phase it began and ended.
struct Write {
    id: usize,
    status: u16,
    began: usize,
    ended: usize,
}

/// Before the deletions and resets, during them, and after them.
const BEFORE: usize = 0;
const DURING: usize = 1;
const AFTER: usize = 2;

/// Adds pets until the last phase has lasted for some of them.
async fn write(client: Client, name: &'static str, writer: usize, state: Arc<State>) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut in_phase = [0; 3];
    for number in 0..MOST {
        let began = state.phase.load(SeqCst);
        if began == AFTER && in_phase[AFTER] >= LEAST {
            break;
        }
        let id = 1000 + writer * MOST + number;
        let pet = json!({"id": id, "name": "Rex", "photoUrls": []});
        let answer = client.post(&format!("/sandbox/{name}/v3/pet")).json(&pet).send().await;
        writes.push(Write { id, status: answer.status, began, ended: state.phase.load(SeqCst) });
        in_phase[began] += 1;
        if in_phase[BEFORE] == LEAST && began == BEFORE {
            state.ready.add_permits(1);
        }
    }
    writes
}

struct State {
    phase: AtomicUsize,
    /// A permit of each writer that has added some pets.
    ready: tokio::sync::Semaphore,
}

async fn control(client: &Client, sandbox: &Value, method: &str, path: &str, body: Option<Value>) -> Answer {
    let path = format!("/sandbox/{}/_control{path}", sandbox["name"].as_str().unwrap());
    let token = format!("Bearer {}", sandbox["control_token"].as_str().unwrap());
    let call = client.call(method.parse().unwrap(), &path).header("authorization", &token);
    match body {
        Some(body) => call.json(&body).send().await,
        None => call.send().await,
    }
}

/// Creates a sandbox that needs no sign-in.
async fn create(client: &Client, name: &str) -> Value {
    let created = client.post("/sandboxes").json(&json!({"name": name})).send().await;
    let sandbox = created.has_status(201).json();
    control(client, &sandbox, "PUT", "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
    sandbox
}

/// The names of the program's threads, without those of the runtime, which come and go, and how many have each.
fn threads(program: &Program) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{}/task", program.id())).unwrap() {
        // A thread may end meanwhile.
        let Ok(name) = fs::read_to_string(task.unwrap().path().join("comm")) else { continue };
        if !name.starts_with("tokio") {
            *names.entry(name.trim_end().to_owned()).or_default() += 1;
        }
    }
    names
}

/// What the program has open.
fn open_files(program: &Program) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{}/fd", program.id())).unwrap();
    let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

fn sockets(program: &Program) -> usize {
    open_files(program).iter().filter(|file| file.starts_with("socket:")).count()
}

testkit::on_both_engines! {
    async fn deleted_and_reset_sandboxes_cost_the_others_nothing(workspace: Workspace) {
        let program = workspace.serve();
        let client = Client::new(program.address("petstore"));
        let mut sandboxes = BTreeMap::new();
        for name in NAMES {
            sandboxes.insert(name, create(&client, name).await);
        }
        let state = Arc::new(State { phase: AtomicUsize::new(BEFORE), ready: tokio::sync::Semaphore::new(0) });
        let writers: Vec<_> = NAMES
            .iter()
            .flat_map(|name| (0..WRITERS).map(move |writer| (*name, writer)))
            .map(|(name, writer)| {
                let client = Client::new(program.address("petstore"));
                (name, tokio::spawn(write(client, name, writer, state.clone())))
            })
            .collect();
        let _all = state.ready.acquire_many(u32::try_from(writers.len()).unwrap()).await.unwrap();
        let before = threads(&program);
        state.phase.store(DURING, SeqCst);
        let change = async |name: &str| match name.split('-').next().unwrap() {
            "reset" => control(&client, &sandboxes[name], "POST", "/reset", None).await.has_status(204).status,
            "delete" => control(&client, &sandboxes[name], "DELETE", "", None).await.has_status(204).status,
            _ => 0,
        };
        futures_util::future::join_all(NAMES.map(change)).await;
        state.phase.store(AFTER, SeqCst);
        let reset_names = ["reset-1", "reset-2"];
        for (name, writer) in writers {
            for write in writer.await.unwrap() {
                let Write { id, status, began, ended } = write;
                let at = format!("{name} {id}, in the phases {began} to {ended}");
                if DELETED.contains(&name) {
                    let expected: &[u16] = if ended == BEFORE { &[200] } else if began == AFTER { &[404] } else { &[200, 404] };
                    assert!(expected.contains(&status), "{at}: {status}");
                    continue;
                }
                assert_eq!(status, 200, "{at}");
                let found = client.get(&format!("/sandbox/{name}/v3/pet/{id}")).send().await.status;
                let is_reset = reset_names.contains(&name);
                match (is_reset, began, ended) {
                    (false, ..) | (true, AFTER, _) => assert_eq!(found, 200, "{at}"),
                    (true, _, BEFORE) => assert_eq!(found, 404, "{at}"),
                    // It was added before the reset or after it.
                    _ => assert!([200, 404].contains(&found), "{at}: {found}"),
                }
            }
        }
        // No copy is left of a reset.
        for name in reset_names {
            control(&client, &sandboxes[name], "GET", "/snapshots", None).await.is(200, &json!({"snapshots": []}));
        }
        // Files and schemas.
        let databases = workspace.store.connect();
        let groups = tokio::task::spawn_blocking(move || databases.groups().unwrap()).await.unwrap();
        let of_sandboxes: Vec<_> = groups.iter().filter(|group| !group.starts_with("template-")).collect();
        assert_eq!(of_sandboxes, NAMES.iter().filter(|name| !DELETED.contains(name)).collect::<Vec<_>>());
        let is_deleted = |file: &String| DELETED.iter().any(|name| file.contains(&format!("sandboxes/{name}/")));
        // The program closes files and connections some time after its answer.
        testkit::until(async || !open_files(&program).iter().any(is_deleted)).await;
        // Threads: no sandbox has one of its own.
        assert_eq!(threads(&program), before);
        // A new sandbox of the same name has nothing of the old one.
        for name in DELETED {
            control(&client, &sandboxes[name], "GET", "", None).await.has_status(404);
            let again = create(&client, name).await;
            control(&client, &sandboxes[name], "GET", "", None).await.has_status(401);
            let calls = control(&client, &again, "GET", "/journal", None).await.has_status(200).json();
            assert_eq!(calls["calls"].as_array().unwrap().iter().filter(|call| call["method"] == "POST").count(), 0, "{calls}");
            client.get(&format!("/sandbox/{name}/v3/pet/1")).send().await.has_status(200);
            client.get(&format!("/sandbox/{name}/v3/pet/1000")).send().await.has_status(404);
        }
    }

    /// Each round creates, uses and deletes sandboxes; the number of sockets, files and threads does not grow from round to round.
    async fn created_and_deleted_sandboxes_leave_no_file_thread_or_connection(workspace: Workspace) {
        let program = workspace.serve();
        let client = Client::new(program.address("petstore"));
        let mut first = None;
        for round in 0..3 {
            let names: Vec<_> = (0..4).map(|number| format!("round-{round}-{number}")).collect();
            let use_one = async |name: &String| {
                let sandbox = create(&client, name).await;
                client.get(&format!("/sandbox/{name}/v3/pet/1")).send().await.has_status(200);
                control(&client, &sandbox, "POST", "/snapshots", Some(json!({"name": "one"}))).await.has_status(201);
                control(&client, &sandbox, "DELETE", "", None).await.has_status(204);
            };
            futures_util::future::join_all(names.iter().map(use_one)).await;
            let of_round = |file: &String| file.contains("sandboxes/round-");
            testkit::until(async || !open_files(&program).iter().any(of_round)).await;
            let (now, threads) = (sockets(&program), threads(&program));
            let (most, names) = first.get_or_insert_with(|| (now + SLACK, threads.clone()));
            assert_eq!(threads, *names, "round {round}");
            testkit::until(async || sockets(&program) <= *most).await;
        }
    }
}

/// Connections of the pool that another round may open: those that it may have at most are not all open after the first.
const SLACK: usize = 16;
