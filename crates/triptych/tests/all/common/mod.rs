//! The program in a test: on free ports, in a temporary folder, on either engine.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use testkit::{Client, Engine, Fixture, Program, Store};

/// All listeners at free ports. A later flag overrides these.
pub(crate) const FREE_PORTS: &[&str] = &[
    "--petstore-listen=127.0.0.1:0",
    "--train-listen=127.0.0.1:0",
    "--museum-listen=127.0.0.1:0",
    "--admin-listen=127.0.0.1:0",
];

/// A folder and a database to start the program with, more than once.
pub(crate) struct Workspace {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl Fixture for Workspace {
    async fn start(engine: Engine) -> Self {
        Workspace { store: Store::new(engine), folder: tempfile::tempdir().unwrap() }
    }
}

impl Workspace {
    /// A command of the program on this database.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.folder.path(), arguments);
        command.args(self.store.flags());
        command
    }

    /// The program, serving.
    pub(crate) fn serve(&self) -> Program {
        Program::start(&mut self.serving())
    }

    pub(crate) fn serving(&self) -> Command {
        let mut command = self.command(&["serve"]);
        command.args(FREE_PORTS);
        command
    }

    /// The program without its demo. On a database that processes share it needs addresses and a secret.
    pub(crate) fn serving_without_demo(&self) -> Command {
        let mut command = self.serving();
        command.arg("--no-demo");
        command
            .env("TRIPTYCH_PETSTORE_ADDRESS", "http://127.0.0.1:1")
            .env("TRIPTYCH_TRAIN_ADDRESS", "http://127.0.0.1:2")
            .env("TRIPTYCH_SECRET", "unpredictable-unpredictable-unpredictable");
        command
    }

    /// The train service alone, about to be started.
    pub(crate) fn serving_train(&self) -> Command {
        let mut command = self.command(&["serve", "train"]);
        command.args(["--train-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"]);
        // On a machine with other load, a slow answer of the database is no error.
        command.env("TRIPTYCH_LIMITS_DATABASE_SECONDS", "60");
        // The tests that crash it have one user for all bookings.
        command.env("TRIPTYCH_TRAIN_UNPAID_HOLDS", "1000000");
        command.env("TRIPTYCH_TRAIN_DECLINED_PAYMENTS_PER_USER_PER_HOUR", "1000000");
        command
    }

    /// The Authorization header of the demo user for the train service that was started last.
    pub(crate) fn train_token(&self) -> String {
        self.token("train")
    }

    /// The same for any service that takes tokens.
    pub(crate) fn token(&self, service: &str) -> String {
        let token = self.command(&["token", service]).output().unwrap();
        assert!(token.status.success(), "{}", String::from_utf8_lossy(&token.stderr));
        format!("Bearer {}", String::from_utf8(token.stdout).unwrap().trim_end())
    }
}

/// The program without the settings in the environment of the tests.
pub(crate) fn bare(folder: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = testkit::command(env!("CARGO_BIN_EXE_triptych").as_ref(), folder);
    command.args(arguments);
    command
}

/// Fails a test that would otherwise hang.
pub(crate) async fn soon<F: Future>(event: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), event).await.expect("it did not come")
}

/// The museum of a running program, signed in to its demo.
pub(crate) fn museum(program: &Program) -> Client {
    Client::new(program.address("museum")).signed_in("demo", "demo")
}

/// Runs a command to its end with this on its standard input.
pub(crate) fn with_input(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input may have exited already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What a command prints, without the end of its line; it must succeed.
#[track_caller]
pub(crate) fn printed(workspace: &Workspace, arguments: &[&str]) -> String {
    output_of(&mut workspace.command(arguments))
}

/// The same for any command.
#[track_caller]
pub(crate) fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().strip_suffix('\n').unwrap_or_default().to_owned()
}

/// Asserts that a command failed as it should: exit code 2 and one line on standard error. Gives the line.
#[track_caller]
pub(crate) fn refused(output: &Output) -> String {
    failed_with(2, output)
}

/// The same with another exit code.
#[track_caller]
pub(crate) fn failed_with(code: i32, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert_eq!(output.stdout, b"", "{said}");
    said.trim_end().to_owned()
}

/// What a command printed that ended with code 1, and its line on standard error.
#[track_caller]
pub(crate) fn failed_with_output(output: &Output) -> (String, String) {
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    (printed.into_owned(), said.trim_end().to_owned())
}
