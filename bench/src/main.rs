//! Measures the data layer beside plain rusqlite on the same machine and disk, an operation that wants sign-in beside the
//! same one without, a search for trips among a million beside one among a thousand, and a million pets on their way out, and fails when one falls
//! behind.
//!
//! Both sides take turns, round by round, so that whatever else the machine does hits both alike. Of the data layer the
//! best round of each counts, as noise only ever makes a round slower; of whole requests the median.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod inserts;
mod load;
mod pets;
mod reads;
mod sign_in;
mod table;
mod trips;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// When a round ends that has not done all it was to do, so that a slow disk makes no long wait.
const ROUND: Duration = Duration::from_secs(1);
const ROUNDS: usize = 7;

/// How often per second something was done in one round.
struct Rate(f64);

impl Rate {
    /// Of work that is given its deadline, and says how often it did it.
    fn of(work: impl FnOnce(Instant) -> u64) -> Self {
        let start = Instant::now();
        let count = work(start + ROUND);
        Rate(count as f64 / start.elapsed().as_secs_f64())
    }
}

/// Two rates, and how many times the second the first has to be.
struct Comparison {
    name: &'static str,
    ours: f64,
    plain: f64,
    target: Option<f64>,
}

impl Comparison {
    fn measure(
        name: &'static str,
        target: Option<f64>,
        mut ours: impl FnMut() -> Rate,
        mut plain: impl FnMut() -> Rate,
    ) -> Self {
        let mut best = Comparison { name, ours: 0.0, plain: 0.0, target };
        for _ in 0..ROUNDS {
            best.plain = best.plain.max(plain().0);
            best.ours = best.ours.max(ours().0);
        }
        best
    }

    fn ratio(&self) -> f64 {
        self.ours / self.plain
    }
}

fn main() -> ExitCode {
    // Not in memory: an insert counts when it is on a disk.
    let folder = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let [inserts, alone] = inserts::compare(&runtime, &folder.path().join("inserts"));
    let results = [reads::compare(&runtime, &folder.path().join("reads")), inserts, alone];
    println!("{:<34}{:>12}{:>12}{:>9}{:>9}", "SQLite, per second", "triptych", "rusqlite", "ratio", "target");
    for result in &results {
        let Comparison { name, ours, plain, target } = result;
        let target = target.map_or_else(String::new, |target| format!("{target:.2}"));
        println!("{name:<34}{ours:>12.0}{plain:>12.0}{:>9.2}{target:>9}", result.ratio());
    }
    println!();
    let sign_in = sign_in::measure(&runtime, &folder.path().join("sign-in"));
    sign_in.print();
    println!();
    let pets = pets::measure(&runtime, &folder.path().join("pets"));
    pets.print();
    println!();
    let trips = trips::measure(&runtime, &folder.path().join("trips"));
    trips.print();
    let mut code = ExitCode::SUCCESS;
    for result in &results {
        if let Some(target) = result.target.filter(|target| result.ratio() < *target) {
            println!("missed: {} is {:.2} times rusqlite, not {target:.2}", result.name, result.ratio());
            code = ExitCode::FAILURE;
        }
    }
    for missed in [sign_in.missed(), pets.missed(), trips.missed()].into_iter().flatten() {
        println!("missed: {missed}");
        code = ExitCode::FAILURE;
    }
    code
}

fn median<T: Copy + PartialOrd>(mut all: Vec<T>) -> T {
    all.sort_by(|one, other| one.partial_cmp(other).unwrap());
    all[all.len() / 2]
}
