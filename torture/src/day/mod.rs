//! A day of steady use by the test clock, with sandboxes that come and go: nothing grows beyond the live data.

mod live;
mod measure;
mod steady;

use std::time::{Duration, Instant};

use live::Live;
use measure::Measured;
use steady::Steady;
use testkit::{Engine, Program};
use tokio::{runtime::Runtime, time::interval};

use crate::{
    Add, Torture,
    installation::Installation,
    report::Line,
    tables::{Tables, tables},
};

/// The minutes of a step.
const STEP: u32 = 30;
/// How long the program may take to delete what has expired and to free memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longer than the program waits until it frees memory.
const QUIET: Duration = Duration::from_secs(4);
/// How much memory may grow: caches fill, and the allocator keeps pages that are used in part.
const MEMORY: u64 = 12 << 20;
/// How much the files of SQLite may grow for each row that stays, with its indexes.
const BYTES_PER_ROW: u64 = 1024;
/// Parts of pages in which rows are deleted and added.
const BYTES_TO_SPARE: u64 = 256 << 10;
/// Connections and threads that come and go with the calls.
const TO_SPARE: u64 = 4;
/// A process opens a connection to PostgreSQL when all that it has are in use. It has these soon, so that later ones are a leak.
const DATABASE_CONNECTIONS: &str = "6";
/// Longer than all that expires is kept, in minutes.
const HALF_A_YEAR: i64 = 190 * 24 * 60;

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let engines = torture.size(&[Engine::Sqlite, Engine::Postgres][..], &[Engine::Sqlite]);
    for engine in engines {
        add(day(torture, *engine));
    }
}

fn day(torture: &Torture, engine: Engine) -> Line {
    let mut random = torture.random("day");
    let mut installation = Installation::new(torture, engine, "day", &mut random);
    installation.set("TRIPTYCH_LIMITS_DATABASE_CONNECTIONS", DATABASE_CONNECTIONS);
    let (program, _) = installation.start();
    let runtime = Runtime::new().expect("a runtime");
    let mut steady = runtime.block_on(Steady::start(&installation, random));
    let mut watch =
        Watch { torture, installation: &installation, program: &program, first: Tables::default() };
    let steps = torture.size(48, 4);
    let deadline = torture.deadline(Duration::from_secs(80));
    let (mut early, mut done) = (None, 0);
    while done < steps && Instant::now() < deadline {
        runtime.block_on(steady.step());
        done += 1;
        if done == 1 {
            runtime.block_on(steady.delete_sandboxes());
            // What is there once, such as the row of a user, is there after the first step.
            watch.first = tables(&installation);
        }
        if done == steps / 3 {
            runtime.block_on(steady.delete_sandboxes());
            early = Some(runtime.block_on(watch.quiet()));
        }
    }
    runtime.block_on(steady.delete_sandboxes());
    let early = early.expect("a third of the steps");
    let (late, mut violations) = runtime.block_on(watch.settled(&steady.live, Some(&early)));
    // Half a year later all that expires has expired. Some of it is deleted when more of its kind is added, ten rows at a time.
    runtime.block_on(steady.advance(HALF_A_YEAR));
    for _ in 0..steps / 6 + 2 {
        runtime.block_on(steady.step());
    }
    runtime.block_on(steady.delete_sandboxes());
    let (_, after) = runtime.block_on(watch.settled(&steady.live, None));
    violations.extend(after.into_iter().map(|violation| format!("half a year later: {violation}")));
    violations.extend((done < steps).then(|| format!("only {done} of {steps} steps in time")));
    assert!(program.terminate().success(), "the program stops after SIGTERM");
    let hours = steps * STEP / 60;
    let (from, to) = (early.to_string(), late.to_string());
    Line {
        fault: format!("{hours} simulated hours of steady use on {engine:?}, sandboxes coming and going"),
        must: "no growth of memory, open files, threads, files or tables beyond the live data; half a year later all that expires is deleted".to_owned(),
        measured: format!("{done} steps, {} sandboxes; after a third of it {from}; at the end {to}", steady.sandboxes),
        violations,
    }
}

/// The program that is measured.
struct Watch<'a> {
    torture: &'a Torture,
    installation: &'a Installation,
    program: &'a Program,
    /// The rows of all tables after the first step.
    first: Tables,
}

impl Watch<'_> {
    fn measure(&self) -> Measured {
        Measured::now(self.installation, self.program)
    }

    /// Measures for some seconds, and takes the smallest memory: the program frees that of password checks a while after them.
    async fn quiet(&self) -> Measured {
        let mut pause = interval(QUIET / 10);
        let mut measured = tokio::task::block_in_place(|| self.measure());
        for _ in 0..self.torture.size(10, 0) {
            pause.tick().await;
            let again = tokio::task::block_in_place(|| self.measure());
            measured.memory = measured.memory.min(again.memory);
        }
        measured
    }

    /// Measures until nothing is too large, or until the program has had enough time.
    async fn settled(&self, live: &Live, early: Option<&Measured>) -> (Measured, Vec<String>) {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = interval(Duration::from_millis(250));
        loop {
            let measured = tokio::task::block_in_place(|| self.measure());
            let violations = self.grown(&measured, live, early);
            if violations.is_empty() || Instant::now() > deadline {
                return (measured, violations);
            }
            pause.tick().await;
        }
    }

    /// What has grown beyond the live data.
    fn grown(&self, now: &Measured, live: &Live, early: Option<&Measured>) -> Vec<String> {
        let mut grown = Vec::new();
        for (table, rows) in &now.tables {
            let allowed = self.first.get(table).copied().unwrap_or_default() + live.rows(table);
            if *rows > allowed {
                grown.push(format!("{table} has {rows} rows, of which at most {allowed} are live"));
            }
        }
        let Some(early) = early else { return grown };
        let new_files = now.names.difference(&early.names);
        grown.extend(new_files.map(|name| format!("{name} is a new file")));
        let rows = |measured: &Measured| measured.tables.values().sum::<u64>();
        let stay = rows(now).saturating_sub(rows(early));
        let figures = [
            ("open files", early.open_files, now.open_files, TO_SPARE),
            ("threads", early.threads, now.threads, TO_SPARE),
            ("memory", early.memory, now.memory, MEMORY),
            ("bytes of the databases", early.bytes, now.bytes, BYTES_TO_SPARE + stay * BYTES_PER_ROW),
        ];
        for (figure, before, after, to_spare) in figures {
            grown.extend(self.torture.judge(after <= before + to_spare, || {
                format!("{figure}: {after} after {before}, and {stay} more rows")
            }));
        }
        grown
    }
}
