//! Schemathesis sends each service what its document allows and what it forbids: no answer is a 5xx or outside the document,
//! nothing valid is refused and nothing invalid taken, but for what `schemathesis/exceptions.toml` gives a reason for.

use std::{path::Path, process::Command};

use crate::common::Workspace;
use testkit::{Client, Engine, Program, Store, parameter};

/// How many requests the fuzzing phase generates for each operation; `make long-test` has ten times as many. The other phases send what they
/// derive from the document, however few these are.
const EXAMPLES: usize = 5;

/// Runs it against a service of a fresh demo.
async fn keeps_to_its_document(service: &str) {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let mut serving = workspace.command(&["serve", service, "--admin-listen=127.0.0.1:0"]);
    let program = Program::start(serving.arg(format!("--{service}-listen=127.0.0.1:0")));
    let address = program.address(service);
    let session = match service {
        "petstore" => {
            let login = Client::new(address).get("/v3/user/login?username=demo&password=demo").send().await;
            login.json().as_str().unwrap().to_owned()
        }
        _ => String::new(),
    };
    let token = match service {
        "museum" => String::new(),
        _ => workspace.token(service).replace("Bearer ", ""),
    };
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = crate_folder.join("tests/schemathesis");
    let program_file = crate_folder.join("../../target/schemathesis/bin/schemathesis");
    let output = Command::new(&program_file)
        .arg("--config-file")
        .arg(tests.join("schemathesis.toml"))
        .args(["run", "--no-color", &format!("--max-examples={}", parameter("TORTURE_EXAMPLES", EXAMPLES))])
        .arg(format!("http://{address}/openapi.json"))
        .current_dir(workspace.folder.path())
        .env("SCHEMATHESIS_HOOKS", tests.join("hooks.py"))
        .env("ACCESS_TOKEN", token)
        .env("SESSION", session)
        .output();
    let output =
        output.unwrap_or_else(|error| panic!("{}: {error}; run tools/install", program_file.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // It found the operations, and had something to send them.
    assert!(said.contains("Coverage") && said.contains("Fuzzing") && said.contains(" generated"), "{said}");
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
