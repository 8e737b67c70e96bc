//! Measures the program side by side with references on the same machine, prints one table, and fails when a required figure
//! is missed.
//!
//! The program and its reference take turns, so that other load on the machine slows both alike. A figure is the median of the
//! rounds. `--short` checks that everything can be measured, with small data sets and one round, and compares no figure.
//! `--instructions` prints the number of instructions per call of the hottest operations instead. `--program PATH` names the program
//! to measure; without it, it is the one beside the bench.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod chart;
mod compare;
mod data;
mod instructions;
mod pages;
mod postgres;
mod prism;
mod program;
mod reference;
mod report;
mod sandboxes;
mod single;
mod work;
mod wrk;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use arguments::Arguments;
use compare::Comparison;
use postgres::Postgres;
use prism::Prism;
use program::Program;
use report::Line;
use tokio::runtime::Runtime;
use work::{Reference, Work, api_key, bearer, new_pets, pet_paths};
use wrk::Requests;

/// How much is measured.
#[derive(Clone, Copy)]
struct Scale {
    rounds: usize,
    /// How long a turn takes.
    time: Duration,
    pets: i64,
    /// The two data sets of the comparison by size.
    few: i64,
    many: i64,
    /// How many users book trips: a user with thousands of unpaid bookings is not what a service meets.
    travellers: usize,
    /// When the memory is measured.
    memory_after: Duration,
    /// How many sandboxes there are, and how many of them are active.
    sandboxes: usize,
    active: usize,
    /// How often each page is loaded.
    page_rounds: usize,
}

const FULL: Scale = Scale {
    rounds: 5,
    time: Duration::from_secs(1),
    pets: 100_000,
    few: 10_000,
    many: 1_000_000,
    travellers: 200,
    memory_after: Duration::from_secs(10),
    sandboxes: 1000,
    active: 100,
    page_rounds: 15,
};
const SHORT: Scale = Scale {
    rounds: 1,
    time: Duration::from_secs(1),
    pets: 1000,
    few: 1000,
    many: 5000,
    travellers: 2,
    memory_after: Duration::ZERO,
    sandboxes: 5,
    active: 2,
    page_rounds: 1,
};

struct Bench {
    runtime: Runtime,
    folder: PathBuf,
    scale: Scale,
    /// Only rows whose name contains this are measured.
    filter: String,
    lines: Vec<Line>,
}

fn main() -> ExitCode {
    let Arguments { short, instructions, program, filter } = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("bench: {message}");
            return ExitCode::from(2);
        }
    };
    program::choose(program);
    // Not in memory: a write counts when it is on a disk.
    let folder = tempfile::tempdir_in(std::env::temp_dir()).expect("a temporary folder");
    if instructions {
        let runtime = Runtime::new().expect("a runtime");
        for (operation, count) in instructions::count(&runtime, folder.path()) {
            println!("{operation}: {count}");
        }
        return ExitCode::SUCCESS;
    }
    let whole = filter.is_empty() && !short;
    let mut bench = Bench {
        runtime: Runtime::new().expect("a runtime"),
        folder: folder.path().to_owned(),
        scale: if short { SHORT } else { FULL },
        filter,
        lines: Vec::new(),
    };
    report::print_titles();
    bench.embedded();
    bench.by_size();
    bench.on_postgres();
    bench.memory();
    bench.sandboxes();
    bench.pages();
    if whole {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        report::write(&docs, &bench.lines, &machine()).expect("docs/performance.md can be written");
        let chart = std::fs::write(docs.join("performance.svg"), chart::draw(&bench.lines));
        chart.expect("docs/performance.svg can be written");
    }
    let missed = bench.lines.iter().filter(|line| !line.is_met()).count();
    if short || missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    fn add(&mut self, line: Line) {
        report::print(&line);
        self.lines.push(line);
    }

    /// The operations on the embedded engine next to bare servers and to Prism.
    fn embedded(&mut self) {
        let folder = self.folder.join("embedded");
        let first = data::create(&folder, self.scale.pets);
        data::add_travellers(&folder, self.scale.travellers);
        let data = folder.join("data").display().to_string();
        let flags = ["--data", data.as_str()];
        let later = single::later_start(&folder, &flags);
        if self.wants("ready") {
            self.add(Line::at_most(
                "ready: first start, with demo data and new keys",
                first.as_secs_f64(),
                " s",
                (0.5, 0.2),
            ));
            self.add(Line::at_most("ready: later start", later.as_secs_f64(), " s", (0.1, 0.03)));
        }
        let program = Program::start_without_sandboxes(&folder, &flags);
        let Scale { pets, travellers, .. } = self.scale;
        let works = self.runtime.block_on(work::all(&program, pets, travellers, work::BOOKED_DAYS));
        let (mut p99, mut prism) = (Vec::new(), Vec::new());
        for work in &works {
            if !self.wants(work.name) {
                continue;
            }
            let reference = self.runtime.block_on(reference_for(work));
            let Scale { rounds, time, .. } = self.scale;
            let comparison = Comparison::measure(
                rounds,
                || {
                    if work.deletes_bookings {
                        data::delete_bookings(&folder.join("data"));
                    }
                    wrk::run(&work.requests, work.server, time, &self.folder)
                },
                || wrk::run(&work.requests, reference, time, &self.folder),
            );
            self.add(Line::ratio(work.name, &comparison, (work.must, work.aim)));
            if work.reference == Reference::Constant {
                p99.push(comparison.p99_ratio());
            }
            if rounds > 1 {
                let rate = Prism::rate(work, &folder, time);
                prism.extend(rate.map(|rate| comparison.our_rate() / rate));
            }
        }
        if !p99.is_empty() {
            let worst = p99.into_iter().fold(0.0, f64::max);
            self.add(Line::at_most(
                "99th percentile of the reads, times the reference's",
                worst,
                "",
                (3.0, 1.5),
            ));
        }
        match prism.is_empty() {
            true if self.scale.rounds == 1 || !works.iter().any(|work| self.wants(work.name)) => {}
            true => println!("Prism was not measured: npm cannot install it"),
            false => {
                let least = prism.into_iter().fold(f64::INFINITY, f64::min);
                self.add(Line {
                    unit: " times",
                    limit: report::Limit::AtLeast,
                    ..Line::at_most(
                        "every operation, times Prism's rate: the least",
                        least,
                        "",
                        (40.0, 100.0),
                    )
                });
            }
        }
        program.stop();
    }

    /// The same work with few and with many pets.
    fn by_size(&mut self) {
        if !self.wants("1,000,000") {
            return;
        }
        let [few, many] = [("few", self.scale.few), ("many", self.scale.many)].map(|(name, pets)| {
            let folder = self.folder.join(name);
            data::create(&folder, pets);
            let flag = folder.join("data").display().to_string();
            let flags = ["--data", flag.as_str()];
            (single::later_start(&folder, &flags), Program::start_without_sandboxes(&folder, &flags))
        });
        self.add(Line::at_most(
            "ready: later start at 1,000,000 pets",
            many.0.as_secs_f64(),
            " s",
            (0.1, 0.03),
        ));
        let (few, many) = (few.1, many.1);
        let [of_few, of_many] = [&few, &many].map(|program| program.token("petstore"));
        let post = |token: &str| Requests::post("/v3/pet", vec![bearer(token)], new_pets());
        let inventory = || Requests::get(vec!["/v3/store/inventory".into()], api_key());
        let Scale { few: few_pets, many: many_pets, .. } = self.scale;
        for (name, in_few, in_many) in [
            (
                "GET /v3/pet/{id}",
                Requests::get(pet_paths(few_pets), api_key()),
                Requests::get(pet_paths(many_pets), api_key()),
            ),
            ("GET /v3/store/inventory", inventory(), inventory()),
            ("POST /v3/pet", post(&of_few), post(&of_many)),
        ] {
            let Scale { rounds, time, .. } = self.scale;
            let comparison = Comparison::measure(
                rounds,
                || wrk::run(&in_many, many.petstore, time, &self.folder),
                || wrk::run(&in_few, few.petstore, time, &self.folder),
            );
            self.add(Line::ratio(
                format!("{name} at 1,000,000 pets against 10,000"),
                &comparison,
                (0.90, 0.98),
            ));
        }
        for line in single::stream(&many, &of_many, self.scale.many.unsigned_abs()) {
            self.add(line);
        }
        many.stop();
        few.stop();
    }

    fn on_postgres(&mut self) {
        if !self.wants("PostgreSQL") {
            return;
        }
        let postgres = Postgres::start(&self.folder, self.scale.pets);
        let Scale { rounds, time, .. } = self.scale;
        let reads = postgres.reads(rounds, time);
        self.add(Line::ratio("GET /v3/pet/{id} on PostgreSQL, of pgbench -S", &reads, (0.50, 0.70)));
        let writes = postgres.writes(rounds, time);
        self.add(Line::ratio("POST /v3/pet on PostgreSQL, of pgbench", &writes, (0.60, 1.2)));
        let program = postgres.with_sandboxes();
        self.add(sandboxes::on_postgres(&self.runtime, &program));
        program.stop();
    }

    fn sandboxes(&mut self) {
        if !self.wants("sandbox") {
            return;
        }
        let Scale { rounds, time, sandboxes, active, .. } = self.scale;
        let scale = sandboxes::Scale { rounds, time, sandboxes, active };
        for line in sandboxes::embedded(&self.runtime, &self.folder.join("sandboxes"), scale) {
            self.add(line);
        }
    }

    fn pages(&mut self) {
        if self.wants("page") {
            let (folder, rounds) = (self.folder.join("pages"), self.scale.page_rounds);
            let line = pages::slowest(&self.runtime, &folder, rounds);
            self.add(line);
        }
    }

    fn memory(&mut self) {
        if self.wants("memory") {
            let line = single::memory_after_start(&self.folder, self.scale.memory_after);
            self.add(line);
        }
    }
}

async fn reference_for(work: &Work) -> SocketAddr {
    if work.reference == Reference::Echo {
        return reference::echo().await;
    }
    let mut request = reqwest::Client::new().get(format!("http://{}{}", work.server, work.requests.paths[0]));
    for (name, value) in &work.requests.headers {
        request = request.header(*name, value);
    }
    let answer = request.send().await.expect("an answer");
    assert!(answer.status().is_success(), "{}: {}", work.name, answer.status());
    let media_type = answer.headers()["content-type"].to_str().expect("a media type").to_owned();
    reference::constant(&media_type, answer.bytes().await.expect("a body")).await
}

/// What the figures were measured on.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit =
        commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let connections = wrk::CONNECTIONS;
    format!(
        "Measured on {cores} cores of {model}, which the program, the reference and wrk ({connections} connections) share; \
         commit {commit}."
    )
}
