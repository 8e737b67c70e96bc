//! `triptych health` and `triptych ready`.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::Command,
    thread,
};

use serde_json::{Value, json};
use testkit::{Engine, Program, Store};

use crate::common::{Workspace, bare, failed_with_output, output_of};

/// The flags that name the listeners of a running program.
fn listeners(program: &Program) -> Vec<String> {
    let parts = ["petstore", "train", "museum", "admin"];
    parts.iter().map(|part| format!("--{part}-listen={}", program.address(part))).collect()
}

/// Where a server was that has ended.
fn unused() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn failure_of(command: &mut Command) -> (String, String) {
    failed_with_output(&command.output().unwrap())
}

testkit::on_both_engines! {
    async fn running_server_is_healthy_and_ready(workspace: Workspace) {
        let program = workspace.serve();
        let [petstore, train, museum, admin] =
            ["petstore", "train", "museum", "admin"].map(|part| program.address(part));
        for (command, word) in [("health", "ok"), ("ready", "ready")] {
            let printed = output_of(workspace.command(&[command]).args(listeners(&program)));
            let columns: Vec<Vec<_>> =
                printed.lines().map(|line| line.split_whitespace().collect()).collect();
            let url = |address: SocketAddr| format!("http://{address}");
            let expected = [
                ["petstore", &url(petstore), word],
                ["train", &url(train), word],
                ["museum", &url(museum), word],
                ["admin", &url(admin), word],
            ];
            assert_eq!(columns, expected);
        }
        let one = output_of(workspace.command(&["ready", "museum", "--json"]).args(listeners(&program)));
        assert_eq!(
            serde_json::from_str::<Value>(&one).unwrap(),
            json!({"ok": true, "parts": [
                {"name": "museum", "address": format!("http://{museum}"), "ok": true, "detail": "ready"},
                {"name": "admin", "address": format!("http://{admin}"), "ok": true, "detail": "ready"},
            ]})
        );
    }
}

#[test]
fn server_that_does_not_run_is_not_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let (museum, admin) = (unused(), unused());
    let flags = [format!("--museum-listen={museum}"), format!("--admin-listen={admin}")];
    let (printed, said) = failure_of(bare(folder.path(), &["health", "museum"]).args(&flags));
    assert_eq!(said, "triptych: not healthy: museum, admin");
    assert!(printed.starts_with(&format!("  museum  http://{museum}  Connection refused")), "{printed}");
    let (printed, said) = failure_of(bare(folder.path(), &["ready", "museum", "--json"]).args(&flags));
    assert_eq!(said, "triptych: not ready: museum, admin");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&printed["ok"], &printed["parts"][0]["ok"]), (&json!(false), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_names_the_part_without_its_tables() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let program = workspace.serve();
    let museum = workspace.store.open("museum", museum::MIGRATIONS);
    let rename = |tx: &mut db::WriteTx<'_>| tx.execute("ALTER TABLE special_event RENAME TO moved", &[]);
    museum.write(rename).await.unwrap();
    let (printed, said) = failure_of(workspace.command(&["ready"]).args(listeners(&program)));
    assert_eq!(said, "triptych: not ready: museum");
    assert!(printed.contains("The service cannot reach its storage just now."), "{printed}");
    output_of(workspace.command(&["health"]).args(listeners(&program)));
}

/// A server that is ready at its third answer.
#[test]
fn ready_waits_until_the_server_is_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in ["503 Service Unavailable", "503 Service Unavailable", "200 OK", "200 OK"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            asked.push(String::from_utf8_lossy(&request[..length]).lines().next().unwrap().to_owned());
            let body = if answer.starts_with("200") { "ready\n" } else { "" };
            let head =
                format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
        asked
    });
    let folder = tempfile::tempdir().unwrap();
    let flags = [format!("--museum-listen={address}"), format!("--admin-listen={address}")];
    let printed = output_of(bare(folder.path(), &["ready", "museum", "--wait", "60"]).args(&flags));
    assert_eq!(printed, format!("  museum  http://{address}  ready\n  admin   http://{address}  ready"));
    assert_eq!(server.join().unwrap(), ["GET /readyz HTTP/1.1"; 4]);
}
