//! The bench itself works: every row can be measured. The figures of a short run on a debug build mean nothing.

use std::process::Command;

/// A row of each part of the table.
const ROWS: [&str; 14] = [
    "ready: first start",
    "GET /v3/pet/{id}, API key, XML",
    "GET /v1.1/special-events/{id}, Basic",
    "GET /trips, a page of 10, bearer",
    "POST /v1.1/tickets, Basic, durable",
    "POST /bookings with its event",
    "GET /v3/pet/{id} at 1,000,000 pets against 10,000",
    "POST /v3/pet on PostgreSQL",
    "memory 10 s after the first start",
    "create a sandbox on PostgreSQL",
    "GET /v3/pet/{id} in a sandbox, next to the root",
    "GET /v3/pet/{id} with the journal, one call at a time",
    "GET /v3/pet/{id} with the journal, at full load",
    "the slowest page is usable",
];

#[test]
fn short_run_measures_every_row() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg("--short").output().expect("the bench runs");
    let (table, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}{errors}");
    for row in ROWS {
        assert!(table.lines().any(|line| line.starts_with(row)), "no row {row}:\n{table}");
    }
    // A line of titles, and 28 rows.
    assert_eq!(table.lines().count(), 29, "{table}");
}

#[test]
fn program_that_is_named_is_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--short", "--program", "no-such-program"])
        .output()
        .expect("the bench runs");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors,
        "bench: there is no program no-such-program: No such file or directory (os error 2)\n"
    );
}

#[test]
fn unknown_flag_is_rejected() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg("--shorter").output().expect("the bench runs");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors,
        "bench: there is no flag --shorter: [--short] [--instructions] [--program PATH] [TEXT]\n"
    );
}
