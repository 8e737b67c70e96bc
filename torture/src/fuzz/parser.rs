//! One parser under libFuzzer.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use crate::report::Line;

/// The limits for one input.
const SECONDS: u32 = 5;
const MEGABYTES: u32 = 1024;
/// The longest input, in bytes.
const LONGEST: u32 = 4096;
/// A parser that gets fewer inputs is not tested.
const FEWEST: u64 = 1000;

pub(super) struct Parser {
    pub(super) name: String,
    pub(super) seed: u32,
    /// The folder of the sources.
    pub(super) root: PathBuf,
    /// For files that are not kept.
    pub(super) scratch: PathBuf,
}

impl Parser {
    pub(super) fn line(&self, time: Duration) -> Line {
        let (measured, violations) = match self.program() {
            Some(program) => self.fuzz(program, time),
            None => {
                let missing = format!("there is no program for {}: tools/fuzz builds it", self.name);
                ("nothing".to_owned(), vec![missing])
            }
        };
        Line {
            fault: format!(
                "arbitrary bytes for the parser `{}`, guided by coverage, for {time:?}",
                self.name
            ),
            must: format!("0 server errors, 0 panics, each answer within {SECONDS} s and {MEGABYTES} MB"),
            measured,
            violations,
        }
    }

    /// The program that `tools/fuzz` has built for this machine.
    fn program(&self) -> Option<PathBuf> {
        let targets = fs::read_dir(self.root.join("target/fuzz")).ok()?;
        let mut programs = targets.flatten().map(|target| target.path().join("release").join(&self.name));
        programs.find(|program| program.is_file())
    }

    fn fuzz(&self, program: PathBuf, time: Duration) -> (String, Vec<String>) {
        let scratch = self.scratch.join(&self.name);
        let new_inputs = scratch.join("inputs");
        fs::create_dir_all(&new_inputs).expect("a folder");
        // Kept after the run.
        let artifacts = self.root.join("fuzz/artifacts").join(&self.name);
        fs::create_dir_all(&artifacts).expect("a folder");
        let fuzz = self.root.join("fuzz");
        // It ends by itself, unless it is broken.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", &(time.as_secs() + 60).to_string()]).arg(program);
        command.arg(format!("-max_total_time={}", time.as_secs()));
        command.arg(format!("-timeout={SECONDS}")).arg(format!("-rss_limit_mb={MEGABYTES}"));
        command.arg(format!("-max_len={LONGEST}")).arg(format!("-seed={}", self.seed));
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg("-print_final_stats=1");
        command.arg(format!("-dict={}", fuzz.join(format!("dictionaries/{}.dict", self.name)).display()));
        command.arg(new_inputs).arg(fuzz.join("seeds").join(&self.name));
        command.env("TMPDIR", &scratch).current_dir(&scratch).stdin(Stdio::null());
        let output = command.output().expect("libFuzzer runs");
        // Only if it is empty.
        let _ = fs::remove_dir(&artifacts);
        let log = String::from_utf8_lossy(&output.stderr);
        let violations = self.violations(&log, output.status.success());
        (measured(&log, time), violations)
    }

    fn violations(&self, log: &str, has_succeeded: bool) -> Vec<String> {
        if has_succeeded {
            let executed = statistic(log, "number_of_executed_units").unwrap_or_default();
            let few = format!("{}: only {executed} inputs were sent", self.name);
            return (executed < FEWEST).then_some(few).into_iter().collect();
        }
        let after = |text: &str| log.lines().find_map(|line| Some(line.split_once(text)?.1.to_owned()));
        let input = after("Test unit written to ").unwrap_or_default();
        let input = input.strip_prefix(&format!("{}/", self.root.display())).unwrap_or(&input);
        // The message of a panic is in the line after its place.
        let panic = log
            .lines()
            .skip_while(|line| !line.contains("' panicked at ") && !line.contains(") panicked at "));
        let panic = panic.take(2).collect::<Vec<_>>().join(" ");
        let error = after("ERROR: ").unwrap_or_else(|| "it ended early".to_owned());
        vec![format!("{error}: {panic}; again with: tools/fuzz run {} {input}", self.name)]
    }
}

/// How much was sent, and how much of the code it has reached beyond the inputs that are there already.
fn measured(log: &str, time: Duration) -> String {
    let number = |name: &str| statistic(log, name).unwrap_or_default();
    let features =
        |line: &str| -> Option<u64> { line.split_once(" ft: ")?.1.split(' ').next()?.parse().ok() };
    let mut reached = log.lines().filter(|line| line.starts_with('#')).filter_map(features);
    let first = log.lines().find(|line| line.contains("\tINITED ")).and_then(features);
    let last = reached.next_back();
    format!(
        "{} inputs ({} a second); {} features of the code, {} with the inputs in fuzz/seeds; {} MB",
        number("number_of_executed_units"),
        number("number_of_executed_units") / time.as_secs(),
        last.unwrap_or_default(),
        first.unwrap_or_default(),
        number("peak_rss_mb")
    )
}

/// A figure that libFuzzer prints at the end.
fn statistic(log: &str, name: &str) -> Option<u64> {
    let value =
        log.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
    value?.trim().parse().ok()
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
