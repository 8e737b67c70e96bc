//! Instructions per call, counted by callgrind. They do not depend on the load of the machine, so that a slow-down shows in review.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use reqwest::{Client, Method};
use tokio::runtime::Runtime;

use crate::{
    data,
    program::Program,
    work::{self, Work},
    wrk::Requests,
};

/// Calls before the count, for caches and prepared statements.
const WARM_UP: usize = 10;

/// Background work, such as the upkeep of metrics, runs in some of the batches. The smallest count has none of it.
const BATCHES: usize = 3;

const COUNTED: usize = 10;

const PETS: i64 = 1000;

/// The days whose trips are booked. A run has fewer bookings than these days have trips.
const DAYS: i64 = 2;

/// The hottest operations, by their names in the table.
const OPERATIONS: [&str; 6] = [
    "GET /v3/pet/{id}, API key, JSON",
    "GET /v1.1/special-events/{id}, Basic",
    "GET /stations?search=, bearer",
    "GET /trips, a page of 10, bearer",
    "POST /v3/pet, bearer, durable",
    "POST /bookings with its event, bearer, durable",
];

/// Counts the instructions of the process per call of each operation.
pub(crate) fn count(runtime: &Runtime, folder: &Path) -> Vec<(&'static str, u64)> {
    data::create(folder, PETS);
    data::add_travellers(folder, 1);
    let counts = folder.join("callgrind");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--instr-atstart=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    let data = folder.join("data").display().to_string();
    let program = Program::start_under(&mut valgrind, folder, &["--data", &data]);
    let works = runtime.block_on(work::all(&program, PETS, 1, DAYS));
    let callgrind = Callgrind { process: program.id().to_string(), counts };
    // Once: whenever this changes, valgrind translates all code again.
    callgrind.control(&["-i", "on"]);
    let hot = works.iter().filter(|work| OPERATIONS.contains(&work.name));
    let counted =
        hot.enumerate().map(|(at, work)| (work.name, callgrind.count(runtime, work, at * BATCHES))).collect();
    program.stop();
    counted
}

/// Controls the process that counts.
struct Callgrind {
    process: String,
    counts: PathBuf,
}

impl Callgrind {
    /// The smallest count of several batches, after so many dumps of other operations.
    fn count(&self, runtime: &Runtime, work: &Work, dumps: usize) -> u64 {
        let client = Client::new();
        let calls = |number| runtime.block_on(call(&client, work, number));
        calls(0..WARM_UP);
        self.control(&["-z"]);
        let batch = |batch: usize| {
            let first = WARM_UP + batch * COUNTED;
            calls(first..first + COUNTED);
            // Sets the counters to zero as well.
            self.control(&["-d"]);
            let dump = format!("{}.{}", self.counts.display(), dumps + batch + 1);
            total(&fs::read_to_string(dump).expect("a dump")) / COUNTED as u64
        };
        (0..BATCHES).map(batch).min().unwrap_or_default()
    }

    fn control(&self, arguments: &[&str]) {
        let output = Command::new("callgrind_control").args(arguments).arg(&self.process).output();
        let output = output.expect("callgrind_control runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The total of a dump.
fn total(dump: &str) -> u64 {
    let total = dump.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.expect("a dump ends with its total")
}

/// Sends some of the requests, one after the other.
async fn call(client: &Client, work: &Work, numbers: std::ops::Range<usize>) {
    let Requests { method, headers, paths, bodies, authorizations } = &work.requests;
    for number in numbers {
        let url = format!("http://{}{}", work.server, paths[number % paths.len()]);
        let mut request = client.request(Method::try_from(*method).expect("a method"), url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if !authorizations.is_empty() {
            request = request.header("authorization", &authorizations[number % authorizations.len()]);
        }
        if !bodies.is_empty() {
            request = request.body(bodies[number % bodies.len()].clone());
        }
        let answer = request.send().await.expect("an answer");
        assert!(answer.status().is_success(), "{}: {}", work.name, answer.status());
        answer.bytes().await.expect("a body");
    }
}
