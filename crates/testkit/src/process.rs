//! The program itself, started as a user would, and ended as a power cut would.

use std::{
    io::{BufRead, BufReader, Read, Seek},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

/// A running program that serves.
pub struct Program {
    child: Child,
    // Kept open: a program whose standard output is closed dies on its next line.
    stdout: BufReader<ChildStdout>,
    lines: Vec<String>,
}

impl Program {
    /// Starts it and waits until it says that it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut log = tempfile::tempfile().expect("a file for its log");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().expect("the same file"))
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut program = Program { child, stdout, lines: Vec::new() };
        while !program.lines.last().is_some_and(|line| line.starts_with("Ready")) {
            let mut line = String::new();
            let read = program.stdout.read_line(&mut line).expect("its output is text");
            if read == 0 {
                let mut logged = String::new();
                let _ = log.rewind().and_then(|()| log.read_to_string(&mut logged));
                panic!(
                    "the program ended before it was ready; it said: {:?} and logged: {logged}",
                    program.lines
                );
            }
            program.lines.push(line);
        }
        program
    }

    /// What it said at the start.
    pub fn said(&self) -> String {
        self.lines.concat()
    }

    /// The address at which it serves this.
    pub fn address(&self, service: &str) -> SocketAddr {
        let line = self.lines.iter().find(|line| line.trim_start().starts_with(service));
        let address =
            line.and_then(|line| line.split("http://").nth(1)?.split(['/', ' ', '\n']).next()?.parse().ok());
        address.unwrap_or_else(|| panic!("no address of {service} in {:?}", self.lines))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: what a power cut leaves of a process.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// SIGTERM, and what it exits with.
    pub fn terminate(mut self) -> ExitStatus {
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
