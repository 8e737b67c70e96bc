//! `triptych sandbox …`, while the server runs in another process.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::common::{Workspace, bare, failed_with, output_of, refused};
use serde_json::{Value, json};
use testkit::{Client, Program};

/// A running server, and the commands for it.
pub(crate) struct Sandboxes<'w> {
    workspace: &'w Workspace,
    pub(crate) program: Program,
}

impl<'w> Sandboxes<'w> {
    pub(crate) fn start(workspace: &'w Workspace) -> Self {
        Sandboxes::of(workspace, workspace.serve())
    }

    pub(crate) fn of(workspace: &'w Workspace, program: Program) -> Self {
        Sandboxes { workspace, program }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.program.address("petstore"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        command.args(["--server", &self.url()]);
        command
    }

    /// What a command prints, without the end of its last line.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        output_of(&mut self.command(arguments))
    }

    /// The line of a command that the server refuses.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str]) -> String {
        failed_with(1, &self.command(arguments).output().unwrap())
    }

    pub(crate) fn petstore(&self) -> Client {
        Client::new(self.program.address("petstore"))
    }

    async fn status_of_pet_1(&self, sandbox: &str) -> u16 {
        let call = self.petstore().get(&format!("/sandbox/{sandbox}/v3/pet/1"));
        call.header("api_key", "special-key").send().await.status
    }

    async fn delete_pet_1(&self, sandbox: &str) {
        let call = self.petstore().delete(&format!("/sandbox/{sandbox}/v3/pet/1"));
        call.send().await.has_status(200);
    }
}

testkit::on_both_engines! {
    async fn sandbox_is_created_listed_shown_and_deleted(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let said = sandboxes.run(&["sandbox", "create", "ada", "--class", "monday"]);
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "Sandbox ada");
        let words: Vec<_> = lines[3].split("  ").filter(|word| !word.is_empty()).map(str::trim).collect();
        let url = sandboxes.url();
        assert_eq!(words, [
            "petstore",
            &format!("{url}/sandbox/ada/v3"),
            &format!("{url}/sandbox/ada/docs"),
            "OAuth or log-in, demo / demo; API key, special-key",
        ]);
        assert_eq!(lines[7], format!("Controls:      {url}/sandbox/ada/_control"));
        assert!(lines[8].starts_with("Control token: sandbox_"), "{said}");
        assert_eq!(sandboxes.status_of_pet_1("ada").await, 200);

        let created: Value = serde_json::from_str(&sandboxes.run(&["sandbox", "create", "bob", "--json"])).unwrap();
        assert_eq!(created["name"], "bob");
        assert_eq!(created["services"][0]["base_url"], format!("{url}/sandbox/bob/v3"));
        let chosen: Value = serde_json::from_str(&sandboxes.run(&["sandbox", "create", "--json"])).unwrap();
        let chosen = chosen["name"].as_str().unwrap();

        let names = |said: &str| -> Vec<String> {
            said.lines().skip(1).map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
        };
        let mut all = ["ada", "bob", chosen].map(str::to_owned);
        all.sort();
        assert_eq!(names(&sandboxes.run(&["sandbox", "list"])), all);
        assert_eq!(names(&sandboxes.run(&["sandbox", "list", "--class", "monday"])), ["ada"]);
        let listed: Value = serde_json::from_str(&sandboxes.run(&["sandbox", "list", "--json", "--class", "monday"])).unwrap();
        assert_eq!((&listed["sandboxes"][0]["name"], &listed["sandboxes"][1]), (&json!("ada"), &Value::Null));
        let shown = sandboxes.run(&["sandbox", "show", "ada"]);
        assert!(shown.starts_with("Sandbox ada\n") && shown.contains("\nClass:   monday\n"), "{shown}");
        let shown: Value = serde_json::from_str(&sandboxes.run(&["sandbox", "show", "ada", "--json"])).unwrap();
        assert_eq!(shown["class"], "monday");

        assert_eq!(sandboxes.run(&["sandbox", "delete", "ada"]), "ada: deleted");
        assert_eq!(sandboxes.status_of_pet_1("ada").await, 404);
        assert_eq!(
            sandboxes.fails(&["sandbox", "show", "ada"]),
            "triptych: There is no sandbox with this name. Create it with triptych sandbox create ada. (404 Not Found)"
        );
        assert_eq!(
            sandboxes.fails(&["sandbox", "create", "bob"]),
            "triptych: There is a sandbox with this name already. (409 Conflict)"
        );
    }
}

testkit::on_one_engine! {
    async fn control_token_of_a_sandbox_is_used_for_no_other(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let created: Value = serde_json::from_str(&sandboxes.run(&["sandbox", "create", "ada", "--json"])).unwrap();
        sandboxes.run(&["sandbox", "create", "bob"]);
        let token = created["control_token"].as_str().unwrap();
        let with_token = |arguments: &[&str]| {
            let mut command = sandboxes.command(arguments);
            command.env("TRIPTYCH_CONTROL_TOKEN", token).env("TRIPTYCH_SANDBOX", "ada");
            command
        };
        assert_eq!(output_of(&mut with_token(&["sandbox", "reset", "ada"])), "ada: reset");
        // The operator's token, from the data folder.
        assert_eq!(output_of(&mut with_token(&["sandbox", "reset", "bob"])), "bob: reset");
        let refused = with_token(&["sandbox", "reset", "bob", "--token", token]).output().unwrap();
        assert_eq!(
            failed_with(1, &refused),
            "triptych: This operation needs the control token of this sandbox, as a bearer token. (401 Unauthorized)"
        );
    }

    async fn operators_token_stays_in_effect_beside_the_control_token_of_a_sandbox(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let path = format!("{}:/usr/bin:/bin", Path::new(env!("CARGO_BIN_EXE_triptych")).parent().unwrap().display());
        let script = r#"eval "$(triptych sandbox create ada --env)"
            triptych sandbox reset ada
            triptych sandbox create bob --json >/dev/null
            triptych sandbox reset bob
            triptych sandbox list | wc -l
            TRIPTYCH_OPERATOR_TOKEN= triptych sandbox reset ada"#;
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(folder.path()).env_clear();
        shell.env("PATH", path).env("TRIPTYCH_SERVER", sandboxes.url());
        shell.env("TRIPTYCH_OPERATOR_TOKEN", sandboxes.run(&["sandbox", "token"]));
        assert_eq!(output_of(&mut shell), "ada: reset\nbob: reset\n3\nada: reset");
    }

    async fn token_command_prints_the_operators_token(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let token = sandboxes.run(&["sandbox", "token"]);
        assert!(token.starts_with("operator_") && !token.contains(char::is_whitespace), "{token}");
        let list = sandboxes.petstore().get("/sandboxes").header("authorization", &format!("Bearer {token}"));
        list.send().await.is(200, &json!({"sandboxes": []}));
        // A command that has only the token and the address.
        let folder = tempfile::tempdir().unwrap();
        let mut list = bare(folder.path(), &["sandbox", "list", "--server", &sandboxes.url()]);
        list.env("TRIPTYCH_OPERATOR_TOKEN", &token);
        assert_eq!(output_of(&mut list), "  name  class  created  used  expires");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a command makes no data folder");
    }

    async fn data_is_reset_saved_and_restored(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        sandboxes.run(&["sandbox", "sign-in", "ada", "--mode", "off"]);
        sandboxes.delete_pet_1("ada").await;
        assert_eq!(sandboxes.run(&["sandbox", "snapshot", "ada", "without"]), "ada: saved as without");
        assert_eq!(sandboxes.run(&["sandbox", "reset", "ada"]), "ada: reset");
        assert_eq!(sandboxes.status_of_pet_1("ada").await, 200);
        assert_eq!(sandboxes.run(&["sandbox", "restore", "ada", "without"]), "ada: restored from without");
        assert_eq!(sandboxes.status_of_pet_1("ada").await, 404);
        assert_eq!(sandboxes.run(&["sandbox", "snapshots", "ada"]), "without");
        assert_eq!(sandboxes.run(&["sandbox", "snapshots", "ada", "--delete", "without"]), "ada: without deleted");
        assert_eq!(sandboxes.run(&["sandbox", "snapshots", "ada"]), "");
        assert_eq!(
            sandboxes.fails(&["sandbox", "restore", "ada", "without"]),
            "triptych: There is no snapshot with this name. (404 Not Found)"
        );
    }

    async fn clock_is_moved_frozen_and_resumed(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        let clock = |arguments: &[&str]| sandboxes.run(&[&["sandbox", "clock", "ada"], arguments].concat());
        assert_eq!(clock(&["--set", "2030-06-01T09:00:00Z", "--freeze"]), "2030-06-01T09:00:00Z, frozen");
        assert_eq!(clock(&["--advance", "1h 30m"]), "2030-06-01T10:30:00Z, frozen");
        assert_eq!(clock(&["--advance", "-30m"]), "2030-06-01T10:00:00Z, frozen");
        assert_eq!(clock(&[]), "2030-06-01T10:00:00Z, frozen");
        assert!(clock(&["--resume"]).starts_with("2030-06-01T10:"));
        assert_eq!(
            sandboxes.fails(&["sandbox", "clock", "ada", "--advance", "soon"]),
            "triptych: advance must be a duration in seconds, minutes, hours, days or weeks, such as 90s, 1h 30m, 2 days or PT1H, \
             with a minus sign to move the clock back (400 Bad Request)"
        );
    }

    async fn sign_in_and_compatibility_are_changed(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        let sign_in = |arguments: &[&str]| sandboxes.run(&[&["sandbox", "sign-in", "ada"], arguments].concat());
        let call = async || sandboxes.petstore().get("/sandbox/ada/v3/pet/1").send().await.status;
        assert_eq!(sign_in(&[]), "  mode  enforce");
        assert_eq!(call().await, 401);
        assert_eq!(sign_in(&["--mode", "off", "--access-token-seconds", "60"]), "  access token seconds  60\n  mode                  off");
        assert_eq!(call().await, 200);
        // A change keeps the other values.
        assert_eq!(sign_in(&["--mode", "enforce"]), "  access token seconds  60\n  mode                  enforce");
        let login = sandboxes.petstore().get("/sandbox/ada/v3/user/login?username=demo&password=demo").send().await;
        let session = login.has_status(200).json().as_str().unwrap().to_owned();
        let with_session = async || {
            let call = sandboxes.petstore().put("/sandbox/ada/v3/user/demo").json(&json!({"email": "demo@example.com"}));
            call.header("authorization", &format!("Bearer {session}")).send().await.status
        };
        assert_eq!(with_session().await, 200);
        sign_in(&["--expire-now"]);
        assert_eq!(with_session().await, 401);
        assert_eq!(sign_in(&["--defaults"]), "  mode  enforce");
        assert_eq!(sandboxes.run(&["sandbox", "compat", "ada"]), "petstore: strict");
        assert_eq!(sandboxes.run(&["sandbox", "compat", "ada", "--mode", "public-petstore"]), "petstore: public-petstore");
        sandboxes.petstore().get("/sandbox/ada/api/v3/pet/1").send().await.has_status(200);
    }

    async fn signing_keys_are_rotated(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        sandboxes.run(&["sandbox", "create", "ada"]);
        let keys = async || {
            let answer = sandboxes.petstore().get("/sandbox/ada/oauth/jwks.json").send().await;
            let keys = answer.has_status(200).json()["keys"].as_array().unwrap().clone();
            keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
        };
        let first = keys().await;
        sandboxes.run(&["sandbox", "sign-in", "ada", "--rotate-keys"]);
        let second = keys().await;
        assert!(first.is_subset(&second) && second.len() == first.len() + 1, "{first:?} {second:?}");
        sandboxes.run(&["sandbox", "sign-in", "ada", "--rotate-keys=remove"]);
        let third = keys().await;
        assert!(third.is_disjoint(&second) && third.len() == 1, "{second:?} {third:?}");
    }

    async fn variables_of_a_new_sandbox_are_enough_for_its_commands(workspace: Workspace) {
        let sandboxes = Sandboxes::start(&workspace);
        let bin = Path::new(env!("CARGO_BIN_EXE_triptych")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var_os("PATH").unwrap().display());
        let mut shell = Command::new("sh");
        let script = r#"eval "$(triptych sandbox create ada --env)"
            cd / && triptych sandbox reset "$TRIPTYCH_SANDBOX" && triptych sandbox create --json >/dev/null
            printf '%s\n' "$TRIPTYCH_PETSTORE_URL" "$TRIPTYCH_CONTROL_URL""#;
        shell.args(["-e", "-c", script]).current_dir(workspace.folder.path());
        shell.env("PATH", path).env("TRIPTYCH_SERVER", sandboxes.url()).env("TRIPTYCH_DATA", "nowhere");
        let url = sandboxes.url();
        assert_eq!(
            output_of(&mut shell),
            format!("ada: reset\n{url}/sandbox/ada/v3\n{url}/sandbox/ada/_control")
        );
    }
}

#[test]
fn command_without_a_server_says_what_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let server = format!("http://{address}");
    let create = |more: &[&str]| {
        let mut command = bare(folder.path(), &["sandbox", "create"]);
        command.args(more).output().unwrap()
    };
    assert_eq!(
        failed_with(1, &create(&["--server", &server])),
        format!(
            "triptych: no server answers at {server}: start one with triptych serve, or name another with --server (Connection \
             refused (os error 111))"
        )
    );
    let listen = |service: &str| format!("--{service}-listen={address}");
    let said = failed_with(1, &create(&[&listen("petstore"), &listen("train"), &listen("museum")]));
    assert!(
        said.starts_with(&format!("triptych: no server answers at {server} or {server} or {server}:")),
        "{said}"
    );
}

#[test]
fn command_without_a_token_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let list = |more: &[&str]| {
        let mut command = bare(folder.path(), &["sandbox", "list"]);
        refused(&command.args(more).output().unwrap())
    };
    assert_eq!(
        list(&[]),
        "triptych: there is no secret in ./triptych-data: check --data, start triptych there once, or pass the token that \
         triptych sandbox token prints on the server's machine, with --token or TRIPTYCH_OPERATOR_TOKEN"
    );
    // The token of this installation is not sent to a server that its settings do not name.
    let secret = "TRIPTYCH_SECRET";
    let mut command = bare(folder.path(), &["sandbox", "list", "--server", "http://192.0.2.1"]);
    let said = refused(&command.env(secret, "unpredictable-unpredictable-unpredictable").output().unwrap());
    assert_eq!(
        said,
        "triptych: pass the token for this server with --token or TRIPTYCH_OPERATOR_TOKEN: triptych sandbox token prints it on the \
         server's machine"
    );
    assert_eq!(
        list(&["--server", "localhost:8080"]),
        "triptych: --server must be an address like http://127.0.0.1:8080, not \"localhost:8080\""
    );
}
