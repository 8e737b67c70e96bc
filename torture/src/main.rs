//! Does to the program what must not hurt it, prints one table, and fails when something did.
//!
//! A row is one kind of fault. It starts the program as a process, on loopback addresses and in a temporary folder, and ends by
//! itself. `--short` runs a small version of every row, in which no time is judged.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod abuse;
mod arguments;
mod authorization;
mod day;
mod disk;
mod fuzz;
mod installation;
mod kills;
mod load;
mod overload;
mod power_cut;
mod preload;
mod processes;
mod processors;
mod report;
mod seats;
mod tables;
mod wire;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use arguments::Arguments;
use rand::{SeedableRng, rngs::StdRng};
use report::Line;

/// Prints a line of the table and keeps it.
pub(crate) type Add<'a> = &'a mut dyn FnMut(Line);

/// One kind of fault.
struct Row {
    name: &'static str,
    /// How long it may take in a full run. All rows together take less than half an hour.
    minutes: u64,
    run: fn(&Torture, Add<'_>),
}

/// How long a full run may take.
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

/// All rows, in the order of the table.
const ROWS: &[Row] = &[
    Row { name: "kills", minutes: 6, run: kills::run },
    Row { name: "power-cut", minutes: 2, run: power_cut::run },
    Row { name: "disk", minutes: 1, run: disk::run },
    Row { name: "processes", minutes: 4, run: processes::run },
    Row { name: "overload", minutes: 3, run: overload::run },
    Row { name: "abuse", minutes: 3, run: abuse::run },
    Row { name: "authorization", minutes: 2, run: authorization::run },
    Row { name: "seats", minutes: 13, run: seats::run },
    Row { name: "day", minutes: 3, run: day::run },
    Row { name: "fuzz", minutes: 5, run: fuzz::run },
];

/// What all rows need.
pub(crate) struct Torture {
    program: PathBuf,
    folder: PathBuf,
    seed: u64,
    short: bool,
}

impl Torture {
    /// The random choices of a row: the same for the same seed, whether other rows run or not.
    fn random(&self, row: &str) -> StdRng {
        let name = row.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        StdRng::seed_from_u64(self.seed ^ name)
    }

    /// One of two sizes.
    fn size<T>(&self, full: T, short: T) -> T {
        if self.short { short } else { full }
    }

    /// When a part of a row must end that may take this long in a full run.
    fn deadline(&self, full: Duration) -> Instant {
        Instant::now() + self.size(full, Duration::from_secs(60))
    }

    /// The violation of a limit that only a full run judges: a short one runs next to other tests, on a slow build.
    fn judge(&self, is_met: bool, violation: impl FnOnce() -> String) -> Option<String> {
        (!is_met && !self.short).then(violation)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("torture: {message}");
            return ExitCode::from(2);
        }
    };
    if arguments.list {
        ROWS.iter().for_each(|row| println!("{}: at most {} min", row.name, row.minutes));
        return ExitCode::SUCCESS;
    }
    let seed = arguments.seed.unwrap_or_else(rand::random);
    // Not in memory: a write counts when it is on a disk.
    let folder = tempfile::tempdir_in(std::env::temp_dir()).expect("a temporary folder");
    let torture = Torture {
        program: arguments.program,
        folder: folder.path().to_owned(),
        seed,
        short: arguments.short,
    };
    println!("seed {seed}");
    report::print_titles();
    let (mut lines, mut times) = (Vec::new(), Vec::new());
    let wanted = |row: &&Row| arguments.row.is_none_or(|wanted| wanted == row.name);
    for row in ROWS.iter().filter(wanted) {
        let repeat = format!("--row {} --seed {seed}", row.name);
        let mut add = |line: Line| {
            report::print(&line, &repeat);
            lines.push(line);
        };
        let start = Instant::now();
        run(row, &torture, &mut add);
        let took = start.elapsed();
        if !torture.short {
            eprintln!("{} took {:.0} s of {} min", row.name, took.as_secs_f64(), row.minutes);
        }
        times.push((row, took));
    }
    if arguments.row.is_none() && !torture.short {
        let line = all(&times);
        report::print(&line, &format!("--seed {seed}"));
        lines.push(line);
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        report::write(&docs, &lines, seed).expect("docs/torture.md can be written");
    }
    if lines.iter().all(Line::is_met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The time of all rows. Only the sum is judged: a machine may be slower in one of them.
fn all(times: &[(&Row, Duration)]) -> Line {
    let time = |took: Duration| took.as_secs_f64() / 60.0;
    let rows = times.iter().map(|(row, took)| format!("{} {:.1} of {}", row.name, time(*took), row.minutes));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let took = times.iter().map(|(_, took)| *took).sum();
    Line {
        fault: "all rows, one after another".to_owned(),
        must: format!("at most {} min", time(HALF_AN_HOUR)),
        measured: format!("{:.1} min: {rows}", time(took)),
        violations: (took > HALF_AN_HOUR).then(|| "they took longer".to_owned()).into_iter().collect(),
    }
}

/// Runs a row. If it panics, this is a violation, and the rows after it still run.
fn run(row: &Row, torture: &Torture, add: Add<'_>) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| (row.run)(torture, &mut *add))) else { return };
    let message = panic.downcast_ref::<String>().cloned();
    let message = message.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
    add(Line {
        fault: row.name.to_owned(),
        must: "the row runs to its end".to_owned(),
        measured: "it panicked".to_owned(),
        violations: vec![message.unwrap_or_default()],
    });
}
