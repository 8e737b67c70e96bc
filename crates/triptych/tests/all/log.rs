//! The log of the running program.

use crate::common::Workspace;
use testkit::{Client, Engine, Program, Store};

/// Starts the museum with its log in this format.
fn start(format: &str) -> (Workspace, Program) {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let mut command = workspace.command(&["serve", "museum"]);
    command.args(["--museum-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"]);
    let program = Program::start(command.env("TRIPTYCH_LOG_FORMAT", format));
    (workspace, program)
}

#[tokio::test]
async fn control_characters_are_escaped_in_the_log() {
    for format in ["json", "text"] {
        let (_house, program) = start(format);
        let said = program.said();
        let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        let museum = Client::new(address.parse().unwrap());
        let path = "/no\u{85}where\u{9b}31m\u{202e}back\u{2066}";
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: c1\r\nConnection: close\r\n\r\n"
        );
        let answer = museum.raw(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        let log = program.whole_log();
        let line = log.lines().find(|line| line.contains("c1")).unwrap_or_else(|| panic!("no line in {log}"));
        let found: Vec<_> = line.chars().filter(|c| c.is_control() || !c.is_ascii()).collect();
        assert!(found.is_empty(), "{format}: {found:?} in {line}");
        assert!(line.contains("where") && line.contains("back"), "{line}");
    }
}

#[tokio::test]
async fn log_has_every_request_in_order_when_the_program_has_ended() {
    const REQUESTS: usize = 500;
    let (_house, program) = start("json");
    let museum = Client::new(program.address("museum"));
    for number in 0..REQUESTS {
        let request = museum.get("/v1.1/museum-hours").header("x-request-id", &format!("r{number}"));
        request.send().await.has_status(200);
    }
    let log = program.whole_log();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ids: Vec<_> =
        lines.filter(|line| line["message"] == "request").map(|line| line["id"].to_string()).collect();
    let expected: Vec<_> = (0..REQUESTS).map(|number| format!("\"r{number}\"")).collect();
    assert_eq!(ids, expected);
    assert!(log.trim_end().ends_with("}") && log.contains("\"stopped\""), "{log}");
}
