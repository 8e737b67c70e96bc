//! The program under test, started as users start it, with its log in a file and without limits on calls.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// A running program.
pub(crate) struct Program {
    running: testkit::Program,
    flags: Vec<String>,
    pub(crate) petstore: SocketAddr,
    pub(crate) train: SocketAddr,
    pub(crate) museum: SocketAddr,
    /// From the start to the line that says that it is ready.
    pub(crate) ready_after: Duration,
}

impl Program {
    /// Starts it with these flags for its database.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        Program::run(&mut Command::new(executable()), folder, flags)
    }

    /// The same with sandboxes that record no calls.
    pub(crate) fn start_without_journal(folder: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new(executable());
        Program::run(command.env("TRIPTYCH_SANDBOXES_JOURNAL", "false"), folder, flags)
    }

    /// The same without sandboxes, as outside of a demo.
    pub(crate) fn start_without_sandboxes(folder: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new(executable());
        Program::run(command.env("TRIPTYCH_SANDBOXES_ENABLED", "false"), folder, flags)
    }

    /// Starts it under a program that observes it.
    pub(crate) fn start_under(observer: &mut Command, folder: &Path, flags: &[&str]) -> Self {
        Program::run(observer.arg(executable()), folder, flags)
    }

    fn run(command: &mut Command, folder: &Path, flags: &[&str]) -> Self {
        command.arg("serve").args(flags).current_dir(folder);
        for listener in ["petstore", "train", "museum", "admin"] {
            command.args([&format!("--{listener}-listen"), "127.0.0.1:0"]);
        }
        for limit in
            ["PETSTORE_CALLS_PER_HOUR", "TRAIN_CALLS_PER_HOUR", "TRAIN_UNPAID_HOLDS", "MUSEUM_CALLS_PER_HOUR"]
        {
            command.env(format!("TRIPTYCH_{limit}"), u32::MAX.to_string());
        }
        for limit in ["SANDBOXES_MOST", "SANDBOXES_PER_ADDRESS"] {
            command.env(format!("TRIPTYCH_{limit}"), "2000");
        }
        let start = Instant::now();
        let running = testkit::Program::start(command);
        let ready_after = start.elapsed();
        let [petstore, train, museum] =
            ["petstore", "train", "museum"].map(|service| running.address(service));
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        Program { running, flags, petstore, train, museum, ready_after }
    }

    /// A new access token for the demo user of a service.
    pub(crate) fn token(&self, service: &str) -> String {
        self.token_of(service, None)
    }

    /// A new access token for a user.
    pub(crate) fn token_of(&self, service: &str, user: Option<&str>) -> String {
        let address = match service {
            "petstore" => self.petstore,
            _ => self.train,
        };
        let output = Command::new(executable())
            .args(["token", service])
            .args(user.map(|user| format!("--user={user}")))
            .args(&self.flags)
            .args([format!("--{service}-listen"), address.to_string()])
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a token is text").trim().to_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }

    /// The memory of the process in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.running.id());
        let pages = std::fs::read_to_string(path).expect("a running process");
        let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
        pages * 4096
    }

    /// Ends it as an operator does.
    pub(crate) fn stop(self) {
        assert!(self.running.terminate().success());
    }
}

static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Says which program is measured.
pub(crate) fn choose(program: PathBuf) {
    EXECUTABLE.set(program).expect("one program is measured");
}

pub(crate) fn executable() -> &'static Path {
    EXECUTABLE.get().expect("the program was chosen")
}

/// The folder of the bench.
pub(crate) fn folder() -> PathBuf {
    let bench = std::env::current_exe().expect("the path of the bench");
    bench.parent().expect("the folder of the bench").to_owned()
}
