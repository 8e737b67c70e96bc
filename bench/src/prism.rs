//! Prism, a mock server that many people use today, on the same operations by the same document.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    program::{self, executable},
    work::Work,
    wrk::{self, Requests},
};

const VERSION: &str = "@stoplight/prism-cli@5";

/// A running Prism.
pub(crate) struct Prism {
    child: Child,
    address: SocketAddr,
}

impl Prism {
    /// How many of these requests it answers per second, if npm can install it and it can answer them.
    pub(crate) fn rate(work: &Work, folder: &Path, time: Duration) -> Option<f64> {
        let program = install()?;
        let document = folder.join(format!("{}.json", work.document));
        let output = Command::new(executable()).args(["openapi", work.document]).output().ok()?;
        fs::write(&document, output.stdout).ok()?;
        let prism = Prism::start(&program, &document)?;
        let requests = prism.requests(work)?;
        Some(wrk::run(&requests, prism.address, time, folder).rate)
    }

    fn start(program: &Path, document: &Path) -> Option<Self> {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).ok()?;
        let child = Command::new(program)
            .args(["mock", "--port", &address.port().to_string(), "--verboseLevel", "silent"])
            .arg(document)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let prism = Prism { child, address };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > deadline {
                return None;
            }
            std::thread::yield_now();
        }
        Some(prism)
    }

    /// The same requests at its own paths, if it answers one of them with a success.
    fn requests(&self, work: &Work) -> Option<Requests> {
        let Requests { method, headers, paths, bodies, authorizations } = &work.requests;
        let paths = paths.iter().map(|path| without_prefix(path)).collect();
        let requests = Requests { paths, ..work.requests.clone() };
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--request", method]);
        for (name, value) in headers {
            curl.args(["--header", &format!("{name}: {value}")]);
        }
        if let Some(authorization) = authorizations.first() {
            curl.args(["--header", &format!("authorization: {authorization}")]);
        }
        if let Some(body) = bodies.first() {
            curl.args(["--data", body]);
        }
        let output = curl.arg(format!("http://{}{}", self.address, requests.paths[0])).output().ok()?;
        output.stdout.starts_with(b"2").then_some(requests)
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prism knows no path in the address of a server.
fn without_prefix(path: &str) -> String {
    let prefixes = ["/v3", "/v1.1"];
    let rest = prefixes.iter().find_map(|prefix| path.strip_prefix(prefix));
    rest.unwrap_or(path).to_owned()
}

/// Installs it into a folder of the build, unless it is there.
fn install() -> Option<PathBuf> {
    let folder = program::folder().join("../prism");
    let program = folder.join("node_modules/.bin/prism");
    if !program.exists() {
        let installed = Command::new("npm")
            .args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"])
            .arg(&folder)
            .arg(VERSION)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        installed.ok().filter(|status| status.success())?;
    }
    Some(program)
}
