//! `triptych sandbox journal` and `triptych class show`, while the server runs in another process.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{
    common::{Workspace, failed_with},
    sandbox_commands::Sandboxes,
};
use serde_json::Value;

/// A line of the journal without its time and duration.
fn without_times(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    assert!(words[1].ends_with('Z') && words[6] == "ms", "{line}");
    [&words[..1], &words[2..5], &words[7..]].concat().join(" ")
}

fn lines(said: &str) -> Vec<String> {
    said.lines().map(without_times).collect()
}

impl Sandboxes<'_> {
    /// Calls the pet store with a key, and without one.
    async fn call_pet_1(&self, sandbox: &str) {
        let call = || self.petstore().get(&format!("/sandbox/{sandbox}/v3/pet/1"));
        call().header("api_key", "special-key").send().await.has_status(200);
        call().send().await.has_status(401);
    }
}

testkit::on_one_engine! {
    async fn journal_is_listed_filtered_exported_and_cleared(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        sandboxes.call_pet_1("ada").await;
        let journal = |more: &[&str]| sandboxes.run(&[&["sandbox", "journal", "ada"], more].concat());
        let (first, second) = ("1 petstore GET 200 demo /v3/pet/1", "2 petstore GET 401 127.0.0.1 /v3/pet/1 (unauthorized)");
        assert_eq!(lines(&journal(&[])), [first, second]);
        assert_eq!(lines(&journal(&["--limit", "1"])), [second]);
        assert_eq!(lines(&journal(&["--status", "4xx", "--method", "get"])), [second]);
        assert_eq!(lines(&journal(&["--caller", "127.0.0.1", "--operation", "getPetById", "--service", "petstore"])).len(), 2);
        assert_eq!(lines(&journal(&["--path", "/v3/store/**"])), [""; 0]);
        let listed: Value = serde_json::from_str(&journal(&["--json"])).unwrap();
        assert_eq!(listed["calls"][0]["number"], 2);
        let call: Value = serde_json::from_str(&journal(&["--call", "2"])).unwrap();
        assert_eq!(call["call"]["status"], 401);
        let url = sandboxes.url();
        assert_eq!(journal(&["--curl", "2"]), format!("curl {url}/sandbox/ada/v3/pet/1 -H 'accept: */*'"));
        let har: Value = serde_json::from_str(&journal(&["--har"])).unwrap();
        assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 2);
        assert_eq!(
            sandboxes.fails(&["sandbox", "journal", "ada", "--status", "9"]),
            "triptych: status must be a status like 404, or a class of them like 4xx (400 Bad Request)"
        );
        assert_eq!(journal(&["--clear"]), "ada: journal cleared");
        assert_eq!(journal(&[]), "");
    }

    async fn follower_prints_new_calls_until_the_sandbox_is_deleted(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        sandboxes.call_pet_1("ada").await;
        let mut command = sandboxes.command(&["sandbox", "journal", "ada", "--follow", "--status", "401"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || without_times(&said.next().unwrap().unwrap());
        assert_eq!(next(), "2 petstore GET 401 127.0.0.1 /v3/pet/1 (unauthorized)");
        sandboxes.call_pet_1("ada").await;
        assert_eq!(next(), "4 petstore GET 401 127.0.0.1 /v3/pet/1 (unauthorized)");
        let mut command = sandboxes.command(&["sandbox", "journal", "ada", "--follow", "--status", "404"]);
        let without_calls = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sandboxes.run(&["sandbox", "delete", "ada"]);
        for child in [child, without_calls] {
            assert_eq!(
                failed_with(1, &child.wait_with_output().unwrap()),
                "triptych: There is no sandbox with this name. Create it with triptych sandbox create ada. (404 Not Found)"
            );
        }
    }

    async fn class_shows_the_calls_and_errors_of_each_student(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["class", "create", "--students", "3", "--name", "monday"]);
        sandboxes.call_pet_1("monday-02").await;
        let said = sandboxes.run(&["class", "show", "monday"]);
        let rows: Vec<Vec<_>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["name", "calls", "errors", "last", "call"]);
        assert_eq!(rows[1], ["monday-01", "0", "0"]);
        assert_eq!([&rows[2][..3], &rows[2][4..]].concat(), ["monday-02", "2", "1", "GET", "/v3/pet/1", "401"]);
        assert_eq!(rows[3], ["monday-03", "0", "0"]);
    }
}
