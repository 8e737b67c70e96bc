//! Figures of sandboxes: creating one, a call in one next to the same call at the root, the journal, and the memory of many.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    compare::{Comparison, median, sorted},
    program::Program,
    report::Line,
    work::api_key,
    wrk::{self, CONNECTIONS, Measured, Requests},
};

/// How much is measured of sandboxes.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) rounds: usize,
    pub(crate) time: Duration,
    /// How many sandboxes there are, and how many of them are active.
    pub(crate) sandboxes: usize,
    pub(crate) active: usize,
}

const MB: f64 = 1e6;

/// How many pairs of servers are compared with and without the journal. What it costs is less than two servers of the same kind can
/// differ by.
const JOURNAL_PAIRS: usize = 5;
/// The rounds of each pair: the whole bench takes at most 15 minutes.
const JOURNAL_ROUNDS: usize = 4;

/// The ids of demo pets.
const PETS: std::ops::RangeInclusive<i64> = 1..=10;

/// The figures on the embedded engine.
pub(crate) fn embedded(runtime: &Runtime, folder: &Path, scale: Scale) -> Vec<Line> {
    std::fs::create_dir_all(folder).expect("a folder");
    let data = |name: &str| folder.join(name).display().to_string();
    let program = Program::start(folder, &["--data", &data("many")]);
    let times = runtime.block_on(create(&program, scale.sandboxes));
    let mut lines = vec![Line::at_most("create a sandbox", median(&times), " ms", (50.0, 20.0))];
    runtime.block_on(visit(&program, scale.active));
    lines.push(Line::at_most(
        "memory with 1,000 sandboxes, 100 of them active",
        program.resident() as f64 / MB,
        " MB",
        (300.0, 150.0),
    ));
    let get_over = |connections: u32, prefix: &str, server: SocketAddr| -> Measured {
        let paths = PETS.map(|id| format!("{prefix}/v3/pet/{id}")).collect();
        wrk::run_over(connections, &Requests::get(paths, api_key()), server, scale.time, folder)
    };
    let get = |prefix: &str, server: SocketAddr| get_over(CONNECTIONS, prefix, server);
    let (petstore, one) = (program.petstore, format!("/sandbox/{}", name(0)));
    let shared = Comparison::measure(scale.rounds, || get(&one, petstore), || get("", petstore));
    lines.push(Line::ratio("GET /v3/pet/{id} in a sandbox, next to the root", &shared, (0.9, 1.0)));
    program.stop();
    for (row, connections, goals) in [
        // The time of a call: each waits for the answer to the one before.
        ("GET /v3/pet/{id} with the journal, one call at a time", 1, (0.95, 1.0)),
        ("GET /v3/pet/{id} with the journal, at full load", CONNECTIONS, (0.95, 1.0)),
    ] {
        let (pairs, rounds) = if scale.rounds > 1 { (JOURNAL_PAIRS, JOURNAL_ROUNDS) } else { (1, 1) };
        let mut all = Comparison { ours: Vec::new(), reference: Vec::new() };
        for pair in 0..pairs {
            let data = |kind: &str| data(&format!("{kind}-{connections}-{pair}"));
            // Two new servers, which differ in nothing else.
            let program = Program::start(folder, &["--data", &data("journal")]);
            let plain = Program::start_without_journal(folder, &["--data", &data("plain")]);
            let with = || get_over(connections, "", program.petstore);
            let without = || get_over(connections, "", plain.petstore);
            let Comparison { ours, reference } = Comparison::measure(rounds, with, without);
            all.ours.extend(ours);
            all.reference.extend(reference);
            plain.stop();
            program.stop();
        }
        lines.push(Line::ratio(format!("{row}, next to a server without it"), &all, goals));
    }
    lines
}

/// The time to create a sandbox on PostgreSQL.
pub(crate) fn on_postgres(runtime: &Runtime, program: &Program) -> Line {
    let times = runtime.block_on(create(program, 20));
    Line::at_most("create a sandbox on PostgreSQL", median(&times), " ms", (500.0, 200.0))
}

fn name(number: usize) -> String {
    format!("bench-{number}")
}

/// Creates sandboxes one after the other, and gives the times in milliseconds in order of size.
async fn create(program: &Program, sandboxes: usize) -> Vec<f64> {
    let client = reqwest::Client::new();
    let url = format!("http://{}/sandboxes", program.petstore);
    let mut times = Vec::new();
    for number in 0..sandboxes {
        let start = Instant::now();
        let created = client.post(&url).json(&json!({"name": name(number)})).send().await.expect("an answer");
        times.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(created.status(), 201);
    }
    sorted(times.into_iter())
}

/// Calls each service of the first sandboxes.
async fn visit(program: &Program, active: usize) {
    let client = reqwest::Client::new();
    for number in 0..active {
        for (server, path) in [
            (program.petstore, "v3/pet/1"),
            (program.train, "stations"),
            (program.museum, "v1.1/museum-hours"),
        ] {
            let url = format!("http://{server}/sandbox/{}/{path}", name(number));
            let answer = client.get(&url).send().await.expect("an answer");
            assert!(!answer.status().is_server_error(), "{url}: {}", answer.status());
        }
    }
}
