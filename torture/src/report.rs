//! The table: printed, and written into `docs/torture.md`.

use std::{fmt::Write as _, fs, io, path::Path};

/// What was done to the program, and whether it held.
pub(crate) struct Line {
    pub(crate) fault: String,
    pub(crate) must: String,
    pub(crate) measured: String,
    /// What did not hold, each with what is needed to repeat it.
    pub(crate) violations: Vec<String>,
}

impl Line {
    pub(crate) fn is_met(&self) -> bool {
        self.violations.is_empty()
    }

    fn cells(&self) -> [&str; 4] {
        let result = if self.is_met() { "ok" } else { "VIOLATED" };
        [&self.fault, &self.must, &self.measured, result]
    }
}

const TITLES: [&str; 4] = ["fault", "must hold", "measured", "result"];

/// How many violations of a line are printed: the first ones say what the others say.
const SHOWN: usize = 10;

pub(crate) fn print_titles() {
    println!("{}", TITLES.join(" | "));
}

/// Prints a line at once, so that a long run shows what it does.
pub(crate) fn print(line: &Line, repeat: &str) {
    println!("{}", line.cells().join(" | "));
    for violation in line.violations.iter().take(SHOWN) {
        println!("    violation: {violation}");
    }
    if line.violations.len() > SHOWN {
        println!("    and {} more", line.violations.len() - SHOWN);
    }
    if !line.is_met() {
        println!("    repeat it with: {repeat}");
    }
}

/// Replaces the table in the document.
pub(crate) fn write(docs: &Path, lines: &[Line], seed: u64) -> io::Result<()> {
    const START: &str = "<!-- written by make torture -->\n";
    const END: &str = "<!-- end -->\n";
    let mut table = format!("Seed {seed}.\n\n| {} |\n|{}\n", TITLES.join(" | "), "---|".repeat(TITLES.len()));
    for line in lines {
        let _ = writeln!(table, "| {} |", line.cells().join(" | "));
    }
    let path = docs.join("torture.md");
    let document = fs::read_to_string(&path)?;
    let (before, rest) =
        document.split_once(START).ok_or_else(|| io::Error::other("no place for the table"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| io::Error::other("no end of the table"))?;
    fs::write(&path, format!("{before}{START}{table}{END}{after}"))
}
