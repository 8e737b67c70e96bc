//! Schemathesis sends each service what its document allows and what it forbids: no answer is a 5xx or outside the document,
//! nothing valid is refused and nothing invalid taken, but for what `schemathesis/exceptions.toml` gives a reason for.

use crate::common::Workspace;
use testkit::{Engine, Program, Schemathesis, Store, parameter};

/// How many requests the fuzzing phase generates for each operation; `make long-test` has ten times as many. The other phases send what they
/// derive from the document, however few these are.
const EXAMPLES: usize = 5;

/// Runs it against a service of a fresh demo.
async fn keeps_to_its_document(service: &str) {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let mut serving = workspace.command(&["serve", service, "--admin-listen=127.0.0.1:0"]);
    let program = Program::start(serving.arg(format!("--{service}-listen=127.0.0.1:0")));
    let token = match service {
        "museum" => String::new(),
        _ => workspace.token(service).replace("Bearer ", ""),
    };
    let schemathesis = Schemathesis::new(service, program.address(service), &token).await;
    let examples = format!("--max-examples={}", parameter("TORTURE_EXAMPLES", EXAMPLES));
    let found = schemathesis.run(&[examples], workspace.folder.path());
    found.unwrap_or_else(|found| panic!("{found}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pet_store_conforms_to_its_document() {
    keeps_to_its_document("petstore").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn train_travel_conforms_to_its_document() {
    keeps_to_its_document("train").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn museum_conforms_to_its_document() {
    keeps_to_its_document("museum").await;
}
