//! Measures the data layer beside plain rusqlite on the same machine and disk, an operation that wants sign-in beside the
//! same one without, a search for trips among a million beside one among a thousand, a million pets on their way out, and how
//! soon subscribers hear of new bookings, and fails when one falls behind.
//!
//! What to measure can be named: `data`, `sign-in`, `pets`, `trips`, `webhooks`.
//!
//! Both sides take turns, round by round, so that other load on the machine slows both alike. Of the data layer the
//! best round of each counts, as noise only ever makes a round slower; of whole requests the median.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod inserts;
mod load;
mod pets;
mod reads;
mod sign_in;
mod table;
mod trips;
mod webhooks;

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;

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
    let names: Vec<_> = std::env::args().skip(1).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mut missed = Vec::new();
    if wanted("data") {
        missed.extend(data(&runtime, folder.path()));
    }
    if wanted("sign-in") {
        let sign_in = sign_in::measure(&runtime, &folder.path().join("sign-in"));
        sign_in.print();
        missed.extend(sign_in.missed());
    }
    if wanted("pets") {
        let pets = pets::measure(&runtime, &folder.path().join("pets"));
        pets.print();
        missed.extend(pets.missed());
    }
    if wanted("trips") {
        let trips = trips::measure(&runtime, &folder.path().join("trips"));
        trips.print();
        missed.extend(trips.missed());
    }
    if wanted("webhooks") {
        missed.extend(webhooks::measure_all(&runtime));
    }
    for missed in &missed {
        println!("missed: {missed}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The data layer beside plain rusqlite; what was missed.
fn data(runtime: &Runtime, folder: &Path) -> Vec<String> {
    let [inserts, alone] = inserts::compare(runtime, &folder.join("inserts"));
    let results = [reads::compare(runtime, &folder.join("reads")), inserts, alone];
    println!("{:<34}{:>12}{:>12}{:>9}{:>9}", "SQLite, per second", "triptych", "rusqlite", "ratio", "target");
    for result in &results {
        let Comparison { name, ours, plain, target } = result;
        let target = target.map_or_else(String::new, |target| format!("{target:.2}"));
        println!("{name:<34}{ours:>12.0}{plain:>12.0}{:>9.2}{target:>9}", result.ratio());
    }
    println!();
    let missed = results.iter().filter_map(|result| {
        let target = result.target.filter(|target| result.ratio() < *target)?;
        Some(format!("{} is {:.2} times rusqlite, not {target:.2}", result.name, result.ratio()))
    });
    missed.collect()
}

fn median<T: Copy + PartialOrd>(mut all: Vec<T>) -> T {
    all.sort_by(|one, other| one.partial_cmp(other).unwrap());
    all[all.len() / 2]
}
