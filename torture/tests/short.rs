//! Every row runs to its end, and holds, in its small version.

use std::process::{Command, Output};

fn torture(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_torture")).args(arguments).output().expect("it runs")
}

#[test]
fn short_run_of_every_row_holds() {
    let output = torture(&["--short"]);
    let (table, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}{errors}");
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("seed "), "{table}");
    assert_eq!(lines[1], "fault | must hold | measured | result");
    assert!(lines[2..].iter().all(|line| line.ends_with(" | ok")), "{table}");
    // Kills, power cuts, disk, processes, overload, abuse, authorization, seats, a day, fuzzing.
    assert_eq!(lines.len(), 2 + 3 + 2 + 5 + 3 + 2 + 12 + 1 + 1 + 1 + 1, "{table}");
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, message) in [
        (&["--row", "floods"][..], "torture: there is no row floods; --list lists them\n"),
        (&["--seed", "x"], "torture: --seed x is no whole number\n"),
        (
            &["--seed"],
            "torture: --seed needs a value: [--short] [--row NAME] [--seed NUMBER] [--program PATH] [--list]\n",
        ),
        (
            &["--loud"],
            "torture: --loud is no flag of it: [--short] [--row NAME] [--seed NUMBER] [--program PATH] [--list]\n",
        ),
        (
            &["--program", "/nowhere"],
            "torture: there is no program /nowhere: No such file or directory (os error 2)\n",
        ),
    ] {
        let output = torture(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), message);
        assert_eq!(output.status.code(), Some(2));
    }
}
