//! The program under test: the release build, started as users start it, with its log in a file and without limits on calls.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// A running program.
pub(crate) struct Program {
    child: Child,
    // Kept open: the program ends when it cannot write a line.
    _stdout: BufReader<ChildStdout>,
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
        let [petstore, train, museum, admin] = free_ports();
        let log = File::create(folder.join("log")).expect("a file for the log");
        let start = Instant::now();
        let mut child = Command::new(executable())
            .arg("serve")
            .args(flags)
            .args(["--petstore-listen", &petstore.to_string(), "--train-listen", &train.to_string()])
            .args(["--museum-listen", &museum.to_string(), "--admin-listen", &admin.to_string()])
            .env("TRIPTYCH_PETSTORE_CALLS_PER_HOUR", u32::MAX.to_string())
            .env("TRIPTYCH_TRAIN_CALLS_PER_HOUR", u32::MAX.to_string())
            .env("TRIPTYCH_TRAIN_UNPAID_HOLDS", u32::MAX.to_string())
            .env("TRIPTYCH_MUSEUM_CALLS_PER_HOUR", u32::MAX.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        while !line.starts_with("Ready") {
            line.clear();
            let read = stdout.read_line(&mut line).expect("its output is text");
            assert_ne!(read, 0, "the program ended: {}", log_of(folder));
        }
        let ready_after = start.elapsed();
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        Program { child, _stdout: stdout, flags, petstore, train, museum, ready_after }
    }

    /// A new access token for the demo user of a service.
    pub(crate) fn token(&self, service: &str) -> String {
        let address = match service {
            "petstore" => self.petstore,
            _ => self.train,
        };
        let output = Command::new(executable())
            .args(["token", service])
            .args(&self.flags)
            .args([format!("--{service}-listen"), address.to_string()])
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a token is text").trim().to_owned()
    }

    /// The memory of the process in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let pages = std::fs::read_to_string(path).expect("a running process");
        let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
        pages * 4096
    }

    /// Ends it as an operator does.
    pub(crate) fn stop(mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(asked.expect("kill runs").success());
        self.child.wait().expect("it ends");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that was built together with the bench.
pub(crate) fn executable() -> PathBuf {
    let bench = std::env::current_exe().expect("the path of the bench");
    bench.with_file_name("triptych")
}

fn free_ports<const N: usize>() -> [SocketAddr; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("its address"))
}

fn log_of(folder: &Path) -> String {
    let mut log = String::new();
    let _ = File::open(folder.join("log")).and_then(|mut file| file.read_to_string(&mut log));
    log
}
