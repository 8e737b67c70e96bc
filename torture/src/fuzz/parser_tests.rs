use super::*;

const GOOD: &str = "\
INFO: Seed: 7\n\
#17\tINITED cov: 5000 ft: 9000 corp: 16/2Kb exec/s: 0 rss: 90Mb\n\
#20\tNEW    cov: 5001 ft: 9010 corp: 17/2Kb lim: 200 exec/s: 0 rss: 90Mb L: 9/200 MS: 1 ChangeBit-\n\
#240000\tDONE   cov: 6000 ft: 12000 corp: 500/40Kb lim: 4096 exec/s: 2000 rss: 190Mb\n\
Done 240000 runs in 121 second(s)\n\
stat::number_of_executed_units: 240000\n\
stat::average_exec_per_sec:     1983\n\
stat::peak_rss_mb:              190\n";

const PANIC: &str = "\
#17\tINITED cov: 5000 ft: 9000 corp: 16/2Kb exec/s: 0 rss: 90Mb\n\
\nthread '<unnamed>' (4711) panicked at crates/fuzzing/src/harness.rs:70:13:\n\
POST /v3/pet: a server error: 500 Internal Server Error\n\
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\
==4711== ERROR: libFuzzer: deadly signal\n\
artifact_prefix='/sources/fuzz/artifacts/json/'; Test unit written to /sources/fuzz/artifacts/json/crash-da39\n";

const SLOW: &str = "\
==4711== ERROR: libFuzzer: timeout after 5 seconds\n\
Test unit written to /sources/fuzz/artifacts/json/timeout-da39\n";

fn parser() -> Parser {
    Parser { name: "json".into(), seed: 7, root: "/sources".into(), scratch: "/scratch".into() }
}

#[test]
fn figures_are_those_of_the_log() {
    assert_eq!(
        measured(GOOD, Duration::from_secs(120)),
        "240000 inputs (2000 a second); 12000 features of the code, 9000 with the inputs in fuzz/seeds; 190 MB"
    );
    assert_eq!(parser().violations(GOOD, true), Vec::<String>::new());
}

#[test]
fn violation_has_the_cause_and_how_to_repeat_it() {
    let found = parser().violations(PANIC, false);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("libFuzzer: deadly signal"), "{found:?}");
    assert!(found[0].contains("POST /v3/pet: a server error"), "{found:?}");
    assert!(found[0].ends_with("tools/fuzz run json fuzz/artifacts/json/crash-da39"), "{found:?}");
    let found = parser().violations(SLOW, false);
    assert!(found[0].contains("timeout after 5 seconds") && found[0].ends_with("timeout-da39"), "{found:?}");
    assert_eq!(parser().violations("", false).len(), 1);
}

#[test]
fn parser_without_inputs_is_a_violation() {
    let few = GOOD.replace("executed_units: 240000", "executed_units: 999");
    assert_eq!(parser().violations(&few, true), ["json: only 999 inputs were sent"]);
}

#[test]
fn missing_program_is_a_violation() {
    let line = parser().line(Duration::from_secs(1));
    assert_eq!(line.violations, ["there is no program for json: tools/fuzz builds it"]);
}
