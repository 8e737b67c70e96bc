//! The program as a process, which can be killed.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use serde_json::Value;

/// A command without the settings in the environment of the tests.
pub fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("TRIPTYCH_") || text.starts_with("PG") {
            command.env_remove(&name);
        }
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// A running server.
pub struct Program {
    child: Child,
    // Kept open: a program whose standard output is closed ends at its next line.
    stdout: BufReader<ChildStdout>,
    lines: Vec<String>,
    log: File,
}

impl Program {
    /// Starts it and waits until it prints that it is ready.
    pub fn start(command: &mut Command) -> Self {
        let log = tempfile::tempfile().expect("a file for its log");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().expect("the same file"))
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut program = Program { child, stdout, lines: Vec::new(), log };
        while !program.lines.last().is_some_and(|line| line.starts_with("Ready")) {
            let mut line = String::new();
            let read = program.stdout.read_line(&mut line).expect("its output is text");
            if read == 0 {
                panic!(
                    "the program ended before it was ready; it said: {:?} and logged: {}",
                    program.lines,
                    program.logged()
                );
            }
            program.lines.push(line);
        }
        program
    }

    /// What it printed at the start.
    pub fn said(&self) -> String {
        self.lines.concat()
    }

    /// What it has logged so far.
    pub fn logged(&self) -> String {
        let length = self.log.metadata().expect("its log").len();
        let mut bytes = vec![0; usize::try_from(length).expect("a short log")];
        // At offset 0: the program writes at the shared position of the file.
        self.log.read_exact_at(&mut bytes, 0).expect("its log can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The address on which a service listens, from the log. The output at the start has the public address.
    pub fn address(&self, service: &str) -> SocketAddr {
        let service = if service == "metrics" { "admin" } else { service };
        let logged = self.logged();
        let mut lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let line = lines.find(|line| line["message"] == "listening" && line["service"] == service);
        let address = line.and_then(|line| line["listen"].as_str()?.parse().ok());
        address.unwrap_or_else(|| panic!("{service} listens nowhere: {logged}"))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Ends it with SIGTERM, and gives its exit status.
    pub fn terminate(mut self) -> ExitStatus {
        self.end()
    }

    /// Ends it with SIGTERM, and gives its whole log.
    pub fn whole_log(mut self) -> String {
        assert!(self.end().success(), "{}", self.logged());
        self.logged()
    }

    fn end(&mut self) -> ExitStatus {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(asked.expect("kill runs").success());
        let mut rest = String::new();
        let _ = self.stdout.read_to_string(&mut rest);
        self.child.wait().expect("it ends")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that tools/install installs: on the PATH, or in the folder of Debian for system programs.
pub(crate) fn system_program(name: &str) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a test tool, not a setting of the program")]
    let path = std::env::var("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()));
    found.unwrap_or_else(|| panic!("the tests need {name}: run tools/install, or put it on the PATH"))
}
