//! Load: `wrk` with a script that sends prepared requests one after the other.

use std::{
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

/// The number of connections of a measurement at full load.
pub(crate) const CONNECTIONS: u32 = 64;

/// The requests of one kind of work. Both sides of a comparison get the same.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) method: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) paths: Vec<String>,
    /// The bodies in order; empty if the requests have none.
    pub(crate) bodies: Vec<String>,
    /// The values of `Authorization` in order, for requests of many users.
    pub(crate) authorizations: Vec<String>,
}

impl Requests {
    pub(crate) fn get(paths: Vec<String>, headers: Vec<(&'static str, String)>) -> Self {
        Requests { method: "GET", headers, paths, bodies: Vec::new(), authorizations: Vec::new() }
    }

    pub(crate) fn post(path: &str, mut headers: Vec<(&'static str, String)>, bodies: Vec<String>) -> Self {
        headers.push(("content-type", "application/json".into()));
        Requests { method: "POST", headers, paths: vec![path.into()], bodies, authorizations: Vec::new() }
    }

    /// A script that formats all requests at its start, so that a request costs `wrk` one table access. Each of the two
    /// threads of `wrk` starts at another request.
    fn script(&self) -> String {
        let list = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",");
        let mut script = String::new();
        let _ = writeln!(script, "local paths = {{{}}}", list(&self.paths));
        let _ = writeln!(script, "local bodies = {{{}}}", list(&self.bodies));
        let _ = writeln!(script, "local authorizations = {{{}}}", list(&self.authorizations));
        script.push_str("local headers = {}\n");
        for (name, value) in &self.headers {
            let _ = writeln!(script, "headers[{}] = {}", quoted(name), quoted(value));
        }
        let _ = writeln!(script, "local method = {}", quoted(self.method));
        script.push_str(SCRIPT);
        script
    }
}

const SCRIPT: &str = r#"
local threads = 0
function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

local requests, at = {}, 0
function init(args)
    local count = math.max(#paths, #bodies)
    for i = 1, count do
        local body = nil
        if #bodies > 0 then body = bodies[(i - 1) % #bodies + 1] end
        if #authorizations > 0 then headers["authorization"] = authorizations[(i - 1) % #authorizations + 1] end
        requests[i] = wrk.format(method, paths[(i - 1) % #paths + 1], headers, body)
    end
    at = math.floor(#requests / 2) * number
end

function request()
    at = at % #requests + 1
    return requests[at]
end

function done(summary, latency, requests)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(string.format("result %d %d %d %d", summary.requests, summary.duration, failed, latency:percentile(99)))
end
"#;

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What one run of `wrk` measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Answers per second.
    pub(crate) rate: f64,
    pub(crate) p99: Duration,
}

/// Sends the requests for `duration` over [`CONNECTIONS`] connections.
pub(crate) fn run(requests: &Requests, server: SocketAddr, duration: Duration, folder: &Path) -> Measured {
    run_over(CONNECTIONS, requests, server, duration, folder)
}

/// Sends the requests for `duration` over so many connections. Over one, each request waits for the answer to the one before.
///
/// # Panics
/// When an answer is not a success: a rate of errors is no measurement.
pub(crate) fn run_over(
    connections: u32,
    requests: &Requests,
    server: SocketAddr,
    duration: Duration,
    folder: &Path,
) -> Measured {
    // Two runs may send to one server at the same time.
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let script = folder.join(format!("requests-{}.lua", RUNS.fetch_add(1, Ordering::Relaxed)));
    fs::write(&script, requests.script()).expect("the script can be written");
    let output = Command::new("wrk")
        .args(["--threads", &connections.min(2).to_string(), "--connections", &connections.to_string()])
        .args(["--duration", &format!("{}s", duration.as_secs()), "--timeout", "10s", "--script"])
        .arg(&script)
        .arg(format!("http://{server}"))
        .output()
        .expect("wrk runs: install it (Debian: apt-get install wrk)");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("result "));
    let line = line.unwrap_or_else(|| panic!("wrk: {text}{}", String::from_utf8_lossy(&output.stderr)));
    let figures: Vec<u64> = line.split(' ').map(|figure| figure.parse().expect("a number")).collect();
    let [answers, micros, failed, p99] = figures[..] else { panic!("wrk: {line}") };
    assert_eq!(failed, 0, "{failed} of {answers} requests to {} failed", requests.paths[0]);
    Measured { rate: answers as f64 / (micros as f64 / 1e6), p99: Duration::from_micros(p99) }
}
