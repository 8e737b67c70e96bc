//! `triptych serve --ephemeral` and `--ready-file`: a server for one test run.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Workspace, bare, refused};
use serde_json::{Value, json};
use testkit::{Client, Program};

/// A command whose temporary files are in this folder.
fn ephemeral(folder: &Path, arguments: &[&str]) -> Command {
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = bare(folder, &["serve", "--ephemeral"]);
    command.args(arguments).env("TMPDIR", temporary);
    command
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn path_and_client(url: &Value) -> (String, Client) {
    let url = url.as_str().unwrap().strip_prefix("http://").unwrap();
    let (address, path) = url.split_once('/').map_or((url, ""), |(address, path)| (address, path));
    (format!("/{path}"), Client::new(address.parse().unwrap()))
}

#[tokio::test]
async fn ready_file_has_all_that_a_test_run_needs() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(&mut ephemeral(folder.path(), &["--ready-file", "ready.json"]));
    let file = folder.path().join("ready.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let ready = read(&file);
    let url = |service: &str| format!("http://{}", program.address(service));
    let token = ready["operator_token"].as_str().unwrap().to_owned();
    assert_eq!(
        ready,
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": program.id(),
            "admin": url("admin"),
            "operator_token": token,
            "sandboxes_url": format!("{}/sandboxes", url("petstore")),
            "services": [
                {
                    "name": "petstore",
                    "base_url": format!("{}/v3", url("petstore")),
                    "docs": format!("{}/docs", url("petstore")),
                    "openapi": format!("{}/openapi.json", url("petstore")),
                    "username": "demo",
                    "password": "demo",
                    "api_key": "special-key",
                    "client_id": "demo",
                    "sign_in": "OAuth or log-in, demo / demo; API key, special-key",
                },
                {
                    "name": "train",
                    "base_url": url("train"),
                    "docs": format!("{}/docs", url("train")),
                    "openapi": format!("{}/openapi.json", url("train")),
                    "username": "demo",
                    "password": "demo",
                    "client_id": "demo",
                    "sign_in": "OAuth, demo / demo",
                },
                {
                    "name": "museum",
                    "base_url": format!("{}/v1.1", url("museum")),
                    "docs": format!("{}/docs", url("museum")),
                    "openapi": format!("{}/openapi.json", url("museum")),
                    "username": "demo",
                    "password": "demo",
                    "sign_in": "HTTP Basic, demo / demo",
                },
            ],
        })
    );
    let (path, store) = path_and_client(&ready["services"][0]["base_url"]);
    store.get(&format!("{path}/pet/1")).header("api_key", "special-key").send().await.has_status(200);
    let (path, client) = path_and_client(&ready["sandboxes_url"]);
    let list = client.get(&path).header("authorization", &format!("Bearer {token}"));
    list.send().await.is(200, &json!({"sandboxes": []}));
    let temporary = folder.path().join("tmp");
    assert_eq!(entries(&temporary).len(), 1);
    assert!(program.terminate().success());
    assert_eq!(entries(&temporary), [""; 0]);
    assert_eq!(entries(folder.path()), ["tmp"]);
}

#[test]
fn interrupted_ephemeral_server_removes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = ephemeral(folder.path(), &["museum", "--ready-file", "ready.json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    assert!(stdout.lines().map_while(Result::ok).any(|line| line.starts_with("Ready")));
    assert_eq!(entries(folder.path()), ["ready.json", "tmp"]);
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert!(child.wait().unwrap().success());
    assert_eq!(entries(&folder.path().join("tmp")), [""; 0]);
    assert_eq!(entries(folder.path()), ["tmp"]);
}

#[test]
fn ephemeral_server_that_cannot_start_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let arguments = ["--ready-file", "ready.json", "--museum-listen", &address];
    let said = refused(&ephemeral(folder.path(), &arguments).output().unwrap());
    assert!(said.starts_with(&format!("triptych: cannot listen on {address} for the museum")), "{said}");
    assert_eq!(entries(folder.path()), ["tmp"]);
    assert_eq!(entries(&folder.path().join("tmp")), [""; 0]);
}

#[test]
fn ephemeral_server_has_no_other_database() {
    let folder = tempfile::tempdir().unwrap();
    for (flag, value) in
        [("--data", "other"), ("--database", "postgres://localhost/x"), ("--database-file", "url")]
    {
        assert_eq!(
            refused(&ephemeral(folder.path(), &[flag, value]).output().unwrap()),
            format!("triptych: --ephemeral and {flag} exclude each other; give one of them")
        );
    }
    // The settings of another installation are those of another server.
    let other = r#"
        data = "other"
        database = "postgres://localhost:1/nowhere"
        demo = "off"
        admin_listen = "127.0.0.1:1"
        [museum]
        listen = "127.0.0.1:1"
        address = "https://museum.example.com"
    "#;
    fs::write(folder.path().join("triptych.toml"), other).unwrap();
    let program = Program::start(&mut ephemeral(folder.path(), &["museum"]));
    let said = program.said();
    assert!(said.contains(&format!("  museum   http://{}/v1.1", program.address("museum"))), "{said}");
    assert!(said.contains("with demo data, SQLite in "), "{said}");
    assert!(program.terminate().success());
    assert_eq!(entries(folder.path()), ["tmp", "triptych.toml"]);
}

testkit::on_both_engines! {
    async fn ready_file_replaces_that_of_a_killed_server(workspace: Workspace) {
        let file = workspace.folder.path().join("ready.json");
        fs::write(&file, "of a server that was killed").unwrap();
        let mut command = workspace.serving_without_demo();
        command.arg("--ready-file").arg(&file);
        let program = Program::start(&mut command);
        let ready = read(&file);
        assert_eq!(ready["pid"], program.id());
        assert_eq!(ready["sandboxes_url"], "http://127.0.0.1:1/sandboxes");
        let museum = &ready["services"][2];
        assert_eq!(museum["base_url"], format!("http://{}/v1.1", program.address("museum")));
        assert_eq!((&museum["username"], &museum["sign_in"]), (&Value::Null, &Value::Null));
        // The file of a server that was started since stays.
        fs::write(&file, "of another server").unwrap();
        assert!(program.terminate().success());
        assert_eq!(fs::read_to_string(&file).unwrap(), "of another server");
    }
}

#[test]
fn ready_file_that_cannot_be_written_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (file, why) in [
        ("missing/ready.json", "cannot write the ready file missing/ready.json: No such file or directory"),
        ("tmp", "cannot replace the ready file tmp: Is a directory (os error 21)"),
    ] {
        let mut command = ephemeral(folder.path(), &["museum", "--ready-file", file]);
        let said = refused(&command.output().unwrap());
        assert!(said.starts_with(&format!("triptych: {why}")), "{said}");
        assert_eq!(entries(&folder.path().join("tmp")), [""; 0]);
    }
}
