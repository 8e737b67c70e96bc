//! The number of instructions per call of the hottest operations is as written in `instructions.txt`, within a tenth.
//!
//! The figures are those of the debug build, which the tests have. They change with the compiler, too. To write the present ones:
//! `cargo build -p triptych -p bench && ./target/debug/bench --instructions >bench/instructions.txt`

use std::{collections::BTreeMap, process::Command};

const RECORDED: &str = include_str!("../instructions.txt");

#[test]
fn hottest_operations_need_as_many_instructions_as_recorded() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bench")).arg("--instructions").output().expect("the bench runs");
    let (counted, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{counted}{errors}");
    let (recorded, counted) = (counts(RECORDED), counts(&counted));
    assert!(recorded.keys().eq(counted.keys()), "{recorded:?} and {counted:?}");
    let changed = |operation: &str| {
        let share = counted[operation] / recorded[operation];
        !(0.9..1.1).contains(&share)
    };
    let changed: Vec<_> = recorded.keys().filter(|operation| changed(operation)).collect();
    assert!(changed.is_empty(), "{changed:?} differ: recorded {recorded:#?}, counted {counted:#?}");
}

/// The count of each operation.
fn counts(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter_map(|line| line.rsplit_once(": "));
    lines.map(|(operation, count)| (operation, count.parse().expect("a number"))).collect()
}
