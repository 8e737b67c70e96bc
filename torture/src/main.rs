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
mod installation;
mod kills;
mod overload;
mod power_cut;
mod report;
mod tables;
mod wire;
mod writes;

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
    run: fn(&Torture, Add<'_>),
}

/// All rows, in the order of the table.
const ROWS: &[Row] = &[
    Row { name: "kills", run: kills::run },
    Row { name: "power-cut", run: power_cut::run },
    Row { name: "authorization", run: authorization::run },
    Row { name: "abuse", run: abuse::run },
    Row { name: "overload", run: overload::run },
    Row { name: "disk", run: disk::run },
    Row { name: "day", run: day::run },
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

    /// When a row must end that may take this long in a full run.
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
        ROWS.iter().for_each(|row| println!("{}", row.name));
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
    let mut lines = Vec::new();
    let wanted = |row: &&Row| arguments.row.is_none_or(|wanted| wanted == row.name);
    for row in ROWS.iter().filter(wanted) {
        let repeat = format!("--row {} --seed {seed}", row.name);
        let mut add = |line: Line| {
            report::print(&line, &repeat);
            lines.push(line);
        };
        run(row, &torture, &mut add);
    }
    if arguments.row.is_none() && !torture.short {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        report::write(&docs, &lines, seed).expect("docs/torture.md can be written");
    }
    if lines.iter().all(Line::is_met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
